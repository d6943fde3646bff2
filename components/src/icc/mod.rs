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
//! The unit is placed between the first-level caches of a cluster and its
//! [`ClusterPort`](crate::cluster_port), which then has one up port. A read that misses the
//! coalesced cache joins the entry of its line if the line is outstanding. Otherwise it takes an
//! entry and is sent *tracked*. With no entry free it is sent *untracked* and only it receives the
//! response (or it waits for an entry, `table_full: Wait`). A tracked response goes to every unit
//! in the list of its entry. The coalesced cache keeps the line if there were several.
//!
//! The downstream path is `lookups.rs`, the upstream path `delivery.rs`; `outstanding.rs` joins
//! them. `merge_table.rs` and `coalesced_cache.rs` are plain tables with their own tests. The
//! victim of a full coalesced cache is chosen by a policy of
//! [`cache::replacement`](crate::cache::replacement). `checker.rs` is a component that knows the
//! rules and not the unit.
//!
//! **Writes**, atomics and copy-backs pass. They drop the line from the coalesced cache and close
//! the entry of the line. Later reads of it pass untracked, behind the write, and the line is not
//! kept when it arrives. No read is therefore answered with data older than a preceding write of
//! its cluster (unless `on_write: Ignore`). Prefetches, reads beyond `global_end` and reads of
//! words that are not outstanding pass untracked.
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
//! Let `p` = `coalesced_cache.access_cycles` (0 without one). A request readable at `up[i]` in
//! cycle `t`, with none queued before it, leaves at `down` in cycle
//! `t + max(p + table_cycles, 1) - 1`. The wire to the port is the last cycle of the look-ups. The
//! coalesced cache is probed in cycle `t` and its hit leaves in cycle `t + p`. The merge table is
//! looked up in the cycle in which the request leaves. A request that is blocked downstream is
//! looked up again, and takes its entry when it is sent. A response readable at `down` in cycle `u`
//! is looked up, kept and delivered in cycle `u + reply_cycles - 1`. With 1 cycle for each, the
//! unit adds 2 cycles downstream and 1 upstream, the wires between unit and port included.
//!
//! One request is taken and one looked up per cycle. One line is on the bus per cycle, and stays
//! until every unit of its list has accepted it. With `Broadcast` all accept in the same cycle if
//! they can; with `Serial` one does per cycle. A unit is listed once. If it requested the line
//! several times, the further responses follow from its own copy, one per cycle, while the bus
//! serves other lines. The entry of a response is free for another line in the next cycle. A read
//! looked up in the cycle of the response is too late to join.
//!
//! A command at `control_up[i]` is forwarded in the cycle in which it is readable.
//!
//! # Not modelled
//! Contention on the bus between requests and responses; errors of the storage.

pub mod checker;
mod coalesced_cache;
mod delivery;
mod lookups;
mod merge_table;
mod outstanding;
mod spec;
mod statistics;
#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;
use std::iter::repeat_with;

use warpweave_framework::{
    Component, Contents, Context, Environment, Facts, Functional, FunctionalError, Inspect, Kind,
    Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State, Statistics, Unfit, Waits,
};

use self::coalesced_cache::CoalescedCache;
use self::delivery::{Bus, Upstream};
use self::lookups::LookupEntry;
use self::merge_table::MergeTable;
use self::outstanding::Outstanding;
pub use self::spec::{
    BusPriority, CoalescedCacheSpec, Delivery, FillRule, IccSpec, Joins, OnWrite, TableFull,
};
use self::statistics::Counters;
use crate::building_blocks::{DelayLine, pass};
use crate::cache::replacement::ReplacementSite;
use crate::launch::{CacheCommand, CacheControlMaster, CacheControlSlave};
use crate::memory::{
    MemMaster, MemSlave, agree_on_lines, forward_functional, is_request, leave_private_memory,
};

