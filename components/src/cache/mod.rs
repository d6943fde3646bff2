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
//! `request.rs` decides about a request, `perform.rs` carries that out, `send.rs` sends down, `replies.rs` deals with what
//! comes from below, `control.rs` with invalidations, `resize.rs` with changes of the size, and `policy_actions.rs` with what
//! policies ask for, `prefetch.rs` with what prefetchers want. `functional.rs` plays accesses of no time. `tag_array.rs` (with `set_index.rs` and
//! `replacement/`), `mshr_file.rs`, `pass_table.rs` and `victim_cache.rs` and `copy_back_buffer.rs` are plain data with tests of
//! their own, `downstream_ids.rs` names what waits for an answer. `policy/` holds the hooks of policies.
//!
//! # Ports
//! | name | direction | message | back-pressure means |
//! |---|---|---|---|
//! | `up.request` | in | [`MemRequest`] | the head request is blocked, see the statistics `blocked_*` |
//! | `up.response` | out | [`MemResponse`] | hits wait in their pipeline, fills in their MSHR |
//! | `down.request` | out | [`MemRequest`] | requests wait in the miss queue |
//! | `down.response` | in | [`MemResponse`] | never: one per cycle is always taken |
//! | `control.command` | in | [`CacheCommand`] | a command is being carried out (optional) |
//! | `control.done` | out | [`CacheCommandDone`](crate::launch::CacheCommandDone) | its answer waits (optional) |
//! | `locality` | out | [`CacheEvent`] | events of policies wait, see [`policy::Moment::tell`] (optional) |
//! | `published` | out, no credits | [`policy::PublishedValues`] | - (optional) |
//! | `peers[i]` | in, no credits | [`policy::PublishedValues`] | - (optional) |
//!
//! # Behaviour
//! One request per cycle (with banks, several) is accepted, in order. A request whose resources are missing blocks those
//! behind it; nothing is dropped or retried.
//!
//! * A request for a line in flight joins its MSHR ("hit reserved") and causes no traffic. It is
//!   answered in its turn after the fill.
//! * **Write-evict**: a write goes down and is acknowledged from there. A copy of its line is
//!   dropped; a line in flight is not installed, and a later read opens another MSHR for it.
//! * **Write-through**: a write updates a copy of its line and goes down; it holds an MSHR of the line
//!   until it is acknowledged, and later requests for the line join that.
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
//! * **Sectors**: a miss fetches the sectors that it touches. A request that joins a line in flight
//!   asks for those it needs and nobody asked for; it is answered when its own words have come and the
//!   waiters before it have been answered.
//!   When nobody waits, a request whose words are here is a hit although others are under way;
//!   what joins later does not overtake it.
//! * **Shorter lines below**: what goes down is cut into one request per line of that level, here or there
//!   ([`Cut`]). As the answers for a line then come in any order, a request that passes waits for its line in
//!   flight and for others that passed, and a miss for those too.
//! * **Longer lines above**: a request for such a line is taken apart. Its parts are accepted one after the other like
//!   requests of their own, and each is answered by itself, under the name and line of the request.
//! * **Banks**: each accepted request and each fill occupies the bank of its set; the head request
//!   waits for a busy one. Fills never wait.
//! * **Victim cache**: a replaced line goes there; a miss that finds its line there swaps it with the
//!   line it displaces and is a hit.
//! * **Halves**: each part has its own lines; a passing request drops the copies in all. Answers
//!   from two parts are in no order, which only a first-level cache may do.
//! * **Policies** decide about places, extra sectors, flags and victims: see [`policy`].
//! * **Prefetchers** say what is fetched ahead of need, within a budget: see [`prefetcher`].
//! * **Copy-back buffer**: lines that leave have entries of their own. While all are taken, a request
//!   that would displace such a line is blocked, and a fill that would waits, with all that came from
//!   below after it; the wire from below keeps moving.
//! * **Invalidation**: no request is accepted while one is pending. When every request accepted
//!   before is answered and everything for below is sent, all clean lines are dropped (dirty ones
//!   stay) and the command is answered in the same cycle.
//! * **Another size**: a command to have `k` ways waits like an invalidation. Then lines in ways beyond the first `k` are
//!   dropped, dirty ones sent down before, and the command is answered; ways that come into use are empty.
//!
//! Order: answers for one line leave in the order of its requests, whatever their source, provided
//! the level below keeps that order for what it is sent. Lines above may be shorter than those of
//! this cache; longer ones are taken apart if it says so.
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
//! * hit: answered in `c + hit_latency_cycles` (atomic executed here, or line from the victim cache:
//!   plus that latency); hits
//!   leave in order, so those behind an atomic wait for it;
//! * miss or passing request: sent down in `c + miss_latency_cycles`, one cycle later if its victim
//!   is copied back; one request per cycle leaves;
//! * fill or acknowledgement readable in `f`: first answer in `f + fill_latency_cycles`, but never
//!   before a hit accepted in `c` would be; further waiters follow at `responses_per_cycle`. Fills
//!   are answered one after the other, in order of arrival;
//! * invalidation: answered in the cycle of its arrival if nothing is in flight; another size: too, and with dirty lines in ways that go
//!   in the cycle in which the last of them leaves.
//!
//! The response whose turn came first leaves first; at equal turns hits leave before fills. Zero-load
//! latency of a miss, from readable above to answered:
//! `miss_latency_cycles + wire down + level below + wire up + fill_latency_cycles`, or
//! `hit_latency_cycles` if that is more.
//!
//! # Example
//! ```
//! use warpweave_components::cache::replacement::Lru;
//! use warpweave_components::cache::*;
//! use warpweave_components::memory::{Level, MemRequest, MemResponse};
//! use warpweave_framework::{Policy, TestBench};
//!
//! let cache = Cache::new(CacheSpec {
//!     level: CacheLevel::L1,
//!     size_bytes: 16 << 10,
//!     line_bytes: 128,
//!     ways: 4,
//!     interleave: None,
//!     set_hash: SetHash::Modulo,
//!     halves: None,
//!     sector_bytes: None,
//!     below_line_bytes: None,
//!     cut: Cut::Here,
//!     above_line_bytes: None,
//!     wait_for: WaitFor::Words,
//!     banks: None,
//!     victim_cache: None,
//!     policies: Vec::new(),
//!     peers: 0,
//!     prefetchers: Vec::new(),
//!     prefetch: PrefetchSpec::default(),
//!     copy_back_entries: None,
//!     write_allocate: None,
//!     replacement: Policy::plain::<Lru>(),
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
//! Data; ECC; coherence between caches; separate tag and data pipelines; scrubbing of dirty lines at
//! an invalidation.

