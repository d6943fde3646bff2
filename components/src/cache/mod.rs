//! The cache: one block for a first-level cache and for a slice of the second level.
//!
//! ```text
//!   up.request ─► tag look-up ─┬─ hit ──► hit pipeline ───────────────┬─► up.response
//!                 (1 / cycle)  ├─ miss ─► MSHR ─┐                     │
//!   control ─► invalidation    └─ pass ─► table ┤    ┌─ return queue ─┘
//!                                               ▼    │
//!                 victim's copy-back ─► miss queue   MSHR fill, table acknowledgement (1 / cycle)
//!                                               ▼    ▲
//!                                    down.request    down.response
//! ```
//!
//! # Ports
//! | name | direction | message | back-pressure means |
//! |---|---|---|---|
//! | `up.request` | in | [`MemRequest`] | the head request is blocked, see the statistics `blocked_*` |
//! | `up.response` | out | [`MemResponse`] | hits wait in their pipeline, fills in their MSHR |
//! | `down.request` | out | [`MemRequest`] | requests wait in the miss queue |
//! | `down.response` | in | [`MemResponse`] | never: one per cycle is always taken |
//! | `control.command` | in | [`CacheCommand`] | an invalidation is being carried out (optional) |
//! | `control.done` | out | [`CacheCommandDone`] | its answer waits (optional) |
//!
//! # Behaviour
//! One request per cycle is accepted, in order. A request whose resources are missing blocks those
//! behind it; nothing is dropped or retried.
//!
//! * A request for a line in flight joins its MSHR ("hit reserved") and causes no traffic. It is
//!   answered in its turn after the fill.
//! * **Write-evict**: a write goes down and is acknowledged from there. A copy of its line is
//!   dropped; a line in flight is not installed, and a later read opens another MSHR for it.
//! * **Write-back**: a write stays in the line. [`PartialWrite`] says how a write to an absent line
//!   is taken. A dirty victim leaves as a copy-back of its dirty words, ahead of the miss that
//!   displaced it.
//! * **Atomics** go down like writes of a write-evict cache, or are carried out here, at most one
//!   per cycle; then the line becomes dirty, whatever the write policy.
//! * Requests flagged [`flags::BYPASS_L1`] pass through a cache of level L1.
//! * Any passing request, reads included, drops the copy of its line and keeps a line in flight from
//!   being installed; dirty words go down ahead of it.
//! * A request that would pass a line in flight for which writes or atomics wait is blocked until
//!   they are answered; so is a write that allocates without fetching while a passing request for
//!   its line, or a read that such a request overtook, is not answered.
//! * **Invalidation**: no request is accepted while one is pending. When every request accepted
//!   before is answered and everything for below is sent, all clean lines are dropped (dirty ones
//!   stay) and the command is answered in the same cycle.
//!
//! Order: answers for one line leave in the order of its requests, whatever their source, provided
//! the level below keeps that order for what it is sent. Lines above may be shorter than those of
//! this cache, never longer; all of a line is fetched.
//!
//! The `write_sequence` of a response is the highest one known, at the request's place in that
//! order, of the line where the data came from: kept per line, raised by writes, atomics and
//! fills, handed down with copy-backs. Numbers of several compute units are compared as they are,
//! so freshness can be proved only for a line written by one of them.
//!
//! # Timing
//! `c` is the cycle in which a request is accepted: the first in which it is readable, at the head
//! and not blocked. Without contention for ports:
//!
//! * hit: answered in `c + hit_latency_cycles` (atomic executed here: `+ latency_cycles`); hits
//!   leave in order, so those behind an atomic wait for it;
//! * miss or passing request: sent down in `c + miss_latency_cycles`, one cycle later if its victim
//!   is copied back; one request per cycle leaves;
//! * fill or acknowledgement readable in `f`: first answer in `f + fill_latency_cycles`, but never
//!   before a hit accepted in `c` would be; further waiters follow at `responses_per_cycle`. Fills
//!   are answered one after the other, in order of arrival;
//! * invalidation: answered in the cycle of its arrival if nothing is in flight.
//!
//! The response whose turn came first leaves first; at equal turns hits leave before fills. Zero-load
//! latency of a miss, from readable above to answered:
//! `miss_latency_cycles + wire down + level below + wire up + fill_latency_cycles`, or
//! `hit_latency_cycles` if that is more.
//!
//! # Example
//! ```
//! use warpweave_components::cache::*;
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::TestBench;
//!
//! let cache = Cache::new(CacheSpec {
//!     level: CacheLevel::L1,
//!     size_bytes: 16 << 10,
//!     line_bytes: 128,
//!     ways: 4,
//!     interleave: None,
//!     replacement: Replacement::Lru,
//!     allocate: AllocatePolicy::OnMiss,
//!     write: WritePolicy::WriteEvict,
//!     atomics: AtomicPolicy::Forward,
//!     mshr_entries: 32,
//!     mshr_merges: 8,
//!     pass_entries: 32,
//!     miss_queue_entries: 8,
//!     hit_latency_cycles: 20,
//!     miss_latency_cycles: 4,
//!     fill_latency_cycles: 2,
//!     responses_per_cycle: 1,
//! })?;
//! let mut bench = TestBench::new();
//! bench.add("l1", cache);
//! let above = bench.source::<MemRequest>("l1.up.request");
//! let answers = bench.sink::<MemResponse>("l1.up.response");
//! let fetches = bench.sink::<MemRequest>("l1.down.request");
//! let fills = bench.source::<MemResponse>("l1.down.response");
//!
//! let read = MemRequest::read(7, 0x1000, 1);
//! above.send_at(10, read);
//! let (cycle, fetch) = bench.receive(&fetches);
//! assert_eq!(cycle, 10 + 4);
//! fills.send_at(100, fetch.answer(Level::L2));
//! bench.expect_at(&answers, 100 + 2, &read.answer(Level::L2));
//! above.send_at(200, read);
//! bench.expect_at(&answers, 200 + 20, &read.answer(Level::L1));
//! # Ok::<(), warpweave_framework::SpecError>(())
//! ```
//!
//! # Not modelled
//! Data; banks and port conflicts of the data array; sectored fetching; ECC; replacement other than
//! [`Replacement`]; scrubbing of dirty lines at an invalidation.

