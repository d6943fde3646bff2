//! Issuing: which wavefront each scheduler takes, why a slot is lost, and when to look again.

use warpweave_framework::{Context, Cycle, Next, State};
use warpweave_trace::Class;

use super::ComputeUnit;
use super::accounting::IssueSlot;
use super::instruction::{Action, NO_PIPE};
use super::scheduler::Turn;
use super::spec::{IssueTogether, LATENCY_MAX, MemoryPipe};

/// A scheduler and the pipes behind it.
pub(super) struct Issuer {
    /// Slots that belong to this scheduler.
    pub(super) slots: u64,
    pub(super) turn: Turn,
    /// Pipes that may be busy, and the first cycle in which each takes an instruction again.
    pub(super) busy: u32,
    pub(super) free_at: [Cycle; Class::COUNT],
}

impl Issuer {
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        self.turn.state(state);
        state.array("free_at", &mut self.free_at);
        // Which pipes may be busy is brought up to date by evaluations: the superset of those
        // ever used serves as well.
        let used = self.free_at.iter().enumerate().filter(|(_, at)| **at > 0);
        self.busy |= used.fold(0, |busy, (pipe, _)| busy | 1 << pipe);
    }

    /// Wavefronts that need a pipe that takes nothing in cycle `now`, by what wavefronts need next.
    #[inline]
    fn behind_pipes(&self, next_of_pipe: &[u64; Class::COUNT], now: Cycle) -> u64 {
        let mut behind = 0;
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if self.free_at[pipe] > now {
                behind |= next_of_pipe[pipe];
            }
        }
        behind
    }

    /// Forgets pipes that take an instruction again in cycle `now`.
    #[inline]
    fn free_pipes(&mut self, now: Cycle) {
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if self.free_at[pipe] <= now {
                self.busy &= !(1 << pipe);
            }
        }
    }
}

impl ComputeUnit {
    /// Lets every scheduler issue. Whether any did.
    #[inline(always)]
    pub(super) fn issue<const OPEN: bool, const PLAIN: bool>(&mut self, now: Cycle) -> bool {
        let schedulers = self.issuers.len();
        let mut open = self.masks.open();
        self.is_settled = !OPEN && open == 0;
        if self.is_settled {
            for scheduler in 0..schedulers {
                let eligible = self.eligible::<OPEN, PLAIN>(scheduler, now);
                let why = self.why_nobody::<PLAIN>(self.masks.present & eligible);
                self.accounting.charge(scheduler, why, now);
            }
            return false;
        }
        let mut issued = false;
        // A rotating first place shares the local memory and the load/store queue fairly.
        let mut scheduler = match schedulers {
            1 => 0,
            2 => now as usize & 1,
            _ => (now % schedulers as u64) as usize,
        };
        if PLAIN {
            for _ in 0..schedulers {
                let slot = if self.issue_plainly(scheduler, now) {
                    issued = true;
                    IssueSlot::Issued
                } else {
                    self.why_not_plainly(scheduler, now)
                };
                self.accounting.charge(scheduler, slot, now);
                scheduler += 1;
                if scheduler == schedulers {
                    scheduler = 0;
                }
            }
            return issued;
        }
        for _ in 0..schedulers {
            let eligible = self.eligible::<OPEN, PLAIN>(scheduler, now);
            let candidates = open & eligible;
            let mut occupied = Occupied::default();
            if candidates != 0 {
                self.issuers[scheduler].free_pipes(now);
                occupied = self.occupied_units::<PLAIN>(scheduler, now);
            }
            let ready = candidates & !occupied.all();
            let slot = if ready == 0 {
                let why = self.lost_slot::<OPEN, PLAIN>(scheduler, eligible, candidates, occupied);
                if OPEN {
                    self.tell_stall(scheduler, why, now);
                }
                why
            } else {
                let wavefront = if OPEN {
                    self.pick_open(scheduler, ready, now)
                } else {
                    self.issuers[scheduler].turn.pick(ready, &self.ages)
                };
                let unit = self.issue_from::<PLAIN>(wavefront, scheduler, now);
                if self.spec.issues_per_cycle > 1 {
                    self.issue_more::<OPEN>(wavefront, unit, scheduler, now);
                }
                open = self.masks.open();
                issued = true;
                IssueSlot::Issued
            };
            self.accounting.charge(scheduler, slot, now);
            scheduler += 1;
            if scheduler == schedulers {
                scheduler = 0;
            }
        }
        issued
    }

