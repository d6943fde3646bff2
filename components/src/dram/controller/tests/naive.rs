//! Naive model of the policies, cycle by cycle and request by request. Only the checker decides
//! which commands are legal.

use warpweave_framework::Cycle;

use super::drive::Line;
use crate::dram::{
    BuiltInOrder, Checker, Command, CommandBus, Config, Drain, Issued, Location, Page, Refresh,
    Request,
};

/// Effect of a due refresh on the commands of a cycle.
enum Barred {
    Nothing,
    Bank(u32),
    Everything,
    /// The refresh, or a precharge it needs, was issued.
    Issued,
}

pub(super) struct Naive {
    config: Config,
    order: BuiltInOrder,
    checker: Checker,
    open: Vec<Option<u32>>,
    columns: Vec<u32>,
    used: Vec<Cycle>,
    fronts: [Vec<Request>; 2],
    /// Requests in bank queues, and the tags of all requests in the order they got there.
    queued: Vec<Request>,
    moved: Vec<u32>,
    active: Vec<Request>,
    refreshed: u64,
    write_mode: bool,
    batch: usize,
    turn: u32,
    pub(super) commands: Vec<Issued>,
    done: Vec<(Cycle, u32)>,
    /// First cycle that is not simulated yet.
    pub(super) clock: Cycle,
}

impl Naive {
    pub(super) fn new(config: &Config, order: BuiltInOrder) -> Self {
        let banks = config.geometry.banks() as usize;
        Self {
            config: *config,
            order,
            // Refreshes are late only when a test wants that.
            checker: Checker::new(&config.geometry, config.timing, Refresh::Off)
                .on(config.command_bus),
            open: vec![None; banks],
            columns: vec![0; banks],
            used: vec![0; banks],
            fronts: [Vec::new(), Vec::new()],
            queued: Vec::new(),
            moved: Vec::new(),
            active: Vec::new(),
            refreshed: 0,
            write_mode: false,
            batch: 0,
            turn: banks as u32 - 1,
            commands: Vec::new(),
            done: Vec::new(),
            clock: 0,
        }
    }

    fn allows(&self, cycle: Cycle, command: Command) -> bool {
        let mut checker = self.checker.clone();
        checker.check(&Issued { cycle, command });
        checker.violations().is_empty()
    }

    fn issue(&mut self, cycle: Cycle, command: Command) -> bool {
        if !self.allows(cycle, command) {
            return false;
        }
        let issued = Issued { cycle, command };
        self.checker.check(&issued);
        self.commands.push(issued);
        match command {
            Command::Activate { bank, row } => {
                self.open[bank as usize] = Some(row);
                self.columns[bank as usize] = 0;
                self.used[bank as usize] = cycle;
            }
            Command::Read { bank, auto, .. } | Command::Write { bank, auto, .. } => {
                self.columns[bank as usize] += 1;
                self.used[bank as usize] = cycle;
                if auto {
                    self.open[bank as usize] = None;
                }
            }
            Command::Precharge { bank } => self.open[bank as usize] = None,
            Command::PrechargeAll => self.open.fill(None),
            Command::Refresh | Command::RefreshBank { .. } => {}
        }
        true
    }

    fn is_active(&self, bank: u32) -> bool {
        self.active.iter().any(|a| a.location.bank == bank)
    }

    /// Issues the column command of a request that is no longer active.
    fn column(&mut self, cycle: Cycle, r: Request, others_active: bool) -> bool {
        let auto = self.config.page == Page::Closed && !others_active;
        let command = Command::column(r.location, r.write, auto);
        let issued = self.issue(cycle, command);
        if issued && !r.write {
            let t = self.config.timing;
            let end = cycle + u64::from(t.t_cl + t.burst_cycles);
            self.done.push((end, r.tag));
        }
        issued
    }

    fn update_mode(&mut self) {
        let [reads, writes] = [self.fronts[0].len(), self.fronts[1].len()];
        let mixed = self.config.bank_queue.is_some();
        match self.config.drain {
            Drain::Watermarks { high, low } => {
                if self.write_mode {
                    if writes < low as usize && reads > 0 {
                        self.write_mode = false;
                    }
                } else if writes > high as usize || reads == 0 {
                    self.write_mode = true;
                }
            }
            Drain::Batches { idle_above } => {
                let idle = if mixed {
                    self.queued.is_empty()
                } else {
                    reads == 0
                };
                let full = writes >= self.config.writes as usize;
                if self.batch == 0 && (full || idle && writes > idle_above as usize) {
                    self.batch = writes;
                }
                self.write_mode = self.batch > 0;
            }
        }
    }

    fn move_one(&mut self, depth: u32) {
        let kind = usize::from(self.write_mode);
        let queued = &self.queued;
        let room = |r: &Request| {
            let same = |q: &&Request| q.location.bank == r.location.bank;
            queued.iter().filter(same).count() < depth as usize
        };
        if let Some(at) = self.fronts[kind].iter().position(room) {
            let r = self.fronts[kind].remove(at);
            self.batch = self.batch.saturating_sub(kind);
            self.queued.push(r);
            self.moved.push(r.tag);
        }
    }

