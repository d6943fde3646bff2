//! FR-FCFS with a cap on the row hits that may go ahead of others.
//!
//! A row that has served more than `columns` accesses loses its preference: its hits go only when
//! nothing else is legal, and then only that of the oldest request of all.

use warpweave_framework::Cycle;

use super::{BEHIND, Best, Choice, View, bits};

pub(super) fn next(view: &View<'_>, columns: u32) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    for bank in view.closed() {
        let index = view.queue.lines[bank as usize].oldest;
        let from = view.banks.act_from(bank);
        best.consider(from, view.age(index), Choice::Activate(index));
    }
    let oldest = bits(view.queue.banks)
        .map(|bank| view.age(view.queue.lines[bank as usize].oldest))
        .min();
    for bank in view.open() {
        let capped = view.columns[bank as usize] > columns;
        for index in view.hits(bank) {
            let from = view.column_from(bank, index);
            let age = view.age(index);
            if !capped {
                best.consider(from, age, Choice::Column(index));
            } else if Some(age) == oldest {
                best.consider(from, BEHIND | age, Choice::Column(index));
            }
        }
        if let Some(index) = view.miss(bank) {
            let from = view.banks.precharge_from(bank);
            best.consider(from, view.age(index), Choice::Precharge(index));
        }
    }
    best.take()
}
