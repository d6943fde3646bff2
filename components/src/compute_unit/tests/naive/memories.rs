//! Address handling of the naive unit: conflicts counted word by word, lines collected byte by
//! byte.

use std::collections::{BTreeMap, BTreeSet};

use warpweave_trace::{Lanes, Record};

use super::super::*;

/// Returns the cycles for which an access occupies the local memory.
pub(super) fn conflict_cycles(
    spec: &ComputeUnitSpec,
    (record, lanes): &(Record, Lanes),
    bytes: u64,
    kind: RequestKind,
) -> u64 {
    let of = |from: u32, to: u32| {
        let part = |lane: u32| record.mask & u32::from(from <= lane && lane < to) << lane;
        let mask = (0..32).fold(0, |all, lane| all | part(lane));
        bank_words(spec, lanes, mask, bytes)
    };
    if kind == RequestKind::Atomic {
        return of(0, 32).values().map(Vec::len).max().unwrap_or(1) as u64;
    }
    let different = |words: &Vec<u64>| words.iter().collect::<BTreeSet<_>>().len() as u64;
    let served = |banks: &Banks| banks.values().map(different).max().unwrap_or(0);
    if spec.local_memory.wide == WideAccesses::Words || bytes <= 4 {
        return served(&of(0, 32)).max(1);
    }
    let size = 128 / bytes as u32;
    let mut cycles = 0;
    for first in (0..32).step_by(2 * size as usize) {
        let both = of(first, first + 2 * size);
        let all: u64 = both.values().map(different).sum();
        cycles += if kind == RequestKind::Read && all <= u64::from(spec.local_memory.banks) {
            served(&both)
        } else {
            served(&of(first, first + size)) + served(&of(first + size, first + 2 * size))
        };
    }
    cycles.max(1)
}

/// Words of the lanes by bank, those of each lane.
type Banks = BTreeMap<u64, Vec<u64>>;

fn bank_words(spec: &ComputeUnitSpec, lanes: &Lanes, mask: u32, bytes: u64) -> Banks {
    let mut banks = Banks::new();
    for (_, address) in lanes.iter(mask) {
        for word in address / 4..=(address + bytes - 1) / 4 {
            let bank = banks.entry(word % u64::from(spec.local_memory.banks));
            bank.or_default().push(word);
        }
    }
    banks
}

/// Returns the lines and words that an access outside the unit touches, in request order.
pub(super) fn lines(
    spec: &ComputeUnitSpec,
    (record, lanes): &(Record, Lanes),
    (bytes, kind): (u64, RequestKind),
    slot: usize,
) -> Vec<(u64, u32)> {
    let wavefront = u64::from(spec.index) * u64::from(spec.wavefront_slots) + slot as u64;
    let private = &spec.private_memory;
    let region = private.base + wavefront * 32 * u64::from(private.bytes_per_thread);
    let line_bytes = u64::from(spec.load_store.line_bytes);
    if kind == RequestKind::Atomic && spec.load_store.atomics == AtomicLanes::Apart {
        return one_lane_a_word(&(record.mask, lanes), bytes, line_bytes);
    }
    let mut lines: BTreeMap<u64, u32> = BTreeMap::new();
    for (lane, address) in lanes.iter(record.mask) {
        for byte in address..address + bytes {
            let byte = if record.space == Space::Local {
                region + 128 * (byte / 4) + 4 * u64::from(lane) + byte % 4
            } else {
                byte
            };
            let offset = byte % line_bytes;
            *lines.entry(byte - offset).or_default() |= 1 << (offset / 4);
        }
    }
    lines.into_iter().collect()
}

/// Returns lines and words of an atomic operation whose requests have at most one lane per word.
/// The first request of a line has the first lane of each word, the second request the second lane,
/// and so on.
fn one_lane_a_word((mask, lanes): &(u32, &Lanes), bytes: u64, line_bytes: u64) -> Vec<(u64, u32)> {
    let mut requests: BTreeMap<(u64, usize), u32> = BTreeMap::new();
    for (_, address) in lanes.iter(*mask) {
        let offset = address % line_bytes;
        let line = address - offset;
        let words = offset / 4..=(offset + bytes - 1).min(line_bytes - 1) / 4;
        let words = words.fold(0, |all, word| all | 1 << word);
        let mut turn = (line, 0);
        while requests.get(&turn).is_some_and(|w| w & words != 0) {
            turn.1 += 1;
        }
        *requests.entry(turn).or_default() |= words;
    }
    requests
        .into_iter()
        .map(|((line, _), words)| (line, words))
        .collect()
}
