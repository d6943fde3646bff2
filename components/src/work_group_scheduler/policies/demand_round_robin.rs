//! Demand-driven round robin: a pointer rotates over the units.

use fixedbitset::FixedBitSet;
use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use crate::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Assigns the next work-group to the first unit with room after the one served last. Initially
/// each unit gets one work-group per round. Later the unit that freed a context is served.
///
/// Source: "Locality-Aware CTA Clustering for Modern GPUs", sections 2 and 3.1, the observed
/// behavior of most boards.
#[derive(State, Statistics)]
pub struct DemandRoundRobin {
    next: u32,
    /// Unit at which the search for room starts.
    pointer: usize,
    /// Set of units that have room.
    #[state(with = crate::bits::visit)]
    open: FixedBitSet,
}

impl DemandRoundRobin {
    fn new(site: PlacementSite) -> Self {
        Self {
            next: 0,
            pointer: 0,
            open: FixedBitSet::with_capacity(site.units() as usize),
        }
    }

    fn candidate(&self) -> Option<usize> {
        let from = |start| self.open.ones().skip_while(move |&unit| unit < start);
        from(self.pointer)
            .next()
            .or_else(|| self.open.ones().next())
    }
}

impl PolicyKind for DemandRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "DemandRoundRobin";
    const SUMMARY: &'static str =
        "Round-robin pointer over the units; later work-groups go where resources become free";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self::new(*context.site)))
    }
}

impl OneKernelPolicy for DemandRoundRobin {
    fn begin(&mut self, _kernel: Kernel<'_>) {
        self.next = 0;
        self.pointer = 0;
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        self.open.set(unit as usize, room > 0);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        match self.candidate() {
            None => PlacementChoice::UnitsFull,
            Some(unit) if !sendable(unit as u32) => PlacementChoice::UnitBusy,
            Some(unit) => PlacementChoice::Place(Assignment {
                work_group: self.next,
                unit: unit as u32,
            }),
        }
    }

    fn placed(&mut self, placed: Assignment) {
        self.next += 1;
        self.pointer = (placed.unit as usize + 1) % self.open.len();
    }
}
