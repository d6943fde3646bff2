//! Work-groups of a placed launch: which of them a unit executes next.
//!
//! The trace holds one work-group per unit and context ([`Place`]). They are exchangeable, so the
//! policies number those that they place as they like. What a unit executes is the work-group of
//! the context that it takes, here called its body.

use serde::{Deserialize, Serialize};
use warpweave_trace::{Place, PlacedBy};

/// Contexts of a running placed launch, and those that its units have taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Bodies {
    place: Place,
    /// Number of work-groups that each unit has received.
    arrivals: Vec<u32>,
    /// Number by which the policy knows each body; `None` until a unit has taken it.
    placed_as: Vec<Option<u32>>,
}

impl Bodies {
    /// Creates the contexts of a launch; none is taken.
    pub(super) fn new(place: Place) -> Self {
        Self {
            place,
            arrivals: vec![0; place.units as usize],
            placed_as: vec![None; place.work_groups() as usize],
        }
    }

    /// Takes the next body of a unit, for the work-group that the policy knows as `work_group` and
    /// that occupies `slot`. Returns its number.
    ///
    /// # Errors
    /// Returns the reason why the unit has no context for it.
    pub(super) fn take(&mut self, unit: u32, slot: u16, work_group: u32) -> Result<u32, String> {
        let arrivals = &mut self.arrivals[unit as usize];
        let context = match self.place.by {
            PlacedBy::Slot => u32::from(slot),
            PlacedBy::Arrival => *arrivals,
        };
        let Some(body) = self.place.work_group_at(unit, context) else {
            return Err(self.no_context(context));
        };
        let placed_as = &mut self.placed_as[body as usize];
        if placed_as.is_some() {
            return Err(format!(
                "it takes context {context} there, which another work-group of the launch has had; a GPU would repeat the work of that context and lose that of another"
            ));
        }
        *placed_as = Some(work_group);
        *arrivals += 1;
        Ok(body)
    }

    fn no_context(&self, context: u32) -> String {
        let contexts = self.place.contexts;
        match self.place.by {
            PlacedBy::Slot => format!(
                "it takes context {context} there, but the launch is placed with {contexts} on each unit; on a GPU it would find no work, and that of another context would be lost"
            ),
            PlacedBy::Arrival => format!(
                "it is number {context} there by arrival, but the launch is placed with {contexts} on each unit; on a GPU it would find no work, and the unit that has one less would lose that of a context"
            ),
        }
    }

    /// Returns the number by which the policy knows a body.
    pub(super) fn placed_as(&self, body: u32) -> u32 {
        self.placed_as[body as usize].unwrap_or(body)
    }

    /// True if every body has been taken.
    pub(super) fn all_taken(&self) -> bool {
        self.placed_as.iter().all(Option::is_some)
    }
}
