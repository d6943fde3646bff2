//! Lines that each work-group loads, numbered without gaps.

use crate::cause::Cause;
use crate::footprint::Footprint;
use crate::launch::LaunchHead;
use crate::reference::{AccessKind, LaunchAnalysis};
use crate::runs::{self, Runs};

/// Runs of lines of all work-groups that are kept.
const RUNS_MAX: usize = 1 << 21;
/// Lines that are numbered before a launch is too large.
const LINES_MAX: i128 = 1 << 22;

/// Lines that the work-groups of a launch load through the first-level cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSets {
    /// Runs of lines by number, start and end, work-group by work-group.
    runs: Vec<(u32, u32)>,
    /// End of the runs of each work-group.
    ends: Vec<u32>,
    /// Number of different lines that the work-groups load together.
    pub count: u32,
    /// True if every load has exact addresses; otherwise lines are too many, or some are missing.
    pub is_exact: bool,
    /// Reasons why loads take no part, each once.
    pub causes: Vec<Cause>,
}

impl LineSets {
    /// Highest number of bytes that sets take while they are made.
    pub const BYTES_MAX: u64 = RUNS_MAX as u64 * 96;

    /// Returns the lines of a work-group as half-open runs of their numbers, ascending and apart.
    pub fn of(&self, work_group: usize) -> &[(u32, u32)] {
        let start = work_group.checked_sub(1).map_or(0, |at| self.ends[at]);
        &self.runs[start as usize..self.ends[work_group] as usize]
    }

    /// Returns the number of work-groups in the grid.
    pub fn work_groups(&self) -> usize {
        self.ends.len()
    }
}

/// Returns the lines of all work-groups.
pub(crate) fn line_sets(
    head: &LaunchHead<'_>,
    analysis: &LaunchAnalysis,
    line_bytes: u32,
) -> Result<LineSets, Cause> {
    let too_many = || Cause::Ranges { max: RUNS_MAX };
    let size = i128::from(line_bytes.max(1));
    let mut sets = LineSets {
        is_exact: true,
        ..LineSets::default()
    };
    let mut parts: Vec<Footprint> = Vec::new();
    for load in &analysis.references {
        if !load.is_cached || load.kind != AccessKind::Load {
            continue;
        }
        sets.is_exact &= load.is_exact();
        if load.is_unknown() {
            sets.causes.extend(load.cause().cloned());
        }
        let pieces = load.pieces.iter();
        parts.extend(pieces.map(|piece| Footprint::new(&analysis.symbols, piece, load.bytes)));
    }
    sets.causes.sort();
    sets.causes.dedup();
    if head.work_groups() > RUNS_MAX as u64 {
        return Err(Cause::TooLarge);
    }
    let mut all = Runs::new();
    for number in 0..head.work_groups() {
        let group = head.place(number);
        let mut own = Runs::new();
        for part in &mut parts {
            let base = part.base(group);
            let Some(class) = part.class(group)? else {
                continue;
            };
            own.extend(class.runs.iter().map(|&(start, end)| {
                let last = (base + end - 1).div_euclid(size);
                ((base + start).div_euclid(size), last + 1)
            }));
        }
        all.extend(runs::merged(own));
        if all.len() > RUNS_MAX {
            return Err(too_many());
        }
        sets.ends.push(all.len() as u32);
    }
    // Lines are numbered in the order of their addresses. Those that no load touches have none.
    let mut firsts: Vec<(i128, u32)> = Vec::new();
    let mut count = 0_i128;
    for (start, end) in runs::merged(all.clone()) {
        firsts.push((start, count as u32));
        count += end - start;
        if count > LINES_MAX {
            return Err(Cause::TooLarge);
        }
    }
    sets.count = count as u32;
    let numbered = all.into_iter().map(|(start, end)| {
        let at = firsts.partition_point(|&(first, _)| first <= start) - 1;
        let (first, number) = firsts[at];
        let number = number + (start - first) as u32;
        (number, number + (end - start) as u32)
    });
    sets.runs = numbered.collect();
    Ok(sets)
}
