//! Settings of the local memory, and of one that shares its storage with the first-level cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use crate::compute_unit::limits::LATENCY_MAX;

/// Local memory of a compute unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMemorySpec {
    /// Size of the local memory in bytes.
    pub bytes: u32,
    /// Number of banks, 1 to 128; consecutive 4-byte words are in consecutive banks.
    pub banks: u32,
    /// Cycles from issue of a load without bank conflicts to issue of a dependent instruction, at
    /// least 1.
    pub latency: u32,
    /// Cycles by which each conflict cycle delays dependents of a load, 1 to 16. Source: 1, own
    /// choice; an H200 takes 2, measured.
    #[serde(default = "one")]
    pub conflict_latency: u32,
    /// Service of accesses wider than a word. Source: `Words`, own choice; `Phases` gives the rates
    /// measured on an H200.
    #[serde(default)]
    pub wide: WideAccesses,
    /// Memory that is divided between local memory and the first-level cache; absent: each has
    /// separate memory of fixed size.
    #[serde(default)]
    pub shared_with_cache: Option<SharedMemorySpec>,
}

fn one() -> u32 {
    1
}

/// Service of accesses to local memory that are wider than a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WideAccesses {
    /// The words of all lanes together; the busiest bank determines the cycles.
    #[default]
    Words,
    /// Phases of as many lanes as 32 words serve: two of 16 lanes for 8 bytes, four of 8 lanes for
    /// 16 bytes. Two neighbouring phases of a load are served together if they need no more
    /// different words than there are banks. Phases without active lanes are skipped.
    Phases,
}

impl LocalMemorySpec {
    /// Checks that every parameter is in its range.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        SpecError::in_range("local_memory.bytes", self.bytes, 0..=1 << 28)?;
        SpecError::in_range("local_memory.banks", self.banks, 1..=128)?;
        SpecError::in_range("local_memory.latency", self.latency, 1..=LATENCY_MAX)?;
        let conflict = self.conflict_latency;
        SpecError::in_range("local_memory.conflict_latency", conflict, 1..=16)?;
        let shared = self.shared_with_cache.as_ref();
        shared.map_or(Ok(()), |shared| shared.check(self.bytes))
    }

    /// Returns the cycles by which an access of this many cycles delays the dependents beyond one
    /// without conflicts.
    #[inline(always)]
    pub(crate) fn delay(&self, cycles: u32) -> u32 {
        (cycles - 1) * self.conflict_latency
    }
}

/// Memory that is divided between local memory and the first-level cache.
///
/// A kernel of `g` work-groups on a device of `u` units requests local memory on each unit for the
/// work-groups that the unit may hold. The request is
/// `min(g', ceil(g / u)) × local memory of a work-group`, where `g'` work-groups fit an empty unit
/// with the most local memory. A work-group starts when local memory has the required size. That is
/// the smallest entry of `splits` that holds the combined requests of its kernel and all resident
/// kernels. It must also hold the memory that these work-groups allocate. If no entry is large
/// enough, the largest is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedMemorySpec {
    /// Total size of local memory and cache in bytes.
    pub bytes: u32,
    /// Possible sizes of local memory in bytes, ascending, 1 to 64 of them; the last is
    /// `local_memory.bytes`. The cache has the rest, in whole ways, and all of its `size_bytes`
    /// with the first. The first applies before the first kernel.
    pub splits: Vec<u32>,
}

/// Name of the specification field for error messages.
pub(crate) const FIELD: &str = "local_memory.shared_with_cache";

impl SharedMemorySpec {
    /// Checks the parameters of a unit whose local memory has at most `local` bytes.
    pub(crate) fn check(&self, local: u32) -> Result<(), SpecError> {
        let field = format!("{FIELD}.splits");
        SpecError::require(
            (1..=64).contains(&self.splits.len()) && self.splits.is_sorted_by(|a, b| a < b),
            &field,
            || "expected 1 to 64 numbers in strictly ascending order".to_owned(),
        )?;
        SpecError::require(self.splits.last() == Some(&local), &field, || {
            format!("the last must equal local_memory.bytes, {local}")
        })?;
        SpecError::require(self.bytes > local, &format!("{FIELD}.bytes"), || {
            let bytes = self.bytes;
            format!("{bytes} leave nothing for the cache with {local} of local memory")
        })
    }

    /// Returns the index of the smallest split with at least this many bytes, or of the largest
    /// split.
    pub(crate) fn holding(&self, bytes: u64) -> usize {
        let smaller = self
            .splits
            .iter()
            .filter(|split| u64::from(**split) < bytes);
        smaller.count().min(self.splits.len() - 1)
    }
}
