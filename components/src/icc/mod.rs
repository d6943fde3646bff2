//! Intra-cluster coalescing: reads of different units of a cluster for one line cross the network
//! once (ICC paper, section 6).
//!
//! ```text
//!   up[0] ─►┐                probe               look up
//!   up[1] ─►├ round robin ─► coalesced cache ─► merge table ─► down.request
//!   up[n] ─►┘  1 / cycle       │ hit              │ under way: joins, is not sent
//!                              ▼                  ▼
//!   up[*] ◄────── bus ◄── hit queue ◄─ fill ── look up ◄────── down.response
//! ```
//!
//! It sits between the first-level caches of a cluster and its
//! [`ClusterPort`](crate::cluster_port), which then has one up port. A read that misses the
//! coalesced cache and whose line is under way joins the entry of the line; a read whose line is
//! not under way takes an entry and goes down *tracked*; with no entry free it goes down
//! *untracked* and its response goes to it alone (or waits for an entry, `table_full: Wait`). A tracked response goes to every unit in the
//! list of its entry, and the coalesced cache keeps the line if there were several.
//!
//! **Writes**, atomics and copy-backs pass. They drop the line from the coalesced cache and close
//! the entry of the line: later reads of it pass untracked, behind the write, and the line is not
//! kept when it comes. So no read is answered with less than what its cluster wrote before it
//! (unless `on_write: Ignore`).
//! Prefetches, reads beyond `global_end` and reads of words that are not under way pass untracked.
//!
//! # Ports
//! | name | bundle | back-pressure |
//! |---|---|---|
//! | `up[i]` | [`MemSlave`] | a request waits in its wire while others are served, the pipeline is held, the hit queue is full or all `outstanding` entries wait for responses |
//! | `down` | [`MemMaster`] | a response waits in its wire while the line before it is delivered |
//! | `control_up[i]` | [`CacheControlSlave`] (optional) | a command waits while `control_down[i]` is full |
//! | `control_down[i]` | [`CacheControlMaster`] (optional) | an answer waits while `control_up[i]` is full |
//!
//! # Timing
//! With `p` = `coalesced_cache.access_cycles` (0 without one), a request readable at `up[i]` in
//! cycle `t`, with nothing before it, leaves at `down` in cycle `t + max(p + table_cycles, 1) - 1`:
//! the wire to the port is the last cycle of the look-ups. The coalesced cache is probed in cycle
//! `t` and its hit leaves in cycle `t + p`. The merge table is looked up in the cycle in which the
//! request leaves; a request that finds no room below is looked up again, and takes its entry when
//! it is sent. A response readable at `down` in cycle `u` is looked up, kept and delivered in cycle
//! `u + reply_cycles - 1`. With 1 cycle for each, the unit adds 2 cycles to the way down and 1 to
//! the way up, the wires between unit and port included.
//!
//! One request is taken and one looked up per cycle; one line is on the bus per cycle, and stays
//! until every unit of its list has taken it (`Broadcast`: all in the same cycle if they can;
//! `Serial`: one per cycle). A unit is listed once: when it asked several times, the further
//! answers follow from its own copy, one per cycle, while the bus goes on. The entry of a response is free for another line in the next cycle.
//! A read looked up in the cycle of the response comes too late to join.
//!
//! A command at `control_up[i]` is handed on in the cycle in which it is readable.
//!
//! # Not modelled
//! Contention on the bus between requests and responses; errors of the storage.

pub mod checker;
mod coalesced_cache;
mod merge_table;
mod spec;
mod statistics;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Kind, Next, Ports, SpecError, State,
    Statistics, Waits,
};

use self::coalesced_cache::CoalescedCache;
use self::merge_table::{Lookup, MergeTable};
pub use self::spec::{
    ADDRESS_BITS, BusPriority, CoalescedCacheSpec, CoalescedReplacement, Cost, Delivery, FillRule,
    IccSpec, OnWrite, TableFull,
};
use self::statistics::Counters;
use crate::launch::{CacheControlMaster, CacheControlSlave};
use crate::memory::{Level, MemMaster, MemRequest, MemResponse, MemSlave, RequestKind, flags};

