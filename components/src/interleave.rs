//! Address interleaving over slices and channels.
//!
//! Consecutive granules of the address space go to consecutive slices, round robin. Any number of
//! slices is allowed, powers of two or not. With `g` the granule and `n` the number of slices,
//! `slice = (address / g) mod n`. Within a slice, the address is
//! `local = (address / g) / n * g + address mod g`, so that a slice's own addresses are dense.
//!
//! A [`SliceHash`] permutes the rounds of `n` granules relative to each other. It changes the slice
//! of a granule but not its local address.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use crate::polynomial::{irreducible, remainder};

/// Interleaving of the address space over slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interleave {
    /// Bytes that stay together in one slice; a power of two, at least a line.
    pub granule_bytes: u32,
    /// Number of slices over which granules are distributed.
    pub slices: u32,
    /// Hash that selects the slice of each granule in a round. Where a memory controller has
    /// several ports, the round covers all slices behind all controllers. Source: in turn, as on
    /// Fermi in GPGPU-Sim.
    #[serde(default)]
    pub hash: SliceHash,
}

/// Assignment of the granules of a round, as many as there are slices, to the slices. With `h` the
/// number of the round and `i` that of the granule in it:
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SliceHash {
    /// In turn: granule `i` goes to slice `i`.
    #[default]
    InTurn,
    /// Exclusive or of `i` and the lowest bits of `h`; requires a power of two of slices.
    Xor,
    /// Exclusive or of `i` and the remainder of `h`, read as a polynomial over GF(2) times x^d. The
    /// divisor is the smallest irreducible polynomial of degree d, where 2^d is the next power of
    /// two of slices (Rau, ISCA 1991). Numbers beyond the last slice wrap around to the first.
    /// Unless there is a power of two of slices, the first ones get twice as much as the last.
    Polynomial {
        /// Slices of each channel, which must divide the total. The hash numbers slices channel by
        /// channel, starting with the first channel. Otherwise slice `s` belongs to channel `s`
        /// modulo the channels.
        per_channel: u32,
    },
    /// A slice selected for each granule by a hash of its address, independent of its neighbours.
    /// No hardware does that; it is the uniform reference case for comparisons.
    Random,
}

impl SliceHash {
    /// True if the granules of any round go to distinct slices.
    fn is_permutation(self, slices: u32) -> bool {
        match self {
            Self::InTurn | Self::Xor => true,
            Self::Polynomial { .. } => slices.is_power_of_two(),
            Self::Random => false,
        }
    }
}

/// Maximum number of slices of a [`SliceHash::Polynomial`], as a power of two.
const POLYNOMIAL_BITS: u32 = 7;

/// Remainders of `byte << 8 * i`, times x^d, by degree d, place i and byte.
type Remainders = [[[u8; 256]; 8]; POLYNOMIAL_BITS as usize + 1];

static REMAINDERS: LazyLock<Box<Remainders>> = LazyLock::new(|| {
    let mut tables = Box::new([[[0; 256]; 8]; POLYNOMIAL_BITS as usize + 1]);
    for (degree, table) in (0..).zip(tables.iter_mut()).skip(1) {
        let polynomial = irreducible(degree);
        // x^d of the 64 powers, which may not fit: one step at a time.
        let mut power = remainder(1 << degree, polynomial);
        for place in table.iter_mut() {
            let mut bits = [0_u8; 8];
            for bit in &mut bits {
                *bit = power as u8;
                power = remainder(power << 1, polynomial);
            }
            for (value, entry) in place.iter_mut().enumerate() {
                let set = (0..8).filter(|bit| value >> bit & 1 != 0);
                *entry = set.fold(0, |sum, bit| sum ^ bits[bit]);
            }
        }
    }
    tables
});

/// First bit of a local address above the range of memory; these bits distinguish granules that a
/// hash maps to the same place.
const APART_SHIFT: u32 = 52;

impl Interleave {
    /// Creates an interleaving that distributes granules in turn.
    pub fn in_turn(granule_bytes: u32, slices: u32) -> Self {
        Self {
            granule_bytes,
            slices,
            hash: SliceHash::InTurn,
        }
    }

