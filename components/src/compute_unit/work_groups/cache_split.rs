//! Memory divided between local memory and the first-level cache; the kernels determine the local
//! part.
//!
//! ```text
//!   dispatch for kernel K ──► bytes wanted by K and by the kernels that are resident ──► the smallest split that holds them
//!                                                                                          │ another than there is
//!   taken ◄── done ◄── first-level cache: so many ways ◄── CacheCommand::Resize ◄──────────┘
//! ```
//!
//! A dispatch waits only for the cache, which replies when the requests it has accepted are
//! answered. It never waits for a resident work-group. No order of dispatches and no device-side
//! launch can therefore block it forever.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Facts, PortId, State, Statistics, TimeWeighted, Unfit};

use super::WorkGroupTable;
use crate::compute_unit::config::UnitConfig;
use crate::compute_unit::port_ids;
use crate::compute_unit::spec::{LocalMemorySpec, SHARED_WITH_CACHE, SharedMemorySpec};
use crate::launch::{CacheCommand, CacheSizes, Resizable};
use crate::occupancy::{SchedulerFacts, UnitLimits, WorkGroupNeeds};

/// A change of the split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Change {
    /// None is under way.
    None,
    /// A dispatch waits since this cycle, and the wire took no command yet.
    Requested(Cycle),
    /// The cache was commanded and has not answered; a dispatch waits since this cycle.
    Commanded(Cycle),
}

/// Current split, and the state of a change in progress.
#[derive(State, Statistics)]
#[statistics(after = CacheSplit::report_wait)]
pub(crate) struct CacheSplit {
    #[state(skip)]
    spec: SharedMemorySpec,
    /// Parameters from the work-group scheduler, known after elaboration.
    #[state(skip)]
    scheduler: SchedulerFacts,
    #[state(skip)]
    cache_can: bool,
    /// Index of the current split, or of the one commanded to the cache.
    at: usize,
    change: Change,
    /// bytes of the memory shared with local memory that the first-level cache has, mean over all
    /// cycles
    #[statistic(name = "cache_bytes_mean", unit = "bytes")]
    cache_bytes: TimeWeighted,
    /// changes of the size of the first-level cache
    #[statistic(name = "split_changes", unit = "changes")]
    changes: u64,
    wait_cycles: u64,
}

impl CacheSplit {
    /// Creates the state for a unit with this local memory, if that is shared with the cache.
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
            change: Change::None,
            changes: 0,
            wait_cycles: 0,
            cache_bytes: TimeWeighted::default(),
            spec,
        };
        split.cache_bytes.set(0, u64::from(split.cache_size()));
        Some(split)
    }

    /// Returns the bytes that the split leaves to the cache.
    fn cache_size(&self) -> u32 {
        self.spec.bytes - self.spec.splits[self.at]
    }

    fn command(&self) -> CacheCommand {
        CacheCommand::Resize {
            bytes: self.cache_size(),
        }
    }

    /// Publishes the possible cache sizes during elaboration.
    pub(crate) fn publish(&self, facts: &mut Facts) {
        let sizes = self.spec.splits.iter();
        let sizes = sizes.map(|local| self.spec.bytes - local).collect();
        facts.publish_from(SHARED_WITH_CACHE, CacheSizes(sizes));
    }

    pub(crate) fn learn(&mut self, port: PortId, facts: &Facts) {
        if let (port_ids::DISPATCH, Some(facts)) = (port, facts.get()) {
            self.scheduler = *facts;
        }
        self.cache_can |= port == port_ids::CACHE_COMMAND && facts.get::<Resizable>().is_some();
    }

    /// Fails if the cache control port is not connected or the cache cannot be resized.
    pub(crate) fn check_wire(&self, is_connected: bool) -> Result<(), Unfit> {
        let problem = if !is_connected {
            "the port `cache_control` is not connected; wire it to the port `control` of the first-level cache, or remove the field"
        } else if !self.cache_can {
            "the component connected to the port `cache_control` does not support resizing; remove the field"
        } else {
            return Ok(());
        };
        Err(Unfit::at(SHARED_WITH_CACHE, problem))
    }

    /// Returns the limits of the unit with the register parameters of its work-group scheduler.
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

    /// Cycle since which a dispatch waits for a resize.
    fn waits_since(&self) -> Option<Cycle> {
        match self.change {
            Change::None => None,
            Change::Requested(since) | Change::Commanded(since) => Some(since),
        }
    }

    /// True if a dispatch waits for another split.
    pub(crate) fn is_under_way(&self) -> bool {
        self.change != Change::None
    }

    /// Returns true if the cache has been told and has not answered.
    pub(crate) fn is_commanded(&self) -> bool {
        matches!(self.change, Change::Commanded(_))
    }

    /// Records the cache's response to a size change, which lets the dispatch continue.
    pub(crate) fn answered(&mut self, now: Cycle) {
        self.changes += 1;
        self.settle(now);
    }

    /// Ends a dispatch's wait in cycle `now` and records the cache size.
    fn settle(&mut self, now: Cycle) {
        self.cache_bytes.set(now, u64::from(self.cache_size()));
        if let Some(since) = self.waits_since() {
            self.wait_cycles += now.saturating_sub(since);
        }
        self.change = Change::None;
    }

    /// Changes the split to `split`. A change requires a command, for which `send` returns false
    /// if there is no room. Returns true if a dispatch must wait for the change.
    pub(crate) fn change_to(
        &mut self,
        split: usize,
        now: Cycle,
        send: impl FnOnce(CacheCommand) -> bool,
    ) -> bool {
        if split == self.at {
            self.settle(now);
            return false;
        }
        let since = self.waits_since().unwrap_or(now);
        let before = std::mem::replace(&mut self.at, split);
        self.change = if send(self.command()) {
            Change::Commanded(since)
        } else {
            self.at = before;
            Change::Requested(since)
        };
        true
    }

    /// Makes `split` the one there is, in no time; the command to the cache if there is one.
    pub(crate) fn change_at_once(&mut self, split: usize) -> Option<CacheCommand> {
        if self.is_commanded() || self.at == split {
            return None;
        }
        self.at = split;
        Some(self.command())
    }

    /// Returns the split needed by a work-group of this kernel together with the resident ones.
    pub(crate) fn required(
        &self,
        kernel: u32,
        groups: &WorkGroupTable,
        config: &UnitConfig,
    ) -> usize {
        let program = &config.program;
        let Some(trace) = program.kernels.get(kernel as usize) else {
            return self.at;
        };
        let limits = self.limits(config.spec.facts().limits());
        let required = |kernel: u32| {
            let trace = &program.kernels[kernel as usize];
            let needs = WorkGroupNeeds::of(trace);
            limits.local_bytes_required(&needs, trace.work_groups(), self.scheduler.units)
        };
        let mut kernels: Vec<u32> = groups.resident().map(|(_, group)| group.kernel).collect();
        kernels.push(kernel);
        kernels.sort_unstable();
        kernels.dedup();
        let together = kernels.into_iter().map(required).sum::<u64>();
        let taken = groups
            .local_bytes_used()
            .saturating_add(trace.local_bytes());
        self.spec.holding(together.max(taken))
    }

    fn report_wait(&self, s: &mut Statistics<'_>) {
        let open = self
            .waits_since()
            .map_or(0, |since| s.cycle().saturating_sub(since));
        let meaning = "cycles in which a work-group waited for the first-level cache to be resized";
        let cycles = self.wait_cycles + open;
        s.counter("split_wait_cycles", "cycles", meaning, cycles);
    }
}
