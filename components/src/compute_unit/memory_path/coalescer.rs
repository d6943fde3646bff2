//! Coalescing: reduces the lane addresses of one access to the lines that they touch.

use serde::{Deserialize, Serialize};
use warpweave_trace::{Lanes, Shape};

use crate::compute_unit::lane_mask::is_one_run;
use crate::memory::word_mask;

/// One line touched by an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Transaction {
    /// Byte address of the cache line fetched from.
    pub(crate) line: u64,
    /// Bit mask of the touched 4-byte words.
    pub(crate) words: u32,
}

/// Rule by which the lane addresses of an access become transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coalescing {
    /// One for each line, see [`coalesce`].
    Lines,
    /// The same in private memory, interleaved by lane from `region` on, see [`coalesce_private`].
    Private { region: u64 },
    /// Several for a line whose words several lanes update, see [`coalesce_apart`].
    PerUpdate,
}

impl Coalescing {
    /// Appends the transactions of an access of `bytes` for each active lane.
    #[inline]
    pub(crate) fn transactions(
        self,
        lanes: &Lanes,
        mask: u32,
        bytes: u32,
        line_bytes: u32,
        out: &mut Vec<Transaction>,
    ) {
        match self {
            Self::Lines => coalesce(lanes, mask, bytes, line_bytes, out),
            Self::Private { region } => {
                coalesce_private(lanes, mask, bytes, region, line_bytes, out);
            }
            Self::PerUpdate => coalesce_apart(lanes, mask, bytes, line_bytes, out),
        }
    }
}

/// Appends the lines of `line_bytes` that the active lanes touch, each once, in ascending order.
///
/// Uniform accesses, contiguous accesses and contiguous rows are reduced from their end points.
/// Other strides take one pass over the active lanes in address order. Only arbitrary addresses are
/// sorted.
pub(crate) fn coalesce(
    lanes: &Lanes,
    mask: u32,
    bytes: u32,
    line_bytes: u32,
    out: &mut Vec<Transaction>,
) {
    match lanes.shape {
        Shape::None => {}
        Shape::Uniform(address) => add_range(out, address, bytes, line_bytes),
        Shape::Stride { base, step } if step == i64::from(bytes) && is_one_run(mask) => {
            let start = base.wrapping_add(u64::from(mask.trailing_zeros()) * u64::from(bytes));
            add_range(out, start, mask.count_ones() * bytes, line_bytes);
        }
        Shape::Stride { base, step } => {
            let mut left = mask;
            while left != 0 {
                let lane = if step < 0 {
                    left.ilog2()
                } else {
                    left.trailing_zeros()
                };
                left &= !(1 << lane);
                let address = base.wrapping_add_signed(step.wrapping_mul(i64::from(lane)));
                add_range(out, address, bytes, line_bytes);
            }
        }
        Shape::Rows {
            base,
            step,
            pitch,
            row_bits,
        } => {
            let columns = 1_u32 << row_bits;
            for row in 0..32 / columns {
                let active = mask >> (row * columns) & ((1 << columns) - 1);
                let start = base.wrapping_add_signed(pitch.wrapping_mul(i64::from(row)));
                coalesce_row(start, step, active, bytes, line_bytes, out);
            }
        }
        Shape::List => {
            let mut left = mask;
            while left != 0 {
                let lane = left.trailing_zeros();
                left &= left - 1;
                add_range(out, lanes.list[lane as usize], bytes, line_bytes);
            }
        }
    }
}

/// Appends the lines that the active lanes of a row touch.
fn coalesce_row(
    start: u64,
    step: i64,
    active: u32,
    bytes: u32,
    line_bytes: u32,
    out: &mut Vec<Transaction>,
) {
    if active == 0 {
        return;
    }
    if step == 0 {
        add_range(out, start, bytes, line_bytes);
    } else if step == i64::from(bytes) && is_one_run(active) {
        let start = start.wrapping_add(u64::from(active.trailing_zeros() * bytes));
        add_range(out, start, active.count_ones() * bytes, line_bytes);
    } else {
        let mut left = active;
        while left != 0 {
            let lane = left.trailing_zeros();
            left &= left - 1;
            let address = start.wrapping_add_signed(step.wrapping_mul(i64::from(lane)));
            add_range(out, address, bytes, line_bytes);
        }
    }
}

