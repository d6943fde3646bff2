//! Detection of the layout of a record's lane addresses.

use crate::record::strided;
use crate::{LANES, Shape};

/// Number of lanes as a `u32`, the type of lane numbers.
const LANES_U32: u32 = LANES as u32;

impl Shape {
    /// Returns the most compact layout for the addresses of the lanes in `mask`. Other addresses
    /// are ignored.
    pub fn of(mask: u32, addresses: &[u64; LANES]) -> Self {
        if mask == u32::MAX {
            Self::of_all(addresses)
        } else {
            Self::of_some(mask, addresses)
        }
    }

    #[inline]
    fn of_all(addresses: &[u64; LANES]) -> Self {
        let between = |from: usize, to: usize| addresses[to].wrapping_sub(addresses[from]);
        let (base, step) = (addresses[0], between(0, 1));
        // In a stride and in rows of any length, lanes 2 and 3 are as far apart as lanes 0 and 1.
        if between(2, 3) != step {
            return Self::List;
        }
        // The first three of four neighbours are in one row, unless rows have two lanes.
        let [first, second, third, last] = odd_in_fours(addresses, step);
        let regular = Self::in_rows(base, step as i64, addresses);
        if first | third != 0 {
            return Self::List;
        }
        if second != 0 {
            return regular(1);
        }
        if last == 0 {
            return match step as i64 {
                0 => Self::Uniform(base),
                step => Self::Stride { base, step },
            };
        }
        // Where rows can end, by their length.
        let parts_at = |ends: &[usize]| ends.iter().any(|&lane| between(lane, lane + 1) != step);
        if parts_at(&[3, 11, 19, 27]) {
            regular(2)
        } else if parts_at(&[7, 23]) {
            regular(3)
        } else {
            regular(4)
        }
    }

    /// Returns a function that builds rows of a given length. The lanes within a row must be `step`
    /// apart, and the rows equally far from each other.
    #[inline]
    fn in_rows(base: u64, step: i64, addresses: &[u64; LANES]) -> impl Fn(u8) -> Self {
        move |row_bits| {
            let length = 1 << row_bits;
            let pitch = addresses[length].wrapping_sub(base);
            let mut rows = addresses.iter().step_by(length);
            let mut expected = base;
            let fit = rows.all(|start| {
                let here = *start == expected;
                expected = expected.wrapping_add(pitch);
                here
            });
            if fit {
                Self::Rows {
                    base,
                    step,
                    pitch: pitch as i64,
                    row_bits,
                }
            } else {
                Self::List
            }
        }
    }

    fn of_some(mask: u32, addresses: &[u64; LANES]) -> Self {
        if mask == 0 {
            return Self::None;
        }
        let first = mask.trailing_zeros();
        let rest = mask & (mask - 1);
        let start = addresses[first as usize];
        if rest == 0 {
            return Self::Uniform(start);
        }
        let between = |from: u32, to: u32| {
            addresses[to as usize].wrapping_sub(addresses[from as usize]) as i64
        };
        let second = rest.trailing_zeros();
        if let Some(step) = quotient(between(first, second), second - first) {
            let base = strided(start, step.wrapping_neg(), first);
            let mut rest = active(rest);
            if rest.all(|lane| addresses[lane as usize] == strided(base, step, lane)) {
                return if step == 0 {
                    Self::Uniform(start)
                } else {
                    Self::Stride { base, step }
                };
            }
        }
        // Neighbours that are in one row whatever its length.
        let pairs = mask & mask >> 1 & 0x5555_5555;
        let mut steps = active(pairs).map(|lane| between(lane, lane + 1));
        if let Some(step) = steps.next()
            && steps.any(|other| other != step)
        {
            return Self::List;
        }
        let rows = (1..=4)
            .rev()
            .find_map(|row_bits| Self::some_in_rows(mask, addresses, row_bits));
        rows.unwrap_or(Self::List)
    }

    /// Returns rows of `2^row_bits` lanes, if the active lanes have that layout.
    fn some_in_rows(mask: u32, addresses: &[u64; LANES], row_bits: u8) -> Option<Self> {
        let between = |from: u32, to: u32| {
            addresses[to as usize].wrapping_sub(addresses[from as usize]) as i64
        };
        let column = |lane: u32| lane & ((1 << row_bits) - 1);
        let row = |lane: u32| lane >> row_bits;
        let first = mask.trailing_zeros();
        // The first two lanes that are neighbours in a row, and the first lane below the first row.
        let pairs = mask & mask >> 1 & !last_columns(row_bits);
        let step = match pairs.trailing_zeros() {
            LANES_U32 => 0,
            lane => between(lane, lane + 1),
        };
        let rows_below = u64::from(u32::MAX) << ((row(first) + 1) << row_bits);
        let below = (mask & rows_below as u32).trailing_zeros();
        if below == LANES_U32 {
            return None;
        }
        let across = i64::from(column(below)) - i64::from(column(first));
        let down = between(first, below).wrapping_sub(step.wrapping_mul(across));
        let pitch = quotient(down, row(below) - row(first))?;
        let base = strided(
            addresses[first as usize],
            step.wrapping_neg(),
            column(first),
        );
        let base = strided(base, pitch.wrapping_neg(), row(first));
        let mut lanes = active(mask);
        let expected = |lane| strided(strided(base, pitch, row(lane)), step, column(lane));
        lanes
            .all(|lane| addresses[lane as usize] == expected(lane))
            .then_some(Self::Rows {
                base,
                step,
                pitch,
                row_bits,
            })
    }
}

/// Returns the bits in which neighbour differences deviate from `step`, by the position of the
/// first neighbour among four. Not inlined, so that compilers vectorise it.
#[inline(never)]
fn odd_in_fours(addresses: &[u64; LANES], step: u64) -> [u64; 4] {
    let mut odd = [0; 4];
    let fours = addresses.as_chunks::<4>().0;
    let nexts = addresses[1..].as_chunks::<4>().0;
    for (four, next) in fours.iter().zip(nexts) {
        for place in 0..4 {
            odd[place] |= next[place].wrapping_sub(four[place]) ^ step;
        }
    }
    for place in 0..3 {
        odd[place] |= addresses[place + 29].wrapping_sub(addresses[place + 28]) ^ step;
    }
    odd
}

/// Returns the mask of lanes that are last in their row, for rows of `2^row_bits`.
fn last_columns(row_bits: u8) -> u32 {
    // A one at the end of each row: 1 / (2^(2^row_bits) - 1) in binary.
    (u32::MAX / ((1 << (1 << row_bits)) - 1)) << ((1 << row_bits) - 1)
}

/// Iterates over the lanes in `mask`, lowest first.
#[inline]
pub(crate) fn active(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < LANES_U32).then_some(lane)
    })
}

/// Returns `total / parts` if the remainder is zero.
#[inline]
fn quotient(total: i64, parts: u32) -> Option<i64> {
    if parts == 1 {
        return Some(total);
    }
    let parts = i64::from(parts);
    (total % parts == 0).then(|| total / parts)
}
