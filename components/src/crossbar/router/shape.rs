//! Numbering of the lanes, switch ports and channels of a router.
//!
//! A *lane* is a virtual channel of an input, a *channel* one of an output. Both are counted over
//! all ports, port by port. A *row* is a switch port: an input has `input_speedup` of them.

use super::spec::RouterSpec;
use crate::crossbar::queueing::Queueing;

/// Numbers of lanes, switch ports and channels.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) outputs: usize,
    /// Total number of lanes of all inputs.
    pub(super) lanes: usize,
    pub(super) lanes_per_input: usize,
    /// Number of virtual channels per output.
    pub(super) channels: usize,
    /// Number of switch ports in total; `rows_per_input` is that of one input.
    pub(super) rows: usize,
    pub(super) rows_per_input: usize,
    /// True if every input has one lane per output.
    pub(super) per_output: bool,
}

/// Position of a lane within the router.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) input: usize,
    pub(super) row: usize,
    /// Bit of the lane among the lanes of its row that can request one output.
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

    /// Number of lanes that can wait for one output; only one per input if each output has its own
    /// lane.
    pub(super) fn waiters(self) -> usize {
        if self.per_output {
            self.lanes / self.lanes_per_input
        } else {
            self.lanes
        }
    }

    /// Returns the index of a lane among those that can wait for its output.
    #[inline]
    pub(super) fn waiter(self, lane: usize) -> usize {
        if self.per_output {
            lane / self.lanes_per_input
        } else {
            lane
        }
    }

    /// Returns the lane with this index among those that can wait for the output.
    #[inline]
    pub(super) fn lane(self, waiter: usize, output: usize) -> usize {
        if self.per_output {
            waiter * self.lanes_per_input + output
        } else {
            waiter
        }
    }

    /// Returns the index of a pair of switch port and output.
    #[inline]
    pub(super) fn cell(self, row: usize, output: usize) -> usize {
        row * self.outputs + output
    }
}
