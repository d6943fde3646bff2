//! The scheduling of one channel, as a function of time.
//!
//! ```text
//!                      ┌ unified ─► read queue ─┐
//!   offer ─► [reads] ──┤            write queue ┼─► scheduler ─► active requests ─► command bus
//!            [writes]  └ per bank ► bank queues ┘      ▲
//!                                            refresh, page policy
//! ```
//!
//! The frame is that of Ramulator 2; the policies named in [`Config`] and an order of requests fill it:
//!
//! 1. A request accepted in cycle `c` can cause a command from `c + 1` on.
//! 2. Each cycle issues at most one command, or with a [`CommandBus`] of row and column pins one for each, the
//!    second as if in a cycle of its own. It is looked for in this order: requests whose ACT has been
//!    issued (*active*), a refresh whose time has come, waiting requests as the [order](AnyRequestOrder) says,
//!    a row the [`Page`] policy gives up. While an all-bank refresh waits nothing new is started,
//!    while a per-bank refresh waits nothing new in its bank, nor elsewhere as long as its bank has
//!    an active request.
//! 3. Every request asks for the command its bank needs next: ACT, PRE, or RD/WR. A bank with an
//!    active request is not precharged.
//! 4. In the unified organisation the [`Drain`] policy says whether reads or writes are scheduled;
//!    with bank queues, from which of the two the next request moves to its bank's queue, one per
//!    cycle and the oldest whose queue has room.
//! 5. A read of an access that a waiting write covers is answered from it one cycle after its
//!    acceptance; a write to an access that waits already replaces it.
//!
//! Nothing here happens per cycle: the controller computes the next cycle in which a command can
//! be issued ([`Controller::next_command`]) and [`Controller::advance`] goes from command to
//! command, so that it may be called every cycle or once after a long sleep with the same result.
//! While no request waits it stands still altogether; what happens meanwhile (refreshes, expiring
//! rows) is made up for by the next offer.
//!
//! | file | what it has |
//! |---|---|
//! | `config.rs`, `request.rs`, `stats.rs` | what it is built from, what it is offered, what it counts |
//! | `plan.rs` | which command comes next, and when |
//! | `issue.rs` | what a command changes |
//! | `bank_queues.rs` | requests on their way to the queues of their banks, and whose turn it is |
//! | `idle.rs` | refreshes of a channel that stands still |
//!
//! Banks, queues and policies are the files beside this folder; it knows nothing of ports and
//! messages.

mod bank_queues;
mod config;
mod idle;
mod issue;
mod plan;
mod request;
mod stats;

use std::collections::VecDeque;

use warpweave_framework::{Cycle, Id, IdTable, State, below};

use crate::building_blocks::Fifo;
use crate::dram::banks::{Banks, BanksState, Gaps};
use crate::dram::checker::Checker;
use crate::dram::command_bus::CommandBus;
use crate::dram::drain::Draining;
use crate::dram::mapping::Location;
use crate::dram::queue::{Entry, Queue};
use crate::dram::scheduler::{AnyRequestOrder, BuiltInOrder, Candidate, bits};

pub use config::Config;
pub(crate) use config::QUEUE_MAX;
pub use request::{Issued, Offer, Request};
pub use stats::ChannelStats;

