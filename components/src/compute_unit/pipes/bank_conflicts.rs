//! Bank-conflict timing of the local memory.

use warpweave_trace::{LANES, Lanes, Shape};

use crate::compute_unit::lane_mask::is_one_run;
use crate::compute_unit::spec::WideAccesses;
use crate::memory::RequestKind;

const END: u16 = u16::MAX;

/// Counts bank conflicts; its tables are reused between accesses.
pub(crate) struct BankConflicts {
    banks: u64,
    wide: WideAccesses,
    /// Base-2 logarithm of the number of banks if that is a power of two.
    banks_log: Option<u32>,
    /// Head of each bank's chain of distinct words in `words`.
    heads: Vec<u16>,
    counts: Vec<u32>,
    words: Vec<(u64, u16)>,
}

impl BankConflicts {
    pub(crate) fn new(banks: u32, wide: WideAccesses) -> Self {
        Self {
            banks: u64::from(banks),
            wide,
            banks_log: banks.is_power_of_two().then(|| banks.trailing_zeros()),
            heads: vec![END; banks as usize],
            counts: vec![0; banks as usize],
            words: Vec::new(),
        }
    }

    /// Returns the cycles for which the access occupies the memory: the largest number of distinct
    /// words in one bank, at least 1. Equal words are broadcast. For an `atomic` every lane counts,
    /// because updates of one word are serialized.
    // Inlined into the evaluation of the unit, its loop over the lanes has too few registers.
    #[inline(never)]
    pub(crate) fn cycles(
        &mut self,
        lanes: &Lanes,
        mask: u32,
        bytes: u32,
        kind: RequestKind,
    ) -> u32 {
        let atomic = kind == RequestKind::Atomic;
        if bytes > 4 && self.wide == WideAccesses::Phases && !atomic {
            return self.phases(lanes, mask, bytes, kind == RequestKind::Read);
        }
        if !atomic && let Some(cycles) = self.regular(&lanes.shape, mask, bytes) {
            return cycles;
        }
        self.count_words(lanes, mask, bytes, atomic)
    }

    #[inline(never)]
    fn count_words(&mut self, lanes: &Lanes, mask: u32, bytes: u32, atomic: bool) -> u32 {
        self.heads.fill(END);
        self.counts.fill(0);
        self.words.clear();
        for (_, address) in lanes.iter(mask) {
            let last = address.saturating_add(u64::from(bytes) - 1);
            for word in address / 4..=last / 4 {
                self.count(word, atomic);
            }
        }
        self.counts.iter().copied().max().unwrap_or(0).max(1)
    }

    /// Returns the cycles of an access wider than a word, phase by phase. Phases of a load are
    /// `joined` in pairs where [`WideAccesses::Phases`] allows it.
    #[inline(never)]
    fn phases(&mut self, lanes: &Lanes, mask: u32, bytes: u32, joined: bool) -> u32 {
        let size = (LANES as u32 * 4 / bytes).max(1);
        let first = |lanes: u32| u32::MAX >> (LANES as u32 - lanes);
        let mut cycles = 0;
        let mut from = 0;
        while from < LANES as u32 {
            let pair = mask & first((2 * size).min(LANES as u32)) << from;
            let together = self.count_words(lanes, pair, bytes, false);
            let one = joined && self.words.len() as u64 <= self.banks;
            for half in [pair & first(size) << from, pair & !(first(size) << from)] {
                if half != 0 && !one {
                    cycles += self.count_words(lanes, half, bytes, false);
                }
            }
            cycles += if one && pair != 0 { together } else { 0 };
            from += 2 * size;
        }
        cycles.max(1)
    }

