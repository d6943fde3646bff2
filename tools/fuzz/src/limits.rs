//! Limits on the programs and workers that a campaign starts.

use std::time::Duration;

/// Time and memory limits for one input.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum wall-clock time for one input.
    pub time: Duration,
    /// Maximum address space for one input, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    /// Returns twenty seconds and four gibibytes, far more than the inputs of the folder need.
    fn default() -> Self {
        Self {
            time: Duration::from_secs(20),
            memory_bytes: 4 << 30,
        }
    }
}
