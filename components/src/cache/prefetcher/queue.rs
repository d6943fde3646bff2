//! Prefetch queue, and tracking of whether prefetched lines were useful.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Instrumented, State, Stateful, Statistics};

use super::{PrefetchSpec, Prefetcher};
use crate::cache::policy::{CacheSite, Eviction, Fill, MissDecision, TagLookup};
use crate::cache::tag_array::Slot;
use crate::memory::{MemRequest, Source, flags};

/// Interface through which a prefetcher requests lines during an event.
pub struct PrefetchContext<'a> {
    cycle: Cycle,
    site: &'a CacheSite,
    /// Line of the event that the prefetcher is handling.
    line: u64,
    source: Source,
    budget: &'a PrefetchSpec,
    queue: &'a mut VecDeque<Trigger>,
    counts: &'a mut Counts,
}

impl PrefetchContext<'_> {
    /// Returns the cycle in which the event happens.
    pub fn cycle(&self) -> Cycle {
        self.cycle
    }

    /// Requests the line that contains this address. The address selects the part of the cache;
    /// without one, the first part is used. The request is dropped and counted if the queue is
    /// full, or if the line belongs to another slice than the event's line.
    pub fn fetch(&mut self, line: u64) {
        let offset = u64::from(self.site.line_bytes - 1);
        let (address, part) = (line & !offset, line & offset);
        let part = if part < u64::from(self.site.partitions) {
            part
        } else {
            0
        };
        let line = address | part;
        if self.queue.iter().any(|queued| queued.line == line) {
            self.counts.redundant += 1;
        } else if self.queue.len() >= self.budget.queue_entries as usize
            || !self.site.is_with(self.line, address)
        {
            self.counts.dropped += 1;
        } else {
            let source = self.source;
            self.queue.push_back(Trigger { line, source });
        }
    }
}

/// Requested line, with the source that triggered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cache) struct Trigger {
    /// Line address, including its cache part.
    pub(in crate::cache) line: u64,
    pub(in crate::cache) source: Source,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Statistics)]
struct Counts {
    /// Lines prefetched.
    #[statistic(name = "prefetches_issued", unit = "lines")]
    issued: u64,
    /// Lines prefetched and then used, once each.
    #[statistic(name = "prefetches_useful", unit = "lines")]
    useful: u64,
    /// Lines prefetched that a request wanted while they were under way.
    #[statistic(name = "prefetches_late", unit = "lines")]
    late: u64,
    /// Lines prefetched that left without being used, or found no place.
    #[statistic(name = "prefetches_unused", unit = "lines")]
    unused: u64,
    /// Lines wanted by a prefetcher that were here, under way or wanted already.
    #[statistic(name = "prefetches_redundant", unit = "lines")]
    redundant: u64,
    /// Lines wanted by a prefetcher when too many waited, or of another slice.
    #[statistic(name = "prefetches_dropped", unit = "lines")]
    dropped: u64,
}

/// The prefetchers of one cache, with their queue and statistics.
pub(in crate::cache) struct Prefetches {
    prefetchers: Vec<Box<dyn Prefetcher>>,
    budget: PrefetchSpec,
    queue: VecDeque<Trigger>,
    /// Outstanding prefetches that no demand request has joined.
    under_way: u32,
    /// For each place: true if its line was prefetched and not used yet.
    unused: Vec<bool>,
    counts: Counts,
}

impl Prefetches {
    pub(in crate::cache) fn new(
        prefetchers: Vec<Box<dyn Prefetcher>>,
        budget: PrefetchSpec,
        lines: u32,
    ) -> Self {
        let lines = if prefetchers.is_empty() { 0 } else { lines };
        Self {
            prefetchers,
            budget,
            queue: VecDeque::new(),
            under_way: 0,
            unused: vec![false; lines as usize],
            counts: Counts::default(),
        }
    }

    #[inline]
    pub(in crate::cache) fn is_empty(&self) -> bool {
        self.prefetchers.is_empty()
    }

    /// Returns the line at the head of the prefetch queue.
    #[inline]
    pub(in crate::cache) fn first(&self) -> Option<&Trigger> {
        self.queue.front()
    }

    /// True if the budget allows another prefetch with this many MSHRs free.
    pub(in crate::cache) fn may_issue(&self, mshrs_free: u32) -> bool {
        self.under_way < self.budget.outstanding_max && mshrs_free > self.budget.mshrs_left
    }

    pub(in crate::cache) fn per_cycle(&self) -> u32 {
        self.budget.per_cycle
    }

