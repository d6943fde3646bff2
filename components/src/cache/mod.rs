//! The cache: one building block for first-level caches and for second-level slices.
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
//! A request passes these stages, each a plain type with its own state:
//!
//! ```text
//!   head.rs            input: line splitting, refusals          control.rs   commands
//!   controller/        decide ─► Action ─► perform              policy_ports.rs
//!   replies.rs         fills and acknowledgements               hit_pipeline.rs
//!   line_store.rs      lines that come and go: lookup.rs (tags, MSHRs, pass table),
//!                      hooks.rs, victim_cache.rs, banks.rs, miss_queue.rs (line_cutter.rs,
//!                      copy_back_buffer.rs, downstream_ids.rs)
//! ```
//!
//! `tag_array.rs` (with `set_index.rs` and `replacement/`), `mshr_file.rs` and `pass_table.rs` are
//! plain data. `policy/` and `prefetcher/` hold the hooks of policies and prefetchers.
//!
//! # Ports
//! | name | direction | message | back-pressure means |
//! |---|---|---|---|
//! | `up.request` | in | [`MemRequest`] | the head request is blocked, see the statistics `blocked_*` |
//! | `up.response` | out | [`MemResponse`](crate::memory::MemResponse) | hits wait in their pipeline, fills in their MSHR |
//! | `down.request` | out | [`MemRequest`] | requests wait in the miss queue |
//! | `down.response` | in | [`MemResponse`](crate::memory::MemResponse) | never: one per cycle is always taken |
//! | `control.command` | in | [`CacheCommand`] | a command is being carried out (optional) |
//! | `control.done` | out | [`CacheCommandDone`](crate::launch::CacheCommandDone) | its answer waits (optional) |
//! | `locality` | out | [`CacheEvent`](crate::memory::CacheEvent) | events of policies wait, see [`policy::EventContext::send_event`] (optional) |
//! | `published` | out, no credits | [`policy::PublishedValues`] | - (optional) |
//! | `peers[i]` | in, no credits | [`policy::PublishedValues`] | - (optional) |
//!
//! # Behaviour
//! One request per cycle (with banks, several) is accepted, in order. A request that lacks
//! resources blocks those behind it; nothing is dropped or retried.
//!
//! * A request for a line in flight joins its MSHR ("hit reserved") and causes no traffic. It is
//!   answered in order after the fill.
//! * **Write-evict**: a write is forwarded to the next level and acknowledged from there. A copy of
//!   its line is dropped. A line in flight is not installed, and a later read allocates another
//!   MSHR for it.
//! * **Write-through**: a write updates a copy of its line and is forwarded to the next level. It
//!   holds an MSHR of the line until it is acknowledged; later requests for the line join that
//!   MSHR.
//! * **Write-back**: a write stays in the line. [`PartialWrite`] selects how a write to an absent
//!   line is handled. A dirty victim leaves as a copy-back of its dirty words, ahead of the miss
//!   that evicted it.
//! * **Atomics** are forwarded like writes of a write-evict cache, or executed here, at most one
//!   per cycle. Executed atomics make the line dirty, whatever the write policy.
//! * Requests flagged [`flags::BYPASS_L1`](crate::memory::flags::BYPASS_L1) pass through a cache of
//!   level L1.
//! * Any passing request, reads included, drops the copy of its line and prevents a line in flight
//!   from being installed. Dirty words are sent downstream ahead of it.
//! * A request that would overtake a line in flight with waiting writes or atomics is blocked until
//!   they are answered. A write that allocates without fetching is blocked while a passing request
//!   for its line is unanswered. The same holds while a read overtaken by such a request is
//!   unanswered.
//! * **Sectors**: a miss fetches the sectors that it touches. A request that joins a line in flight
//!   also requests the sectors it needs that are not outstanding. It is answered when its own words
//!   have arrived and the earlier waiters have been answered. With no waiters, a request whose
//!   words are present is a hit even if others are outstanding. Requests that join later do not
//!   overtake it.
//! * **Shorter lines below**: requests are cut into one request per line of the next level, here or
//!   there ([`Cut`]). Responses for a line may then arrive in any order. A passing request
//!   therefore waits for its line in flight and for earlier passing requests; a miss waits for the
//!   latter too.
//! * **Longer lines above**: a request for such a line is split. Its parts are accepted one after
//!   the other like separate requests. Each part is answered separately, with the id and line of
//!   the original request.
//! * **Banks**: each accepted request and each fill occupies the bank of its set; the head request
//!   waits for a busy bank. Fills never wait.
//! * **Victim cache**: a replaced line is moved there. A miss that finds its line there swaps it
//!   with the line it displaces and counts as a hit.
//! * **Halves**: each part has its own lines; a passing request drops the copies in all parts.
//!   Responses from two parts are unordered, which is allowed only in a first-level cache.
//! * **Policies** decide about allocation, extra sectors, flags and victims: see [`policy`].
//! * **Prefetchers** select lines to fetch ahead of need, within a budget: see [`prefetcher`].
//! * **Copy-back buffer**: evicted lines have entries of their own. While all are taken, a request
//!   that would displace such a line is blocked. A fill that would displace one waits, as do all
//!   later responses; the wire from the next level keeps moving.
//! * **Invalidation**: no request is accepted while one is pending. It completes when every earlier
//!   request is answered and all downstream requests are sent. Then all clean lines are dropped
//!   (dirty ones stay) and the command is answered in the same cycle.
//! * **Resizing**: a command to use `k` ways waits like an invalidation. Then lines in ways beyond
//!   the first `k` are dropped, after dirty ones have been sent downstream, and the command is
//!   answered. Ways that come into use are empty.
//!
//! Order: responses for one line leave in the order of its requests, whatever their source. This
//! assumes that the next level keeps that order for the requests it receives. Lines of the upper
//! level may be shorter than those of this cache; longer ones are split if the specification says
//! so.
//!
//! The `write_sequence` of a response is the highest number known for the supplying line at the
//! request's place in that order. It is kept per line, raised by writes, atomics and fills, and
//! passed downstream with copy-backs. Numbers of several compute units are compared directly, so
//! freshness can be proved only for a line written by one of them.
//!
//! # Timing
//! `c` is the cycle in which a request is accepted: the first in which it is readable, at the head
//! and not blocked. Without port contention:
//!
//! * hit: answered in `c + hit_latency_cycles`. An atomic executed here, or a line from the victim
//!   cache, adds its latency. Hits leave in order, so those behind an atomic wait for it;
//! * miss or passing request: sent downstream in `c + miss_latency_cycles`, one cycle later if its
//!   victim is copied back; one request per cycle leaves;
//! * fill or acknowledgement readable in `f`: first response in `f + fill_latency_cycles`, but
//!   never before a hit accepted in `c` would be; further waiters follow at `responses_per_cycle`.
//!   Fills are answered one after the other, in order of arrival;
//! * invalidation: answered in the cycle of its arrival if nothing is in flight. The same holds for
//!   a resize. If ways to be disabled hold dirty lines, it is answered when the last of them
//!   leaves.
//!
//! The response that became ready first leaves first; on a tie, hits leave before fills. Zero-load
//! latency of a miss, from readable at the input to answered:
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
//!     partitions: None,
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
//! Data; ECC; coherence between caches; separate tag and data pipelines; scrubbing of dirty lines
//! at an invalidation.