/// A controller with its banks.
pub struct Controller {
    config: Config,
    order: AnyRequestOrder,
    /// Cycles between refreshes, 0 without any, and the same times those that may be owed.
    refresh_interval: Cycle,
    refresh_slack: Cycle,
    banks: Banks,
    entries: IdTable<Entry>,
    /// Waiting requests by kind (reads, writes), or those in bank queues and none.
    queues: [Queue; 2],
    /// Reads and writes before the bank queues, if there are any.
    fronts: [VecDeque<Id>; 2],
    /// Reads and writes that wait, in whatever queue.
    waiting: [u32; 2],
    /// Per bank the request whose ACT has been issued.
    active: Vec<Option<Id>>,
    active_banks: u64,
    /// Per bank the column commands since its ACT, and the last of either.
    columns: Vec<u32>,
    used: Vec<Cycle>,
    /// The bank served last.
    turn: u32,
    draining: Draining,
    age: u64,
    /// First cycle whose command is not decided yet, or an earlier one that had none.
    clock: Cycle,
    /// What is issued next, and when, unless something is accepted before; see `plan`.
    planned: Option<(Cycle, Candidate)>,
    /// Cycle in which the refresh after the last one issued falls due, and its bank.
    refresh_due: Cycle,
    refresh_bank: u32,
    /// Reads whose data are on their way: (cycle after the last beat, tag).
    returning: Fifo<(Cycle, u32)>,
    forwarding: Fifo<(Cycle, u32)>,
    /// Cycle after the last beat written.
    written_until: Option<Cycle>,
    stats: ChannelStats,
    log: Option<Vec<Issued>>,
    /// Judges every command.
    judge: Option<Box<Checker>>,
}

impl Controller {
    /// Whether requests, queues and banks fit each other, for what a checkpoint held.
    fn requests_fit(&self) -> Result<(), String> {
        let banks = u64::from(self.banks.count());
        below("bank", self.turn, banks)?;
        below("bank", self.refresh_bank, banks)?;
        let mut seen = Vec::new();
        for queue in &self.queues {
            queue.check(&self.entries, |id| {
                seen.push(id);
                Ok(())
            })?;
        }
        let mut active = 0;
        for (bank, id) in self.active.iter().enumerate() {
            let Some(id) = id else { continue };
            active |= 1_u64 << bank;
            if self
                .entries
                .get(*id)
                .is_none_or(|entry| entry.bank as usize != bank)
            {
                return Err(format!("bank {bank} serves a request that is not its"));
            }
            seen.push(*id);
        }
        if active != self.active_banks {
            return Err("banks serve nothing".to_owned());
        }
        for id in self.fronts.iter().flatten() {
            let entry = self.entries.get(*id);
            let entry = entry.ok_or_else(|| format!("request {id}, which is not there"))?;
            below("bank", entry.bank, banks)?;
            seen.push(*id);
        }
        seen.sort_unstable();
        let all = self.entries.iter().map(|(id, _)| id);
        let mut all: Vec<_> = all.collect();
        all.sort_unstable();
        if seen == all {
            Ok(())
        } else {
            Err("requests wait nowhere, or twice".to_owned())
        }
    }

    /// The tags of everything that is not finished.
    pub(super) fn tags(&self) -> impl Iterator<Item = u32> {
        let under_way = self.returning.iter().chain(self.forwarding.iter());
        let queued = self.entries.values().filter(|entry| !entry.write);
        queued
            .map(|entry| entry.tag)
            .chain(under_way.map(|(_, tag)| *tag))
    }

    /// A controller with closed banks at cycle 0. Numbers are to be checked before.
    pub fn new(config: &Config, order: AnyRequestOrder) -> Self {
        Self::with_gaps(config, order, &Gaps::new(&config.timing))
    }

    pub(crate) fn with_gaps(config: &Config, order: AnyRequestOrder, gaps: &Gaps) -> Self {
        let Config {
            geometry, timing, ..
        } = config;
        let banks = geometry.banks() as usize;
        let own = config.bank_queue.unwrap_or(0) as usize * banks;
        let capacity = config.reads as usize + config.writes as usize + banks + own;
        let interval = Cycle::from(timing.refresh_interval(config.refresh).unwrap_or(0));
        let mixed = config.bank_queue.is_some();
        Self {
            config: *config,
            order,
            refresh_interval: interval,
            refresh_slack: Cycle::from(config.refresh.postponed_max()) * interval,
            banks: Banks::new(geometry, gaps),
            entries: IdTable::with_capacity(capacity),
            queues: [Queue::new(banks, mixed), Queue::new(banks, false)],
            fronts: [VecDeque::new(), VecDeque::new()],
            waiting: [0; 2],
            active: vec![None; banks],
            active_banks: 0,
            columns: vec![0; banks],
            used: vec![0; banks],
            turn: banks as u32 - 1,
            draining: Draining::default(),
            age: 0,
            clock: 0,
            planned: None,
            refresh_due: if interval == 0 { Cycle::MAX } else { interval },
            refresh_bank: 0,
            returning: Fifo::default(),
            forwarding: Fifo::default(),
            written_until: None,
            stats: ChannelStats::default(),
            log: None,
            judge: None,
        }
    }

