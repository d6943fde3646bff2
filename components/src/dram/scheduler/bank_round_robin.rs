//! Banks take turns; within a bank the oldest request with a legal command goes first.

use warpweave_framework::Cycle;

use super::{Best, Choice, View};

/// Bits of a rank that hold the age of a request.
const AGE_BITS: u32 = 56;

pub(super) fn next(view: &View<'_>, hits: u32) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    let count = view.banks.count();
    let rank = |bank: u32, index: u16| {
        // The bank after the one served last comes first.
        let steps = u64::from((bank + count - view.turn - 1) % count);
        steps << AGE_BITS | view.age(index) & ((1 << AGE_BITS) - 1)
    };
    for bank in view.closed() {
        let index = view.queue.lines[bank as usize].oldest;
        let from = view.banks.act_from(bank);
        best.consider(from, rank(bank, index), Choice::Activate(index));
    }
    for bank in view.open() {
        let mut is_hit = false;
        for index in view.hits(bank) {
            is_hit = true;
            let from = view.column_from(bank, index);
            best.consider(from, rank(bank, index), Choice::Column(index));
        }
        // Only the oldest request of the bank may close its row.
        if let Some(index) = view.miss(bank)
            && index == view.queue.lines[bank as usize].oldest
            && (!is_hit || view.columns[bank as usize] >= hits)
        {
            let from = view.banks.precharge_from(bank);
            best.consider(from, rank(bank, index), Choice::Precharge(index));
        }
    }
    best.take()
}