/// Appends the lines of private memory that active lanes touch. Lane addresses are offsets into
/// each thread's memory, whose words are interleaved by lane, starting at `region`.
fn coalesce_private(
    lanes: &Lanes,
    mask: u32,
    bytes: u32,
    region: u64,
    line_bytes: u32,
    out: &mut Vec<Transaction>,
) {
    if let Shape::Uniform(offset) = lanes.shape
        && is_one_run(mask)
    {
        let lane = 4 * u64::from(mask.trailing_zeros());
        for row in offset / 4..=(offset + u64::from(bytes) - 1) / 4 {
            add_range(
                out,
                region + 128 * row + lane,
                4 * mask.count_ones(),
                line_bytes,
            );
        }
        return;
    }
    for (lane, offset) in lanes.iter(mask) {
        for row in offset / 4..=(offset + u64::from(bytes) - 1) / 4 {
            add_range(out, region + 128 * row + 4 * u64::from(lane), 4, line_bytes);
        }
    }
}

/// Appends the lines that active lanes of an atomic operation update, in ascending order. A line is
/// repeated for lanes that update the same word: its n-th entry has the n-th update of each word.
fn coalesce_apart(
    lanes: &Lanes,
    mask: u32,
    bytes: u32,
    line_bytes: u32,
    out: &mut Vec<Transaction>,
) {
    for (_, address) in lanes.iter(mask) {
        let offset = (address & u64::from(line_bytes - 1)) as u32;
        let line = address - u64::from(offset);
        // What is updated at once is aligned, so that it leaves no line.
        let words = word_mask(offset, bytes.min(line_bytes - offset));
        let mut place = out.partition_point(|before| before.line < line);
        while out
            .get(place)
            .is_some_and(|t| t.line == line && t.words & words != 0)
        {
            place += 1;
        }
        match out.get_mut(place) {
            Some(with) if with.line == line => with.words |= words,
            _ => out.insert(place, Transaction { line, words }),
        }
    }
}

/// Appends the lines of bytes `start .. start + bytes`.
#[inline]
fn add_range(out: &mut Vec<Transaction>, start: u64, bytes: u32, line_bytes: u32) {
    let mut offset = (start & u64::from(line_bytes - 1)) as u32;
    let mut line = start - u64::from(offset);
    let mut left = bytes;
    while left > 0 {
        let here = left.min(line_bytes - offset);
        add(out, line, word_mask(offset, here));
        left -= here;
        offset = 0;
        line = line.wrapping_add(u64::from(line_bytes));
    }
}

