//! Shadow state of registers and memory: initialised bytes and pointer tags.

use std::collections::BTreeMap;

use super::objects::Tag;
use super::unset::{Cause, Unset};
use crate::exec::registers::lanes;

/// Provenance tags of all 32 lanes of a wavefront.
type Tags = Box<[Tag; 32]>;

/// Tags by register or by word of private memory; an absent entry is a plain number in all lanes.
#[derive(Debug, Default)]
pub(super) struct LaneTags(BTreeMap<u32, Tags>);

impl LaneTags {
    pub(super) fn get(&self, at: u32) -> Option<&[Tag; 32]> {
        self.0.get(&at).map(|tags| &**tags)
    }

    pub(super) fn one(&self, at: u32, lane: usize) -> Tag {
        self.get(at).map_or(Tag::NONE, |tags| tags[lane])
    }

    pub(super) fn set(&mut self, at: u32, lane: usize, tag: Tag) {
        if tag.is_none() {
            if let Some(tags) = self.0.get_mut(&at) {
                tags[lane] = Tag::NONE;
            }
        } else {
            self.0.entry(at).or_default()[lane] = tag;
        }
    }

    /// Resets the tags of all lanes of a mask to plain numbers.
    pub(super) fn clear(&mut self, at: u32, mask: u32) {
        if mask == u32::MAX {
            self.0.remove(&at);
        } else if let Some(tags) = self.0.get_mut(&at) {
            for lane in lanes(mask) {
                tags[lane] = Tag::NONE;
            }
        }
    }
}

/// Register shadow of an open function, by register number in the program.
#[derive(Debug)]
pub(super) struct Registers {
    /// Lanes in which all bits of each register are known.
    pub(super) defined: Vec<u32>,
    /// Unset bits of the other lanes; a register without an entry was never written there.
    unset: BTreeMap<u32, Box<[Unset; 32]>>,
    pub(super) pointers: LaneTags,
}

impl Registers {
    pub(super) fn new(count: usize) -> Self {
        Self {
            defined: vec![0; count],
            unset: BTreeMap::new(),
            pointers: LaneTags::default(),
        }
    }

    /// Returns the unset bits of a register in one lane, or `None` if all are known.
    pub(super) fn unset(&self, register: u32, lane: usize) -> Option<Unset> {
        if self.defined[register as usize] >> lane & 1 != 0 {
            return None;
        }
        let lanes = self.unset.get(&register);
        Some(lanes.map_or(Unset::NEVER, |lanes| lanes[lane]))
    }

    pub(super) fn set_unset(&mut self, register: u32, lane: usize, unset: Option<Unset>) {
        let defined = &mut self.defined[register as usize];
        *defined = *defined & !(1 << lane) | u32::from(unset.is_none()) << lane;
        if let Some(unset) = unset {
            let lanes = self.unset.entry(register);
            lanes.or_insert_with(|| Box::new([Unset::NEVER; 32]))[lane] = unset;
        }
    }
}

/// Shadow of the private memory of a wavefront.
#[derive(Debug, Default)]
pub(super) struct PrivateShadow {
    /// Lanes in which each byte was written.
    defined: Vec<u32>,
    /// Provenance tags of the pointers, by word.
    pub(super) pointers: LaneTags,
    /// Causes of unset bytes that a store left, by word and lane.
    causes: BTreeMap<(u32, usize), Cause>,
}

impl PrivateShadow {
    /// Resets the shadow from `start` on, where a new frame begins.
    pub(super) fn forget(&mut self, start: u32, end: u32) {
        self.defined.truncate(start as usize);
        self.defined.resize(end as usize, 0);
        let above = self.pointers.0.split_off(&start.div_ceil(4));
        let causes = self.causes.split_off(&(start.div_ceil(4), 0));
        drop((above, causes));
    }

    /// Returns the bytes that were not written, as a bit set, and the cause if a store left them.
    pub(super) fn missing(&self, lane: usize, start: u64, bytes: u32) -> (u32, Option<Cause>) {
        let mut missing = 0;
        for byte in 0..bytes {
            let known = self.defined.get((start + u64::from(byte)) as usize);
            let is_known = known.is_some_and(|lanes| lanes >> lane & 1 != 0);
            missing |= u32::from(!is_known) << byte;
        }
        if missing == 0 || self.causes.is_empty() {
            return (missing, None);
        }
        let mut words = words_of(start, missing);
        let cause = words.find_map(|word| self.causes.get(&(word as u32, lane)).copied());
        (missing, cause)
    }

    pub(super) fn define(&mut self, lane: usize, start: u64, bytes: u32) {
        let end = start as usize + bytes as usize;
        if self.defined.len() < end {
            self.defined.resize(end, 0);
        }
        for at in start as usize..end {
            self.defined[at] |= 1 << lane;
        }
    }

    /// Marks the bytes of a set as not written because of `cause`.
    pub(super) fn leave(&mut self, lane: usize, start: u64, missing: u32, cause: Option<Cause>) {
        for byte in lanes(missing) {
            if let Some(known) = self.defined.get_mut(start as usize + byte) {
                *known &= !(1 << lane);
            }
        }
        for word in words_of(start, missing) {
            match cause {
                Some(cause) => self.causes.insert((word as u32, lane), cause),
                None => self.causes.remove(&(word as u32, lane)),
            };
        }
    }

