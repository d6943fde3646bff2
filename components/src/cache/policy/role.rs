//! The place in a cache that cache policies fill.

use warpweave_framework::PolicyRole;

use super::CachePolicy;
use crate::interleave::Interleave;
use crate::memory::Level;

/// The policies of a cache, a chain of any length.
pub struct CachePolicies;

impl PolicyRole for CachePolicies {
    const NAME: &'static str = "cache_policy";
    const SUMMARY: &'static str =
        "Decides which lines a cache keeps, fetches, hands down and drops; several make a chain";
    type Policy = Box<dyn CachePolicy>;
    type Site = CacheSite;
}

/// What a cache tells a policy or prefetcher of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSite {
    /// Level of the hierarchy.
    pub level: Level,
    /// Places for lines; every [`Slot`](crate::cache::Slot) has an index below.
    pub lines: u32,
    /// Sets, those of all parts together; every set number is below.
    pub sets: u32,
    /// Lines per set.
    pub ways: u32,
    /// Parts with lines of their own.
    pub partitions: u32,
    /// Bytes per line: a power of two from 4 to 128.
    pub line_bytes: u32,
    /// How addresses are dealt to slices, if the cache is one of several.
    pub interleave: Option<Interleave>,
}

impl CacheSite {
    /// Number of a set among those of all slices: slice × sets + set.
    #[inline]
    pub fn global_set(&self, line: u64, set: u32) -> u64 {
        let slice = self.interleave.map_or(0, |i| i.slice(line));
        u64::from(slice) * u64::from(self.sets) + u64::from(set)
    }

    /// The line `distance` lines after this one in the cache's own addresses: those of its slice and
    /// its part. None beyond the end of the address space.
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

    /// Whether both lines belong to this cache, if one does.
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
