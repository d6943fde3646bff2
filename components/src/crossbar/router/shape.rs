//! How lanes, switch ports and channels of a router are numbered.
//!
//! A *lane* is a virtual channel of an input, a *channel* one of an output. Both are counted over all
//! ports, port by port. A *row* is a switch port: an input has `input_speedup` of them.

use super::spec::RouterSpec;
use crate::crossbar::network_spec::Queueing;

/// The numbers of lanes, switch ports and channels.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) outputs: usize,
    /// Input ports times lanes.
    pub(super) lanes: usize,
    pub(super) lanes_per_input: usize,
    /// Virtual channels per output.
    pub(super) channels: usize,
    /// Switch ports, and those per input.
    pub(super) rows: usize,
    pub(super) rows_per_input: usize,
    /// Every input has one lane per output.
    pub(super) per_output: bool,
}

/// Where a lane stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) input: usize,
    pub(super) row: usize,
    /// Its bit among the lanes of the row that can ask for one output.
    pub(super) bit: u32,
}

impl Shape {
    pub(super) fn new(inputs: usize, outputs: usize, spec: &RouterSpec) -> Self {
        let lanes_per_input = spec.lanes(outputs as u32) as usize;
        let rows_per_input = spec.input_speedup as usize;
        Self {
            outputs,
            lanes: inputs * lanes_per_input,
            lanes_per_input,
            channels: spec.virtual_channels as usize,
            rows: inputs * rows_per_input,
            rows_per_input,
            per_output: spec.queueing == Queueing::VirtualOutput,
        }
    }

    pub(super) fn place(self, lane: usize) -> Place {
        let (input, number) = (lane / self.lanes_per_input, lane % self.lanes_per_input);
        Place {
            input,
            row: input * self.rows_per_input + number % self.rows_per_input,
            bit: if self.per_output { 0 } else { number as u32 },
        }
    }

    /// How many lanes can wait for one output: only one of an input if each output has its own.
    pub(super) fn waiters(self) -> usize {
        if self.per_output {
            self.lanes / self.lanes_per_input
        } else {
            self.lanes
        }
    }

    /// The number of a lane among those who can wait for its output.
    #[inline]
    pub(super) fn waiter(self, lane: usize) -> usize {
        if self.per_output {
            lane / self.lanes_per_input
        } else {
            lane
        }
    }

    /// The lane of this number among those who can wait for the output.
    #[inline]
    pub(super) fn lane(self, waiter: usize, output: usize) -> usize {
        if self.per_output {
            waiter * self.lanes_per_input + output
        } else {
            waiter
        }
    }

    /// The number of a pair of switch port and output.
    #[inline]
    pub(super) fn cell(self, row: usize, output: usize) -> usize {
        row * self.outputs + output
    }
}