mod build;
mod control;
mod copy_back_buffer;
mod downstream_ids;
mod fits;
mod functional;
mod line_splitter;
mod mshr_file;
mod pass_table;
mod perform;
pub mod policy;
mod policy_actions;
mod prefetch;
pub mod prefetcher;
mod refusal;
pub mod replacement;
mod replies;
mod request;
mod resize;
mod send;
mod set_index;
mod spec;
mod statistics;
mod tag_array;
#[cfg(test)]
pub(crate) mod tests;
mod victim_cache;

use std::any::Any;
use std::collections::VecDeque;

use warpweave_framework::{
    Bundle, Component, Contents, Context, Cycle, Facts, Instrumented, Next, Observed, Onward,
    OutPort, PortName, Ports, Published, Registry, State, Stateful, Statistics, Unfit, Waits,
    as_many,
};

use self::copy_back_buffer::CopyBackBuffer;
use self::downstream_ids::DownstreamIds;
use self::line_splitter::LineSplitter;
pub use self::mshr_file::{Entry, FillProgress, MshrFile, Waiter};
pub use self::pass_table::{PassTable, Passed};
use self::policy::{CacheSite, PolicyChain, PublishedValues};
pub use self::prefetcher::PrefetchSpec;
use self::prefetcher::Prefetches;
use self::refusal::Refusal;
use self::replies::Reply;
pub use self::set_index::SetHash;
pub use self::spec::{
    AllocatePolicy, AtomicPolicy, Banks, CacheLevel, CacheSpec, Cut, PartialWrite, PartitionBy,
    Partitions, VictimCacheSpec, WaitFor, WritePolicy,
};
use self::statistics::{Blocked, CacheStats};
pub use self::tag_array::{Geometry, LineState, Slot, TagArray};
pub use self::victim_cache::{Victim, VictimCache};
use crate::launch::{CacheCommand, CacheControlSlave, CacheSizes, Resizable};
use crate::memory::{
    CacheEvent, Level, LineBytes, MemMaster, MemRequest, MemResponse, MemSlave, PartBytes,
    RequestKind, Slices, Source, agree_on_lines, flags, is_request, untimed_stranger,
};

