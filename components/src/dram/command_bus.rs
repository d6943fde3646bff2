//! How many commands a channel takes in a cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::banks::Command;

/// The pins that commands come by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CommandBus {
    /// One command per cycle.
    #[default]
    Shared,
    /// One per cycle that opens, closes or refreshes rows, and one read or write, as the row and column
    /// pins of high-bandwidth memory allow. Requests are scheduled from unified queues.
    RowAndColumn,
}

impl CommandBus {
    /// Number of the pins that a command takes, 0 or 1.
    pub(super) fn pins(self, command: Command) -> usize {
        match (self, command) {
            (Self::RowAndColumn, Command::Read { .. } | Command::Write { .. }) => 1,
            _ => 0,
        }
    }
}
