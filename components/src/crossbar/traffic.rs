//! Packets inside a network, and their statistics.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, State, Statistics, TimeWeighted};

use super::port_bits::PortMask;
use super::stalls::Stalls;
use crate::roles;

/// Index of a packet in the table; that of a departed packet is reused.
pub(super) type PacketPlace = u32;

/// Header of a packet: ports and length, without the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketInfo {
    /// Input port at which the packet enters.
    pub input: usize,
    /// Output port to which the packet goes.
    pub output: usize,
    /// Length of the packet in flits, at least 1.
    pub flits: u32,
    /// Length of the packet in bytes, for the statistics.
    pub bytes: u32,
}

/// Packet, from its offer to its delivery.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Packet<P> {
    pub(super) payload: P,
    pub(super) offered: Cycle,
    /// Cycle in which its head entered.
    pub(super) entered: Cycle,
    bytes: u32,
}

/// Packets of a network and its counters; `P` is the payload of the packets.
#[derive(State, Statistics)]
pub(super) struct Traffic<P> {
    /// Packets, indexed by their place in the table.
    packets: Vec<Packet<P>>,
    /// Places of packets that have left.
    free: Vec<PacketPlace>,
    flits_inside: u64,
    #[state(part)]
    #[statistic(flatten)]
    counters: Counters,
}

#[derive(State, Statistics)]
#[statistics(after = Counters::report_utilisation)]
struct Counters {
    /// Packets delivered by the network.
    #[statistic(unit = "packets")]
    packets: u64,
    /// Number of flits that left each output.
    #[state(array)]
    #[statistic(
        unit = "flits",
        meaning = "Flits that left the network's outputs",
        value = self.flits.iter().sum::<u64>()
    )]
    flits: Vec<u64>,
    /// Bytes of the packets delivered, including control but not padding.
    #[statistic(unit = "bytes")]
    bytes: u64,
    /// Inputs whose entering flit found no credit.
    #[statistic(
        name = "credit_stalls",
        unit = "cycles",
        meaning = "Cycles in which a flit at an input found its queue full, summed over inputs",
        value = self.stalls.total(statistics.cycle())
    )]
    stalls: Stalls,
    /// Cycles from acceptance of a packet at its input until its tail leaves.
    #[statistic(unit = "cycles")]
    latency: Histogram,
    #[statistic(unit = "flits", meaning = "Mean number of flits inside the network")]
    #[statistic(
        maximum,
        name = "occupancy_max",
        unit = "flits",
        meaning = "Maximum number of flits inside the network",
        value = self.occupancy.max()
    )]
    occupancy: TimeWeighted,
}

impl Counters {
    fn report_utilisation(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        for (output, flits) in self.flits.iter().enumerate() {
            statistics.role(roles::UTILISATION).at(output).ratio(
                "output_utilisation",
                "cycles",
                "Cycles in which a flit left this output",
                *flits,
                cycle,
            );
        }
    }
}

impl<P: Copy> Traffic<P> {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            packets: Vec::new(),
            free: Vec::new(),
            flits_inside: 0,
            counters: Counters {
                packets: 0,
                flits: vec![0; outputs],
                bytes: 0,
                stalls: Stalls::new(inputs),
                latency: Histogram::default(),
                occupancy: TimeWeighted::default(),
            },
        }
    }

    /// Records an offered packet and returns its place.
    #[inline]
    pub(super) fn insert(&mut self, now: Cycle, bytes: u32, payload: P) -> PacketPlace {
        let packet = Packet {
            payload,
            offered: now,
            entered: now,
            bytes,
        };
        if let Some(place) = self.free.pop() {
            self.packets[place as usize] = packet;
            place
        } else {
            self.packets.push(packet);
            self.packets.len() as PacketPlace - 1
        }
    }

    /// Returns the packet in this place.
    #[inline]
    pub(super) fn packet(&self, place: PacketPlace) -> &Packet<P> {
        &self.packets[place as usize]
    }

    /// Records that the head of a packet enters.
    #[inline]
    pub(super) fn begin(&mut self, packet: PacketPlace, now: Cycle) {
        self.packets[packet as usize].entered = now;
    }

    /// Records that a flit enters at an input.
    #[inline]
    pub(super) fn enter(&mut self, input: usize, now: Cycle) {
        self.flits_inside += 1;
        if self.counters.stalls.any() {
            self.end_stall(input, now);
        }
    }

    #[inline(never)]
    fn end_stall(&mut self, input: usize, now: Cycle) {
        self.counters.stalls.end(input, now);
    }

    /// Records that the next flit to enter finds no credit.
    #[inline]
    pub(super) fn stall(&mut self, input: usize, now: Cycle) {
        self.counters.stalls.begin(input, now);
    }

    /// Returns the inputs whose entering flit found no credit in the last step.
    #[inline]
    pub(super) fn stalled_inputs(&self) -> PortMask {
        self.counters.stalls.ports()
    }

    /// Records that a flit leaves an output.
    #[inline]
    pub(super) fn leave(&mut self, output: usize) {
        self.counters.flits[output] += 1;
        self.flits_inside -= 1;
    }

    /// Records that a packet was accepted by its receiver.
    #[inline]
    pub(super) fn deliver(&mut self, place: PacketPlace, now: Cycle) {
        let Packet { offered, bytes, .. } = self.packets[place as usize];
        self.free.push(place);
        self.counters.packets += 1;
        self.counters.bytes += u64::from(bytes);
        self.counters.latency.record(now - offered);
    }

    /// Records the number of flits inside for cycle `now`.
    #[inline]
    pub(super) fn note_occupancy(&mut self, now: Cycle) {
        if self.counters.occupancy.value() != self.flits_inside {
            self.counters.occupancy.set(now, self.flits_inside);
        }
    }

    pub(super) fn packets_inside(&self) -> usize {
        self.packets.len() - self.free.len()
    }

    pub(super) fn packets_delivered(&self) -> u64 {
        self.counters.packets
    }

    pub(super) fn flits_delivered(&self) -> &[u64] {
        &self.counters.flits
    }

    pub(super) fn latency(&self) -> &Histogram {
        &self.counters.latency
    }

    pub(super) fn credit_stalls(&self, cycle: Cycle) -> u64 {
        self.counters.stalls.total(cycle)
    }
}