/// The component; see the module.
pub struct IccUnit {
    spec: IccSpec,
    up: Vec<MemSlave>,
    down: MemMaster,
    control_up: Vec<CacheControlSlave>,
    control_down: Vec<CacheControlMaster>,
    table: MergeTable,
    cache: Option<CoalescedCache>,
    /// Requests between the probe and the look-up in the merge table.
    requests: VecDeque<Staged>,
    /// Responses before their look-up, with the cycle of it.
    replies: VecDeque<(Cycle, MemResponse)>,
    /// Hits in the coalesced cache that wait for the bus.
    hits: VecDeque<Hit>,
    bus: Bus,
    /// Further answers to units that have their copy of a line, oldest first.
    repeats: VecDeque<Repeat>,
    /// Requests that wait for responses.
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Up port with the highest priority.
    first: u32,
    counters: Counters,
}

/// A request on its way through the look-ups.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Staged {
    /// Cycle of its look-up in the merge table.
    at: Cycle,
    /// As it will leave.
    request: MemRequest,
    port: u32,
}

/// A hit in the coalesced cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hit {
    /// Cycle from which it can be delivered.
    at: Cycle,
    slot: u32,
    write_sequence: u32,
}

/// A further answer to a unit that has got the line.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Repeat {
    slot: u32,
    line: Line,
}

/// What is known of the line that answers carry.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Line {
    write_sequence: u32,
    level: Option<Level>,
}

/// A line on its way to units.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Bus {
    /// Who still waits for the line; the bus is free when empty.
    readers: Vec<u32>,
    line: Line,
    /// Units that have taken it, one bit each.
    delivered: u64,
}

/// Where a response belongs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Slot {
    /// As it came from above.
    request: MemRequest,
    port: u32,
    taken: Cycle,
    waits: bool,
}

/// What became of a stage in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Done,
    /// A wire had no room; the engine wakes when it has.
    Blocked,
    /// No entry of the merge table can be used, before the next cycle or before a response.
    NoEntry,
}

impl Kind for IccUnit {
    const NAME: &'static str = "IccUnit";
    const SUMMARY: &'static str =
        "Merges reads of a cluster for one line, and keeps lines that several units asked for";
    type Spec = IccSpec;

    fn build(spec: IccSpec, _environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let slot = Slot {
            request: MemRequest::read(0, 0, 0),
            port: 0,
            taken: 0,
            waits: false,
        };
        let units = 0..spec.up_ports;
        Ok(Self {
            up: units.clone().map(|_| MemSlave::default()).collect(),
            down: MemMaster::default(),
            control_up: units
                .clone()
                .map(|_| CacheControlSlave::default())
                .collect(),
            control_down: units.map(|_| CacheControlMaster::default()).collect(),
            table: MergeTable::new(spec.table_entries),
            cache: spec
                .coalesced_cache
                .as_ref()
                .map(|c| CoalescedCache::new(c.lines)),
            requests: VecDeque::new(),
            replies: VecDeque::new(),
            hits: VecDeque::new(),
            bus: Bus::default(),
            repeats: VecDeque::new(),
            slots: vec![slot; spec.outstanding as usize],
            free: (0..spec.outstanding).rev().collect(),
            first: 0,
            counters: Counters::default(),
            spec,
        })
    }
}

impl Component for IccUnit {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundles("up", &mut self.up);
        ports.bundle("down", &mut self.down);
        let must = self.drops_lines_at_kernel_end();
        let (up, down) = (&mut self.control_up, &mut self.control_down);
        let mut name_them = |ports: &mut Ports<'_>| {
            ports.bundles("control_up", up);
            ports.bundles("control_down", down);
        };
        if must {
            name_them(ports);
        } else {
            ports.optional(name_them);
        }
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.pass_commands(ctx);
        // Taking comes first: a write taken in the cycle of a response keeps its line from being
        // kept. Responses come before look-ups: a read cannot join what is being delivered.
        self.take_reply(ctx);
        self.take_request(ctx);
        self.repeat(ctx);
        let bus = self.deliver(ctx);
        let lookup = self.look_up(ctx);
        let held = matches!(lookup, Step::Blocked | Step::NoEntry);
        self.counters.held.set(ctx.cycle(), u64::from(held));
        self.next(ctx, bus, lookup)
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("table", &mut self.table);
        state.field("cache", &mut self.cache);
        state.field("requests", &mut self.requests);
        state.field("replies", &mut self.replies);
        state.field("hits", &mut self.hits);
        state.field("bus", &mut self.bus);
        state.field("repeats", &mut self.repeats);
        state.field("slots", &mut self.slots);
        state.field("free", &mut self.free);
        state.field("first", &mut self.first);
        state.field("counters", &mut self.counters);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.counters.report(&self.spec.cost(), statistics);
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        contents.level("requests", self.requests.len() as u64);
        contents.level("responses", self.replies.len() as u64);
        contents.level("unanswered", (self.slots.len() - self.free.len()) as u64);
        contents.level("merged_lines", self.table.len() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let inside = [
            (self.requests.len(), "requests between their look-ups"),
            (self.replies.len(), "responses before their look-up"),
            (self.hits.len(), "hits in the coalesced cache"),
            (self.bus.readers.len(), "reads wait for the line on the bus"),
            (self.repeats.len(), "reads of units that have their line"),
        ];
        for (count, what) in inside.into_iter().filter(|(count, _)| *count > 0) {
            waits.inside(format!("{count} {what}"));
        }
        let waiting = self.slots.len() - self.free.len();
        if waiting > 0 {
            waits.on_port(
                "down.response",
                format!(
                    "{waiting} requests wait for responses, for reads of {} lines",
                    self.table.len()
                ),
            );
        }
    }
}

