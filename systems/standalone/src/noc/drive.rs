//! Drives a bare network with a list of packets.

use serde::{Deserialize, Serialize};
use warpweave_components::crossbar::{Network, NetworkPlace, NetworkSpec, PacketInfo};
use warpweave_framework::Environment;

use crate::StandaloneError;

/// Number of inputs and outputs of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Number of input ports, which send packets.
    pub inputs: usize,
    /// Number of output ports, which receive packets.
    pub outputs: usize,
}

/// Packet of a trace, with its route and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// Cycle of creation. The packet waits at its source until earlier ones have entered the
    /// network.
    pub create: u64,
    /// Index of the input port, counted from 0.
    pub src: usize,
    /// Index of the output port, counted from 0.
    pub dst: usize,
    /// Length of the packet in flits.
    pub flits: u32,
}

/// Cycles in which a packet entered and left the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Cycle in which the head flit entered.
    pub inject: u64,
    /// Cycle in which the tail flit arrived.
    pub arrive: u64,
}

/// Per-packet results of driving a network with a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Passages {
    /// Passages in trace order; `None` for packets still inside or waiting at the end.
    pub passages: Vec<Option<Passage>>,
    /// First cycle after the end of the run.
    pub end: u64,
}

/// Sends the packets until all have arrived or the clock reaches `end`. Each source sends its own
/// in list order. Receivers accept everything at once.
///
/// # Errors
/// Returns an error if the environment has no such arbiter, or if the arbiter makes an illegal
/// match.
///
/// # Panics
/// Panics if a packet names a port outside the shape.
pub fn drive(
    spec: &NetworkSpec,
    shape: Shape,
    packets: &[Packet],
    end: u64,
    environment: &Environment,
) -> Result<Passages, StandaloneError> {
    let place = NetworkPlace {
        field: "network",
        environment,
        number: 0,
    };
    let network = Network::new(shape.inputs, shape.outputs, spec, &place);
    let mut network = network?;
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); shape.inputs];
    for (number, packet) in packets.iter().enumerate().rev() {
        sources[packet.src].push(number as u32);
    }
    let mut passages = vec![None; packets.len()];
    let (mut now, mut arrived) = (0, 0);
    while arrived < packets.len() && now < end {
        // The first cycle in which a source that can send has something to send.
        let mut creation = u64::MAX;
        for (input, queue) in sources.iter_mut().enumerate() {
            let Some(&number) = queue.last() else {
                continue;
            };
            let packet = packets[number as usize];
            if !network.accepts(input) {
                continue;
            }
            if packet.create > now {
                creation = creation.min(packet.create);
                continue;
            }
            queue.pop();
            let parcel = PacketInfo {
                input,
                output: packet.dst,
                flits: packet.flits,
                bytes: 0,
            };
            network.offer(now, parcel, number);
        }
        network.step(now, |_, number, inject| {
            let passage = Passage {
                inject,
                arrive: now,
            };
            passages[number as usize] = Some(passage);
            arrived += 1;
            true
        });
        let next = if network.freed() == 0 {
            let event = network.next_event(now).unwrap_or(u64::MAX);
            event.min(creation.max(now + 1))
        } else {
            now + 1
        };
        now = next.min(end);
    }
    match network.broken() {
        Some(broken) => Err(StandaloneError::Request(format!("the arbiter {broken}"))),
        None => Ok(Passages { passages, end: now }),
    }
}
