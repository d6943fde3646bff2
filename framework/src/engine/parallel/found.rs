//! Pending work of the partitions after a window, accumulated for the coordinator.

use crossbeam::utils::CachePadded;

use crate::engine::partition::Partition;
use crate::sync::{AtomicU64, Mutex, Ordering};
use crate::time::Tick;

/// Partitions of a run. One thread at a time holds each, on a cache line that no other shares.
pub(crate) type Cells<'a> = [CachePadded<Mutex<&'a mut Partition>>];

/// Pending work of the partitions after a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Findings of one thread for the coordinator: words on a single cache line, written before the
/// barrier and read after it.
pub(super) struct FoundCell {
    flags: AtomicU64,
    alive: AtomicU64,
    last_progress: AtomicU64,
    first: AtomicU64,
    latest: AtomicU64,
    background: AtomicU64,
    any_edge: AtomicU64,
    /// Time in nanoseconds for which the thread ran partitions in the window.
    busy_ns: AtomicU64,
}

const HELD: u64 = 1;
const MAY_END: u64 = 2;

/// A word for an optional tick; no tick is this late.
fn word(tick: Option<Tick>) -> u64 {
    tick.map_or(u64::MAX, |tick| tick.0)
}

fn tick(word: &AtomicU64) -> Option<Tick> {
    Some(word.load(Ordering::Relaxed))
        .filter(|tick| *tick != u64::MAX)
        .map(Tick)
}

impl FoundCell {
    pub(super) fn new() -> Self {
        let word = || AtomicU64::new(0);
        Self {
            flags: word(),
            alive: word(),
            last_progress: word(),
            first: word(),
            latest: word(),
            background: word(),
            any_edge: word(),
            busy_ns: word(),
        }
    }

    pub(super) fn set(&self, found: &Found, busy_ns: u64) {
        let flags = u64::from(found.held) * HELD + u64::from(found.may_end) * MAY_END;
        let words = [
            (&self.flags, flags),
            (&self.alive, found.alive.0),
            (&self.last_progress, found.last_progress.0),
            (&self.first, word(found.first)),
            (&self.latest, word(found.latest)),
            (&self.background, word(found.background)),
            (&self.any_edge, word(found.any_edge)),
            (&self.busy_ns, busy_ns),
        ];
        for (cell, word) in words {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// Returns what was set, and the busy time in nanoseconds.
    pub(super) fn get(&self) -> (Found, u64) {
        let flags = self.flags.load(Ordering::Relaxed);
        let found = Found {
            held: flags & HELD != 0,
            alive: Tick(self.alive.load(Ordering::Relaxed)),
            last_progress: Tick(self.last_progress.load(Ordering::Relaxed)),
            may_end: flags & MAY_END != 0,
            first: tick(&self.first),
            latest: tick(&self.latest),
            background: tick(&self.background),
            any_edge: tick(&self.any_edge),
        };
        (found, self.busy_ns.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_returns_every_part_of_what_was_found() {
        let found = Found {
            held: false,
            alive: Tick(1),
            last_progress: Tick(2),
            may_end: true,
            first: Some(Tick(3)),
            latest: Some(Tick(4)),
            background: Some(Tick(0)),
            any_edge: Some(Tick(6)),
        };
        let cell = FoundCell::new();
        for found in [
            found,
            Found::NOTHING,
            Found {
                held: true,
                ..Found::NOTHING
            },
        ] {
            cell.set(&found, 7);
            assert_eq!(cell.get(), (found, 7));
        }
    }
}
