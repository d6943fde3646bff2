//! Switch traversal, the wires of the outputs, and the credits that return on them.

use warpweave_framework::{Cycle, State};

use super::batch::Batch;
use super::spec::RouterSpec;
use crate::building_blocks::DelayLine;

/// Way of flits from the switch to their outputs.
#[derive(State)]
pub(super) struct OutputLinks {
    traversal: Batch,
    /// Next cycle in which a flit can enter the wire, for each output.
    #[state(array)]
    next_departure: Vec<Cycle>,
    /// Output channels whose credits are in transit.
    pub(super) credits: DelayLine<u32>,
}

impl OutputLinks {
    pub(super) fn new(outputs: usize) -> Self {
        Self {
            traversal: Batch::default(),
            next_departure: vec![0; outputs],
            credits: DelayLine::default(),
        }
    }

    /// Moves a flit that was granted the switch in `step` through it and onto the wire. Returns the
    /// cycle in which it leaves the wire.
    #[inline]
    pub(super) fn cross(&mut self, step: u64, output: usize, spec: &RouterSpec) -> Cycle {
        let speedup = u64::from(spec.internal_speedup);
        let crossed = self.traversal.pass(step, spec.traversal_cycles, speedup);
        let departs = (crossed / speedup).max(self.next_departure[output]);
        self.next_departure[output] = departs + 1;
        departs + u64::from(spec.output_wire_cycles)
    }
}
