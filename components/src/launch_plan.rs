//! Which launches of the host run, and which are passed over: a resource that a runner provides where only
//! a part of a program is to be simulated.
//!
//! The host goes through all its commands. A launch that is passed over never leaves it and takes no time;
//! one that is to be replayed waits until the next launch that runs. Before that one the host stands still while the
//! runner replays the accesses of those that wait, in their order ([`LaunchPlan::waiting`]).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle, State, Tick};

use crate::launch::KernelLaunch;

/// What becomes of a launch of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchMode {
    /// It runs.
    Runs,
    /// Its accesses are replayed through the caches, without time.
    Replayed,
    /// Nothing of it happens.
    Skipped,
}

/// What becomes of each launch, and how far the host has come; see the [module](self).
#[derive(Debug)]
pub struct LaunchPlan {
    /// By number of the launch.
    fates: Vec<LaunchMode>,
    /// Ticks from a wish for a replay to the replay, that tick included.
    delay: AtomicU64,
    done: Mutex<Done>,
}

/// How far the host has come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Done {
    /// When the host began each launch, or passed it over.
    begun: BTreeMap<u32, Tick>,
    /// Launches that are to be replayed, in order.
    waiting: Vec<KernelLaunch>,
    /// The tick at whose end they are replayed; none: nobody waits for that.
    due: Option<Tick>,
    /// Ticks for which the host stood still.
    stood_still: u64,
}

impl LaunchPlan {
    /// A plan by number of the launch; those beyond run.
    pub fn new(fates: Vec<LaunchMode>) -> Self {
        Self {
            fates,
            delay: AtomicU64::new(1),
            done: Mutex::default(),
        }
    }

    /// Tells the stop delay of the system ([`warpweave_framework::Simulation::stop_delay`]): at its end the runner is sure
    /// to be there.
    pub fn set_stop_delay(&self, ticks: u64) {
        self.delay.store(ticks, Ordering::Relaxed);
    }

    /// What becomes of a launch.
    pub fn fate(&self, kernel: u32) -> LaunchMode {
        self.fates
            .get(kernel as usize)
            .copied()
            .unwrap_or(LaunchMode::Runs)
    }

    /// The tick at whose end the launches that wait are to be replayed, if the host waits for that.
    pub fn due(&self) -> Option<Tick> {
        self.with(|done| done.due)
    }

    /// The launches that are to be replayed.
    pub fn waiting(&self) -> Vec<KernelLaunch> {
        self.with(|done| done.waiting.clone())
    }

    /// The launches that waited were replayed.
    pub fn replayed(&self) {
        self.with(|done| {
            done.waiting.clear();
            done.due = None;
        });
    }

    /// When the host began a launch or passed it over; of one that waited for replays, after these.
    pub fn begun(&self, kernel: u32) -> Option<Tick> {
        self.with(|done| done.begun.get(&kernel).copied())
    }

    /// Ticks for which the host stood still during replays.
    pub fn stood_still(&self) -> u64 {
        self.with(|done| done.stood_still)
    }

    pub(crate) fn begin(&self, ctx: &Context<'_>, kernel: u32) {
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

    /// Asks for the replay; the cycle in which the host goes on.
    pub(crate) fn ask(&self, ctx: &mut Context<'_>) -> Cycle {
        let delay = self.delay.load(Ordering::Relaxed);
        let cycles = delay.div_ceil(ctx.period()).max(1);
        let (due, ticks) = (Tick(ctx.now().0 + delay - 1), cycles * ctx.period());
        self.with(|done| {
            done.due = Some(due);
            done.stood_still += ticks;
        });
        ctx.pause();
        ctx.cycle() + cycles
    }

    /// Names how far the host has come as its state.
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
        look(&mut self.done.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
