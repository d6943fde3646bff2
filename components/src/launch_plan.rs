//! Launch plan: selects the host launches that run and those that are skipped. Also pauses the host
//! for work that takes no time. Every runner provides this resource.
//!
//! The host processes all its commands. A skipped launch never leaves it and takes no time. A
//! launch to be replayed waits until the next launch that runs. Before that one the host pauses,
//! and the runner replays the accesses of the waiting launches in order ([`LaunchPlan::waiting`]).
//! The host pauses in the same way before a launch that is to find all caches empty
//! ([`LaunchPlan::wants_flush`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, State, Tick};

use crate::launch::KernelLaunch;

/// Treatment of a host launch under a launch plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchMode {
    /// Runs with full timing on the device.
    Runs,
    /// Its accesses are replayed functionally through the caches.
    Replayed,
    /// Skipped entirely, without timing or functional replay.
    Skipped,
}

/// Treatment of each launch and progress of the host; see the [module](self).
#[derive(Debug)]
pub struct LaunchPlan {
    /// Treatment of each launch, by number of the launch.
    fates: Vec<LaunchMode>,
    /// Ticks from a replay request to the replay, including that tick.
    delay: AtomicU64,
    /// True if the host will request that caches are emptied.
    flushes: AtomicBool,
    done: Mutex<Done>,
}

/// Progress of the host through a launch plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Done {
    /// Time at which the host started or skipped each launch.
    begun: BTreeMap<u32, Tick>,
    /// Launches waiting for replay, in order.
    waiting: Vec<KernelLaunch>,
    /// Tick at whose end the runner does what is requested; `None` if nothing is.
    due: Option<Tick>,
    /// True if all caches must be emptied then.
    flush: bool,
    /// Ticks for which the host has paused.
    stood_still: u64,
}

impl LaunchPlan {
    /// Creates a plan indexed by number of the launch; launches beyond `fates` run. Without any,
    /// the times of launches are not recorded.
    pub fn new(fates: Vec<LaunchMode>) -> Self {
        Self {
            fates,
            delay: AtomicU64::new(1),
            flushes: AtomicBool::new(false),
            done: Mutex::default(),
        }
    }

    /// Sets the stop delay of the system ([`warpweave_framework::Simulation::stop_delay`]), after
    /// which the runner is guaranteed to have control.
    pub fn set_stop_delay(&self, ticks: u64) {
        self.delay.store(ticks, Ordering::Relaxed);
    }

    /// True if the host empties all caches before each launch.
    pub fn flushes(&self) -> bool {
        self.flushes.load(Ordering::Relaxed)
    }

    /// Announces that the host will request that caches are emptied.
    pub(crate) fn announce_flushes(&self) {
        self.flushes.store(true, Ordering::Relaxed);
    }

    /// Returns the treatment of a launch, by its number.
    pub fn fate(&self, kernel: u32) -> LaunchMode {
        self.fates
            .get(kernel as usize)
            .copied()
            .unwrap_or(LaunchMode::Runs)
    }

    /// Returns the tick at whose end the waiting launches must be replayed and caches emptied, if
    /// the host has requested that.
    pub fn due(&self) -> Option<Tick> {
        self.with(|done| done.due)
    }

    /// Returns the launches waiting for replay.
    pub fn waiting(&self) -> Vec<KernelLaunch> {
        self.with(|done| done.waiting.clone())
    }

    /// True if all caches must be emptied when the waiting launches have been replayed.
    pub fn wants_flush(&self) -> bool {
        self.with(|done| done.flush)
    }

    /// Notes that everything requested has been done.
    pub fn fulfilled(&self) {
        self.with(|done| {
            done.waiting.clear();
            done.due = None;
            done.flush = false;
        });
    }

    /// Returns the time at which the host started or skipped a launch. For a launch that waited for
    /// replays, this is the time after these.
    pub fn begun(&self, kernel: u32) -> Option<Tick> {
        self.with(|done| done.begun.get(&kernel).copied())
    }

    /// Returns the ticks for which the host has paused.
    pub fn stood_still(&self) -> u64 {
        self.with(|done| done.stood_still)
    }

    pub(crate) fn begin(&self, ctx: &Context<'_>, kernel: u32) {
        if self.fates.is_empty() {
            return;
        }
        let now = ctx.now();
        self.with(|done| {
            done.begun.entry(kernel).or_insert(now);
        });
    }

    pub(crate) fn postpone(&self, launch: KernelLaunch) {
        self.with(|done| done.waiting.push(launch));
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.with(|done| !done.waiting.is_empty())
    }

    /// Requests that the waiting launches are replayed and, with `flush`, all caches emptied.
    /// Returns the cycle in which the host resumes.
    pub(crate) fn ask(&self, ctx: &mut Context<'_>, flush: bool) -> Cycle {
        let delay = self.delay.load(Ordering::Relaxed);
        let cycles = delay.div_ceil(ctx.period()).max(1);
        let (due, ticks) = (Tick(ctx.now().0 + delay - 1), cycles * ctx.period());
        self.with(|done| {
            done.due = Some(due);
            done.flush = flush;
            done.stood_still += ticks;
        });
        ctx.pause();
        ctx.cycle() + cycles
    }

    /// Declares the progress of the host as checkpoint state.
    pub(crate) fn state(plan: &mut Arc<Self>, state: &mut State<'_>) {
        state.field_as(
            "launch_plan",
            plan,
            |plan| plan.with(|done| done.clone()),
            |plan, saved| {
                plan.with(|done| *done = saved);
                Ok(())
            },
        );
    }

    fn with<R>(&self, look: impl FnOnce(&mut Done) -> R) -> R {
        look(&mut self.done.lock())
    }
}
