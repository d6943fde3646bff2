//! Pointer provenance: the allocation to which an address value belongs.
//!
//! Each value has a [`Tag`] that follows it through registers and memory. Arithmetic on one pointer
//! and numbers keeps the tag; converting a pointer to a plain number drops it.

use std::collections::BTreeMap;

use crate::ops::Region;
use crate::site::Rule;

/// Provenance of a value: a plain number, unknown, or an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tag(u32);

impl Tag {
    /// Tag of a plain number, which points to no object.
    pub(super) const NONE: Self = Self(0);
    /// Tag of a value derived from pointers whose target is ambiguous.
    pub(super) const LOST: Self = Self(1);

    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// A buffer or variable to which values can point.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// Memory of the object: `Global`, `Shared` or `Local`.
    pub(super) region: Region,
    /// First address of the object within its memory.
    pub(super) start: u64,
    pub(super) bytes: u64,
    pub(super) name: String,
}

impl Object {
    pub(super) fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.start && bytes <= self.bytes && address - self.start <= self.bytes - bytes
    }
}

/// All objects that pointers have referenced so far.
#[derive(Debug, Default)]
pub(super) struct Objects {
    list: Vec<Object>,
    by_place: BTreeMap<(u8, u64, u64, String), Tag>,
}

impl Objects {
    pub(super) fn tag(&mut self, object: Object) -> Tag {
        let memory = match object.region {
            Region::Shared => 1,
            Region::Local => 2,
            _ => 0,
        };
        let place = (memory, object.start, object.bytes, object.name.clone());
        let next = Tag(self.list.len() as u32 + 2);
        let tag = *self.by_place.entry(place).or_insert(next);
        if tag == next {
            self.list.push(object);
        }
        tag
    }

    /// Returns the object of a tag, if the tag names one.
    pub(super) fn get(&self, tag: Tag) -> Option<&Object> {
        self.list.get(tag.0.checked_sub(2)? as usize)
    }
}

/// Returns the tag of a result; the caller has already resolved `Select`.
pub(super) fn combine(rule: Rule, sources: &[Tag]) -> Tag {
    let pointers = || sources.iter().copied().filter(|tag| !tag.is_none());
    let merged = || {
        pointers()
            .reduce(|a, b| if a == b { a } else { Tag::LOST })
            .unwrap_or_default()
    };
    match (rule, sources) {
        (Rule::Plain, _) => Tag::NONE,
        (Rule::Subtract, &[a, b]) => match (a, b) {
            (a, Tag::NONE) => a,
            (a, b) if a == b && a != Tag::LOST => Tag::NONE,
            _ => Tag::LOST,
        },
        (Rule::MultiplyAdd, &[a, b, c]) if a.is_none() && b.is_none() => c,
        (Rule::Add, _) if pointers().count() == 1 => merged(),
        (Rule::Copy | Rule::Convert | Rule::Mask | Rule::Either, _) => merged(),
        _ if pointers().next().is_none() => Tag::NONE,
        _ => Tag::LOST,
    }
}
