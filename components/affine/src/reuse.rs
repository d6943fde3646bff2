//! Reuse of lines between work-groups of a row or a column of the grid, or of several planes.
//!
//! For each row, every line is looked up with the first work-group that touches it. Rows that are
//! copies of one another, moved by whole lines, are looked at once.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::cause::Cause;
use crate::footprint::Footprint;
use crate::form::SymbolId;
use crate::launch::LaunchHead;
use crate::reference::{AccessKind, LaunchAnalysis, Reference};
use crate::symbol::{SymbolKind, Symbols};

/// Lines that an analysis looks at before it gives up.
const LINES_MAX: u64 = 1 << 22;
/// Rows that are remembered as seen.
const ROWS_MAX: usize = 64;

/// Direction in which work-groups reuse each other's lines farthest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// No reuse between work-groups of a row or a column.
    #[default]
    RoundRobin,
    /// Reuse reaches farthest within rows of the grid.
    AlongX,
    /// Reuse reaches farthest within columns of the grid.
    AlongY,
}

/// One thread that touches a line, with the iterations it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toucher {
    /// Instruction, by index in the kernel's code.
    pub pc: u32,
    /// Place of its work-group in the grid along x, y, z.
    pub work_group: [u32; 3],
    /// Place of the thread in its work-group along x, y, z.
    pub thread: [u32; 3],
    /// Line of each loop and the number of its iteration, counted from 0.
    pub counters: Vec<(u32, i128)>,
    /// Address of the first byte of its access.
    pub address: i128,
}

/// Farthest reuse along one axis of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// Distance between the two in work-groups.
    pub distance: u32,
    /// Number of the line: its address divided by its size.
    pub line: i128,
    /// Two threads that touch the line, absent if they were not found within bounds.
    pub witness: Option<Box<[Toucher; 2]>>,
}

/// Settings of the analysis of reuse between work-groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReuseOptions {
    /// Size of a cache line in bytes, a power of two.
    pub line_bytes: u32,
    /// True if stores bring lines into the first-level cache.
    pub include_stores: bool,
}

impl Direction {
    /// Returns the name of the direction for pages and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "round robin",
            Self::AlongX => "along x",
            Self::AlongY => "along y",
        }
    }
}

impl Default for ReuseOptions {
    fn default() -> Self {
        Self {
            line_bytes: 128,
            include_stores: false,
        }
    }
}

/// Reuse along both axes, and the direction that follows (Algorithm 1 of the mapping scheme).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Farthest reuse within a row of the grid.
    pub along_x: Option<Reuse>,
    /// Farthest reuse within a column of the grid.
    pub along_y: Option<Reuse>,
    /// Farthest reuse between planes of the grid, by work-groups of equal x and y. It takes no part
    /// in the direction.
    pub along_z: Option<Reuse>,
    /// Reason why reuse between planes is not known.
    pub unknown_z: Option<Cause>,
    /// Direction of the farther of both; x if they are equal.
    pub direction: Direction,
    /// Farthest distance in work-groups, 0 without a direction.
    pub distance: u32,
    /// True if the distances are exact for the loads whose addresses are known; otherwise they are
    /// upper bounds.
    pub is_exact: bool,
    /// Reasons why loads take no part, each once.
    pub causes: Vec<Cause>,
}

/// One piece of a reference, with its bytes.
struct Part {
    pc: u32,
    footprint: Footprint,
}

/// Returns the direction in which work-groups reuse lines farthest.
pub(crate) fn directions(
    head: &LaunchHead<'_>,
    analysis: &LaunchAnalysis,
    options: ReuseOptions,
) -> Directions {
    let mut found = Directions {
        is_exact: true,
        ..Directions::default()
    };
    let takes_part = |reference: &&Reference| {
        reference.is_cached && (reference.kind == AccessKind::Load || options.include_stores)
    };
    let mut sets: Vec<(Option<usize>, Vec<Part>)> = Vec::new();
    for reference in analysis.references.iter().filter(takes_part) {
        if reference.is_unknown() {
            found.causes.extend(reference.cause().cloned());
            continue;
        }
        found.is_exact &= reference.is_exact();
        if reference.pieces.is_empty() {
            continue;
        }
        let place = allocation(head, &analysis.symbols, reference);
        let parts = reference.pieces.iter().map(|piece| Part {
            pc: reference.pc,
            footprint: Footprint::new(&analysis.symbols, piece, reference.bytes),
        });
        match sets.iter_mut().find(|(known, _)| *known == place) {
            Some((_, set)) => set.extend(parts),
            None => sets.push((place, parts.collect())),
        }
    }
    // An access that may leave its allocation may meet any other.
    if sets.iter().any(|(place, _)| place.is_none()) {
        let all = sets.drain(..).flat_map(|(_, set)| set).collect();
        sets.push((None, all));
    }
    found.causes.sort();
    found.causes.dedup();
    let mut left = LINES_MAX;
    for axis in [0, 1, 2] {
        // Planes have work of their own, so that they take nothing from the direction.
        if axis == 2 {
            left = LINES_MAX;
        }
        let mut best: Option<Reuse> = None;
        for (_, set) in &mut sets {
            match farthest(head, analysis, set, (axis, options.line_bytes), &mut left) {
                Ok(reuse) => {
                    let known = best.as_ref().map_or(0, |best| best.distance);
                    best = reuse.filter(|reuse| reuse.distance > known).or(best);
                }
                Err(cause) if axis == 2 => found.unknown_z = Some(cause),
                Err(cause) => {
                    found.is_exact = false;
                    found.causes.push(cause);
                }
            }
        }
        match axis {
            0 => found.along_x = best,
            1 => found.along_y = best,
            _ => found.along_z = best.filter(|_| found.unknown_z.is_none()),
        }
    }
    let distance = |reuse: &Option<Reuse>| reuse.as_ref().map_or(0, |reuse| reuse.distance);
    let (x, y) = (distance(&found.along_x), distance(&found.along_y));
    found.distance = x.max(y);
    found.direction = match (x, y) {
        (0, 0) => Direction::RoundRobin,
        _ if y > x => Direction::AlongY,
        _ => Direction::AlongX,
    };
    found
}

