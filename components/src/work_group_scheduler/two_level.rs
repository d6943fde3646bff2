//! Two-level round robin: over clusters first, then over the units of a cluster, round by round.

use super::ordered::Rank;
use super::policy::Machine;

/// Context `k` of unit `s` of cluster `c` has its turn in the order `for k: for s: for c`.
pub(super) fn rank(machine: Machine, unit: u32, resident: u32) -> Rank {
    (resident, machine.within(unit), machine.cluster(unit))
}
