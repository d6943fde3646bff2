//! Counters of issued instructions.

use serde::{Deserialize, Serialize};
use warpweave_framework::Statistics;
use warpweave_trace::Class;

use crate::compute_unit::unit_kind::UnitKind;
use crate::roles;

/// Instructions that issued.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct IssueCounts {
    wavefront_instructions: u64,
    thread_instructions: u64,
    per_class: [u64; Class::COUNT],
    /// Counts by kind of unit: parts of an instruction, other than its last, that took an issue
    /// slot; `in_slot_of_another` counts issues that shared a slot.
    parts: [u64; UnitKind::COUNT],
    in_slot_of_another: [u64; UnitKind::COUNT],
}

/// Name, unit and meaning of each per-class counter.
const PER_CLASS: [(&str, &str, &str); Class::COUNT] = {
    let meaning = "wavefront instructions issued of the class in the name";
    let mut rows = [("", "instructions", meaning); Class::COUNT];
    let mut class = 0;
    while class < Class::COUNT {
        rows[class].0 = Class::ALL[class].name();
        class += 1;
    }
    rows
};

impl IssueCounts {
    /// Counts the lanes of an instruction.
    #[inline(always)]
    pub(crate) fn threads(&mut self, mask: u32) {
        // Nearly all are full, and not all processors that this is compiled for count bits.
        self.thread_instructions += match mask {
            u32::MAX => 32,
            mask => u64::from(mask.count_ones()),
        };
    }

    /// Counts an instruction of a class, given by its number; of several parts the last.
    #[inline(always)]
    pub(crate) fn instruction(&mut self, class: u8) {
        self.wavefront_instructions += 1;
        self.per_class[usize::from(class)] += 1;
    }

    /// Counts a part of an instruction, other than its last. `unit` is the bit of its execution
    /// unit kind.
    pub(crate) fn part(&mut self, unit: u8) {
        self.parts[unit.trailing_zeros() as usize] += 1;
    }

    /// Counts an instruction that issues in the slot of another. `unit` is the bit of its execution
    /// unit kind.
    pub(crate) fn in_slot_of_another(&mut self, unit: u8) {
        self.in_slot_of_another[unit.trailing_zeros() as usize] += 1;
    }

    #[inline]
    pub(crate) fn wavefront_instructions(&self) -> u64 {
        self.wavefront_instructions
    }

    /// Returns issue slots by kind of unit; a slot with several instructions counts for the first.
    pub(crate) fn issued_slots(&self) -> [u64; UnitKind::COUNT] {
        let mut slots = self.parts;
        for (class, count) in Class::ALL.iter().zip(&self.per_class) {
            slots[UnitKind::of(*class) as usize] += count;
        }
        for (slots, more) in slots.iter_mut().zip(&self.in_slot_of_another) {
            *slots -= more;
        }
        slots
    }

    /// Reports the issued instructions. Includes launch instructions only if `takes_launches`.
    pub(crate) fn report(&self, takes_launches: bool, s: &mut Statistics<'_>) {
        let count = "instructions";
        let meaning = "instructions issued, one per wavefront";
        s.role(roles::WAVEFRONT_INSTRUCTIONS).counter(
            "wavefront_instructions",
            count,
            meaning,
            self.wavefront_instructions,
        );
        let meaning = "instructions issued, one per active lane";
        s.role(roles::THREAD_INSTRUCTIONS).counter(
            "thread_instructions",
            count,
            meaning,
            self.thread_instructions,
        );
        s.under("instructions", |s| {
            let launch = Class::Launch.index();
            let parts = if takes_launches {
                [0..Class::COUNT, 0..0]
            } else {
                [0..launch, launch + 1..Class::COUNT]
            };
            for part in parts {
                s.counters(&PER_CLASS[part.clone()], &self.per_class[part]);
            }
        });
    }
}
