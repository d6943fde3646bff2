//! First ready, first come, first served: the oldest request among those with a legal command.

use warpweave_framework::Cycle;

use super::{Best, Choice, View};

pub(super) fn next(view: &View<'_>) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, view.age(id), Choice::Activate(id));
    }
    for bank in view.open() {
        for id in view.hits(bank) {
            let from = view.column_from(bank, id);
            best.consider(from, view.age(id), Choice::Column(id));
        }
        if let Some(id) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider(from, view.age(id), Choice::Precharge(id));
        }
    }
    best.take()
}
