//! How far an emulation has come, for another thread to look at.

use std::sync::atomic::{AtomicU64, Ordering};

/// Launches begun, and work-groups of the last one. Whoever looks may see the numbers of two moments.
#[derive(Debug, Default)]
pub struct EmulationProgress {
    launches: AtomicU64,
    work_groups: AtomicU64,
    ended: AtomicU64,
}

impl EmulationProgress {
    /// Launches begun.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// Work-groups of the last launch that have ended, and all of it.
    pub fn work_groups(&self) -> (u64, u64) {
        let all = self.work_groups.load(Ordering::Relaxed);
        (self.ended.load(Ordering::Relaxed).min(all), all)
    }

    /// A launch of this many work-groups begins; returns where those that end are counted.
    pub(super) fn launch_begins(&self, work_groups: u64) -> &AtomicU64 {
        self.ended.store(0, Ordering::Relaxed);
        self.work_groups.store(work_groups, Ordering::Relaxed);
        self.launches.fetch_add(1, Ordering::Relaxed);
        &self.ended
    }
}
