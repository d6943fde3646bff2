//! How many commands a channel takes in a cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use super::banks::Command;

use super::controller::Controller;

/// The bus of several channels: whose turn it is, and when a command came last by either pins.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct SharedBus {
    turn: usize,
    last: [Option<Cycle>; 2],
}

impl SharedBus {
    /// Issues the commands of all channels up to cycle `until`: the earliest first, in one cycle that of the channel
    /// which comes after the one served last. Whether there were any.
    ///
    /// # Errors
    /// Two commands came by the same pins in one cycle.
    pub(super) fn advance(
        &mut self,
        channels: &mut [Controller],
        until: Cycle,
    ) -> Result<bool, String> {
        let mut any = false;
        loop {
            let count = channels.len();
            let in_turn = (0..count).map(|offset| (self.turn + offset) % count);
            let mut first: Option<(Cycle, usize)> = None;
            for number in in_turn {
                let next = channels[number].next_command();
                if let Some(cycle) = next.filter(|cycle| *cycle <= until)
                    && first.is_none_or(|(earliest, _)| cycle < earliest)
                {
                    first = Some((cycle, number));
                }
            }
            let Some((cycle, number)) = first else {
                return Ok(any);
            };
            let pins = channels[number].issue_next(cycle);
            if self.last[pins].is_some_and(|last| last >= cycle) {
                return Err(format!("cycle {cycle}: two commands on the shared bus"));
            }
            self.last[pins] = Some(cycle);
            self.turn = (number + 1) % count;
            for (other, channel) in channels.iter_mut().enumerate() {
                if other != number {
                    channel.yield_bus(cycle, pins);
                }
            }
            any = true;
        }
    }

    /// Whether the turn is that of one of so many channels, for what a checkpoint held.
    pub(super) fn fits(&self, channels: usize) -> bool {
        self.turn < channels
    }
}

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
