//! Stalls of ports: since when, and for how many cycles in total.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use super::port_bits::{PortBits, PortMask};
use super::requests::ports;

/// Stalled ports, and the cycles of all stalls so far.
#[derive(Serialize, Deserialize)]
pub(super) struct Stalls {
    stalled: PortBits,
    /// First cycle of the stall of each stalled port.
    since: Vec<Cycle>,
    /// Total length of the stalls that ended, in cycles.
    cycles: u64,
}

impl Stalls {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            stalled: PortBits::default(),
            since: vec![0; ports],
            cycles: 0,
        }
    }

    /// Records that the port stalls.
    #[inline]
    pub(super) fn begin(&mut self, port: usize, now: Cycle) {
        if !self.stalled.contains(port) {
            self.stalled.insert(port);
            self.since[port] = now;
        }
    }

    /// Records that the port does not stall.
    #[inline]
    pub(super) fn end(&mut self, port: usize, now: Cycle) {
        if self.stalled.contains(port) {
            self.stalled.remove(port);
            self.cycles += now - self.since[port];
        }
    }

    /// True if some port stalls.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Returns the stalled ports.
    #[inline]
    pub(super) fn ports(&self) -> PortMask {
        self.stalled.mask()
    }

    /// Cycles of all stalls before `cycle`, summed over ports.
    pub(super) fn total(&self, cycle: Cycle) -> u64 {
        let open = ports(self.stalled.mask()).map(|port| cycle.saturating_sub(self.since[port]));
        self.cycles + open.sum::<u64>()
    }
}