mod mshr_file;
mod pass_table;
#[cfg(test)]
mod random_traffic;
mod spec;
mod statistics;
mod tag_array;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use warpweave_framework::{
    Component, Context, Cycle, Environment, Kind, Next, Ports, SpecError, Statistics, Waits,
};

pub use self::mshr_file::{Entry, MshrFile, Waiter};
pub use self::pass_table::{PassTable, Passed};
pub use self::spec::{
    AllocatePolicy, AtomicPolicy, CacheLevel, CacheSpec, PartialWrite, WritePolicy,
};
use self::statistics::{Blocked, CacheStats, Outcome};
pub use self::tag_array::{Geometry, LineState, Replacement, Slot, TagArray};
#[cfg(doc)]
use crate::launch::CacheCommand;
use crate::launch::{CacheCommandDone, CacheControlSlave};
use crate::memory::{
    Level, MemMaster, MemRequest, MemResponse, MemSlave, RequestKind, flags, full_line,
};

/// A cache; see the module.
pub struct Cache {
    spec: CacheSpec,
    level: Level,
    /// Every word of a line.
    full: u32,
    tags: TagArray,
    mshrs: MshrFile,
    passing: PassTable,
    /// Hits on their way up, in order, with the cycle in which they leave.
    hits: VecDeque<(Cycle, MemResponse)>,
    hits_max: usize,
    /// Turn of the hit accepted last.
    last_hit: Cycle,
    /// Requests on their way down, in order, with the cycle in which they leave. Up to
    /// `miss_queue_entries` from accepted requests; a fill may add the copy-back of its victim
    /// beyond that, so that fills never wait: at most one per MSHR before the queue moves.
    misses: VecDeque<(Cycle, MemRequest)>,
    /// What came from below and is not fully answered, in order of arrival.
    returns: VecDeque<Return>,
    /// Messages sent and waiters answered so far: tells whether an evaluation made room.
    moves: u64,
    stats: CacheStats,
    up: MemSlave,
    down: MemMaster,
    control: CacheControlSlave,
}

