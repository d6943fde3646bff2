//! What an evaluation looks at: units without a feature do not pay for it.

use crate::compute_unit::spec::ComputeUnitSpec;

/// The schedulers are built in and issue one of all their wavefronts in a cycle, and nothing limits instructions but their
/// operands and units.
pub(crate) const PLAIN: u8 = 0;
/// As above, and instructions are fetched.
pub(crate) const FETCHING: u8 = 1;
/// As above, but the register file or accesses per cycle are limited, a scheduler issues several instructions or stays
/// with one wavefront, loads of constants or textures have paths of their own, or the first-level cache tells something.
pub(crate) const LIMITED: u8 = 2;
/// As above, and the policies of the schedulers are not built in.
pub(crate) const OPEN: u8 = 3;

/// Whether nothing of [`LIMITED`] and [`OPEN`] is looked at.
#[inline(always)]
pub(crate) const fn is_plain(way: u8) -> bool {
    way <= FETCHING
}

/// The way of a unit, as far as it is known by its specification alone.
pub(crate) fn of(spec: &ComputeUnitSpec) -> u8 {
    let is_limited = spec.issues_per_cycle > 1
        || spec.register_banks.is_some()
        || spec.results_per_cycle.is_some()
        || spec.load_store.issues_per_cycle.is_some()
        || spec.constants.is_some()
        || spec.textures.is_some();
    match (is_limited, spec.fetch.is_some()) {
        (true, _) => LIMITED,
        (false, true) => FETCHING,
        (false, false) => PLAIN,
    }
}