/// Adds words of a line to the list and keeps it sorted.
#[inline]
fn add(out: &mut Vec<Transaction>, line: u64, words: u32) {
    let mut place = out.len();
    while place > 0 {
        let before = &mut out[place - 1];
        if before.line < line {
            break;
        }
        if before.line == line {
            before.words |= words;
            return;
        }
        place -= 1;
    }
    out.insert(place, Transaction { line, words });
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn stride(base: u64, step: i64) -> Lanes {
        Lanes {
            shape: Shape::Stride { base, step },
            ..Lanes::default()
        }
    }

    fn lines(lanes: &Lanes, mask: u32, bytes: u32, line_bytes: u32) -> Vec<Transaction> {
        let mut out = Vec::new();
        coalesce(lanes, mask, bytes, line_bytes, &mut out);
        out
    }

    /// Reference implementation: collects every word of every lane, by line.
    fn naive(lanes: &Lanes, mask: u32, bytes: u32, line_bytes: u32) -> Vec<Transaction> {
        let mut words: BTreeMap<u64, u32> = BTreeMap::new();
        for (_, address) in lanes.iter(mask) {
            for byte in address..address + u64::from(bytes) {
                let offset = byte % u64::from(line_bytes);
                *words.entry(byte - offset).or_default() |= 1 << (offset / 4);
            }
        }
        let entry = |(line, words)| Transaction { line, words };
        words.into_iter().map(entry).collect()
    }

    #[test]
    fn the_standard_patterns_need_1_2_32_1_and_4_transactions() {
        let all = u32::MAX;
        assert_eq!(
            lines(&stride(0x1000, 4), all, 4, 128),
            [Transaction {
                line: 0x1000,
                words: all
            }]
        );
        let offset = lines(&stride(0x1004, 4), all, 4, 128);
        assert_eq!(
            offset,
            [
                Transaction {
                    line: 0x1000,
                    words: all << 1
                },
                Transaction {
                    line: 0x1080,
                    words: 1
                }
            ]
        );
        assert_eq!(lines(&stride(0x1000, 128), all, 4, 128).len(), 32);
        let same = Lanes {
            shape: Shape::Uniform(0x1010),
            ..Lanes::default()
        };
        assert_eq!(
            lines(&same, all, 4, 128),
            [Transaction {
                line: 0x1000,
                words: 1 << 4
            }]
        );
        assert_eq!(lines(&stride(0x1000, 4), all, 4, 32).len(), 4);
    }

    #[test]
    fn descending_strides_come_out_ascending() {
        let lines = lines(&stride(0x2000, -128), u32::MAX, 4, 128);
        assert_eq!(lines.len(), 32);
        assert!(lines.is_sorted_by_key(|t| t.line));
    }

    #[test]
    fn equal_private_offsets_share_a_line() {
        let same = Lanes {
            shape: Shape::Uniform(8),
            ..Lanes::default()
        };
        let mut out = Vec::new();
        coalesce_private(&same, u32::MAX, 8, 0x8000, 128, &mut out);
        assert_eq!(
            out,
            [
                Transaction {
                    line: 0x8100,
                    words: u32::MAX
                },
                Transaction {
                    line: 0x8180,
                    words: u32::MAX
                }
            ]
        );
    }

    fn shapes() -> impl Strategy<Value = Lanes> {
        let steps = prop_oneof![Just(4i64), Just(8), Just(1), -300i64..300];
        let list = proptest::collection::vec(0u64..5000, 32);
        prop_oneof![
            (0u64..5000).prop_map(|address| Lanes {
                shape: Shape::Uniform(address),
                ..Lanes::default()
            }),
            (20000u64..25000, steps.clone()).prop_map(|(base, step)| stride(base, step)),
            (20000u64..25000, steps, -500i64..500, 1u8..5).prop_map(
                |(base, step, pitch, row_bits)| Lanes {
                    shape: Shape::Rows {
                        base,
                        step,
                        pitch,
                        row_bits
                    },
                    ..Lanes::default()
                }
            ),
            list.prop_map(|list| Lanes {
                shape: Shape::List,
                list: list.try_into().expect("32 addresses"),
            }),
        ]
    }

    fn masks() -> impl Strategy<Value = u32> {
        prop_oneof![
            Just(u32::MAX),
            any::<u32>(),
            (0u32..32).prop_map(|n| u32::MAX >> n)
        ]
    }

    proptest! {
        #[test]
        fn every_touched_word_is_named_once(
            lanes in shapes(), mask in masks(),
            bytes in proptest::sample::select(vec![1u32, 2, 4, 8, 16]),
            line_bytes in proptest::sample::select(vec![32u32, 64, 128]),
        ) {
            prop_assume!(mask != 0);
            prop_assert_eq!(
                lines(&lanes, mask, bytes, line_bytes),
                naive(&lanes, mask, bytes, line_bytes)
            );
        }

        #[test]
        fn private_words_are_interleaved_by_lane(
            lanes in shapes(), mask in masks(),
            bytes in proptest::sample::select(vec![1u32, 4, 8]),
            line_bytes in proptest::sample::select(vec![32u32, 128]),
        ) {
            prop_assume!(mask != 0);
            let mut expected: BTreeMap<u64, u32> = BTreeMap::new();
            for (lane, offset) in lanes.iter(mask) {
                for byte in offset..offset + u64::from(bytes) {
                    let address = 0x1_0000 + byte / 4 * 128 + u64::from(lane) * 4;
                    let within = address % u64::from(line_bytes);
                    *expected.entry(address - within).or_default() |= 1 << (within / 4);
                }
            }
            let mut out = Vec::new();
            coalesce_private(&lanes, mask, bytes, 0x1_0000, line_bytes, &mut out);
            let got: BTreeMap<_, _> = out.iter().map(|t| (t.line, t.words)).collect();
            prop_assert_eq!(got, expected);
            prop_assert!(out.is_sorted_by_key(|t| t.line));
        }
    }
}
