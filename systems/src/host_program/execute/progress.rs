//! Emulation progress that another thread can read.

use std::sync::atomic::{AtomicU64, Ordering};

/// Progress counters: launches begun, and work-groups of the last one. A reader may see values from
/// two different moments.
#[derive(Debug, Default)]
pub struct EmulationProgress {
    launches: AtomicU64,
    work_groups: AtomicU64,
    ended: AtomicU64,
}

impl EmulationProgress {
    /// Returns the number of launches begun so far.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Returns the completed and total work-groups of the last launch.
    pub fn work_groups(&self) -> (u64, u64) {
        let all = self.work_groups.load(Ordering::Relaxed);
        (self.ended.load(Ordering::Relaxed).min(all), all)
    }

    /// Starts a launch of this many work-groups. Returns the counter of its completed work-groups.
    pub(super) fn launch_begins(&self, work_groups: u64) -> &AtomicU64 {
        self.ended.store(0, Ordering::Relaxed);
        self.work_groups.store(work_groups, Ordering::Relaxed);
        self.launches.fetch_add(1, Ordering::Relaxed);
        &self.ended
    }
}
