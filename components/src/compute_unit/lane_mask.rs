//! Masks of active lanes.

/// True if the active lanes are contiguous.
#[inline]
pub(crate) fn is_one_run(mask: u32) -> bool {
    let run = mask >> mask.trailing_zeros().min(31);
    run & run.wrapping_add(1) == 0
}
