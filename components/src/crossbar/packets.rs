//! The packets inside a network, in slots.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

/// What a packet needs beside its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Input port.
    pub input: usize,
    /// Output port.
    pub output: usize,
    /// Flits, at least 1.
    pub flits: u32,
    /// Bytes, for the statistics.
    pub bytes: u32,
}

/// A packet inside the network.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Packet<P> {
    pub(super) payload: P,
    pub(super) offered: Cycle,
    /// Cycle in which its head entered.
    pub(super) entered: Cycle,
    pub(super) bytes: u32,
}

/// A packet in an input queue, from the arrival of its head to the departure of its tail.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct QueuedPacket {
    pub(super) packet: u32,
    pub(super) output: u32,
    pub(super) flits_left: u32,
}

/// A packet on its way into an input queue.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Entering {
    /// Queue it enters.
    pub(super) queue: u32,
    pub(super) flits_left: u32,
    /// The packet, until its head has entered.
    pub(super) head: Option<QueuedPacket>,
}

/// One flit between the port and its queue.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct WireFlit {
    pub(super) queue: u32,
    /// The packet, if this is its head.
    pub(super) head: Option<QueuedPacket>,
}

/// Slots of packets; a packet keeps its slot from offer to delivery.
#[derive(Serialize, Deserialize)]
pub(super) struct Packets<P> {
    slots: Vec<Option<Packet<P>>>,
    free: Vec<u32>,
}

impl<P: Copy> Packets<P> {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps a packet and returns its slot.
    #[inline]
    pub(super) fn insert(&mut self, now: Cycle, bytes: u32, payload: P) -> u32 {
        let packet = Some(Packet {
            payload,
            offered: now,
            entered: now,
            bytes,
        });
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = packet;
            return slot;
        }
        self.slots.push(packet);
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &Packet<P> {
        let packet = self.slots[slot as usize].as_ref();
        packet.expect("a packet stays until its tail left")
    }

    /// The head of a packet entered.
    #[inline]
    pub(super) fn enter(&mut self, slot: u32, now: Cycle) {
        let packet = self.slots[slot as usize].as_mut();
        packet.expect("a packet stays until its tail left").entered = now;
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        self.slots[slot as usize] = None;
        self.free.push(slot);
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