/// Intra-cluster coalescing unit between first-level caches and cluster port.
#[derive(Ports, State, Statistics)]
pub struct IccUnit {
    #[port]
    up: Vec<MemSlave>,
    #[port]
    down: MemMaster,
    #[port(optional, without = "reads of the next kernel join those in flight when a kernel ends", required_if = Self::drops_lines_at_kernel_end)]
    control_up: Vec<CacheControlSlave>,
    #[port(optional, without = "reads of the next kernel join those in flight when a kernel ends", required_if = Self::drops_lines_at_kernel_end)]
    control_down: Vec<CacheControlMaster>,
    table: MergeTable,
    /// Requests between the probe and the look-up in the merge table.
    requests: DelayLine<LookupEntry>,
    /// Up port with the highest priority.
    first: u32,
    #[state(flatten)]
    upstream: Upstream,
    #[statistic(flatten)]
    counters: Counters,
    #[state(flatten)]
    #[statistic(flatten)]
    outstanding: Outstanding,
    /// Invalidations forwarded to first-level caches.
    #[statistic(unit = "commands")]
    invalidations: u64,
    /// Entries of the merge table in use when an invalidation was forwarded; 0 when kernels run one
    /// at a time.
    #[statistic(unit = "entries")]
    entries_at_invalidation: u64,
    #[state(skip)]
    #[statistic(
        name = "table_bits",
        unit = "bits",
        meaning = "Storage of the merge table, excluding valid bits",
        value = self.spec.table_bits()
    )]
    #[statistic(
        name = "cache_bits",
        unit = "bits",
        meaning = "Storage of the coalesced cache",
        value = self.spec.cache_bits()
    )]
    spec: IccSpec,
    #[state(part)]
    #[statistic(flatten)]
    cache: Option<CoalescedCache>,
}

/// Outcome of a stage in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Idle,
    Done,
    /// A wire had no room; the engine wakes the unit when it has.
    Blocked,
    /// No entry of the merge table is usable before the next cycle or before a response.
    NoEntry,
}

impl Kind for IccUnit {
    const NAME: &'static str = "IccUnit";
    const SUMMARY: &'static str = "Merges reads of a cluster for the same line, and caches lines that several units requested";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "icc",
        summary: "The unit of the ICC paper. Source: IEEE TC 2019, Table 2",
        ron: include_str!("../../../scenarios/presets/icc/icc_unit.ron"),
    }];
    type Spec = IccSpec;

    fn build(spec: IccSpec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let cache = spec.coalesced_cache.as_ref().map(|cache| {
            let (field, site) = (
                "coalesced_cache.replacement",
                ReplacementSite::of_one_set(cache.lines),
            );
            let replacement = cache.replacement.build(field, environment, &site, 0)?;
            Ok(CoalescedCache::new(cache.clone(), replacement))
        });
        let units = spec.up_ports as usize;
        Ok(Self {
            up: repeat_with(MemSlave::default).take(units).collect(),
            down: MemMaster::default(),
            control_up: repeat_with(Default::default).take(units).collect(),
            control_down: repeat_with(Default::default).take(units).collect(),
            table: MergeTable::new(spec.table_entries),
            requests: DelayLine::default(),
            first: 0,
            upstream: Upstream::default(),
            counters: Counters::default(),
            outstanding: Outstanding::default(),
            invalidations: 0,
            entries_at_invalidation: 0,
            cache: cache.transpose()?,
            spec,
        })
    }
}

impl Component for IccUnit {
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
        let blocked = &mut self.counters.lines.blocked;
        blocked.set(ctx.cycle(), u64::from(held));
        if let Some(broken) = self.cache.as_ref().and_then(CoalescedCache::broken) {
            ctx.fail(format!("the replacement policy {broken}"));
        }
        self.next(ctx, bus, lookup)
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

impl Negotiate for IccUnit {
    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        if port.name == Self::UP {
            agree_on_lines(facts, "line_bytes", self.spec.line_bytes, None)?;
            leave_private_memory(facts, self.spec.global_end)?;
        }
        Ok(())
    }

    /// Commands of a unit are forwarded only to its own cache.
    fn passage(&self, port: PortId, _facts: &mut Facts) -> Option<u32> {
        match port.name {
            Self::CONTROL_UP | Self::CONTROL_DOWN => {
                (port.member == CacheControlMaster::COMMAND).then(|| port.index() + 1)
            }
            _ => is_request(port).then_some(0),
        }
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        let pairs = self.control_up.iter().zip(&self.control_down);
        let half = pairs.enumerate().find(|(_, (above, below))| {
            above.command.is_connected() != below.command.is_connected()
        });
        half.map_or(Ok(()), |(unit, _)| {
            let both = format!("`control_up[{unit}]` and `control_down[{unit}]`");
            Err(Unfit::at("", format!("connect both {both} or neither")))
        })
    }
}

