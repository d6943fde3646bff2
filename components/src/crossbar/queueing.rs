//! Queues of a network: their discipline, and limits on their number and size.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

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
