//! Command bus that several channels share.

use warpweave_framework::{Cycle, State};

use super::controller::Controller;

/// Command bus shared by several channels. Holds the next channel in round-robin order and the last
/// command cycle of each set of pins.
#[derive(Clone, Copy, Debug, Default, State)]
pub(super) struct SharedBus {
    turn: usize,
    last: [Option<Cycle>; 2],
}

impl SharedBus {
    /// Issues the commands of all channels up to cycle `until`, earliest first. Ties are resolved
    /// round-robin, starting after the channel served last. Returns true if any command was issued.
    ///
    /// # Errors
    /// Returns an error if two commands use the same pins in one cycle.
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
}
