//! Schedulers whose policies are not built in: what they are told and asked.
//!
//! A unit with built-in policies has none of these and does not come here but to find that out.

use warpweave_framework::{Context, Cycle, State, Statistics, Unfit, Waits};
use warpweave_trace::Class;

use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::decoded::Action;
use crate::compute_unit::{
    Arrival, ComputeUnit, HeldBack, Issue, SchedulerView, WavefrontScheduler,
};
use crate::memory::RequestKind;

/// Cycles that a policy names in vain before its unit goes on without sleep.
const STEPS_MAX: u32 = 16;

/// The policy of one scheduler.
pub(crate) struct OpenScheduler {
    policy: Box<dyn WavefrontScheduler>,
    /// Why it issues nothing, as it was told last; none after an issue.
    told: Option<IssueSlot>,
}

impl OpenScheduler {
    pub(crate) fn new(policy: Box<dyn WavefrontScheduler>) -> Self {
        Self { policy, told: None }
    }

    pub(crate) fn state(&mut self, name: &str, state: &mut State<'_>) {
        state.field("told", &mut self.told);
        state.part(name, |state| self.policy.state(state));
    }
}

impl ComputeUnit {
    /// Whether the schedulers have policies that are not built in.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Shows every policy the unit as it stands, and tells or asks it something.
    fn tell(&mut self, now: Cycle, tell: impl Fn(&mut dyn WavefrontScheduler, &SchedulerView<'_>)) {
        let mut open = std::mem::take(&mut self.open);
        let view = self.view(now);
        for scheduler in &mut open {
            tell(&mut *scheduler.policy, &view);
        }
        self.open = open;
    }

    /// What a policy may know, for a cycle that is under way or about to come.
    fn view(&self, now: Cycle) -> SchedulerView<'_> {
        let masks = &self.masks;
        SchedulerView {
            now,
            present: masks.present,
            open: masks.open(),
            waits_for_memory: masks.hazard & masks.hazard_memory | masks.fence,
            waits_for_result: masks.hazard & !masks.hazard_memory,
            waits_for_control: masks.paused
                | masks.fetched & masks.starved & !(masks.hazard | masks.fence),
            at_barrier: masks.barrier,
            ended: masks.ended,
            next_is_access: masks.next_load_store,
            load_store_is_full: self.load_store.is_full(),
            instructions: self.counts.wavefront_instructions,
            ages: &self.ages,
        }
    }

    pub(crate) fn tell_arrival(&mut self, arrival: &Arrival, now: Cycle) {
        self.tell(now, |policy, view| policy.arrive(arrival, view));
    }

    pub(crate) fn tell_leave(&mut self, slot: usize, now: Cycle) {
        self.tell(now, |policy, view| policy.leave(slot, view));
    }

    pub(crate) fn tell_response(&mut self, slot: usize, now: Cycle) {
        self.tell(now, |policy, view| policy.response(slot, view));
    }

    /// Takes what the first-level cache tells; built-in policies do not want to know.
    pub(crate) fn take_cache_events(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        while let Some(event) = self.locality.pop(ctx) {
            self.tell(now, |policy, view| policy.event(&event, view));
        }
    }

    /// Wavefronts that could issue in cycle `now` but for the policy of their scheduler.
    pub(crate) fn held_back(&self, scheduler: usize, now: Cycle) -> u64 {
        let HeldBack { wholly, loads } = self.open[scheduler].policy.held_back(&self.view(now));
        let mut held = wholly;
        let mut accesses = loads & !wholly & self.masks.open() & self.masks.next_load_store;
        while accesses != 0 {
            let slot = accesses.trailing_zeros() as usize;
            accesses &= accesses - 1;
            let wavefront = &self.wavefronts[slot];
            if self.decoded.instructions[wavefront.next as usize].action
                == Action::Memory(RequestKind::Read)
            {
                held |= 1 << slot;
            }
        }
        held & self.masks.open()
    }