/// Something from below that allows answers.
#[derive(Clone, Copy, Debug)]
enum Return {
    /// The waiters of this MSHR.
    Fill(u32),
    /// The request at this place of the table.
    Passed(u32),
}

/// A request in terms of this cache's lines.
#[derive(Clone, Copy, Debug)]
struct Access {
    line: u64,
    words: u32,
}

/// What is to be done with a request whose resources are there.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// Answer from the line; a copy-back from above is just taken.
    Hit(Slot),
    /// Put the written words into a new line.
    WriteNew(Slot),
    /// Wait with others for a line in flight.
    Join(u32),
    /// Fetch missing words of a line that is present.
    FetchRest(Slot),
    /// Fetch a line, into this place if one is reserved.
    Fetch(Option<Slot>),
    /// Hand it down.
    Pass(PassEffect),
}

/// What a passing request does to the copy of its line.
#[derive(Clone, Copy, Debug)]
enum PassEffect {
    Nothing,
    Drop(Slot),
    /// The fill of this MSHR is not installed.
    Close(u32),
}

/// Why a request is not for this cache: a neighbour broke the protocol.
const LONGER_LINE: &str = "touches words outside one line: lines above must not be longer";

impl Kind for Cache {
    const NAME: &'static str = "Cache";
    const SUMMARY: &'static str =
        "Set-associative cache with MSHRs: a first-level cache or a slice of the second level.";
    type Spec = CacheSpec;

    fn build(spec: CacheSpec, _environment: &Environment) -> Result<Self, SpecError> {
        Self::new(spec)
    }
}

impl Cache {
    /// Builds an empty cache.
    ///
    /// # Errors
    /// As [`CacheSpec::check`].
    pub fn new(spec: CacheSpec) -> Result<Self, SpecError> {
        let geometry = spec.check()?;
        let hits_max = (spec.hit_latency_cycles + spec.atomic_latency_cycles()) as usize + 1;
        let in_flight = (spec.mshr_entries + spec.pass_entries) as usize;
        Ok(Self {
            level: spec.level.into(),
            full: full_line(spec.line_bytes),
            tags: TagArray::new(geometry, spec.replacement),
            mshrs: MshrFile::new(spec.mshr_entries, spec.mshr_merges),
            passing: PassTable::new(spec.pass_entries),
            hits: VecDeque::with_capacity(hits_max),
            hits_max,
            last_hit: 0,
            misses: VecDeque::with_capacity(
                (spec.miss_queue_entries + spec.mshr_entries) as usize + 1,
            ),
            returns: VecDeque::with_capacity(in_flight),
            moves: 0,
            stats: CacheStats::default(),
            up: MemSlave::default(),
            down: MemMaster::default(),
            control: CacheControlSlave::default(),
            spec,
        })
    }

    /// Takes one fill or acknowledgement.
    fn take_return(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let Some(response) = self.down.response.pop(ctx) else {
            return;
        };
        let ready = now + Cycle::from(self.spec.fill_latency_cycles);
        let entries = self.spec.mshr_entries;
        let taken = if response.id < entries {
            self.fill(&response, ready, now)
        } else {
            self.acknowledge(&response, ready)
        };
        if !taken {
            ctx.fail(format!(
                "cache received a response that answers no request of its: {response:?}"
            ));
        }
    }

    /// The line of an MSHR has come. False when it was not asked for.
    fn fill(&mut self, response: &MemResponse, ready: Cycle, now: Cycle) -> bool {
        let index = response.id;
        match self.mshrs.get(index) {
            Some(entry)
                if entry.filled_by.is_none()
                    && entry.line == response.line
                    && entry.asked & !response.words == 0 => {}
            _ => return false,
        }
        self.stats.fills += 1;
        let keep = self.mshrs.find(response.line) == Some(index);
        let entry = self.mshrs.entry_mut(index);
        entry.filled_by = Some(response.level);
        entry.fill_sequence = response.write_sequence;
        entry.ready = entry.ready.max(ready);
        if keep && entry.slot.is_none() {
            entry.slot = self.tags.victim(response.line);
            if let Some(slot) = entry.slot {
                self.evict(slot, now);
                self.tags.occupy(slot, response.line);
                self.tags.lock(slot);
            }
        }
        let entry = self.mshrs.entry_mut(index);
        if let Some(slot) = entry.slot {
            let state = self.tags.state_mut(slot);
            state.valid = self.full;
            state.dirty |= entry.dirty;
            state.write_sequence = entry.write_sequence.max(entry.fill_sequence);
            state.mshr = Some(index);
        } else {
            self.stats.fills_not_installed += 1;
        }
        self.returns.push_back(Return::Fill(index));
        true
    }

