//! Choice between running all threads together and one thread alone while the others sleep.
//!
//! Threads together are not always faster than one. On a host with more work than cores, a thread
//! that is not scheduled delays all others in every window. And where windows have little work,
//! messages that pass from core to core and the meetings take more time than the threads save.
//! Both modes are therefore tried in turn, and the faster one continues until the next trial.
//! Trials become rarer while they give the same answer.
//!
//! Host time decides which threads work, and no simulation result depends on that.

use std::time::Duration;

/// Time for which a mode is tried before it is judged, and the minimum number of windows.
const TRIAL: Duration = Duration::from_millis(2);
const TRIAL_WINDOWS: u32 = 16;
/// Maximum time of a trial, used if a thread is not scheduled and windows are few.
const TRIAL_MAX: Duration = Duration::from_millis(10);
/// Time for which the faster mode continues after the first trial, and its maximum.
const STAY: Duration = Duration::from_millis(10);
const STAY_MAX: Duration = Duration::from_millis(640);
/// Minimum average number of busy threads over a trial for working together.
const BUSY_MIN: f64 = 1.25;

/// Working mode of the threads of a run, judged between windows.
pub(crate) struct ThreadGovernor {
    together: bool,
    /// Host time at which the last window ended.
    last: Duration,
    /// Data of the current period: elapsed time, number of windows, and busy time summed over
    /// threads.
    elapsed: Duration,
    windows: u32,
    busy: Duration,
    /// Time after which the current period ends; `None` in a trial.
    stay: Option<Duration>,
    /// Time for which the faster mode continues after the next trial.
    next_stay: Duration,
    /// Seconds per window of the other mode, when it was last tried, if that is to be compared.
    other: Option<f64>,
    /// True if the last comparison was won by working together.
    won_together: bool,
}

impl ThreadGovernor {
    /// Creates a governor whose threads begin together.
    pub(crate) fn new() -> Self {
        Self {
            together: true,
            last: Duration::ZERO,
            elapsed: Duration::ZERO,
            windows: 0,
            busy: Duration::ZERO,
            stay: None,
            next_stay: STAY,
            other: None,
            won_together: true,
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
        let window = now.saturating_sub(self.last);
        self.last = now;
        self.elapsed += window;
        self.windows += 1;
        self.busy += busy;
        let over = match self.stay {
            Some(stay) => self.elapsed >= stay,
            None => {
                self.elapsed >= TRIAL_MAX || self.windows >= TRIAL_WINDOWS && self.elapsed >= TRIAL
            }
        };
        if over {
            self.decide();
            (self.elapsed, self.windows, self.busy) = (Duration::ZERO, 0, Duration::ZERO);
        }
    }

    /// Ends a period: compares the modes if the other has just been tried, else tries it.
    fn decide(&mut self) {
        let pace = self.elapsed.as_secs_f64() / f64::from(self.windows);
        let waits =
            self.together && self.busy.as_secs_f64() < BUSY_MIN * self.elapsed.as_secs_f64();
        if waits {
            // No need to try: one thread at a time did the work.
            self.keep(false);
        } else if let Some(other) = self.other.take() {
            self.keep(if other < pace {
                !self.together
            } else {
                self.together
            });
        } else {
            self.other = Some(pace);
            self.together = !self.together;
            self.stay = None;
        }
    }

    /// Continues in the mode that was faster, the longer the more often it was.
    fn keep(&mut self, together: bool) {
        self.next_stay = if together == self.won_together {
            (self.next_stay * 2).min(STAY_MAX)
        } else {
            STAY
        };
        self.won_together = together;
        self.together = together;
        self.stay = Some(self.next_stay);
        self.other = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_micros(50);

    /// Simulated host on which time advances with the windows.
    struct Host {
        governor: ThreadGovernor,
        now: Duration,
    }

    impl Host {
        fn new() -> Self {
            let (governor, now) = (ThreadGovernor::new(), Duration::ZERO);
            Self { governor, now }
        }

        /// Runs windows for the given time: one takes `alone` on one thread, and `together` on all,
        /// of which this many are busy. Returns the share of time for which they worked together.
        fn pass(&mut self, time: Duration, alone: Duration, together: Duration, busy: f64) -> f64 {
            let begin = self.now;
            let mut shared = Duration::ZERO;
            while self.now < begin + time {
                let (window, busy) = if self.governor.is_together() {
                    shared += together;
                    (together, together.mul_f64(busy))
                } else {
                    (alone, Duration::ZERO)
                };
                self.now += window;
                self.governor.judge(self.now, busy);
            }
            shared.as_secs_f64() / self.now.saturating_sub(begin).as_secs_f64()
        }
    }

    const SECONDS: Duration = Duration::from_secs(10);

    #[test]
    fn threads_that_are_faster_work_together_but_for_rare_trials() {
        let share = Host::new().pass(SECONDS, WINDOW * 2, WINDOW, 1.8);
        assert!(share > 0.98, "{share}");
    }

    #[test]
    fn threads_that_wait_for_each_other_leave_the_work_to_one() {
        // Every window waits for a thread that is not running.
        let slow = Duration::from_millis(3);
        let share = Host::new().pass(SECONDS, WINDOW, slow, 1.01);
        assert!(share < 0.04, "{share}");
    }

    #[test]
    fn threads_that_are_busy_but_slower_than_one_leave_the_work_to_it() {
        let share = Host::new().pass(SECONDS, WINDOW, WINDOW * 2, 6.0);
        assert!(share < 0.02, "{share}");
    }

    #[test]
    fn they_come_together_again_when_it_pays_and_part_when_it_does_not() {
        let mut host = Host::new();
        host.pass(SECONDS, WINDOW, WINDOW * 2, 6.0);
        host.pass(STAY_MAX * 2, WINDOW * 2, WINDOW, 1.8);
        let share = host.pass(SECONDS, WINDOW * 2, WINDOW, 1.8);
        assert!(share > 0.98, "{share}");
        host.pass(STAY_MAX * 2, WINDOW, WINDOW * 2, 1.8);
        let share = host.pass(SECONDS, WINDOW, WINDOW * 2, 1.8);
        assert!(share < 0.02, "{share}");
    }

    #[test]
    fn what_passes_between_runs_is_not_judged() {
        let mut host = Host::new();
        for _ in 0..100 {
            host.pass(TRIAL, WINDOW * 2, WINDOW, 1.8);
            host.now += Duration::from_secs(1);
            host.governor.resume(host.now);
        }
        let share = host.pass(SECONDS, WINDOW * 2, WINDOW, 1.8);
        assert!(share > 0.97, "{share}");
    }
}