    /// Lets the policy choose, and tells it that what it chose issues.
    pub(crate) fn pick_open(&mut self, scheduler: usize, ready: u64, now: Cycle) -> usize {
        let view = self.view(now);
        let mut slot = self.open[scheduler].policy.pick(ready, &view);
        if slot >= u64::BITS as usize || ready >> slot & 1 == 0 {
            self.fail(format!(
                "scheduler {scheduler} ({}) of compute unit {} picked wavefront slot {slot}, which \
                 is not among those that can issue ({ready:#b})",
                self.spec.scheduler.name(),
                self.spec.index
            ));
            slot = ready.trailing_zeros() as usize;
        }
        let wavefront = &self.wavefronts[slot];
        let record = wavefront.record;
        let decoded = &self.decoded.instructions[wavefront.next as usize];
        let issue = Issue {
            slot,
            class: Class::ALL[usize::from(decoded.class)],
            pc: record.pc,
            is_access: self.masks.next_load_store >> slot & 1 != 0,
            continues: record.continues,
        };
        let mut open = std::mem::take(&mut self.open);
        open[scheduler].policy.issued(&issue, &self.view(now));
        open[scheduler].told = None;
        self.open = open;
        slot
    }

    /// Tells the policy why nothing issues, unless it knows.
    pub(crate) fn tell_stall(&mut self, scheduler: usize, why: IssueSlot, now: Cycle) {
        if self.open[scheduler].told == Some(why) {
            return;
        }
        let mut open = std::mem::take(&mut self.open);
        open[scheduler].policy.stalled(why, &self.view(now));
        open[scheduler].told = Some(why);
        self.open = open;
    }

    /// Whether the policy is to be told that nothing issues because of `why`.
    pub(crate) fn is_news(&self, scheduler: usize, why: IssueSlot) -> bool {
        self.open[scheduler].told != Some(why)
    }

    /// The first cycle after `now` in which a policy holds back other wavefronts than in `now`, if
    /// nothing happens until then; the next one if that cannot be said.
    ///
    /// Cycles in which a policy only might have changed its mind are passed over. A unit that is kept
    /// awake could tell them from the others, and would account for its time differently.
    pub(crate) fn held_back_changes(&self, now: Cycle) -> Option<Cycle> {
        let changes = |scheduler: usize| {
            let held = self.held_back(scheduler, now);
            let mut cycle = now;
            for _ in 0..STEPS_MAX {
                let next = self.open[scheduler].policy.wakes(&self.view(cycle))?;
                cycle = next.max(cycle + 1);
                if self.held_back(scheduler, cycle) != held {
                    return Some(cycle);
                }
            }
            Some(now + 1)
        };
        (0..self.open.len()).filter_map(changes).min()
    }

    /// Whether policies that need to know what the first-level cache sees can.
    pub(crate) fn check_cache_events(&self) -> Result<(), Unfit> {
        let needs = |scheduler: &OpenScheduler| scheduler.policy.needs_cache_events();
        if self.locality.is_connected() || !self.open.iter().any(needs) {
            return Ok(());
        }
        let message = format!(
            "{} goes by what the first-level cache tells, but the port `locality` is not connected; \
             wire it to that of the cache, such as `\"cu.locality <-> l1.locality\": (latency: 1)`",
            self.spec.scheduler.name()
        );
        Err(Unfit::at("scheduler", message))
    }

    pub(crate) fn report_open(&self, statistics: &mut Statistics<'_>) {
        for (number, scheduler) in self.open.iter().enumerate() {
            let policy = &scheduler.policy;
            if self.open.len() == 1 {
                policy.statistics(statistics);
            } else {
                let name = format!("scheduler{number}");
                statistics.under(&name, |statistics| {
                    policy.statistics(statistics);
                });
            }
        }
    }

    /// Wavefronts that nothing but a policy keeps from issuing.
    pub(crate) fn waits_open(&self, waits: &mut Waits<'_>) {
        for scheduler in 0..self.open.len() {
            let mine = self.masks.present & self.issuers[scheduler].slots;
            let held = mine & self.held_back(scheduler, self.accounting.evaluated_to());
            if held != 0 {
                waits.inside(format!(
                    "{} wavefronts are held back by scheduler {scheduler} ({})",
                    held.count_ones(),
                    self.spec.scheduler.name()
                ));
            }
        }
    }
}
