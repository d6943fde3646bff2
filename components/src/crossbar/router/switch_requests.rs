//! Switch requests, and the choice of the lane for each switch port.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::shape::{Place, Shape};
use super::vc_allocator::{elements, first_channel};
use crate::crossbar::allocator::Allocator;
use crate::crossbar::arbiter::BuiltInArbiter;
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::port_bits::PortMask;
use crate::crossbar::requests::Requests;

/// Lanes whose first flits request the switch: a bit per lane for each switch port and output.
#[derive(Serialize, Deserialize)]
pub(super) struct RequestMatrix {
    lanes: Vec<u64>,
    requests: Requests,
}

impl RequestMatrix {
    pub(super) fn new(rows: usize, outputs: usize) -> Self {
        Self {
            lanes: vec![0; rows * outputs],
            requests: Requests::new(rows, outputs),
        }
    }

    #[inline]
    pub(super) fn set(&mut self, cell: usize, place: Place, output: usize) {
        if self.lanes[cell] == 0 {
            self.requests.set(place.row, output);
        }
        self.lanes[cell] |= 1 << place.bit;
    }

    #[inline]
    pub(super) fn clear(&mut self, cell: usize, place: Place, output: usize) {
        self.lanes[cell] &= !(1 << place.bit);
        if self.lanes[cell] == 0 {
            self.requests.clear(place.row, output);
        }
    }

    /// True if any lane requests the switch.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.requests.wanted() != 0
    }
}

/// Matches lanes with outputs: chooses the requesting lane of each switch port, and the switch port
/// that is served.
pub(super) struct LaneMatcher<'a, P> {
    pub(super) shape: Shape,
    /// Built-in arbiter whose rules choose the lane of a switch port.
    pub(super) arbiter: BuiltInArbiter,
    /// Lane with the highest priority, for each switch port.
    pub(super) first_lane: &'a [u32],
    pub(super) network: &'a NetworkPorts<P>,
}

impl<P: Copy> LaneMatcher<'_, P> {
    /// Appends pairs of lane and output; returns their indices.
    #[inline]
    pub(super) fn allocate(
        &self,
        asking: &RequestMatrix,
        allocator: &mut Allocator,
        matched: &mut Vec<(u32, u32)>,
    ) -> Range<usize> {
        let before = matched.len();
        let age = |row, output| self.network.age(self.lane(asking, row, output));
        for index in 0..allocator.allocate(&asking.requests, PortMask::MAX, age) {
            let (row, output) = allocator.matched(index);
            matched.push((self.lane(asking, row, output) as u32, output as u32));
        }
        before..matched.len()
    }

    /// Returns the lane of a switch port that requests the output.
    #[inline]
    fn lane(&self, asking: &RequestMatrix, row: usize, output: usize) -> usize {
        let first = row / self.shape.rows_per_input * self.shape.lanes_per_input;
        if self.shape.per_output {
            return first + output;
        }
        let mask = asking.lanes[self.shape.cell(row, output)];
        let number = match self.arbiter {
            BuiltInArbiter::AgeBased => {
                let age = |number: &usize| self.network.age(first + number);
                elements(&[mask]).min_by_key(age).unwrap_or(0)
            }
            BuiltInArbiter::Fixed => mask.trailing_zeros() as usize,
            BuiltInArbiter::RoundRobin | BuiltInArbiter::Islip { .. } => {
                first_channel(mask, self.first_lane[row]) as usize
            }
        };
        first + number
    }
}
