//! Wait condition of a component after an evaluation.

use serde::{Deserialize, Serialize};

use crate::observe::Reason;
use crate::time::Cycle;

/// Wait condition of a component after an evaluation.
///
/// In all cases a component is also woken by any message that becomes the oldest readable one of an
/// input. A message behind one that it left there does not wake it. The credit of any output that
/// it found full wakes it too. The reason is used for the activity statistics and the deadlock
/// report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// Work remains: evaluate again in the next cycle. Legal only if that evaluation changes state
    /// without new input.
    Busy,
    /// No work before this cycle of the component's clock (a cycle not in the future counts as the
    /// next one).
    Until(Cycle),
    /// Waits for a message at an input.
    Message,
    /// Waits for room in an output channel.
    Credit,
    /// Waits for nothing, because all work is done.
    Idle,
}

impl Next {
    /// Returns the reason that cycles are charged to during this wait.
    #[inline]
    pub fn reason(self) -> Reason {
        match self {
            Self::Busy => Reason::Busy,
            Self::Until(_) => Reason::Timer,
            Self::Message => Reason::Message,
            Self::Credit => Reason::Credit,
            Self::Idle => Reason::Idle,
        }
    }
}