    /// Removes and returns the first line of the queue to be fetched.
    pub(in crate::cache) fn issue(&mut self) -> Option<Trigger> {
        self.counts.issued += 1;
        self.under_way += 1;
        self.queue.pop_front()
    }

    /// Drops the first line of the queue, which is present or in flight.
    pub(in crate::cache) fn skip(&mut self) {
        self.counts.redundant += 1;
        self.queue.pop_front();
    }

    /// Records that a demand request joined an outstanding prefetch.
    pub(in crate::cache) fn is_late(&mut self) {
        self.counts.late += 1;
        self.under_way -= 1;
    }

    /// Records that a prefetch completed before any request joined it; its line is in `slot`, if it
    /// has one.
    pub(in crate::cache) fn is_over(&mut self, slot: Option<Slot>) {
        self.under_way -= 1;
        match slot {
            Some(slot) => self.unused[slot.index()] = true,
            None => self.counts.unused += 1,
        }
    }

    /// Records a use of the line in this slot.
    pub(in crate::cache) fn is_used(&mut self, slot: Slot) {
        self.counts.useful += u64::from(std::mem::take(&mut self.unused[slot.index()]));
    }

    /// Records that the line in this slot was evicted.
    fn has_left(&mut self, slot: Slot) {
        self.counts.unused += u64::from(std::mem::take(&mut self.unused[slot.index()]));
    }

    fn notify(
        &mut self,
        site: &CacheSite,
        cause: Trigger,
        cycle: Cycle,
        event: impl Fn(&mut dyn Prefetcher, &mut PrefetchContext<'_>),
    ) {
        let mut context = PrefetchContext {
            cycle,
            site,
            line: cause.line,
            source: cause.source,
            budget: &self.budget,
            queue: &mut self.queue,
            counts: &mut self.counts,
        };
        for prefetcher in &mut self.prefetchers {
            event(&mut **prefetcher, &mut context);
        }
    }

    pub(in crate::cache) fn on_access(
        &mut self,
        site: &CacheSite,
        access: &TagLookup<'_>,
        hit: bool,
        now: Cycle,
    ) {
        if is_injected(access.request) {
            return;
        }
        let (line, source) = (access.line, access.request.source);
        let trigger = Trigger { line, source };
        self.notify(site, trigger, now, |prefetcher, context| {
            prefetcher.on_access(access, hit, context);
        });
    }

    pub(in crate::cache) fn on_miss(
        &mut self,
        site: &CacheSite,
        miss: &TagLookup<'_>,
        did: MissDecision,
        now: Cycle,
    ) {
        if is_injected(miss.request) {
            return;
        }
        let (line, source) = (miss.line, miss.request.source);
        let trigger = Trigger { line, source };
        self.notify(site, trigger, now, |prefetcher, context| {
            prefetcher.on_miss(miss, did, context);
        });
    }

    pub(in crate::cache) fn on_fill(&mut self, site: &CacheSite, fill: &Fill, now: Cycle) {
        let (line, source) = (fill.line, fill.source);
        let trigger = Trigger { line, source };
        self.notify(site, trigger, now, |prefetcher, context| {
            prefetcher.on_fill(fill, context);
        });
    }

    pub(in crate::cache) fn on_evict(&mut self, site: &CacheSite, eviction: &Eviction, now: Cycle) {
        if self.is_empty() {
            return;
        }
        self.has_left(eviction.slot);
        let (line, source) = (eviction.line, eviction.owner);
        let trigger = Trigger { line, source };
        self.notify(site, trigger, now, |prefetcher, context| {
            prefetcher.on_evict(eviction, context);
        });
    }
}

/// True if a request is one that a compute unit injected, which trains no prefetcher.
fn is_injected(request: &MemRequest) -> bool {
    request.flags & flags::INJECTED != 0
}

impl Stateful for Prefetches {
    fn state(&mut self, state: &mut State<'_>) {
        if self.is_empty() {
            return;
        }
        state.field("queue", &mut self.queue);
        state.field("under_way", &mut self.under_way);
        state.array("unused", &mut self.unused);
        state.field("counts", &mut self.counts);
        for (i, prefetcher) in self.prefetchers.iter_mut().enumerate() {
            state.part(&i.to_string(), |state| prefetcher.state(state));
        }
    }
}

impl Instrumented for Prefetches {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        if self.is_empty() {
            return;
        }
        self.counts.statistics(statistics);
        for prefetcher in &self.prefetchers {
            prefetcher.statistics(statistics);
        }
    }
}