    /// Keeps every command from now on for [`Controller::commands`].
    pub fn record_commands(&mut self) {
        self.log.get_or_insert_default();
    }

    /// The commands issued since [`Controller::record_commands`].
    pub fn commands(&self) -> &[Issued] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Has every command judged by a [`Checker`] from now on, which must be the beginning.
    pub fn judge_commands(&mut self) {
        let Config {
            geometry,
            timing,
            refresh,
            command_bus,
            ..
        } = &self.config;
        self.judge.get_or_insert_with(|| {
            Box::new(Checker::new(geometry, *timing, *refresh).on(*command_bus))
        });
    }

    /// The judge, if there is one.
    pub fn judge(&self) -> Option<&Checker> {
        self.judge.as_deref()
    }

    /// The order of its requests.
    pub fn order(&self) -> &AnyRequestOrder {
        &self.order
    }

    /// Counts up to the last command.
    pub fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// The cycle after the last beat of the last write command, if there was one.
    pub fn last_written(&self) -> Option<Cycle> {
        self.written_until
    }

    /// Requests that still need a command: (reads, writes), active ones included.
    pub fn pending(&self) -> (u32, u32) {
        let mut pending = (self.waiting[0], self.waiting[1]);
        for bank in bits(self.active_banks) {
            if self.entries[self.active_request(bank)].write {
                pending.1 += 1;
            } else {
                pending.0 += 1;
            }
        }
        pending
    }

    /// Names the fields of the state. Commands recorded are no part of it.
    pub fn state(&mut self, state: &mut State<'_>) {
        state.fitting("banks", self.banks.state(), BanksState::is_like);
        state.field("entries", &mut self.entries);
        state.fitting("queues", &mut self.queues, |found, built| {
            let mut queues = found.iter().zip(built);
            queues.try_for_each(|(found, built)| found.is_like(built))
        });
        state.field("fronts", &mut self.fronts);
        state.field("waiting", &mut self.waiting);
        state.array("active", &mut self.active);
        state.field("active_banks", &mut self.active_banks);
        state.array("columns", &mut self.columns);
        state.array("used", &mut self.used);
        state.field("turn", &mut self.turn);
        state.field("draining", &mut self.draining);
        state.field("age", &mut self.age);
        state.field("clock", &mut self.clock);
        state.field("refresh_due", &mut self.refresh_due);
        state.field("refresh_bank", &mut self.refresh_bank);
        state.field("returning", &mut self.returning);
        state.field("forwarding", &mut self.forwarding);
        state.field("written_until", &mut self.written_until);
        state.field("stats", &mut self.stats);
        if let Some(judge) = &mut self.judge {
            state.field("judge", judge.state());
        }
        self.order.state(state);
        state.check("entries", || self.requests_fit());
        // Found again from the fields when it is needed.
        self.planned = None;
    }

    /// Issues all commands up to and including cycle `until`, unless no request waits; whether that can
    /// have changed what [`Controller::accepts`] says.
    #[inline]
    pub fn advance(&mut self, until: Cycle) -> bool {
        if self.config.bank_queue.is_none()
            && let Some((cycle, _)) = self.planned
            && cycle > until
        {
            return false;
        }
        // Requests may have moved to their banks.
        let mut any = self.config.bank_queue.is_some();
        while self.clock <= until && self.has_work() && self.step(until) {
            any = true;
        }
        any
    }

