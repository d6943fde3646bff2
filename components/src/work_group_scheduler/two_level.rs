//! Two-level round robin: over clusters first, then over the units of a cluster, round by round.

use warpweave_framework::State;

use super::ordered::Ordered;
use super::policy::{Choice, Machine, Placement, Policy};

/// Context `k` of unit `s` of cluster `c` has its turn in the order `for k: for s: for c`.
#[derive(Debug)]
pub(super) struct TwoLevelRoundRobin {
    machine: Machine,
    order: Ordered,
}

impl TwoLevelRoundRobin {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            machine,
            order: Ordered::default(),
        }
    }
}

impl Policy for TwoLevelRoundRobin {
    fn begin(&mut self, work_groups: u32) {
        self.order.begin(work_groups);
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        let rank = (
            resident,
            self.machine.within(unit),
            self.machine.cluster(unit),
        );
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
