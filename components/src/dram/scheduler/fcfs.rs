//! First come, first served: one request at a time.

use warpweave_framework::{Cycle, NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyRequestOrder, BestCommand, BuiltInOrder, Candidate, RequestOrder, View};

/// Strictly in order: a request gets its first command after its predecessor has had its last.
/// Source: the FIFO scheduler of GPGPU-Sim.
pub struct Fcfs;

impl PolicyKind for Fcfs {
    type Role = RequestOrder;
    const NAME: &'static str = "Fcfs";
    const SUMMARY: &'static str = "Strictly in order: a request gets its first command only after the last command of the previous one";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::BuiltIn(BuiltInOrder::Fcfs))
    }
}

pub(super) fn next(view: &View<'_>) -> (Cycle, Candidate) {
    let mut best = BestCommand::new(view.clock);
    let oldest = view.oldest_of_all();
    let Some((age, bank)) = oldest.filter(|(_, bank)| view.barred >> bank & 1 == 0) else {
        return best.take();
    };
    if view.active != 0 {
        return best.take();
    }
    let id = view.oldest(bank);
    let (from, choice) = match view.banks.row(bank) {
        None => (view.banks.act_from(bank), Candidate::Activate(id)),
        Some(row) if row == view.entries[id].row => {
            (view.column_from(bank, id), Candidate::Column(id))
        }
        Some(_) => (view.banks.precharge_from(bank), Candidate::Precharge(id)),
    };
    best.consider(from, age, choice);
    best.take()
}
