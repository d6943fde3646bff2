//! First-ready first-come first-served scheduling of one channel, as a function of time.
//!
//! The policy is the published "FR-FCFS" of Ramulator 2 (memory-models 2.2):
//!
//! 1. A request accepted in cycle `c` can cause a command from `c + 1` on.
//! 2. Each cycle issues at most one command, looked for in this order: requests whose ACT has been
//!    issued (*active*), a waiting refresh, the queued reads or, in write mode, the queued writes.
//!    While a refresh waits, nothing but active requests is served.
//! 3. Every request asks for the command its bank needs next: ACT, PRE, or RD/WR. Among the
//!    commands that are legal now the oldest request's wins; a precharge that is legal ranks equal
//!    to a row hit. A bank with an active request is not precharged.
//! 4. Write mode starts when more than `write_high` writes wait or no reads do, and ends when
//!    fewer than `write_low` writes wait and reads do.
//! 5. A read of an access that a waiting write covers is answered from it one cycle after its
//!    acceptance; a write to an access that waits already replaces it.
//! 6. All-bank refresh `k` appears in cycle `k × tREFI` and is never postponed on purpose.
//!
//! Nothing here happens per cycle: the controller computes the next cycle in which a command can
//! be issued ([`Controller::next_command`]) and [`Controller::advance`] goes from command to
//! command, so that it may be called every cycle or once after a long sleep with the same result.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Level};

use super::banks::{Banks, Command, Gaps};
use super::checker::Checker;
use super::mapping::{Geometry, Location};
use super::timing::Timing;

/// No entry.
const NONE: u16 = u16::MAX;

/// The most requests a queue can hold.
pub(crate) const QUEUE_MAX: u32 = 4096;

/// Sizes and thresholds of the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Reads waiting for their first command or their row hit.
    pub reads: u32,
    /// Writes, likewise.
    pub writes: u32,
    /// Write mode starts above this many waiting writes.
    pub write_high: u32,
    /// Write mode ends below this many waiting writes if reads wait.
    pub write_low: u32,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// ACT commands.
    pub activates: u64,
    /// PRE commands.
    pub precharges: u64,
    /// PREA commands.
    pub precharges_all: u64,
    /// REF commands.
    pub refreshes: u64,
    /// Waiting reads, without active ones.
    pub read_queue: Level,
    /// Waiting writes, without active ones.
    pub write_queue: Level,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    access: u64,
    /// Order of acceptance.
    age: u64,
    row: u32,
    column: u32,
    bank: u32,
    tag: u32,
    write: bool,
    /// The request closed another row.
    conflicted: bool,
    /// The next younger entry of the same queue and bank.
    next: u16,
}

/// The requests of one queue for one bank, and the two of them that can be next.
#[derive(Clone, Copy, Debug)]
struct Line {
    oldest: u16,
    youngest: u16,
    /// The oldest that needs the open row.
    hit: u16,
    /// The oldest that needs another row than the open one.
    miss: u16,
}

#[derive(Clone, Debug)]
struct Queue {
    lines: Vec<Line>,
    /// Banks with requests.
    banks: u64,
    len: u32,
    depth: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Nothing,
    /// The column command of a bank's active request.
    Active(u16),
    Activate(u16),
    Precharge(u16),
    Column(u16),
    PrechargeAll,
    Refresh,
}

/// A controller with its banks.
#[derive(Clone, Debug)]
pub struct Controller {
    timing: Timing,
    queues: Queues,
    refresh: bool,
    banks: Banks,
    entries: Vec<Entry>,
    free: Vec<u16>,
    /// Reads, writes.
    waiting: [Queue; 2],
    /// Per bank the request whose ACT has been issued.
    active: Vec<u16>,
    active_banks: u64,
    write_mode: bool,
    age: u64,
    /// First cycle whose command is not decided yet.
    clock: Cycle,
    /// What is issued next, and when, unless something is accepted before; see `plan`.
    planned: Option<(Cycle, Choice)>,
    /// Cycle in which the refresh after the last one issued appears.
    refresh_due: Cycle,
    /// Reads whose data are on their way: (cycle after the last beat, tag).
    returning: VecDeque<(Cycle, u32)>,
    forwarding: VecDeque<(Cycle, u32)>,
    stats: ChannelStats,
    log: Option<Vec<Issued>>,
    /// Judges every command, in builds with debug assertions.
    judge: Option<Box<Checker>>,
}

