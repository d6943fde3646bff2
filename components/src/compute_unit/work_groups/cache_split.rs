//! One memory that local memory and the first-level cache share: how much of it is local follows the kernels.
//!
//! ```text
//!   dispatch for kernel K ──► bytes wanted by K and by the kernels that are resident ──► the smallest split that holds them
//!                                                                                          │ another than there is
//!   taken ◄── done ◄── first-level cache: so many ways ◄── CacheCommand::Resize ◄──────────┘
//! ```
//!
//! What a dispatch waits for is the cache alone, and that answers when what it accepted is answered. It waits for no work-group that
//! is resident, so no order of dispatches and no launch from the device can stop it for good.

use warpweave_framework::{
    Context, Cycle, Facts, Onward, State, Statistics, TimeWeighted, Unfit, at_most,
};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::spec::{LocalMemorySpec, SHARED_WITH_CACHE, SharedMemorySpec};
use crate::launch::{CacheCommand, CacheSizes, Dispatch, Resizable};
use crate::occupancy::{SchedulerFacts, UnitLimits, WorkGroupNeeds};

/// The split there is, and a change of it.
pub(crate) struct Split {
    spec: SharedMemorySpec,
    /// What is known of the machine; of elaboration only.
    scheduler: SchedulerFacts,
    cache_can: bool,
    /// Number of the split there is, or that the cache is told.
    at: usize,
    /// The cache has been told and has not answered.
    is_commanded: bool,
    /// Since when a dispatch waits.
    waits_since: Option<Cycle>,
    changes: u64,
    wait_cycles: u64,
    cache_bytes: TimeWeighted,
}

impl Split {
    /// That of a unit with this local memory, if it shares.
    pub(crate) fn of(local: &LocalMemorySpec) -> Option<Self> {
        let spec = local.shared_with_cache.clone()?;
        let mut split = Self {
            scheduler: SchedulerFacts {
                units: 1,
                register_partitions: None,
                register_granularity: None,
            },
            cache_can: false,
            at: 0,
            is_commanded: false,
            waits_since: None,
            changes: 0,
            wait_cycles: 0,
            cache_bytes: TimeWeighted::default(),
            spec,
        };
        split.cache_bytes.set(0, u64::from(split.cache_size()));
        Some(split)
    }

    /// Bytes that the split leaves to the cache.
    fn cache_size(&self) -> u32 {
        self.spec.bytes - self.spec.splits[self.at]
    }

    fn command(&self) -> CacheCommand {
        CacheCommand::Resize {
            bytes: self.cache_size(),
        }
    }

    /// What the cache is told at elaboration.
    pub(crate) fn tell(&self, facts: &mut Facts) {
        let sizes = self.spec.splits.iter();
        let sizes = sizes.map(|local| self.spec.bytes - local).collect();
        facts.publish_from(SHARED_WITH_CACHE, CacheSizes(sizes));
    }

    pub(crate) fn learn(&mut self, port: &str, facts: &Facts) {
        if let ("dispatch.dispatch", Some(facts)) = (port, facts.get()) {
            self.scheduler = *facts;
        }
        self.cache_can |= port == "cache_control.command" && facts.get::<Resizable>().is_some();
    }

    /// Fails where the cache cannot be told, or cannot do what it is told.
    pub(crate) fn check_wire(&self, is_connected: bool) -> Result<(), Unfit> {
        let problem = if !is_connected {
            "the port `cache_control` is not connected; wire it to the port `control` of the first-level cache, or leave \
             the field out"
        } else if !self.cache_can {
            "what the port `cache_control` is connected to does not say that it can change its size; leave the field out"
        } else {
            return Ok(());
        };
        Err(Unfit::at(SHARED_WITH_CACHE, problem))
    }

    /// What the unit offers, as its scheduler counts it.
    fn limits(&self, own: UnitLimits) -> UnitLimits {
        let SchedulerFacts {
            register_partitions,
            register_granularity,
            ..
        } = self.scheduler;
        UnitLimits {
            register_partitions: register_partitions.unwrap_or(own.register_partitions),
            register_granularity: register_granularity.unwrap_or(own.register_granularity),
            ..own
        }
    }

