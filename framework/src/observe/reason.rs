//! Reasons for which a component did not work in a cycle.

use serde::{Deserialize, Serialize};

/// The reasons cycles are charged to, derived from [`crate::Next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Worked, or had work for the next cycle (the cycle before a timer expires included).
    Busy,
    /// Waited for a time beyond the next cycle.
    Timer,
    /// Waited for a message at an input.
    Message,
    /// Waited for room in an output channel.
    Credit,
    /// Had no work and waited for nothing.
    Idle,
}

impl Reason {
    /// All reasons, in the order of the counters.
    pub const ALL: [Self; 5] = [
        Self::Busy,
        Self::Timer,
        Self::Message,
        Self::Credit,
        Self::Idle,
    ];

    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Timer => "timer",
            Self::Message => "message",
            Self::Credit => "credit",
            Self::Idle => "idle",
        }
    }
}
