//! Addresses that are spelled out: differences between active lanes, of one width and common alignment.

use crate::LANES;
use crate::encoding::{WIDTHS, width_code, zigzag};
use crate::shape::active;

/// Lanes not farther than this from the first are near: their differences take 32 bits.
const NEAR: u64 = 1 << 30;

/// Writes the active lanes after the first.
pub(crate) fn write_list(bytes: &mut Vec<u8>, mask: u32, addresses: &[u64; LANES]) {
    let first = addresses[mask.trailing_zeros() as usize % LANES].wrapping_sub(NEAR);
    // Those of the active lanes, one after the other.
    let mut places = [0; LANES];
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
    // The last one over and over behind them, which makes no difference.
    let last = places[count.saturating_sub(1) % LANES];
    places[count..].fill(last);
    if all >= 2 * NEAR || !write_places(bytes, 0, &places, count) {
        write_far(bytes, active(mask).map(|lane| addresses[lane as usize]));
    }
}

/// Writes so many addresses after the first, which are places of `1 << unit_bits` bytes from some other address and
/// behind which the last one is repeated; `false` if they are far apart.
#[inline]
pub(crate) fn write_places(
    bytes: &mut Vec<u8>,
    unit_bits: u8,
    places: &[u32; LANES],
    count: usize,
) -> bool {
    let mut coded = [0; LANES];
    let Differences { all, bits, largest } = differences(places, &mut coded);
    if all > i32::MAX as u32 {
        return false;
    }
    let alignment = (bits.trailing_zeros() as u8 + unit_bits).min(7);
    // A common alignment may be taken off a code as off the difference.
    let shift = alignment.saturating_sub(unit_bits);
    let width = width_code(u64::from(largest >> shift));
    bytes.push(alignment << 3 | width);
    let end = bytes.len() + usize::from(WIDTHS[usize::from(width)]) * count.saturating_sub(1);
    // A copy of fixed length is cheaper than one of the length that stays.
    match width {
        0 | 1 => bytes.extend_from_slice(lowest_bytes::<1>(&coded, shift).as_flattened()),
        2 => bytes.extend_from_slice(lowest_bytes::<2>(&coded, shift).as_flattened()),
        3 => bytes.extend_from_slice(lowest_bytes::<3>(&coded, shift).as_flattened()),
        _ => bytes.extend_from_slice(lowest_bytes::<4>(&coded, shift).as_flattened()),
    }
    bytes.truncate(end);
    true
}

/// The lowest bytes of codes. Out of line, as [`differences`].
#[inline(never)]
fn lowest_bytes<const BYTES: usize>(coded: &[u32; LANES], shift: u8) -> [[u8; BYTES]; LANES] {
    let mut lowest = [[0; BYTES]; LANES];
    for (bytes, code) in lowest.iter_mut().zip(coded) {
        let code = (code >> (shift & 7)).to_le_bytes();
        for (byte, from) in bytes.iter_mut().zip(code) {
            *byte = from;
        }
    }
    lowest
}

/// Bits that places, differences between them and the codes of these have.
struct Differences {
    all: u32,
    bits: u32,
    largest: u32,
}

/// Writes the zigzag code of the difference between each place and the next. Out of line, so that compilers make
/// vector instructions of it.
#[inline(never)]
fn differences(places: &[u32; LANES], coded: &mut [u32; LANES]) -> Differences {
    let (mut all, mut bits, mut largest) = (places[LANES - 1], 0, 0);
    for lane in 0..LANES - 1 {
        let difference = places[lane + 1].wrapping_sub(places[lane]);
        let code = difference << 1 ^ ((difference as i32) >> 31) as u32;
        all |= places[lane];
        bits |= difference;
        largest |= code;
        coded[lane] = code;
    }
    Differences { all, bits, largest }
}

/// Writes addresses after the first that may be far apart.
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