impl IccUnit {
    fn drops_lines_at_kernel_end(&self) -> bool {
        let cache = self.spec.coalesced_cache.as_ref();
        cache.is_some_and(|c| c.invalidate_at_kernel_end)
    }

    /// Hands commands to the first-level caches and their answers back; an invalidation concerns
    /// the lines here too, and those under way were read before it.
    fn pass_commands(&mut self, ctx: &mut Context<'_>) {
        let drops = self.drops_lines_at_kernel_end();
        for (above, below) in self.control_up.iter_mut().zip(&mut self.control_down) {
            if !above.command.is_connected() || !below.command.is_connected() {
                continue;
            }
            if above.command.peek(ctx).is_some()
                && below.command.can_send(ctx)
                && let Some(command) = above.command.pop(ctx)
            {
                below.command.send(ctx, command);
                self.counters.invalidations += 1;
                self.counters.open_at_invalidation += self.table.len() as u64;
                if drops && let Some(cache) = &mut self.cache {
                    self.counters.cache_dropped += cache.clear();
                }
                self.table.close_all();
            }
            if below.done.peek(ctx).is_some()
                && above.done.can_send(ctx)
                && let Some(done) = below.done.pop(ctx)
            {
                above.done.send(ctx, done);
            }
        }
    }

    fn take_reply(&mut self, ctx: &mut Context<'_>) {
        if self.replies.len() >= self.spec.reply_cycles as usize {
            return;
        }
        if let Some(reply) = self.down.response.pop(ctx) {
            let at = ctx.cycle() + u64::from(self.spec.reply_cycles) - 1;
            self.replies.push_back((at, reply));
        }
    }

    /// Takes a request and probes the coalesced cache.
    fn take_request(&mut self, ctx: &mut Context<'_>) {
        let Some(port) = self.next_port(ctx) else {
            return;
        };
        let now = ctx.cycle();
        let mut request = self.up[port as usize]
            .request
            .pop(ctx)
            .expect("next_port peeked");
        self.first = (port + 1) % self.spec.up_ports;
        let above = request;
        request.id = u32::MAX;
        // Of the units of this level only.
        request.flags &= !flags::TRACKED;
        if request.kind.wants_response() {
            request.id = self.free.pop().expect("next_port asked for a slot");
            self.slots[request.id as usize] = Slot {
                request: above,
                port,
                taken: now,
                waits: true,
            };
        }
        self.counters.taken(&request, self.merges(&request));
        if self.closes(&request)
            && let Some(cache) = &mut self.cache
        {
            self.counters.cache_invalidated += u64::from(cache.invalidate(request.line));
        }
        if self.probes(&request) && self.probe(now, &request) {
            return;
        }
        let at = now + u64::from(self.spec.request_delay());
        self.requests.push_back(Staged { at, request, port });
    }

    /// Looks for the read in the coalesced cache; a hit is queued for the bus.
    fn probe(&mut self, now: Cycle, request: &MemRequest) -> bool {
        let (Some(cache), Some(spec)) = (&mut self.cache, &self.spec.coalesced_cache) else {
            return false;
        };
        self.counters.cache_probes += 1;
        let Some(at) = cache.probe(request.line, request.words) else {
            return false;
        };
        self.counters.cache_hits += 1;
        self.hits.push_back(Hit {
            at: now + u64::from(spec.access_cycles),
            slot: request.id,
            write_sequence: cache.read(at, spec.replacement),
        });
        true
    }

