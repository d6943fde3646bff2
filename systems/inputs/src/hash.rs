//! Stable hash of generated data (FNV-1a, 64 bits, over little-endian bytes).
//!
//! It distinguishes inputs in tests, logs and results. It is not secure against an adversary.

use warpweave_random::{FNV_START, fnv1a};

/// Computes the hash of a slice of words: FNV-1a over the little-endian bytes, the length first.
pub fn hash_u32s(values: &[u32]) -> u64 {
    let mut hash = Fnv::default();
    hash.words(values);
    hash.finish()
}

/// Computes the hash of a slice of floats from their bit patterns, so `0.0` and `-0.0` differ.
pub fn hash_f32s(values: &[f32]) -> u64 {
    let mut hash = Fnv::default();
    hash.length(values.len());
    for value in values {
        hash.bytes(&value.to_bits().to_le_bytes());
    }
    hash.finish()
}

/// State of an FNV-1a hash in progress.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(FNV_START)
    }
}

impl Fnv {
    /// Adds a length-prefixed slice of words.
    pub(crate) fn words(&mut self, values: &[u32]) {
        self.length(values.len());
        for value in values {
            self.bytes(&value.to_le_bytes());
        }
    }

    /// Adds a length, so that moving elements between neighbouring slices changes the hash.
    pub(crate) fn length(&mut self, length: usize) {
        self.bytes(&(length as u64).to_le_bytes());
    }

    /// Returns the hash of everything added so far.
    pub(crate) fn finish(self) -> u64 {
        self.0
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0 = fnv1a(self.0, bytes.iter().copied());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_and_sign_of_zero_matter() {
        assert_ne!(hash_u32s(&[0]), hash_u32s(&[0, 0]));
        assert_ne!(hash_f32s(&[0.0]), hash_f32s(&[-0.0]));
        assert_eq!(hash_f32s(&[1.0]), hash_u32s(&[0x3f80_0000]));
    }
}
