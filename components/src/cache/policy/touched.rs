//! Sub-blocks that requests touch of each line: by line while it is in flight, by place afterwards.
//!
//! Building block for policies, which tell it of events. A note travels with the line: what the
//! policy has to know when the line leaves.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use warpweave_framework::{State, Stateful};

use super::{CacheSite, Eviction, Fill, SubBlocks, TagLookup};
use crate::cache::tag_array::Slot;
use crate::memory::RequestKind;

/// Use of one line while it had a place, as masks of its sub-blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineUse<N> {
    /// Address of the line in this cache.
    pub line: u64,
    /// Sub-blocks that arrived from the next level.
    pub fetched: u32,
    /// Sub-blocks that requests asked for so far.
    pub touched: u32,
    /// Note given at the miss; `None` for a line that no miss fetched.
    pub note: Option<N>,
}

/// Change of the use of a line that has a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UseChange<N> {
    /// Use of another line that lost the place without an event, if there was one.
    pub lost: Option<LineUse<N>>,
    /// Use of the line before the change; empty for a line that takes its place now.
    pub before: LineUse<N>,
    /// Use of the line after the change.
    pub after: LineUse<N>,
}

/// Line in flight, with the sub-blocks that requests wait for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight<N> {
    line: u64,
    touched: u32,
    note: N,
}

/// Sub-blocks touched of all lines of a cache.
pub struct Touched<N> {
    sub_blocks: SubBlocks,
    /// Bits of an address within its line, which name a partition of the cache.
    offset_mask: u64,
    in_flight: Vec<InFlight<N>>,
    places: Vec<Option<LineUse<N>>>,
}

impl<N: Copy> Touched<N> {
    /// Creates the empty record of a cache.
    pub fn new(site: &CacheSite) -> Self {
        Self {
            sub_blocks: SubBlocks::of(site),
            offset_mask: u64::from(site.line_bytes) - 1,
            in_flight: Vec::new(),
            places: vec![None; site.lines as usize],
        }
    }

    /// Records an access; called from `on_access`. A copy-back touches nothing. Returns the change
    /// if the line has a place.
    pub fn accessed(&mut self, access: &TagLookup<'_>) -> Option<UseChange<N>> {
        if access.request.kind == RequestKind::CopyBack {
            return None;
        }
        let blocks = self.sub_blocks.of_words(access.words);
        let at = access.slot.map(Slot::index);
        let is_placed = |at: usize| self.places[at].is_some_and(|place| place.line == access.line);
        if !at.is_some_and(is_placed)
            && let Some(entry) = self.position(access.line)
        {
            self.in_flight[entry].touched |= blocks;
            return None;
        }
        Some(self.change(at?, access.line, |line| line.touched |= blocks))
    }

    /// Records a miss on a line without a place; called from `on_miss`. Does nothing for a line
    /// that lacks some of its words.
    pub fn missed(&mut self, miss: &TagLookup<'_>, note: N) {
        if miss.slot.is_some() {
            return;
        }
        let entry = InFlight {
            line: miss.line,
            touched: self.sub_blocks.of_words(miss.words),
            note,
        };
        match self.position(miss.line) {
            Some(at) => self.in_flight[at] = entry,
            None => self.in_flight.push(entry),
        }
    }

    /// Forgets a line in flight that a forwarded request closed; called from `on_pass`.
    pub fn passed(&mut self, pass: &TagLookup<'_>) {
        let address = |line: u64| line & !self.offset_mask;
        let passed = address(pass.line);
        self.in_flight.retain(|entry| address(entry.line) != passed);
    }

    /// Moves a line that arrived to its place; called from `on_fill`. Returns the change if it got
    /// one.
    pub fn filled(&mut self, fill: &Fill) -> Option<UseChange<N>> {
        if fill.closed {
            return None;
        }
        let entry = self.position(fill.line);
        let came = entry.map(|entry| self.in_flight.swap_remove(entry));
        let blocks = self.sub_blocks.of_words(fill.words);
        Some(self.change(fill.slot?.index(), fill.line, |line| {
            line.fetched |= blocks;
            if let Some(came) = came {
                line.touched |= came.touched;
                line.note = Some(came.note);
            }
        }))
    }

    /// Changes the use of a line in a place, which it takes from another if it has to.
    fn change(
        &mut self,
        at: usize,
        line: u64,
        change: impl FnOnce(&mut LineUse<N>),
    ) -> UseChange<N> {
        let old = self.places[at];
        let before = old.filter(|old| old.line == line).unwrap_or(LineUse {
            line,
            fetched: 0,
            touched: 0,
            note: None,
        });
        let mut after = before;
        change(&mut after);
        self.places[at] = Some(after);
        UseChange {
            lost: old.filter(|old| old.line != line),
            before,
            after,
        }
    }

    /// Takes the use of a line that leaves its place; called from `on_evict`.
    pub fn take(&mut self, eviction: &Eviction) -> Option<LineUse<N>> {
        let place = &mut self.places[eviction.slot.index()];
        place.take().filter(|place| place.line == eviction.line)
    }

    fn position(&self, line: u64) -> Option<usize> {
        self.in_flight.iter().position(|entry| entry.line == line)
    }
}

impl<N: Serialize + DeserializeOwned> Stateful for Touched<N> {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("in_flight", &mut self.in_flight);
        state.array("places", &mut self.places);
    }
}
