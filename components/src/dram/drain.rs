//! When writes are served instead of reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// The policy of write draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Drain {
    /// Writes are served from when more than `high` of them wait or no reads do, until fewer than
    /// `low` wait and reads do. Ramulator 2 has 25 and 7 for queues of 32 (on at 26, off at 6),
    /// Ramulator 1 rounds down to 25 and 6 (off at 5).
    Watermarks {
        /// Most waiting writes that do not start serving them.
        high: u32,
        /// Fewest waiting writes that do not end it, at least 1.
        low: u32,
    },
    /// When the write queue is full, or when more than `idle_above` writes wait and no reads have
    /// commands to wait for, as many writes as wait then are served (DRAMsim3, there 8). So
    /// `idle_above` writes may wait for ever.
    Batches {
        /// Most writes that are left waiting when there is nothing else to do.
        idle_above: u32,
    },
}

/// Whether writes are served now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Draining {
    on: bool,
    /// Writes of the batch still to be served.
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

    /// Whether so many writes are served some time without anything else happening.
    pub(crate) fn serves(self, writes: u32, draining: Draining) -> bool {
        match self {
            Self::Watermarks { .. } => writes > 0,
            Self::Batches { idle_above } => writes > idle_above || draining.left > 0,
        }
    }
}

impl Draining {
    /// Applies the policy to the number of waiting writes and what stands against them; `full`
    /// says that no more writes can wait. Once per change of these is as good as once per cycle:
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

    /// A write was taken.
    #[inline]
    pub(crate) fn served(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}
