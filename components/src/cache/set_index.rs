//! Set hashing: the mapping from lines to sets.
//!
//! Within any aligned run of as many lines as there are sets, every hash here uses each set exactly
//! once. Hashing determines how the runs are permuted relative to each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::polynomial::{irreducible, remainder};

/// Hash function that computes the set from the line number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SetHash {
    /// Line number modulo the number of sets; any number of sets.
    #[default]
    Modulo,
    /// Exclusive or of all fields of the line number, each as wide as a set number. Requires a
    /// power of two of sets.
    Xor,
    /// Remainder of the line number, read as a polynomial over GF(2), by the smallest irreducible
    /// polynomial of the set number's width (Rau, ISCA 1991). Requires a power of two of sets.
    Polynomial,
    /// L1 hash of Fermi in GPGPU-Sim: bits 7 to 11 of the address, exclusive or bits 13, 14, 15, 17
    /// and 19. With 64 sets, bit 12 is added above them. Requires 32 or 64 sets of lines of 128
    /// bytes. Shorter lines that make up 128 bytes are in neighbouring sets, of which there are
    /// proportionally more.
    Fermi,
}

/// Hash in a form that is fast to evaluate.
#[derive(Clone, Debug)]
pub(super) enum SetIndex {
    Mask(u64),
    Modulo(u64),
    Xor {
        bits: u32,
        mask: u64,
    },
    /// Remainder of each value of each byte of the line number.
    Polynomial(Box<[[u32; 256]; 8]>),
    /// Lines per block of 128 bytes, as a power of two. Also holds the bit of the block number that
    /// is not hashed, if there is one.
    Fermi {
        shift: u32,
        top: u64,
    },
}

/// Bytes of a line on Fermi.
const FERMI_LINE: u32 = 128;

impl SetHash {
    /// Checks that the hash supports this number of sets and this line size.
    ///
    /// # Errors
    /// Returns the hash's requirements as text if they are not met.
    pub fn check(self, sets: u32, line_bytes: u32) -> Result<(), String> {
        match self {
            Self::Modulo => Ok(()),
            Self::Xor | Self::Polynomial if sets.is_power_of_two() => Ok(()),
            Self::Xor | Self::Polynomial => {
                Err(format!("{self:?} needs a power of two of sets, not {sets}"))
            }
            Self::Fermi => {
                let lines = FERMI_LINE / line_bytes.clamp(1, FERMI_LINE);
                let fits = lines * line_bytes == FERMI_LINE
                    && [32, 64].iter().any(|blocks| sets == blocks * lines);
                let needs = "Fermi needs 32 or 64 sets of 128-byte lines, or proportionally more sets of shorter lines";
                let found = format!("{needs}, not {sets} of {line_bytes}");
                if fits { Ok(()) } else { Err(found) }
            }
        }
    }
}

impl SetIndex {
    pub(super) fn new(hash: SetHash, sets: u32, line_bytes: u32) -> Self {
        let mask = u64::from(sets) - 1;
        match hash {
            SetHash::Modulo if !sets.is_power_of_two() => Self::Modulo(u64::from(sets)),
            // One set leaves nothing to hash.
            _ if sets == 1 => Self::Mask(0),
            SetHash::Modulo => Self::Mask(mask),
            SetHash::Xor => Self::Xor {
                bits: sets.trailing_zeros(),
                mask,
            },
            SetHash::Polynomial => Self::Polynomial(remainders(sets.trailing_zeros())),
            SetHash::Fermi => {
                let lines = FERMI_LINE / line_bytes;
                Self::Fermi {
                    shift: lines.trailing_zeros(),
                    top: u64::from(sets / lines == 64) << 5,
                }
            }
        }
    }

    /// Returns the set of the line with this number.
    #[inline(always)]
    pub(super) fn of(&self, number: u64) -> u32 {
        match self {
            Self::Mask(mask) => (number & mask) as u32,
            Self::Modulo(sets) => (number % sets) as u32,
            Self::Xor { bits, mask } => {
                let (mut rest, mut set) = (number, 0);
                while rest != 0 {
                    set ^= rest & mask;
                    rest >>= bits;
                }
                set as u32
            }
            Self::Fermi { shift, top } => {
                let block = number >> shift;
                let turn = block >> 6 & 0b111 | block >> 7 & 0b1000 | block >> 8 & 0b1_0000;
                let set = (block & 0b1_1111 ^ turn) | block & top;
                (set << shift | number & ((1 << shift) - 1)) as u32
            }
            Self::Polynomial(tables) => {
                let bytes = number.to_le_bytes();
                tables
                    .iter()
                    .zip(bytes)
                    .fold(0, |set, (table, byte)| set ^ table[usize::from(byte)])
            }
        }
    }
}

