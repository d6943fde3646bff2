//! The scheduling of one channel, as a function of time.
//!
//! ```text
//!                      ┌ unified ─► read queue ─┐
//!   offer ─► [reads] ──┤            write queue ┼─► scheduler ─► active requests ─► command bus
//!            [writes]  └ per bank ► bank queues ┘      ▲
//!                                            refresh, page policy
//! ```
//!
//! The frame is that of Ramulator 2 (memory-models 2.2); the policies named in [`Config`] fill it:
//!
//! 1. A request accepted in cycle `c` can cause a command from `c + 1` on.
//! 2. Each cycle issues at most one command, looked for in this order: requests whose ACT has been
//!    issued (*active*), a refresh whose time has come, waiting requests as the [`Scheduler`] says,
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

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Level, State};

use crate::dram::banks::{Banks, Command, Gaps};
use crate::dram::checker::Checker;
use crate::dram::drain::{Drain, Draining};
use crate::dram::mapping::{Geometry, Location};
use crate::dram::page::Page;
use crate::dram::queue::{Entry, NONE, Queue};
use crate::dram::refresh::Refresh;
use crate::dram::scheduler::{Choice, Scheduler, View, bits};
use crate::dram::timing::Timing;

/// The most requests a queue can hold.
pub(crate) const QUEUE_MAX: u32 = 4096;

/// A channel and the policies of its controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Banks, rows and columns.
    pub geometry: Geometry,
    /// Timing of the devices.
    pub timing: Timing,
    /// Reads that may wait for their first command or their row hit.
    pub reads: u32,
    /// Writes, likewise.
    pub writes: u32,
    /// Requests each bank's own queue holds beyond these; none without such queues.
    pub bank_queue: Option<u32>,
    /// Who is next.
    pub scheduler: Scheduler,
    /// How long rows stay open.
    pub page: Page,
    /// When writes are served.
    pub drain: Drain,
    /// Whether a write to an access that waits already replaces it.
    pub merge_writes: bool,
    /// When devices are refreshed.
    pub refresh: Refresh,
}

impl Config {
    /// The controller of the reference runs (memory-models 2.2): Ramulator 2's FR-FCFS with
    /// unified queues of 32 reads and 32 writes, open rows, refreshes never postponed.
    pub fn reference(geometry: Geometry, timing: Timing) -> Self {
        Self {
            geometry,
            timing,
            reads: 32,
            writes: 32,
            bank_queue: None,
            scheduler: Scheduler::FrFcfs,
            page: Page::Open,
            drain: Drain::Watermarks { high: 25, low: 7 },
            merge_writes: true,
            refresh: Refresh::AllBank { postponed_max: 0 },
        }
    }
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What names the access among all of the channel; equal numbers are the same bytes.
    pub access: u64,
    /// Where it goes.
    pub location: Location,
    /// Write or read.
    pub write: bool,
    /// Returned with the completion of a read.
    pub tag: u32,
}

/// What became of an offered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It waits for its turn.
    Queued,
    /// The read is answered from a waiting write.
    Forwarded,
    /// The write replaced a waiting write of the same access.
    Merged,
    /// The queue is full; offer it again.
    Refused,
}

/// A command as issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Cycle of the command bus.
    pub cycle: Cycle,
    /// The command.
    pub command: Command,
}

/// What a channel counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStats {
    /// Reads served by the devices.
    pub reads: u64,
    /// Writes served by the devices.
    pub writes: u64,
    /// Reads answered from a waiting write.
    pub forwarded: u64,
    /// Writes that replaced a waiting one.
    pub merged: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Accesses that found their bank closed.
    pub row_misses: u64,
    /// Accesses that had to close another row.
    pub row_conflicts: u64,
    /// Accesses whose command closed the bank, too (RDA, WRA).
    pub auto_precharges: u64,
    /// ACT commands.
    pub activates: u64,
    /// PRE commands.
    pub precharges: u64,
    /// PREA commands.
    pub precharges_all: u64,
    /// REF commands.
    pub refreshes: u64,
    /// REFpb commands.
    pub refreshes_bank: u64,
    /// Waiting reads, without active ones.
    pub read_queue: Level,
    /// Waiting writes, without active ones.
    pub write_queue: Level,
}

