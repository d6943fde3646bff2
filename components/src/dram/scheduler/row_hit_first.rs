//! Row hits before everything else, and no precharge of a row that a waiting request needs.

use warpweave_framework::Cycle;

use super::{BEHIND, Best, Choice, View};

pub(super) fn next(view: &View<'_>) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let index = view.queue.lines[bank as usize].oldest;
        let from = view.banks.act_from(bank);
        best.consider(from, BEHIND | view.age(index), Choice::Activate(index));
    }
    for bank in view.open() {
        let mut is_hit = false;
        for index in view.hits(bank) {
            is_hit = true;
            let from = view.column_from(bank, index);
            best.consider(from, view.age(index), Choice::Column(index));
        }
        if let Some(index) = view.miss(bank)
            && !is_hit
        {
            let from = view.banks.precharge_from(bank);
            best.consider(from, BEHIND | view.age(index), Choice::Precharge(index));
        }
    }
    best.take()
}
