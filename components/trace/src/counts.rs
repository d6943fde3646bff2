//! Counts of executed instructions.

use serde::{Deserialize, Serialize};

/// Number of instructions executed by one wavefront, work-group or kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WavefrontCounts {
    /// Wavefront instructions. The parts of a split access count once.
    pub instructions: u64,
    /// Sum of active lanes over all instructions.
    pub thread_instructions: u64,
}

impl std::ops::AddAssign for WavefrontCounts {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
    }
}
