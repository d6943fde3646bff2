//! Notifies units of ended kernels that launched others, for their reuse monitors.

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::Context;

use super::{Announce, WorkGroupScheduler};
use crate::launch::Dispatch;

/// An ended kernel that had launched others.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EndedParent {
    kernel: u32,
    /// Units that have not been notified yet.
    #[serde(deserialize_with = "crate::bits::read")]
    unsent: FixedBitSet,
}

impl WorkGroupScheduler {
    /// Queues notifications after the work-groups of a kernel are done.
    pub(super) fn note_ended_parents(&mut self, kernel: u32) {
        let ended = match self.spec.announce {
            Announce::FamilyComplete => self.families.completed_by(kernel),
            Announce::OwnWorkGroups if self.families.is_parent(kernel) => vec![kernel],
            Announce::OwnWorkGroups | Announce::Never => return,
        };
        let mut unsent = FixedBitSet::with_capacity(self.units.len());
        unsent.insert_range(..);
        self.ended_parents
            .extend(ended.into_iter().map(|kernel| EndedParent {
                kernel,
                unsent: unsent.clone(),
            }));
    }

    /// Notifies units that have room; each unit receives kernels in the order in which they ended.
    pub(super) fn send_ends_of_parents(&mut self, ctx: &mut Context<'_>) {
        for EndedParent { kernel, unsent } in &mut self.ended_parents {
            let mut from = 0;
            while let Some(unit) = unsent.ones().find(|&unit| unit >= from) {
                from = unit + 1;
                let port = &mut self.units[unit].dispatch;
                if !self.served.contains(unit) && port.can_send(ctx) {
                    port.send(ctx, Dispatch::ParentEnded { kernel: *kernel });
                    self.served.insert(unit);
                    unsent.remove(unit);
                }
            }
        }
        self.ended_parents.retain(|ended| !ended.unsent.is_clear());
    }
}
