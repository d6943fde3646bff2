//! Work-group placement from the last of the grid to the first, on the unit with the fewest
//! residents.

use warpweave::components::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    WorkGroupPlacement,
};
use warpweave::framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Placement policy described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct Backwards {
    /// Number of work-groups of the current kernel that are not yet placed.
    left: u32,
    /// Resident work-groups and free room of each unit.
    #[state(array)]
    units: Vec<(u32, u32)>,
}

impl PolicyKind for Backwards {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Backwards";
    const SUMMARY: &'static str = "From the last work-group to the first, on the emptiest unit";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        Ok(OldestFirst::boxed(Self::new(context.site.units())))
    }
}

impl Backwards {
    fn new(units: u32) -> Self {
        Self {
            left: 0,
            units: vec![(0, 0); units as usize],
        }
    }
}

impl OneKernelPolicy for Backwards {
    fn begin(&mut self, kernel: Kernel<'_>) {
        self.left = kernel.work_groups();
    }

    fn update(&mut self, unit: u32, resident: u32, room: u32) {
        self.units[unit as usize] = (resident, room);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        let with_room = (0..self.units.len()).filter(|&unit| self.units[unit].1 > 0);
        let Some(unit) = with_room.min_by_key(|&unit| self.units[unit].0) else {
            return PlacementChoice::UnitsFull;
        };
        let unit = unit as u32;
        if !sendable(unit) {
            return PlacementChoice::UnitBusy;
        }
        let work_group = self.left - 1;
        PlacementChoice::Place(Assignment { work_group, unit })
    }

    fn placed(&mut self, _placed: Assignment) {
        self.left -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_work_group_goes_to_the_emptiest_unit() {
        let mut policy = Backwards::new(3);
        policy.left = 4;
        for (unit, resident) in [(0, 2), (1, 1), (2, 1)] {
            policy.update(unit, resident, 1);
        }
        let first = Assignment {
            work_group: 3,
            unit: 1,
        };
        assert_eq!(policy.choose(&mut |_| true), PlacementChoice::Place(first));
        assert_eq!(policy.choose(&mut |_| false), PlacementChoice::UnitBusy);
        policy.placed(first);
        policy.update(1, 2, 0);
        let second = Assignment {
            work_group: 2,
            unit: 2,
        };
        assert_eq!(policy.choose(&mut |_| true), PlacementChoice::Place(second));
    }
}
