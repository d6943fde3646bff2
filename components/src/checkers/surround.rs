//! Hostile environment for a memory-side device under contract tests.

use std::collections::BTreeMap;

use warpweave_framework::verify::{CounterRng, ExchangeRules, Respond, Rig, check_exchange};
use warpweave_framework::{Cycle, State};

use super::freshness::check_freshness;
use crate::launch::{CacheCommand, CacheCommandDone};
use crate::memory::{LINE_BYTES_MAX, Level, MemRequest, MemResponse, RequestKind, Source};

/// Surrounds a memory-side device with hostile neighbours. Requests of `kinds` are driven into
/// every bundle of `up`. A memory that answers out of order is attached to every bundle of `down`.
/// The protocol is checked at all of them. Writes are numbered, and a read that returns data older
/// than a preceding write is reported.
pub fn surround_with_memory(
    rig: &mut Rig,
    kinds: &'static [RequestKind],
    up: &[&str],
    down: &[&str],
) {
    for (number, bundle) in up.iter().enumerate() {
        let dice = CounterRng::new(rig.traffic().seed, bundle);
        drive(rig, bundle, None, move |n| MemRequest {
            // A number for those that do not write means nothing.
            write_sequence: n as u32 + 1,
            ..mixed_request(dice, kinds, number as u16, n)
        });
    }
    remember(rig, down, &[]);
}

/// Extends [`surround_with_memory`] with kernel ends. Every bundle of `up` is paired with the
/// bundle through which its first level receives invalidations. The bundles through which the
/// device invalidates upper levels are listed in `controls`. Before each kernel end, other writers
/// write to every line. A read that returns data older than a kernel end whose invalidation the
/// device has completed is reported.
pub fn surround_with_kernel_ends(
    rig: &mut Rig,
    kinds: &'static [RequestKind],
    up: &[(&str, &str)],
    controls: &[&str],
    down: &[&str],
) {
    // Every fourth time of some requests: reads find lines in between.
    let ends: Vec<Cycle> = rig.times("kernel ends").into_iter().step_by(4).collect();
    for (number, (bundle, control)) in up.iter().enumerate() {
        let dice = CounterRng::new(rig.traffic().seed, bundle);
        drive(rig, bundle, Some(control), move |n| {
            mixed_request(dice, kinds, number as u16, n)
        });
        let commands = ends.iter().map(|cycle| (*cycle, CacheCommand::Invalidate));
        rig.drive_at(&format!("{control}.command"), commands.collect());
        rig.drain::<CacheCommandDone>(&format!("{control}.done"));
    }
    for bundle in controls {
        let (command, done) = (format!("{bundle}.command"), format!("{bundle}.done"));
        rig.answer(&command, &done, |_: &CacheCommand| CacheCommandDone);
    }
    remember(rig, down, &ends);
}

/// Drives requests into `bundle` and attaches the checkers.
fn drive(rig: &mut Rig, bundle: &str, control: Option<&str>, request: impl Fn(u64) -> MemRequest) {
    let ports = (format!("{bundle}.request"), format!("{bundle}.response"));
    rig.drive(&ports.0, request);
    rig.drain::<MemResponse>(&ports.1);
    check_bundle(rig, ports.0, ports.1);
    let (up, control) = (bundle.to_owned(), control.map(str::to_owned));
    rig.check(move |simulation| check_freshness(simulation, &up, control.as_deref()));
}

/// Attaches a line-numbering memory to each bundle of `down`; other writers write at `ends`.
fn remember(rig: &mut Rig, down: &[&str], ends: &[Cycle]) {
    for bundle in down {
        let (request, response) = (format!("{bundle}.request"), format!("{bundle}.response"));
        let memory = NumberedMemory {
            newest: BTreeMap::new(),
            ends: ends.to_vec(),
        };
        rig.answer_with(&request, &response, memory);
        check_bundle(rig, request, response);
    }
}

/// Memory that answers with the number of the newest write to a line, in order for each line.
struct NumberedMemory {
    newest: BTreeMap<u64, u32>,
    /// Cycles, ascending, in which other writers write to every line. Their write number is the
    /// count so far.
    ends: Vec<Cycle>,
}

impl Respond<MemRequest> for NumberedMemory {
    fn arrive(&mut self, _: Cycle, request: &MemRequest) {
        if request.kind.carries_data() {
            let newest = self.newest.entry(request.line).or_default();
            *newest = request.write_sequence.max(*newest);
        }
    }

    fn answer(&mut self, cycle: Cycle, request: &MemRequest) -> MemResponse {
        let others = self.ends.partition_point(|end| *end <= cycle) as u32;
        let newest = self.newest.get(&request.line).copied().unwrap_or(0);
        MemResponse {
            write_sequence: newest.max(others),
            ..request.answer(Level::DRAM)
        }
    }

    /// Caches rely on this order, because several wavefronts wait for one fetch.
    fn order(&self, request: &MemRequest) -> Option<u128> {
        Some(request.line.into())
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("newest", &mut self.newest);
    }
}

fn check_bundle(rig: &mut Rig, request: String, response: String) {
    rig.check(move |simulation| {
        let rules = ExchangeRules::default();
        check_exchange::<MemRequest>(simulation, &[&request], &response, rules)
    });
}

/// Returns request number `n` of a compute unit: any of `kinds`, on few lines and mostly two of
/// them. Most requests cover a whole line, others any of its words. Lines are thus found again,
/// also after they were written.
fn mixed_request(dice: CounterRng, kinds: &[RequestKind], compute_unit: u16, n: u64) -> MemRequest {
    let pick = |what: u64, of: u64| dice.below(n * 8 + what, of);
    let lines = if pick(4, 4) == 0 { 12 } else { 2 };
    let line = pick(0, lines) * u64::from(LINE_BYTES_MAX);
    let words = if pick(5, 4) == 0 {
        (dice.roll(n * 8 + 1) as u32).max(1)
    } else {
        u32::MAX
    };
    MemRequest {
        kind: kinds[pick(2, kinds.len() as u64) as usize],
        source: Source {
            compute_unit,
            wavefront_slot: pick(3, 4) as u8,
            ..Source::default()
        },
        ..MemRequest::read(n as u32, line, words)
    }
}
