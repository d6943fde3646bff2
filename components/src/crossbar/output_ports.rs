//! The output ports of a network: flits wait until they can leave, one per cycle and port.
//!
//! ```text
//!   push ─► buffer or wire of the output ─► 1 flit/cycle ─► deliver, with the tail
//!           (cycles)                             ▲                 │
//!                                                └─ refused: waits ┘
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, State, below};

use super::requests::{PortMask, bit, ports};
use super::traffic::Traffic;
use crate::building_blocks::DelayLine;

/// A flit on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeavingFlit {
    pub(super) packet: Id,
    pub(super) is_tail: bool,
    /// The virtual channel of its output, counted over all outputs; a switch has one per output.
    pub(super) channel: u32,
}

/// The output ports.
pub(super) struct OutputPorts {
    leaving: Vec<DelayLine<LeavingFlit>>,
    /// Outputs with flits.
    occupied: PortMask,
    /// Outputs whose tail was refused in the last step.
    blocked: PortMask,
}

impl OutputPorts {
    pub(super) fn new(outputs: usize) -> Self {
        Self {
            leaving: vec![DelayLine::default(); outputs],
            occupied: 0,
            blocked: 0,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.leaving.len()
    }

    /// A flit that can leave from cycle `at` on; returns the flits that the output holds then.
    #[inline]
    pub(super) fn push(&mut self, output: usize, at: Cycle, flit: LeavingFlit) -> usize {
        self.leaving[output].push(at, flit);
        self.occupied |= bit(output);
        self.leaving[output].len()
    }

    /// One flit leaves every output; a tail only if the receiver takes the packet. `deliver` is
    /// handed the output, what the packet carries and the cycle in which its head entered; `left`
    /// is told of every flit that left.
    #[inline]
    pub(super) fn leave<P: Copy>(
        &mut self,
        now: Cycle,
        traffic: &mut Traffic<P>,
        mut deliver: impl FnMut(usize, P, Cycle) -> bool,
        mut left: impl FnMut(usize, LeavingFlit),
    ) {
        self.blocked = 0;
        for output in ports(self.occupied) {
            let Some(&flit) = self.leaving[output].ready(now) else {
                continue;
            };
            if flit.is_tail {
                let packet = traffic.packet(flit.packet);
                if !deliver(output, packet.payload, packet.entered) {
                    self.blocked |= bit(output);
                    continue;
                }
                traffic.deliver(flit.packet, now);
            }
            self.leaving[output].remove_first();
            traffic.leave(output);
            left(output, flit);
            if self.leaving[output].is_empty() {
                self.occupied &= !bit(output);
            }
        }
    }

    /// Whether a receiver refused a packet in the last step.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked != 0
    }

    /// The cycle in which the next flit leaves if no receiver changes its mind.
    #[inline]
    pub(super) fn next_departure(&self) -> Option<Cycle> {
        let moving = ports(self.occupied & !self.blocked);
        moving
            .filter_map(|output| self.leaving[output].next())
            .min()
    }

    /// Names the fields of the state.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.array("leaving", &mut self.leaving);
        state.field("occupied_outputs", &mut self.occupied);
        state.field("blocked_outputs", &mut self.blocked);
    }

    /// Whether what leaves fits, for what a checkpoint held: flits come by `channels` and belong to
    /// packets inside the network, of which `is_packet` is asked for each tail.
    pub(super) fn check(
        &self,
        channels: u64,
        mut is_packet: impl FnMut(Id) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut occupied = 0;
        for (output, leaving) in self.leaving.iter().enumerate() {
            if !leaving.is_empty() {
                occupied |= bit(output);
            }
            for flit in leaving.entries() {
                below("channel", flit.channel, channels)?;
                if flit.is_tail {
                    is_packet(flit.packet)?;
                }
            }
        }
        if occupied != self.occupied || self.blocked & !occupied != 0 {
            return Err("outputs are occupied by nothing".to_owned());
        }
        Ok(())
    }

    /// Flits on their way out.
    pub(super) fn flits_inside(&self) -> u64 {
        self.leaving
            .iter()
            .map(|leaving| leaving.len() as u64)
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_tail_holds_its_output_alone() {
        let mut outputs = OutputPorts::new(2);
        let mut traffic = Traffic::new(1, 2);
        for (output, payload) in ['a', 'b'].into_iter().enumerate() {
            let packet = traffic.insert(0, 8, payload);
            for is_tail in [false, true] {
                traffic.enter(0, None, 0);
                let flit = LeavingFlit {
                    packet,
                    is_tail,
                    channel: 7,
                };
                outputs.push(output, 3, flit);
            }
        }
        assert_eq!(outputs.next_departure(), Some(3));
        let mut delivered = Vec::new();
        let mut channels = Vec::new();
        for now in 2..6 {
            let deliver = |output, payload, _| {
                let takes = output == 1 || now == 5;
                if takes {
                    delivered.push((now, payload));
                }
                takes
            };
            outputs.leave(now, &mut traffic, deliver, |output, flit| {
                channels.push((now, output, flit.channel));
            });
            assert_eq!(outputs.is_blocked(), now == 4);
        }
        assert_eq!(delivered, [(4, 'b'), (5, 'a')]);
        assert_eq!(channels, [(3, 0, 7), (3, 1, 7), (4, 1, 7), (5, 0, 7)]);
        assert_eq!(traffic.flits_delivered(), [2, 2]);
        assert_eq!(
            (traffic.packets_inside(), outputs.next_departure()),
            (0, None)
        );
    }
}
