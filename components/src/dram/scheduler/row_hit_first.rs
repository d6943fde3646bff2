//! Row hits first, and no precharge of a row that a waiting request needs.

use warpweave_framework::{Cycle, NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyRequestOrder, BEHIND, BestCommand, BuiltInOrder, Candidate, RequestOrder, View};

/// Variant of [`FrFcfs`](super::FrFcfs) that prefers row hits and never precharges a row that a
/// waiting request needs. Source: FRFCFS_PriorHit of Ramulator 1 and FRFCFS-RowHit of Ramulator 2.
pub struct RowHitFirst;

impl PolicyKind for RowHitFirst {
    type Role = RequestOrder;
    const NAME: &'static str = "RowHitFirst";
    const SUMMARY: &'static str =
        "As FrFcfs, but row hits take priority, and no row is closed that a waiting request needs";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::BuiltIn(BuiltInOrder::RowHitFirst))
    }
}

pub(super) fn next(view: &View<'_>) -> (Cycle, Candidate) {
    let mut best = BestCommand::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, BEHIND | view.age(id), Candidate::Activate(id));
    }
    for bank in view.open() {
        let mut is_hit = false;
        for id in view.hits(bank) {
            is_hit = true;
            let from = view.column_from(bank, id);
            best.consider(from, view.age(id), Candidate::Column(id));
        }
        if let Some(id) = view.miss(bank)
            && !is_hit
        {
            let from = view.banks.precharge_from(bank);
            best.consider(from, BEHIND | view.age(id), Candidate::Precharge(id));
        }
    }
    best.take()
}
