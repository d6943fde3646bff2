//! Demand-driven round robin: a pointer goes round the units.

use fixedbitset::FixedBitSet;

use warpweave_framework::State;

use super::policy::{Choice, Machine, Placement, Policy};

/// The next work-group goes to the first unit with room after the one served last. In the
/// beginning that is one work-group per unit in each round; later it is the unit that freed a
/// context.
#[derive(Debug)]
pub(super) struct DemandRoundRobin {
    next: u32,
    /// Unit the search begins with.
    pointer: usize,
    /// Units with room.
    open: FixedBitSet,
}

impl DemandRoundRobin {
    pub(super) fn new(machine: Machine) -> Self {
        Self {
            next: 0,
            pointer: 0,
            open: FixedBitSet::with_capacity(machine.units() as usize),
        }
    }

    fn candidate(&self) -> Option<usize> {
        let from = |start| self.open.ones().skip_while(move |&unit| unit < start);
        from(self.pointer)
            .next()
            .or_else(|| self.open.ones().next())
    }
}

impl Policy for DemandRoundRobin {
    fn begin(&mut self, _work_groups: u32) {
        self.next = 0;
        self.pointer = 0;
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        self.open.set(unit as usize, room > 0);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> Choice {
        match self.candidate() {
            None => Choice::UnitsFull,
            Some(unit) if !sendable(unit as u32) => Choice::UnitBusy,
            Some(unit) => Choice::Place(Placement {
                work_group: self.next,
                unit: unit as u32,
            }),
        }
    }

    fn placed(&mut self, placement: Placement) {
        self.next += 1;
        self.pointer = (placement.unit as usize + 1) % self.open.len();
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("next", &mut self.next);
        state.field("pointer", &mut self.pointer);
        state.field("open", &mut self.open);
    }
}
