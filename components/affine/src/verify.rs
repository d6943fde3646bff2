//! Holds the accesses of a recorded launch against the predicted ones.

use warpweave_trace::{KernelTrace, Lanes, Space};

use crate::cause::Cause;
use crate::footprint::Footprint;
use crate::launch::LaunchHead;
use crate::reference::{LaunchAnalysis, Reference};
use crate::runs::{self, Runs};
use crate::symbol::Symbols;

/// Difference between a recorded launch and its analysis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// Recorded access outside the predicted set.
    #[error(
        "record {record} of wavefront {wavefront} of work-group {work_group}, instruction {pc}: lane {lane} accesses address {address}, which the analysis excludes"
    )]
    Outside {
        work_group: u32,
        wavefront: u32,
        record: u64,
        pc: u32,
        lane: u32,
        address: u64,
    },
    /// Bytes that an exact reference predicts and no record accesses.
    #[error(
        "work-group {work_group}, instruction {pc}: no record accesses address {address}, which the analysis states exactly"
    )]
    Untouched {
        work_group: u32,
        pc: u32,
        address: i128,
    },
}

/// Counts of a launch that agrees with its analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Lane accesses that lie in predicted sets.
    pub accesses: u64,
    /// Lane accesses of instructions whose addresses are unknown.
    pub unknown: u64,
    /// Sets of exact references and work-groups whose bytes are equal to the recorded ones.
    pub equal_sets: u64,
    /// Pairs of reference and work-group whose bytes are too many to enumerate.
    pub skipped: u64,
}

/// Predicted bytes of one reference in each work-group.
struct Predicted<'a> {
    reference: &'a Reference,
    footprints: Vec<Footprint>,
}

impl Predicted<'_> {
    /// Returns the bytes of a work-group.
    fn bytes(&mut self, group: [u32; 3]) -> Result<Runs, Cause> {
        let mut all = Runs::new();
        for footprint in &mut self.footprints {
            let base = footprint.base(group);
            if let Some(class) = footprint.class(group)? {
                all.extend(class.runs.iter().map(|&(a, b)| (a + base, b + base)));
            }
        }
        Ok(runs::merged(all))
    }
}

/// Predicts the bytes that a reference accesses in one work-group.
pub(crate) fn predicted(
    symbols: &Symbols,
    reference: &Reference,
    group: [u32; 3],
) -> Result<Runs, Cause> {
    of(symbols, reference).bytes(group)
}

fn of<'a>(symbols: &Symbols, reference: &'a Reference) -> Predicted<'a> {
    let footprint = |piece| Footprint::new(symbols, piece, reference.bytes);
    Predicted {
        reference,
        footprints: reference.pieces.iter().map(footprint).collect(),
    }
}

/// Holds every global access of a launch against its analysis.
pub(crate) fn verify(
    analysis: &LaunchAnalysis,
    head: &LaunchHead<'_>,
    kernel: &KernelTrace,
) -> Result<Verified, Violation> {
    let mut predictions: Vec<Predicted<'_>> = analysis
        .references
        .iter()
        .map(|reference| of(&analysis.symbols, reference))
        .collect();
    let mut verified = Verified::default();
    let mut lanes = Lanes::default();
    for work_group in 0..kernel.work_groups() {
        let group = head.place(work_group.into());
        let mut expected: Vec<Option<Runs>> = Vec::new();
        let mut seen: Vec<Runs> = vec![Runs::new(); predictions.len()];
        for prediction in &mut predictions {
            let is_unknown = prediction.reference.is_unknown();
            let bytes = if is_unknown {
                None
            } else {
                prediction.bytes(group).ok()
            };
            verified.skipped += u64::from(bytes.is_none() && !is_unknown);
            expected.push(bytes);
        }
        for wavefront in 0..kernel.wavefronts_per_work_group() {
            let mut cursor = kernel.cursor(work_group, wavefront);
            let mut number = 0;
            while let Some(record) = cursor.next(kernel, &mut lanes) {
                number += 1;
                if record.space != Space::Global {
                    continue;
                }
                let known = analysis
                    .references
                    .binary_search_by_key(&record.pc, |at| at.pc);
                let Ok(at) = known else { continue };
                let bytes = analysis.references[at].bytes;
                for (lane, address) in lanes.iter(record.mask) {
                    let Some(expected) = &expected[at] else {
                        verified.unknown += 1;
                        continue;
                    };
                    let start = i128::from(address);
                    let end = start + i128::from(bytes);
                    if !runs::holds(expected, start, end) {
                        return Err(Violation::Outside {
                            work_group,
                            wavefront,
                            record: number - 1,
                            pc: record.pc,
                            lane,
                            address,
                        });
                    }
                    verified.accesses += 1;
                    extend(&mut seen[at], (start, end));
                }
            }
        }
        for (at, reference) in analysis.references.iter().enumerate() {
            let Some(expected) = expected[at].take().filter(|_| reference.is_exact()) else {
                continue;
            };
            let seen = runs::merged(std::mem::take(&mut seen[at]));
            if let Some(address) = missing(&expected, &seen) {
                let pc = reference.pc;
                return Err(Violation::Untouched {
                    work_group,
                    pc,
                    address,
                });
            }
            verified.equal_sets += 1;
        }
    }
    Ok(verified)
}

/// Adds a range of bytes, joined to the last one where they touch.
fn extend(runs: &mut Runs, (start, end): (i128, i128)) {
    match runs.last_mut() {
        Some(last) if last.0 <= start && start <= last.1 => last.1 = last.1.max(end),
        _ => runs.push((start, end)),
    }
    if runs.len() > runs::RUNS_MAX {
        *runs = runs::merged(std::mem::take(runs));
    }
}

/// Returns the first expected address that was not seen.
fn missing(expected: &Runs, seen: &Runs) -> Option<i128> {
    for &(start, end) in expected {
        let mut at = start;
        while at < end {
            let after = seen.partition_point(|&(first, _)| first <= at);
            let held = after.checked_sub(1).map(|place| seen[place].1);
            match held {
                Some(until) if until > at => at = until,
                _ => return Some(at),
            }
        }
    }
    None
}
