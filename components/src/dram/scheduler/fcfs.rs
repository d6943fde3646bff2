//! First come, first served: one request at a time.

use warpweave_framework::Cycle;

use super::{Best, Choice, View, bits};

pub(super) fn next(view: &View<'_>) -> (Cycle, Choice) {
    let mut best = Best::new(view.clock);
    let oldest = bits(view.queue.banks)
        .map(|bank| (view.age(view.queue.lines[bank as usize].oldest), bank))
        .min();
    let Some((age, bank)) = oldest.filter(|(_, bank)| view.barred >> bank & 1 == 0) else {
        return best.take();
    };
    if view.active != 0 {
        return best.take();
    }
    let index = view.queue.lines[bank as usize].oldest;
    let (from, choice) = match view.banks.row(bank) {
        None => (view.banks.act_from(bank), Choice::Activate(index)),
        Some(row) if row == view.entries[index as usize].row => {
            (view.column_from(bank, index), Choice::Column(index))
        }
        Some(_) => (view.banks.precharge_from(bank), Choice::Precharge(index)),
    };
    best.consider(from, age, choice);
    best.take()
}