    /// Copies the shadow of some bytes along with their values.
    pub(super) fn copy(&mut self, from: u32, to: u32, bytes: u32, mask: u32) {
        let end = (from.max(to) + bytes) as usize;
        if self.defined.len() < end {
            self.defined.resize(end, 0);
        }
        for at in 0..bytes {
            let known = self.defined[(from + at) as usize];
            let target = &mut self.defined[(to + at) as usize];
            *target = *target & !mask | known & mask;
        }
        for word in 0..bytes / 4 {
            for lane in lanes(mask) {
                let tag = self.pointers.one(from / 4 + word, lane);
                self.pointers.set(to / 4 + word, lane, tag);
            }
        }
        if self.causes.is_empty() {
            return;
        }
        for word in 0..bytes.div_ceil(4) {
            for lane in lanes(mask) {
                if let Some(&cause) = self.causes.get(&(from / 4 + word, lane)) {
                    self.causes.insert((to / 4 + word, lane), cause);
                }
            }
        }
    }
}

/// Returns the words that hold the bytes of a set, which begins at `start`.
fn words_of(start: u64, bytes: u32) -> impl Iterator<Item = u64> {
    let mut last = None;
    lanes(bytes)
        .map(move |byte| (start + byte as u64) / 4)
        .filter(move |word| last.replace(*word) != Some(*word))
}

/// Shadow of global memory, or of the local memory of a work-group.
#[derive(Debug, Default)]
pub(super) struct MemoryShadow {
    /// Bit set of the bytes that were written.
    defined: Vec<u64>,
    /// Provenance tags of the pointers, by word.
    pointers: BTreeMap<u64, Tag>,
    /// Causes of unset bytes that a store left, by word.
    causes: BTreeMap<u64, Cause>,
}

impl MemoryShadow {
    pub(super) fn is_defined(&self, start: u64, bytes: u64) -> bool {
        (start..start + bytes).all(|at| {
            self.defined
                .get((at / 64) as usize)
                .is_some_and(|bits| bits >> (at % 64) & 1 != 0)
        })
    }

    /// Returns the bytes that were not written, as a bit set, and the cause if a store left them.
    pub(super) fn missing(&self, start: u64, bytes: u32) -> (u32, Option<Cause>) {
        if self.is_defined(start, bytes.into()) {
            return (0, None);
        }
        let mut missing = 0;
        for byte in 0..bytes {
            let is_known = self.is_defined(start + u64::from(byte), 1);
            missing |= u32::from(!is_known) << byte;
        }
        let mut words = words_of(start, missing);
        let cause = words.find_map(|word| self.causes.get(&word).copied());
        (missing, cause)
    }

    /// Marks the bytes of a set as not written because of `cause`.
    pub(super) fn leave(&mut self, start: u64, missing: u32, cause: Option<Cause>) {
        for byte in lanes(missing) {
            let at = start + byte as u64;
            if let Some(bits) = self.defined.get_mut((at / 64) as usize) {
                *bits &= !(1 << (at % 64));
            }
        }
        for word in words_of(start, missing) {
            match cause {
                Some(cause) => self.causes.insert(word, cause),
                None => self.causes.remove(&word),
            };
        }
    }

    pub(super) fn define(&mut self, start: u64, bytes: u64) {
        let words = (start + bytes).div_ceil(64) as usize;
        if self.defined.len() < words {
            self.defined.resize(words, 0);
        }
        let mut at = start;
        while at < start + bytes {
            if at.is_multiple_of(64) && start + bytes - at >= 64 {
                self.defined[(at / 64) as usize] = u64::MAX;
                at += 64;
            } else {
                self.defined[(at / 64) as usize] |= 1 << (at % 64);
                at += 1;
            }
        }
    }

    /// Marks these bytes as not written.
    pub(super) fn forget(&mut self, start: u64, bytes: u64) {
        for at in start..start + bytes {
            if let Some(bits) = self.defined.get_mut((at / 64) as usize) {
                *bits &= !(1 << (at % 64));
            }
        }
        self.set_pointer(start, bytes, Tag::NONE);
    }

    /// Returns the tag of the value in these bytes; every word of a pointer has its tag.
    pub(super) fn pointer(&self, start: u64, bytes: u64) -> Tag {
        let words = start / 4..(start + bytes).div_ceil(4);
        let tags = self.pointers.range(words).map(|(_, tag)| *tag);
        tags.reduce(|a, b| if a == b { a } else { Tag::LOST })
            .unwrap_or_default()
    }

    pub(super) fn set_pointer(&mut self, start: u64, bytes: u64, tag: Tag) {
        for word in start / 4..(start + bytes).div_ceil(4) {
            if tag.is_none() {
                if !self.pointers.is_empty() {
                    self.pointers.remove(&word);
                }
            } else {
                self.pointers.insert(word, tag);
            }
        }
    }

    /// Marks bytes as written by the host and drops their tags.
    pub(super) fn written_by_host(&mut self, start: u64, bytes: u64) {
        self.define(start, bytes);
        let words = start / 4..(start + bytes).div_ceil(4);
        let found: Vec<u64> = self.pointers.range(words).map(|(word, _)| *word).collect();
        for word in found {
            self.pointers.remove(&word);
        }
    }
}
