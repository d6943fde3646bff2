//! A network alone, fed with a list of packets.

use serde::{Deserialize, Serialize};
use warpweave_components::crossbar::{Network, NetworkPlace, NetworkSpec, PacketInfo};
use warpweave_framework::Environment;

use crate::StandaloneError;

/// Inputs and outputs of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Ports that send.
    pub inputs: usize,
    /// Ports that receive.
    pub outputs: usize,
}

/// One packet of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// Cycle in which it is created; it waits at its source until those before it have entered.
    pub create: u64,
    /// Input port.
    pub src: usize,
    /// Output port.
    pub dst: usize,
    /// Length.
    pub flits: u32,
}

/// When a packet entered and left the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passage {
    /// Cycle in which its head entered.
    pub inject: u64,
    /// Cycle in which its tail arrived.
    pub arrive: u64,
}

/// What a run brought.
#[derive(Clone, Debug, PartialEq)]
pub struct Passages {
    /// In the order of the trace; nothing for packets still inside or waiting at the end.
    pub passages: Vec<Option<Passage>>,
    /// First cycle after the end.
    pub end: u64,
}

/// Sends the packets, each source its own in the order of the list, until all arrived or the clock
/// stands at `end`. Receivers take everything at once.
///
/// # Errors
/// When there is no such arbiter in the environment, or it matches what it may not.
///
/// # Panics
/// When a packet names a port outside the shape.
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