    /// Issues an instruction of a scheduler, if one can.
    #[inline(always)]
    fn issue_plainly(&mut self, scheduler: usize, now: Cycle) -> bool {
        let taken = self.behind_memories(now);
        let masks = &self.masks;
        let issuer = &mut self.issuers[scheduler];
        let mut ready = masks.open() & issuer.slots & !taken;
        if ready & masks.next_pipe != 0 {
            issuer.free_pipes(now);
            ready &= !issuer.behind_pipes(&self.next_of_pipe, now);
        }
        if ready == 0 {
            return false;
        }
        let wavefront = issuer.turn.pick(ready, &self.ages);
        self.issue_from::<true>(wavefront, scheduler, now);
        true
    }

    /// Why a scheduler issues nothing.
    fn why_not_plainly(&self, scheduler: usize, now: Cycle) -> IssueSlot {
        let slots = self.issuers[scheduler].slots;
        let candidates = self.masks.open() & slots;
        let occupied = if candidates == 0 {
            Occupied::default()
        } else {
            self.occupied_units::<true>(scheduler, now)
        };
        self.lost_slot::<false, true>(scheduler, slots, candidates, occupied)
    }

    /// Wavefronts whose next instruction needs the local memory or a place in the load/store queue, as far as these take
    /// nothing in cycle `now`.
    #[inline(always)]
    fn behind_memories(&self, now: Cycle) -> u64 {
        let mut behind = 0;
        if self.local_memory_free_at > now {
            behind = self.masks.next_local;
        }
        if self.load_store.is_full() {
            behind |= self.next_queues();
        }
        behind
    }

    /// Issues more of a wavefront that has issued an instruction for the kind of unit `units` in this cycle.
    fn issue_more<const OPEN: bool>(
        &mut self,
        slot: usize,
        mut units: u8,
        scheduler: usize,
        now: Cycle,
    ) {
        for _ in 1..self.spec.issues_per_cycle {
            let open = self.masks.open() & self.eligible::<OPEN, false>(scheduler, now) & 1 << slot;
            if open & !self.occupied_units::<false>(scheduler, now).all() == 0 {
                return;
            }
            let next = self.wavefronts[slot].next;
            let unit = self.decoded.instructions[next as usize].unit;
            if self.spec.issue_together == IssueTogether::DifferentUnits && units & unit != 0 {
                return;
            }
            units |= unit;
            self.counts.in_slot_of_another[unit.trailing_zeros() as usize] += 1;
            if OPEN {
                self.pick_open(scheduler, open, now);
            }
            self.issue_from::<false>(slot, scheduler, now);
        }
    }

    /// The slots among which a scheduler may choose: its own but for those that its policy holds
    /// back, or the last one alone while a built-in policy that waits out short stalls holds on to
    /// it.
    #[inline]
    fn eligible<const OPEN: bool, const PLAIN: bool>(&self, scheduler: usize, now: Cycle) -> u64 {
        let issuer = &self.issuers[scheduler];
        if PLAIN {
            return issuer.slots;
        }
        if OPEN {
            return issuer.slots & !self.held_back(scheduler, now);
        }
        let Some(last) = issuer.turn.held() else {
            return issuer.slots;
        };
        let masks = &self.masks;
        let mut short = masks.open();
        if self.load_store.is_full() {
            short &= !self.next_queues();
        }
        short |= masks.paused | masks.fetched & masks.hazard & !masks.hazard_memory;
        if last & short == 0 {
            issuer.slots
        } else {
            last
        }
    }