    /// Checks that the parameters are consistent.
    ///
    /// # Errors
    /// Fails if the granule is not a power of two or is below 32 bytes, or if the hash does not
    /// support the slice count.
    pub fn check(&self, field: &str) -> Result<(), SpecError> {
        SpecError::require(
            self.granule_bytes.is_power_of_two() && self.granule_bytes >= 32,
            &format!("{field}.granule_bytes"),
            || format!("{} must be a power of two, at least 32", self.granule_bytes),
        )?;
        SpecError::in_range(&format!("{field}.slices"), self.slices, 1..)?;
        let most = match self.hash {
            SliceHash::InTurn => return Ok(()),
            SliceHash::Xor | SliceHash::Polynomial { .. } => 1 << POLYNOMIAL_BITS,
            SliceHash::Random => 1 << (u64::BITS - APART_SHIFT),
        };
        let fits = self.hash != SliceHash::Xor || self.slices.is_power_of_two();
        SpecError::require(fits, &format!("{field}.hash"), || {
            format!("Xor needs a power of two of slices, not {}", self.slices)
        })?;
        if let SliceHash::Polynomial { per_channel } = self.hash {
            let divides = per_channel > 0 && self.slices.is_multiple_of(per_channel);
            SpecError::require(divides, &format!("{field}.hash.per_channel"), || {
                format!("{per_channel} does not divide {} slices", self.slices)
            })?;
        }
        SpecError::require(self.slices <= most, &format!("{field}.hash"), || {
            format!(
                "{:?} supports at most {most} slices, not {}",
                self.hash, self.slices
            )
        })
    }

    /// Checks the parameters of a controller that serves `ports` slices, see
    /// [`Interleave::local_of_group`].
    ///
    /// # Errors
    /// Fails under the same conditions as [`Interleave::check`].
    pub fn check_group(&self, field: &str, ports: u32) -> Result<(), SpecError> {
        let slices = match self.hash {
            SliceHash::InTurn => self.slices,
            _ => self.slices.saturating_mul(ports),
        };
        Self { slices, ..*self }.check(field)
    }

    /// Returns the slice that owns `address`.
    #[inline]
    pub fn slice(&self, address: u64) -> u32 {
        let (round, place) = self.granule(address);
        self.dealt(round, place)
    }

    /// Returns the round of the address's granule, and its place in the round.
    #[inline]
    fn granule(&self, address: u64) -> (u64, u32) {
        let granule = address >> self.granule_bytes.trailing_zeros();
        let slices = u64::from(self.slices);
        (granule / slices, (granule % slices) as u32)
    }

    /// Returns the slice of a granule.
    #[inline]
    fn dealt(&self, round: u64, place: u32) -> u32 {
        match self.hash {
            SliceHash::InTurn => place,
            SliceHash::Xor => place ^ (round & u64::from(self.slices - 1)) as u32,
            SliceHash::Polynomial { per_channel } => {
                let channels = self.slices / per_channel;
                let place = place % channels * per_channel + place / channels;
                let degree = self.slices.next_power_of_two().trailing_zeros();
                let tables = &REMAINDERS[degree as usize];
                let places = tables.iter().zip(round.to_le_bytes());
                let turn = places.fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)]);
                let turned = place ^ u32::from(turn);
                let number = turned.checked_sub(self.slices).unwrap_or(turned);
                number % per_channel * channels + number / per_channel
            }
            SliceHash::Random => {
                let granule = round * u64::from(self.slices) + u64::from(place);
                ((u128::from(mixed(granule)) * u128::from(self.slices)) >> 64) as u32
            }
        }
    }

    /// Returns the address within the owning slice.
    #[inline]
    pub fn local(&self, address: u64) -> u64 {
        let shift = self.granule_bytes.trailing_zeros();
        let granule = (address >> shift) / u64::from(self.slices);
        granule << shift | address & u64::from(self.granule_bytes - 1)
    }

    /// Returns the address within a controller that serves `ports` slices. Here the interleaving
    /// distributes over `slices` groups of slices: slice `s` is in group `s mod slices`. If the
    /// hash maps two granules to the same place, their addresses differ only in bits above those
    /// that count in memory.
    #[inline]
    pub fn local_of_group(&self, address: u64, ports: u32) -> u64 {
        if self.hash == SliceHash::InTurn {
            return self.local(address);
        }
        let all = Self {
            slices: self.slices * ports,
            ..*self
        };
        let (round, place) = all.granule(address);
        let in_group = all.dealt(round, place) / self.slices;
        let shift = self.granule_bytes.trailing_zeros();
        let granule = round * u64::from(ports) + u64::from(in_group);
        let local = granule << shift | address & u64::from(self.granule_bytes - 1);
        if self.hash.is_permutation(all.slices) {
            local
        } else {
            local ^ u64::from(place) << APART_SHIFT
        }
    }

    /// Returns the address that `slice` sees as `local`; inverse of [`Interleave::slice`] and
    /// [`Interleave::local`]. Returns `None` if the hash gives the slice no such address. If there
    /// are several, returns the lowest.
    #[inline]
    pub fn address(&self, slice: u32, local: u64) -> Option<u64> {
        let shift = self.granule_bytes.trailing_zeros();
        let round = local >> shift;
        let place = match self.hash {
            SliceHash::InTurn => slice,
            _ => (0..self.slices).find(|place| self.dealt(round, *place) == slice)?,
        };
        let granule = round * u64::from(self.slices) + u64::from(place);
        Some(granule << shift | local & u64::from(self.granule_bytes - 1))
    }
}

