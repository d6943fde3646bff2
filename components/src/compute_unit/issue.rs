//! Issuing: which wavefront each scheduler takes, why a slot is lost, and when to look again.

use warpweave_framework::{Context, Cycle, Next, State};
use warpweave_trace::Class;

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::decoded::{Action, NO_PIPE};
use crate::compute_unit::front::issue_variant::{OPEN, PLAIN, is_plain};
use crate::compute_unit::front::structural_hazards::Occupied;
use crate::compute_unit::scheduler::Turn;
use crate::compute_unit::spec::IssueTogether;

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
    pub(super) fn behind_pipes(&self, next_of_pipe: &[u64; Class::COUNT], now: Cycle) -> u64 {
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
    pub(super) fn issue<const WAY: u8>(&mut self, now: Cycle) -> bool {
        let schedulers = self.issuers.len();
        let mut open = self.masks.open();
        self.is_settled = WAY != OPEN && open == 0;
        if self.is_settled {
            for scheduler in 0..schedulers {
                let eligible = self.eligible::<WAY>(scheduler, now);
                let why = self.why_nobody::<WAY>(self.masks.present & eligible);
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
        if is_plain(WAY) {
            let mut free = open;
            for _ in 0..schedulers {
                let slot = if self.issue_plainly::<WAY>(scheduler, &mut free, now) {
                    issued = true;
                    IssueSlot::Issued
                } else {
                    self.why_not_plainly::<WAY>(scheduler, now)
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
            let eligible = self.eligible::<WAY>(scheduler, now);
            let candidates = open & eligible;
            let mut occupied = Occupied::default();
            if candidates != 0 {
                self.issuers[scheduler].free_pipes(now);
                occupied = self.occupied_units::<WAY>(scheduler, candidates, now);
            }
            let ready = candidates & !occupied.all();
            let slot = if ready == 0 {
                let why = self.lost_slot::<WAY>(scheduler, eligible, candidates, occupied);
                if WAY == OPEN {
                    self.tell_stall(scheduler, why, now);
                }
                why
            } else {
                let wavefront = if WAY == OPEN {
                    self.pick_open(scheduler, ready, now)
                } else {
                    self.issuers[scheduler].turn.pick(ready, &self.ages)
                };
                let unit = self.issue_from::<WAY>(wavefront, scheduler, now);
                if self.spec.issues_per_cycle > 1 {
                    self.issue_more::<WAY>(wavefront, unit, scheduler, now);
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

    /// Issues an instruction of a scheduler, if one can; `free` are the wavefronts that are open, but for those which a memory
    /// kept back when another scheduler issued. What that one does changes nothing for wavefronts that are not its own
    /// but in the memories.
    #[inline(always)]
    fn issue_plainly<const WAY: u8>(
        &mut self,
        scheduler: usize,
        free: &mut u64,
        now: Cycle,
    ) -> bool {
        let masks = &self.masks;
        if *free & (masks.next_local | masks.next_load_store) != 0 {
            *free &= !self.behind_memories(now);
        }
        let issuer = &mut self.issuers[scheduler];
        let mut ready = *free & issuer.slots;
        if ready & masks.next_pipe != 0 {
            issuer.free_pipes(now);
            ready &= !issuer.behind_pipes(&self.next_of_pipe, now);
        }
        if ready == 0 {
            return false;
        }
        let wavefront = issuer.turn.pick(ready, &self.ages);
        self.issue_from::<WAY>(wavefront, scheduler, now);
        true
    }

    /// Why a scheduler issues nothing.
    fn why_not_plainly<const WAY: u8>(&self, scheduler: usize, now: Cycle) -> IssueSlot {
        let slots = self.issuers[scheduler].slots;
        let candidates = self.masks.open() & slots;
        let occupied = if candidates == 0 {
            Occupied::default()
        } else {
            self.occupied_units::<WAY>(scheduler, candidates, now)
        };
        self.lost_slot::<WAY>(scheduler, slots, candidates, occupied)
    }

    /// Issues more of a wavefront that has issued an instruction for the kind of unit `units` in this cycle.
    fn issue_more<const WAY: u8>(
        &mut self,
        slot: usize,
        mut units: u8,
        scheduler: usize,
        now: Cycle,
    ) {
        for _ in 1..self.spec.issues_per_cycle {
            let open = self.masks.open() & self.eligible::<WAY>(scheduler, now) & 1 << slot;
            if open & !self.occupied_units::<WAY>(scheduler, open, now).all() == 0 {
                return;
            }
            let next = self.wavefronts[slot].next;
            let unit = self.decoded.instructions[next as usize].unit;
            if self.spec.issue_together == IssueTogether::DifferentUnits && units & unit != 0 {
                return;
            }
            units |= unit;
            self.counts.in_slot_of_another[unit.trailing_zeros() as usize] += 1;
            if WAY == OPEN {
                self.pick_open(scheduler, open, now);
            }
            self.issue_from::<WAY>(slot, scheduler, now);
        }
    }

    /// The slots among which a scheduler may choose: its own but for those that its policy holds
    /// back, or the last one alone while a built-in policy that waits out short stalls holds on to
    /// it.
    #[inline]
    fn eligible<const WAY: u8>(&self, scheduler: usize, now: Cycle) -> u64 {
        let issuer = &self.issuers[scheduler];
        if is_plain(WAY) {
            return issuer.slots;
        }
        if WAY == OPEN {
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
        short &= !self.read_paths.behind_full();
        short |= masks.paused | masks.fetched & masks.hazard & !masks.hazard_memory;
        if last & short == 0 {
            issuer.slots
        } else {
            last
        }
    }

    /// Why a scheduler issues nothing: `candidates` are those of its `eligible` wavefronts that are open, of which
    /// each needs a unit that is `occupied`; see [`IssueSlot`].
    #[inline]
    fn lost_slot<const WAY: u8>(
        &self,
        scheduler: usize,
        eligible: u64,
        candidates: u64,
        occupied: Occupied,
    ) -> IssueSlot {
        if candidates != 0 {
            occupied.reason(candidates)
        } else if WAY == OPEN && self.issuers[scheduler].slots & !eligible != 0 {
            IssueSlot::HeldBack
        } else {
            self.why_nobody::<WAY>(self.masks.present & eligible)
        }
    }

    /// Why none of `mine`, which are there and of which none is held back, could issue: each waits for something of
    /// its own.
    #[inline]
    fn why_nobody<const WAY: u8>(&self, mine: u64) -> IssueSlot {
        let masks = &self.masks;
        if mine == 0 {
            IssueSlot::NoWavefront
        } else if WAY != PLAIN
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
    fn issue_from<const WAY: u8>(&mut self, slot: usize, scheduler: usize, now: Cycle) -> u8 {
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
        if is_plain(WAY) && decoded.computes {
            self.counts.wavefront_instructions += 1;
            self.counts.per_class[usize::from(decoded.class)] += 1;
            let at = now + u64::from(decoded.latency);
            wavefront.results_at(at, &decoded.writes, &mut self.wheel);
        } else if self.issue_other::<WAY>(slot, now) {
            return unit;
        }
        self.fetch::<WAY>(slot, now);
        unit
    }

    /// Issues the next record of a wavefront, which may be of any kind: whether that keeps it from going on.
    #[inline(never)]
    fn issue_other<const WAY: u8>(&mut self, slot: usize, now: Cycle) -> bool {
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
        if !is_plain(WAY)
            && let Some(file) = &mut self.register_file
        {
            wait = file.read(slot, self.decoded.sources(decoded), now);
            if has_result {
                file.write(now + u64::from(latency + wait));
            }
        }
        if let Some(kind) = decoded.access {
            if !is_plain(WAY) {
                self.note_access(1 << slot, now);
                if self.read_aside(slot, wait, now) {
                    return false;
                }
            }
            self.access(slot, kind, wait, now);
            return false;
        }
        if has_result {
            let at = now + u64::from(latency + wait);
            wavefront.results_at(at, &decoded.writes, &mut self.wheel);
        }
        match decoded.action {
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
            && (self.masks.next_load_store | self.masks.next_local | self.read_paths.next()) & bit
                != 0
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
    pub(super) fn next<const WAY: u8>(
        &mut self,
        ctx: &mut Context<'_>,
        now: Cycle,
        issued: bool,
    ) -> Next {
        let mut wake = Cycle::MAX;
        let open = self.masks.open();
        if is_plain(WAY) && open & !self.masks.next_pipe & !self.behind_memories(now + 1) != 0 {
            return Next::Busy;
        }
        let schedulers = if open == 0 { 0 } else { self.issuers.len() };
        for scheduler in 0..schedulers {
            let candidates = open & self.eligible::<WAY>(scheduler, now + 1);
            if candidates == 0 {
                continue;
            }
            let occupied = self.occupied_units::<WAY>(scheduler, candidates, now + 1);
            if candidates & !occupied.all() != 0 {
                return Next::Busy;
            }
            let reason = occupied.reason(candidates);
            if self.accounting.is_otherwise_occupied(scheduler, reason) {
                return Next::Busy;
            }
            let keeps_back =
                !is_plain(WAY) && self.register_file_decides(scheduler, candidates, now + 1);
            if keeps_back || candidates & occupied.by_two() != 0 {
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
        if WAY == OPEN
            && let Some(cycle) = self.held_back_changes(now)
        {
            wake = wake.min(cycle);
        }
        if let Some(cycle) = self.load_store.next_send(now) {
            wake = wake.min(cycle);
        }
        if !is_plain(WAY)
            && let Some(cycle) = self.read_paths.next_send(now)
        {
            wake = wake.min(cycle);
        }
        if WAY != PLAIN
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
        if wake == now + 1
            || self.invalidation.is_none() && has_dispatch() && !self.split_is_under_way()
        {
            return Next::Busy;
        }
        // With nobody open in this cycle, and nobody now, what was charged in it goes on.
        if WAY == OPEN || issued || open != 0 {
            self.is_settled = WAY != OPEN && open == 0;
            for scheduler in 0..self.issuers.len() {
                let eligible = self.eligible::<WAY>(scheduler, now + 1);
                let candidates = open & eligible;
                let occupied = if candidates == 0 {
                    Occupied::default()
                } else {
                    self.occupied_units::<WAY>(scheduler, candidates, now + 1)
                };
                let slot = self.lost_slot::<WAY>(scheduler, eligible, candidates, occupied);
                if WAY == OPEN && self.is_news(scheduler, slot) {
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
            || !is_plain(WAY) && self.read_paths.await_answers()
        {
            Next::Message
        } else if self.load_store.is_blocked
            || self.fetch.as_ref().is_some_and(|stage| stage.is_blocked())
            || !is_plain(WAY) && self.read_paths.are_blocked()
            || !self.completions.is_empty()
            || !self.launching.is_empty()
        {
            Next::Credit
        } else if self.split_is_under_way() {
            Next::Message
        } else {
            Next::Idle
        }
    }
}
