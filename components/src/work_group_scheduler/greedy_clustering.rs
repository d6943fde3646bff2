//! Greedy clustering: a cluster is filled completely before the next one.

use super::ordered::Rank;
use super::policy::Machine;

/// Context `k` of unit `s` of cluster `c` has its turn in the order `for c: for k: for s`; small
/// grids leave clusters idle.
pub(super) fn rank(machine: Machine, unit: u32, resident: u32) -> Rank {
    (machine.cluster(unit), resident, unit)
}