    /// Wavefronts whose next instruction needs a unit that takes nothing in cycle `now`.
    #[inline(always)]
    fn occupied_units<const PLAIN: bool>(&self, scheduler: usize, now: Cycle) -> Occupied {
        let mut occupied = Occupied {
            pipe: self.issuers[scheduler].behind_pipes(&self.next_of_pipe, now),
            ..Occupied::default()
        };
        if self.local_memory_free_at > now {
            occupied.local_memory = self.masks.next_local;
        }
        if self.load_store.is_full() {
            occupied.load_store = self.next_queues();
        }
        if PLAIN {
            return occupied;
        }
        if let Some(file) = &self.register_file {
            let wavefronts = self.masks.open() & self.issuers[scheduler].slots;
            occupied.pipe |= self.behind_register_file(file, wavefronts, now);
        }
        if let Some(most) = self.spec.load_store.issues_per_cycle
            && self.accesses_issued.0 == now
            && self.accesses_issued.1 >= most
        {
            occupied.load_store |= self.masks.next_load_store | self.masks.next_local;
        }
        occupied
    }

    /// Wavefronts whose next instruction needs a place in the load/store queue.
    #[inline]
    fn next_queues(&self) -> u64 {
        match self.spec.load_store.pipe {
            MemoryPipe::Separate => self.masks.next_load_store,
            MemoryPipe::InOrder => self.masks.next_load_store | self.masks.next_local,
        }
    }

    /// Why a scheduler issues nothing: `candidates` are those of its `eligible` wavefronts that are open, of which
    /// each needs a unit that is `occupied`; see [`IssueSlot`].
    #[inline]
    fn lost_slot<const OPEN: bool, const PLAIN: bool>(
        &self,
        scheduler: usize,
        eligible: u64,
        candidates: u64,
        occupied: Occupied,
    ) -> IssueSlot {
        if candidates != 0 {
            occupied.reason(candidates)
        } else if OPEN && self.issuers[scheduler].slots & !eligible != 0 {
            IssueSlot::HeldBack
        } else {
            self.why_nobody::<PLAIN>(self.masks.present & eligible)
        }
    }

    /// Why none of `mine`, which are there and of which none is held back, could issue: each waits for something of
    /// its own.
    #[inline]
    fn why_nobody<const PLAIN: bool>(&self, mine: u64) -> IssueSlot {
        let masks = &self.masks;
        if mine == 0 {
            IssueSlot::NoWavefront
        } else if !PLAIN
            && mine & masks.fetched & masks.starved & !(masks.hazard | masks.fence) != 0
        {
            IssueSlot::Fetch
        } else if mine & masks.hazard & !masks.hazard_memory != 0 {
            IssueSlot::Scoreboard
        } else if mine & (masks.hazard | masks.fence) != 0 {
            IssueSlot::Memory
        } else if mine & masks.paused != 0 {
            IssueSlot::Control
        } else if mine & masks.barrier != 0 {
            IssueSlot::Barrier
        } else {
            IssueSlot::Ended
        }
    }

    /// Issues the next record of a wavefront and fetches the one after; gives back the kind of unit that
    /// executes it.
    #[inline(always)]
    fn issue_from<const PLAIN: bool>(&mut self, slot: usize, scheduler: usize, now: Cycle) -> u8 {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let decoded = &self.decoded.instructions[wavefront.next as usize];
        let (mask, unit) = (wavefront.record.mask, decoded.unit);

        // Nearly all are full, and not all processors that this is compiled for count bits.
        self.counts.thread_instructions += match mask {
            u32::MAX => 32,
            mask => u64::from(mask.count_ones()),
        };
        if decoded.pipe != NO_PIPE {
            let pipe = usize::from(decoded.pipe);
            self.next_of_pipe[pipe] &= !bit;
            self.masks.next_pipe &= !bit;
            let issuer = &mut self.issuers[scheduler];
            issuer.busy |= 1 << pipe;
            issuer.free_at[pipe] = now + u64::from(decoded.interval);
        }
        if PLAIN && decoded.computes {
            self.counts.wavefront_instructions += 1;
            self.counts.per_class[usize::from(decoded.class)] += 1;
            let at = now + u64::from(decoded.latency);
            wavefront.results_at(at, &decoded.writes, &mut self.wheel);
        } else if self.issue_other::<PLAIN>(slot, now) {
            return unit;
        }
        self.fetch::<PLAIN>(slot, now);
        unit
    }

