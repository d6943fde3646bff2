//! Emulation progress that another thread can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpweave_ptx::LaunchCounts;

/// Progress counters: launches begun, and kernels and work-groups of the last one. A reader may see
/// values from two different moments.
#[derive(Debug, Default)]
pub struct EmulationProgress {
    launches: AtomicU64,
    work_groups: AtomicU64,
    counts: Arc<LaunchCounts>,
}

impl EmulationProgress {
    /// Returns the number of launches begun so far.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Returns the completed and total work-groups of the last launch.
    pub fn work_groups(&self) -> (u64, u64) {
        let all = self.work_groups.load(Ordering::Relaxed);
        (self.counts.ended.load(Ordering::Relaxed).min(all), all)
    }

    /// Returns the number of kernels that the last launch has launched from the device and begun.
    pub fn from_device(&self) -> u64 {
        self.counts.from_device.load(Ordering::Relaxed)
    }

    /// Ends the emulation early, with [`ExecuteError::Abandoned`](super::ExecuteError::Abandoned).
    pub fn abandon(&self) {
        self.counts.abandoned.store(true, Ordering::Relaxed);
    }

    /// True if the emulation is to end early.
    pub(super) fn is_abandoned(&self) -> bool {
        self.counts.abandoned.load(Ordering::Relaxed)
    }

    /// Starts a launch of this many work-groups. Returns the counts that it updates.
    pub(super) fn launch_begins(&self, work_groups: u64) -> &LaunchCounts {
        self.counts.ended.store(0, Ordering::Relaxed);
        self.counts.from_device.store(0, Ordering::Relaxed);
        self.work_groups.store(work_groups, Ordering::Relaxed);
        self.launches.fetch_add(1, Ordering::Relaxed);
        &self.counts
    }

    /// Returns the counts that launches update.
    pub(in crate::host_program) fn counts(&self) -> &Arc<LaunchCounts> {
        &self.counts
    }
}
