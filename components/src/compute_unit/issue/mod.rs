//! The issue stage: selects a wavefront per scheduler, classifies lost slots, and computes the next
//! wake-up cycle.
//!
//! It only reads the [`Datapath`], which issues the selected wavefronts.

mod open_policies;
mod structural_hazards;

use warpweave_framework::{Context, Cycle, Ports, State, Stateful, Statistics, Unfit, Waits};

use self::open_policies::OpenPolicies;
use self::structural_hazards::StructuralHazards;
use crate::compute_unit::accounting::{Accounting, IssueSlot};
use crate::compute_unit::datapath::Datapath;
use crate::compute_unit::issue_variant::Variant;
use crate::compute_unit::scheduler::{Arrival, BuiltIn, BuiltInScheduler, WavefrontScheduler};
use crate::compute_unit::spec::{ComputeUnitSpec, IssueTogether};

/// One scheduler: its wavefront slots and its policy, if that is built in.
struct IssueUnit {
    slots: u64,
    built_in: BuiltInScheduler,
}

/// The schedulers of a unit.
#[derive(Ports)]
pub(crate) struct Schedulers {
    units: Box<[IssueUnit]>,
    #[port(flatten)]
    open: OpenPolicies,
    /// True if no wavefront was open in the last evaluation; the charged stall reason persists
    /// until something changes.
    is_settled: bool,
}

/// The policies of the schedulers of a unit.
pub(crate) enum Policies {
    BuiltIn(Vec<BuiltIn>),
    Open(Vec<Box<dyn WavefrontScheduler>>),
}

impl Schedulers {
    pub(crate) fn new(spec: &ComputeUnitSpec, policies: Policies) -> Self {
        let (built_in, open) = match policies {
            Policies::BuiltIn(policies) => (policies, Vec::new()),
            Policies::Open(policies) => (Vec::new(), policies),
        };
        let unit = |scheduler: u32| {
            let policy = built_in.get(scheduler as usize).copied();
            let built_in = policy.map_or_else(BuiltInScheduler::default, BuiltInScheduler::new);
            IssueUnit {
                slots: spec.site(scheduler).slots,
                built_in,
            }
        };
        Self {
            units: (0..spec.schedulers).map(unit).collect(),
            open: OpenPolicies::new(spec.scheduler.name(), open),
            is_settled: false,
        }
    }

    /// Returns true if the first-level cache sends events to the policies.
    #[inline]
    pub(crate) fn takes_cache_events(&self) -> bool {
        self.open.takes_cache_events()
    }

    /// Returns true if policies can throttle wavefronts, as those of any crate can.
    pub(crate) fn can_hold_back(&self) -> bool {
        self.open.are_there()
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.units.len()
    }

    /// The scheduler of a wavefront slot.
    #[inline]
    pub(crate) fn of_slot(&self, slot: usize) -> usize {
        slot % self.units.len()
    }

    /// Returns the scheduler served first in a cycle. The order rotates to share local memory and
    /// the load/store queue fairly.
    #[inline]
    pub(crate) fn first(&self, now: Cycle) -> usize {
        match self.units.len() {
            1 => 0,
            2 => now as usize & 1,
            count => (now % count as u64) as usize,
        }
    }

    /// Returns true if no wavefront is open and the reasons are charged.
    #[inline]
    pub(crate) fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Charges every scheduler if no wavefront is `open`. Returns true if it did.
    #[inline(always)]
    pub(crate) fn settle<V: Variant>(
        &mut self,
        open: u64,
        datapath: &Datapath,
        accounting: &mut Accounting,
        now: Cycle,
    ) -> bool {
        self.is_settled = !V::OPEN && open == 0;
        if self.is_settled {
            let masks = datapath.wavefronts.masks();
            for scheduler in 0..self.units.len() {
                let eligible = self.eligible::<V>(scheduler, datapath, now);
                let why = masks.stall::<V>(masks.present & eligible);
                accounting.charge(scheduler, why, now);
            }
        }
        self.is_settled
    }

    /// Picks a wavefront of a scheduler, if one can issue. `free` are the open wavefronts, less
    /// those blocked by a memory when another scheduler issued. An issue by another scheduler
    /// affects wavefronts of this one only through the memories.
    #[inline(always)]
    pub(crate) fn choose_built_in(
        &mut self,
        scheduler: usize,
        free: &mut u64,
        datapath: &mut Datapath,
        now: Cycle,
    ) -> Option<usize> {
        let masks = datapath.wavefronts.masks();
        if *free & (masks.next_local | masks.next_load_store) != 0 {
            *free &= !datapath.blocked_by_memories(now);
        }
        let unit = &mut self.units[scheduler];
        let mut ready = *free & unit.slots;
        if ready & masks.next_pipe != 0 {
            let pipes = &mut datapath.pipes.classes[scheduler];
            pipes.release(now);
            ready &= !pipes.blocked(&masks.next_of_pipe, now);
        }
        if ready == 0 {
            return None;
        }
        Some(unit.built_in.pick(ready, datapath.wavefronts.ages()))
    }

