//! Schedulers whose policies are not built in: the events they receive and the queries they answer.

use warpweave_framework::{Context, Cycle, InPort, Ports, State, Statistics, Unfit};

use crate::compute_unit::accounting::IssueSlot;
use crate::compute_unit::datapath::Datapath;
use crate::compute_unit::scheduler::{SchedulerView, Throttled, WavefrontScheduler};
use crate::memory::{CacheEvent, RequestKind};

/// Number of unsuccessful wake-up cycles from a policy after which its unit stays awake.
const STEPS_MAX: u32 = 16;

/// Scheduling policy of one scheduler, with its last reported stall.
struct OpenScheduler {
    policy: Box<dyn WavefrontScheduler>,
    /// Stall reason last reported to the policy; `None` after an issue.
    reported: Option<IssueSlot>,
}

/// Holds the policies of all schedulers, and the port for events of the first-level cache. Empty in
/// a unit with built-in policies.
#[derive(Ports)]
pub(crate) struct OpenPolicies {
    /// Name of the policy.
    name: String,
    schedulers: Vec<OpenScheduler>,
    /// True if a policy needs to know what others issue.
    tells_passes: bool,
    #[port(optional)]
    locality: InPort<CacheEvent>,
}

impl OpenPolicies {
    /// Policies of this name.
    pub(crate) fn new(name: &str, policies: Vec<Box<dyn WavefrontScheduler>>) -> Self {
        let tells_passes = policies.iter().any(|policy| policy.needs_passes());
        let open = |policy| OpenScheduler {
            policy,
            reported: None,
        };
        Self {
            name: name.to_owned(),
            schedulers: policies.into_iter().map(open).collect(),
            tells_passes,
            locality: InPort::new(),
        }
    }

    /// Returns true if the first-level cache sends events.
    #[inline]
    pub(crate) fn takes_cache_events(&self) -> bool {
        self.locality.is_connected()
    }

    /// Returns true if the policies are not built in.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        !self.schedulers.is_empty()
    }

    /// Tells or asks every policy something.
    pub(crate) fn notify(
        &mut self,
        datapath: &Datapath,
        now: Cycle,
        event: impl Fn(&mut dyn WavefrontScheduler, &SchedulerView<'_>),
    ) {
        if self.schedulers.is_empty() {
            return;
        }
        let view = datapath.view(now);
        for scheduler in &mut self.schedulers {
            event(&mut *scheduler.policy, &view);
        }
    }

    /// Takes the events of the first-level cache; built-in policies do not want to know.
    pub(crate) fn take_cache_events(&mut self, ctx: &mut Context<'_>, datapath: &Datapath) {
        while let Some(event) = self.locality.pop(ctx) {
            self.notify(datapath, ctx.cycle(), |policy, view| {
                policy.event(&event, view);
            });
        }
    }

    /// Returns the wavefronts that could issue in cycle `now` but are held back by their
    /// scheduler's policy.
    pub(crate) fn throttled(&self, scheduler: usize, datapath: &Datapath, now: Cycle) -> u64 {
        let policy = &self.schedulers[scheduler].policy;
        let Throttled { all, loads } = policy.throttled(&datapath.view(now));
        let masks = datapath.wavefronts.masks();
        let mut held = all;
        let mut accesses = loads & !all & masks.open() & masks.next_load_store;
        while accesses != 0 {
            let slot = accesses.trailing_zeros() as usize;
            accesses &= accesses - 1;
            let access = datapath.next_instruction(slot).access;
            if access.is_some_and(|access| access.kind == RequestKind::Read) {
                held |= 1 << slot;
            }
        }
        held & masks.open()
    }

    /// Lets the policy pick a wavefront and notifies it that the pick issues.
    ///
    /// # Errors
    /// The slot that it chose is not one that can issue. Then that and a slot to go on with.
    pub(crate) fn pick(
        &mut self,
        scheduler: usize,
        ready: u64,
        datapath: &Datapath,
        now: Cycle,
    ) -> (usize, Option<usize>) {
        let view = datapath.view(now);
        let OpenScheduler { policy, reported } = &mut self.schedulers[scheduler];
        let picked = policy.pick(ready, &view);
        let is_ready = picked < u64::BITS as usize && ready >> picked & 1 != 0;
        let slot = if is_ready {
            picked
        } else {
            ready.trailing_zeros() as usize
        };
        let issue = datapath.issue_event(slot);
        policy.issued(&issue, &view);
        *reported = None;
        if self.tells_passes {
            for scheduler in &mut self.schedulers {
                scheduler.policy.passes(slot, issue.pc, &view);
            }
        }
        (slot, (!is_ready).then_some(picked))
    }

    /// Reports the stall reason to the policy if it has changed.
    pub(crate) fn stall(
        &mut self,
        scheduler: usize,
        why: IssueSlot,
        datapath: &Datapath,
        now: Cycle,
    ) {
        let OpenScheduler { policy, reported } = &mut self.schedulers[scheduler];
        if *reported != Some(why) {
            policy.stalled(why, &datapath.view(now));
            *reported = Some(why);
        }
    }

    /// Returns true if the policy does not know that nothing issues because of `why`.
    pub(crate) fn is_news(&self, scheduler: usize, why: IssueSlot) -> bool {
        self.schedulers[scheduler].reported != Some(why)
    }

    /// Returns the first cycle after `now` in which a policy holds back other wavefronts than in
    /// `now`, if nothing else happens. Returns the next cycle if that is unknown.
    ///
    /// Wake-up cycles without an actual change are skipped. Otherwise a unit that is kept awake
    /// would account for its time differently.
    pub(crate) fn throttle_changes(&self, datapath: &Datapath, now: Cycle) -> Option<Cycle> {
        let changes = |scheduler: usize| {
            let held = self.throttled(scheduler, datapath, now);
            let mut cycle = now;
            for _ in 0..STEPS_MAX {
                let policy = &self.schedulers[scheduler].policy;
                let next = policy.throttle_changes(&datapath.view(cycle))?;
                cycle = next.max(cycle + 1);
                if self.throttled(scheduler, datapath, cycle) != held {
                    return Some(cycle);
                }
            }
            Some(now + 1)
        };
        (0..self.schedulers.len()).filter_map(changes).min()
    }

    /// Fails where a policy needs events of the first-level cache and gets none.
    pub(crate) fn check_wires(&self) -> Result<(), Unfit> {
        let needs = |scheduler: &OpenScheduler| scheduler.policy.needs_cache_events();
        if self.locality.is_connected() || !self.schedulers.iter().any(needs) {
            return Ok(());
        }
        let message = format!(
            "{} needs events from the first-level cache, but the port `locality` is not connected; wire it to that of the cache, such as `\"cu.locality <-> l1.locality\": (latency: 1)`",
            self.name
        );
        Err(Unfit::at("scheduler", message))
    }

    pub(crate) fn report(&self, statistics: &mut Statistics<'_>) {
        for (number, scheduler) in self.schedulers.iter().enumerate() {
            let policy = &scheduler.policy;
            if self.schedulers.len() == 1 {
                policy.statistics(statistics);
            } else {
                let name = format!("scheduler{number}");
                statistics.under(&name, |statistics| {
                    policy.statistics(statistics);
                });
            }
        }
    }

    /// Names the state of one scheduler's policy.
    pub(crate) fn state_of(&mut self, scheduler: usize, state: &mut State<'_>) {
        if let Some(OpenScheduler { policy, reported }) = self.schedulers.get_mut(scheduler) {
            state.field("told", reported);
            state.part(&self.name, |state| policy.state(state));
        }
    }
}
