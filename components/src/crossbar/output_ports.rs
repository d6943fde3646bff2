//! Output ports of a network: flits wait until they can leave, one per cycle and port.
//!
//! ```text
//!   push ─► buffer or wire of the output ─► 1 flit/cycle ─► deliver, with the tail
//!           (cycles)                             ▲                 │
//!                                                └─ refused: waits ┘
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use super::port_bits::PortBits;
use super::requests::ports;
use super::traffic::{PacketPlace, Traffic};
use crate::building_blocks::DelayLine;

/// Flit on its way out of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeavingFlit {
    pub(super) packet: PacketPlace,
    pub(super) is_tail: bool,
    /// Virtual channel of its output, counted over all outputs; a switch has one per output.
    pub(super) channel: u32,
}

/// Output ports of a network, with their buffers.
#[derive(State)]
#[state(prepare = OutputPorts::find_next, restore = OutputPorts::find_next)]
pub(super) struct OutputPorts {
    #[state(array)]
    leaving: Vec<DelayLine<LeavingFlit>>,
    /// Outputs that currently hold at least one flit.
    #[state(rename = "occupied_outputs")]
    occupied: PortBits,
    /// Outputs whose tail was refused in the last step.
    #[state(rename = "blocked_outputs")]
    blocked: PortBits,
    /// First cycle in which a flit can leave whose tail was not refused, or [`Cycle::MAX`]. Not
    /// saved, because it can be recomputed.
    #[state(skip)]
    next: Cycle,
}

impl OutputPorts {
    pub(super) fn new(outputs: usize) -> Self {
        Self {
            leaving: vec![DelayLine::default(); outputs],
            occupied: PortBits::default(),
            blocked: PortBits::default(),
            next: Cycle::MAX,
        }
    }

    /// Number of output ports of the network.
    pub(super) fn count(&self) -> usize {
        self.leaving.len()
    }

    /// Appends a flit that can leave from cycle `at` on. Returns the number of flits then held by
    /// the output.
    #[inline]
    pub(super) fn push(&mut self, output: usize, at: Cycle, flit: LeavingFlit) -> usize {
        let leaving = &mut self.leaving[output];
        leaving.push(at, flit);
        self.occupied.insert(output);
        self.next = self.next.min(at);
        leaving.len()
    }

    /// Sends one flit from every output; a tail only if the receiver accepts the packet. `deliver`
    /// gets the output, the packet's payload and the cycle in which its head entered. `left` is
    /// called for every flit that left.
    #[inline]
    pub(super) fn leave<P: Copy>(
        &mut self,
        now: Cycle,
        traffic: &mut Traffic<P>,
        mut deliver: impl FnMut(usize, P, Cycle) -> bool,
        mut left: impl FnMut(usize, LeavingFlit),
    ) {
        self.blocked = PortBits::default();
        let mut next = Cycle::MAX;
        for output in ports(self.occupied.mask()) {
            let leaving = &mut self.leaving[output];
            let Some(&flit) = leaving.ready(now) else {
                next = next.min(leaving.next().unwrap_or(Cycle::MAX));
                continue;
            };
            if flit.is_tail {
                let packet = traffic.packet(flit.packet);
                if !deliver(output, packet.payload, packet.entered) {
                    self.blocked.insert(output);
                    continue;
                }
                traffic.deliver(flit.packet, now);
            }
            leaving.remove_first();
            match leaving.next() {
                Some(cycle) => next = next.min(cycle),
                None => self.occupied.remove(output),
            }
            traffic.leave(output);
            left(output, flit);
        }
        self.next = next;
    }

    /// True if a receiver refused a packet in the last step.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        !self.blocked.is_empty()
    }

    /// Returns the cycle in which the next flit leaves without changes at the receivers.
    #[inline]
    pub(super) fn next_departure(&self) -> Option<Cycle> {
        Some(self.next).filter(|next| *next != Cycle::MAX)
    }

    fn find_next(&mut self) {
        let moving = ports(self.occupied.mask() & !self.blocked.mask());
        let departures = moving.filter_map(|output| self.leaving.get(output)?.next());
        self.next = departures.min().unwrap_or(Cycle::MAX);
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
                traffic.enter(0, 0);
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
