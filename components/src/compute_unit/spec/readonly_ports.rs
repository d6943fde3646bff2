//! What a description may set of the paths to caches that are read alone.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;
use warpweave_trace::ReadPath;

use crate::compute_unit::limits::LATENCY_MAX;

/// Bytes at whose multiples blocks of arguments begin.
pub(crate) const BLOCK_BYTES: u64 = 256;

/// The path of loads from constant and argument memory to a cache.
///
/// Constant data lie where the program has them. The arguments of each launch are a block of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantsSpec {
    /// Byte address of the arguments of the first launch, a multiple of 256; those of the others follow, each at the
    /// next multiple of 256.
    pub arguments: u64,
    /// What becomes of lanes that read different addresses. Source: `Apart` is that of hardware, CUDA C++
    /// Programming Guide, "Constant Memory".
    #[serde(default)]
    pub lanes: ConstantLanes,
    /// Bytes of the lines that requests at `constants` name: 32, 64 or 128.
    pub line_bytes: u32,
    /// Loads (wavefront instructions) that wait for their requests to be sent, 1 to 1024; when full, loads from
    /// constant and argument memory do not issue.
    pub queue_depth: u32,
    /// Requests sent per cycle at most, 1 to 32.
    pub requests_per_cycle: u32,
    /// Requests sent and not yet answered at most, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to issue of a dependent instruction; 0 allows it in the cycle in which
    /// the response arrives.
    pub writeback_latency: u32,
}

/// What becomes of lanes of a load from constant or argument memory that read different addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConstantLanes {
    /// Each address is a request of its own, one after the other.
    #[default]
    Apart,
    /// Those of one line share a request.
    Together,
}

/// The path of reads of textures, and of other data that nobody writes, to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TexturesSpec {
    /// Which loads from global memory take it.
    pub loads: TextureLoads,
    /// In which order answers come to the registers. Source: `InOrder` is that of caches for textures, Igehy and
    /// others, "Prefetching in a Texture Cache Architecture", 1998.
    #[serde(default)]
    pub answers: TextureAnswers,
    /// Bytes of the lines that requests at `textures` name: 32, 64 or 128.
    pub line_bytes: u32,
    /// Loads (wavefront instructions) that wait for their requests to be sent, 1 to 1024; when full, loads that take
    /// this path do not issue.
    pub queue_depth: u32,
    /// Requests sent per cycle at most, 1 to 32.
    pub requests_per_cycle: u32,
    /// Requests sent whose answers have not come to the registers at most, 1 to 65536; when reached, sending waits.
    pub outstanding_max: u32,
    /// Cycles from the last response of a load to issue of a dependent instruction; 0 allows it in the cycle in which
    /// the response arrives.
    pub writeback_latency: u32,
}

/// Loads from global memory that take the path of textures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TextureLoads {
    /// Reads of textures alone, as on Fermi.
    Textures,
    /// Loads of data that are read-only for the kernel's lifetime (`ld.global.nc`) as well, as from Kepler on.
    NonCoherent,
}

impl TextureLoads {
    /// Whether a load that may take this path does.
    pub(crate) fn take(self, path: ReadPath) -> bool {
        match path {
            ReadPath::Coherent => false,
            ReadPath::NonCoherent => self == Self::NonCoherent,
            ReadPath::Texture => true,
        }
    }
}

/// In which order answers at `textures` come to the registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TextureAnswers {
    /// In that of their requests: an answer waits for those to all requests before its own.
    #[default]
    InOrder,
    /// In that in which they arrive.
    AsTheyCome,
}

/// What the two have in common.
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
            || format!("{} is not 32, 64 or 128", self.line_bytes),
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
                    "{:#x} is not a multiple of {BLOCK_BYTES} up to {most:#x}",
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
