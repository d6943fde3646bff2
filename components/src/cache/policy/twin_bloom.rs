//! Pair of Bloom filters that forgets: each key is found for a while after its insertion.
//!
//! Building block for policies. Every key enters both filters, and one of them answers. The
//! insertion that follows `refresh` others makes the other filter answer, which holds the last
//! `refresh` keys, and clears the one that answered. A key is therefore found for `refresh` to
//! twice `refresh` further insertions, others only with a small false-positive probability
//! (GRN-M3).

use warpweave_framework::State;

use crate::bloom::{BloomFilter, BloomKey, BloomSpec};

/// Two Bloom filters that take turns.
#[derive(Clone, Debug, State)]
pub struct TwinBloom {
    #[state(parts)]
    filters: [BloomFilter; 2],
    /// Number of the filter that answers.
    active: usize,
    /// Insertions since the filters changed roles.
    insertions: u32,
    #[state(skip)]
    refresh: u32,
}

impl TwinBloom {
    /// Creates two empty filters that change roles every `refresh` insertions.
    pub fn new(spec: BloomSpec, refresh: u32) -> Self {
        Self {
            filters: [BloomFilter::new(spec), BloomFilter::new(spec)],
            active: 0,
            insertions: 0,
            refresh,
        }
    }

    /// True if the key is remembered, or on a false positive.
    pub fn contains(&self, key: u64) -> bool {
        self.filters[self.active].contains(BloomKey::new(key))
    }

    /// Inserts a key into both filters.
    pub fn insert(&mut self, key: u64) {
        if self.insertions == self.refresh {
            self.filters[self.active].clear();
            self.active = 1 - self.active;
            self.insertions = 0;
        }
        let key = BloomKey::new(key);
        self.filters
            .iter_mut()
            .for_each(|filter| filter.insert(key));
        self.insertions += 1;
    }

    /// Forgets every key that was inserted.
    pub fn clear(&mut self) {
        self.filters.iter_mut().for_each(BloomFilter::clear);
        self.insertions = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thesis() -> TwinBloom {
        TwinBloom::new(
            BloomSpec {
                bits: 2048,
                hashes: 2,
            },
            512,
        )
    }

    /// Numbers of further insertions after which a key is still found, for a key inserted after
    /// `before` others. The filter is large, so that there is no false positive.
    fn found_after(before: u64) -> u64 {
        let spec = BloomSpec {
            bits: 1 << 20,
            hashes: 4,
        };
        let mut twin = TwinBloom::new(spec, 512);
        let key = 1 << 40;
        (0..before).for_each(|other| twin.insert(other));
        twin.insert(key);
        let mut further = 0;
        while twin.contains(key) {
            twin.insert(1 << 20 | further);
            further += 1;
        }
        further
    }

    #[test]
    fn grn_m3_a_key_is_found_for_512_to_1024_insertions() {
        assert_eq!(found_after(0), 1024);
        assert_eq!(found_after(511), 513);
        assert_eq!(found_after(512), 1024);
        assert!((0..1100).all(|before| (513..=1024).contains(&found_after(before))));
    }

    #[test]
    fn a_cleared_pair_holds_nothing() {
        let mut twin = thesis();
        (0..700).for_each(|key| twin.insert(key));
        assert!(twin.contains(699));
        twin.clear();
        assert!(!(0..700).any(|key| twin.contains(key)));
    }
}
