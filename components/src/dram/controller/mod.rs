//! Scheduling of one channel, as a function of time.
//!
//! ```text
//!                      ┌ unified ─► read queue ─┐
//!   offer ─► [reads] ──┤            write queue ┼─► scheduler ─► active requests ─► command bus
//!            [writes]  └ per bank ► bank queues ┘      ▲
//!                                            refresh, page policy
//! ```
//!
//! The framework is that of Ramulator 2. The policies named in [`Config`] and a request order
//! complete it:
//!
//! 1. A request accepted in cycle `c` can cause a command from `c + 1` on.
//! 2. Each cycle issues at most one command. With a [`CommandBus`] of row and column pins it issues
//!    one for each, the second treated like the only command of another cycle. Candidates in order:
//!    requests whose ACT has been issued (*active*), a due refresh, waiting requests in the
//!    [order](AnyRequestOrder), a row the [`Page`] policy closes. A pending all-bank refresh blocks
//!    all new requests. A pending per-bank refresh blocks new requests to its bank, and also to
//!    other banks while its bank has an active request.
//! 3. Every request needs the next command of its bank: ACT, PRE, or RD/WR. A bank with an active
//!    request is not precharged.
//! 4. In the unified organisation the [`Drain`] policy selects whether reads or writes are
//!    scheduled. With bank queues it selects the kind whose oldest request with room in its bank's
//!    queue moves there, one request per cycle.
//! 5. A read of an access that a waiting write covers is answered from it one cycle after its
//!    acceptance. A write to an access that already has a waiting write replaces it.
//!
//! No work is done per cycle. The controller computes the next cycle in which a command can be
//! issued ([`Controller::next_command`]), and [`Controller::advance`] steps from command to
//! command. It may therefore be called every cycle or once after a long sleep with the same result.
//! While no request waits the controller is not advanced. The next offer catches up on the
//! refreshes and row timeouts of that time.
//!
//! | file | what it has |
//! |---|---|
//! | `config.rs`, `request.rs`, `stats.rs` | what it is built from, what it is offered, what it counts |
//! | `plan.rs` | which command comes next, and when |
//! | `issue.rs` | what a command changes |
//! | `bank_queues.rs` | requests on their way to the queues of their banks, and whose turn it is |
//! | `idle.rs` | refreshes of a channel that stands still |
//!
//! Banks, queues and policies are in the files next to this folder. The controller does not depend
//! on ports and messages.

mod bank_queues;
mod config;
mod idle;
mod issue;
mod plan;
mod request;
mod stats;

use std::collections::VecDeque;

use warpweave_framework::{Cycle, Id, IdTable, State};

use crate::building_blocks::Fifo;
use crate::dram::banks::{Banks, Gaps, Issued};
use crate::dram::checker::Checker;
use crate::dram::command_bus::CommandBus;
use crate::dram::drain::Draining;
use crate::dram::mapping::Location;
use crate::dram::queue::{Entry, Queue};
use crate::dram::scheduler::{AnyRequestOrder, BuiltInOrder, Candidate, bits};

pub use config::Config;
pub(crate) use config::QUEUE_MAX;
pub use request::{Offer, Request};
pub use stats::{AccessCounts, ChannelStats, CommandCounts, RowCounts};

/// Memory controller of one channel with its banks.
#[derive(State)]
#[state(prepare = Controller::forget_plan)]
pub struct Controller {
    #[state(skip)]
    config: Config,
    /// Cycles between refreshes (0 without refresh), and that interval times the number of
    /// refreshes that may be postponed.
    #[state(skip)]
    refresh_interval: Cycle,
    #[state(skip)]
    refresh_slack: Cycle,
    #[state(flatten)]
    banks: Banks,
    entries: IdTable<Entry>,
    /// Waiting requests by kind (reads, writes). With bank queues, all are in the first and the
    /// second is empty.
    queues: [Queue; 2],
    /// Reads and writes that have not yet moved to a bank queue; empty without bank queues.
    fronts: [VecDeque<Id>; 2],
    /// Number of waiting reads and writes over all queues.
    waiting: [u32; 2],
    /// Active request of each bank, whose ACT has been issued.
    #[state(array)]
    active: Vec<Option<Id>>,
    active_banks: u64,
    /// Column commands of each bank since its ACT, and the cycle of its last ACT or column command.
    #[state(array)]
    columns: Vec<u32>,
    #[state(array)]
    used: Vec<Cycle>,
    /// Bank that received the last scheduled command.
    turn: u32,
    draining: Draining,
    age: u64,
    /// First cycle whose command is not decided yet, or an earlier cycle that has no command.
    clock: Cycle,
    /// Next command and its cycle, valid until another request is accepted; see `plan`.
    #[state(skip)]
    planned: Option<(Cycle, Candidate)>,
    /// Cycle in which the next refresh falls due, and its bank.
    refresh_due: Cycle,
    refresh_bank: u32,
    /// Reads whose data are in flight: (cycle after the last beat, tag).
    returning: Fifo<(Cycle, u32)>,
    forwarding: Fifo<(Cycle, u32)>,
    /// Cycle after the last beat of the latest write.
    written_until: Option<Cycle>,
    stats: ChannelStats,
    #[state(skip)]
    log: Option<Vec<Issued>>,
    /// Timing checker that sees every command, if enabled.
    #[state(part)]
    judge: Option<Box<Checker>>,
    #[state(flatten)]
    order: AnyRequestOrder,
}

