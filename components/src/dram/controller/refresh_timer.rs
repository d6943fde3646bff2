//! Time of the next refresh.

use warpweave_framework::{Cycle, State};

use super::config::Config;

/// Schedule of the refreshes of a channel.
#[derive(Clone, State)]
pub(super) struct RefreshTimer {
    /// Cycles between refreshes (0 without refresh), and that interval times the number of
    /// refreshes that may be postponed.
    #[state(skip)]
    interval: Cycle,
    #[state(skip)]
    slack: Cycle,
    /// Cycle in which the next refresh falls due, and its bank.
    due: Cycle,
    bank: u32,
}

impl RefreshTimer {
    pub(super) fn new(config: &Config) -> Self {
        let interval = config.timing.refresh_interval(config.refresh);
        let interval = Cycle::from(interval.unwrap_or(0));
        Self {
            interval,
            slack: Cycle::from(config.refresh.postponed_max()) * interval,
            due: if interval == 0 { Cycle::MAX } else { interval },
            bank: 0,
        }
    }

    /// Returns the cycle in which the next refresh falls due.
    pub(super) fn due(&self) -> Cycle {
        self.due
    }

    /// Returns the bank of the next per-bank refresh.
    #[inline]
    pub(super) fn bank(&self) -> u32 {
        self.bank
    }

    /// Returns the cycle in which the next refresh begins. It is postponed while requests are
    /// waiting for the banks it closes.
    #[inline]
    pub(super) fn begins(&self, wanted: bool) -> Cycle {
        if wanted {
            self.due + self.slack
        } else {
            self.due
        }
    }

    /// Records a refresh of all banks.
    pub(super) fn refreshed(&mut self) {
        self.due += self.interval;
    }

    /// Records a refresh of the next of this number of banks.
    pub(super) fn refreshed_bank(&mut self, banks: u32) {
        self.due += self.interval;
        self.bank = (self.bank + 1) % banks;
    }

    /// Returns the number of intervals from the next refresh to cycle `until`, which must not be
    /// earlier.
    pub(super) fn intervals_to(&self, until: Cycle) -> u64 {
        (until - self.due) / self.interval
    }

    /// Records a number of refreshes, which must be whole rounds over the banks.
    pub(super) fn skip(&mut self, refreshes: u64) {
        self.due += refreshes * self.interval;
    }
}
