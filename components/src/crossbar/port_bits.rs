//! Storage representation of a set of ports.

use serde::{Deserialize, Serialize};

/// Set of ports with one bit per port.
pub(crate) type PortMask = u128;

/// Number of bits in a machine word.
const WORD: usize = u64::BITS as usize;

/// Set of ports in storage form: the contents of a [`PortMask`] in machine words. Adding or
/// removing a port touches only one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PortBits([u64; 2]);

impl PortBits {
    #[inline(always)]
    pub(crate) fn insert(&mut self, port: usize) {
        self.0[port / WORD % 2] |= 1 << (port % WORD);
    }

    #[inline(always)]
    pub(crate) fn remove(&mut self, port: usize) {
        self.0[port / WORD % 2] &= !(1 << (port % WORD));
    }

    #[inline(always)]
    pub(crate) fn contains(&self, port: usize) -> bool {
        self.0[port / WORD % 2] >> (port % WORD) & 1 != 0
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.0[0] | self.0[1] == 0
    }

    /// True if the sets have a port in common.
    #[inline(always)]
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0[0] & other.0[0] | self.0[1] & other.0[1] != 0
    }

    /// Returns the ports below 64 as a mask.
    #[inline(always)]
    pub(crate) fn first_word(&self) -> u64 {
        self.0[0]
    }

    #[inline(always)]
    pub(crate) fn mask(&self) -> PortMask {
        PortMask::from(self.0[0]) | PortMask::from(self.0[1]) << WORD
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::crossbar::requests::bit;

    proptest! {
        #[test]
        fn bits_are_those_of_the_mask(
            changes in prop::collection::vec((0usize..128, any::<bool>()), 0..40),
        ) {
            let (mut bits, mut mask) = (PortBits::default(), 0);
            for (port, comes) in changes {
                if comes {
                    bits.insert(port);
                    mask |= bit(port);
                } else {
                    bits.remove(port);
                    mask &= !bit(port);
                }
                prop_assert_eq!(bits.contains(port), comes);
            }
            prop_assert_eq!((bits.mask(), bits.first_word()), (mask, mask as u64));
            prop_assert_eq!(bits.is_empty(), mask == 0);
            prop_assert!(bits.meets(&bits) != bits.is_empty() && !bits.meets(&PortBits::default()));
        }
    }
}
