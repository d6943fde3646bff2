//! Bloom filters over line addresses.
//!
//! A set of keys in `m` bits. A key sets `k` bits and is found when all `k` are set. Inserted keys
//! are always found, others only with a small false-positive probability.
//!
//! The `k` bits of a key come from two hashes by double hashing, `(h1 + j * h2) mod m` in 64-bit
//! arithmetic. `h1` and `h2` are MurmurHash2 (32 bits) of the key's 8 little-endian bytes, with two
//! seeds.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State};

/// Seeds of the two MurmurHash2 hash functions.
const SEEDS: [u32; 2] = [0, 0x9747_b28c];

/// Size and hash count of a Bloom filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BloomSpec {
    /// Number of bits in the filter, 1 to 16777216. For `n` keys and a false-positive rate `p`:
    /// `-n ln p / (ln 2)^2`.
    pub bits: u32,
    /// Number of hashes per key, 1 to 16.
    pub hashes: u32,
}

impl BloomSpec {
    /// Checks that the parameters are consistent.
    ///
    /// # Errors
    /// Returns an error if a field is out of range. `field` is the path of this value in the
    /// description.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        SpecError::in_range("bits", self.bits, 1..=1 << 24)
            .and_then(|()| SpecError::in_range("hashes", self.hashes, 1..=16))
            .map_err(|error| error.inside(field))
    }
}

/// The two hashes of a key, from which the bit positions in a filter of any size are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BloomKey {
    hashes: [u32; 2],
}

impl BloomKey {
    /// Computes the two hashes of a key.
    pub fn new(key: u64) -> Self {
        let bytes = key.to_le_bytes();
        Self {
            hashes: SEEDS.map(|seed| murmur2::murmur2(&bytes, seed)),
        }
    }

    /// Returns the positions of the bits that the key sets in a filter of `spec`.
    fn bits(self, spec: BloomSpec) -> impl Iterator<Item = usize> {
        let [first, step] = self.hashes.map(u64::from);
        (0..u64::from(spec.hashes))
            .map(move |j| ((first + j * step) % u64::from(spec.bits)) as usize)
    }
}

/// Bloom filter that counts insertions and allocates its bits on first use.
#[derive(Clone, Debug, State)]
#[state(prepare = Self::allocate)]
pub struct BloomFilter {
    #[state(skip)]
    spec: BloomSpec,
    /// Bits of the filter, allocated on the first insertion.
    #[state(array)]
    words: Box<[u64]>,
    insertions: u64,
}

impl BloomFilter {
    pub fn new(spec: BloomSpec) -> Self {
        Self {
            spec,
            words: Box::default(),
            insertions: 0,
        }
    }

    fn allocate(&mut self) {
        if self.words.is_empty() {
            self.make_words();
        }
    }

    #[cold]
    fn make_words(&mut self) {
        self.words = vec![0; self.spec.bits.div_ceil(64) as usize].into();
    }

    /// True if the key was inserted since the last [`clear`](Self::clear), or on a false positive.
    pub fn contains(&self, key: BloomKey) -> bool {
        !self.words.is_empty()
            && key
                .bits(self.spec)
                .all(|bit| self.words[bit / 64] >> (bit % 64) & 1 != 0)
    }

    pub fn insert(&mut self, key: BloomKey) {
        self.allocate();
        for bit in key.bits(self.spec) {
            self.words[bit / 64] |= 1 << (bit % 64);
        }
        self.insertions += 1;
    }

    /// Inserts a key unless it is found already. Returns true if it was found.
    pub fn probe_insert(&mut self, key: BloomKey) -> bool {
        let found = self.contains(key);
        if !found {
            self.insert(key);
        }
        found
    }

    /// Removes all keys from the filter.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.insertions = 0;
    }

    /// Returns the number of insertions since the filter was last cleared.
    pub fn insertions(&self) -> u64 {
        self.insertions
    }

    /// Returns the number of bits that are set.
    pub fn bits_set(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use warpweave_framework::Stateful;

    use super::*;

    fn spec(hashes: u32) -> BloomSpec {
        BloomSpec { bits: 4840, hashes }
    }

    #[test]
    fn keys_hash_to_the_published_values() {
        for (key, hashes) in [
            (0, [0x93b1_32bc, 0xe0d7_5103]),
            (0x80, [0x2fc0_285b, 0x4cee_aa78]),
            (0x1000, [0x4511_bfe3, 0xb241_95ab]),
        ] {
            assert_eq!(BloomKey::new(key).hashes, hashes, "key {key:#x}");
        }
    }

    #[test]
    fn keys_set_the_bits_of_double_hashing() {
        for (key, bits) in [
            (0, [1412, 4735, 3218]),
            (0x80, [755, 3379, 1163]),
            (0x1000, [3179, 102, 1865]),
        ] {
            let got: Vec<_> = BloomKey::new(key).bits(spec(3)).collect();
            assert_eq!(got, bits, "key {key:#x}");
        }
    }

    #[test]
    fn a_full_filter_errs_as_often_as_computed() {
        for (hashes, false_positives, bits_set) in [(3, 1021, 2228), (4, 1030, 2730)] {
            let mut filter = BloomFilter::new(spec(hashes));
            for line in 0..1000 {
                filter.insert(BloomKey::new(line * 128));
            }
            assert_eq!(filter.bits_set(), bits_set);
            let found = (100_000..110_000)
                .filter(|line| filter.contains(BloomKey::new(line * 128)))
                .count();
            assert_eq!(found, false_positives);
        }
    }

    #[test]
    fn insertion_on_miss_counts_repeats_as_hits() {
        let mut filter = BloomFilter::new(spec(3));
        let hits = [1, 2, 1, 3, 2, 1, 4]
            .into_iter()
            .filter(|&line| filter.probe_insert(BloomKey::new(line)))
            .count();
        assert_eq!((hits, filter.insertions()), (3, 4));
    }

    #[test]
    fn a_filter_is_saved_the_same_before_its_first_key_and_after_its_last_is_cleared() {
        let saved = |filter: &mut BloomFilter| State::save(|state| filter.state(state)).unwrap();
        let mut cleared = BloomFilter::new(spec(3));
        cleared.insert(BloomKey::new(7));
        let used = saved(&mut cleared);
        cleared.clear();
        let mut new = BloomFilter::new(spec(3));
        assert!(!new.contains(BloomKey::new(7)));
        assert_eq!(saved(&mut new.clone()), saved(&mut cleared));
        State::load(&used, |state| new.state(state)).unwrap();
        assert!(new.contains(BloomKey::new(7)));
    }

    proptest! {
        #[test]
        fn an_inserted_key_is_always_found_until_cleared(
            keys in proptest::collection::vec(any::<u64>(), 1..50),
            bits in 1u32..300, hashes in 1u32..6,
        ) {
            let mut filter = BloomFilter::new(BloomSpec { bits, hashes });
            for &key in &keys {
                filter.insert(BloomKey::new(key));
            }
            prop_assert!(keys.iter().all(|&key| filter.contains(BloomKey::new(key))));
            filter.clear();
            prop_assert_eq!(filter.bits_set(), 0);
            prop_assert!(!filter.contains(BloomKey::new(keys[0])));
        }
    }
}