    /// A request that passed is answered. False when it was not asked.
    fn acknowledge(&mut self, response: &MemResponse, ready: Cycle) -> bool {
        let index = response.id - self.spec.mshr_entries;
        match self.passing.get_mut(index) {
            Some(passed) if passed.answer.is_none() && passed.request.line == response.line => {
                passed.ready = passed.ready.max(ready);
                passed.answer = Some(MemResponse {
                    write_sequence: response.write_sequence,
                    ..passed.request.answer(response.level)
                });
                self.returns.push_back(Return::Passed(index));
                true
            }
            _ => false,
        }
    }

    /// Accepts the request at the head of the input unless something it needs is missing.
    fn accept(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let Some(request) = self.up.request.peek(ctx).copied() else {
            return false;
        };
        if self.command_pending(ctx) {
            self.stats.blocked.set(now, Some(Blocked::Invalidation));
            return false;
        }
        let Some(access) = self.access(&request) else {
            ctx.fail(format!("cache: {request:?} {LONGER_LINE}"));
            return false;
        };
        match self.decide(&request, access) {
            Ok(action) => {
                self.stats.blocked.set(now, None);
                self.up.request.pop(ctx);
                self.perform(&request, access, action, now);
                true
            }
            Err(reason) => {
                self.stats.blocked.set(now, Some(reason));
                false
            }
        }
    }

    /// The request in terms of this cache's lines, none if it leaves a line.
    #[inline]
    fn access(&self, request: &MemRequest) -> Option<Access> {
        let line = request.line & !u64::from(self.spec.line_bytes - 1);
        let first = (request.line - line) / 4;
        let words = u64::from(request.words) << first;
        (words & !u64::from(self.full) == 0).then_some(Access {
            line,
            words: words as u32,
        })
    }

    /// What to do with a request, or what it lacks. Changes nothing.
    #[inline]
    fn decide(&self, request: &MemRequest, access: Access) -> Result<Action, Blocked> {
        let slot = self.tags.find(access.line);
        let entry = match slot {
            Some(slot) => self.tags.state(slot).mshr,
            None => self.mshrs.find(access.line),
        };
        if self.passes(request) {
            return self.decide_pass(request, slot, entry).map(Action::Pass);
        }
        if let Some(entry) = entry {
            return if self.mshrs.can_join(entry) {
                Ok(Action::Join(entry))
            } else {
                Err(Blocked::Merges)
            };
        }
        let writes = stores(request.kind);
        if let Some(slot) = slot {
            return if writes || access.words & !self.tags.state(slot).valid == 0 {
                self.hit_room(request).map(|()| Action::Hit(slot))
            } else {
                self.miss_room(1).map(|()| Action::FetchRest(slot))
            };
        }
        let fetch_partial = matches!(
            self.spec.write,
            WritePolicy::WriteBack {
                partial: PartialWrite::Fetch
            }
        );
        if writes && !(fetch_partial && access.words != self.full) {
            if self.passing.holds(access.line, self.spec.line_bytes)
                || self.mshrs.holds_closed(access.line)
            {
                return Err(Blocked::LineBusy);
            }
            let victim = self.victim_room(access.line, 0)?;
            return self.hit_room(request).map(|()| Action::WriteNew(victim));
        }
        match self.spec.allocate {
            AllocatePolicy::OnFill => self.miss_room(1).map(|()| Action::Fetch(None)),
            AllocatePolicy::OnMiss => {
                self.miss_room(1)?;
                let victim = self.victim_room(access.line, 1)?;
                Ok(Action::Fetch(Some(victim)))
            }
        }
    }

