//! Whether the threads of a run work together, or one alone while the others sleep.
//!
//! On a host with more work than cores a thread that is not running keeps all others waiting, window after
//! window: two threads may take many times as long as one. So each window tells how long the threads were
//! busy in it. Where that is hardly more than the window lasted, one thread at a time did the work, and
//! goes on alone: no meetings, no waiting. From time to time they try again, less often after each failure.
//!
//! Host time decides who works, and nothing that a simulation shows depends on that.

use std::time::Duration;

/// How long threads work together until that is judged, and in how many windows at least.
const TRIAL: Duration = Duration::from_millis(2);
const TRIAL_WINDOWS: u32 = 16;
/// Where one thread is not running, windows are few: then a trial ends after this time.
const TRIAL_MAX: Duration = Duration::from_millis(10);
/// How long one works alone after the first failure, and at most.
const ALONE: Duration = Duration::from_millis(10);
const ALONE_MAX: Duration = Duration::from_millis(640);
/// Busy threads, on average over a trial, from which on they work together: what is won over one
/// thread is to be more than the meetings cost.
const BUSY_MIN: f64 = 1.25;

/// How the threads of a run work, judged between windows.
pub(crate) struct ThreadGovernor {
    together: bool,
    /// When the last window ended.
    last: Duration,
    /// What is judged next: so much time, so many windows, and how long threads were busy in them,
    /// added up over threads.
    elapsed: Duration,
    windows: u32,
    busy: Duration,
    /// How long one works alone after the next failure.
    alone: Duration,
}

impl ThreadGovernor {
    /// Threads that begin together.
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

    /// Whether they work together.
    pub(crate) fn is_together(&self) -> bool {
        self.together
    }

    /// Windows begin at `now`, after other things were done.
    pub(crate) fn resume(&mut self, now: Duration) {
        self.last = now;
    }

    /// A window ended at `now`, in which the threads were busy for `busy` in all: decides how they work
    /// in the next.
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

    /// A host on which time passes as windows say.
    struct Host {
        crew: ThreadGovernor,
        now: Duration,
    }

    impl Host {
        fn new() -> Self {
            let (crew, now) = (ThreadGovernor::new(), Duration::ZERO);
            Self { crew, now }
        }

        /// Windows for so long, each of this length, with so many threads busy; the time in which they
        /// worked together.
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
