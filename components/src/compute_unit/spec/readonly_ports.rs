//! Description of the paths to read-only caches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;
use warpweave_trace::ReadPath;

use crate::compute_unit::limits::LATENCY_MAX;

/// Alignment of argument blocks, in bytes.
pub(crate) const BLOCK_BYTES: u64 = 256;

/// Path of loads from constant and argument memory to a cache.
///
/// Constant data have the addresses given by the program. The arguments of each launch form a
/// separate block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantsSpec {
    /// Byte address of the first launch's arguments, a multiple of 256. Those of later launches
    /// follow, each at the next multiple of 256.
    pub arguments: u64,
    /// Handling of lanes that read different addresses. Source: `Apart` is that of hardware, CUDA
    /// C++ Programming Guide, "Constant Memory".
    #[serde(default)]
    pub lanes: ConstantLanes,
    /// Line size in bytes of requests at `constants`: 32, 64 or 128.
    pub line_bytes: u32,
    /// Queue entries for loads (wavefront instructions) that wait for their requests to be sent, 1
    /// to 1024. When full, loads from constant and argument memory do not issue.
    pub queue_depth: u32,
    /// Maximum number of requests sent per cycle, 1 to 32.
    pub requests_per_cycle: u32,
    /// Maximum number of outstanding requests, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to the issue of a dependent instruction. 0 allows
    /// issue in the arrival cycle of the response.
    pub writeback_latency: u32,
}

/// Handling of lanes that read different addresses in a load from constant or argument memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConstantLanes {
    /// Sends a separate request for each address, one after the other.
    #[default]
    Apart,
    /// Combines all addresses within one line into one request.
    Together,
}

/// Path of texture reads, and of reads of other read-only data, to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TexturesSpec {
    /// Loads from global memory that use this path.
    pub loads: TextureLoads,
    /// Order in which responses reach the registers. Source: `InOrder` is that of caches for
    /// textures, Igehy and others, "Prefetching in a Texture Cache Architecture", 1998.
    #[serde(default)]
    pub answers: TextureAnswers,
    /// Line size in bytes of requests at `textures`: 32, 64 or 128.
    pub line_bytes: u32,
    /// Queue entries for loads (wavefront instructions) that wait for their requests to be sent, 1
    /// to 1024. When full, loads that use this path do not issue.
    pub queue_depth: u32,
    /// Maximum number of requests sent per cycle, 1 to 32.
    pub requests_per_cycle: u32,
    /// Maximum number of requests sent whose responses have not reached the registers, 1 to 65536;
    /// when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to the issue of a dependent instruction. 0 allows
    /// issue in the arrival cycle of the response.
    pub writeback_latency: u32,
}

/// Loads from global memory that use the texture path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TextureLoads {
    /// Texture reads only, as on Fermi.
    Textures,
    /// Also loads of data that are read-only for the kernel's lifetime (`ld.global.nc`), as since
    /// Kepler.
    NonCoherent,
}

impl TextureLoads {
    /// True if a load that may use this path does.
    pub(crate) fn take(self, path: ReadPath) -> bool {
        match path {
            ReadPath::Coherent => false,
            ReadPath::NonCoherent => self == Self::NonCoherent,
            ReadPath::Texture => true,
        }
    }
}

/// Order in which responses at `textures` reach the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TextureAnswers {
    /// Request order: a response waits for the responses to all earlier requests.
    #[default]
    InOrder,
    /// Arrival order: each response is forwarded at once.
    AsTheyCome,
}

/// Parameters common to both kinds of read path.
#[derive(Clone, Copy)]
pub(crate) struct QueueSpec {
    pub(crate) line_bytes: u32,
    pub(crate) queue_depth: u32,
    pub(crate) requests_per_cycle: u32,
    pub(crate) outstanding_max: u32,
    pub(crate) writeback_latency: u32,
}

impl QueueSpec {
    fn check(self, name: &str) -> Result<(), SpecError> {
        let field = |field: &str| format!("{name}.{field}");
        SpecError::require(
            [32, 64, 128].contains(&self.line_bytes),
            &field("line_bytes"),
            || format!("{} must be 32, 64 or 128", self.line_bytes),
        )?;
        for (own, value, range) in [
            ("queue_depth", self.queue_depth, 1..=1024),
            ("requests_per_cycle", self.requests_per_cycle, 1..=32),
            ("outstanding_max", self.outstanding_max, 1..=1 << 16),
            ("writeback_latency", self.writeback_latency, 0..=LATENCY_MAX),
        ] {
            SpecError::in_range(&field(own), value, range)?;
        }
        Ok(())
    }
}

impl ConstantsSpec {
    pub(crate) fn queue(&self) -> QueueSpec {
        QueueSpec {
            line_bytes: self.line_bytes,
            queue_depth: self.queue_depth,
            requests_per_cycle: self.requests_per_cycle,
            outstanding_max: self.outstanding_max,
            writeback_latency: self.writeback_latency,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        self.queue().check("constants")?;
        // The arguments of 2^32 launches, of 2^16 bytes each, end before the address space does.
        let most = u64::MAX >> 1;
        SpecError::require(
            self.arguments.is_multiple_of(BLOCK_BYTES) && self.arguments <= most,
            "constants.arguments",
            || {
                format!(
                    "{:#x} must be a multiple of {BLOCK_BYTES}, at most {most:#x}",
                    self.arguments
                )
            },
        )
    }
}

impl TexturesSpec {
    pub(crate) fn queue(&self) -> QueueSpec {
        QueueSpec {
            line_bytes: self.line_bytes,
            queue_depth: self.queue_depth,
            requests_per_cycle: self.requests_per_cycle,
            outstanding_max: self.outstanding_max,
            writeback_latency: self.writeback_latency,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        self.queue().check("textures")
    }
}
