//! Block round robin: consecutive work-groups share a unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use crate::occupancy::UnitLimits;
use crate::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};

/// Block size of the [`BlockRoundRobin`] placement policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockRoundRobinSpec {
    /// Number of consecutive work-groups assigned to a unit at once, 2 to 64. Source: Lee et al.,
    /// HPCA 2014.
    pub block_size: u32,
}

impl Default for BlockRoundRobinSpec {
    fn default() -> Self {
        Self { block_size: 2 }
    }
}

/// Block scheduling: assigns blocks of consecutive work-groups in linear order. Each block goes to
/// one unit that has room for all of it; a unit with less room waits. Units are served round robin:
/// the next block goes to the first unit with room after the one served last. The rest of a block
/// follows as soon as its unit can be sent a message again, before any new block.
///
/// A block that is cut short by the end of the grid still needs the room of a whole one. The delay
/// is stated without exception. The order of units is the usual reading of the original work.
///
/// Source: Lee et al., "Improving GPGPU Resource Utilization Through Alternative Thread Block
/// Scheduling", HPCA 2014, as described in Intra-Cluster Coalescing, section 5.
#[derive(State, Statistics)]
pub struct BlockRoundRobin {
    #[state(skip)]
    block_size: u32,
    work_groups: u32,
    /// Index of the first work-group of the next block.
    next: u32,
    /// Unit at which the search for room starts.
    pointer: usize,
    /// Number of work-groups that fit each unit now.
    #[state(array)]
    room: Vec<u32>,
    /// Units that still receive the rest of a block, in block order: unit, next work-group, end.
    owed: Vec<(u32, u32, u32)>,
}

impl BlockRoundRobin {
    fn new(spec: BlockRoundRobinSpec, site: PlacementSite) -> Self {
        Self {
            block_size: spec.block_size,
            work_groups: 0,
            next: 0,
            pointer: 0,
            room: vec![0; site.units() as usize],
            owed: Vec::new(),
        }
    }

    /// Returns the unit that gets the next block.
    fn candidate(&self) -> Option<u32> {
        let units = self.room.len();
        let round = (self.pointer..units).chain(0..self.pointer);
        let is_owed = |unit: usize| self.owed.iter().any(|owed| owed.0 as usize == unit);
        let mut with_room = round.filter(|&unit| self.room[unit] >= self.block_size);
        let unit = with_room.find(|&unit| !is_owed(unit))?;
        Some(unit as u32)
    }
}

impl PolicyKind for BlockRoundRobin {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "BlockRoundRobin";
    const SUMMARY: &'static str = "Distributes blocks of consecutive work-groups round robin, each to a unit with room for the whole block";
    type Spec = BlockRoundRobinSpec;

    fn build(
        spec: BlockRoundRobinSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        SpecError::in_range("block_size", spec.block_size, 2..=64)?;
        Ok(OldestFirst::boxed(Self::new(spec, *context.site)))
    }
}

impl OneKernelPolicy for BlockRoundRobin {
    fn fits(&self, limits: &UnitLimits) -> Result<(), String> {
        if limits.work_group_slots < self.block_size {
            return Err(format!(
                "BlockRoundRobin places blocks of {}, but a unit has {} work-group slots",
                self.block_size, limits.work_group_slots
            ));
        }
        Ok(())
    }

    fn accepts(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        let per_unit = kernel.per_unit();
        if per_unit.work_groups < self.block_size {
            return Err(format!(
                "BlockRoundRobin places blocks of {}, but a compute unit holds only {} work-groups of kernel `{}`, limited by {:?}",
                self.block_size,
                per_unit.work_groups,
                kernel.name(),
                per_unit.limiter
            ));
        }
        Ok(())
    }

    fn begin(&mut self, kernel: Kernel<'_>) {
        self.work_groups = kernel.work_groups();
        self.next = 0;
        self.pointer = 0;
        self.owed.clear();
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        self.room[unit as usize] = room;
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        for &(unit, work_group, _) in &self.owed {
            if sendable(unit) {
                return PlacementChoice::Place(Assignment { work_group, unit });
            }
        }
        let new = (self.next < self.work_groups).then(|| self.candidate());
        match new.flatten() {
            Some(unit) if sendable(unit) => PlacementChoice::Place(Assignment {
                work_group: self.next,
                unit,
            }),
            Some(_) => PlacementChoice::UnitBusy,
            None if !self.owed.is_empty() => PlacementChoice::UnitBusy,
            None if self.room.iter().any(|&room| room > 0) => PlacementChoice::HeldBack,
            None => PlacementChoice::UnitsFull,
        }
    }

    fn placed(&mut self, placed: Assignment) {
        let place = self.owed.iter().position(|owed| owed.0 == placed.unit);
        if let Some(place) = place {
            let (_, next, end) = &mut self.owed[place];
            *next += 1;
            if next == end {
                self.owed.remove(place);
            }
            return;
        }
        let end = self
            .work_groups
            .min(self.next.saturating_add(self.block_size));
        if self.next + 1 < end {
            self.owed.push((placed.unit, self.next + 1, end));
        }
        self.next = end;
        self.pointer = (placed.unit as usize + 1) % self.room.len();
    }
}
