//! Choice between running all threads together and one thread alone while the others sleep.
//!
//! On a host with more work than cores, a thread that is not scheduled delays all others in every
//! window. Two threads may then take many times as long as one. Each window therefore measures how
//! long the threads were busy. If that hardly exceeds the window's duration, one thread at a time
//! did the work and continues alone, without synchronisation. All threads try again from time to
//! time, less often after each failure.
//!
//! Host time decides which threads work, and no simulation result depends on that.

use std::time::Duration;

/// Time for which threads work together before that is judged, and the minimum number of windows.
const TRIAL: Duration = Duration::from_millis(2);
const TRIAL_WINDOWS: u32 = 16;
/// Maximum time of a trial, used if a thread is not scheduled and windows are few.
const TRIAL_MAX: Duration = Duration::from_millis(10);
/// Time for which one thread works alone after the first failure, and its maximum.
const ALONE: Duration = Duration::from_millis(10);
const ALONE_MAX: Duration = Duration::from_millis(640);
/// Minimum average number of busy threads over a trial for working together. Above it, the gain
/// over one thread exceeds the cost of synchronisation.
const BUSY_MIN: f64 = 1.25;

/// Working mode of the threads of a run, judged between windows.
pub(crate) struct ThreadGovernor {
    together: bool,
    /// Host time at which the last window ended.
    last: Duration,
    /// Data of the current trial: elapsed time, number of windows, and busy time summed over
    /// threads.
    elapsed: Duration,
    windows: u32,
    busy: Duration,
    /// Time for which one thread works alone after the next failure.
    alone: Duration,
}

impl ThreadGovernor {
    /// Creates a crew whose threads begin together.
    pub(crate) fn new() -> Self {
        Self {
            together: true,
            last: Duration::ZERO,
            elapsed: Duration::ZERO,
            windows: 0,
            busy: Duration::ZERO,
            alone: ALONE,
        }
    }

    /// True if all threads currently work together.
    pub(crate) fn is_together(&self) -> bool {
        self.together
    }

    /// Starts measuring windows at `now`, after an interruption by other activities.
    pub(crate) fn resume(&mut self, now: Duration) {
        self.last = now;
    }

    /// Ends a window at `now` in which the threads were busy for `busy` in total. Decides the
    /// working mode for the next window.
    pub(crate) fn judge(&mut self, now: Duration, busy: Duration) {
        self.elapsed += now.saturating_sub(self.last);
        self.last = now;
        let elapsed = self.elapsed;
        if self.together {
            self.windows += 1;
            self.busy += busy;
            let enough = self.windows >= TRIAL_WINDOWS && elapsed >= TRIAL;
            if enough || elapsed >= TRIAL_MAX {
                let pays = self.busy.as_secs_f64() >= BUSY_MIN * elapsed.as_secs_f64();
                self.together = pays;
                if pays {
                    self.alone = ALONE;
                }
                self.begin();
            }
        } else if elapsed >= self.alone {
            self.alone = (self.alone * 2).min(ALONE_MAX);
            self.together = true;
            self.begin();
        }
    }

    fn begin(&mut self) {
        (self.elapsed, self.windows, self.busy) = (Duration::ZERO, 0, Duration::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_micros(50);

    /// Simulated host on which time advances with the windows.
    struct Host {
        crew: ThreadGovernor,
        now: Duration,
    }

    impl Host {
        fn new() -> Self {
            let (crew, now) = (ThreadGovernor::new(), Duration::ZERO);
            Self { crew, now }
        }

        /// Runs windows of the given length for the given time with this many busy threads. Returns
        /// the time for which they worked together.
        fn pass(&mut self, time: Duration, window: Duration, busy: f64) -> Duration {
            let end = self.now + time;
            let mut together = Duration::ZERO;
            while self.now < end {
                let is_together = self.crew.is_together();
                together += if is_together { window } else { Duration::ZERO };
                self.now += window;
                let busy = if is_together { busy } else { 1.0 };
                self.crew.judge(self.now, window.mul_f64(busy));
            }
            together
        }
    }

    #[test]
    fn threads_that_are_busy_stay_together() {
        let mut host = Host::new();
        let time = Duration::from_secs(1);
        assert_eq!(host.pass(time, WINDOW, 1.8), time);
    }

    #[test]
    fn threads_that_wait_for_each_other_leave_the_work_to_one() {
        let mut host = Host::new();
        // Every window waits for a thread that is not running.
        let window = Duration::from_millis(3);
        let together = host.pass(Duration::from_secs(10), window, 1.01);
        assert!(together < Duration::from_millis(400), "{together:?}");
    }

    #[test]
    fn they_come_together_again_when_it_pays() {
        let mut host = Host::new();
        host.pass(Duration::from_secs(10), WINDOW, 1.1);
        host.pass(ALONE_MAX, WINDOW, 1.8);
        let time = Duration::from_secs(1);
        assert_eq!(host.pass(time, WINDOW, 1.8), time);
        // The next failure is the first again.
        host.pass(TRIAL * 2, WINDOW, 1.0);
        assert!(!host.crew.is_together());
        assert!(host.pass(ALONE + TRIAL, WINDOW, 1.0) > Duration::ZERO);
    }

    #[test]
    fn what_passes_between_runs_is_not_judged() {
        let mut host = Host::new();
        for _ in 0..100 {
            host.pass(TRIAL, WINDOW, 1.8);
            host.now += Duration::from_secs(1);
            host.crew.resume(host.now);
        }
        assert!(host.crew.is_together());
    }
}