impl Controller {
    /// Creates a controller with closed banks at cycle 0. The configuration must have been checked
    /// before.
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

    /// Starts recording commands for [`Controller::commands`].
    pub fn record_commands(&mut self) {
        self.log.get_or_insert_default();
    }

    /// Returns the commands issued since [`Controller::record_commands`] was called.
    pub fn commands(&self) -> &[Issued] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Attaches a [`Checker`] to every command. Must be called before the first command.
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

    /// Returns the timing checker, if one is attached.
    pub fn judge(&self) -> Option<&Checker> {
        self.judge.as_deref()
    }

    /// Returns the order in which its requests are scheduled.
    pub fn order(&self) -> &AnyRequestOrder {
        &self.order
    }

    /// Returns the counters up to the last command.
    pub fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// Returns the cycle after the last beat of the latest write command, if any.
    pub fn last_written(&self) -> Option<Cycle> {
        self.written_until
    }

    /// Returns the number of (reads, writes) that still need a command, including active ones.
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

    /// Drops the next command, which is found again from the fields when it is needed.
    fn forget_plan(&mut self) {
        self.planned = None;
    }

    /// Issues all commands up to and including cycle `until`, unless no request waits. Returns true
    /// if [`Controller::accepts`] may give another answer than before.
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

    /// Issues the next command in `cycle`, as returned by [`Controller::next_command`]. Returns the
    /// pins it uses.
    pub(super) fn issue_next(&mut self, cycle: Cycle) -> usize {
        let (_, choice) = self.plan();
        let is_column = matches!(choice, Candidate::Active(_) | Candidate::Column(_));
        self.step(cycle);
        match self.config.command_bus {
            CommandBus::RowAndColumn => usize::from(is_column),
            CommandBus::Shared => 0,
        }
    }

    /// Blocks these pins in `cycle`, because another channel on the same bus has used them.
    /// Commands issued while no request waits do not occupy the shared bus.
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

    /// Like [`Controller::advance`], but also runs without waiting requests: refreshes banks and
    /// closes expired rows.
    pub fn catch_up(&mut self, until: Cycle) {
        while self.clock <= until && self.step(until) {
            if !self.has_work() && self.is_at_rest() {
                self.refresh_at_rest(until);
            }
        }
    }

    /// Returns a copy of the channel brought forward to cycle `until`, including refreshes skipped
    /// while no request waited. With waiting requests the channel is already up to date.
    ///
    /// The copy is read-only, because its request order is a placeholder.
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

    /// Offers a request in cycle `now`, up to which [`Controller::advance`] must have been called.
    pub fn offer(&mut self, now: Cycle, request: Request) -> Offer {
        if !self.has_work() {
            self.catch_up(now);
        }
        debug_assert!(self.clock <= now + 1, "time goes on");
        if self.is_covered(&request) {
            if request.write {
                self.stats.accesses.writes_merged += 1;
                return Offer::Merged;
            }
            self.stats.accesses.reads_forwarded += 1;
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

    /// True if [`Controller::offer`] would accept the request.
    pub fn accepts(&self, request: &Request) -> bool {
        self.has_room(request.write) || self.is_covered(request)
    }

    /// True if the request needs no queue entry, because a waiting write answers or absorbs it.
    fn is_covered(&self, request: &Request) -> bool {
        let (bank, access) = (request.location.bank, request.access);
        if request.write {
            self.config.merge_writes && self.holds_write(bank, access)
        } else {
            self.holds_write(bank, access) || self.active_write(bank, access)
        }
    }

    /// True if the queue has room for a read or write to an access that is not waiting yet.
    pub fn has_room(&self, write: bool) -> bool {
        let kind = usize::from(write);
        let depth = [self.config.reads, self.config.writes][kind];
        if self.config.bank_queue.is_some() {
            (self.fronts[kind].len() as u32) < depth
        } else {
            self.waiting[kind] < depth
        }
    }

    /// Returns the cycle of the next command that serves or blocks a request, if any request waits.
    /// Idle-time commands are not reported, because [`Controller::offer`] catches up on them. Call
    /// it after all offers of the current cycle.
    pub fn next_command(&mut self) -> Option<Cycle> {
        if !self.has_work() {
            return None;
        }
        if self.can_move() {
            return Some(self.clock);
        }
        Some(self.plan().0)
    }

    /// Returns the cycle after the last beat of the next outstanding read to complete.
    #[inline]
    pub fn next_completion(&self) -> Option<Cycle> {
        let of = |queue: &Fifo<(Cycle, u32)>| queue.front().map_or(Cycle::MAX, |(cycle, _)| *cycle);
        let first = of(&self.returning).min(of(&self.forwarding));
        (first != Cycle::MAX).then_some(first)
    }

    /// Takes the next read completed by cycle `now`, as (cycle after its last beat, tag).
    #[inline]
    pub fn take_completion(&mut self, now: Cycle) -> Option<(Cycle, u32)> {
        let next = self.next_completion().filter(|cycle| *cycle <= now)?;
        if self.forwarding.front().is_some_and(|(c, _)| *c == next) {
            self.forwarding.pop()
        } else {
            self.returning.pop()
        }
    }

    /// True if a waiting request will be served without the arrival of another one.
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

    /// Returns the active request of a bank, which must have one.
    #[inline]
    fn active_request(&self, bank: u32) -> Id {
        self.active[bank as usize].expect("the bank is one of the active banks")
    }

    /// Processes the next cycle that needs a decision. Returns false if it is after `until`.
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