impl Functional for IccUnit {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let Some(command) = message.downcast_ref::<CacheCommand>() else {
            let below = Self::DOWN.member(MemMaster::REQUEST);
            return forward_functional(port, message, below, onward);
        };
        if *command == CacheCommand::Invalidate
            && self.drops_lines_at_kernel_end()
            && let Some(cache) = &mut self.cache
        {
            cache.clear();
        }
        let below = Self::CONTROL_DOWN.at(port.index());
        onward.send(below.member(CacheControlMaster::COMMAND), *command);
        Ok(())
    }

    fn flush(&mut self, _: &mut Onward) {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
    }
}

impl Inspect for IccUnit {
    fn contents(&self, contents: &mut Contents<'_>) {
        contents.level("requests", self.requests.len() as u64);
        contents.level("responses", self.upstream.replies.len() as u64);
        contents.level("unanswered", self.outstanding.slots.len() as u64);
        contents.level("merged_lines", self.table.len() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let Upstream {
            replies,
            bus,
            repeats,
        } = &self.upstream;
        let hits = self.cache.as_ref().map_or(0, |cache| cache.hits().len());
        let inside = [
            (self.requests.len(), "requests between their lookups"),
            (replies.len(), "responses waiting for their lookup"),
            (hits, "hits in the coalesced cache"),
            (bus.readers.len(), "reads wait for the line on the bus"),
            (
                repeats.len(),
                "repeated reads of units that already have their line",
            ),
        ];
        for (count, what) in inside.into_iter().filter(|(count, _)| *count > 0) {
            waits.inside(format!("{count} {what}"));
        }
        let waiting = self.outstanding.slots.len();
        if waiting > 0 {
            waits.on_port(
                Self::DOWN.member(MemMaster::RESPONSE),
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

    /// Forwards commands to the first-level caches and their responses back. An invalidation also
    /// drops the lines here; outstanding lines were read before it.
    fn pass_commands(&mut self, ctx: &mut Context<'_>) {
        let drops = self.drops_lines_at_kernel_end();
        for (above, below) in self.control_up.iter_mut().zip(&mut self.control_down) {
            if !above.command.is_connected() {
                continue;
            }
            pass(ctx, &mut above.command, &mut below.command, |_, command| {
                if *command == CacheCommand::Invalidate {
                    self.invalidations += 1;
                    self.entries_at_invalidation += self.table.len() as u64;
                    if drops && let Some(cache) = &mut self.cache {
                        self.counters.cache.dropped += cache.clear();
                    }
                    self.table.close_all();
                }
            });
            pass(ctx, &mut below.done, &mut above.done, |_, _| {});
        }
    }

    fn next(&self, ctx: &Context<'_>, bus: Step, lookup: Step) -> Next {
        let now = ctx.cycle();
        let Upstream {
            replies,
            bus: Bus { readers, .. },
            repeats,
        } = &self.upstream;
        let more_replies = self.has_room_for_reply() && self.down.response.peek(ctx).is_some();
        let serial = bus == Step::Done && !readers.is_empty();
        if more_replies || serial || self.next_port(ctx).is_some() {
            return Next::Busy;
        }
        let hit = self.cache.as_ref().and_then(|cache| cache.hits().next());
        let line = replies.next().into_iter().chain(hit).min();
        let line = line.filter(|_| bus != Step::Blocked);
        let request = match lookup {
            Step::Blocked => None,
            // The entry of a response of this cycle is free in the next.
            Step::NoEntry => self.table.free_from(),
            Step::Idle | Step::Done => self.requests.next(),
        };
        match line.into_iter().chain(request).min() {
            Some(cycle) if cycle <= now + 1 => Next::Busy,
            Some(cycle) => Next::Until(cycle),
            None if bus == Step::Blocked || lookup == Step::Blocked => Next::Credit,
            None if !repeats.is_empty() => Next::Credit,
            None if !self.outstanding.slots.is_empty() => Next::Message,
            None => Next::Idle,
        }
    }
}