/// Returns the allocation that holds all addresses of a reference.
fn allocation(head: &LaunchHead<'_>, symbols: &Symbols, reference: &Reference) -> Option<usize> {
    let pieces = reference.pieces.iter();
    let mut places = pieces.map(|piece| piece.allocation(head, symbols, reference.bytes));
    let first = places.next()??;
    places.all(|place| place == Some(first)).then_some(first)
}

/// Finds the farthest reuse along an axis within one set of pieces.
fn farthest(
    head: &LaunchHead<'_>,
    analysis: &LaunchAnalysis,
    parts: &mut [Part],
    (axis, line_bytes): (usize, u32),
    left: &mut u64,
) -> Result<Option<Reuse>, Cause> {
    let size = i128::from(line_bytes);
    let [other, outer] = [[1, 2], [0, 2], [0, 1]][axis];
    let mut best: Option<(u32, i128, [[u32; 3]; 2])> = None;
    let mut seen = BTreeSet::new();
    let extent = head.grid[axis];
    if extent < 2 || parts.is_empty() {
        return Ok(None);
    }
    for plane in 0..head.grid[outer] {
        for row in 0..head.grid[other] {
            let group = |index: u32| {
                let mut group = [plane; 3];
                (group[axis], group[other]) = (index, row);
                group
            };
            let mut signature = Vec::new();
            let first = parts
                .first()
                .map_or(0, |part| part.footprint.base(group(0)));
            signature.push(first.rem_euclid(size));
            for part in parts.iter_mut() {
                signature.push(part.footprint.base(group(0)) - first);
                for index in 0..extent {
                    *left = left.checked_sub(1).ok_or(Cause::TooLarge)?;
                    let class = part.footprint.class(group(index))?;
                    signature.push(class.map_or(-1, |class| class.number as i128));
                }
            }
            if seen.contains(&signature) {
                continue;
            }
            if seen.len() < ROWS_MAX {
                seen.insert(signature);
            }
            let mut touched: FxHashMap<i64, u32> = FxHashMap::default();
            for index in 0..extent {
                for part in parts.iter_mut() {
                    let group = group(index);
                    let base = part.footprint.base(group);
                    let Some(class) = part.footprint.class(group)? else {
                        continue;
                    };
                    for &(start, end) in class.runs.iter() {
                        let (start, end) = (
                            (base + start).div_euclid(size),
                            (base + end - 1).div_euclid(size),
                        );
                        let lines = u64::try_from(end - start + 1).unwrap_or(u64::MAX);
                        *left = left.checked_sub(lines).ok_or(Cause::TooLarge)?;
                        for line in start..=end {
                            let before = *touched.entry(line as i64).or_insert(index);
                            let distance = index - before;
                            if distance > best.map_or(0, |(distance, ..)| distance) {
                                let mut from = group;
                                from[axis] = before;
                                best = Some((distance, line, [from, group]));
                            }
                        }
                    }
                }
            }
        }
    }
    Ok(best.map(|(distance, line, groups)| {
        let [from, to] = groups.map(|group| toucher(&analysis.symbols, parts, group, line, size));
        Reuse {
            distance,
            line,
            witness: from.zip(to).map(|(from, to)| Box::new([from, to])),
        }
    }))
}

/// Finds a thread of a work-group that touches a line.
fn toucher(
    symbols: &Symbols,
    parts: &[Part],
    group: [u32; 3],
    line: i128,
    size: i128,
) -> Option<Toucher> {
    parts.iter().find_map(|part| {
        let (offset, bytes) = part.footprint.offset();
        let base = part.footprint.base(group);
        let mut points = part.footprint.points(group)?;
        let start = line * size - base;
        // The access overlaps the line.
        points.rows.push(offset.shifted(bytes - 1 - start));
        points
            .rows
            .push(offset.times(-1)?.shifted(start + size - 1));
        if !points.tighten() {
            return None;
        }
        let mut values: Vec<(SymbolId, i128)> = Vec::new();
        let found = points.each(|assigned, last, (low, _)| {
            values = assigned.to_vec();
            values.push((last, low));
            true
        });
        if !points.rows.is_empty() && found != Ok(true) {
            return None;
        }
        let value = |symbol: SymbolId| {
            let known = values.iter().find(|&&(at, _)| at == symbol);
            let range = points.ranges.iter().find(|&&(at, ..)| at == symbol);
            known
                .map(|&(_, value)| value)
                .or(range.map(|&(_, low, _)| low))
        };
        let mut address = base + offset.constant();
        for &(symbol, factor) in offset.terms() {
            address += factor * value(symbol)?;
        }
        let thread = [0, 1, 2].map(|axis| value(Symbols::thread(axis)).unwrap_or(0) as u32);
        let counters = points.ranges.iter();
        let counters = counters.filter_map(|&(symbol, ..)| match symbols.kind(symbol) {
            SymbolKind::Counter { line } => Some((*line, value(symbol)?)),
            _ => None,
        });
        Some(Toucher {
            pc: part.pc,
            work_group: group,
            thread,
            counters: counters.collect(),
            address,
        })
    })
}