    /// Whether the request is handed down instead of being served here.
    #[inline]
    fn passes(&self, request: &MemRequest) -> bool {
        if request.flags & flags::BYPASS_L1 != 0 && self.level == Level::L1 {
            return true;
        }
        match request.kind {
            RequestKind::Read | RequestKind::Prefetch => false,
            RequestKind::Write | RequestKind::CopyBack => {
                self.spec.write == WritePolicy::WriteEvict
            }
            RequestKind::Atomic => self.spec.atomics == AtomicPolicy::Forward,
        }
    }

    fn decide_pass(
        &self,
        request: &MemRequest,
        slot: Option<Slot>,
        entry: Option<u32>,
    ) -> Result<PassEffect, Blocked> {
        if request.kind.wants_response() && self.passing.is_full() {
            return Err(Blocked::PassTable);
        }
        let slot_dirty = slot.is_some_and(|slot| self.tags.state(slot).dirty != 0);
        if let Some(index) = entry {
            let entry = self.mshrs.get(index).expect("the index came from the file");
            if entry.dirty != 0 || slot_dirty {
                return Err(Blocked::LineBusy);
            }
        }
        self.queue_room(1 + u32::from(slot_dirty))?;
        // Reads too: a copy left in place could answer a later request first.
        Ok(match (entry, slot) {
            (Some(entry), _) => PassEffect::Close(entry),
            (None, Some(slot)) => PassEffect::Drop(slot),
            (None, None) => PassEffect::Nothing,
        })
    }

    #[inline]
    fn hit_room(&self, request: &MemRequest) -> Result<(), Blocked> {
        if self.hits.len() < self.hits_max || !request.kind.wants_response() {
            Ok(())
        } else {
            Err(Blocked::Responses)
        }
    }

    fn queue_room(&self, requests: u32) -> Result<(), Blocked> {
        if self.misses.len() + requests as usize <= self.spec.miss_queue_entries as usize {
            Ok(())
        } else {
            Err(Blocked::MissQueue)
        }
    }

    fn miss_room(&self, requests: u32) -> Result<(), Blocked> {
        if self.mshrs.is_full() {
            return Err(Blocked::Mshrs);
        }
        self.queue_room(requests)
    }

    /// The way a new line would take, if the miss queue has room for its copy-back and `requests`
    /// more.
    fn victim_room(&self, line: u64, requests: u32) -> Result<Slot, Blocked> {
        let slot = self.tags.victim(line).ok_or(Blocked::Ways)?;
        let dirty = self.tags.state(slot).dirty != 0;
        self.queue_room(requests + u32::from(dirty))?;
        Ok(slot)
    }

    fn perform(&mut self, request: &MemRequest, access: Access, action: Action, now: Cycle) {
        let kind = request.kind;
        match action {
            Action::Hit(slot) => {
                self.stats.count(kind, Outcome::Hit);
                self.tags.touch(slot);
                self.answer_hit(request, access, slot, now);
            }
            Action::WriteNew(slot) => {
                self.stats.count(kind, Outcome::Miss);
                self.evict(slot, now);
                self.tags.occupy(slot, access.line);
                self.answer_hit(request, access, slot, now);
            }
            Action::Join(entry) => {
                self.stats.count(kind, Outcome::HitReserved);
                if let Some(slot) = self.mshrs.get(entry).and_then(|e| e.slot) {
                    self.tags.touch(slot);
                }
                self.join(entry, request, access, now, false);
            }
            Action::FetchRest(slot) => {
                self.stats.count(kind, Outcome::Miss);
                self.stats.partial_misses += 1;
                self.tags.touch(slot);
                self.fetch(request, access, Some(slot), now);
            }
            Action::Fetch(slot) => {
                self.stats.count(kind, Outcome::Miss);
                if let Some(slot) = slot {
                    self.evict(slot, now);
                    self.tags.occupy(slot, access.line);
                }
                self.fetch(request, access, slot, now);
            }
            Action::Pass(effect) => self.pass(request, access, effect, now),
        }
    }

