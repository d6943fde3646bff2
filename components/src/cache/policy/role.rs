//! Policy slot of a cache that cache policies fill.

use warpweave_framework::PolicyRole;

use super::CachePolicy;
use crate::interleave::Interleave;
use crate::memory::Level;

/// Role of the cache policies, a chain of any length.
pub struct CachePolicies;

impl PolicyRole for CachePolicies {
    const NAME: &'static str = "cache_policy";
    const SUMMARY: &'static str = "Decides which lines a cache keeps, fetches, sends to the next level and drops; several form a chain";
    type Policy = Box<dyn CachePolicy>;
    type Site = CacheSite;
}

/// Properties of a cache that its policies and prefetchers can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSite {
    /// Level of the cache in the memory hierarchy.
    pub level: Level,
    /// Number of line places; the index of every [`Slot`](crate::cache::Slot) is smaller.
    pub lines: u32,
    /// Number of sets in all parts together; every set number is smaller.
    pub sets: u32,
    /// Lines per set (associativity of the cache).
    pub ways: u32,
    /// Number of parts with lines of their own.
    pub partitions: u32,
    /// Bytes per line: a power of two from 4 to 128.
    pub line_bytes: u32,
    /// Bytes per sector, the least that a miss fetches; those of the line without sectors.
    pub sector_bytes: u32,
    /// Interleaving of addresses over slices, if the cache is one of several.
    pub interleave: Option<Interleave>,
}

impl CacheSite {
    /// Returns the set number across all slices: slice × sets + set.
    #[inline]
    pub fn global_set(&self, line: u64, set: u32) -> u64 {
        let slice = self.interleave.map_or(0, |i| i.slice(line));
        u64::from(slice) * u64::from(self.sets) + u64::from(set)
    }

    /// Returns the line `distance` lines after this one in the cache's own address space: that of
    /// its slice and part. Returns `None` beyond the end of the address space.
    pub fn line_after(&self, line: u64, distance: u64) -> Option<u64> {
        let bytes = distance.checked_mul(u64::from(self.line_bytes))?;
        match self.interleave {
            None => line.checked_add(bytes),
            Some(interleave) => {
                let local = interleave.local(line).checked_add(bytes)?;
                let granules = local / u64::from(interleave.granule_bytes) + 1;
                let all = granules.checked_mul(u64::from(interleave.slices))?;
                all.checked_mul(u64::from(interleave.granule_bytes))?;
                interleave.address(interleave.slice(line), local)
            }
        }
    }

    /// True if both lines belong to the same slice, and so both to this cache if one does.
    pub(in crate::cache) fn is_with(&self, line: u64, other: u64) -> bool {
        self.interleave
            .is_none_or(|i| i.slice(line) == i.slice(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice_of_six() -> CacheSite {
        CacheSite {
            level: Level::L2,
            lines: 512,
            sets: 128,
            ways: 4,
            partitions: 1,
            line_bytes: 128,
            sector_bytes: 32,
            interleave: Some(Interleave::in_turn(256, 6)),
        }
    }

    #[test]
    fn sets_of_slices_have_numbers_of_their_own() {
        let site = slice_of_six();
        assert_eq!(site.global_set(0, 5), 5);
        assert_eq!(site.global_set(5 * 256, 127), 6 * 128 - 1);
    }

    #[test]
    fn the_line_after_one_is_the_next_of_its_slice() {
        let site = slice_of_six();
        assert_eq!(site.line_after(256, 1), Some(256 + 128));
        assert_eq!(site.line_after(256 + 128, 1), Some(256 + 6 * 256));
        assert_eq!(site.line_after(256, 4), Some(256 + 12 * 256));
        assert_eq!(site.line_after(!127, 1), None);
        let alone = CacheSite {
            interleave: None,
            ..site
        };
        assert_eq!(alone.line_after(128, 2), Some(384));
    }
}
