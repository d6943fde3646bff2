//! Bounds that specifications and stages share.

/// Most wavefront slots of a unit: a slot is a bit of a 64-bit mask.
pub(crate) const WAVEFRONT_SLOTS_MAX: u32 = 64;
/// Longest latency or interval accepted, in cycles.
pub(crate) const LATENCY_MAX: u32 = 1 << 16;