    fn tick(&mut self, cycle: Cycle) {
        self.update_mode();
        if let Some(depth) = self.config.bank_queue {
            self.move_one(depth);
            self.update_mode();
        }
        let moved = self.moved.clone();
        let order = |r: &Request| moved.iter().position(|tag| *tag == r.tag);
        self.active.sort_by_key(|r| (order(r), r.tag));
        for i in 0..self.active.len() {
            let r = self.active[i];
            // One request per bank is active.
            if self.column(cycle, r, false) {
                self.active.remove(i);
                return;
            }
        }
        let scheduled = match self.refresh(cycle) {
            Barred::Issued => return,
            Barred::Everything => false,
            Barred::Bank(bank) if self.is_active(bank) => false,
            Barred::Bank(bank) => self.schedule(cycle, Some(bank)),
            Barred::Nothing => self.schedule(cycle, None),
        };
        if scheduled {
            return;
        }
        self.close_expired(cycle);
    }

    fn refresh(&mut self, cycle: Cycle) -> Barred {
        let refresh = self.config.refresh;
        let Some(interval) = self.config.timing.refresh_interval(refresh) else {
            return Barred::Nothing;
        };
        let owed = cycle / u64::from(interval) - self.refreshed;
        let banks = u64::from(self.config.geometry.banks());
        let bank = (self.refreshed % banks) as u32;
        let everything = matches!(refresh, Refresh::AllBank { .. });
        let counts = |r: &Request| everything || r.location.bank == bank;
        // Requests in front of the bank queues stand against a refresh of all banks only.
        let fronts = self.fronts.iter().flatten();
        let fronts = fronts.filter(|_| everything || self.config.bank_queue.is_none());
        let mut all = fronts.chain(&self.queued).chain(&self.active);
        let wanted = all.any(counts) && self.has_work();
        if owed == 0 || wanted && owed <= u64::from(refresh.postponed_max()) {
            return Barred::Nothing;
        }
        let issued = if everything {
            if self.open.iter().any(Option::is_some) {
                self.active.is_empty() && self.issue(cycle, Command::PrechargeAll)
            } else {
                let issued = self.issue(cycle, Command::Refresh);
                self.refreshed += u64::from(issued);
                issued
            }
        } else if self.open[bank as usize].is_some() {
            !self.is_active(bank) && self.issue(cycle, Command::Precharge { bank })
        } else {
            let issued = self.issue(cycle, Command::RefreshBank { bank });
            self.refreshed += u64::from(issued);
            issued
        };
        match (issued, everything) {
            (true, _) => Barred::Issued,
            (false, true) => Barred::Everything,
            (false, false) => Barred::Bank(bank),
        }
    }

    /// Returns the schedulable requests, oldest first.
    fn candidates(&self) -> Vec<Request> {
        if self.config.bank_queue.is_some() {
            self.queued.clone()
        } else {
            self.fronts[usize::from(self.write_mode)].clone()
        }
    }

    fn is_hit(&self, r: &Request) -> bool {
        self.open[r.location.bank as usize] == Some(r.location.row)
    }

    fn schedule(&mut self, cycle: Cycle, barred: Option<u32>) -> bool {
        let all = self.candidates();
        let free: Vec<_> = all
            .iter()
            .copied()
            .filter(|r| Some(r.location.bank) != barred)
            .collect();
        match self.order {
            BuiltInOrder::Fcfs => {
                let first = all.first().filter(|r| Some(r.location.bank) != barred);
                first.is_some_and(|r| self.active.is_empty() && self.start(cycle, *r))
            }
            BuiltInOrder::FrFcfs => free.into_iter().any(|r| self.start(cycle, r)),
            BuiltInOrder::FrFcfsCap { columns } => {
                let capped = |n: &Self, r: &Request| {
                    n.is_hit(r) && n.columns[r.location.bank as usize] > columns
                };
                let mut preferred = free.iter().filter(|r| !capped(self, r)).copied();
                let preferred: Vec<_> = preferred.by_ref().collect();
                preferred.into_iter().any(|r| self.start(cycle, r))
                    || all.first().is_some_and(|r| {
                        Some(r.location.bank) != barred && capped(self, r) && self.start(cycle, *r)
                    })
            }
            BuiltInOrder::RowHitFirst => {
                let (hits, others): (Vec<_>, Vec<_>) =
                    free.into_iter().partition(|r| self.is_hit(r));
                let spared: Vec<_> = hits.iter().map(|r| r.location.bank).collect();
                hits.into_iter().any(|r| self.start(cycle, r))
                    || others
                        .into_iter()
                        .any(|r| !spared.contains(&r.location.bank) && self.start(cycle, r))
            }
            BuiltInOrder::BankRoundRobin { hits } => self.round_robin(cycle, &free, hits),
        }
    }