    /// Issues the next record of a wavefront, which may be of any kind: whether that keeps it from going on.
    #[inline(never)]
    fn issue_other<const PLAIN: bool>(&mut self, slot: usize, now: Cycle) -> bool {
        let wavefront = &mut self.wavefronts[slot];
        let decoded = &self.decoded.instructions[wavefront.next as usize];
        if wavefront.record.continues {
            self.counts.parts[decoded.unit.trailing_zeros() as usize] += 1;
        } else {
            self.counts.wavefront_instructions += 1;
            self.counts.per_class[usize::from(decoded.class)] += 1;
        }
        let (latency, has_result) = (decoded.latency, decoded.has_result);
        let mut wait = 0;
        if !PLAIN && let Some(file) = &mut self.register_file {
            wait = file.read(slot, self.decoded.sources(decoded), now);
            if has_result {
                file.write(now + u64::from(latency + wait));
            }
        }
        if has_result {
            let at = now + u64::from(latency + wait);
            wavefront.results_at(at, &decoded.writes, &mut self.wheel);
        }
        match decoded.action {
            Action::Memory(kind) => {
                if !PLAIN {
                    self.note_access(1 << slot, now);
                }
                self.access(slot, kind, wait, now);
                return false;
            }
            Action::Control if latency > 1 || decoded.ends => self.pause(slot, latency, now),
            Action::Launch => self.launch(slot, latency),
            Action::Fence if latency > 1 => self.pause(slot, latency, now),
            Action::Barrier if wavefront.record.mask != 0 => self.arrive(slot, now),
            _ => return false,
        }
        true
    }

    /// An access to a memory issues, if the wavefront given by its bit has such: of a limit on them it takes its part.
    fn note_access(&mut self, bit: u64, now: Cycle) {
        if self.spec.load_store.issues_per_cycle.is_some()
            && (self.masks.next_load_store | self.masks.next_local) & bit != 0
        {
            let before = if self.accesses_issued.0 == now {
                self.accesses_issued.1
            } else {
                0
            };
            self.accesses_issued = (now, before + 1);
        }
    }

    /// What the unit waits for, and to what the cycles until then are charged, after a cycle in which a scheduler
    /// `issued` or none did.
    #[inline(always)]
    pub(super) fn next<const OPEN: bool, const PLAIN: bool>(
        &mut self,
        ctx: &mut Context<'_>,
        now: Cycle,
        issued: bool,
    ) -> Next {
        let mut wake = Cycle::MAX;
        let open = self.masks.open();
        if PLAIN && open & !self.masks.next_pipe & !self.behind_memories(now + 1) != 0 {
            return Next::Busy;
        }
        let schedulers = if open == 0 { 0 } else { self.issuers.len() };
        for scheduler in 0..schedulers {
            let candidates = open & self.eligible::<OPEN, PLAIN>(scheduler, now + 1);
            if candidates == 0 {
                continue;
            }
            let occupied = self.occupied_units::<PLAIN>(scheduler, now + 1);
            if candidates & !occupied.all() != 0 {
                return Next::Busy;
            }
            let reason = occupied.reason(candidates);
            if self.accounting.is_otherwise_occupied(scheduler, reason) {
                return Next::Busy;
            }
            if !PLAIN && self.register_file.is_some() || candidates & occupied.by_two() != 0 {
                let changes = self.first_change(scheduler, candidates, reason, now + 2);
                wake = wake.min(changes.unwrap_or(Cycle::MAX));
                continue;
            }
            if candidates & occupied.local_memory != 0 {
                wake = wake.min(self.local_memory_free_at);
            }
            if candidates & occupied.pipe != 0 {
                wake = wake.min(self.next_free_pipe(scheduler, candidates, now));
            }
        }
        if OPEN && let Some(cycle) = self.held_back_changes(now) {
            wake = wake.min(cycle);
        }
        if let Some(cycle) = self.load_store.next_send(now) {
            wake = wake.min(cycle);
        }
        if !PLAIN
            && self.fetch.is_some()
            && let Some(cycle) = self.next_fetch(now)
        {
            wake = wake.min(cycle);
        }
        if wake > now + 1
            && let Some(cycle) = self.wheel.next_after(now)
        {
            wake = wake.min(cycle);
        }
        let has_dispatch = || self.dispatch.dispatch.peek(ctx).is_some();
        if wake == now + 1 || self.invalidation.is_none() && has_dispatch() {
            return Next::Busy;
        }
        // With nobody open in this cycle, and nobody now, what was charged in it goes on.
        if OPEN || issued || open != 0 {
            self.is_settled = !OPEN && open == 0;
            for scheduler in 0..self.issuers.len() {
                let eligible = self.eligible::<OPEN, PLAIN>(scheduler, now + 1);
                let candidates = open & eligible;
                let occupied = if candidates == 0 {
                    Occupied::default()
                } else {
                    self.occupied_units::<PLAIN>(scheduler, now + 1)
                };
                let slot = self.lost_slot::<OPEN, PLAIN>(scheduler, eligible, candidates, occupied);
                if OPEN && self.is_news(scheduler, slot) {
                    return Next::Busy;
                }
                self.accounting.charge(scheduler, slot, now + 1);
            }
        }
        if wake < Cycle::MAX {
            Next::Until(wake)
        } else if self.load_store.outstanding() > 0
            || self.invalidation.is_some()
            || self
                .fetch
                .as_ref()
                .is_some_and(|stage| stage.awaits_answers())
        {
            Next::Message
        } else if self.load_store.is_blocked
            || self.fetch.as_ref().is_some_and(|stage| stage.is_blocked())
            || !self.completions.is_empty()
            || !self.launching.is_empty()
        {
            Next::Credit
        } else {
            Next::Idle
        }
    }

