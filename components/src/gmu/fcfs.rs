//! Kernel order by arrival: first come, first served.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{EmptyQueue, KernelOrder, OrderPolicy};

/// First come, first served: picks the kernel that has waited longest.
///
/// Source: the LASER paper, section 3.2.
#[derive(State, Statistics)]
pub struct Fcfs;

impl PolicyKind for Fcfs {
    type Role = KernelOrder;
    const NAME: &'static str = "Fcfs";
    const SUMMARY: &'static str = "Gives the queue to the kernel that has waited longest";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

impl OrderPolicy for Fcfs {
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        empty.pool.first().map(|waiting| waiting.launch.kernel)
    }
}