mod access;
mod banks;
mod blocked;
mod build;
mod control;
mod controller;
mod copy_back_buffer;
mod downstream_ids;
mod head;
mod hit_pipeline;
mod hooks;
mod line_cutter;
mod line_layout;
mod line_splitter;
mod line_store;
mod lookup;
mod miss_queue;
mod mshr_file;
mod pass_table;
pub mod policy;
mod policy_ports;
mod port_ids;
pub mod prefetcher;
mod refusal;
pub mod replacement;
mod replies;
mod set_index;
mod spec;
mod statistics;
mod tag_array;
#[cfg(test)]
pub(crate) mod tests;
mod victim_cache;

use std::any::Any;

use warpweave_framework::{
    Component, Contents, Context, Cycle, Facts, Functional, FunctionalError, Inspect, Instrumented,
    Negotiate, Next, Onward, PortId, Ports, Registry, State, Statistics, Unfit, Waits,
};

use self::access::LONGER_LINE;
use self::banks::BankSet;
use self::blocked::Blocked;
use self::control::Control;
use self::controller::Controller;
use self::head::Head;
pub use self::mshr_file::{Entry, FillProgress, MshrFile, Waiter};
pub use self::pass_table::{PassTable, Passed};
use self::policy_ports::PolicyPorts;
pub use self::prefetcher::PrefetchSpec;
pub use self::set_index::SetHash;
pub use self::spec::{
    AllocatePolicy, AtomicPolicy, Banks, CacheLevel, CacheSpec, Cut, PartialWrite, PartitionBy,
    Partitions, VictimCacheSpec, WaitFor, WritePolicy,
};
pub use self::tag_array::{Geometry, LineState, Slot, TagArray};
pub use self::victim_cache::{Victim, VictimCache};
use crate::launch::{CacheCommand, CacheSizes, Resizable};
use crate::memory::{
    AtomicService, LineBytes, MemMaster, MemRequest, MemSlave, PartBytes, Slices, agree_on_lines,
    is_request,
};

