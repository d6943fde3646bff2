//! Global round robin: over all units by number, round by round.

use super::ordered::Rank;
use super::policy::Machine;

/// Context `k` of unit `s` of cluster `c` has its turn in the order `for k: for c: for s`.
pub(super) fn rank(_machine: Machine, unit: u32, resident: u32) -> Rank {
    (resident, unit, 0)
}
