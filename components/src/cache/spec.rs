//! What a description may set about a cache, and which values go together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::tag_array::{Geometry, Replacement};
use crate::interleave::Interleave;
use crate::memory::{LINE_BYTES_MAX, Level};

/// Most lines of one cache: about 0.8 GB of host memory.
const LINES_MAX: u64 = 1 << 24;
/// Most requests that all MSHRs of one cache hold together.
const WAITERS_MAX: u64 = 1 << 22;
/// Most entries of any other table or queue, and longest latency in cycles.
const ENTRIES_MAX: u32 = 1 << 20;

/// Specification of a [`Cache`](super::Cache).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// Level of the hierarchy, reported as supplier of hits. At L1, requests that bypass L1 pass
    /// through.
    pub level: CacheLevel,
    /// Capacity in bytes; a multiple of `line_bytes` × `ways`.
    pub size_bytes: u32,
    /// Bytes per line: a power of two from 4 to 128.
    pub line_bytes: u32,
    /// Lines per set.
    pub ways: u32,
    /// How addresses are dealt to slices, when this cache is one of several: the set number is
    /// then taken from the slice's own address.
    #[serde(default)]
    pub interleave: Option<Interleave>,
    /// Which line of a full set leaves.
    pub replacement: Replacement,
    /// When a read miss takes its way.
    pub allocate: AllocatePolicy,
    /// What becomes of writes.
    pub write: WritePolicy,
    /// Where atomics are carried out.
    pub atomics: AtomicPolicy,
    /// Lines in flight from below.
    pub mshr_entries: u32,
    /// Requests that wait for one line in flight, the first included.
    pub mshr_merges: u32,
    /// Requests in flight that only pass through: writes of a write-evict cache, forwarded
    /// atomics, bypassing requests.
    pub pass_entries: u32,
    /// Requests waiting to be sent down, at least 2 (a copy-back and the miss that caused it).
    pub miss_queue_entries: u32,
    /// Cycles from a request being readable to its hit being answered.
    pub hit_latency_cycles: u32,
    /// Cycles from a request being readable to its miss being sent down.
    pub miss_latency_cycles: u32,
    /// Cycles from a fill or acknowledgement being readable to the first answer it allows.
    pub fill_latency_cycles: u32,
    /// Responses sent up per cycle.
    pub responses_per_cycle: u32,
}

/// The levels that this block can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CacheLevel {
    /// Next to a compute unit.
    L1,
    /// A slice at a memory partition.
    L2,
}

/// When a miss takes its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AllocatePolicy {
    /// At the miss: the way is reserved while the line is in flight.
    OnMiss,
    /// When the line arrives; a line that then finds every way of its set locked is not kept.
    OnFill,
}

/// What becomes of writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WritePolicy {
    /// A write goes down and is acknowledged from there; a copy of its line is dropped, a line in
    /// flight is not installed, a write miss allocates nothing.
    WriteEvict,
    /// A write stays in the line, which is copied back when it leaves.
    WriteBack {
        /// What happens when a write to an absent line does not cover it.
        partial: PartialWrite,
    },
}

/// How a write-back cache takes a write that covers only part of an absent line. A write that
/// covers all of it never fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PartialWrite {
    /// The line is fetched and the write waits for it.
    Fetch,
    /// The written words are marked valid; the others are fetched when a read needs one.
    WordMask,
}

/// Where atomics are carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum AtomicPolicy {
    /// Below: the own copy of the line is dropped and the request handed down.
    Forward,
    /// Here, as read-modify-write of the line, which becomes dirty whatever the write policy.
    Execute {
        /// Cycles added to the latency of a hit, or of the answer to a miss.
        latency_cycles: u32,
    },
}

impl From<CacheLevel> for Level {
    fn from(level: CacheLevel) -> Self {
        match level {
            CacheLevel::L1 => Self::L1,
            CacheLevel::L2 => Self::L2,
        }
    }
}

impl CacheSpec {
    /// Latency of an atomic carried out here, beyond that of a hit.
    pub fn atomic_latency_cycles(&self) -> u32 {
        match self.atomics {
            AtomicPolicy::Forward => 0,
            AtomicPolicy::Execute { latency_cycles } => latency_cycles,
        }
    }

    /// Checks every value and returns the shape of the tag array.
    ///
    /// # Errors
    /// A value outside its range, or values that do not go together.
    pub fn check(&self) -> Result<Geometry, SpecError> {
        self.check_numbers()?;
        let set_bytes = u64::from(self.line_bytes) * u64::from(self.ways);
        let size = u64::from(self.size_bytes);
        SpecError::require(
            size > 0 && size.is_multiple_of(set_bytes),
            "size_bytes",
            || {
                format!(
                    "{size} is not a positive multiple of {set_bytes} ({} bytes per line times {} \
                     ways)",
                    self.line_bytes, self.ways
                )
            },
        )?;
        let lines = size / u64::from(self.line_bytes);
        SpecError::require(lines <= LINES_MAX, "size_bytes", || {
            format!("{size} bytes are {lines} lines; at most {LINES_MAX} are supported")
        })?;
        if let Some(interleave) = &self.interleave {
            interleave.check("interleave")?;
            SpecError::require(
                interleave.granule_bytes >= self.line_bytes,
                "interleave.granule_bytes",
                || {
                    format!(
                        "a granule of {} bytes cuts lines of {} bytes",
                        interleave.granule_bytes, self.line_bytes
                    )
                },
            )?;
        }
        Ok(Geometry {
            sets: (size / set_bytes) as u32,
            ways: self.ways,
            line_bytes: self.line_bytes,
            interleave: self.interleave,
        })
    }

    fn check_numbers(&self) -> Result<(), SpecError> {
        SpecError::require(
            self.line_bytes.is_power_of_two() && (4..=LINE_BYTES_MAX).contains(&self.line_bytes),
            "line_bytes",
            || {
                format!(
                    "{} is not a power of two from 4 to {LINE_BYTES_MAX}",
                    self.line_bytes
                )
            },
        )?;
        let counts = [
            ("ways", self.ways, 1),
            ("mshr_entries", self.mshr_entries, 1),
            ("mshr_merges", self.mshr_merges, 1),
            ("pass_entries", self.pass_entries, 1),
            ("miss_queue_entries", self.miss_queue_entries, 2),
            ("hit_latency_cycles", self.hit_latency_cycles, 0),
            ("miss_latency_cycles", self.miss_latency_cycles, 0),
            ("fill_latency_cycles", self.fill_latency_cycles, 0),
            ("responses_per_cycle", self.responses_per_cycle, 1),
            ("atomics.latency_cycles", self.atomic_latency_cycles(), 0),
        ];
        for (field, value, least) in counts {
            SpecError::require((least..=ENTRIES_MAX).contains(&value), field, || {
                format!("{value} is not within {least} to {ENTRIES_MAX}")
            })?;
        }
        let waiters = u64::from(self.mshr_entries) * u64::from(self.mshr_merges);
        SpecError::require(waiters <= WAITERS_MAX, "mshr_merges", || {
            format!(
                "{} entries of {} requests are {waiters}; at most {WAITERS_MAX} are supported",
                self.mshr_entries, self.mshr_merges
            )
        })
    }
}