/// Non-blocking cache with configurable write, atomic, replacement and allocation policies.
#[derive(Ports, State)]
pub struct Cache {
    #[port]
    up: MemSlave,
    #[port]
    down: MemMaster,
    #[port(flatten)]
    control: Control,
    #[port(flatten)]
    policy_ports: PolicyPorts,
    #[state(skip)]
    spec: CacheSpec,
    /// Facts of the wire above; of elaboration only.
    #[state(skip)]
    slices: Slices,
    #[state(part)]
    head: Head,
    #[state(flatten)]
    controller: Controller,
}

/// The effect of an evaluation on what it finds at the ports.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// True if the last look-up accepted a request.
    accepted: bool,
    /// True if a command was carried out completely or in part.
    commanded: bool,
    /// True if an event after the look-ups may make room or change the reason for a blocked
    /// request. Such events are a sent message, an answered waiter, a prefetch, or an action of a
    /// policy.
    moved: bool,
}

/// Registers the policies that come with the cache, for all its roles.
pub fn register_policies(registry: &mut Registry) {
    policy::register_policies(registry);
    prefetcher::register_policies(registry);
    replacement::register_policies(registry);
}

/// The earlier of two optional cycles.
#[inline]
fn earlier(one: Option<Cycle>, other: Option<Cycle>) -> Option<Cycle> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl Cache {
    /// Accepts the request at the head of the input if it can. Returns whether it did.
    fn accept(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        self.head.accept(
            &mut self.up.request,
            &self.control,
            &mut self.controller,
            ctx,
            now,
        )
    }

    /// Sends the responses that are due, oldest first. Returns the cycle of the next attempt, if
    /// only time decides.
    fn respond(&mut self, ctx: &mut Context<'_>, now: Cycle, moved: &mut bool) -> Option<Cycle> {
        let mut left = self.spec.responses_per_cycle;
        loop {
            let (turn, responder) = self.controller.next_response()?;
            if turn > now || left == 0 {
                return Some(turn.max(now + 1));
            }
            if !self.up.response.can_send(ctx) {
                return None;
            }
            *moved = true;
            if let Some(mut response) = self.controller.take_response(responder, now) {
                self.head.rejoin(&mut response);
                self.up.response.send(ctx, response);
                left -= 1;
            }
        }
    }

    /// Sends the oldest request down whose turn has come. Returns when to try again, if time
    /// decides.
    #[inline(always)]
    fn send_down(&mut self, ctx: &mut Context<'_>, now: Cycle, moved: &mut bool) -> Option<Cycle> {
        let misses = &mut self.controller.store.misses;
        let turn = misses.turn()?;
        if turn > now {
            return Some(turn);
        }
        if !self.down.request.can_send(ctx) {
            return None;
        }
        self.down.request.send(ctx, misses.pop()?);
        *moved = true;
        Some(misses.turn()?.max(now + 1))
    }

    /// Tells whether the next cycle has work that no message, credit or time announces.
    fn has_work(&mut self, ctx: &Context<'_>, progress: Progress, now: Cycle) -> bool {
        let Progress {
            accepted,
            commanded,
            moved,
        } = progress;
        let Controller { replies, store, .. } = &self.controller;
        if self.down.response.peek(ctx).is_some() || replies.has_released(store) {
            return true;
        }
        let pending = self.control.is_pending(ctx);
        if commanded && pending {
            return true;
        }
        match self.up.request.peek(ctx) {
            Some(_) if accepted || commanded => true,
            Some(request) if moved && !pending => {
                self.head.is_affected(request, &self.controller, now)
            }
            _ => false,
        }
    }
}

