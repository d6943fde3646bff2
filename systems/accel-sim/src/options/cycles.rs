//! Latencies in cycles of the clocks of a machine.

/// Maximum latency of a cache or of DRAM, in cycles.
pub(super) const CYCLES_MAX: u32 = 1 << 16;

/// Converts cycles of one clock to cycles of another.
pub(super) fn in_clock(cycles: u32, from: f64, to: f64) -> u32 {
    (f64::from(cycles) * to / from)
        .round()
        .min(f64::from(CYCLES_MAX)) as u32
}