    /// Issues the next command, which [`Controller::next_command`] said to be in this cycle; the pins that it takes.
    pub(super) fn issue_next(&mut self, cycle: Cycle) -> usize {
        let (_, choice) = self.plan();
        let is_column = matches!(choice, Candidate::Active(_) | Candidate::Column(_));
        self.step(cycle);
        match self.config.command_bus {
            CommandBus::RowAndColumn => usize::from(is_column),
            CommandBus::Shared => 0,
        }
    }

    /// Another channel on the same bus has issued a command by these pins: this one cannot in that cycle. What it does
    /// while no request waits takes no place on the bus.
    pub(super) fn yield_bus(&mut self, cycle: Cycle, pins: usize) {
        if !self.has_work() {
            return;
        }
        match self.config.command_bus {
            CommandBus::RowAndColumn => self.banks.take_pins(cycle, pins == 1),
            CommandBus::Shared => self.clock = self.clock.max(cycle + 1),
        }
        self.planned = None;
    }

    /// As [`Controller::advance`], also if no request waits: refreshes, and closes rows whose time
    /// has come.
    pub fn catch_up(&mut self, until: Cycle) {
        while self.clock <= until && self.step(until) {
            if !self.has_work() && self.is_at_rest() {
                self.refresh_at_rest(until);
            }
        }
    }

    /// The channel as it would be if it had been looked at in cycle `until`: what it slept through
    /// while no request waited is made up for. While requests wait it is awake for every command.
    ///
    /// The copy is to be read, not to be used: nobody orders its requests.
    pub(crate) fn as_of(&self, until: Cycle) -> Self {
        let mut copy = Self {
            config: self.config,
            order: AnyRequestOrder::BuiltIn(BuiltInOrder::Fcfs),
            refresh_interval: self.refresh_interval,
            refresh_slack: self.refresh_slack,
            banks: self.banks.clone(),
            entries: self.entries.clone(),
            queues: self.queues.clone(),
            fronts: self.fronts.clone(),
            waiting: self.waiting,
            active: self.active.clone(),
            active_banks: self.active_banks,
            columns: self.columns.clone(),
            used: self.used.clone(),
            turn: self.turn,
            draining: self.draining,
            age: self.age,
            clock: self.clock,
            planned: self.planned,
            refresh_due: self.refresh_due,
            refresh_bank: self.refresh_bank,
            returning: self.returning.clone(),
            forwarding: self.forwarding.clone(),
            written_until: self.written_until,
            stats: self.stats.clone(),
            log: None,
            judge: self.judge.clone(),
        };
        if !copy.has_work() {
            copy.catch_up(until);
        }
        copy
    }

    /// Offers a request in cycle `now`, up to which [`Controller::advance`] has decided.
    pub fn offer(&mut self, now: Cycle, request: Request) -> Offer {
        if !self.has_work() {
            self.catch_up(now);
        }
        debug_assert!(self.clock <= now + 1, "time goes on");
        if self.is_covered(&request) {
            if request.write {
                self.stats.merged += 1;
                return Offer::Merged;
            }
            self.stats.forwarded += 1;
            self.forwarding.push((now + 1, request.tag));
            return Offer::Forwarded;
        }
        if !self.has_room(request.write) {
            return Offer::Refused;
        }
        self.clock = now + 1;
        self.planned = None;
        self.age += 1;
        let Location { bank, row, column } = request.location;
        let id = self.entries.insert(Entry {
            access: request.access,
            age: self.age,
            row,
            column,
            bank,
            tag: request.tag,
            write: request.write,
            activated: false,
            conflicted: false,
            previous: None,
            next: None,
        });
        let kind = usize::from(request.write);
        if self.config.bank_queue.is_some() {
            self.fronts[kind].push_back(id);
        } else {
            let open = self.banks.row(bank);
            self.queues[kind].push(&mut self.entries, id, open);
        }
        self.count(now, request.write, 1);
        Offer::Queued
    }

    /// Whether [`Controller::offer`] would take the request.
    pub fn accepts(&self, request: &Request) -> bool {
        self.has_room(request.write) || self.is_covered(request)
    }

