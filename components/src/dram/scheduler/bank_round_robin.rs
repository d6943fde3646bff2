//! Round-robin over banks; within a bank, the oldest request with a legal command goes first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, PolicyContext, PolicyKind, SpecError};

use super::{AnyRequestOrder, BestCommand, BuiltInOrder, Candidate, RequestOrder, View};

/// Parameters of [`BankRoundRobin`], the round-robin request order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BankRoundRobinSpec {
    /// Column commands a row may serve while the bank's oldest request needs another row. Source: 4
    /// in DRAMsim3.
    pub hits: u32,
}

/// Serves banks in turn, and within a bank the oldest request with a legal command. The oldest
/// request may close a row that others need once the row has served `hits` accesses. Source:
/// DRAMsim3, there 4.
pub struct BankRoundRobin;

impl PolicyKind for BankRoundRobin {
    type Role = RequestOrder;
    const NAME: &'static str = "BankRoundRobin";
    const SUMMARY: &'static str = "Round robin over banks; the oldest request of a bank may close a row that has served enough other requests";
    type Spec = BankRoundRobinSpec;

    fn build(
        spec: BankRoundRobinSpec,
        _: &PolicyContext<'_, RequestOrder>,
    ) -> Result<AnyRequestOrder, SpecError> {
        Ok(AnyRequestOrder::BuiltIn(BuiltInOrder::BankRoundRobin {
            hits: spec.hits,
        }))
    }
}

/// Number of bits of a rank that hold the age of a request.
const AGE_BITS: u32 = 56;

pub(super) fn next(view: &View<'_>, hits: u32) -> (Cycle, Candidate) {
    let mut best = BestCommand::new(view.clock);
    let count = view.banks.count();
    let rank = |bank: u32, id: Id| {
        // The bank after the one served last comes first.
        let steps = u64::from((bank + count - view.turn - 1) % count);
        steps << AGE_BITS | view.age(id) & ((1 << AGE_BITS) - 1)
    };
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, rank(bank, id), Candidate::Activate(id));
    }
    for bank in view.open() {
        let mut is_hit = false;
        for id in view.hits(bank) {
            is_hit = true;
            let from = view.column_from(bank, id);
            best.consider(from, rank(bank, id), Candidate::Column(id));
        }
        // Only the oldest request of the bank may close its row.
        if let Some(id) = view.miss(bank)
            && id == view.oldest(bank)
            && (!is_hit || view.columns[bank as usize] >= hits)
        {
            let from = view.banks.precharge_from(bank);
            best.consider(from, rank(bank, id), Candidate::Precharge(id));
        }
    }
    best.take()
}