    /// Returns the reason for which a scheduler with a built-in policy issues none of the `open`
    /// wavefronts.
    pub(crate) fn stall_built_in<V: Variant>(
        &self,
        scheduler: usize,
        open: u64,
        datapath: &Datapath,
        now: Cycle,
    ) -> IssueSlot {
        let slots = self.units[scheduler].slots;
        let candidates = open & slots;
        let hazards = StructuralHazards::of_any::<V>(scheduler, candidates, datapath, now);
        self.stall::<V>(scheduler, slots, candidates, hazards, datapath)
    }

    /// Chooses a wavefront of a scheduler among those that are `open`.
    ///
    /// # Errors
    /// None can issue: why.
    #[inline(always)]
    pub(crate) fn choose<V: Variant>(
        &mut self,
        scheduler: usize,
        open: u64,
        datapath: &mut Datapath,
        now: Cycle,
    ) -> Result<usize, IssueSlot> {
        let eligible = self.eligible::<V>(scheduler, datapath, now);
        let candidates = open & eligible;
        if candidates != 0 {
            datapath.pipes.classes[scheduler].release(now);
        }
        let hazards = StructuralHazards::of_any::<V>(scheduler, candidates, datapath, now);
        let ready = candidates & !hazards.all();
        if ready != 0 {
            return Ok(self.pick::<V>(scheduler, ready, datapath, now));
        }
        let why = self.stall::<V>(scheduler, eligible, candidates, hazards, datapath);
        if V::OPEN {
            self.open.stall(scheduler, why, datapath, now);
        }
        Err(why)
    }

    /// Chooses one of `ready`, of which there are some.
    #[inline(always)]
    fn pick<V: Variant>(
        &mut self,
        scheduler: usize,
        ready: u64,
        datapath: &mut Datapath,
        now: Cycle,
    ) -> usize {
        if !V::OPEN {
            let built_in = &mut self.units[scheduler].built_in;
            return built_in.pick(ready, datapath.wavefronts.ages());
        }
        let (slot, wrong) = self.open.pick(scheduler, ready, datapath, now);
        if let Some(picked) = wrong {
            let spec = &datapath.config.spec;
            let message = format!(
                "scheduler {scheduler} ({}) of compute unit {} picked wavefront slot {picked}, which \
                 cannot issue (candidates {ready:#b})",
                spec.scheduler.name(),
                spec.index
            );
            datapath.fail(message);
        }
        slot
    }

    /// Returns true if a wavefront issues another instruction in this cycle, after those for the
    /// kinds of unit `units`. That one is chosen then.
    pub(crate) fn choose_more<V: Variant>(
        &mut self,
        slot: usize,
        scheduler: usize,
        units: u8,
        datapath: &mut Datapath,
        now: Cycle,
    ) -> bool {
        let open = datapath.wavefronts.masks().open();
        let open = open & self.eligible::<V>(scheduler, datapath, now) & 1 << slot;
        let hazards = StructuralHazards::of::<V>(scheduler, open, datapath, now);
        if open & !hazards.all() == 0 {
            return false;
        }
        let unit = datapath.next_instruction(slot).unit;
        if datapath.config.spec.issue_together == IssueTogether::DifferentUnits && units & unit != 0
        {
            return false;
        }
        if V::OPEN {
            self.pick::<V>(scheduler, open, datapath, now);
        }
        true
    }

    /// Returns the slots from which a scheduler may choose: its own without those held back by its
    /// policy. While a built-in policy waits out a short stall, only the slot that issued last is
    /// eligible.
    #[inline]
    fn eligible<V: Variant>(&self, scheduler: usize, datapath: &Datapath, now: Cycle) -> u64 {
        let unit = &self.units[scheduler];
        if !V::LIMITED {
            return unit.slots;
        }
        if V::OPEN {
            return unit.slots & !self.open.throttled(scheduler, datapath, now);
        }
        let Some(last) = unit.built_in.last_favoured() else {
            return unit.slots;
        };
        if last & datapath.short_stalls() == 0 {
            unit.slots
        } else {
            last
        }
    }

    /// Returns the reason for which a scheduler issues nothing, see [`IssueSlot`]. Its `candidates`
    /// are `eligible` and open, and each has one of the `hazards`.
    #[inline]
    fn stall<V: Variant>(
        &self,
        scheduler: usize,
        eligible: u64,
        candidates: u64,
        hazards: StructuralHazards,
        datapath: &Datapath,
    ) -> IssueSlot {
        if candidates != 0 {
            hazards.reason(candidates)
        } else if V::OPEN && self.units[scheduler].slots & !eligible != 0 {
            IssueSlot::Throttled
        } else {
            let masks = datapath.wavefronts.masks();
            masks.stall::<V>(masks.present & eligible)
        }
    }

