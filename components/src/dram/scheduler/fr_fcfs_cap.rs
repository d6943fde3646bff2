//! FR-FCFS with a cap on the row hits that may bypass older requests.
//!
//! A row that has served more than `columns` accesses loses its preference. Its hits are issued
//! only when nothing else is legal, and then only for the oldest request of all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, PolicyContext, PolicyKind, SpecError};

use super::{AnyRequestOrder, BEHIND, BestCommand, BuiltInOrder, Candidate, RequestOrder, View};

/// Parameters of [`FrFcfsCap`], the capped request order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FrFcfsCapSpec {
    /// Column commands after which an open row is no longer preferred. Source: 16 in Ramulator 1.
    pub columns: u32,
}

/// Variant of [`FrFcfs`](super::FrFcfs) in which a row that has served more than `columns` accesses
/// yields to every other legal command. Source: FRFCFS_Cap of Ramulator 1, there 16.
pub struct FrFcfsCap;

impl PolicyKind for FrFcfsCap {
    type Role = RequestOrder;
    const NAME: &'static str = "FrFcfsCap";
    const SUMMARY: &'static str =
        "As FrFcfs, but a row that has served many accesses yields to any other legal command";
    type Spec = FrFcfsCapSpec;

    fn build(
        spec: FrFcfsCapSpec,
        _: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::BuiltIn(BuiltInOrder::FrFcfsCap {
            columns: spec.columns,
        }))
    }
}

pub(super) fn next(view: &View<'_>, columns: u32) -> (Cycle, Candidate) {
    let mut best = BestCommand::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, view.age(id), Candidate::Activate(id));
    }
    let oldest = view.oldest_of_all().map(|(age, _)| age);
    for bank in view.open() {
        let capped = view.columns[bank as usize] > columns;
        for id in view.hits(bank) {
            let from = view.column_from(bank, id);
            let age = view.age(id);
            if !capped {
                best.consider(from, age, Candidate::Column(id));
            } else if Some(age) == oldest {
                best.consider(from, BEHIND | age, Candidate::Column(id));
            }
        }
        if let Some(id) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider(from, view.age(id), Candidate::Precharge(id));
        }
    }
    best.take()
}