    /// Serves a request from its line and puts the answer into the hit pipeline.
    #[inline]
    fn answer_hit(&mut self, request: &MemRequest, access: Access, slot: Slot, now: Cycle) {
        let state = self.tags.state_mut(slot);
        if modifies(request.kind) {
            state.valid |= access.words;
            state.dirty |= access.words;
            state.write_sequence = state.write_sequence.max(request.write_sequence);
        }
        if !request.kind.wants_response() {
            return;
        }
        let response = MemResponse {
            write_sequence: state.write_sequence,
            ..request.answer(self.level)
        };
        let turn = now + Cycle::from(self.latency(request.kind));
        self.last_hit = self.last_hit.max(turn);
        self.hits.push_back((self.last_hit, response));
    }

    /// Cycles from acceptance to answer of a hit of this kind.
    #[inline]
    fn latency(&self, kind: RequestKind) -> u32 {
        self.spec.hit_latency_cycles
            + if kind == RequestKind::Atomic {
                self.spec.atomic_latency_cycles()
            } else {
                0
            }
    }

    /// Sends down what a victim holds that is newer than below. The slot is free afterwards.
    fn evict(&mut self, slot: Slot, now: Cycle) {
        if let Some(line) = self.tags.line(slot) {
            self.stats.evictions += 1;
            let LineState {
                dirty,
                write_sequence,
                ..
            } = *self.tags.state(slot);
            self.copy_back(line, dirty, write_sequence, now);
        }
    }

    fn copy_back(&mut self, line: u64, words: u32, write_sequence: u32, now: Cycle) {
        if words != 0 {
            self.stats.copy_backs += 1;
            let request = MemRequest {
                kind: RequestKind::CopyBack,
                write_sequence,
                ..MemRequest::read(0, line, words)
            };
            self.send_later(request, now);
        }
    }

    fn send_later(&mut self, request: MemRequest, now: Cycle) {
        let turn = now + Cycle::from(self.spec.miss_latency_cycles);
        self.misses.push_back((turn, request));
    }

    /// Opens an MSHR for the line and asks for what is missing of it.
    fn fetch(&mut self, request: &MemRequest, access: Access, slot: Option<Slot>, now: Cycle) {
        let index = self.mshrs.allocate(access.line);
        self.stats.mshrs.add(now, 1);
        let entry = self.mshrs.entry_mut(index);
        entry.slot = slot;
        entry.asked = self.full;
        entry.ready = self
            .last_hit
            .max(now + Cycle::from(self.spec.hit_latency_cycles));
        if let Some(slot) = slot {
            self.tags.lock(slot);
            let state = self.tags.state_mut(slot);
            state.mshr = Some(index);
            entry.asked = self.full & !state.valid;
            entry.write_sequence = state.write_sequence;
        }
        let kind = match request.kind {
            RequestKind::Prefetch => RequestKind::Prefetch,
            _ => RequestKind::Read,
        };
        let fetch = MemRequest {
            line: access.line,
            id: index,
            words: entry.asked,
            kind,
            write_sequence: 0,
            ..*request
        };
        self.join(index, request, access, now, true);
        self.send_later(fetch, now);
    }

    /// Adds a request to those that wait for a line, or for its earlier waiters to be answered.
    fn join(
        &mut self,
        index: u32,
        request: &MemRequest,
        access: Access,
        now: Cycle,
        primary: bool,
    ) {
        let entry = self.mshrs.entry_mut(index);
        if modifies(request.kind) {
            entry.dirty |= access.words;
            entry.write_sequence = entry.write_sequence.max(request.write_sequence);
            if let (Some(_), Some(slot)) = (entry.filled_by, entry.slot) {
                let state = self.tags.state_mut(slot);
                state.dirty |= access.words;
                state.write_sequence = state.write_sequence.max(request.write_sequence);
            }
        }
        let waiter = Waiter {
            request: *request,
            accepted: now,
            write_sequence: entry.write_sequence,
            primary,
        };
        self.mshrs.join(index, waiter);
    }