    /// Returns the first cycle after `now` in which a scheduler issues one of the `open`
    /// wavefronts, or its stall reason changes, through time alone.
    #[inline(always)]
    pub(crate) fn next<V: Variant>(
        &self,
        open: u64,
        datapath: &Datapath,
        accounting: &Accounting,
        now: Cycle,
    ) -> Cycle {
        let mut wake = Cycle::MAX;
        let masks = datapath.wavefronts.masks();
        let schedulers = if open == 0 { 0 } else { self.units.len() };
        for scheduler in 0..schedulers {
            let candidates = open & self.eligible::<V>(scheduler, datapath, now + 1);
            if candidates == 0 {
                continue;
            }
            let hazards = StructuralHazards::of::<V>(scheduler, candidates, datapath, now + 1);
            if candidates & !hazards.all() != 0 {
                return now + 1;
            }
            let reason = hazards.reason(candidates);
            if accounting.is_otherwise_occupied(scheduler, reason) {
                return now + 1;
            }
            let keeps_back =
                V::LIMITED && datapath.register_file_decides(scheduler, candidates, now + 1);
            if keeps_back || candidates & hazards.by_several() != 0 {
                let changes = StructuralHazards::first_change(
                    scheduler,
                    candidates,
                    reason,
                    datapath,
                    now + 2,
                );
                wake = wake.min(changes.unwrap_or(Cycle::MAX));
                continue;
            }
            if candidates & hazards.local_memory != 0 {
                wake = wake.min(datapath.pipes.local_memory.free_at());
            }
            if candidates & hazards.pipe != 0 {
                let pipes = &datapath.pipes.classes[scheduler];
                wake = wake.min(pipes.next_free(&masks.next_of_pipe, candidates, now));
            }
        }
        if V::OPEN
            && let Some(cycle) = self.open.throttle_changes(datapath, now)
        {
            wake = wake.min(cycle);
        }
        wake
    }

    /// Charges the cycles from `now + 1` on, in which none of the `open` wavefronts issues. Returns
    /// false if a policy must be notified of a stall reason.
    pub(crate) fn charge_ahead<V: Variant>(
        &mut self,
        open: u64,
        datapath: &Datapath,
        accounting: &mut Accounting,
        now: Cycle,
    ) -> bool {
        self.is_settled = !V::OPEN && open == 0;
        for scheduler in 0..self.units.len() {
            let eligible = self.eligible::<V>(scheduler, datapath, now + 1);
            let candidates = open & eligible;
            let hazards = StructuralHazards::of_any::<V>(scheduler, candidates, datapath, now + 1);
            let why = self.stall::<V>(scheduler, eligible, candidates, hazards, datapath);
            if V::OPEN && self.open.is_news(scheduler, why) {
                return false;
            }
            accounting.charge(scheduler, why, now + 1);
        }
        true
    }

    /// Clears the last slot if it is among `slots`, whose wavefronts have left, so that successors
    /// are not favored.
    pub(crate) fn forget(&mut self, slots: u64) {
        for unit in &mut self.units {
            unit.built_in.forget(slots);
        }
    }

    /// Tells policies of a wavefront that was placed.
    pub(crate) fn notify_arrival(&mut self, arrival: &Arrival, datapath: &Datapath, now: Cycle) {
        self.open
            .notify(datapath, now, |policy, view| policy.arrive(arrival, view));
    }

    /// Tells policies of a wavefront that issues nothing more.
    #[inline]
    pub(crate) fn notify_end(&mut self, slot: usize, datapath: &Datapath, now: Cycle) {
        self.open
            .notify(datapath, now, |policy, view| policy.leave(slot, view));
    }

    /// Tells policies of the last answer to a load.
    #[inline]
    pub(crate) fn notify_response(&mut self, slot: usize, datapath: &Datapath, now: Cycle) {
        self.open
            .notify(datapath, now, |policy, view| policy.response(slot, view));
    }

    /// Takes the events of the first-level cache.
    pub(crate) fn take_cache_events(&mut self, ctx: &mut Context<'_>, datapath: &Datapath) {
        self.open.take_cache_events(ctx, datapath);
    }

    /// Fails where a policy needs events of the first-level cache and gets none.
    pub(crate) fn check_wires(&self) -> Result<(), Unfit> {
        self.open.check_wires()
    }

    pub(crate) fn report(&self, statistics: &mut Statistics<'_>) {
        self.open.report(statistics);
    }

    /// Names wavefronts that nothing but a policy keeps from issuing in cycle `now`.
    pub(crate) fn waits(&self, datapath: &Datapath, now: Cycle, waits: &mut Waits<'_>) {
        if !self.open.are_there() {
            return;
        }
        for (scheduler, unit) in self.units.iter().enumerate() {
            let mine = datapath.wavefronts.masks().present & unit.slots;
            let held = mine & self.open.throttled(scheduler, datapath, now);
            if held != 0 {
                waits.inside(format!(
                    "{} wavefronts are throttled by scheduler {scheduler} ({})",
                    held.count_ones(),
                    datapath.config.spec.scheduler.name()
                ));
            }
        }
    }
}

impl Stateful for Schedulers {
    fn state(&mut self, state: &mut State<'_>) {
        for (number, unit) in self.units.iter_mut().enumerate() {
            state.part(&format!("schedulers[{number}]"), |state| {
                unit.built_in.state(state);
                self.open.state_of(number, state);
            });
        }
        self.is_settled = false;
    }
}
