//! Search for the mapping of a launch's work-groups to compute units under which the units fetch
//! the fewest lines, by what the affine analysis predicts.
//!
//! ```text
//!   LineSets of a launch --> candidates --> score of each --> best few --> table of work-groups
//! ```

mod candidates;
mod score;

use warpweave_affine::LineSets;
use warpweave_components::work_group_table::UnitOrders;

pub use self::candidates::{Dealing, Mapping, Sequence};
pub use self::score::Score;

/// Lines that a search looks up before it gives up.
const LOOKUPS_MAX: u64 = 1 << 31;

/// Share of the mean load by which a unit may have more work-groups: one in this many.
const UNBALANCED: usize = 8;

/// Candidate of a search with its predicted score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scored {
    /// Rule by which the work-groups were mapped.
    pub mapping: Mapping,
    /// Lines and loads that are predicted for the mapping.
    pub score: Score,
    /// Work-groups of each unit in order.
    pub orders: UnitOrders,
}

/// Result of a search over the candidates for a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Work-groups in turn, without a mapping.
    pub in_turn: Score,
    /// Best candidates in ascending order of lines fetched; ties go to equal loads, then to the
    /// first of the [list](Mapping::candidates).
    pub best: Vec<Scored>,
    /// Number of candidates that were scored.
    pub candidates: usize,
}

/// Scores all candidates for a grid and keeps the best. A unit holds `resident` work-groups, and
/// its cache the lines of as many. Candidates with a unit that has an eighth more work-groups than
/// the mean, and one more, are left out. `None` if the launch is too large for a search.
pub fn search(
    sets: &LineSets,
    grid: [u32; 3],
    units: u32,
    resident: u32,
    best: usize,
) -> Option<Search> {
    let candidates = Mapping::candidates(grid);
    let work_groups = 0..sets.work_groups();
    let lines: u64 = work_groups
        .flat_map(|at| sets.of(at))
        .map(|&(start, end)| u64::from(end - start))
        .sum();
    if lines.checked_mul(candidates.len() as u64)? > LOOKUPS_MAX {
        return None;
    }
    let mut cache = score::Cache::new(sets);
    let even = sets.work_groups().div_ceil(units.max(1) as usize);
    let mut kept: Vec<Scored> = Vec::new();
    let mut scored = 0;
    let mut in_turn = Score::default();
    for mapping in candidates {
        let orders = mapping.orders(grid, units);
        let longest = orders.iter().map(Vec::len).max().unwrap_or_default();
        if longest > even + (even / UNBALANCED).max(1) {
            continue;
        }
        let score = cache.score(&orders, resident);
        scored += 1;
        if mapping == Mapping::IN_TURN {
            in_turn = score;
        }
        let is_known = kept.iter().any(|known| known.orders == orders);
        if is_known {
            continue;
        }
        let place = kept.partition_point(|known| known.score <= score);
        if place < best {
            let new = Scored {
                mapping,
                score,
                orders,
            };
            kept.insert(place, new);
            kept.truncate(best);
        }
    }
    Some(Search {
        in_turn,
        best: kept,
        candidates: scored,
    })
}