    /// Whether the request is a read that the merge table deals with.
    fn merges(&self, request: &MemRequest) -> bool {
        request.kind == RequestKind::Read
            && self.spec.global_end.is_none_or(|end| request.line < end)
    }

    /// Whether the request is a read that the coalesced cache may answer.
    fn probes(&self, request: &MemRequest) -> bool {
        let bypasses = request.flags & flags::BYPASS_L1 != 0;
        let cache = self.spec.coalesced_cache.as_ref();
        self.merges(request) && cache.is_some_and(|c| c.serve_bypassing || !bypasses)
    }

    /// The up port whose request is taken next, if one can be.
    fn next_port(&self, ctx: &Context<'_>) -> Option<u32> {
        let hits = self.spec.coalesced_cache.as_ref();
        let hits_full = hits.is_some_and(|c| self.hits.len() >= c.hit_queue as usize);
        if hits_full || self.requests.len() > self.spec.request_delay() as usize {
            return None;
        }
        (self.first..self.spec.up_ports)
            .chain(0..self.first)
            .find(|port| {
                let request = self.up[*port as usize].request.peek(ctx);
                request.is_some_and(|r| !r.kind.wants_response() || !self.free.is_empty())
            })
    }

    /// Looks the oldest request up in the merge table: it joins, or it leaves.
    fn look_up(&mut self, ctx: &mut Context<'_>) -> Step {
        let now = ctx.cycle();
        let Some(staged) = self.requests.front().filter(|staged| staged.at <= now) else {
            return Step::Idle;
        };
        let (mut request, port) = (staged.request, staged.port);
        let found = self
            .merges(&request)
            .then(|| self.table.lookup(now, request.line, request.words));
        if found == Some(Lookup::Full) && self.spec.table_full == TableFull::Wait {
            return Step::NoEntry;
        }
        if let Some(Lookup::Merge(at)) = found {
            self.table.merge(at, port, request.id);
        } else {
            if !self.down.request.can_send(ctx) {
                return Step::Blocked;
            }
            if found == Some(Lookup::Free) {
                self.table
                    .allocate(request.line, request.words, port, request.id);
                self.counters
                    .table_occupancy
                    .set(now, self.table.len() as u64);
                request.flags |= flags::TRACKED;
            }
            if self.closes(&request) {
                self.counters.entries_closed += u64::from(self.table.close(request.line));
            }
            self.down.request.send(ctx, request);
        }
        self.counters.looked_up(found);
        self.requests.pop_front();
        Step::Done
    }

    /// Moves a line to the units that wait for it.
    fn deliver(&mut self, ctx: &mut Context<'_>) -> Step {
        if self.bus.readers.is_empty() && !self.start_delivery(ctx) {
            return Step::Idle;
        }
        let serial = self.spec.delivery == Delivery::Serial;
        let mut readers = std::mem::take(&mut self.bus.readers);
        let line = self.bus.line;
        let (mut moved, mut stop) = (false, false);
        readers.retain(|&slot| {
            let unit = 1 << self.slots[slot as usize].port;
            if self.bus.delivered & unit != 0 {
                if !self.answer(ctx, slot, line) {
                    self.repeats.push_back(Repeat { slot, line });
                }
                moved = true;
                return false;
            }
            if stop {
                return true;
            }
            let sent = self.answer(ctx, slot, line);
            stop = serial;
            moved |= sent;
            self.bus.delivered |= if sent { unit } else { 0 };
            !sent
        });
        self.bus.readers = readers;
        match (self.bus.readers.is_empty(), moved) {
            (true, _) => Step::Done,
            (false, true) if serial => Step::Done,
            (false, _) => Step::Blocked,
        }
    }

    /// Answers units that asked for a line several times and have it.
    fn repeat(&mut self, ctx: &mut Context<'_>) {
        let mut repeats = std::mem::take(&mut self.repeats);
        repeats.retain(|repeat| !self.answer(ctx, repeat.slot, repeat.line));
        self.repeats = repeats;
    }

    /// Answers one request with this line; false if its wire has no room.
    fn answer(&mut self, ctx: &mut Context<'_>, slot: u32, line: Line) -> bool {
        let of = &mut self.slots[slot as usize];
        let response = MemResponse {
            write_sequence: line.write_sequence,
            ..of.request
                .answer(line.level.expect("a line on the bus has one"))
        };
        let wire = &mut self.up[of.port as usize].response;
        if wire.try_send(ctx, response).is_err() {
            return false;
        }
        of.waits = false;
        let cycles = ctx.cycle() - of.taken;
        self.counters.answered(&of.request, cycles);
        self.free.push(slot);
        true
    }

