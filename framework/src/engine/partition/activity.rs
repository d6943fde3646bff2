//! Activity of a component over its cycles.

use serde::{Deserialize, Serialize};

use crate::evaluation::Next;
use crate::observe::Reason;
use crate::time::Cycle;

/// Cycles of one component, charged to the reason for which it waited.
///
/// The cycle before a timer expires has work for the next one and is charged as busy. A component
/// that is also evaluated in that cycle and returns [`Next::Busy`] is thus charged in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Activity {
    /// Value that the last evaluation returned.
    next: Next,
    since: Cycle,
    cycles: [u64; Reason::ALL.len()],
}

impl Activity {
    /// Returns the cycle of the last evaluation.
    pub(crate) fn since(&self) -> Cycle {
        self.since
    }

    pub(crate) fn new() -> Self {
        Self {
            next: Next::Idle,
            since: 0,
            cycles: [0; Reason::ALL.len()],
        }
    }

    #[inline]
    pub(super) fn charge(&mut self, cycle: Cycle, next: Next) {
        let elapsed = cycle - self.since;
        self.cycles[self.next.reason() as usize] += elapsed;
        if let Next::Until(until) = self.next {
            // A cycle not in the future counts as the next one.
            let waited = elapsed.min(until.saturating_sub(1).saturating_sub(self.since));
            self.cycles[Reason::Timer as usize] -= elapsed - waited;
            self.cycles[Reason::Busy as usize] += elapsed - waited;
        }
        self.since = cycle;
        self.next = next;
    }

    /// Checks that this can be the activity charged until `cycle`.
    pub(crate) fn check(&self, cycle: Cycle) -> Result<(), String> {
        if self.since > cycle {
            return Err(format!(
                "evaluated in cycle {}, which is later than cycle {cycle}",
                self.since
            ));
        }
        let charged = self
            .cycles
            .iter()
            .try_fold(0_u64, |sum, cycles| sum.checked_add(*cycles));
        if charged.is_none_or(|charged| charged > cycle + 1) {
            return Err(format!(
                "more than {cycle} cycles are charged to wait reasons"
            ));
        }
        Ok(())
    }

    /// Returns the reason for which the component waits.
    pub(crate) fn reason(&self) -> Reason {
        self.next.reason()
    }

    /// Returns the cycles charged to each reason until `cycle`.
    pub(crate) fn until(mut self, cycle: Cycle) -> [u64; Reason::ALL.len()] {
        self.charge(cycle, Next::Idle);
        self.cycles
    }
}
