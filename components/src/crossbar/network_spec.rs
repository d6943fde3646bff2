//! What a description says about one network of a crossbar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::router::RouterSpec;

/// Most ports on a side of a switch: requests are kept as bits of one 128-bit word.
pub const PORTS_MAX: u32 = 128;

/// Most flits of buffer that one switch may have, over all its queues.
pub(super) const BUFFER_FLITS_MAX: u64 = 1 << 24;

/// How an input port queues what waits for different outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Queueing {
    /// One queue per input: a packet whose output is taken blocks those behind it.
    Fifo,
    /// One queue per input and output: only packets for the same output wait for each other.
    VirtualOutput,
}

/// How inputs and outputs are matched in each internal cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub enum Arbiter {
    /// One pass, inputs first: each input asks the next output it has a flit for, each output
    /// takes the next input that asks; both move on only when the match is made.
    RoundRobin,
    /// iSLIP (McKeown 1999): request, grant, accept; the pointers move in the first iteration
    /// and only on accept.
    Islip {
        /// Iterations per matching, at least 1.
        iterations: u32,
    },
    /// One pass, outputs first: each output grants the request of the packet that was taken first,
    /// each input accepts likewise; ties go to the lowest port.
    AgeBased,
    /// One pass, outputs first: the lowest port always wins. Starves the others under load.
    Fixed,
}

impl Arbiter {
    pub(super) fn check(self, field: &str) -> Result<(), SpecError> {
        let Self::Islip { iterations } = self else {
            return Ok(());
        };
        range(field, "arbiter.iterations", iterations, 1, PORTS_MAX)
    }
}

/// Refuses a number outside its range.
pub(super) fn range(
    field: &str,
    name: &str,
    value: u32,
    low: u32,
    high: u32,
) -> Result<(), SpecError> {
    SpecError::require(
        (low..=high).contains(&value),
        &format!("{field}.{name}"),
        || format!("{value} is outside {low}..={high}"),
    )
}

/// One network of a crossbar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NetworkSpec {
    /// Matches and moves in one stage; no virtual channels. Fast, and the slotted switch of
    /// queueing theory when its delays are 0.
    Switch(SwitchSpec),
    /// A virtual-channel router with the pipeline of BookSim 2.
    Router(RouterSpec),
}

impl NetworkSpec {
    /// Checks the numbers for a network of this shape; `field` names it in errors.
    ///
    /// # Errors
    /// A number outside its range.
    pub fn check(&self, field: &str, inputs: u32, outputs: u32) -> Result<(), SpecError> {
        match self {
            Self::Switch(spec) => spec.check(field, inputs, outputs),
            Self::Router(spec) => spec.check(field, inputs, outputs),
        }
    }

    /// Flits of a packet of `bytes`, at least 1.
    #[inline]
    pub fn flits(&self, bytes: u32) -> u32 {
        let flit_bytes = match self {
            Self::Switch(spec) => spec.flit_bytes,
            Self::Router(spec) => spec.flit_bytes,
        };
        bytes.div_ceil(flit_bytes).max(1)
    }

    /// Cycles that a packet of `flits` takes from entering an empty network to leaving it.
    pub fn zero_load_cycles(&self, flits: u32) -> u32 {
        match self {
            Self::Switch(spec) => spec.zero_load_cycles(flits),
            Self::Router(spec) => spec.zero_load_cycles(flits),
        }
    }
}

/// A switch that matches and moves in one stage, with delays around it; see [`Switch`].
///
/// [`Switch`]: super::Switch
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// Bytes of one flit. A packet of `b` bytes (8 of control and its data) is `ceil(b / this)`
    /// flits; each port passes one flit per cycle.
    pub flit_bytes: u32,
    /// How inputs queue.
    pub queueing: Queueing,
    /// How inputs and outputs are matched.
    pub arbiter: Arbiter,
    /// Flits that one input queue holds: per input with `Fifo`, per input and output with
    /// `VirtualOutput`. Full rate needs `input_cycles + credit_cycles`.
    pub buffer_flits: u32,
    /// Flits that each output holds between the switch and its port. Full rate needs
    /// `output_cycles + 1`.
    pub output_buffer_flits: u32,
    /// Matchings per cycle, 1 or 2: how many flits per cycle can leave an input buffer and enter
    /// an output buffer.
    pub internal_speedup: u32,
    /// Cycles from a flit's entry at the port to its first chance to be switched.
    pub input_cycles: u32,
    /// Cycles from being switched to leaving at the output port.
    pub output_cycles: u32,
    /// Cycles from a flit's leaving the input buffer to its slot being usable again, at least 1.
    pub credit_cycles: u32,
    /// Matchings that an output, and the input queue it served, sit out after the tail of a packet
    /// before the next head; 1 is the virtual-channel allocation bubble of a router with one
    /// virtual channel, 0 none.
    pub turnaround_matchings: u32,
}

impl SwitchSpec {
    /// Checks the numbers for a switch of this shape; `field` names this network in errors.
    ///
    /// # Errors
    /// A number outside its range.
    pub fn check(&self, field: &str, inputs: u32, outputs: u32) -> Result<(), SpecError> {
        let range = |name: &str, value, low, high| range(field, name, value, low, high);
        range("flit_bytes", self.flit_bytes, 1, 4096)?;
        range("buffer_flits", self.buffer_flits, 1, 1 << 20)?;
        range("output_buffer_flits", self.output_buffer_flits, 1, 1 << 20)?;
        range("internal_speedup", self.internal_speedup, 1, 2)?;
        range("input_cycles", self.input_cycles, 0, 1 << 16)?;
        range("output_cycles", self.output_cycles, 0, 1 << 16)?;
        range("credit_cycles", self.credit_cycles, 1, 1 << 16)?;
        range(
            "turnaround_matchings",
            self.turnaround_matchings,
            0,
            1 << 16,
        )?;
        self.arbiter.check(field)?;
        let queues = match self.queueing {
            Queueing::Fifo => u64::from(inputs),
            Queueing::VirtualOutput => u64::from(inputs) * u64::from(outputs),
        };
        let flits = queues * u64::from(self.buffer_flits)
            + u64::from(outputs) * u64::from(self.output_buffer_flits);
        SpecError::require(flits <= BUFFER_FLITS_MAX, field, || {
            format!(
                "{inputs} x {outputs} ports with these buffers hold {flits} flits; at most \
                 {BUFFER_FLITS_MAX} can be built"
            )
        })
    }

    /// Cycles that a packet of `flits` takes from entering an empty switch to leaving it:
    /// `input_cycles + output_cycles + flits - 1`.
    pub fn zero_load_cycles(&self, flits: u32) -> u32 {
        self.input_cycles + self.output_cycles + flits - 1
    }
}