/// Computes the remainders by the smallest irreducible polynomial of this degree.
fn remainders(degree: u32) -> Box<[[u32; 256]; 8]> {
    let polynomial = irreducible(degree);
    let mut tables = Box::new([[0; 256]; 8]);
    for (byte, table) in tables.iter_mut().enumerate() {
        for (value, entry) in table.iter_mut().enumerate() {
            *entry = remainder((value as u64) << (8 * byte), polynomial) as u32;
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn irreducible_polynomials_are_the_tabulated_ones() {
        // x+1, x^2+x+1, x^3+x+1, x^4+x+1, x^5+x^2+1, x^6+x+1, x^8+x^4+x^3+x+1
        let table = [
            (1, 0b11),
            (2, 0b111),
            (3, 0b1011),
            (4, 0b1_0011),
            (5, 0b10_0101),
            (6, 0b100_0011),
            (8, 0b1_0001_1011),
        ];
        for (degree, polynomial) in table {
            assert_eq!(irreducible(degree), polynomial, "degree {degree}");
        }
    }

    #[test]
    fn polynomials_spread_strides_that_are_powers_of_two_and_modulo_does_not() {
        let sets_met = |hash, stride: u64| {
            let index = SetIndex::new(hash, 64, 128);
            (0..64)
                .map(|n| index.of(n * stride))
                .collect::<BTreeSet<_>>()
                .len()
        };
        for shift in 0..24 {
            assert_eq!(sets_met(SetHash::Polynomial, 1 << shift), 64, "2^{shift}");
        }
        assert_eq!(sets_met(SetHash::Modulo, 64), 1);
        assert_eq!(sets_met(SetHash::Xor, 64), 64);
    }

    #[test]
    fn values_computed_by_hand() {
        let set = |hash, sets, number| SetIndex::new(hash, sets, 128).of(number);
        assert_eq!(set(SetHash::Modulo, 24, 100), 4);
        // 0x123 in fields of four bits: 1 ^ 2 ^ 3.
        assert_eq!(set(SetHash::Xor, 16, 0x123), 0);
        assert_eq!(set(SetHash::Xor, 16, 0x523), 4);
        // x^4 = x + 1 and x^5 = x^2 + x modulo x^4 + x + 1.
        assert_eq!(set(SetHash::Polynomial, 16, 0x10), 0b11);
        assert_eq!(set(SetHash::Polynomial, 16, 0x31), 0b100);
        assert_eq!(set(SetHash::Polynomial, 1, 0x31), 0);
    }

    #[test]
    fn each_bit_of_an_address_turns_the_bit_of_fermis_set_that_it_is_tied_to() {
        // Bit of the address, bit of the set.
        let hashed = [
            (7, 0),
            (8, 1),
            (9, 2),
            (10, 3),
            (11, 4),
            (13, 0),
            (14, 1),
            (15, 2),
            (17, 3),
            (19, 4),
        ];
        for (sets, top) in [(32, None), (64, Some((12, 5)))] {
            let index = SetIndex::new(SetHash::Fermi, sets, 128);
            let tied: Vec<_> = hashed.into_iter().chain(top).collect();
            for bit in 7..40 {
                let expected = tied
                    .iter()
                    .find(|(of, _)| *of == bit)
                    .map_or(0, |(_, to)| 1 << to);
                assert_eq!(index.of(1 << (bit - 7)), expected, "{sets} sets, bit {bit}");
            }
        }
        // Lines of 32 bytes: four sets for each of lines of 128.
        let index = SetIndex::new(SetHash::Fermi, 128, 32);
        let whole = SetIndex::new(SetHash::Fermi, 32, 128);
        for number in [0_u64, 3, 0x1234, 0xf_edcb] {
            assert_eq!(
                index.of(number),
                4 * whole.of(number / 4) + (number % 4) as u32
            );
        }
    }

    #[test]
    fn fermi_has_32_or_64_sets_of_128_bytes() {
        for (sets, line_bytes) in [(32, 128), (64, 128), (128, 32), (256, 32), (128, 64)] {
            assert_eq!(SetHash::Fermi.check(sets, line_bytes), Ok(()));
        }
        for (sets, line_bytes) in [(16, 128), (96, 128), (128, 128), (64, 32), (32, 256)] {
            let message = SetHash::Fermi.check(sets, line_bytes).unwrap_err();
            assert!(
                message.ends_with(&format!("not {sets} of {line_bytes}")),
                "{message}"
            );
        }
    }

    proptest! {
        #[test]
        fn every_aligned_run_of_lines_visits_each_set_once(
            sets in 1u32..300, bits in 0u32..9, run: u32, hash in 0usize..4,
        ) {
            let hash = [SetHash::Modulo, SetHash::Xor, SetHash::Polynomial, SetHash::Fermi][hash];
            let (sets, line_bytes) = match hash {
                SetHash::Modulo => (sets, 128),
                SetHash::Fermi => (32 << (bits % 4), 128 >> (bits % 4).saturating_sub(1)),
                _ => (1 << bits, 128),
            };
            let index = SetIndex::new(hash, sets, line_bytes);
            let first = u64::from(run) * u64::from(sets);
            let met: BTreeSet<_> =
                (first..first + u64::from(sets)).map(|number| index.of(number)).collect();
            prop_assert_eq!(met, (0..sets).collect::<BTreeSet<_>>());
        }
    }
}
