//! Placed launches: work-groups that ask where they run, emulated under a declared placement.
//!
//! The work-groups of such a launch do not know their own number. What one does follows from its
//! unit and its context there, so any work-group may do it. Work-group `n` of the trace is the one
//! of unit `n % units` and context `n / units`.

use serde::{Deserialize, Serialize};

use crate::{Attribute, KernelTrace};

/// Declared placement of a launch whose work-groups ask where they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Number of compute units that share the launch.
    pub units: u32,
    /// Number of work-groups that each unit receives.
    pub contexts: u32,
    /// Meaning of a context's number.
    pub by: PlacedBy,
}

/// Meaning of the number by which a work-group is known on its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PlacedBy {
    /// Work-group slot that the work-group takes, as the wavefront slots tell (PTX `%warpid`).
    Slot,
    /// Count of the launch's earlier work-groups on the unit, as an atomic counter tells.
    Arrival,
}

impl Place {
    /// Returns the unit of a work-group under the declared placement.
    ///
    /// # Panics
    /// Panics if there are no units.
    pub fn unit_of(&self, work_group: u32) -> u32 {
        work_group % self.units
    }

    /// Returns the context of a work-group on its unit under the declared placement.
    ///
    /// # Panics
    /// Panics if there are no units.
    pub fn context_of(&self, work_group: u32) -> u32 {
        work_group / self.units
    }

    /// Returns the work-group of a context of a unit; `None` if the placement does not have them.
    pub fn work_group_at(&self, unit: u32, context: u32) -> Option<u32> {
        (unit < self.units && context < self.contexts).then_some(())?;
        context.checked_mul(self.units)?.checked_add(unit)
    }

    /// Returns the number of work-groups that the placement has contexts for.
    pub fn work_groups(&self) -> u64 {
        u64::from(self.units) * u64::from(self.contexts)
    }

    /// Returns the attributes by which a launch states its placement.
    pub fn attributes(&self) -> [Attribute; 3] {
        let by_arrival = self.by == PlacedBy::Arrival;
        [
            Attribute::new(Attribute::PLACE_UNITS, self.units.into()),
            Attribute::new(Attribute::PLACE_CONTEXTS, self.contexts.into()),
            Attribute::new(Attribute::PLACE_BY_ARRIVAL, by_arrival.into()),
        ]
    }
}

impl KernelTrace {
    /// Returns the placement under which the launch was emulated; `None` if its work-groups do not
    /// ask where they run.
    pub fn place(&self) -> Option<Place> {
        let number = |name| {
            let value = self.attribute(name)?;
            Some(u32::try_from(value).unwrap_or(u32::MAX))
        };
        Some(Place {
            units: number(Attribute::PLACE_UNITS)?,
            contexts: number(Attribute::PLACE_CONTEXTS).unwrap_or(0),
            by: match number(Attribute::PLACE_BY_ARRIVAL) {
                None | Some(0) => PlacedBy::Slot,
                Some(_) => PlacedBy::Arrival,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Code;

    fn launch(attributes: Vec<Attribute>) -> KernelTrace {
        let code = Arc::new(Code::default());
        KernelTrace::without_streams(code, [6, 1, 1], [32, 1, 1], 0, attributes).unwrap()
    }

    #[test]
    fn a_launch_returns_the_place_that_its_attributes_state() {
        for by in [PlacedBy::Slot, PlacedBy::Arrival] {
            let place = Place {
                units: 2,
                contexts: 3,
                by,
            };
            assert_eq!(launch(place.attributes().to_vec()).place(), Some(place));
        }
        assert_eq!(launch(Vec::new()).place(), None);
        assert_eq!(
            launch(vec![Attribute::new("place_units", 1 << 40)]).place(),
            Some(Place {
                units: u32::MAX,
                contexts: 0,
                by: PlacedBy::Slot
            })
        );
    }

    #[test]
    fn work_groups_go_round_the_units_and_fill_context_after_context() {
        let place = Place {
            units: 4,
            contexts: 3,
            by: PlacedBy::Slot,
        };
        assert_eq!(place.work_groups(), 12);
        for work_group in 0..12 {
            let (unit, context) = (place.unit_of(work_group), place.context_of(work_group));
            assert_eq!((unit, context), (work_group % 4, work_group / 4));
            assert_eq!(place.work_group_at(unit, context), Some(work_group));
        }
        assert_eq!(place.work_group_at(4, 0), None);
        assert_eq!(place.work_group_at(0, 3), None);
    }
}