/// A controller with its banks.
#[derive(Clone, Debug)]
pub struct Controller {
    config: Config,
    /// Cycles between refreshes, 0 without any, and the same times those that may be owed.
    refresh_interval: Cycle,
    refresh_slack: Cycle,
    banks: Banks,
    entries: Vec<Entry>,
    free: Vec<u16>,
    /// Waiting requests by kind (reads, writes), or those in bank queues and none.
    queues: [Queue; 2],
    /// Reads and writes before the bank queues, if there are any.
    fronts: [VecDeque<u16>; 2],
    /// Reads and writes that wait, in whatever queue.
    waiting: [u32; 2],
    /// Per bank the request whose ACT has been issued.
    active: Vec<u16>,
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
    planned: Option<(Cycle, Choice)>,
    /// Cycle in which the refresh after the last one issued falls due, and its bank.
    refresh_due: Cycle,
    refresh_bank: u32,
    /// Reads whose data are on their way: (cycle after the last beat, tag).
    returning: VecDeque<(Cycle, u32)>,
    forwarding: VecDeque<(Cycle, u32)>,
    /// Cycle after the last beat written.
    written_until: Option<Cycle>,
    stats: ChannelStats,
    log: Option<Vec<Issued>>,
    /// Judges every command.
    judge: Option<Box<Checker>>,
}

impl Controller {
    /// A controller with closed banks at cycle 0. Numbers are to be checked before.
    pub fn new(config: &Config) -> Self {
        Self::with_gaps(config, &Gaps::new(&config.timing))
    }

    pub(crate) fn with_gaps(config: &Config, gaps: &Gaps) -> Self {
        let Config {
            geometry, timing, ..
        } = config;
        let banks = geometry.banks() as usize;
        let own = config.bank_queue.unwrap_or(0) as usize * banks;
        let capacity = config.reads as usize + config.writes as usize + banks + own;
        assert!(capacity < NONE as usize, "queue depths are checked before");
        let interval = Cycle::from(timing.refresh_interval(config.refresh).unwrap_or(0));
        let mixed = config.bank_queue.is_some();
        Self {
            config: *config,
            refresh_interval: interval,
            refresh_slack: Cycle::from(config.refresh.postponed_max()) * interval,
            banks: Banks::new(geometry, gaps),
            entries: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            queues: [Queue::new(banks, mixed), Queue::new(banks, false)],
            fronts: [VecDeque::new(), VecDeque::new()],
            waiting: [0; 2],
            active: vec![NONE; banks],
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
            returning: VecDeque::new(),
            forwarding: VecDeque::new(),
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
            ..
        } = &self.config;
        self.judge
            .get_or_insert_with(|| Box::new(Checker::new(geometry, *timing, *refresh)));
    }

