//! Specification of one network of a crossbar.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::router::RouterSpec;
use super::switch::SwitchSpec;

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
