//! Write-drain policy: when writes are served instead of reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// Policy that decides when writes are drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Drain {
    /// Draining starts when more than `high` writes wait or no reads wait. It stops when fewer than
    /// `low` writes wait and reads do. Ramulator 2 has 25 and 7 for queues of 32 (on at 26, off at
    /// 6). Ramulator 1 rounds down to 25 and 6 (off at 5).
    Watermarks {
        /// Maximum number of waiting writes that does not start draining.
        high: u32,
        /// Minimum number of waiting writes that does not end draining, at least 1.
        low: u32,
    },
    /// A batch starts when the write queue is full, or when more than `idle_above` writes wait and
    /// no reads need commands. The batch contains all writes that wait then (DRAMsim3, there 8). Up
    /// to `idle_above` writes may therefore wait indefinitely.
    Batches {
        /// Maximum number of writes left waiting while the channel is otherwise idle.
        idle_above: u32,
    },
}

/// State of the write drain: true while writes are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draining {
    on: bool,
    /// Number of writes of the batch still to be served.
    left: u32,
}

impl Drain {
    pub(crate) fn check(self, writes: u32) -> Result<(), SpecError> {
        match self {
            Self::Watermarks { high, low } => {
                SpecError::require(high < writes, "drain.high", || {
                    format!("{high} must be below write_queue ({writes})")
                })?;
                SpecError::in_range("drain.low", low, 1..=high + 1)
            }
            Self::Batches { idle_above } => {
                SpecError::require(idle_above < writes, "drain.idle_above", || {
                    format!("{idle_above} must be below write_queue ({writes})")
                })
            }
        }
    }

    /// True if this number of writes is eventually served without any other event.
    pub(crate) fn serves(self, writes: u32, draining: Draining) -> bool {
        match self {
            Self::Watermarks { .. } => writes > 0,
            Self::Batches { idle_above } => writes > idle_above || draining.left > 0,
        }
    }
}

impl Draining {
    /// Applies the policy to the number of waiting writes and of competing reads. `full` means that
    /// the write queue is full. Calling it once per change is equivalent to once per cycle, because
    /// the rule is idempotent.
    #[inline]
    pub(crate) fn update(&mut self, drain: Drain, writes: u32, full: bool, reads: u32) {
        match drain {
            Drain::Watermarks { high, low } => {
                self.on = if self.on {
                    writes >= low || reads == 0
                } else {
                    writes > high || reads == 0
                };
            }
            Drain::Batches { idle_above } => {
                if self.left == 0 && (full || writes > idle_above && reads == 0) {
                    self.left = writes;
                }
                self.on = self.left > 0;
            }
        }
    }

    #[inline]
    pub(crate) fn on(self) -> bool {
        self.on
    }

    /// Records that a write was taken from its queue.
    #[inline]
    pub(crate) fn served(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}