impl Controller {
    /// A controller with closed banks at cycle 0. Numbers are to be checked before.
    ///
    /// In builds with debug assertions every command is judged by a [`Checker`].
    pub fn new(geometry: &Geometry, timing: Timing, queues: Queues, refresh: bool) -> Self {
        // Refreshes skipped in closed form are not shown to the judge, so it must not count them.
        let judge = || Box::new(Checker::new(geometry, timing, false));
        Self {
            judge: cfg!(debug_assertions).then(judge),
            ..Self::with_gaps(geometry, timing, Gaps::new(&timing), queues, refresh)
        }
    }

    pub(crate) fn with_gaps(
        geometry: &Geometry,
        timing: Timing,
        gaps: Gaps,
        queues: Queues,
        refresh: bool,
    ) -> Self {
        let banks = geometry.banks() as usize;
        let capacity = queues.reads as usize + queues.writes as usize + banks;
        assert!(capacity < NONE as usize, "queue depths are checked before");
        Self {
            timing,
            queues,
            refresh,
            banks: Banks::new(geometry, gaps),
            entries: Vec::with_capacity(capacity),
            free: Vec::with_capacity(capacity),
            waiting: [
                Queue::new(banks, queues.reads),
                Queue::new(banks, queues.writes),
            ],
            active: vec![NONE; banks],
            active_banks: 0,
            write_mode: false,
            age: 0,
            clock: 0,
            planned: None,
            refresh_due: Cycle::from(timing.t_refi),
            returning: VecDeque::new(),
            forwarding: VecDeque::new(),
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

    /// Counts up to the last [`Controller::advance`].
    pub fn stats(&self) -> &ChannelStats {
        &self.stats
    }

    /// Requests that still need a command: (reads, writes), active ones included.
    pub fn pending(&self) -> (u32, u32) {
        let mut pending = (self.waiting[0].len, self.waiting[1].len);
        for bank in bits(self.active_banks) {
            if self.entries[self.active[bank as usize] as usize].write {
                pending.1 += 1;
            } else {
                pending.0 += 1;
            }
        }
        pending
    }

    /// Decides all commands up to and including cycle `until`.
    pub fn advance(&mut self, until: Cycle) {
        while self.clock <= until {
            let (cycle, choice) = self.plan();
            if cycle > until {
                break;
            }
            self.planned = None;
            self.issue(cycle, choice);
            self.clock = cycle + 1;
            if choice == Choice::Refresh && self.is_at_rest() {
                self.refresh_at_rest(until);
            }
        }
        self.clock = self.clock.max(until + 1);
    }

    /// Offers a request in cycle `now`, up to which [`Controller::advance`] has decided.
    pub fn offer(&mut self, now: Cycle, request: Request) -> Offer {
        debug_assert_eq!(self.clock, now + 1, "advance first, then offer");
        let Request {
            access, location, ..
        } = request;
        let bank = location.bank as usize;
        if request.write {
            if self.waiting_write(bank, access) {
                self.stats.merged += 1;
                return Offer::Merged;
            }
        } else if self.waiting_write(bank, access) || self.active_write(bank, access) {
            self.stats.forwarded += 1;
            self.forwarding.push_back((now + 1, request.tag));
            return Offer::Forwarded;
        }
        if !self.has_room(request.write) {
            return Offer::Refused;
        }
        self.age += 1;
        let entry = Entry {
            access,
            age: self.age,
            row: location.row,
            column: location.column,
            bank: location.bank,
            tag: request.tag,
            write: request.write,
            conflicted: false,
            next: NONE,
        };
        let index = if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            index
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u16
        };
        let open = self.banks.row(location.bank);
        self.waiting[usize::from(request.write)].push(&mut self.entries, index, open);
        self.note_occupancy(now, request.write);
        self.planned = None;
        Offer::Queued
    }

    /// Whether a read or write of an access that does not wait yet would be queued.
    pub fn has_room(&self, write: bool) -> bool {
        let queue = &self.waiting[usize::from(write)];
        queue.len < queue.depth
    }

    /// The cycle of the next command that serves a request or stands in its way, if any request
    /// waits. Refreshes of an idle channel are not announced: [`Controller::advance`] makes up for
    /// them. To be asked after all offers of the cycle advanced to.
    pub fn next_command(&mut self) -> Option<Cycle> {
        let work = self.waiting[0].len + self.waiting[1].len > 0 || self.active_banks != 0;
        work.then(|| self.plan().0)
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

    fn waiting_write(&self, bank: usize, access: u64) -> bool {
        let mut index = self.waiting[1].lines[bank].oldest;
        while index != NONE {
            let entry = &self.entries[index as usize];
            if entry.access == access {
                return true;
            }
            index = entry.next;
        }
        false
    }

    fn active_write(&self, bank: usize, access: u64) -> bool {
        let index = self.active[bank];
        index != NONE && {
            let entry = &self.entries[index as usize];
            entry.write && entry.access == access
        }
    }

    /// The next command and its cycle (not before `clock`), if nothing is offered until then.
    fn plan(&mut self) -> (Cycle, Choice) {
        if let Some(planned) = self.planned {
            return planned;
        }
        self.choose_mode();
        let mut best = self.oldest_active();
        let refresh_due = if self.refresh {
            self.refresh_due
        } else {
            Cycle::MAX
        };
        if best.0 > self.clock {
            let normal = self.oldest_waiting();
            // Nothing new is started once a refresh waits.
            if normal.0 < best.0 && normal.0 < refresh_due {
                best = normal;
            }
            let refresh = self.refresh_command(refresh_due);
            if refresh.0 < best.0 {
                best = refresh;
            }
        }
        self.planned = Some(best);
        best
    }

    /// Once per change of the queues is as good as once per cycle: the rule is idempotent.
    fn choose_mode(&mut self) {
        let (reads, writes) = (self.waiting[0].len, self.waiting[1].len);
        if self.write_mode {
            self.write_mode = writes >= self.queues.write_low || reads == 0;
        } else {
            self.write_mode = writes > self.queues.write_high || reads == 0;
        }
    }

    fn oldest_active(&self) -> (Cycle, Choice) {
        let mut best = Best::new(self.clock);
        for bank in bits(self.active_banks) {
            let index = self.active[bank as usize];
            let entry = &self.entries[index as usize];
            let from = if entry.write {
                self.banks.write_from(bank)
            } else {
                self.banks.read_from(bank)
            };
            best.consider(from, entry.age, Choice::Active(index));
        }
        best.take()
    }

    fn oldest_waiting(&self) -> (Cycle, Choice) {
        let mut best = Best::new(self.clock);
        let queue = &self.waiting[usize::from(self.write_mode)];
        let open = self.banks.open();
        for bank in bits(queue.banks & !open) {
            let index = queue.lines[bank as usize].oldest;
            let age = self.entries[index as usize].age;
            best.consider(self.banks.act_from(bank), age, Choice::Activate(index));
        }
        for bank in bits(queue.banks & open) {
            let line = queue.lines[bank as usize];
            if line.hit != NONE {
                let from = if self.write_mode {
                    self.banks.write_from(bank)
                } else {
                    self.banks.read_from(bank)
                };
                let age = self.entries[line.hit as usize].age;
                best.consider(from, age, Choice::Column(line.hit));
            }
            if line.miss != NONE && self.active_banks >> bank & 1 == 0 {
                let age = self.entries[line.miss as usize].age;
                let from = self.banks.precharge_from(bank);
                best.consider(from, age, Choice::Precharge(line.miss));
            }
        }
        best.take()
    }

    fn refresh_command(&self, due: Cycle) -> (Cycle, Choice) {
        let from = due.max(self.clock);
        if self.banks.open() == 0 {
            (from.max(self.banks.refresh_from()), Choice::Refresh)
        } else if self.active_banks == 0 {
            let legal = self.banks.precharge_all_from();
            (from.max(legal), Choice::PrechargeAll)
        } else {
            (Cycle::MAX, Choice::Nothing)
        }
    }

    fn issue(&mut self, cycle: Cycle, choice: Choice) {
        let command = match choice {
            Choice::Nothing => return,
            Choice::Active(index) => {
                let bank = self.entries[index as usize].bank;
                self.active[bank as usize] = NONE;
                self.active_banks &= !(1 << bank);
                let entry = &self.entries[index as usize];
                if entry.conflicted {
                    self.stats.row_conflicts += 1;
                } else {
                    self.stats.row_misses += 1;
                }
                self.access(cycle, index)
            }
            Choice::Column(index) => {
                self.leave(cycle, index);
                self.stats.row_hits += 1;
                self.access(cycle, index)
            }
            Choice::Activate(index) => {
                self.leave(cycle, index);
                let Entry { bank, row, .. } = self.entries[index as usize];
                self.active[bank as usize] = index;
                self.active_banks |= 1 << bank;
                self.stats.activates += 1;
                Command::Activate { bank, row }
            }
            Choice::Precharge(index) => {
                let entry = &mut self.entries[index as usize];
                entry.conflicted = true;
                self.stats.precharges += 1;
                Command::Precharge { bank: entry.bank }
            }
            Choice::PrechargeAll => {
                self.stats.precharges_all += 1;
                Command::PrechargeAll
            }
            Choice::Refresh => {
                self.stats.refreshes += 1;
                self.refresh_due += Cycle::from(self.timing.t_refi);
                Command::Refresh
            }
        };
        self.banks.issue(cycle, command);
        match command {
            Command::Activate { bank, .. } | Command::Precharge { bank } => self.sort_out(bank),
            // With all banks closed the two candidates of a bank are not looked at.
            _ => {}
        }
        let issued = Issued { cycle, command };
        if let Some(judge) = &mut self.judge {
            judge.check(&issued);
            assert_eq!(judge.violations(), [], "the rule table is incomplete");
        }
        if let Some(log) = &mut self.log {
            log.push(issued);
        }
    }

    /// The column command of a request, which then is done with the command bus.
    fn access(&mut self, cycle: Cycle, index: u16) -> Command {
        let Entry {
            bank,
            row,
            column,
            tag,
            write,
            ..
        } = self.entries[index as usize];
        self.free.push(index);
        if write {
            self.stats.writes += 1;
            Command::Write { bank, row, column }
        } else {
            self.stats.reads += 1;
            let end = cycle + Cycle::from(self.timing.read_data_end());
            self.returning.push_back((end, tag));
            Command::Read { bank, row, column }
        }
    }

    /// Takes a request out of its queue.
    fn leave(&mut self, cycle: Cycle, index: u16) {
        let Entry { bank, write, .. } = self.entries[index as usize];
        let open = self.banks.row(bank);
        self.waiting[usize::from(write)].remove(&mut self.entries, index, open);
        self.note_occupancy(cycle, write);
    }

    /// Finds the candidates of a bank whose row has changed.
    fn sort_out(&mut self, bank: u32) {
        if let Some(row) = self.banks.row(bank) {
            for queue in &mut self.waiting {
                queue.lines[bank as usize].find(&self.entries, row);
            }
        }
    }

    fn note_occupancy(&mut self, cycle: Cycle, write: bool) {
        let len = u64::from(self.waiting[usize::from(write)].len);
        if write {
            self.stats.write_queue.set(cycle, len);
        } else {
            self.stats.read_queue.set(cycle, len);
        }
    }

    fn is_at_rest(&self) -> bool {
        self.waiting[0].len == 0
            && self.waiting[1].len == 0
            && self.banks.open() == 0
            && self.log.is_none()
    }

    /// Skips refreshes of a channel at rest in closed form: with all banks closed each is issued
    /// in the very cycle it appears in, provided it is over before the next one.
    fn refresh_at_rest(&mut self, until: Cycle) {
        let interval = Cycle::from(self.timing.t_refi);
        if until < self.refresh_due || self.banks.refresh_from() > self.refresh_due {
            return;
        }
        let skipped = (until - self.refresh_due) / interval;
        if skipped == 0 {
            return;
        }
        // All but the last change nothing that the last does not change again.
        self.stats.refreshes += skipped;
        self.refresh_due += skipped * interval;
        self.clock = self.refresh_due;
        self.planned = None;
    }
}

/// The earliest command so far; of those that are legal in the same cycle, or already in the
/// first one, the oldest request's.
struct Best {
    clock: Cycle,
    cycle: Cycle,
    age: u64,
    choice: Choice,
}

impl Best {
    fn new(clock: Cycle) -> Self {
        Self {
            clock,
            cycle: Cycle::MAX,
            age: u64::MAX,
            choice: Choice::Nothing,
        }
    }

    #[inline]
    fn consider(&mut self, from: Cycle, age: u64, choice: Choice) {
        let cycle = from.max(self.clock);
        if (cycle, age) < (self.cycle, self.age) {
            (self.cycle, self.age, self.choice) = (cycle, age, choice);
        }
    }

    fn take(self) -> (Cycle, Choice) {
        (self.cycle, self.choice)
    }
}

impl Queue {
    fn new(banks: usize, depth: u32) -> Self {
        let empty = Line {
            oldest: NONE,
            youngest: NONE,
            hit: NONE,
            miss: NONE,
        };
        Self {
            lines: vec![empty; banks],
            banks: 0,
            len: 0,
            depth,
        }
    }

    fn push(&mut self, entries: &mut [Entry], index: u16, open: Option<u32>) {
        let Entry { bank, row, .. } = entries[index as usize];
        let line = &mut self.lines[bank as usize];
        if line.oldest == NONE {
            *line = Line {
                oldest: index,
                youngest: index,
                hit: NONE,
                miss: NONE,
            };
        } else {
            entries[line.youngest as usize].next = index;
            line.youngest = index;
        }
        match open {
            Some(open) if open == row && line.hit == NONE => line.hit = index,
            Some(open) if open != row && line.miss == NONE => line.miss = index,
            _ => {}
        }
        self.banks |= 1 << bank;
        self.len += 1;
    }

    fn remove(&mut self, entries: &mut [Entry], index: u16, open: Option<u32>) {
        let Entry { bank, next, .. } = entries[index as usize];
        let line = &mut self.lines[bank as usize];
        if line.oldest == index {
            line.oldest = next;
            if next == NONE {
                line.youngest = NONE;
                self.banks &= !(1 << bank);
            }
        } else {
            let mut before = line.oldest;
            while entries[before as usize].next != index {
                before = entries[before as usize].next;
            }
            entries[before as usize].next = next;
            if next == NONE {
                line.youngest = before;
            }
        }
        self.len -= 1;
        if let Some(row) = open {
            line.find(entries, row);
        }
    }
}

impl Line {
    /// Finds the oldest request for the open row and the oldest for another.
    fn find(&mut self, entries: &[Entry], open: u32) {
        (self.hit, self.miss) = (NONE, NONE);
        let mut index = self.oldest;
        while index != NONE && (self.hit == NONE || self.miss == NONE) {
            let entry = &entries[index as usize];
            let first = if entry.row == open {
                &mut self.hit
            } else {
                &mut self.miss
            };
            if *first == NONE {
                *first = index;
            }
            index = entry.next;
        }
    }
}

/// The numbers of the set bits, lowest first.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let bit = mask.trailing_zeros();
            mask &= mask - 1;
            bit
        })
    })
}

#[cfg(test)]
pub(crate) mod drive;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod properties;
