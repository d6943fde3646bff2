//! Partitions' results of a window and their pending work, accumulated for the coordinator.

use crossbeam::utils::CachePadded;

use crate::engine::partition::{Ahead, Partition, Window};
use crate::evaluation::CutActivity;
use crate::sync::Mutex;
use crate::time::Tick;
use crate::world::WorldDriver;

/// Partitions of a run. One thread at a time holds each, on a cache line that no other shares.
pub(crate) type Cells<'a> = [CachePadded<Mutex<&'a mut Partition>>];

/// Tallies of a window, one per thread.
pub(crate) type Tallies = [CachePadded<Mutex<Tally>>];

/// Pending work of the partitions after a window.
#[derive(Clone, Copy)]
pub(super) struct Found {
    /// True if a partition stopped at background work.
    pub(super) held: bool,
    /// Last tick at or after which there is or was foreground work.
    pub(super) alive: Tick,
    pub(super) last_progress: Tick,
    /// True if something happened that may end the run.
    pub(super) may_end: bool,
    /// Foreground work: the earliest tick, and the latest one known.
    pub(super) first: Option<Tick>,
    pub(super) latest: Option<Tick>,
    /// Tick of the next background work.
    pub(super) background: Option<Tick>,
    /// Tick of the next edge, for runs without sleeping.
    pub(super) any_edge: Option<Tick>,
}

/// Returns the minimum of two optional times.
#[inline]
pub(super) fn earlier(a: Option<Tick>, b: Option<Tick>) -> Option<Tick> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Found {
    pub(super) const NOTHING: Self = Self {
        held: false,
        alive: Tick(0),
        last_progress: Tick(0),
        may_end: false,
        first: None,
        latest: None,
        background: None,
        any_edge: None,
    };

    /// Adds the pending work of one partition.
    pub(super) fn add(&mut self, partition: &Partition, sleeping: bool) {
        let foreground = partition.foreground();
        self.background = earlier(self.background, partition.first_background());
        if !sleeping {
            self.any_edge = earlier(self.any_edge, partition.next_any());
        }
        self.add_foreground(partition, foreground);
    }

    /// Adds the pending and completed work of one partition, except background work.
    #[inline]
    pub(super) fn add_foreground(&mut self, partition: &Partition, foreground: Option<Tick>) {
        self.held |= partition.held.is_some();
        // Edges evaluated before this window precede any wake-up held in it.
        self.alive = self.alive.max(partition.now);
        self.last_progress = self.last_progress.max(partition.shared.last_progress);
        self.may_end |= partition.shared.may_end();
        if let Some(foreground) = foreground {
            self.alive = self.alive.max(foreground);
            self.first = earlier(self.first, Some(foreground));
            self.latest = self.latest.max(Some(foreground));
        }
    }

    /// Records that components are to be woken at these ticks.
    pub(super) fn wake(&mut self, first: Tick, last: Tick) {
        self.alive = self.alive.max(last);
        self.first = earlier(self.first, Some(first));
        self.latest = self.latest.max(Some(last));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.held |= other.held;
        self.alive = self.alive.max(other.alive);
        self.last_progress = self.last_progress.max(other.last_progress);
        self.may_end |= other.may_end;
        self.first = earlier(self.first, other.first);
        self.latest = self.latest.max(other.latest);
        self.background = earlier(self.background, other.background);
        self.any_edge = earlier(self.any_edge, other.any_edge);
    }

    pub(super) fn at(cells: &Cells<'_>, sleeping: bool) -> Self {
        let mut found = Self::NOTHING;
        for cell in cells {
            found.add(&cell.lock(), sleeping);
        }
        found
    }
}

/// Results of the partitions that one thread ran in a window, for the coordinator.
pub(crate) struct Tally {
    pub(super) found: Found,
    pub(super) across: Box<CutActivity>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            found: Found::NOTHING,
            across: Box::default(),
        }
    }

    /// Runs the partition in the window if it takes part, and records the results.
    #[inline]
    pub(crate) fn run(
        &mut self,
        partition: &mut Partition,
        window: &Window,
        world: Option<&WorldDriver>,
        sleeping: bool,
    ) {
        if window.resumed && !partition.turn {
            return;
        }
        std::mem::swap(&mut partition.shared.across, &mut self.across);
        let ahead = partition.run(window, world);
        std::mem::swap(&mut partition.shared.across, &mut self.across);
        match ahead {
            Ahead::Wakes(first) => self.found.add_foreground(partition, first),
            Ahead::Various => self.found.add(partition, sleeping),
        }
    }
}
