//! Issuing: which wavefront each scheduler takes, why a slot is lost, and when to look again.

use warpweave_framework::{Context, Cycle, Next, State};
use warpweave_trace::Class;

use super::ComputeUnit;
use super::accounting::Slot;
use super::instruction::{Action, NO_PIPE};
use super::scheduler::WavefrontScheduler;

/// A scheduler and the pipes behind it.
pub(super) struct Issuer {
    pub(super) scheduler: WavefrontScheduler,
    /// Pipes that may be busy, and the first cycle in which each takes an instruction again.
    pub(super) busy: u32,
    pub(super) free_at: [Cycle; Class::COUNT],
}

impl Issuer {
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("last", self.scheduler.last_mut());
        state.array("free_at", &mut self.free_at);
        // Which pipes may be busy is brought up to date by evaluations: the superset of those
        // ever used serves as well.
        let used = self.free_at.iter().enumerate().filter(|(_, at)| **at > 0);
        self.busy |= used.fold(0, |busy, (pipe, _)| busy | 1 << pipe);
    }

    /// Forgets pipes that take an instruction again in cycle `now`.
    pub(super) fn free_pipes(&mut self, now: Cycle) {
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
    #[inline]
    pub(super) fn issue(&mut self, now: Cycle) {
        let schedulers = self.issuers.len();
        // A rotating first place shares the local memory and the load/store queue fairly.
        let mut scheduler = match schedulers {
            1 => 0,
            2 => now as usize & 1,
            _ => (now % schedulers as u64) as usize,
        };
        for _ in 0..schedulers {
            let issuer = &mut self.issuers[scheduler];
            if issuer.busy != 0 {
                issuer.free_pipes(now);
            }
            let candidates = self.masks.open() & self.eligible(scheduler);
            let ready = if candidates == 0 {
                0
            } else {
                candidates & !self.occupied_units(scheduler, now).all()
            };
            let slot = if ready == 0 {
                self.lost_slot(scheduler, now)
            } else {
                let wavefront = self.issuers[scheduler].scheduler.pick(ready, &self.ages);
                self.issue_from(wavefront, scheduler, now);
                Slot::Issued
            };
            self.accounting.charge(slot);
            scheduler += 1;
            if scheduler == schedulers {
                scheduler = 0;
            }
        }
    }

    /// The slots among which a scheduler may choose: its own, or the last one alone while a policy
    /// that waits out short stalls holds on to it.
    #[inline]
    fn eligible(&self, scheduler: usize) -> u64 {
        let scheduler = &self.issuers[scheduler].scheduler;
        let Some(last) = scheduler.held() else {
            return scheduler.slots;
        };
        let masks = &self.masks;
        let mut short = masks.open();
        if self.load_store.is_full() {
            short &= !masks.next_load_store;
        }
        short |= masks.paused | masks.fetched & masks.hazard & !masks.hazard_memory;
        if last & short == 0 {
            scheduler.slots
        } else {
            last
        }
    }

    /// Wavefronts whose next instruction needs a unit that takes nothing in cycle `now`.
    #[inline]
    fn occupied_units(&self, scheduler: usize, now: Cycle) -> Occupied {
        let issuer = &self.issuers[scheduler];
        let mut occupied = Occupied::default();
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if issuer.free_at[pipe] > now {
                occupied.pipe |= self.next_of_pipe[pipe];
            }
        }
        if self.local_memory_free_at > now {
            occupied.local_memory = self.masks.next_local;
        }
        if self.load_store.is_full() {
            occupied.load_store = self.masks.next_load_store;
        }
        occupied
    }

    /// Why a scheduler without a ready wavefront issues nothing in cycle `now`; see [`Slot`].
    #[inline]
    fn lost_slot(&self, scheduler: usize, now: Cycle) -> Slot {
        let masks = &self.masks;
        let mine = masks.present & self.eligible(scheduler);
        if mine == 0 {
            return Slot::NoWavefront;
        }
        let open = mine & masks.open();
        if open != 0 {
            let occupied = self.occupied_units(scheduler, now);
            return if open & occupied.pipe != 0 {
                Slot::PipeBusy
            } else if open & occupied.local_memory != 0 {
                Slot::LocalMemoryBusy
            } else {
                Slot::LoadStoreFull
            };
        }
        if mine & masks.hazard & !masks.hazard_memory != 0 {
            Slot::Scoreboard
        } else if mine & (masks.hazard | masks.fence) != 0 {
            Slot::Memory
        } else if mine & masks.paused != 0 {
            Slot::Control
        } else if mine & masks.barrier != 0 {
            Slot::Barrier
        } else {
            Slot::Ended
        }
    }

    /// Issues the next record of a wavefront and fetches the one after.
    #[inline]
    fn issue_from(&mut self, slot: usize, scheduler: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let record = wavefront.record;
        let index = wavefront.code + record.pc;
        let decoded = &self.decoded.instructions[index as usize];

        self.counts.wavefront_instructions += u64::from(!record.continues);
        self.counts.thread_instructions += u64::from(record.mask.count_ones());
        self.counts.per_class[usize::from(decoded.class)] += u64::from(!record.continues);
        if wavefront.pipe != NO_PIPE {
            let pipe = usize::from(wavefront.pipe);
            self.next_of_pipe[pipe] &= !bit;
            let issuer = &mut self.issuers[scheduler];
            issuer.busy |= 1 << pipe;
            issuer.free_at[pipe] = now + u64::from(decoded.interval);
        }

        let latency = decoded.latency;
        match decoded.action {
            Action::Compute => {
                if decoded.has_writes {
                    self.results_after(slot, index, latency, now);
                }
                self.fetch(slot, now);
            }
            Action::Control => {
                let ends = decoded.ends;
                if decoded.has_writes {
                    self.results_after(slot, index, latency, now);
                }
                if latency > 1 || ends {
                    self.pause(slot, latency, now);
                } else {
                    self.fetch(slot, now);
                }
            }
            Action::Fence if latency > 1 => self.pause(slot, latency, now),
            Action::Barrier if record.mask != 0 => self.arrive(slot, now),
            Action::Fence | Action::Barrier => self.fetch(slot, now),
            Action::Memory(kind) => {
                self.masks.next_load_store &= !bit;
                self.masks.next_local &= !bit;
                self.access(slot, index, kind, now);
                self.fetch(slot, now);
            }
        }
    }

    /// What the unit waits for, and to what the cycles until then are charged.
    #[inline]
    pub(super) fn next(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Next {
        let mut wake = Cycle::MAX;
        for scheduler in 0..self.issuers.len() {
            let candidates = self.masks.open() & self.eligible(scheduler);
            if candidates == 0 {
                continue;
            }
            let occupied = self.occupied_units(scheduler, now + 1);
            if candidates & !occupied.all() != 0 {
                return Next::Busy;
            }
            if candidates & occupied.local_memory != 0 {
                wake = wake.min(self.local_memory_free_at);
            }
            if candidates & occupied.pipe != 0 {
                wake = wake.min(self.next_free_pipe(scheduler, now));
            }
        }
        if let Some(cycle) = self.load_store.next_send(now) {
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
        for scheduler in 0..self.issuers.len() {
            let slot = self.lost_slot(scheduler, now + 1);
            self.accounting.sleep(scheduler, slot);
        }
        if wake < Cycle::MAX {
            Next::Until(wake)
        } else if self.load_store.outstanding() > 0 || self.invalidation.is_some() {
            Next::Message
        } else if self.load_store.is_blocked || !self.completions.is_empty() {
            Next::Credit
        } else {
            Next::Idle
        }
    }

    /// The first cycle after `now` in which a pipe of the scheduler that a candidate needs is free.
    fn next_free_pipe(&self, scheduler: usize, now: Cycle) -> Cycle {
        let issuer = &self.issuers[scheduler];
        let mut first = Cycle::MAX;
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let needed =
                self.next_of_pipe[pipe] & self.masks.open() & self.eligible(scheduler) != 0;
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
    pipe: u64,
    local_memory: u64,
    load_store: u64,
}

impl Occupied {
    #[inline]
    fn all(self) -> u64 {
        self.pipe | self.local_memory | self.load_store
    }
}
