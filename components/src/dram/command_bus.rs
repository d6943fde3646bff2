//! Command bus: the number of commands a channel takes per cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::banks::Command;

/// Pins that carry the commands of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CommandBus {
    /// One command of any type per cycle.
    #[default]
    Shared,
    /// One row command (open, close or refresh) and one read or write per cycle, as on the row and
    /// column pins of high-bandwidth memory. Requests are scheduled from unified queues.
    RowAndColumn,
}

impl CommandBus {
    /// Returns the index of the pins that a command uses, 0 or 1.
    pub(super) fn pins(self, command: Command) -> usize {
        match (self, command) {
            (Self::RowAndColumn, Command::Read { .. } | Command::Write { .. }) => 1,
            _ => 0,
        }
    }
}
