//! What a component waits for after an evaluation.

use serde::{Deserialize, Serialize};

use crate::observe::Reason;
use crate::time::Cycle;

/// What a component waits for after an evaluation.
///
/// Whatever it says, a component is also woken by any message that becomes the oldest readable one
/// of an input (not by one behind a message that it left there) and by the credit of any output
/// that it found full. The reason feeds the activity statistics and the
/// deadlock report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Next {
    /// Work remains: evaluate again in the next cycle. Legal only if that evaluation changes
    /// something without new input.
    Busy,
    /// Nothing to do before this cycle of the component's clock (a cycle not in the future counts
    /// as the next one).
    Until(Cycle),
    /// Waits for a message.
    Message,
    /// Waits for room in an output.
    Credit,
    /// Waits for nothing: all work is done.
    Idle,
}

impl Next {
    /// The reason cycles are charged to while the component waits for this.
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
