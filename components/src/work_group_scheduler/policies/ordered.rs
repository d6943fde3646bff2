//! Policies with one order over the open contexts of all units, and one sequence of work-groups.

use std::collections::BTreeSet;

use warpweave_framework::{State, Statistics};

use crate::work_group_scheduler::{
    Assignment, Kernel, OneKernelPolicy, PlacementChoice, PlacementSite,
};

/// Rank of the next open context of a unit; the lowest goes first.
pub(super) type Rank = (u32, u32, u32);

/// Function that ranks the next context of a unit with `resident` work-groups; it defines the
/// policy.
pub(super) type RankOf = fn(site: PlacementSite, unit: u32, resident: u32) -> Rank;

/// Places work-groups in linear order, each on the unit with the lowest rank.
#[derive(Debug, State, Statistics)]
pub(super) struct Ordered {
    #[state(skip)]
    site: PlacementSite,
    #[state(skip)]
    rank_of: RankOf,
    work_groups: u32,
    next: u32,
    /// Units with room, ordered by rank.
    open: BTreeSet<(Rank, u32)>,
    /// Rank under which each unit is in `open`.
    ranks: Vec<Option<Rank>>,
}

impl Ordered {
    pub(super) fn new(site: PlacementSite, rank_of: RankOf) -> Self {
        Self {
            site,
            rank_of,
            work_groups: 0,
            next: 0,
            open: BTreeSet::new(),
            ranks: vec![None; site.units() as usize],
        }
    }
}

impl OneKernelPolicy for Ordered {
    fn begin(&mut self, kernel: Kernel<'_>) {
        self.work_groups = kernel.work_groups();
        self.next = 0;
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        let rank = (room > 0).then(|| (self.rank_of)(self.site, unit, resident));
        if let Some(before) = std::mem::replace(&mut self.ranks[unit as usize], rank) {
            self.open.remove(&(before, unit));
        }
        if let Some(rank) = rank {
            self.open.insert((rank, unit));
        }
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        debug_assert!(self.next < self.work_groups, "asked without work-groups");
        match self.open.first() {
            None => PlacementChoice::UnitsFull,
            Some(&(_, unit)) if !sendable(unit) => PlacementChoice::UnitBusy,
            Some(&(_, unit)) => PlacementChoice::Place(Assignment {
                work_group: self.next,
                unit,
            }),
        }
    }

    fn placed(&mut self, _placed: Assignment) {
        self.next += 1;
    }
}
