//! Settings of the local memory, and of one that shares its storage with the first-level cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

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
    /// Memory that is divided between local memory and the first-level cache; absent: each has
    /// separate memory of fixed size.
    #[serde(default)]
    pub shared_with_cache: Option<SharedMemorySpec>,
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
