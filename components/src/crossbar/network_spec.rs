//! What a description says about one network of a crossbar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::router::RouterSpec;
use super::switch::SwitchSpec;

/// Most ports on a side of a switch: requests are kept as bits of one 128-bit word.
pub const PORTS_MAX: u32 = 128;

/// Most flits of buffer that one network may have, over all its queues.
const BUFFER_FLITS_MAX: u64 = 1 << 24;

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
        let field = format!("{field}.arbiter.iterations");
        SpecError::in_range(&field, iterations, 1..=PORTS_MAX)
    }
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

/// Refuses a network whose buffers hold more flits than can be built.
pub(super) fn check_buffers(
    field: &str,
    (inputs, outputs): (u32, u32),
    flits: u64,
) -> Result<(), SpecError> {
    SpecError::require(flits <= BUFFER_FLITS_MAX, field, || {
        format!(
            "{inputs} x {outputs} ports with these buffers hold {flits} flits; at most \
             {BUFFER_FLITS_MAX} can be built"
        )
    })
}
