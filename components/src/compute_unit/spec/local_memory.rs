//! Settings of the local memory, and of one that shares its storage with the first-level cache.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// The local memory of a compute unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalMemorySpec {
    /// Size in bytes.
    pub bytes: u32,
    /// Banks, 1 to 128; consecutive 4-byte words lie in consecutive banks.
    pub banks: u32,
    /// Cycles from issue of a load without bank conflicts to issue of a dependent instruction, at
    /// least 1.
    pub latency: u32,
    /// The memory that local memory and the first-level cache are parts of; absent: each has its own, of one size.
    #[serde(default)]
    pub shared_with_cache: Option<SharedMemorySpec>,
}

/// The memory that local memory and the first-level cache are parts of.
///
/// A kernel of `g` work-groups on a machine of `u` units wants of each unit as much local memory as those of its work-groups take
/// that it may hold: `min(g', ceil(g / u)) × local memory of a work-group`, with `g'` the number that fits an empty unit with the most local
/// memory. A work-group starts when local memory is the smallest of `splits` that holds what its kernel and those of the
/// resident work-groups want together, and at least what these work-groups take; the largest, if none holds that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedMemorySpec {
    /// Bytes of both together.
    pub bytes: u32,
    /// Bytes that local memory can have, ascending, 1 to 64 of them; the last is `local_memory.bytes`. The cache has the rest, in
    /// whole ways, beside the first all of its `size_bytes`. Before the first kernel the first holds.
    pub splits: Vec<u32>,
}

/// Field of the specification.
pub(crate) const FIELD: &str = "local_memory.shared_with_cache";

impl SharedMemorySpec {
    /// Checks the numbers of a unit whose local memory has at most `local` bytes.
    pub(crate) fn check(&self, local: u32) -> Result<(), SpecError> {
        let field = format!("{FIELD}.splits");
        SpecError::require(
            (1..=64).contains(&self.splits.len()) && self.splits.is_sorted_by(|a, b| a < b),
            &field,
            || "1 to 64 numbers, each larger than the one before".to_owned(),
        )?;
        SpecError::require(self.splits.last() == Some(&local), &field, || {
            format!("the last is not local_memory.bytes, {local}")
        })?;
        SpecError::require(self.bytes > local, &format!("{FIELD}.bytes"), || {
            let bytes = self.bytes;
            format!("{bytes} leave nothing to the cache beside {local} of local memory")
        })
    }

    /// The smallest split that holds so many bytes, or the largest.
    pub(crate) fn holding(&self, bytes: u64) -> usize {
        let smaller = self
            .splits
            .iter()
            .filter(|split| u64::from(**split) < bytes);
        smaller.count().min(self.splits.len() - 1)
    }
}
