//! Settings of private memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Placement of the threads' private (PTX `.local`) memory.
///
/// Word `w` of lane `l` of a wavefront is at `region + 128 w + 4 l`: equal offsets of a wavefront's
/// threads share a line. Each wavefront slot of the device has a separate region of
/// `32 * bytes_per_thread` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateMemorySpec {
    /// Byte address of the first region, a multiple of 128.
    pub base: u64,
    /// Private memory per thread in bytes, a positive multiple of 4.
    pub bytes_per_thread: u32,
}
