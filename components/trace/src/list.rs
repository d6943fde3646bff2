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
    match width {
        0 | 1 => push_lowest::<1>(bytes, &coded, shift),
        2 => push_lowest::<2>(bytes, &coded, shift),
        3 => push_lowest::<3>(bytes, &coded, shift),
        _ => push_lowest::<4>(bytes, &coded, shift),
    }
    bytes.truncate(end);
    true
}

/// Appends the lowest bytes of all codes. Out of line, as [`differences`]; a copy of fixed length is cheaper than one of
/// the length that stays.
#[inline(never)]
fn push_lowest<const BYTES: usize>(bytes: &mut Vec<u8>, coded: &[u32; LANES], shift: u8) {
    let mut lowest = [[0; BYTES]; LANES];
    for (bytes, code) in lowest.iter_mut().zip(coded) {
        let code = (code >> (shift & 7)).to_le_bytes();
        for (byte, from) in bytes.iter_mut().zip(code) {
            *byte = from;
        }
    }
    bytes.extend_from_slice(lowest.as_flattened());
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
    // One more than lanes, so that each has a next one.
    let mut padded = [0; LANES + 1];
    padded[..LANES].copy_from_slice(places);
    padded[LANES] = places[LANES - 1];
    let (mut all, mut bits, mut largest) = (0, 0, 0);
    for (coded, pair) in coded.iter_mut().zip(padded.windows(2)) {
        let difference = pair[1].wrapping_sub(pair[0]);
        let code = difference << 1 ^ ((difference as i32) >> 31) as u32;
        all |= pair[0];
        bits |= difference;
        largest |= code;
        *coded = code;
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
