//! Eager write-back: dirty lines that are not among the most recently used ones of their set are
//! copied back while they stay.
//!
//! Source: "Eager writeback" of Lee, Tyson and Farrens, MICRO 2000. There one line of a set is
//! written back when the bus is idle; here any number of lines may stay dirty, and nothing waits.
//! An H200 writes back a part of its dirty lines while its second level has room.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{CachePolicies, CachePolicy, EventContext, Eviction, Fill, Swap, TagLookup};
use crate::cache::tag_array::Slot;
use crate::memory::{RequestKind, flags};

/// Specification of the [`EagerWriteBack`] policy: which lines may stay dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EagerWriteBackSpec {
    /// Number of lines of a set, the most recently used ones, that may stay dirty. From the ways of
    /// the cache on, nothing is copied back early.
    pub dirty_lines: u32,
}

/// Policy that copies dirty lines back before they are victims.
#[derive(State, Statistics)]
pub struct EagerWriteBack {
    #[state(skip)]
    ways: usize,
    #[state(skip)]
    dirty_lines: usize,
    clock: u64,
    #[state(array)]
    places: Vec<Place>,
    /// Lines without a place that stores wait for.
    stored: Vec<u64>,
    /// requests to write a dirty line back because others of its set were used more recently
    #[statistic(name = "eager_write_backs", unit = "requests")]
    requested: u64,
}

/// Line in a place of the cache, as the policy knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    line: u64,
    /// Time of its last use; 0 if the place is empty.
    used: u64,
    dirty: bool,
}

impl EagerWriteBack {
    /// Notes a use of the line in a place. Dirty lines of the set that fell behind are copied back.
    fn use_line(&mut self, slot: Slot, line: u64, stores: bool, context: &mut EventContext<'_>) {
        self.clock += 1;
        let place = &mut self.places[slot.index()];
        let was_dirty = place.line == line && place.dirty;
        *place = Place {
            line,
            used: self.clock,
            dirty: stores || was_dirty,
        };
        let first = slot.index() / self.ways * self.ways;
        let set = &mut self.places[first..first + self.ways];
        for way in 0..set.len() {
            let Place { line, used, dirty } = set[way];
            if dirty && set.iter().filter(|other| other.used > used).count() >= self.dirty_lines {
                set[way].dirty = false;
                self.requested += 1;
                context.write_back(line);
            }
        }
    }

    /// Takes a line from those that stores wait for. Returns true if it was one.
    fn take_stored(&mut self, line: u64) -> bool {
        let found = self.stored.iter().position(|stored| *stored == line);
        found.is_some_and(|at| {
            self.stored.swap_remove(at);
            true
        })
    }
}

impl PolicyKind for EagerWriteBack {
    type Role = CachePolicies;
    const NAME: &'static str = "EagerWriteBack";
    const SUMMARY: &'static str = "Copies dirty lines back before they are replaced";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "EagerWriteBack(dirty_lines: 1024)",
        like: "",
    });
    type Spec = EagerWriteBackSpec;

    fn build(
        spec: EagerWriteBackSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self {
            ways: context.site.ways as usize,
            dirty_lines: spec.dirty_lines as usize,
            clock: 0,
            places: vec![Place::default(); context.site.lines as usize],
            stored: Vec::new(),
            requested: 0,
        }))
    }
}

impl CachePolicy for EagerWriteBack {
    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, context: &mut EventContext<'_>) {
        let stores = match access.request.kind {
            RequestKind::Write | RequestKind::Atomic => true,
            RequestKind::CopyBack => access.request.flags & flags::CLEAN == 0,
            RequestKind::Read | RequestKind::Prefetch => false,
        };
        match access.slot {
            Some(slot) => self.use_line(slot, access.line, stores, context),
            None if stores && !self.stored.contains(&access.line) => self.stored.push(access.line),
            None => {}
        }
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, context: &mut EventContext<'_>) {
        let stores = self.take_stored(store.line);
        if let Some(slot) = store.slot {
            self.use_line(slot, store.line, stores, context);
        }
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.take_stored(pass.line);
    }

    fn on_fill(&mut self, fill: &Fill, context: &mut EventContext<'_>) {
        let stores = self.take_stored(fill.line);
        let Some(slot) = fill.slot else {
            return;
        };
        // A line in flight may have a place, and uses, before it comes.
        let place = self.places[slot.index()];
        if stores || place.used == 0 || place.line != fill.line {
            self.use_line(slot, fill.line, stores, context);
        }
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        self.places[eviction.slot.index()] = Place::default();
    }

    fn on_swap(&mut self, swap: &Swap, context: &mut EventContext<'_>) {
        let is_dirty = swap.state.dirty != 0;
        self.use_line(swap.slot, swap.line, is_dirty, context);
    }
}