    /// Whether the request needs no room: a waiting write answers the read or is replaced.
    fn is_covered(&self, request: &Request) -> bool {
        let (bank, access) = (request.location.bank, request.access);
        if request.write {
            self.config.merge_writes && self.holds_write(bank, access)
        } else {
            self.holds_write(bank, access) || self.active_write(bank, access)
        }
    }

    /// Whether a read or write of an access that does not wait yet would be queued.
    pub fn has_room(&self, write: bool) -> bool {
        let kind = usize::from(write);
        let depth = [self.config.reads, self.config.writes][kind];
        if self.config.bank_queue.is_some() {
            (self.fronts[kind].len() as u32) < depth
        } else {
            self.waiting[kind] < depth
        }
    }

    /// The cycle of the next command that serves a request or stands in its way, if any request
    /// waits. What an idle channel does is not announced: [`Controller::offer`] makes up for it.
    /// To be asked after all offers of the cycle advanced to.
    pub fn next_command(&mut self) -> Option<Cycle> {
        if !self.has_work() {
            return None;
        }
        if self.can_move() {
            return Some(self.clock);
        }
        Some(self.plan().0)
    }

    /// The cycle after the last beat of the next read to complete among those under way.
    #[inline]
    pub fn next_completion(&self) -> Option<Cycle> {
        let of = |queue: &Fifo<(Cycle, u32)>| queue.front().map_or(Cycle::MAX, |(cycle, _)| *cycle);
        let first = of(&self.returning).min(of(&self.forwarding));
        (first != Cycle::MAX).then_some(first)
    }

    /// Takes the next read completed by cycle `now`: (cycle after its last beat, tag).
    #[inline]
    pub fn take_completion(&mut self, now: Cycle) -> Option<(Cycle, u32)> {
        let next = self.next_completion().filter(|cycle| *cycle <= now)?;
        if self.forwarding.front().is_some_and(|(c, _)| *c == next) {
            self.forwarding.pop()
        } else {
            self.returning.pop()
        }
    }

    /// Whether a request waits that will be served without another one.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        if self.waiting[0] > 0 || self.active_banks != 0 {
            return true;
        }
        match self.config.bank_queue {
            None => self.config.drain.serves(self.waiting[1], self.draining),
            Some(_) => {
                self.queues[0].banks != 0
                    || self
                        .config
                        .drain
                        .serves(self.fronts[1].len() as u32, self.draining)
            }
        }
    }

    fn holds_write(&self, bank: u32, access: u64) -> bool {
        if self.waiting[1] == 0 {
            return false;
        }
        if self.config.bank_queue.is_none() {
            return self.queues[1].holds_write(&self.entries, bank as usize, access);
        }
        let mut front = self.fronts[1].iter();
        front.any(|id| self.entries[*id].access == access)
            || self.queues[0].holds_write(&self.entries, bank as usize, access)
    }

    fn active_write(&self, bank: u32, access: u64) -> bool {
        self.active[bank as usize].is_some_and(|id| {
            let entry = &self.entries[id];
            entry.write && entry.access == access
        })
    }

    /// The active request of a bank that has one.
    #[inline]
    fn active_request(&self, bank: u32) -> Id {
        self.active[bank as usize].expect("one of the active banks")
    }

    /// Decides the next cycle that has something to decide; false if it lies beyond `until`.
    #[inline]
    fn step(&mut self, until: Cycle) -> bool {
        if self.config.bank_queue.is_some() {
            self.move_to_bank();
        }
        let (cycle, choice) = self.plan();
        if cycle > self.clock && self.can_move() {
            self.clock += 1;
            self.planned = None;
            return true;
        }
        if cycle > until {
            return false;
        }
        self.planned = None;
        self.issue(cycle, choice);
        self.clock = match self.config.command_bus {
            CommandBus::Shared => cycle + 1,
            // The other pins may take one in the same cycle.
            CommandBus::RowAndColumn => cycle,
        };
        true
    }
}

#[cfg(test)]
mod tests;
