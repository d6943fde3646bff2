//! Global round robin: over all units by number, round by round.

use warpweave_framework::State;

use super::ordered::Ordered;
use super::policy::{Choice, Placement, Policy};

/// Context `k` of unit `s` of cluster `c` has its turn in the order `for k: for c: for s`.
#[derive(Debug)]
pub(super) struct GlobalRoundRobin {
    order: Ordered,
}

impl GlobalRoundRobin {
    pub(super) fn new() -> Self {
        Self {
            order: Ordered::default(),
        }
    }
}

impl Policy for GlobalRoundRobin {
    fn begin(&mut self, work_groups: u32) {
        self.order.begin(work_groups);
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        let rank = (resident, unit, 0);
        self.order.update(unit, (room > 0).then_some(rank));
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> Choice {
        self.order.choose(sendable)
    }

    fn placed(&mut self, _placement: Placement) {
        self.order.placed();
    }

    fn state(&mut self, state: &mut State<'_>) {
        self.order.state(state);
    }
}
