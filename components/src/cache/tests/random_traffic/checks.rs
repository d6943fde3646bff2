//! Invariants that must hold for every run.

use std::collections::BTreeMap;

use super::cases::{Case, is_flushed, keeps_no_dirty_lines};
use super::{Observed, place};
use crate::cache::*;
use crate::memory::{MemResponse, RequestKind, flags};

/// Expected properties of the response to a request.
#[derive(Clone, Copy, Debug)]
struct Expected {
    id: u32,
    words: u32,
    /// Sequence of the last preceding store to one of its words, and to its line.
    fresh: u32,
    last: u32,
}

/// Line and part of the cache, within which responses are ordered.
fn stream(case: &Case, request: &MemRequest) -> (u64, u32) {
    let (line, _) = place(request, case.spec.line_bytes);
    let part = case
        .spec
        .partitions
        .map_or(0, |partitions| request.source.work_group % partitions.count);
    (line, part)
}

/// Returns the expected responses for each stream, in order.
fn expected(case: &Case) -> BTreeMap<(u64, u32), Vec<Expected>> {
    let mut expected: BTreeMap<_, Vec<Expected>> = BTreeMap::new();
    let mut stores: BTreeMap<u64, Vec<(u32, u32)>> = BTreeMap::new();
    for (_, request) in &case.requests {
        let (line, words) = place(request, case.spec.line_bytes);
        let stores = stores.entry(line).or_default();
        if request.kind.carries_data() {
            stores.push((words, request.write_sequence));
        }
        if request.kind.wants_response() {
            let last = stores.last().map_or(0, |s| s.1);
            let overlapping = stores.iter().rev().find(|s| s.0 & words != 0);
            expected
                .entry(stream(case, request))
                .or_default()
                .push(Expected {
                    id: request.id,
                    words: request.words,
                    fresh: overlapping.map_or(0, |s| s.1),
                    last,
                });
        }
    }
    expected
}

/// Checks that each request that wants a response gets one, in order per line, with the exact
/// sequence. If the next level keeps sequences of shorter lines, it must be fresh and not from the
/// future.
pub(super) fn check_answers(case: &Case, observed: &Observed) {
    let mut answered: BTreeMap<_, Vec<&MemResponse>> = BTreeMap::new();
    for (_, response) in &observed.responses {
        let (_, request) = &case.requests[response.id as usize];
        answered
            .entry(stream(case, request))
            .or_default()
            .push(response);
        assert_eq!(
            (
                response.line,
                response.kind,
                response.source,
                response.flags
            ),
            (request.line, request.kind, request.source, request.flags)
        );
    }
    let expected = expected(case);
    assert_eq!(answered.len(), expected.len());
    let exact = case.second.is_none() || case.spec.below_line_bytes.is_none();
    for (stream, expected) in &expected {
        let answers = &answered[stream];
        assert_eq!(answers.len(), expected.len(), "answers for {stream:?}");
        for (answer, expected) in answers.iter().zip(expected) {
            assert_eq!(
                (answer.id, answer.words),
                (expected.id, expected.words),
                "{stream:?}"
            );
            let least = if exact { expected.last } else { expected.fresh };
            let range = least..=expected.last;
            assert!(
                range.contains(&answer.write_sequence),
                "{answer:?} is not within {range:?}"
            );
        }
    }
    assert_eq!(observed.commands, case.commands.len());
}

/// Checks that exactly the written words arrive at the next level, with the sequence of the last
/// write.
pub(super) fn check_memory(case: &Case, observed: &Observed) {
    let mut written: BTreeMap<u64, (u32, u32)> = BTreeMap::new();
    for (_, request) in case.requests.iter().filter(|(_, r)| r.kind.carries_data()) {
        let (line, words) = place(request, case.spec.line_bytes);
        let line = written.entry(line).or_default();
        *line = (line.0 | words, request.write_sequence);
    }
    let below: BTreeMap<_, _> = observed
        .below
        .lines
        .iter()
        .filter(|(_, line)| line.written != 0)
        .map(|(&line, below)| (line, (below.written, below.write_sequence)))
        .collect();
    let second_is_flushed = case.second.as_ref().is_none_or(|second| {
        keeps_no_dirty_lines(second)
            || second.line_bytes == case.spec.line_bytes && is_flushed(second)
    });
    if is_flushed(&case.spec) && second_is_flushed {
        assert_eq!(below, written);
        return;
    }
    for (line, (words, sequence)) in below {
        let (all, last) = written[&line];
        assert!(words & !all == 0 && sequence <= last, "line {line}");
    }
}

pub(super) fn check_statistics(case: &Case, observed: &Observed) {
    let count = |name| observed.statistics.counter(name).unwrap();
    let outcomes = ["hits", "hits_reserved", "misses", "forwarded"].map(count);
    assert_eq!(outcomes.iter().sum::<u64>(), case.requests.len() as u64);
    for (name, kind) in [("reads", RequestKind::Read), ("writes", RequestKind::Write)] {
        let sent = case.requests.iter().filter(|(_, r)| r.kind == kind);
        assert_eq!(count(name), sent.count() as u64, "{name}");
    }
    let pieces = case
        .spec
        .below_line_bytes
        .is_some_and(|b| b < case.spec.line_bytes);
    if case.second.is_some() || pieces {
        return;
    }
    let below = |kind| observed.below.kinds[kind as usize];
    let fetched = below(RequestKind::Read) + below(RequestKind::Prefetch);
    let passes = |(_, r): &&(u64, MemRequest)| {
        r.flags & flags::BYPASS_L1 != 0
            && case.spec.level == CacheLevel::L1
            && !r.kind.carries_data()
    };
    let passed = case.requests.iter().filter(passes).count() as u64;
    assert_eq!(count("fills"), fetched - passed);
    assert!(count("copy_backs") <= below(RequestKind::CopyBack));
    let takes_all = matches!(case.spec.write, WritePolicy::WriteBack { .. });
    if takes_all && case.spec.allocates_writes() && case.spec.level == CacheLevel::L2 {
        assert_eq!(count("copy_backs"), below(RequestKind::CopyBack));
    }
}

/// Compares field by field, to give a readable message.
pub(super) fn compare(other: &Observed, usual: &Observed) {
    for (a, b) in other.responses.iter().zip(&usual.responses) {
        assert_eq!(a, b);
    }
    for (a, b) in other.statistics.values.iter().zip(&usual.statistics.values) {
        assert_eq!(a, b);
    }
    assert_eq!(other, usual);
}