/// A cache; see the module.
pub struct Cache {
    spec: CacheSpec,
    /// What its wire brings; of elaboration only.
    slices: Slices,
    site: CacheSite,
    level: Level,
    /// Every word of a line.
    full: u32,
    /// Every word of a line's first sector.
    sector_words: u32,
    /// Bits of an address within its line.
    offset_mask: u64,
    /// Whether lines are cut into pieces for the level below.
    cut: bool,
    /// Whether a line may come from below in several answers, in any order.
    in_parts: bool,
    /// Whether a request waits for all that was asked of its line.
    waits_for_lines: bool,
    /// Longer requests, of which this cache answers parts.
    above: Option<LineSplitter>,
    /// Whether a line is asked for as a whole.
    whole: bool,
    /// Words of each part of a line that can be asked for separately.
    unit_words: u32,
    downstream_ids: DownstreamIds,
    /// Stores update the line and go down.
    goes_through: bool,
    allocates_writes: bool,
    hands_down: bool,
    tags: TagArray,
    /// Per place: who brought its line in; nothing before the first line.
    owners: Vec<Source>,
    victims: Option<VictimCache>,
    policies: PolicyChain,
    prefetches: Prefetches,
    /// Whether a policy or prefetcher is told what happens.
    is_watched: bool,
    mshrs: MshrFile,
    passing: PassTable,
    /// Hits on their way up, in order, with the cycle in which they leave.
    hits: VecDeque<(Cycle, MemResponse)>,
    hits_max: usize,
    /// Turn of the hit accepted last.
    last_hit: Cycle,
    /// Per bank: the first cycle in which it is free.
    bank_free: Vec<Cycle>,
    /// Requests on their way down, in order, with the cycle in which they leave. Up to
    /// `miss_queue_entries` from accepted requests; a fill may add the copy-back of its victim
    /// beyond that, so that fills never wait: at most one per MSHR before the queue moves. Those of a
    /// copy-back buffer are beyond that too.
    misses: VecDeque<(Cycle, MemRequest)>,
    copy_backs: Option<CopyBackBuffer>,
    /// What came from below and is not fully answered, in order of arrival.
    replies: VecDeque<Reply>,
    /// What happened so far after the look-up of a cycle that may make room, or leave a blocked request
    /// another reason to wait: messages sent, waiters answered, prefetches, wishes of policies.
    moves: u64,
    /// What keeps the request at the head waiting; derived from the state, and none itself.
    refusal: Refusal,
    /// Whether refusals end with one event; see [`refusal`].
    refuses_simply: bool,
    stats: CacheStats,
    up: MemSlave,
    down: MemMaster,
    control: CacheControlSlave,
    locality: OutPort<CacheEvent>,
    published: Published<PublishedValues>,
    peers: Vec<Observed<PublishedValues>>,
}

/// Why a request is not for this cache: a neighbour broke the protocol.
const LONGER_LINE: &str = "touches words outside one line: lines above must not be longer, unless `above_line_bytes` says so";

/// Adds the policies that come with the cache, of all its roles.
pub fn register_policies(registry: &mut Registry) {
    policy::register_policies(registry);
    prefetcher::register_policies(registry);
    replacement::register_policies(registry);
}

/// The earlier of two cycles, as far as there are two.
#[inline]
fn earlier(one: Option<Cycle>, other: Option<Cycle>) -> Option<Cycle> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
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

/// Whether the request brings data that memory has too.
#[inline]
fn is_clean(request: &MemRequest) -> bool {
    request.kind == RequestKind::CopyBack && request.flags & flags::CLEAN != 0
}

impl Bundle for Cache {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
        ports.bundle("down", &mut self.down);
        let control = &mut self.control;
        let name_control = |ports: &mut Ports<'_>| ports.bundle("control", control);
        if self.spec.level == CacheLevel::L1 {
            ports.advisable("its lines stay when a kernel ends", name_control);
        } else {
            ports.optional(name_control);
        }
        ports.optional(|ports| {
            ports.output("locality", &mut self.locality);
            ports.published("published", &mut self.published);
        });
        ports.advisable("the values of a peer are not added up", |ports| {
            for (number, peer) in self.peers.iter_mut().enumerate() {
                ports.observed(&format!("peers[{number}]"), peer);
            }
        });
    }
}