    /// Hands a request down.
    fn pass(&mut self, request: &MemRequest, access: Access, effect: PassEffect, now: Cycle) {
        let writes = stores(request.kind) && self.spec.write == WritePolicy::WriteEvict;
        let outcome = match effect {
            _ if !writes => Outcome::Passed,
            PassEffect::Nothing => Outcome::Miss,
            PassEffect::Drop(_) => Outcome::Hit,
            PassEffect::Close(_) => Outcome::HitReserved,
        };
        self.stats.count(request.kind, outcome);
        match effect {
            PassEffect::Nothing => {}
            PassEffect::Drop(slot) => {
                let state = *self.tags.state(slot);
                self.stats.write_evictions += 1;
                self.copy_back(access.line, state.dirty, state.write_sequence, now);
                self.tags.clear(slot);
            }
            PassEffect::Close(index) => {
                self.mshrs.close(index);
                if let Some(slot) = self.mshrs.entry_mut(index).slot.take() {
                    self.stats.write_evictions += 1;
                    self.tags.clear(slot);
                }
            }
        }
        let id = if request.kind.wants_response() {
            let ready = self
                .last_hit
                .max(now + Cycle::from(self.spec.hit_latency_cycles));
            let passed = Passed {
                request: *request,
                ready,
                answer: None,
            };
            self.spec.mshr_entries + self.passing.insert(passed)
        } else {
            0
        };
        self.send_later(MemRequest { id, ..*request }, now);
    }

