//! First ready, first come, first served: the oldest request among those with a legal command.

use warpweave_framework::Cycle;

use super::{Best, Choice, View};

pub(super) fn next(view: &View<'_>) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let index = view.queue.lines[bank as usize].oldest;
        let from = view.banks.act_from(bank);
        best.consider(from, view.age(index), Choice::Activate(index));
    }
    for bank in view.open() {
        for index in view.hits(bank) {
            let from = view.column_from(bank, index);
            best.consider(from, view.age(index), Choice::Column(index));
        }
        if let Some(index) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider(from, view.age(index), Choice::Precharge(index));
        }
    }
    best.take()
}
