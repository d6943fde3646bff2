//! One order over the open contexts of all units, and one sequence of work-groups.

use std::collections::BTreeSet;

use warpweave_framework::State;

use super::policy::{Choice, Placement};

/// Rank of the next open context of a unit; lower goes first.
pub(super) type Rank = (u32, u32, u32);

/// Places work-groups in linear order, each on the unit with the lowest rank.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    work_groups: u32,
    next: u32,
    /// Units with room.
    open: BTreeSet<(Rank, u32)>,
    /// Rank under which a unit is in `open`, by unit.
    ranks: Vec<Option<Rank>>,
}

impl Ordered {
    pub(super) fn begin(&mut self, work_groups: u32) {
        self.work_groups = work_groups;
        self.next = 0;
    }

    pub(super) fn update(&mut self, unit: u32, rank: Option<Rank>) {
        let place = unit as usize;
        if self.ranks.len() <= place {
            self.ranks.resize(place + 1, None);
        }
        if let Some(before) = std::mem::replace(&mut self.ranks[place], rank) {
            self.open.remove(&(before, unit));
        }
        if let Some(rank) = rank {
            self.open.insert((rank, unit));
        }
    }

    pub(super) fn choose(&self, sendable: &mut dyn FnMut(u32) -> bool) -> Choice {
        debug_assert!(self.next < self.work_groups, "asked without work-groups");
        match self.open.first() {
            None => Choice::UnitsFull,
            Some(&(_, unit)) if !sendable(unit) => Choice::UnitBusy,
            Some(&(_, unit)) => Choice::Place(Placement {
                work_group: self.next,
                unit,
            }),
        }
    }

    pub(super) fn placed(&mut self) {
        self.next += 1;
    }

    /// Names what is remembered.
    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("work_groups", &mut self.work_groups);
        state.field("next", &mut self.next);
        state.field("open", &mut self.open);
        state.field("ranks", &mut self.ranks);
    }
}
