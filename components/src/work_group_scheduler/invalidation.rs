//! Kernel end: every unit invalidates its first-level lines before the kernel is reported as done.

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Id};

use super::WorkGroupScheduler;
use crate::launch::Dispatch;

/// A completed kernel for which the units are invalidating lines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Invalidation {
    pub(super) kernel: Id,
    /// Units that have not been sent the invalidation yet.
    #[serde(deserialize_with = "crate::bits::read")]
    pub(super) unsent: FixedBitSet,
    /// Units whose reply to the invalidation is outstanding.
    #[serde(deserialize_with = "crate::bits::read")]
    pub(super) unanswered: FixedBitSet,
}

impl WorkGroupScheduler {
    /// Starts the invalidation after all work-groups of a kernel have completed.
    pub(super) fn retire(&mut self, kernel: Id) {
        let number = self.machine.kernels()[kernel].ready.kernel;
        let family_ended = self.families.ends(number);
        self.note_ended_parents(number);
        self.second_level.ended(kernel, family_ended);
        if self.spec.invalidate_at.drops(family_ended) {
            let mut units = FixedBitSet::with_capacity(self.units.len());
            units.insert_range(..);
            self.invalidations.push_back(Invalidation {
                kernel,
                unsent: units.clone(),
                unanswered: units,
            });
        } else {
            self.first_level_left(kernel);
        }
    }

    /// Continues with the second level when first-level invalidation for a kernel is complete.
    fn first_level_left(&mut self, kernel: Id) {
        if !self.second_level.takes(kernel) {
            self.finished.push_back(kernel);
        }
    }

    /// Sends invalidations to the units that have room.
    pub(super) fn send_invalidates(&mut self, ctx: &mut Context<'_>) {
        for invalidation in &mut self.invalidations {
            let running = &self.machine.kernels()[invalidation.kernel];
            let kernel = running.ready.kernel;
            let ran = u32::try_from(ctx.cycle() - running.since).unwrap_or(u32::MAX);
            let mut from = 0;
            while let Some(unit) = invalidation.unsent.ones().find(|&unit| unit >= from) {
                from = unit + 1;
                let port = &mut self.units[unit].dispatch;
                if !self.served.contains(unit) && port.can_send(ctx) {
                    port.send(ctx, Dispatch::Invalidate { kernel, ran });
                    self.served.insert(unit);
                    invalidation.unsent.remove(unit);
                    self.accounting.invalidates_sent += 1;
                }
            }
        }
    }

    /// Takes the invalidation reply of a unit. Returns false if none was outstanding.
    pub(super) fn invalidated(&mut self, unit: usize, number: u32) -> bool {
        let kernels = self.machine.kernels();
        let asked = |invalidation: &Invalidation| {
            kernels[invalidation.kernel].ready.kernel == number
                && invalidation.unanswered.contains(unit)
                && !invalidation.unsent.contains(unit)
        };
        let Some(place) = self.invalidations.iter().position(asked) else {
            return false;
        };
        let invalidation = &mut self.invalidations[place];
        invalidation.unanswered.remove(unit);
        if invalidation.unanswered.is_clear() {
            let kernel = invalidation.kernel;
            self.invalidations.remove(place);
            self.first_level_left(kernel);
        }
        true
    }
}
