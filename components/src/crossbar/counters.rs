//! What both kinds of network count and how they report it.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Histogram, Level, Statistics};

use super::allocator::{PortMask, bit, ports};

/// Counters of one network.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct NetworkCounters {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    /// Flits that left, per output.
    pub(super) flits: Vec<u64>,
    /// Cycles from offer to delivery.
    pub(super) latency: Histogram,
    /// Flits inside.
    pub(super) occupancy: Level,
    /// Inputs whose entering flit found no credit, and since when.
    pub(super) stalled_inputs: PortMask,
    stalled_since: Vec<Cycle>,
    /// Cycles of the stalls that ended, added up over inputs.
    stall_cycles: u64,
}

impl NetworkCounters {
    pub(super) fn new(inputs: usize, outputs: usize) -> Self {
        Self {
            flits: vec![0; outputs],
            stalled_since: vec![0; inputs],
            ..Self::default()
        }
    }

    /// The entering flit of this input found no credit.
    #[inline]
    pub(super) fn begin_stall(&mut self, input: usize, now: Cycle) {
        if self.stalled_inputs & bit(input) == 0 {
            self.stalled_inputs |= bit(input);
            self.stalled_since[input] = now;
        }
    }

    /// The entering flit of this input found a credit.
    #[inline]
    pub(super) fn end_stall(&mut self, input: usize, now: Cycle) {
        if self.stalled_inputs & bit(input) != 0 {
            self.stalled_inputs &= !bit(input);
            self.stall_cycles += now - self.stalled_since[input];
        }
    }

    /// A packet left.
    #[inline]
    pub(super) fn delivered(&mut self, bytes: u32, latency: Cycle) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.latency.record(latency);
    }

    /// Cycles before `cycle` in which an entering flit found no credit, added up over inputs.
    pub(super) fn credit_stalls(&self, cycle: Cycle) -> u64 {
        let open = ports(self.stalled_inputs).map(|i| cycle.saturating_sub(self.stalled_since[i]));
        self.stall_cycles + open.sum::<u64>()
    }

    /// Reports the statistics of this network, named `network_…`.
    pub(super) fn statistics(&self, network: &str, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let name = |what: &str| format!("{network}_{what}");
        statistics.counter(
            &name("packets"),
            "packets",
            "Packets delivered by the network",
            self.packets,
        );
        statistics.counter(
            &name("flits"),
            "flits",
            "Flits that left the network's outputs",
            self.flits.iter().sum(),
        );
        statistics.counter(
            &name("bytes"),
            "bytes",
            "Bytes of the packets delivered, control included, padding not",
            self.bytes,
        );
        statistics.counter(
            &name("credit_stalls"),
            "cycles",
            "Cycles in which a flit at an input found its queue full, added up over inputs",
            self.credit_stalls(cycle),
        );
        statistics.histogram(
            &name("latency"),
            "cycles",
            "Cycles from a packet's being taken at its input to its tail leaving",
            &self.latency,
        );
        statistics.gauge(
            &name("occupancy"),
            "flits",
            "Mean number of flits inside the network",
            self.occupancy.mean(cycle),
        );
        statistics.counter(
            &name("occupancy_max"),
            "flits",
            "Largest number of flits inside the network",
            self.occupancy.max(),
        );
        for (output, flits) in self.flits.iter().enumerate() {
            statistics.ratio(
                &format!("{network}_output_utilisation[{output}]"),
                "Cycles in which a flit left this output",
                *flits,
                cycle,
            );
        }
    }
}
