//! Encoding of address lists as differences between active lanes, of one width and common
//! alignment.

use crate::LANES;
use crate::encoding::{WIDTHS, width_code, zigzag};
use crate::shape::active;

/// Maximum distance from the first lane for 32-bit differences.
const NEAR: u64 = 1 << 30;

/// Positions of all lanes, each below 2^31. The last one is repeated, so that each lane has a
/// successor.
pub type Places = [u32; LANES + 1];

/// Writes the differences of the active lanes after the first. Meant for inlining into functions
/// compiled for the machine's vectors.
#[inline(always)]
pub(crate) fn write_list(bytes: &mut Vec<u8>, mask: u32, addresses: &[u64; LANES]) {
    let first = addresses[mask.trailing_zeros() as usize % LANES].wrapping_sub(NEAR);
    // Those of the active lanes, one after the other.
    let mut places = [0; LANES + 1];
    let mut count = 0;
    let mut all = 0;
    let mut add = |address: u64| {
        let distance = address.wrapping_sub(first);
        all |= distance;
        places[count % LANES] = distance as u32;
        count += 1;
    };
    if mask == u32::MAX {
        addresses.iter().copied().for_each(&mut add);
    } else {
        active(mask).for_each(|lane| add(addresses[lane as usize]));
    }
    if all >= 2 * NEAR {
        return write_far(bytes, active(mask).map(|lane| addresses[lane as usize]));
    }
    // The last one over and over behind them, which makes no difference.
    let last = places[count.saturating_sub(1) % LANES];
    places[count..].fill(last);
    let list = List::of(&places, 0);
    bytes.push(list.head());
    list.push_values(bytes, count.saturating_sub(1));
}

/// Encoded form of a list of addresses given as multiples of `1 << unit_bits` bytes from a common
/// address. Meant for inlining into functions compiled for the machine's vectors.
pub(crate) struct List {
    codes: [u32; LANES],
    /// Number of low bits that are zero in all differences.
    alignment: u8,
    /// Width code of the largest difference. It equals its length in bytes, at most four.
    width: u8,
}

impl List {
    #[inline(always)]
    pub(crate) fn of(places: &Places, unit_bits: u8) -> Self {
        let mut differences = [0; LANES];
        // In vectors of both: compilers make one out of the other otherwise.
        let pairs = places
            .as_chunks::<8>()
            .0
            .iter()
            .zip(places[1..].as_chunks::<8>().0);
        for (differences, (here, next)) in differences.as_chunks_mut::<8>().0.iter_mut().zip(pairs)
        {
            for lane in 0..8 {
                differences[lane] = next[lane].wrapping_sub(here[lane]);
            }
        }
        let mut codes = [0; LANES];
        let (mut bits, mut largest) = (0, 0);
        for (code, difference) in codes.iter_mut().zip(differences) {
            *code = difference << 1 ^ ((difference as i32) >> 31) as u32;
            bits |= difference;
            largest |= *code;
        }
        // Shifting out a common alignment is the same for a code as for its difference. At most
        // seven bits can be encoded.
        let shift = bits.trailing_zeros().min(7 - u32::from(unit_bits & 7));
        for code in &mut codes {
            *code >>= shift;
        }
        Self {
            codes,
            alignment: shift as u8 + unit_bits,
            width: width_code(u64::from(largest >> shift)),
        }
    }

    /// Returns the byte that precedes the values.
    #[inline(always)]
    pub(crate) fn head(&self) -> u8 {
        self.alignment << 3 | self.width
    }

