//! Strict round robin: the index of a work-group determines its unit.

use std::collections::BTreeSet;

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use crate::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Runs work-group `u` on unit `u mod units`, as redirection requires. A unit with room takes only
/// its own next work-group, even if others would fit. Among units with room the one with the lowest
/// next work-group goes first. Units do not wait for each other.
///
/// Source: "Locality-Aware CTA Clustering for Modern GPUs", section 2.
#[derive(State, Statistics)]
pub struct StrictRoundRobin {
    #[state(skip)]
    units: u32,
    work_groups: u32,
    /// Next work-group of each unit; `work_groups` or more if there is none.
    #[state(array)]
    next: Vec<u32>,
    /// True for each unit that has room.
    #[state(array)]
    has_room: Vec<bool>,
    /// Units with room and a work-group left, as pairs with the next work-group first.
    open: BTreeSet<(u32, u32)>,
}

impl StrictRoundRobin {
    fn new(site: PlacementSite) -> Self {
        let units = site.units();
        Self {
            units,
            work_groups: 0,
            next: vec![0; units as usize],
            has_room: vec![false; units as usize],
            open: BTreeSet::new(),
        }
    }
}

impl PolicyKind for StrictRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "StrictRoundRobin";
    const SUMMARY: &'static str = "Work-group u runs on unit u mod units, even if others have room";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self::new(*context.site)))
    }
}

impl OneKernelPolicy for StrictRoundRobin {
    fn begin(&mut self, kernel: Kernel<'_>) {
        self.work_groups = kernel.work_groups();
        for (unit, next) in self.next.iter_mut().enumerate() {
            *next = unit as u32;
        }
        self.open.clear();
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        let next = self.next[unit as usize];
        self.has_room[unit as usize] = room > 0;
        if room > 0 && next < self.work_groups {
            self.open.insert((next, unit));
        } else {
            self.open.remove(&(next, unit));
        }
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        let first = self.open.iter().find(|&&(_, unit)| sendable(unit));
        match first {
            Some(&(work_group, unit)) => PlacementChoice::Place(Assignment { work_group, unit }),
            None if !self.open.is_empty() => PlacementChoice::UnitBusy,
            None if self.has_room.contains(&true) => PlacementChoice::HeldBack,
            None => PlacementChoice::UnitsFull,
        }
    }

    fn placed(&mut self, placed: Assignment) {
        self.open.remove(&(placed.work_group, placed.unit));
        // Beyond the last one of the largest grid there is none, and `update` sees to that.
        let next = &mut self.next[placed.unit as usize];
        *next = placed.work_group.saturating_add(self.units);
    }
}
