//! Reuse ratios (equations 1 to 3) of units and pairs of units, in ten bins.

use serde::{Deserialize, Serialize};

use crate::footprint::Footprint;

/// Bins of ratios: bin `i` holds `i / 10 <= ratio < (i + 1) / 10`, the last one 1 too.
pub const BINS: usize = 10;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// Kernels.
    Kernel,
    /// Work-groups: of one kernel for `self`, the launching one with each of the child's, each with those
    /// of siblings.
    WorkGroup,
    /// Wavefronts of one work-group.
    Wavefront,
}

impl Level {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::WorkGroup => "work_group",
            Self::Wavefront => "wavefront",
        }
    }
}

/// The ratios of all units, or all pairs of units, of one sort. Of pairs, the ratio is the share of the accesses of the
/// first that touch lines which the second touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Units compared.
    pub level: Level,
    /// Name of what they are to each other: `self` for a unit alone, `intra_kernel` and `inter` for those of one kernel
    /// or one work-group, `parent_child`, `sibling`.
    pub relation: String,
    /// Units, or ordered pairs, in each bin.
    pub bins: [u64; BINS],
    /// Units or pairs without accesses on one side, which have no ratio.
    pub undefined: u64,
    /// Sum of the ratios.
    pub sum: f64,
}

impl Ratios {
    pub(crate) fn new(level: Level, relation: &str) -> Self {
        Self {
            level,
            relation: relation.to_owned(),
            bins: [0; BINS],
            undefined: 0,
            sum: 0.0,
        }
    }

    /// Units or pairs that have a ratio.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Mean of the ratios; `None` where there are none.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count != 0).then(|| self.sum / count as f64)
    }

    /// `count` ratios of `part` in `whole` accesses; no ratio where there are no accesses.
    pub(crate) fn add(&mut self, part: u64, whole: u64, count: u64) {
        let Some(bin) = (part * BINS as u64).checked_div(whole) else {
            self.undefined += count;
            return;
        };
        self.bins[(bin as usize).min(BINS - 1)] += count;
        self.sum += part as f64 / whole as f64 * count as f64;
    }
}

/// A unit of a group in which all are compared with all but those of their own kind.
pub(crate) struct Member<'f> {
    pub(crate) footprint: &'f Footprint,
    /// Units of one kind are not compared.
    pub(crate) kind: u32,
}

/// Adds the ratios of all ordered pairs of different kinds; calls `related` with the pairs that share lines.
///
/// The cost is that of the pairs that share a line, line by line: pairs without are counted without being looked at.
pub(crate) fn compare_all(
    members: &[Member<'_>],
    ratios: &mut Ratios,
    mut related: impl FnMut(usize, usize, u64, u64),
) {
    let mut of_kind: rustc_hash::FxHashMap<u32, [u64; 2]> = rustc_hash::FxHashMap::default();
    let mut all = [0; 2];
    for member in members {
        let empty = usize::from(member.footprint.is_empty());
        of_kind.entry(member.kind).or_default()[empty] += 1;
        all[empty] += 1;
    }
    // Line, member.
    let mut index: Vec<(u32, u32)> = (0_u32..)
        .zip(members)
        .flat_map(|(at, member)| {
            let lines = member.footprint.lines().iter();
            lines.map(move |(line, _)| (*line, at))
        })
        .collect();
    index.sort_unstable();
    let mut shared = vec![0_u64; members.len()];
    let mut touched: Vec<usize> = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let own = of_kind[&member.kind];
        let (others, empty) = (all[0] - own[0], all[1] - own[1]);
        if member.footprint.is_empty() {
            ratios.undefined += others + empty;
            continue;
        }
        ratios.undefined += empty;
        for &(line, count) in member.footprint.lines() {
            let first = index.partition_point(|(other, _)| *other < line);
            for &(_, other) in index[first..]
                .iter()
                .take_while(|(other, _)| *other == line)
            {
                let other = other as usize;
                if members[other].kind == member.kind {
                    continue;
                }
                if shared[other] == 0 {
                    touched.push(other);
                }
                shared[other] += u64::from(count);
            }
        }
        touched.sort_unstable();
        let whole = member.footprint.accesses;
        ratios.add(0, whole, others - touched.len() as u64);
        for other in touched.drain(..) {
            let part = std::mem::take(&mut shared[other]);
            ratios.add(part, whole, 1);
            related(at, other, part, whole);
        }
    }
}
