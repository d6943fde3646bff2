//! Parts common to both kinds of network: input ports, output ports, and the packets in between.

use warpweave_framework::{Cycle, State};

use super::input_ports::{InputPorts, InputPortsSpec, QueuedPacket};
use super::output_ports::{LeavingFlit, OutputPorts};
use super::traffic::{PacketInfo, Traffic};

/// Ports of a network; `P` is the payload of its packets.
#[derive(State)]
pub(super) struct NetworkPorts<P> {
    #[state(flatten)]
    pub(super) inputs: InputPorts,
    #[state(flatten)]
    pub(super) outputs: OutputPorts,
    #[state(flatten)]
    pub(super) traffic: Traffic<P>,
}

impl<P: Copy> NetworkPorts<P> {
    pub(super) fn new(inputs: &InputPortsSpec, outputs: usize) -> Self {
        Self {
            inputs: InputPorts::new(inputs),
            outputs: OutputPorts::new(outputs),
            traffic: Traffic::new(inputs.inputs, outputs),
        }
    }

    /// Offers a packet to its input port.
    ///
    /// # Panics
    /// Panics if the input does not accept, or if the parcel's ports or flit count are invalid.
    pub(super) fn offer(&mut self, now: Cycle, parcel: PacketInfo, payload: P) {
        let PacketInfo {
            input,
            output,
            flits,
            bytes,
        } = parcel;
        let outputs = self.outputs.count();
        assert!(
            self.inputs.accepts(input),
            "input {input} is already receiving a packet"
        );
        assert!(
            output < outputs && flits > 0,
            "{flits} flits to output {output} of {outputs}"
        );
        let packet = QueuedPacket {
            packet: self.traffic.insert(now, bytes, payload),
            output: output as u32,
            flits_left: flits,
        };
        self.inputs.offer(input, packet);
    }

    /// Moves one flit of every offered packet into its input port, if there is a credit.
    #[inline]
    pub(super) fn enter(&mut self, now: Cycle) {
        self.inputs.enter(now, &mut self.traffic);
    }

    /// Sends one flit from every output port; see [`OutputPorts::leave`].
    #[inline]
    pub(super) fn leave(
        &mut self,
        now: Cycle,
        deliver: impl FnMut(usize, P, Cycle) -> bool,
        left: impl FnMut(usize, LeavingFlit),
    ) {
        self.outputs.leave(now, &mut self.traffic, deliver, left);
        self.traffic.note_occupancy(now);
    }

    /// Returns the cycle in which the first packet of an input buffer was offered.
    #[inline]
    pub(super) fn age(&self, buffer: usize) -> Cycle {
        let first = self.inputs.buffer(buffer).first();
        first.map_or(Cycle::MAX, |first| {
            self.traffic.packet(first.packet).offered
        })
    }

    /// True if a flit enters in the next step without any other event.
    #[inline]
    pub(super) fn is_entering(&self) -> bool {
        self.inputs.is_entering(self.traffic.stalled_inputs())
    }
}
