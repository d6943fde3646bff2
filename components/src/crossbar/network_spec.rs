//! Specification of one network of a crossbar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Environment, Policy, SpecError};

use super::arbiter::{AnyArbiter, Arbiter, ArbiterSite};
use super::router::RouterSpec;
use super::switch::SwitchSpec;

/// Maximum number of ports on a side of a switch: requests are kept as bits of one 128-bit word.
pub const PORTS_MAX: u32 = 128;

/// Maximum number of buffered flits of one network, over all its queues.
const BUFFER_FLITS_MAX: u64 = 1 << 24;

/// Queueing discipline of an input port for packets to different outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Queueing {
    /// One queue per input: a packet whose output is taken blocks those behind it.
    Fifo,
    /// One queue per input and output: only packets for the same output wait for each other.
    VirtualOutput,
}

/// Position of a network in its component, needed to build its policies.
#[derive(Clone, Copy)]
pub struct NetworkPlace<'a> {
    /// Field of the specification that describes the network.
    pub field: &'a str,
    /// Environment in which the component is built.
    pub environment: &'a Environment,
    /// Number of the network in the component.
    pub number: u32,
}

impl NetworkPlace<'_> {
    /// Builds one of the network's arbiters, of which there are at most two.
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

/// One network of a crossbar: a switch or a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NetworkSpec {
    /// Matches and moves in one stage; no virtual channels. Fast, and the slotted switch of
    /// queueing theory when its delays are 0.
    Switch(SwitchSpec),
    /// A virtual-channel router with the pipeline of BookSim 2.
    Router(RouterSpec),
}

impl NetworkSpec {
    /// Checks the parameters for a network of this shape; `field` is its name in errors.
    ///
    /// # Errors
    /// Fails if a parameter is outside its range.
    pub fn check(&self, field: &str, inputs: u32, outputs: u32) -> Result<(), SpecError> {
        match self {
            Self::Switch(spec) => spec.check(field, inputs, outputs),
            Self::Router(spec) => spec.check(field, inputs, outputs),
        }
    }

    /// Returns the total capacity of its buffers in flits.
    pub(super) fn buffered_flits(&self, inputs: u32, outputs: u32) -> u64 {
        match self {
            Self::Switch(spec) => spec.buffered_flits(inputs, outputs),
            Self::Router(spec) => spec.buffered_flits(inputs, outputs),
        }
    }

    /// Returns the number of flits of a packet of `bytes`, at least 1.
    #[inline]
    pub fn flits(&self, bytes: u32) -> u32 {
        let flit_bytes = match self {
            Self::Switch(spec) => spec.flit_bytes,
            Self::Router(spec) => spec.flit_bytes,
        };
        bytes.div_ceil(flit_bytes).max(1)
    }

    /// Returns the cycles that a packet of `flits` takes through an empty network.
    pub fn zero_load_cycles(&self, flits: u32) -> u32 {
        match self {
            Self::Switch(spec) => spec.zero_load_cycles(flits),
            Self::Router(spec) => spec.zero_load_cycles(flits),
        }
    }
}

/// Fails if the network's buffers hold more flits than can be built.
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