impl Component for Cache {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        if !self.policies.is_empty() {
            self.hear_peers(ctx);
        }
        if self.copy_backs.is_some() {
            self.finish_leaving(now);
        }
        self.take_reply(ctx, now);
        let accepted = match self.spec.banks {
            None => self.accept(ctx, now),
            Some(banks) => (0..banks.requests_per_cycle).all(|_| self.accept(ctx, now)),
        };
        let moves = self.moves;
        let prefetches = !self.prefetches.is_empty();
        if prefetches {
            self.prefetch(ctx, now);
        }
        // Answering first: the last answer of a line that was not installed may cause a copy-back.
        let up = self.respond(ctx, now);
        if !self.policies.is_empty() {
            self.send_policies_copy_backs(now);
        }
        let down = self.send_down(ctx, now);
        let commanded = self.obey(ctx);
        if !self.policies.is_empty() {
            self.publish_and_tell(ctx);
        }
        if let Some(broken) = self.tags.broken() {
            ctx.fail(format!("the replacement policy {broken}"));
        }
        let moved = moves != self.moves;
        if self.has_work(ctx, accepted, commanded, moved, now) {
            return Next::Busy;
        }
        let ahead = if prefetches {
            self.next_prefetch(ctx, now)
        } else {
            None
        };
        match earlier(earlier(down, up), earlier(self.bank_turn(ctx), ahead)) {
            Some(cycle) => Next::Until(cycle),
            None if !self.policies.outbox.events.is_empty() => Next::Credit,
            None if self.is_drained() => Next::Idle,
            None if self.misses.is_empty() && self.hits.is_empty() && self.replies.is_empty() => {
                Next::Message
            }
            None => Next::Credit,
        }
    }

    fn facts(&self, port: &str, facts: &mut Facts) {
        if port == "down.request" {
            let cut = self.spec.below_line_bytes.is_some() && self.spec.cut == Cut::Here;
            let field = if cut {
                "below_line_bytes"
            } else {
                "line_bytes"
            };
            facts.publish_from(field, LineBytes(self.spec.below_line()));
            if self.spec.cut == Cut::Below {
                let bytes = self.spec.answer_bytes();
                facts.publish_from("below_line_bytes", PartBytes(bytes));
            }
        }
        if port == "control.command" {
            facts.publish(Resizable);
        }
    }

    fn learn(&mut self, port: &str, facts: &Facts) -> Result<(), Unfit> {
        if port == "up.request" {
            self.slices.learn(facts);
            let (field, parts) = match self.spec.above_line_bytes {
                Some(_) => ("above_line_bytes", self.parts_above()),
                None => ("line_bytes", None),
            };
            agree_on_lines(facts, field, self.spec.above_line(), parts)?;
        }
        if port == "control.command"
            && let Some(sizes) = facts.get::<CacheSizes>()
        {
            self.agree_on_sizes(sizes, facts.stated::<CacheSizes>())?;
        }
        Ok(())
    }

    fn passage(&self, port: &str, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<LineBytes>();
        facts.withdraw::<PartBytes>();
        is_request(port).then_some(0)
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        self.slices.fit(self.spec.interleave)?;
        self.policies.outbox.is_wired = self.locality.is_connected();
        Ok(())
    }

    fn untimed(
        &mut self,
        port: PortName<'_>,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), String> {
        if let Some(request) = message.downcast_ref::<MemRequest>() {
            return self.functional_request(request, onward);
        }
        match message.downcast_ref() {
            Some(CacheCommand::Invalidate) => self.functional_invalidation(),
            Some(&CacheCommand::Resize { bytes }) => self.functional_resize(bytes, onward)?,
            None => return Err(untimed_stranger(port)),
        }
        Ok(())
    }

    fn evaluation_cost(&self) -> u64 {
        // About 700 instructions.
        7
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        self.mshrs.show(contents, !self.offset_mask);
        self.passing.show(contents);
        contents.level("mshrs", u64::from(self.mshrs.len()));
        contents.level("passing", self.passing.len() as u64);
        contents.level("miss_queue", self.misses.len() as u64);
        if let Some(buffer) = &self.copy_backs {
            contents.level("copy_backs", buffer.len() as u64);
        }
        contents.blocked(self.stats.blocked.reason().map(Blocked::words));
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
        if let Some(buffer) = &self.copy_backs
            && !buffer.held.is_empty()
        {
            waits.inside("fills wait for room in the copy-back buffer");
        }
        if let Some(reason) = self.stats.blocked.reason() {
            waits.inside(reason.words());
        }
    }
}

impl Stateful for Cache {
    fn state(&mut self, state: &mut State<'_>) {
        self.refusal = Refusal::Unknown;
        state.part("tags", |state| self.tags.state_fields(state));
        self.make_owners();
        state.array("owners", &mut self.owners);
        if let Some(victims) = &mut self.victims {
            state.part("victims", |state| victims.state_fields(state));
        }
        state.part("policies", |state| self.policies.state(state));
        state.part("prefetches", |state| self.prefetches.state(state));
        if let Some(buffer) = &mut self.copy_backs {
            state.fitting("copy_backs", buffer, CopyBackBuffer::is_like);
        }
        state.fitting("mshrs", &mut self.mshrs, MshrFile::is_like);
        state.fitting("passing", &mut self.passing, PassTable::is_like);
        state.field("hits", &mut self.hits);
        state.field("last_hit", &mut self.last_hit);
        state.fitting("bank_free", &mut self.bank_free, |found, built| {
            as_many("banks", found.len(), built.len())
        });
        if let Some(above) = &mut self.above {
            state.field("taken", &mut above.taken);
        }
        state.field("misses", &mut self.misses);
        state.field("replies", &mut self.replies);
        state.field("stats", &mut self.stats);
        self.check_state(state);
    }
}

impl Instrumented for Cache {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.stats.report(&self.spec, statistics);
        self.policies.statistics(statistics);
        self.prefetches.statistics(statistics);
        self.tags.statistics(statistics);
    }
}