    /// The first cycle from `from` on in which one of `candidates` can issue, or all of them are kept back for another
    /// `reason`, as far as time alone decides.
    #[inline(never)]
    fn first_change(
        &self,
        scheduler: usize,
        candidates: u64,
        reason: IssueSlot,
        from: Cycle,
    ) -> Option<Cycle> {
        let pipes = self.issuers[scheduler].free_at.iter().max();
        let mut until = self.local_memory_free_at.max(*pipes.unwrap_or(&0));
        if let Some(file) = &self.register_file {
            until = until.max(file.settled_at(from));
        }
        // A unit that was not read from a damaged file takes nothing for longer than an interval or a result.
        let longest = u64::from(LATENCY_MAX).max(self.wheel.horizon());
        (from..=until.min(from + longest)).find(|at| {
            let occupied = self.occupied_units::<false>(scheduler, *at);
            candidates & !occupied.all() != 0 || occupied.reason(candidates) != reason
        })
    }

    /// The first cycle after `now` in which a pipe of the scheduler that a candidate needs is free.
    fn next_free_pipe(&self, scheduler: usize, candidates: u64, now: Cycle) -> Cycle {
        let issuer = &self.issuers[scheduler];
        let mut first = Cycle::MAX;
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let needed = self.next_of_pipe[pipe] & candidates != 0;
            if needed && issuer.free_at[pipe] > now {
                first = first.min(issuer.free_at[pipe]);
            }
        }
        first
    }
}

/// Wavefronts that could issue but for a unit.
#[derive(Clone, Copy, Default)]
struct Occupied {
    /// A pipe, or the register file.
    pipe: u64,
    local_memory: u64,
    load_store: u64,
}

impl Occupied {
    #[inline]
    fn all(self) -> u64 {
        self.pipe | self.local_memory | self.load_store
    }

    /// Those that more than one unit keeps back.
    #[inline]
    fn by_two(self) -> u64 {
        self.pipe & (self.local_memory | self.load_store) | self.local_memory & self.load_store
    }

    /// Why none of `candidates`, of which there are some, issues.
    #[inline]
    fn reason(self, candidates: u64) -> IssueSlot {
        if candidates & self.pipe != 0 {
            IssueSlot::PipeBusy
        } else if candidates & self.local_memory != 0 {
            IssueSlot::LocalMemoryBusy
        } else {
            IssueSlot::LoadStoreFull
        }
    }
}
