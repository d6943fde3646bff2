//! Input ports of a network: packets enter flit by flit while there are credits.
//!
//! ```text
//!   offer ─► entering ──► wire ──► buffers of the input ──► take_flit
//!            packet      (cycles)  (flits each, FIFO)           │
//!            1 flit/cycle                                       │
//!              ▲ credits per buffer                             │
//!              └──────────────── return_credit ◄── the network ─┘
//! ```
//!
//! A buffer is a queue of the switch or a virtual channel of the router. Its credits are the free
//! slots known to the port; the network determines when a credit returns.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};

use super::port_bits::PortBits;
use super::port_bits::PortMask;
use super::requests::ports;
use super::traffic::{PacketPlace, Traffic};
use crate::building_blocks::{DelayLine, Fifo};

/// Selection of the input buffer that a packet enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BufferChoice {
    /// Number `output mod buffers`: packets for one output stay in order.
    ByOutput,
    /// Next buffer with a credit after that of the previous packet.
    NextWithCredit,
}

/// Packet at an input, from its offer to the departure of its tail from the buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct QueuedPacket {
    pub(super) packet: PacketPlace,
    pub(super) output: u32,
    pub(super) flits_left: u32,
}

/// One buffer of an input port.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct InputBuffer {
    /// Packets whose head has entered the buffer.
    packets: Fifo<QueuedPacket>,
    /// Flits that have arrived and not left.
    flits: u32,
    /// Free slots, as known to the port.
    credits: u32,
}

impl InputBuffer {
    /// Returns the packet whose flits leave next. Its head has arrived if the buffer holds flits.
    #[inline]
    pub(super) fn first(&self) -> Option<&QueuedPacket> {
        self.packets.front()
    }

    /// Returns the output of the first packet.
    ///
    /// # Panics
    /// Panics if the buffer holds no packet.
    #[inline]
    pub(super) fn output(&self) -> usize {
        self.first().expect("every flit belongs to a packet").output as usize
    }

    /// Number of flits in the buffer.
    #[inline]
    pub(super) fn flits(&self) -> u32 {
        self.flits
    }
}

/// Flit that leaves its buffer for the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flit {
    pub(super) packet: PacketPlace,
    pub(super) is_tail: bool,
}

/// Packet that is entering through an input port.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct IncomingPacket {
    /// Buffer that the packet enters; until its head does, that of the previous packet.
    buffer: u32,
    flits_left: u32,
    packet: QueuedPacket,
    /// True until the packet's head has entered.
    is_head: bool,
}

/// Input ports with their buffers, which are numbered input by input.
#[derive(State)]
pub(super) struct InputPorts {
    #[state(skip)]
    buffers_per_input: usize,
    #[state(skip)]
    choice: BufferChoice,
    #[state(skip)]
    wire_cycles: Cycle,
    #[state(array)]
    entering: Vec<IncomingPacket>,
    /// Inputs with a packet that is entering.
    #[state(rename = "busy_inputs")]
    busy: PortBits,
    /// Inputs whose packet finished entering in the last step; valid only until the next step, so
    /// not saved.
    #[state(skip)]
    freed: PortBits,
    /// Flits on the input wires, represented by their target buffers.
    wire: DelayLine<u32>,
    #[state(array)]
    buffers: Vec<InputBuffer>,
}

/// Specification of input ports: buffers and wire latency.
#[derive(Clone, Copy, Debug)]
pub(super) struct InputPortsSpec {
    pub(super) inputs: usize,
    pub(super) buffers_per_input: usize,
    /// Number of flit slots of each buffer.
    pub(super) buffer_flits: u32,
    pub(super) choice: BufferChoice,
    /// Cycles from a flit's entry at the port to its arrival in the buffer.
    pub(super) wire_cycles: u32,
}

impl InputPorts {
    pub(super) fn new(spec: &InputPortsSpec) -> Self {
        let per_input = spec.buffers_per_input;
        let entering = |input: usize| IncomingPacket {
            // The first packet takes the buffer after the last one: the first.
            buffer: ((input + 1) * per_input - 1) as u32,
            flits_left: 0,
            packet: QueuedPacket::default(),
            is_head: false,
        };
        let buffer = InputBuffer {
            credits: spec.buffer_flits,
            ..InputBuffer::default()
        };
        Self {
            buffers_per_input: per_input,
            choice: spec.choice,
            wire_cycles: spec.wire_cycles.into(),
            entering: (0..spec.inputs).map(entering).collect(),
            busy: PortBits::default(),
            freed: PortBits::default(),
            wire: DelayLine::default(),
            buffers: vec![buffer; spec.inputs * per_input],
        }
    }

    /// True if the input has no packet that is entering.
    #[inline]
    pub(super) fn accepts(&self, input: usize) -> bool {
        !self.busy.contains(input)
    }