    /// Writes `values` values, one less than there are addresses.
    #[inline(always)]
    pub(crate) fn push_values(&self, bytes: &mut Vec<u8>, values: usize) {
        let Self { codes, width, .. } = self;
        let end = bytes.len() + usize::from(*width) * values;
        // Copies of fixed length are cheaper than one of the length that stays.
        match width {
            0 | 1 => bytes.extend_from_slice(&codes.map(|code| code as u8)),
            2 => {
                let codes = codes.map(|code| (code as u16).to_le_bytes());
                bytes.extend_from_slice(codes.as_flattened());
            }
            3 => bytes.extend_from_slice(&in_three_bytes(codes)),
            _ => bytes.extend_from_slice(codes.map(u32::to_le_bytes).as_flattened()),
        }
        bytes.truncate(end);
    }
}

/// Packs three bytes of each code, and appends one unused byte. The codes must fit in three bytes.
#[inline(always)]
fn in_three_bytes(codes: &[u32; LANES]) -> [u8; 3 * LANES + 1] {
    let mut bytes = [0; 3 * LANES + 1];
    for (lane, code) in codes.iter().enumerate() {
        // The fourth byte is the next code's first.
        bytes[3 * lane..][..4].copy_from_slice(&code.to_le_bytes());
    }
    bytes
}

/// Writes the addresses after the first when they may be far apart.
#[cold]
#[inline(never)]
pub(crate) fn write_far(bytes: &mut Vec<u8>, mut addresses: impl Iterator<Item = u64>) {
    let Some(mut before) = addresses.next() else {
        return;
    };
    let differences: Vec<i64> = addresses
        .map(|address| address.wrapping_sub(std::mem::replace(&mut before, address)) as i64)
        .collect();
    let bits = differences
        .iter()
        .fold(0, |bits, difference| bits | difference);
    let shift = bits.trailing_zeros().min(7) as u8;
    let coded = || {
        differences
            .iter()
            .map(|difference| zigzag(difference >> shift))
    };
    let width = width_code(coded().fold(0, |bits, value| bits | value));
    bytes.push(shift << 3 | width);
    let length = usize::from(WIDTHS[usize::from(width)]);
    for value in coded() {
        bytes.extend_from_slice(&value.to_le_bytes()[..length]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::encoding::unzigzag;

    /// Encodes the list value by value, as the byte code specifies.
    fn described(addresses: &[u64]) -> Vec<u8> {
        let pairs = addresses.windows(2);
        let differences: Vec<i64> = pairs
            .map(|pair| pair[1].wrapping_sub(pair[0]) as i64)
            .collect();
        let is_common = |bits: &u32| differences.iter().all(|by| by & ((1 << bits) - 1) == 0);
        let alignment = (0..8).rev().find(is_common).unwrap_or(0);
        let codes = differences.iter().map(|by| zigzag(by >> alignment));
        let codes: Vec<u64> = codes.collect();
        let fits = |width: &u8| {
            let bits = 8 * u32::from(WIDTHS[usize::from(*width)]);
            codes.iter().all(|code| bits == 64 || code >> bits == 0)
        };
        let width = (0..8).find(fits).expect("eight bytes hold any value");
        let mut bytes = vec![(alignment as u8) << 3 | width];
        for code in &codes {
            assert_eq!(zigzag(unzigzag(*code)), *code);
            bytes.extend_from_slice(&code.to_le_bytes()[..usize::from(WIDTHS[usize::from(width)])]);
        }
        bytes
    }

    proptest! {
        #[test]
        fn lists_are_coded_as_described(
            mask in any::<u32>().prop_filter("a lane is active", |mask| *mask != 0),
            base in any::<u64>(),
            bits in 1..64_u32,
            alignment in 0..9_u32,
            seed in any::<[u64; LANES]>(),
        ) {
            let within = |word: u64| (word >> (64 - bits)) << alignment;
            let addresses = seed.map(|word| base.wrapping_add(within(word)));
            let active: Vec<u64> = active(mask).map(|lane| addresses[lane as usize]).collect();
            // What came before stays.
            let mut bytes = vec![7, 7];
            write_list(&mut bytes, mask, &addresses);
            prop_assert_eq!(&bytes[..2], &[7, 7]);
            prop_assert_eq!(&bytes[2..], described(&active));
        }
    }
}