impl Component for Cache {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let has_policies = self.controller.store.hooks.has_policies();
        if has_policies {
            let policies = &mut self.controller.store.hooks.policies;
            self.policy_ports.receive_published(policies, ctx);
        }
        let came = self.down.response.pop(ctx);
        if let Err(response) = self.controller.take_reply(came, now) {
            ctx.fail(format!(
                "cache received a response that matches no outstanding request: {response:?}"
            ));
        }
        let banks = self.controller.store.banks.as_ref();
        let mut progress = Progress {
            accepted: match banks.map(BankSet::requests_per_cycle) {
                None => self.accept(ctx, now),
                Some(requests) => (0..requests).all(|_| self.accept(ctx, now)),
            },
            ..Progress::default()
        };
        let prefetches = self.controller.store.hooks.has_prefetchers();
        if prefetches && !self.control.is_pending(ctx) {
            progress.moved |= self.controller.prefetch(now);
        }
        // Answering first: the last answer of a line that was not installed may cause a copy-back.
        let up = self.respond(ctx, now, &mut progress.moved);
        if has_policies {
            progress.moved |= self.controller.store.send_policy_copy_backs(now);
        }
        let down = self.send_down(ctx, now, &mut progress.moved);
        progress.commanded =
            self.control.is_pending(ctx) && self.control.execute(&mut self.controller, ctx);
        if has_policies {
            let policies = &mut self.controller.store.hooks.policies;
            progress.moved |= self.policy_ports.publish_and_send(policies, ctx);
        }
        if let Some(broken) = self.controller.store.lookup.tags().broken() {
            ctx.fail(format!("the replacement policy {broken}"));
        }
        if self.has_work(ctx, progress, now) {
            return Next::Busy;
        }
        let ahead = if prefetches && !self.control.is_pending(ctx) {
            self.controller.next_prefetch(now)
        } else {
            None
        };
        let bank = self.head.bank_turn(&self.up.request, &self.controller, ctx);
        match earlier(earlier(down, up), earlier(bank, ahead)) {
            Some(cycle) => Next::Until(cycle),
            None if self.controller.store.hooks.has_events() => Next::Credit,
            None if self.controller.is_drained() => Next::Idle,
            None if self.controller.has_nothing_to_send() => Next::Message,
            None => Next::Credit,
        }
    }

    fn evaluation_cost(&self) -> u64 {
        // About 700 instructions.
        7
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for Cache {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        if port == port_ids::DOWN {
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
        if port == port_ids::UP && self.spec.atomics != AtomicPolicy::Forward {
            facts.publish_from("atomics", AtomicService::Executed);
        }
        if port == port_ids::CONTROL {
            facts.publish(Resizable);
        }
    }

    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        if port == port_ids::UP {
            self.slices.learn(facts);
            let (field, parts) = match self.spec.above_line_bytes {
                Some(_) => ("above_line_bytes", self.head.part_bytes()),
                None => ("line_bytes", None),
            };
            agree_on_lines(facts, field, self.spec.above_line(), parts)?;
        }
        if port == port_ids::CONTROL
            && let Some(sizes) = facts.get::<CacheSizes>()
        {
            self.control
                .agree_on_sizes(sizes, facts.stated::<CacheSizes>())?;
        }
        Ok(())
    }

    fn passage(&self, port: PortId, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<LineBytes>();
        facts.withdraw::<PartBytes>();
        if self.spec.atomics != AtomicPolicy::Forward {
            facts.withdraw::<AtomicService>();
        }
        is_request(port).then_some(0)
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        self.slices.fit(self.spec.interleave)?;
        let outbox = &mut self.controller.store.hooks.policies.outbox;
        outbox.is_wired = self.policy_ports.has_receiver();
        Ok(())
    }
}

impl Functional for Cache {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        if let Some(request) = message.downcast_ref::<MemRequest>() {
            let parts = self.head.parts(request);
            let parts = parts.ok_or_else(|| format!("{request:?} {LONGER_LINE}"))?;
            return parts
                .iter()
                .try_for_each(|part| self.controller.functional_access(part, onward));
        }
        match message.downcast_ref() {
            Some(CacheCommand::Invalidate) => self.controller.functional_invalidation(),
            Some(&CacheCommand::Resize { bytes }) => {
                let ways = self.control.ways_of(bytes)?;
                self.controller.functional_resize(ways, onward);
            }
            None => return Err(FunctionalError::UnexpectedMessage(port)),
        }
        Ok(())
    }

    fn flush(&mut self, onward: &mut Onward) {
        self.controller.flush(onward);
    }
}

impl Inspect for Cache {
    fn contents(&self, contents: &mut Contents<'_>) {
        let (lookup, misses) = (&self.controller.store.lookup, &self.controller.store.misses);
        lookup.show(contents);
        contents.level("mshrs", u64::from(lookup.mshrs().len()));
        contents.level("passing", lookup.passing().len() as u64);
        contents.level("miss_queue", misses.len() as u64);
        if let Some(buffer) = misses.copy_backs() {
            contents.level("copy_backs", buffer.len() as u64);
        }
        contents.blocked(self.head.blocked().reason().map(Blocked::words));
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let lookup = &self.controller.store.lookup;
        let mshrs = lookup.mshrs().len() as usize;
        if mshrs > 0 {
            waits.on_port("down.response", format!("{mshrs} MSHRs wait for fills"));
        }
        let passing = lookup.passing().len();
        if passing > 0 {
            waits.on_port(
                "down.response",
                format!("{passing} bypassing requests wait for their responses"),
            );
        }
        if self.controller.replies.holds_fills() {
            waits.inside("fills wait for room in the copy-back buffer");
        }
        if let Some(reason) = self.head.blocked().reason() {
            waits.inside(reason.words());
        }
    }
}

impl Instrumented for Cache {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.controller
            .statistics(&self.spec, self.head.blocked(), statistics);
    }
}