    /// Returns the inputs without an entering packet.
    #[inline]
    pub(super) fn accepting(&self) -> PortMask {
        let all = PortMask::MAX >> (PortMask::BITS as usize - self.entering.len());
        all & !self.busy.mask()
    }

    /// Returns the inputs that finished accepting a packet in the last step.
    #[inline]
    pub(super) fn freed(&self) -> PortMask {
        self.freed.mask()
    }

    /// Offers a packet to an input that accepts one.
    #[inline]
    pub(super) fn offer(&mut self, input: usize, packet: QueuedPacket) {
        let entering = &mut self.entering[input];
        entering.flits_left = packet.flits_left;
        entering.packet = packet;
        entering.is_head = true;
        self.busy.insert(input);
    }

    /// Moves one flit of every entering packet onto the wire, if its buffer has a credit.
    pub(super) fn enter<P: Copy>(&mut self, now: Cycle, traffic: &mut Traffic<P>) {
        self.freed = PortBits::default();
        let at = now + self.wire_cycles;
        for input in ports(self.busy.mask()) {
            if self.buffers_per_input > 1 && self.entering[input].is_head {
                self.entering[input].buffer = self.choose(input) as u32;
            }
            let entering = &mut self.entering[input];
            let buffer = &mut self.buffers[entering.buffer as usize];
            if buffer.credits == 0 {
                traffic.stall(input, now);
                continue;
            }
            buffer.credits -= 1;
            if entering.is_head {
                entering.is_head = false;
                buffer.packets.push(entering.packet);
                traffic.begin(entering.packet.packet, now);
            }
            traffic.enter(input, now);
            self.wire.push(at, entering.buffer);
            entering.flits_left -= 1;
            if entering.flits_left == 0 {
                self.busy.remove(input);
                self.freed.insert(input);
            }
        }
    }

    /// Returns the buffer that a head would enter. If none has a credit, it is that of the previous
    /// packet, so that waiting does not advance the round-robin order.
    fn choose(&self, input: usize) -> usize {
        let many = self.buffers_per_input;
        let first = input * many;
        let entering = &self.entering[input];
        match self.choice {
            BufferChoice::ByOutput => first + entering.packet.output as usize % many,
            BufferChoice::NextWithCredit => {
                let last = entering.buffer as usize;
                let mut after = (1..=many).map(|k| first + (last - first + k) % many);
                let with_credit = after.find(|&buffer| self.buffers[buffer].credits > 0);
                with_credit.unwrap_or(last)
            }
        }
    }

    /// Moves the next flit that has passed the wire into its buffer, and returns the buffer.
    #[inline]
    pub(super) fn arrive(&mut self, now: Cycle) -> Option<usize> {
        let number = self.wire.take(now)? as usize;
        self.buffers[number].flits += 1;
        Some(number)
    }

    /// Returns the buffer with this number.
    #[inline]
    pub(super) fn buffer(&self, buffer: usize) -> &InputBuffer {
        &self.buffers[buffer]
    }

    /// Removes the first flit from a buffer. Also returns the output of the next flit, if there is
    /// one. The slot becomes free only when its credit returns.
    ///
    /// # Panics
    /// Panics if the buffer is empty.
    #[inline]
    pub(super) fn take_flit(&mut self, buffer: usize) -> (Flit, Option<u32>) {
        let buffer = &mut self.buffers[buffer];
        let first = buffer.packets.front_mut();
        let first = first.expect("only buffers with flits are chosen");
        first.flits_left -= 1;
        buffer.flits -= 1;
        let flit = Flit {
            packet: first.packet,
            is_tail: first.flits_left == 0,
        };
        let mut next = first.output;
        if flit.is_tail {
            buffer.packets.remove_first();
            next = buffer.packets.front().map_or(0, |packet| packet.output);
        }
        (flit, (buffer.flits > 0).then_some(next))
    }

    /// Returns a credit to the port for a free slot of the buffer.
    #[inline]
    pub(super) fn return_credit(&mut self, buffer: usize) {
        self.buffers[buffer].credits += 1;
    }

    /// True if a flit enters in the next step without any other event; `stalled` inputs wait for a
    /// credit.
    #[inline]
    pub(super) fn is_entering(&self, stalled: PortMask) -> bool {
        self.busy.mask() & !stalled != 0
    }

    /// Returns the cycle in which the next flit arrives in its buffer.
    #[inline]
    pub(super) fn next_arrival(&self) -> Option<Cycle> {
        self.wire.next()
    }
}

#[cfg(test)]
mod tests {
    use warpweave_framework::Stateful;

    use super::*;

    /// Test bench with input ports and the traffic statistics of their packets.
    struct Bench {
        inputs: InputPorts,
        traffic: Traffic<()>,
    }

