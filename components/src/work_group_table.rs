//! Table that gives the work-groups of launches to compute units, by number.
//!
//! A scenario provides it from a file, as an [artefact](crate::artefact) of its program.
//! `work_group_placement/Mapped` reads it.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the table in messages.
pub const WHAT: &str = "a table of work-groups";

/// Work-groups of each unit in the order in which it runs them.
pub type UnitOrders = Vec<Vec<u32>>;

/// Units of the work-groups of some launches. Every work-group of such a launch occurs once.
///
/// ```
/// use std::sync::Arc;
/// use warpweave_components::work_group_table::WorkGroupTable;
///
/// let mut table = WorkGroupTable::default();
/// table.launches.insert(0, Arc::new(vec![vec![3, 0], vec![1, 2]]));
/// assert_eq!(table.work_groups(0), Some(4));
/// assert_eq!(table.work_groups(1), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkGroupTable {
    /// Orders of the units, by number of the launch in the program.
    pub launches: BTreeMap<u32, Arc<UnitOrders>>,
}

impl WorkGroupTable {
    /// Returns the orders of the units for a launch; `None` if it is not in the table.
    pub fn launch(&self, number: u32) -> Option<&UnitOrders> {
        self.launches.get(&number).map(|orders| &**orders)
    }

    /// Returns the number of work-groups in the table of a launch.
    pub fn work_groups(&self, number: u32) -> Option<usize> {
        let orders = self.launch(number)?.iter();
        Some(orders.map(Vec::len).sum())
    }
}
