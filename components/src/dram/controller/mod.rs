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
//! | `request_queues.rs` | the requests, the queues in which they wait, and whose turn it is |
//! | `bank_states.rs`, `refresh_timer.rs`, `data_bus.rs` | the banks, the next refresh, the data in flight |
//! | `plan.rs` | which command comes next, and when |
//! | `issue.rs` | what a command changes |
//! | `idle.rs` | refreshes of a channel that stands still |
//!
//! Banks, queues and policies are in the files next to this folder. The controller does not depend
//! on ports and messages.

mod bank_states;
mod config;
mod data_bus;
mod idle;
mod issue;
mod plan;
mod refresh_timer;
mod request;
mod request_queues;
mod stats;

use warpweave_framework::{Cycle, State};

use crate::dram::banks::{Gaps, Issued};
use crate::dram::checker::Checker;
use crate::dram::command_bus::CommandBus;
use crate::dram::scheduler::{AnyRequestOrder, BuiltInOrder, Candidate, bits};

use bank_states::BankStates;
pub use config::Config;
pub(crate) use config::QUEUE_MAX;
use data_bus::DataBus;
use refresh_timer::RefreshTimer;
pub use request::{Offer, Request};
use request_queues::RequestQueues;
pub use stats::{AccessCounts, ChannelStats, CommandCounts, RowCounts};

/// Memory controller of one channel with its banks.
#[derive(State)]
#[state(prepare = Controller::forget_plan)]
pub struct Controller {
    #[state(skip)]
    config: Config,
    #[state(flatten)]
    banks: BankStates,
    #[state(flatten)]
    requests: RequestQueues,
    /// First cycle whose command is not decided yet, or an earlier cycle that has no command.
    clock: Cycle,
    /// Next command and its cycle, valid until another request is accepted; see `plan`.
    #[state(skip)]
    planned: Option<(Cycle, Candidate)>,
    #[state(part)]
    refresh: RefreshTimer,
    #[state(flatten)]
    data: DataBus,
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
        Self {
            config: *config,
            banks: BankStates::new(&config.geometry, gaps),
            requests: RequestQueues::new(config),
            clock: 0,
            planned: None,
            refresh: RefreshTimer::new(config),
            data: DataBus::default(),
            stats: ChannelStats::default(),
            log: None,
            judge: None,
            order,
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

    pub(super) fn config(&self) -> &Config {
        &self.config
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
        self.data.last_written()
    }

    /// Returns the number of (reads, writes) that still need a command, including active ones.
    pub fn pending(&self) -> (u32, u32) {
        let [reads, writes] = self.requests.waiting();
        let mut pending = (reads, writes);
        for bank in bits(self.banks.active_banks()) {
            if self.requests.entries[self.banks.active_request(bank)].write {
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
            CommandBus::RowAndColumn => self.banks.timing.take_pins(cycle, pins == 1),
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
            banks: self.banks.clone(),
            requests: self.requests.clone(),
            clock: self.clock,
            planned: self.planned,
            refresh: self.refresh.clone(),
            data: self.data.clone(),
            stats: self.stats.clone(),
            log: None,
            judge: self.judge.clone(),
            order: AnyRequestOrder::BuiltIn(BuiltInOrder::Fcfs),
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
            self.data.forward(now + 1, request.tag);
            return Offer::Forwarded;
        }
        if !self.has_room(request.write) {
            return Offer::Refused;
        }
        self.clock = now + 1;
        self.planned = None;
        self.requests
            .push(&self.config, &request, &self.banks.timing);
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
        self.requests.has_room(&self.config, write)
    }

    /// Returns the cycle of the next command that serves or blocks a request, if any request waits.
    /// Idle-time commands are not reported, because [`Controller::offer`] catches up on them. Call
    /// it after all offers of the current cycle.
    pub fn next_command(&mut self) -> Option<Cycle> {
        if !self.has_work() {
            return None;
        }
        if self.requests.can_move(&self.config) {
            return Some(self.clock);
        }
        Some(self.plan().0)
    }

    /// Returns the cycle after the last beat of the next outstanding read to complete.
    #[inline]
    pub fn next_completion(&self) -> Option<Cycle> {
        self.data.next()
    }

    /// Takes the next read completed by cycle `now`, as (cycle after its last beat, tag).
    #[inline]
    pub fn take_completion(&mut self, now: Cycle) -> Option<(Cycle, u32)> {
        self.data.take(now)
    }

    /// True if a waiting request will be served without the arrival of another one.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.banks.active_banks() != 0 || self.requests.has_work(&self.config)
    }

    fn holds_write(&self, bank: u32, access: u64) -> bool {
        self.requests.holds_write(&self.config, bank, access)
    }

    fn active_write(&self, bank: u32, access: u64) -> bool {
        self.banks.active(bank).is_some_and(|id| {
            let entry = &self.requests.entries[id];
            entry.write && entry.access == access
        })
    }

    /// Processes the next cycle that needs a decision. Returns false if it is after `until`.
    #[inline]
    fn step(&mut self, until: Cycle) -> bool {
        if let Some(depth) = self.config.bank_queue
            && self
                .requests
                .move_to_bank(&self.config, depth, &self.banks.timing)
        {
            self.planned = None;
        }
        let (cycle, choice) = self.plan();
        if cycle > self.clock && self.requests.can_move(&self.config) {
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