    /// The judge, if there is one.
    pub fn judge(&self) -> Option<&Checker> {
        self.judge.as_deref()
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
            if self.entries[self.active[bank as usize] as usize].write {
                pending.1 += 1;
            } else {
                pending.0 += 1;
            }
        }
        pending
    }

    /// Names the fields of the state. Commands recorded are no part of it.
    pub fn state(&mut self, state: &mut State<'_>) {
        state.field("banks", self.banks.state());
        state.field("entries", &mut self.entries);
        state.field("free", &mut self.free);
        state.field("queues", &mut self.queues);
        state.field("fronts", &mut self.fronts);
        state.field("waiting", &mut self.waiting);
        state.field("active", &mut self.active);
        state.field("active_banks", &mut self.active_banks);
        state.field("columns", &mut self.columns);
        state.field("used", &mut self.used);
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
        // Found again from the fields when it is needed.
        self.planned = None;
    }

    /// Issues all commands up to and including cycle `until`, unless no request waits.
    pub fn advance(&mut self, until: Cycle) {
        while self.clock <= until && self.has_work() && self.step(until) {}
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

    /// Offers a request in cycle `now`, up to which [`Controller::advance`] has decided.
    pub fn offer(&mut self, now: Cycle, request: Request) -> Offer {
        if !self.has_work() {
            self.catch_up(now);
        }
        debug_assert!(self.clock <= now + 1, "time goes on");
        let Request {
            access, location, ..
        } = request;
        if request.write {
            if self.config.merge_writes && self.holds_write(location.bank, access) {
                self.stats.merged += 1;
                return Offer::Merged;
            }
        } else if self.holds_write(location.bank, access)
            || self.active_write(location.bank as usize, access)
        {
            self.stats.forwarded += 1;
            self.forwarding.push_back((now + 1, request.tag));
            return Offer::Forwarded;
        }
        if !self.has_room(request.write) {
            return Offer::Refused;
        }
        self.clock = now + 1;
        self.planned = None;
        self.age += 1;
        let index = self.add(Entry {
            access,
            age: self.age,
            row: location.row,
            column: location.column,
            bank: location.bank,
            tag: request.tag,
            write: request.write,
            activated: false,
            conflicted: false,
            next: NONE,
        });
        if self.config.bank_queue.is_some() {
            self.fronts[usize::from(request.write)].push_back(index);
        } else {
            let open = self.banks.row(location.bank);
            self.queues[usize::from(request.write)].push(&mut self.entries, index, open);
        }
        self.count(now, request.write, 1);
        Offer::Queued
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
    pub fn next_completion(&self) -> Option<Cycle> {
        let of = |queue: &VecDeque<(Cycle, u32)>| queue.front().map(|(cycle, _)| *cycle);
        match (of(&self.returning), of(&self.forwarding)) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Takes the next read completed by cycle `now`: (cycle after its last beat, tag).
    pub fn take_completion(&mut self, now: Cycle) -> Option<(Cycle, u32)> {
        let next = self.next_completion().filter(|cycle| *cycle <= now)?;
        if self.forwarding.front().is_some_and(|(c, _)| *c == next) {
            self.forwarding.pop_front()
        } else {
            self.returning.pop_front()
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

    fn add(&mut self, entry: Entry) -> u16 {
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u16
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
        front.any(|index| self.entries[*index as usize].access == access)
            || self.queues[0].holds_write(&self.entries, bank as usize, access)
    }

    fn active_write(&self, bank: usize, access: u64) -> bool {
        let index = self.active[bank];
        index != NONE && {
            let entry = &self.entries[index as usize];
            entry.write && entry.access == access
        }
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
        self.clock = cycle + 1;
        true
    }

    /// The request that moves to its bank's queue next: its place before them.
    fn movable(&self) -> Option<(usize, usize)> {
        let depth = self.config.bank_queue?;
        let kind = usize::from(self.draining.on());
        let room = |index: &u16| {
            let bank = self.entries[*index as usize].bank as usize;
            u32::from(self.queues[0].lines[bank].len) < depth
        };
        let at = self.fronts[kind].iter().position(room)?;
        Some((kind, at))
    }

    #[inline]
    fn can_move(&mut self) -> bool {
        self.config.bank_queue.is_some() && {
            self.update_draining();
            self.movable().is_some()
        }
    }

    /// Moves a request to its bank's queue, if one can.
    fn move_to_bank(&mut self) {
        self.update_draining();
        let Some((kind, at)) = self.movable() else {
            return;
        };
        let index = self.fronts[kind].remove(at).expect("just found");
        if kind == 1 {
            self.draining.served();
        }
        // From here on the order is that of the bank queues.
        self.age += 1;
        self.entries[index as usize].age = self.age;
        let open = self.banks.row(self.entries[index as usize].bank);
        self.queues[0].push(&mut self.entries, index, open);
        self.planned = None;
    }

    #[inline]
    fn update_draining(&mut self) {
        let drain = self.config.drain;
        if self.config.bank_queue.is_none() {
            let [reads, writes] = self.waiting;
            let full = writes >= self.config.writes;
            self.draining.update(drain, writes, full, reads);
            return;
        }
        let writes = self.fronts[1].len() as u32;
        let against = match drain {
            Drain::Watermarks { .. } => self.fronts[0].len() as u32,
            Drain::Batches { .. } => u32::from(self.queues[0].banks != 0),
        };
        let full = writes >= self.config.writes;
        self.draining.update(drain, writes, full, against);
    }

    /// The next command and its cycle (not before `clock`), if nothing is offered until then.
    #[inline]
    fn plan(&mut self) -> (Cycle, Choice) {
        if let Some(planned) = self.planned {
            return planned;
        }
        let planned = self.find();
        self.planned = Some(planned);
        planned
    }

    fn find(&mut self) -> (Cycle, Choice) {
        self.update_draining();
        let mut best = self.oldest_active();
        if best.0 <= self.clock {
            return best;
        }
        let (due, refresh) = self.next_refresh();
        if refresh.0 < best.0 {
            best = refresh;
        }
        let mut waiting = self.next_waiting(0);
        if waiting.0 >= due {
            // From then on nothing new is started where the refresh is, or anywhere while the
            // bank has an active request: turnarounds could put that off for ever.
            let bank = 1 << self.refresh_bank;
            waiting = match self.config.refresh {
                Refresh::PerBank { .. } if self.active_banks & bank == 0 => self.next_waiting(bank),
                _ => (Cycle::MAX, Choice::Nothing),
            };
        }
        if waiting.0 < best.0 {
            best = waiting;
        }
        if let Page::Timeout { .. } = self.config.page {
            let expired = self.next_expired();
            if expired.0 < best.0 {
                best = expired;
            }
        }
        best
    }

    #[inline]
    fn oldest_active(&self) -> (Cycle, Choice) {
        let mut best = crate::dram::scheduler::Best::new(self.clock);
        for bank in bits(self.active_banks) {
            let index = self.active[bank as usize];
            let entry = &self.entries[index as usize];
            let from = self.banks.column_from(bank, entry.write);
            best.consider(from, entry.age, Choice::Active(index));
        }
        best.take()
    }

    #[inline]
    fn next_waiting(&self, barred: u64) -> (Cycle, Choice) {
        let kind = if self.config.bank_queue.is_some() {
            0
        } else {
            usize::from(self.draining.on())
        };
        self.config.scheduler.next(&View {
            banks: &self.banks,
            entries: &self.entries,
            queue: &self.queues[kind],
            active: self.active_banks,
            barred,
            clock: self.clock,
            columns: &self.columns,
            turn: self.turn,
        })
    }

    /// The cycle from which on nothing new is started where the next refresh is, and what brings
    /// that refresh about.
    #[inline]
    fn next_refresh(&self) -> (Cycle, (Cycle, Choice)) {
        let never = (Cycle::MAX, (Cycle::MAX, Choice::Nothing));
        match self.config.refresh {
            Refresh::Off => never,
            Refresh::AllBank { .. } => {
                let due = self.refresh_from(self.has_work());
                let from = due.max(self.clock);
                if self.banks.open() == 0 {
                    let legal = self.banks.refresh_from();
                    (due, (from.max(legal), Choice::Refresh))
                } else if self.active_banks == 0 {
                    let legal = self.banks.precharge_all_from();
                    (due, (from.max(legal), Choice::PrechargeAll))
                } else {
                    (due, never.1)
                }
            }
            Refresh::PerBank { .. } => {
                let bank = self.refresh_bank;
                let bit = 1 << bank;
                let banks = self.queues[0].banks | self.queues[1].banks | self.active_banks;
                let due = self.refresh_from(banks & bit != 0 && self.has_work());
                let from = due.max(self.clock);
                if self.banks.open() & bit == 0 {
                    let legal = self.banks.refresh_bank_from(bank);
                    (due, (from.max(legal), Choice::RefreshBank(bank)))
                } else if self.active_banks & bit == 0 {
                    let legal = self.banks.precharge_from(bank);
                    (due, (from.max(legal), Choice::PrechargeForRefresh(bank)))
                } else {
                    (due, never.1)
                }
            }
        }
    }

    /// When the next refresh is begun: later, if something waits for what it closes.
    #[inline]
    fn refresh_from(&self, wanted: bool) -> Cycle {
        if wanted {
            self.refresh_due + self.refresh_slack
        } else {
            self.refresh_due
        }
    }

    /// The next row that the page policy gives up.
    fn next_expired(&self) -> (Cycle, Choice) {
        let mut best = crate::dram::scheduler::Best::new(self.clock);
        for bank in bits(self.banks.open() & !self.active_banks) {
            let hit = |queue: &Queue| {
                queue.banks >> bank & 1 != 0 && queue.lines[bank as usize].hit != NONE
            };
            if self.queues.iter().any(hit) {
                continue;
            }
            if let Some(expires) = self.config.page.expires(self.used[bank as usize]) {
                let from = expires.max(self.banks.precharge_from(bank));
                best.consider(from, u64::from(bank), Choice::Close(bank));
            }
        }
        best.take()
    }

    fn issue(&mut self, cycle: Cycle, choice: Choice) {
        let command = match choice {
            Choice::Nothing => return,
            Choice::Active(index) => {
                let bank = self.entries[index as usize].bank;
                self.active[bank as usize] = NONE;
                self.active_banks &= !(1 << bank);
                self.access(cycle, index)
            }
            Choice::Column(index) => {
                self.leave(cycle, index);
                self.access(cycle, index)
            }
            Choice::Activate(index) => self.activate(cycle, index),
            Choice::Precharge(index) => {
                let entry = &mut self.entries[index as usize];
                entry.conflicted = true;
                self.turn = entry.bank;
                self.stats.precharges += 1;
                Command::Precharge { bank: entry.bank }
            }
            Choice::Close(bank) | Choice::PrechargeForRefresh(bank) => {
                self.stats.precharges += 1;
                Command::Precharge { bank }
            }
            Choice::PrechargeAll => {
                self.stats.precharges_all += 1;
                Command::PrechargeAll
            }
            Choice::Refresh => {
                self.stats.refreshes += 1;
                self.refresh_due += self.refresh_interval;
                Command::Refresh
            }
            Choice::RefreshBank(bank) => {
                self.stats.refreshes_bank += 1;
                self.refresh_due += self.refresh_interval;
                self.refresh_bank = (bank + 1) % self.banks.count();
                Command::RefreshBank { bank }
            }
        };
        self.banks.issue(cycle, command);
        match command {
            Command::Activate { bank, .. } | Command::Precharge { bank } => self.sort_out(bank),
            // With a bank closed its candidates are not looked at.
            _ => {}
        }
        let issued = Issued { cycle, command };
        if let Some(judge) = &mut self.judge {
            judge.check(&issued);
        }
        if let Some(log) = &mut self.log {
            log.push(issued);
        }
    }

    fn activate(&mut self, cycle: Cycle, index: u16) -> Command {
        if self.config.scheduler.has_active_requests() {
            self.leave(cycle, index);
            let bank = self.entries[index as usize].bank;
            self.active[bank as usize] = index;
            self.active_banks |= 1 << bank;
        }
        let entry = &mut self.entries[index as usize];
        entry.activated = true;
        let Entry { bank, row, .. } = *entry;
        self.stats.activates += 1;
        self.columns[bank as usize] = 0;
        self.used[bank as usize] = cycle;
        self.turn = bank;
        Command::Activate { bank, row }
    }

    /// The column command of a request, which then is done with the command bus.
    fn access(&mut self, cycle: Cycle, index: u16) -> Command {
        let Entry {
            bank,
            row,
            column,
            tag,
            write,
            activated,
            conflicted,
            ..
        } = self.entries[index as usize];
        self.free.push(index);
        let found = if conflicted {
            &mut self.stats.row_conflicts
        } else if activated {
            &mut self.stats.row_misses
        } else {
            &mut self.stats.row_hits
        };
        *found += 1;
        self.columns[bank as usize] += 1;
        self.used[bank as usize] = cycle;
        self.turn = bank;
        let auto = self.config.page.closes() && self.active_banks >> bank & 1 == 0;
        self.stats.auto_precharges += u64::from(auto);
        if write {
            self.stats.writes += 1;
            let end = cycle + Cycle::from(self.config.timing.write_data_end());
            self.written_until = Some(end);
            Command::Write {
                bank,
                row,
                column,
                auto,
            }
        } else {
            self.stats.reads += 1;
            let end = cycle + Cycle::from(self.config.timing.read_data_end());
            self.returning.push_back((end, tag));
            Command::Read {
                bank,
                row,
                column,
                auto,
            }
        }
    }

    /// Takes a request out of its queue.
    fn leave(&mut self, cycle: Cycle, index: u16) {
        let Entry { bank, write, .. } = self.entries[index as usize];
        let open = self.banks.row(bank);
        let kind = if self.config.bank_queue.is_some() {
            0
        } else {
            if write {
                self.draining.served();
            }
            usize::from(write)
        };
        self.queues[kind].remove(&mut self.entries, index, open);
        self.count(cycle, write, -1);
    }

    /// Finds the candidates of a bank whose row has changed.
    fn sort_out(&mut self, bank: u32) {
        if let Some(row) = self.banks.row(bank) {
            for queue in &mut self.queues {
                queue.sort_out(&self.entries, bank, row);
            }
        }
    }

    fn count(&mut self, cycle: Cycle, write: bool, change: i32) {
        let waiting = &mut self.waiting[usize::from(write)];
        *waiting = waiting.wrapping_add_signed(change);
        let level = if write {
            &mut self.stats.write_queue
        } else {
            &mut self.stats.read_queue
        };
        level.set(cycle, u64::from(*waiting));
    }

    /// Whether only refreshes change anything.
    fn is_at_rest(&self) -> bool {
        self.banks.open() == 0 && self.log.is_none() && self.judge.is_none()
    }

    /// Skips refreshes of a channel at rest in closed form: with all banks closed each is issued
    /// in the very cycle it falls due in, provided it can be.
    fn refresh_at_rest(&mut self, until: Cycle) {
        let banks = self.banks.count();
        // Nothing is left to be seen of those skipped once so many more have been issued.
        let (from, unit) = match self.config.refresh {
            Refresh::Off => return,
            Refresh::AllBank { .. } => (self.banks.refresh_from(), 1),
            Refresh::PerBank { .. } => {
                let from = (0..banks).map(|b| self.banks.refresh_bank_from(b));
                (from.max().unwrap_or(0), u64::from(banks.max(WINDOW)))
            }
        };
        if until < self.refresh_due || from > self.refresh_due {
            return;
        }
        let fall_due = (until - self.refresh_due) / self.refresh_interval;
        let skipped = (fall_due / unit).saturating_sub(u64::from(unit > 1)) * unit;
        if skipped == 0 {
            return;
        }
        if unit > 1 {
            self.stats.refreshes_bank += skipped;
        } else {
            self.stats.refreshes += skipped;
        }
        self.refresh_due += skipped * self.refresh_interval;
        self.clock = self.refresh_due;
        self.planned = None;
    }
}

/// ACT in the longest window of the rules.
const WINDOW: u32 = 32;

#[cfg(test)]
pub(in crate::dram) mod tests;