    /// Puts the next line on the bus, if one is ready.
    fn start_delivery(&mut self, ctx: &mut Context<'_>) -> bool {
        let now = ctx.cycle();
        self.bus.delivered = 0;
        let reply = self.replies.front().is_some_and(|(at, _)| *at <= now);
        let hit = self.hits.front().is_some_and(|hit| hit.at <= now);
        let priority = self.spec.coalesced_cache.as_ref().map(|c| c.priority);
        if hit && (!reply || priority == Some(BusPriority::Hits)) {
            let hit = self.hits.pop_front().expect("it is ready");
            self.bus.readers.push(hit.slot);
            self.bus.line = Line {
                write_sequence: hit.write_sequence,
                level: Some(Level::Coalesced),
            };
            return true;
        }
        if !reply {
            return false;
        }
        let (_, reply) = self.replies.pop_front().expect("it is ready");
        self.bus.line = Line {
            write_sequence: reply.write_sequence,
            level: Some(reply.level),
        };
        let known = if reply.flags & flags::TRACKED == 0 {
            self.find_reader(&reply)
        } else {
            self.end_entry(now, &reply)
        };
        if !known {
            ctx.fail(format!(
                "down answered what nothing waits for: {reply:?}; {} lines are under way",
                self.table.len()
            ));
        }
        known
    }

    /// The one request that an untracked response belongs to.
    fn find_reader(&mut self, reply: &MemResponse) -> bool {
        let slot = self.slots.get(reply.id as usize);
        let waits = slot.is_some_and(|s| s.waits && s.request.line == reply.line);
        if waits {
            self.bus.readers.push(reply.id);
        }
        waits
    }

    /// Every read that a tracked response belongs to; keeps the line if its entry says so.
    fn end_entry(&mut self, now: Cycle, reply: &MemResponse) -> bool {
        let Some(entry) = self.table.reply(now, reply.line, &mut self.bus.readers) else {
            return false;
        };
        let (units, closed, words) = (entry.units, entry.closed, entry.words);
        self.counters
            .table_occupancy
            .set(now, self.table.len() as u64);
        self.counters.replied(units.count_ones());
        let Some(spec) = &self.spec.coalesced_cache else {
            return true;
        };
        let several = units.count_ones() > 1 || spec.fill == FillRule::All;
        // A write between the two look-ups has dropped the line already and will close no entry.
        let written =
            |staged: &Staged| self.closes(&staged.request) && staged.request.line == reply.line;
        if several
            && !closed
            && !self.requests.iter().any(written)
            && let Some(cache) = &mut self.cache
        {
            self.counters.cache_fills += 1;
            let evicted = cache.fill(reply.line, words, reply.write_sequence);
            self.counters.cache_evicted += u64::from(evicted);
        }
        true
    }

    /// Whether the request ends what is known of its line.
    fn closes(&self, request: &MemRequest) -> bool {
        let writes = matches!(
            request.kind,
            RequestKind::Write | RequestKind::Atomic | RequestKind::CopyBack
        );
        writes && self.spec.on_write == OnWrite::Close
    }

    fn next(&self, ctx: &Context<'_>, bus: Step, lookup: Step) -> Next {
        let now = ctx.cycle();
        let more_replies = self.replies.len() < self.spec.reply_cycles as usize
            && self.down.response.peek(ctx).is_some();
        let serial = bus == Step::Done && !self.bus.readers.is_empty();
        if more_replies || serial || self.next_port(ctx).is_some() {
            return Next::Busy;
        }
        let reply = self.replies.front().map(|(at, _)| *at);
        let hit = self.hits.front().map(|hit| hit.at);
        let request = self.requests.front().map(|staged| staged.at);
        let line = reply.into_iter().chain(hit).min();
        let line = line.filter(|_| bus != Step::Blocked);
        let request = match lookup {
            Step::Blocked => None,
            // The entry of a response of this cycle is free in the next.
            Step::NoEntry => self.table.free_from(),
            Step::Idle | Step::Done => request,
        };
        match line.into_iter().chain(request).min() {
            Some(cycle) if cycle <= now + 1 => Next::Busy,
            Some(cycle) => Next::Until(cycle),
            None if bus == Step::Blocked || lookup == Step::Blocked => Next::Credit,
            None if !self.repeats.is_empty() => Next::Credit,
            None if self.free.len() < self.slots.len() => Next::Message,
            None => Next::Idle,
        }
    }
}
