//! Row hits before everything else, and no precharge of a row that a waiting request needs.

use warpweave_framework::Cycle;

use super::{BEHIND, Best, Choice, View};

pub(super) fn next(view: &View<'_>) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, BEHIND | view.age(id), Choice::Activate(id));
    }
    for bank in view.open() {
        let mut is_hit = false;
        for id in view.hits(bank) {
            is_hit = true;
            let from = view.column_from(bank, id);
            best.consider(from, view.age(id), Choice::Column(id));
        }
        if let Some(id) = view.miss(bank)
            && !is_hit
        {
            let from = view.banks.precharge_from(bank);
            best.consider(from, BEHIND | view.age(id), Choice::Precharge(id));
        }
    }
    best.take()
}