    /// A dispatch need not wait in cycle `now`.
    fn settle(&mut self, now: Cycle) {
        self.cache_bytes.set(now, u64::from(self.cache_size()));
        if let Some(since) = self.waits_since.take() {
            self.wait_cycles += now.saturating_sub(since);
        }
    }

    pub(crate) fn state(&mut self, state: &mut State<'_>) {
        state.field("at", &mut self.at);
        state.field("is_commanded", &mut self.is_commanded);
        state.field("waits_since", &mut self.waits_since);
        state.field("changes", &mut self.changes);
        state.field("wait_cycles", &mut self.wait_cycles);
        state.field("cache_bytes", &mut self.cache_bytes);
        let last = self.spec.splits.len() - 1;
        state.check("at", || at_most("splits", self.at, last));
    }

    pub(crate) fn report(&self, s: &mut Statistics<'_>) {
        let meaning = "bytes of the memory shared with local memory that the first-level cache has, mean over all cycles";
        s.level("cache_bytes_mean", "bytes", meaning, &self.cache_bytes);
        let meaning = "changes of the size of the first-level cache";
        s.counter("split_changes", "changes", meaning, self.changes);
        let open = self
            .waits_since
            .map_or(0, |since| s.cycle().saturating_sub(since));
        let meaning =
            "cycles in which a work-group waited for the first-level cache to have another size";
        let cycles = self.wait_cycles + open;
        s.counter("split_wait_cycles", "cycles", meaning, cycles);
    }
}

impl ComputeUnit {
    /// Whether a dispatch waits for another split.
    pub(crate) fn split_is_under_way(&self) -> bool {
        let split = self.split.as_ref();
        split.is_some_and(|split| split.waits_since.is_some())
    }

    /// Whether the oldest dispatch waits for another split, which is asked for.
    pub(crate) fn awaits_split(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let Some(split) = &self.split else {
            return false;
        };
        if split.is_commanded {
            let has_come = self.cache_control.done.pop(ctx).is_some();
            if has_come && let Some(split) = &mut self.split {
                split.is_commanded = false;
                split.changes += 1;
                split.settle(now);
            }
            return !has_come;
        }
        let kernel = match self.dispatch.dispatch.peek(ctx) {
            Some(Dispatch::Start { kernel, .. }) => *kernel,
            _ => return false,
        };
        let wanted = self.split_for(split, kernel);
        let Some(split) = &mut self.split else {
            return false;
        };
        let before = split.at;
        if wanted == before {
            split.settle(now);
            return false;
        }
        split.waits_since.get_or_insert(now);
        split.at = wanted;
        let sent = self.cache_control.command.try_send(ctx, split.command());
        split.is_commanded = sent.is_ok();
        if sent.is_err() {
            split.at = before;
        }
        true
    }

    /// The split that a work-group of this kernel needs beside those that are resident.
    fn split_for(&self, split: &Split, kernel: u32) -> usize {
        let Some(trace) = self.program.kernels.get(kernel as usize) else {
            return split.at;
        };
        let limits = split.limits(self.spec.facts().limits());
        let wanted = |kernel: u32| {
            let trace = &self.program.kernels[kernel as usize];
            let needs = WorkGroupNeeds::of(trace);
            limits.local_bytes_wanted(&needs, trace.work_groups(), split.scheduler.units)
        };
        let groups = &self.work_groups;
        let resident = groups.iter().filter(|group| group.is_resident);
        let mut kernels: Vec<u32> = resident.map(|group| group.kernel).collect();
        kernels.push(kernel);
        kernels.sort_unstable();
        kernels.dedup();
        let together = kernels.into_iter().map(wanted).sum::<u64>();
        let taken = self.local_bytes_used.saturating_add(trace.local_bytes());
        split.spec.holding(together.max(taken))
    }

    /// Makes the split that of a work-group of this kernel, of no time.
    pub(crate) fn split_at_once(&mut self, kernel: u32, onward: &mut Onward) {
        let Some(split) = &self.split else {
            return;
        };
        let wanted = self.split_for(split, kernel);
        if let Some(split) = &mut self.split
            && !split.is_commanded
            && split.at != wanted
        {
            split.at = wanted;
            onward.send("cache_control.command", 0, split.command());
        }
    }
}