    fn round_robin(&mut self, cycle: Cycle, free: &[Request], hits: u32) -> bool {
        let banks = self.config.geometry.banks();
        for step in 1..=banks {
            let bank = (self.turn + step) % banks;
            let of_bank = free.iter().filter(|r| r.location.bank == bank);
            let of_bank: Vec<_> = of_bank.copied().collect();
            let any_hit = of_bank.iter().any(|r| self.is_hit(r));
            for (i, r) in of_bank.into_iter().enumerate() {
                let closes = self.open[bank as usize].is_some() && !self.is_hit(&r);
                let may_close = i == 0 && (!any_hit || self.columns[bank as usize] >= hits);
                if (!closes || may_close) && self.start(cycle, r) {
                    return true;
                }
            }
        }
        false
    }

    /// Issues the next command of a request, if it is legal.
    fn start(&mut self, cycle: Cycle, r: Request) -> bool {
        let Location { bank, row, .. } = r.location;
        let open = self.open[bank as usize];
        let issued = if open.is_none() {
            self.issue(cycle, Command::Activate { bank, row })
        } else if open == Some(row) {
            let others = self.is_active(bank);
            self.column(cycle, r, others)
        } else {
            !self.is_active(bank) && self.issue(cycle, Command::Precharge { bank })
        };
        if !issued {
            return false;
        }
        self.turn = bank;
        let promoted = open.is_none() && !matches!(self.order, BuiltInOrder::BankRoundRobin { .. });
        if promoted || open == Some(row) {
            self.fronts.iter_mut().for_each(|f| f.retain(|q| *q != r));
            self.queued.retain(|q| *q != r);
            if self.config.bank_queue.is_none() && r.write {
                self.batch = self.batch.saturating_sub(1);
            }
        }
        if promoted {
            self.active.push(r);
        }
        true
    }

    fn close_expired(&mut self, cycle: Cycle) {
        let Page::Timeout { cycles } = self.config.page else {
            return;
        };
        for bank in 0..self.config.geometry.banks() {
            // Requests in front of the bank queues are not looked at.
            let waiting = if self.config.bank_queue.is_some() {
                self.queued.clone()
            } else {
                self.fronts.concat()
            };
            let needed = |r: &Request| r.location.bank == bank && self.is_hit(r);
            if self.open[bank as usize].is_some()
                && !self.is_active(bank)
                && cycle >= self.used[bank as usize] + u64::from(cycles)
                && !waiting.iter().any(needed)
                && self.issue(cycle, Command::Precharge { bank })
            {
                return;
            }
        }
    }

    fn offer(&mut self, now: Cycle, r: Request) -> bool {
        let mut waiting = self.fronts[1].iter().chain(&self.queued);
        let waits = waiting.any(|w| w.write && w.access == r.access);
        if r.write && waits && self.config.merge_writes {
            return true;
        }
        let is_active = |a: &Request| a.write && a.access == r.access;
        if !r.write && (waits || self.active.iter().any(is_active)) {
            self.done.push((now + 1, r.tag));
            return true;
        }
        let kind = usize::from(r.write);
        let depth = [self.config.reads, self.config.writes][kind];
        let room = self.fronts[kind].len() < depth as usize;
        if room {
            self.fronts[kind].push(r);
        }
        room
    }

    fn has_work(&self) -> bool {
        let writes = self.fronts[1].len();
        let writes = match self.config.drain {
            Drain::Watermarks { .. } => writes > 0,
            Drain::Batches { idle_above } => writes > idle_above as usize || self.batch > 0,
        };
        writes || !self.fronts[0].is_empty() || !self.queued.is_empty() || !self.active.is_empty()
    }

    /// Like [`super::drive::drive`], but one cycle at a time.
    pub(super) fn drive(&mut self, trace: &[Line]) -> Vec<(Cycle, Option<Cycle>)> {
        let mut result = vec![(0, None); trace.len()];
        let mut next = 0;
        while next < trace.len() || self.has_work() {
            let cycle = self.clock;
            self.decide();
            if next < trace.len()
                && trace[next].arrival <= cycle
                && self.offer(cycle, trace[next].request)
            {
                result[next].0 = cycle;
                next += 1;
            }
        }
        for &(done, tag) in &self.done {
            result[tag as usize].1 = Some(done);
        }
        result
    }

    /// Simulates this number of cycles without offering a request.
    pub(super) fn rest(&mut self, cycles: Cycle) {
        for _ in 0..cycles {
            self.decide();
        }
    }

    /// Issues the commands of the current cycle.
    fn decide(&mut self) {
        let ticks = match self.config.command_bus {
            CommandBus::Shared => 1,
            // One for the other pins, and after each command a look at whether writes are drained.
            CommandBus::RowAndColumn => 3,
        };
        for _ in 0..ticks {
            self.tick(self.clock);
        }
        self.clock += 1;
    }
}
