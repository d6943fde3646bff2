//! FR-FCFS with a cap on the row hits that may go ahead of others.
//!
//! A row that has served more than `columns` accesses loses its preference: its hits go only when
//! nothing else is legal, and then only that of the oldest request of all.

use warpweave_framework::Cycle;

use super::{BEHIND, Best, Choice, View};

pub(super) fn next(view: &View<'_>, columns: u32) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let id = view.oldest(bank);
        let from = view.banks.act_from(bank);
        best.consider(from, view.age(id), Choice::Activate(id));
    }
    let oldest = view.oldest_of_all().map(|(age, _)| age);
    for bank in view.open() {
        let capped = view.columns[bank as usize] > columns;
        for id in view.hits(bank) {
            let from = view.column_from(bank, id);
            let age = view.age(id);
            if !capped {
                best.consider(from, age, Choice::Column(id));
            } else if Some(age) == oldest {
                best.consider(from, BEHIND | age, Choice::Column(id));
            }
        }
        if let Some(id) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider(from, view.age(id), Choice::Precharge(id));
        }
    }
    best.take()
}