    impl Bench {
        fn new(choice: BufferChoice, buffers_per_input: usize, wire_cycles: u32) -> Self {
            let inputs = InputPorts::new(&InputPortsSpec {
                inputs: 2,
                buffers_per_input,
                buffer_flits: 2,
                choice,
                wire_cycles,
            });
            Self {
                inputs,
                traffic: Traffic::new(2, 4),
            }
        }

        fn offer(&mut self, now: Cycle, input: usize, output: u32, flits: u32) -> PacketPlace {
            let packet = self.traffic.insert(now, 0, ());
            let queued = QueuedPacket {
                packet,
                output,
                flits_left: flits,
            };
            self.inputs.offer(input, queued);
            packet
        }

        /// Runs one cycle and returns the buffers that a flit joined.
        fn step(&mut self, now: Cycle) -> Vec<usize> {
            self.inputs.enter(now, &mut self.traffic);
            std::iter::from_fn(|| self.inputs.arrive(now)).collect()
        }
    }

    #[test]
    fn a_flit_per_cycle_joins_its_buffer_after_the_wire() {
        let mut b = Bench::new(BufferChoice::ByOutput, 1, 3);
        let packet = b.offer(10, 1, 3, 2);
        assert!(b.inputs.accepts(0) && !b.inputs.accepts(1));
        assert_eq!(b.inputs.accepting(), 0b01);
        assert!(b.inputs.is_entering(0));
        assert_eq!((b.step(10), b.inputs.freed()), (vec![], 0));
        assert_eq!((b.step(11), b.inputs.freed()), (vec![], 0b10));
        assert_eq!(b.inputs.accepting(), 0b11);
        assert_eq!((b.step(12), b.inputs.freed()), (vec![], 0));
        assert_eq!(b.inputs.next_arrival(), Some(13));
        assert_eq!(b.step(13), [1]);
        let buffer = b.inputs.buffer(1);
        assert_eq!((buffer.flits(), buffer.output()), (1, 3));
        assert_eq!(b.step(14), [1]);
        let flits = [(), ()].map(|()| b.inputs.take_flit(1).0);
        assert_eq!(
            flits.map(|f| (f.packet, f.is_tail)),
            [(packet, false), (packet, true)]
        );
        assert_eq!(b.inputs.buffer(1).first(), None);
    }

    #[test]
    fn a_full_buffer_stalls_its_input_until_a_credit_returned() {
        let mut b = Bench::new(BufferChoice::ByOutput, 1, 0);
        b.offer(0, 0, 0, 3);
        assert_eq!((b.step(0), b.step(1)), (vec![0], vec![0]));
        assert!(b.step(2).is_empty());
        assert_eq!(b.traffic.stalled_inputs(), 0b01);
        assert!(!b.inputs.is_entering(b.traffic.stalled_inputs()));
        // A flit that left is not yet a slot that is free.
        b.inputs.take_flit(0);
        assert!(b.step(3).is_empty());
        b.inputs.return_credit(0);
        assert_eq!(b.step(4), [0]);
        assert_eq!(
            (b.traffic.stalled_inputs(), b.traffic.credit_stalls(9)),
            (0, 2)
        );
    }

    #[test]
    fn packets_for_one_output_share_a_buffer_if_it_is_chosen_by_output() {
        let mut b = Bench::new(BufferChoice::ByOutput, 3, 0);
        for (now, output, buffer) in [(0, 0, 3), (1, 2, 5), (2, 3, 3), (3, 1, 4)] {
            b.offer(now, 1, output, 1);
            assert_eq!(b.step(now), [buffer], "output {output}");
        }
    }

    #[test]
    fn packets_take_the_next_buffer_with_a_credit_in_turn() {
        let mut b = Bench::new(BufferChoice::NextWithCredit, 3, 0);
        // Two slots each: the third round finds none.
        for (now, buffer) in [3, 4, 5, 3, 4, 5].into_iter().enumerate() {
            b.offer(now as Cycle, 1, 0, 1);
            assert_eq!(b.step(now as Cycle), [buffer]);
        }
        b.offer(6, 1, 0, 1);
        assert_eq!((b.step(6), b.step(7)), (vec![], vec![]));
        b.inputs.return_credit(4);
        b.inputs.return_credit(5);
        // After buffer 5 comes buffer 3, which is full.
        assert_eq!(b.step(8), [4]);
        b.offer(9, 1, 0, 1);
        assert_eq!(b.step(9), [5]);
    }

    #[test]
    fn the_saved_state_goes_on_identically() {
        let build = || Bench::new(BufferChoice::NextWithCredit, 2, 2);
        let mut b = build();
        b.offer(0, 0, 1, 3);
        b.step(0);
        b.step(1);
        let bytes = State::save(|state| b.inputs.state(state)).unwrap();
        let mut restored = build();
        State::load(&bytes, |state| restored.inputs.state(state)).unwrap();
        restored.traffic = b.traffic;
        assert_eq!(restored.step(2), [0]);
        assert_eq!((restored.step(3), restored.step(4)), (vec![0], vec![]));
    }
}
