//! What a description says about one network of a crossbar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Environment, Policy, SpecError};

use super::arbiter::{AnyArbiter, Arbiter, ArbiterSite};
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

/// Where a network stands in a component, for the policies that are built for it.
#[derive(Clone, Copy)]
pub struct NetworkPlace<'a> {
    /// Field of the specification that describes it.
    pub field: &'a str,
    /// Of the component.
    pub environment: &'a Environment,
    /// Number of the network in the component.
    pub number: u32,
}

impl NetworkPlace<'_> {
    /// Builds one of its arbiters, of which there are at most two.
    pub(super) fn arbiter(
        &self,
        policy: &Policy<Arbiter>,
        site: ArbiterSite,
        index: u32,
    ) -> Result<AnyArbiter, SpecError> {
        let field = format!("{}.arbiter", self.field);
        policy.build(&field, self.environment, &site, 2 * self.number + index)
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

    /// Flits that its buffers hold.
    pub(super) fn buffered_flits(&self, inputs: u32, outputs: u32) -> u64 {
        match self {
            Self::Switch(spec) => spec.buffered_flits(inputs, outputs),
            Self::Router(spec) => spec.buffered_flits(inputs, outputs),
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
