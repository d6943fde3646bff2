//! First ready, first come, first served: the oldest request among those with a legal command.

use warpweave_framework::{Cycle, NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyRequestOrder, BestCommand, BuiltInOrder, Candidate, RequestOrder, View};

/// Issues the legal command of the oldest request, whatever its type: a precharge ranks equal to a
/// row hit. Source: FR-FCFS of Ramulator 2.
pub struct FrFcfs;

impl PolicyKind for FrFcfs {
    type Role = RequestOrder;
    const NAME: &'static str = "FrFcfs";
    const SUMMARY: &'static str =
        "Of the legal commands, that of the oldest request, whatever its type";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::BuiltIn(BuiltInOrder::FrFcfs))
    }
}

pub(super) fn next(view: &View<'_>) -> (Cycle, Candidate) {
    let mut best = BestCommand::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider_ranked(from, || view.age(id), Candidate::Activate(id));
    }
    for bank in view.open() {
        let line = view.line(bank);
        if let Some(id) = line.hit {
            let from = view.column_from(bank, id);
            best.consider_ranked(from, || view.age(id), Candidate::Column(id));
        }
        if let Some(id) = line.other_hit {
            let from = view.column_from(bank, id);
            best.consider_ranked(from, || view.age(id), Candidate::Column(id));
        }
        if let Some(id) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider_ranked(from, || view.age(id), Candidate::Precharge(id));
        }
    }
    best.take()
}
