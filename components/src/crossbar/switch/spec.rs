//! Specification of a switch and its checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Policy, SpecError};

use crate::crossbar::arbiter::Arbiter;
use crate::crossbar::queueing::{Queueing, check_buffers};

/// A switch that matches and moves in one stage, with delays around it; see
/// [`Switch`](super::Switch).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// Bytes of one flit. A packet of `b` bytes (8 of control and its data) is `ceil(b / this)`
    /// flits; each port passes one flit per cycle.
    pub flit_bytes: u32,
    /// Queueing discipline of the input ports.
    pub queueing: Queueing,
    /// Arbiter that matches inputs and outputs.
    pub arbiter: Policy<Arbiter>,
    /// Flits that one input queue holds: per input with `Fifo`, per input and output with
    /// `VirtualOutput`. Full rate needs `input_cycles + credit_cycles`.
    pub buffer_flits: u32,
    /// Flits that each output holds between the switch and its port. Full rate needs
    /// `output_cycles + 1`.
    pub output_buffer_flits: u32,
    /// Matchings per cycle, 1 or 2: the flits per cycle that can leave an input buffer and enter an
    /// output buffer.
    pub internal_speedup: u32,
    /// Cycles from a flit's entry at the port to its first chance to be switched.
    pub input_cycles: u32,
    /// Cycles from being switched to leaving at the output port.
    pub output_cycles: u32,
    /// Cycles from a flit's departure from the input buffer to its slot being usable again, at
    /// least 1.
    pub credit_cycles: u32,
    /// Matchings for which an output, and the input queue it served, stay idle between a packet's
    /// tail and the next head. 1 is the virtual-channel allocation bubble of a router with one
    /// virtual channel, 0 none.
    pub turnaround_matchings: u32,
}

impl SwitchSpec {
    /// Checks the parameters for a switch of this shape; `field` is the name of this network in
    /// errors.
    ///
    /// # Errors
    /// Fails if a parameter is outside its range.
    pub fn check(&self, field: &str, inputs: u32, outputs: u32) -> Result<(), SpecError> {
        for (name, value, low, high) in [
            ("flit_bytes", self.flit_bytes, 1, 4096),
            ("buffer_flits", self.buffer_flits, 1, 1 << 20),
            ("output_buffer_flits", self.output_buffer_flits, 1, 1 << 20),
            ("internal_speedup", self.internal_speedup, 1, 2),
            ("input_cycles", self.input_cycles, 0, 1 << 16),
            ("output_cycles", self.output_cycles, 0, 1 << 16),
            ("credit_cycles", self.credit_cycles, 1, 1 << 16),
            (
                "turnaround_matchings",
                self.turnaround_matchings,
                0,
                1 << 16,
            ),
        ] {
            SpecError::in_range(&format!("{field}.{name}"), value, low..=high)?;
        }
        let flits = self.buffered_flits(inputs, outputs);
        check_buffers(field, (inputs, outputs), flits)
    }

    /// Returns the total capacity of its buffers in flits.
    pub(in crate::crossbar) fn buffered_flits(&self, inputs: u32, outputs: u32) -> u64 {
        let queues = u64::from(inputs) * u64::from(self.queues_per_input(outputs));
        queues * u64::from(self.buffer_flits)
            + u64::from(outputs) * u64::from(self.output_buffer_flits)
    }

    /// Returns the number of queues of an input.
    pub(super) fn queues_per_input(&self, outputs: u32) -> u32 {
        match self.queueing {
            Queueing::Fifo => 1,
            Queueing::VirtualOutput => outputs,
        }
    }

    /// Cycles that a packet of `flits` takes through an empty switch:
    /// `input_cycles + output_cycles + flits - 1`.
    pub fn zero_load_cycles(&self, flits: u32) -> u32 {
        self.input_cycles + self.output_cycles + flits - 1
    }
}
