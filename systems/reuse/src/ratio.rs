//! Reuse ratios (equations 1 to 3) of units and pairs of units, in ten bins.

use serde::{Deserialize, Serialize};

use crate::footprint::Footprint;

/// Number of ratio bins: bin `i` holds `i / 10 <= ratio < (i + 1) / 10`; the last one also holds 1.
pub const BINS: usize = 10;

/// Granularity at which reuse is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    /// Kernels are compared with each other.
    Kernel,
    /// Work-groups are compared: within one kernel for `self`, the launching work-group with each
    /// of the child's, and each with those of siblings.
    WorkGroup,
    /// Wavefronts of one work-group are compared.
    Wavefront,
}

impl Level {
    /// Returns the name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::WorkGroup => "work_group",
            Self::Wavefront => "wavefront",
        }
    }
}

/// Ratios of all units, or all pairs of units, of one relation. For a pair, the ratio is the share
/// of the first unit's accesses to lines that the second also touches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Level of the units that are compared.
    pub level: Level,
    /// Name of the relation: `self` for a unit alone, `intra_kernel` and `inter` for pairs within
    /// one kernel or one work-group, `parent_child`, or `sibling`.
    pub relation: String,
    /// Number of units, or ordered pairs, in each bin.
    pub bins: [u64; BINS],
    /// Number of units or pairs without a ratio because one side has no accesses.
    pub undefined: u64,
    /// Sum of all ratios, for the mean.
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

    /// Returns the number of units or pairs that have a ratio.
    pub fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Returns the mean ratio, or `None` without ratios.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count != 0).then(|| self.sum / count as f64)
    }

    /// Adds `count` ratios of `part` to `whole` accesses. With zero accesses the ratios count as
    /// undefined.
    pub(crate) fn add(&mut self, part: u64, whole: u64, count: u64) {
        let Some(bin) = (part * BINS as u64).checked_div(whole) else {
            self.undefined += count;
            return;
        };
        self.bins[(bin as usize).min(BINS - 1)] += count;
        self.sum += part as f64 / whole as f64 * count as f64;
    }
}

/// Member of a group whose units are compared with all units of other kinds.
pub(crate) struct Member<'f> {
    pub(crate) footprint: &'f Footprint,
    /// Kind of the unit; units of the same kind are not compared.
    pub(crate) kind: u32,
}

/// Adds the ratios of all ordered pairs of different kinds and calls `related` for the pairs that
/// share lines.
///
/// Cost is proportional to the pairs that share a line, per line. Pairs without shared lines are
/// counted without a visit.
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
