//! Compares the outputs of a run on a device with those of the emulator, word by word.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

use warpweave_systems::host_program::{Executed, HostProgram};
use warpweave_trace::Allocation;

use crate::live::Ran;

/// Comparison of a buffer copied from the device with the emulator's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Name of the buffer that was copied.
    pub buffer: String,
    /// Number of 4-byte words that were compared.
    pub words: u64,
    /// Number of words that differ between the two.
    pub differ: u64,
    /// First differing word: its index, the emulator's value and the device's.
    pub first: Option<(u64, u32, u32)>,
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            buffer,
            words,
            differ,
            first,
        } = self;
        match first {
            None => write!(f, "`{buffer}`, {words} words: equal to the emulator's"),
            Some((word, emulator, device)) => write!(
                f,
                "`{buffer}`, {words} words: {differ} differ; the first is word {word}: {emulator:#010x} emulated, {device:#010x} on the device"
            ),
        }
    }
}

/// Compares every buffer that either run copied to the host. A buffer that one of them did not copy
/// counts as empty there. Device addresses are compared by what they point to.
pub fn outputs(program: &HostProgram, emulated: &Executed, live: &Ran) -> Vec<Comparison> {
    let names = program
        .buffers()
        .filter(|name| emulated.outputs.contains_key(*name) || live.outputs.contains_key(*name));
    names
        .map(|name| {
            let of = |outputs: &BTreeMap<String, Vec<u32>>| {
                outputs.get(name).cloned().unwrap_or_default()
            };
            let (mut expected, found) = (of(&emulated.outputs), of(&live.outputs));
            if program.holds_addresses(name) {
                let from = &emulated.program.allocations;
                translate(&mut expected, from, &live.allocations);
            }
            compare(name, &expected, &found)
        })
        .collect()
}

/// Replaces device addresses in pairs of words by the addresses of the same buffers elsewhere.
/// Addresses of no buffer stay as they are.
fn translate(words: &mut [u32], from: &[Allocation], to: &[Allocation]) {
    for pair in words.as_chunks_mut::<2>().0 {
        let address = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        let mut buffers = from.iter().zip(to);
        let found = buffers.find(|(from, _)| {
            address
                .checked_sub(from.base)
                .is_some_and(|offset| offset <= from.bytes)
        });
        if let Some((from, to)) = found {
            let there = to.base + (address - from.base);
            *pair = [there as u32, (there >> 32) as u32];
        }
    }
}

fn compare(buffer: &str, expected: &[u32], found: &[u32]) -> Comparison {
    let words = expected.len().max(found.len());
    let at = |words: &[u32], index: usize| words.get(index).copied();
    let mut differing = (0..words).filter(|&index| at(expected, index) != at(found, index));
    let first = differing.next().map(|index| {
        let word = |words| at(words, index).unwrap_or_default();
        (index as u64, word(expected), word(found))
    });
    Comparison {
        buffer: buffer.to_owned(),
        words: words as u64,
        differ: u64::from(first.is_some()) + differing.count() as u64,
        first,
    }
}
