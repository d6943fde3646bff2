//! Closed-form refresh of an idle channel.

use warpweave_framework::Cycle;

use super::Controller;
use crate::dram::refresh::Refresh;

/// Number of ACTs in the longest activation window of the rules.
const WINDOW: u32 = 32;

impl Controller {
    /// True if only refreshes can change the channel's state.
    pub(super) fn is_at_rest(&self) -> bool {
        self.banks.timing.open() == 0 && self.log.is_none() && self.judge.is_none()
    }

    /// Skips the refreshes of a channel at rest in closed form. With all banks closed, each refresh
    /// is issued in the cycle it falls due, if the timing allows it.
    pub(super) fn refresh_at_rest(&mut self, until: Cycle) {
        let timing = &self.banks.timing;
        let banks = timing.count();
        // Nothing is left to be seen of those skipped once so many more have been issued.
        let (from, unit) = match self.config.refresh {
            Refresh::Off => return,
            Refresh::AllBank { .. } => (timing.refresh_from(), 1),
            // Such refreshes delay each other, so that not each is issued when it falls due.
            Refresh::PerBank { .. } if self.config.timing.refreshes_overlap() => return,
            Refresh::PerBank { .. } => {
                let from = (0..banks).map(|b| timing.refresh_bank_from(b));
                (from.max().unwrap_or(0), u64::from(banks.max(WINDOW)))
            }
        };
        if until < self.refresh.due() || from > self.refresh.due() {
            return;
        }
        let fall_due = self.refresh.intervals_to(until);
        let skipped = (fall_due / unit).saturating_sub(u64::from(unit > 1)) * unit;
        if skipped == 0 {
            return;
        }
        if unit > 1 {
            self.stats.commands.refreshes_bank += skipped;
        } else {
            self.stats.commands.refreshes += skipped;
        }
        self.refresh.skip(skipped);
        self.clock = self.refresh.due();
        self.planned = None;
    }
}