/// Hashes 64 bits onto 64 bits. Source: the finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const POLYNOMIAL: SliceHash = SliceHash::Polynomial { per_channel: 1 };
    const HASHES: [SliceHash; 4] = [
        SliceHash::InTurn,
        SliceHash::Xor,
        POLYNOMIAL,
        SliceHash::Random,
    ];

    fn hashed(slices: u32, hash: SliceHash) -> Interleave {
        Interleave {
            granule_bytes: 256,
            slices,
            hash,
        }
    }

    #[test]
    fn consecutive_granules_go_round_robin_over_any_number_of_slices() {
        let six = Interleave::in_turn(256, 6);
        let slices: Vec<_> = (0..8).map(|g| six.slice(g * 256 + 5)).collect();
        assert_eq!(slices, [0, 1, 2, 3, 4, 5, 0, 1]);
        assert_eq!(six.local(6 * 256 + 5), 256 + 5);
    }

    #[test]
    fn hashed_slices_are_those_computed_by_hand() {
        let slice = |slices, hash, granule: u64| hashed(slices, hash).slice(granule * 256);
        // Granule 37 of 16 slices: round 2, place 5.
        assert_eq!(slice(16, SliceHash::Xor, 37), 5 ^ 2);
        // x^4 = x + 1 modulo x^4 + x + 1, so round 2 = x turns by x^5 = x^2 + x.
        assert_eq!(slice(16, POLYNOMIAL, 37), 5 ^ 0b110);
        // 48 slices are hashed as 64: x^6 = x + 1 modulo x^6 + x + 1; 44 ^ 3 = 47. Round 8 permutes
        // by x^9 = x^4 + x^3: 44 ^ 24 = 52, which wraps around to 4.
        assert_eq!(slice(48, POLYNOMIAL, 48 + 44), 47);
        assert_eq!(slice(48, POLYNOMIAL, 8 * 48 + 44), 52 - 48);
    }

    #[test]
    fn slices_of_a_channel_are_neighbours_for_the_hash() {
        let deal = hashed(48, SliceHash::Polynomial { per_channel: 2 });
        // Round 0 is not permuted. Round 8 is permuted by 24: slice 27, the second of channel 3,
        // has number 7. Its image 7 ^ 24 = 31 is the second of channel 15. Slice 22 has number 44,
        // which becomes 52 and so 4.
        assert_eq!(deal.slice(27 * 256), 27);
        assert_eq!(deal.slice((8 * 48 + 27) * 256), 24 + 15);
        assert_eq!(deal.slice((8 * 48 + 22) * 256), 2);
    }

    #[test]
    fn polynomials_spread_strides_that_are_powers_of_two_over_all_slices() {
        let met = |hash, stride: u64| {
            let slices = (0..64).map(|n| hashed(64, hash).slice(n * stride * 256));
            slices.collect::<BTreeSet<_>>().len()
        };
        for shift in 0..40 {
            assert_eq!(met(POLYNOMIAL, 1 << shift), 64, "2^{shift}");
        }
        assert_eq!(met(SliceHash::InTurn, 64), 1);
        assert_eq!(met(SliceHash::Xor, 64), 64);
        assert_eq!(met(SliceHash::Xor, 64 * 64), 1);
    }

    #[test]
    fn the_first_slices_of_a_folded_polynomial_get_twice_as_much() {
        let deal = hashed(48, POLYNOMIAL);
        let mut granules = [0_u32; 48];
        // Each turn comes once in 64 rounds.
        (0..64 * 48).for_each(|g| granules[deal.slice(g * 256) as usize] += 1);
        let (first, last) = granules.split_at(16);
        assert!(first.iter().all(|n| *n == first[0]) && last.iter().all(|n| *n == last[0]));
        assert_eq!((first[0], last[0]), (96, 48));
    }

    #[test]
    fn random_slices_get_as_much_as_chance_gives_them() {
        let deal = hashed(24, SliceHash::Random);
        let mut granules = [0_u32; 24];
        (0..24_000).for_each(|g| granules[deal.slice(g * 256) as usize] += 1);
        // A standard deviation is 31; chance leaves six of them once in 10^8 times.
        assert!(
            granules.iter().all(|n| n.abs_diff(1000) < 6 * 31),
            "{granules:?}"
        );
    }

    #[test]
    fn hashes_refuse_as_many_slices_as_they_cannot_deal_to() {
        let refused = |slices, hash| hashed(slices, hash).check("interleave").is_err();
        assert!(refused(24, SliceHash::Xor) && !refused(32, SliceHash::Xor));
        assert!(refused(129, POLYNOMIAL) && !refused(128, POLYNOMIAL));
        let apart = |per_channel| SliceHash::Polynomial { per_channel };
        assert!(refused(48, apart(0)) && refused(48, apart(5)) && !refused(48, apart(2)));
        assert!(refused(4097, SliceHash::Random) && !refused(4096, SliceHash::Random));
    }

    proptest! {
        #[test]
        fn slice_and_local_address_name_each_byte_once(
            address in 0u64..1 << 48, shift in 5u32..13, slices in 1u32..64, hash in 0usize..3,
        ) {
            let hash = HASHES[hash];
            let slices = if hash == SliceHash::InTurn { slices } else { slices.next_power_of_two() };
            let interleave = Interleave { granule_bytes: 1 << shift, slices, hash };
            let (slice, local) = (interleave.slice(address), interleave.local(address));
            prop_assert!(slice < slices);
            prop_assert_eq!(interleave.address(slice, local), Some(address));
        }

        #[test]
        fn every_address_of_a_slice_is_one_that_is_dealt_to_it(
            address in 0u64..1 << 48, slices in 1u32..64, hash in 0usize..4,
        ) {
            let hash = HASHES[hash];
            let slices = if hash == SliceHash::Xor { slices.next_power_of_two() } else { slices };
            let deal = hashed(slices, hash);
            let (slice, local) = (deal.slice(address), deal.local(address));
            prop_assert!(slice < slices);
            let found = deal.address(slice, local).expect("there is one");
            prop_assert_eq!((deal.slice(found), deal.local(found)), (slice, local));
        }

        /// Addresses of a group's slices as seen by the controller are distinct and, where granules
        /// are distributed in turn, dense.
        #[test]
        fn addresses_of_a_group_are_apart(
            round in 0u64..1 << 30, groups in 1u32..24, ports in 1u32..4, hash in 0usize..5,
        ) {
            let neighbours = SliceHash::Polynomial { per_channel: ports };
            let hash = HASHES.get(hash).copied().unwrap_or(neighbours);
            let (groups, ports) = if hash == SliceHash::Xor {
                (groups.next_power_of_two(), ports.next_power_of_two())
            } else {
                (groups, ports)
            };
            let (all, group) = (hashed(groups * ports, hash), hashed(groups, hash));
            let granules = u64::from(groups * ports);
            let first = round * granules;
            let mut met = BTreeSet::new();
            for granule in first..first + 2 * granules {
                let address = granule * 256;
                let number = all.slice(address) % groups;
                let local = group.local_of_group(address, ports);
                prop_assert!(met.insert((number, local)), "granule {granule}");
                if hash == SliceHash::InTurn {
                    prop_assert_eq!(local, group.local(address));
                }
            }
        }
    }
}