    /// Sends the oldest request down whose time has come. Returns when to try again, if time
    /// decides.
    fn send_down(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Option<Cycle> {
        let &(turn, request) = self.misses.front()?;
        if turn > now {
            return Some(turn);
        }
        if self.down.request.try_send(ctx, request).is_err() {
            return None;
        }
        self.misses.pop_front();
        self.moves += 1;
        let &(turn, _) = self.misses.front()?;
        Some(turn.max(now + 1))
    }

    /// Sends up what is due, oldest turn first. Returns when to try again, if time decides.
    fn respond(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Option<Cycle> {
        let mut left = self.spec.responses_per_cycle;
        loop {
            let hit = self.hits.front().map(|&(turn, _)| turn);
            let returned = self.return_turn();
            let turn = match (hit, returned) {
                (Some(hit), Some(returned)) => hit.min(returned),
                (hit, returned) => hit.or(returned)?,
            };
            if turn > now || left == 0 {
                return Some(turn.max(now + 1));
            }
            if !self.up.response.can_send(ctx) {
                return None;
            }
            self.moves += 1;
            if hit == Some(turn) {
                let (_, response) = self.hits.pop_front().expect("its turn was just seen");
                self.up.response.send(ctx, response);
                left -= 1;
            } else if let Some(response) = self.take_answer(now) {
                self.up.response.send(ctx, response);
                left -= 1;
            }
        }
    }

    /// When the oldest return allows its next answer.
    #[inline]
    fn return_turn(&self) -> Option<Cycle> {
        match *self.returns.front()? {
            Return::Passed(index) => self.passing.get(index).map(|passed| passed.ready),
            Return::Fill(index) => {
                let entry = self.mshrs.get(index)?;
                let atomic = self
                    .mshrs
                    .front(index)
                    .is_some_and(|w| w.request.kind == RequestKind::Atomic);
                let extra = if atomic {
                    self.spec.atomic_latency_cycles()
                } else {
                    0
                };
                Some(entry.ready + Cycle::from(extra))
            }
        }
    }

    /// Takes the next answer of the oldest return; none if that was a copy-back from above.
    fn take_answer(&mut self, now: Cycle) -> Option<MemResponse> {
        let index = match *self.returns.front()? {
            Return::Fill(index) => index,
            Return::Passed(index) => {
                self.returns.pop_front();
                return self.passing.remove(index)?.answer;
            }
        };
        let waiter = self.mshrs.pop_front(index)?;
        let entry = *self.mshrs.get(index)?;
        let request = &waiter.request;
        if waiter.primary && request.kind == RequestKind::Read {
            self.stats.read_miss_latency.record(now - waiter.accepted);
        }
        let level = match entry.filled_by {
            Some(level) if !stores(request.kind) => level,
            _ => self.level,
        };
        if self.mshrs.front(index).is_none() {
            self.retire(index, &entry, now);
        }
        request.kind.wants_response().then(|| MemResponse {
            write_sequence: waiter.write_sequence.max(entry.fill_sequence),
            ..request.answer(level)
        })
    }

    /// Gives back an MSHR whose last waiter is answered.
    fn retire(&mut self, index: u32, entry: &Entry, now: Cycle) {
        self.returns.pop_front();
        self.mshrs.release(index);
        self.stats.mshrs.sub(now, 1);
        if let Some(slot) = entry.slot {
            self.tags.unlock(slot);
            self.tags.state_mut(slot).mshr = None;
        } else {
            let sequence = entry.write_sequence.max(entry.fill_sequence);
            self.copy_back(entry.line, entry.dirty, sequence, now);
        }
    }

    fn command_pending(&self, ctx: &Context<'_>) -> bool {
        self.control.command.is_connected() && self.control.command.peek(ctx).is_some()
    }

    /// Nothing is in flight, neither up nor down.
    fn is_drained(&self) -> bool {
        self.hits.is_empty()
            && self.misses.is_empty()
            && self.mshrs.is_empty()
            && self.passing.is_empty()
            && self.returns.is_empty()
    }

    /// Carries out a pending invalidation when its time has come.
    fn invalidate(&mut self, ctx: &mut Context<'_>) -> bool {
        if !self.command_pending(ctx) || !self.is_drained() || !self.control.done.can_send(ctx) {
            return false;
        }
        self.control.command.pop(ctx);
        self.stats.invalidations += 1;
        self.stats.lines_invalidated += self.tags.drop_clean();
        self.control.done.send(ctx, CacheCommandDone);
        true
    }

    /// Whether the next cycle has work that no message, credit or time announces.
    fn has_work(&self, ctx: &Context<'_>, accepted: bool, invalidated: bool, moved: bool) -> bool {
        if self.down.response.peek(ctx).is_some() {
            return true;
        }
        let pending = self.command_pending(ctx);
        if invalidated && pending {
            return true;
        }
        match self.up.request.peek(ctx) {
            Some(_) if accepted || invalidated => true,
            // What was sent or answered after the look-up may have made room, or have left another
            // reason to wait.
            Some(request) if moved && !pending => self.access(request).is_some_and(|access| {
                self.decide(request, access).err() != self.stats.blocked.reason()
            }),
            _ => false,
        }
    }
}

/// Whether the request brings words to be stored.
#[inline]
fn stores(kind: RequestKind) -> bool {
    matches!(kind, RequestKind::Write | RequestKind::CopyBack)
}

/// Whether a line served here is dirty afterwards.
#[inline]
fn modifies(kind: RequestKind) -> bool {
    kind == RequestKind::Atomic || stores(kind)
}

impl Component for Cache {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
        ports.bundle("down", &mut self.down);
        ports.optional(|ports| ports.bundle("control", &mut self.control));
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        self.take_return(ctx, now);
        let accepted = self.accept(ctx, now);
        let moves = self.moves;
        // Answering first: the last answer of a line that was not installed may cause a copy-back.
        let up = self.respond(ctx, now);
        let down = self.send_down(ctx, now);
        let moved = moves != self.moves;
        let invalidated = self.invalidate(ctx);
        if self.has_work(ctx, accepted, invalidated, moved) {
            return Next::Busy;
        }
        match (down, up) {
            (Some(down), Some(up)) => Next::Until(down.min(up)),
            (Some(cycle), None) | (None, Some(cycle)) => Next::Until(cycle),
            (None, None) if self.is_drained() => Next::Idle,
            (None, None)
                if self.misses.is_empty() && self.hits.is_empty() && self.returns.is_empty() =>
            {
                Next::Message
            }
            (None, None) => Next::Credit,
        }
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.stats.report(statistics);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let mshrs = self.mshrs.len() as usize;
        if mshrs > 0 {
            waits.on_port("down.response", format!("{mshrs} MSHRs wait for fills"));
        }
        let passing = self.passing.len();
        if passing > 0 {
            waits.on_port(
                "down.response",
                format!("{passing} passing requests wait for their answer"),
            );
        }
        if let Some(reason) = self.stats.blocked.reason() {
            waits.inside(reason.words());
        }
    }
}