    /// Handles broadcasts, contiguous accesses, word strides and rows of words without comparing
    /// words.
    #[inline(always)]
    fn regular(&mut self, shape: &Shape, mask: u32, bytes: u32) -> Option<u32> {
        match *shape {
            Shape::None => Some(1),
            Shape::Uniform(address)
            | Shape::Stride {
                base: address,
                step: 0,
            } => Some(self.run(address, u64::from(bytes))),
            _ if mask != u32::MAX && !is_one_run(mask) => None,
            Shape::Stride { base, step } => {
                let start =
                    base.wrapping_add_signed(step.wrapping_mul(i64::from(mask.trailing_zeros())));
                self.strided(start, step, mask.count_ones(), bytes)
            }
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            } if mask == u32::MAX => match (step, pitch) {
                (0, _) => self.strided(base, pitch, 32 >> row_bits, bytes),
                (_, 0) => self.strided(base, step, 1 << row_bits, bytes),
                _ => self.rows(base, step, pitch, row_bits, bytes),
            },
            Shape::Rows { .. } | Shape::List => None,
        }
    }

    /// Returns the cycles for lanes whose addresses grow by `step`, which must not be 0.
    #[inline(always)]
    fn strided(&self, start: u64, step: i64, lanes: u32, bytes: u32) -> Option<u32> {
        if step == i64::from(bytes) {
            return Some(self.run(start, u64::from(lanes * bytes)));
        }
        if step % 4 != 0 || start % 4 + u64::from(bytes) > 4 {
            return None;
        }
        let stride = step.unsigned_abs() / 4;
        if let Some(banks_log) = self.banks_log {
            // As below, without a division: the common divisor is a power of two.
            let period_log = banks_log - stride.trailing_zeros().min(banks_log);
            return Some((lanes + (1 << period_log) - 1) >> period_log);
        }
        let period = self.banks / greatest_common_divisor(stride % self.banks, self.banks);
        Some(u64::from(lanes).div_ceil(period) as u32)
    }

    /// Returns the cycles for rows of whole words without common words; words are counted without
    /// comparison.
    #[inline(never)]
    fn rows(&mut self, base: u64, step: i64, pitch: i64, row_bits: u8, bytes: u32) -> Option<u32> {
        let row_bytes = u64::from(bytes) << row_bits;
        let whole = step == i64::from(bytes)
            && row_bytes.is_multiple_of(4)
            && base.is_multiple_of(4)
            && pitch % 4 == 0;
        if !whole || pitch.unsigned_abs() < row_bytes {
            return None;
        }
        self.counts.fill(0);
        let mut most = 0;
        for row in 0..32 >> row_bits {
            let start = base.wrapping_add_signed(pitch.wrapping_mul(row)) / 4;
            let mut bank = (start % self.banks) as usize;
            for _ in 0..row_bytes / 4 {
                let count = &mut self.counts[bank];
                *count += 1;
                most = most.max(*count);
                bank += 1;
                if bank == self.counts.len() {
                    bank = 0;
                }
            }
        }
        Some(most)
    }

    /// Returns the cycles for an access to consecutive bytes.
    #[inline(always)]
    fn run(&self, start: u64, bytes: u64) -> u32 {
        let words = (start % 4 + bytes).div_ceil(4);
        if words <= self.banks {
            return 1;
        }
        match self.banks_log {
            Some(banks_log) => ((words + self.banks - 1) >> banks_log) as u32,
            None => words.div_ceil(self.banks) as u32,
        }
    }

    fn count(&mut self, word: u64, again: bool) {
        let bank = (word % self.banks) as usize;
        let mut at = if again { END } else { self.heads[bank] };
        while at != END {
            let (seen, next) = self.words[usize::from(at)];
            if seen == word {
                return;
            }
            at = next;
        }
        self.counts[bank] += 1;
        self.words.push((word, self.heads[bank]));
        self.heads[bank] = (self.words.len() - 1) as u16;
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    fn cycles(shape: Shape, bytes: u32) -> u32 {
        let lanes = Lanes {
            shape,
            ..Lanes::default()
        };
        words().cycles(&lanes, u32::MAX, bytes, RequestKind::Read)
    }

    fn words() -> BankConflicts {
        BankConflicts::new(32, WideAccesses::Words)
    }

    /// Returns the cycles of an access of so many bytes a lane, served in phases.
    fn phased(shape: Shape, mask: u32, bytes: u32, kind: RequestKind) -> u32 {
        let lanes = Lanes {
            shape,
            ..Lanes::default()
        };
        BankConflicts::new(32, WideAccesses::Phases).cycles(&lanes, mask, bytes, kind)
    }

    /// Cycles of a wavefront's access on an H200, measured: bytes of a lane, bytes from lane to
    /// lane, loads, stores.
    const MEASURED: [(u32, i64, u32, u32); 18] = [
        (4, 0, 1, 1),
        (4, 4, 1, 1),
        (4, 8, 2, 2),
        (4, 16, 4, 4),
        (4, 32, 8, 8),
        (4, 64, 16, 16),
        (4, 128, 32, 32),
        (8, 0, 1, 2),
        (8, 8, 2, 2),
        (8, 16, 4, 4),
        (8, 32, 8, 8),
        (8, 64, 16, 16),
        (8, 128, 32, 32),
        (16, 0, 2, 4),
        (16, 16, 4, 4),
        (16, 32, 8, 8),
        (16, 64, 16, 16),
        (16, 128, 32, 32),
    ];

    #[test]
    fn phases_take_the_cycles_measured_on_an_h200() {
        for (bytes, step, load, store) in MEASURED {
            let of = |kind| phased(stride(0, step), u32::MAX, bytes, kind);
            let found = (of(RequestKind::Read), of(RequestKind::Write));
            assert_eq!(found, (load, store), "{bytes} bytes, {step} apart");
        }
    }

    #[test]
    fn a_phase_without_lanes_takes_no_cycle() {
        let of = |mask| phased(stride(0, 16), mask, 16, RequestKind::Read);
        assert_eq!(
            [of(0xff), of(0xff00), of(0xffff), of(0x00ff_00ff)],
            [1, 1, 2, 2]
        );
        assert_eq!(of(0), 1);
    }

    #[test]
    fn two_rows_of_a_matrix_are_a_load_of_two_cycles() {
        let shape = Shape::Rows {
            base: 0,
            step: 0,
            pitch: 64,
            row_bits: 4,
        };
        assert_eq!(phased(shape, u32::MAX, 16, RequestKind::Read), 2);
        // Words alone are one.
        assert_eq!(cycles(shape, 16), 1);
    }

    fn stride(base: u64, step: i64) -> Shape {
        Shape::Stride { base, step }
    }

    #[test]
    fn conflicts_are_different_words_in_one_bank() {
        assert_eq!(cycles(stride(0, 4), 4), 1);
        assert_eq!(cycles(stride(0, 8), 4), 2);
        assert_eq!(cycles(stride(0, 12), 4), 1);
        assert_eq!(cycles(stride(0, 128), 4), 32);
        assert_eq!(cycles(stride(4 * 33, -132), 4), 1);
        assert_eq!(cycles(stride(0, 1), 1), 1);
        // Wide accesses need the words of all lanes.
        assert_eq!(cycles(stride(0, 8), 8), 2);
        assert_eq!(cycles(stride(0, 16), 16), 4);
    }

    #[test]
    fn equal_words_are_broadcast_but_serialise_atomics() {
        assert_eq!(cycles(Shape::Uniform(64), 4), 1);
        let lanes = Lanes {
            shape: Shape::Uniform(64),
            ..Lanes::default()
        };
        assert_eq!(words().cycles(&lanes, 0xff, 4, RequestKind::Atomic), 8);
    }

    proptest! {
        #[test]
        fn closed_forms_and_chains_match_the_definition(
            base in 0u64..4000, step in prop_oneof![Just(4i64), -20i64..200, Just(128)],
            rows in proptest::option::of((1u8..5, prop_oneof![Just(0i64), Just(64), -40i64..40, (-30i64..30).prop_map(|p| 4 * p)])),
            mask in prop_oneof![Just(u32::MAX), 1u32..], banks in 1u32..65,
            bytes in proptest::sample::select(vec![1u32, 2, 4, 8, 16]), list in any::<bool>(),
        ) {
            let mut lanes = Lanes {
                shape: match rows {
                    None => stride(base + 1000, step),
                    Some((row_bits, pitch)) => Shape::Rows { base: base + 2000, step, pitch, row_bits },
                },
                ..Lanes::default()
            };
            let mut words: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            for (_, address) in lanes.iter(mask) {
                for byte in address..address + u64::from(bytes) {
                    let word = byte / 4;
                    words.entry(word % u64::from(banks)).or_default().insert(word);
                }
            }
            let expected = words.values().map(BTreeSet::len).max().unwrap_or(1) as u32;
            if list {
                lanes.list = std::array::from_fn(|lane| lanes.address(lane as u32));
                lanes.shape = Shape::List;
            }
            let mut counted = BankConflicts::new(banks, WideAccesses::Words);
            let got = counted.cycles(&lanes, mask, bytes, RequestKind::Read);
            prop_assert_eq!(got, expected);
            // Phases read each word at most as often as there are phases, and at least once.
            let mut counted = BankConflicts::new(banks, WideAccesses::Phases);
            let [load, store] = [RequestKind::Read, RequestKind::Write]
                .map(|kind| counted.cycles(&lanes, mask, bytes, kind));
            prop_assert!(expected <= load && load <= store);
            prop_assert!(store <= expected * (bytes / 4).max(1));
        }
    }
}
