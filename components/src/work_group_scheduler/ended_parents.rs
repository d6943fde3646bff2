//! Notifies units of ended kernels that launched others, for their reuse monitors.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, State};

use super::Announce;
use super::dispatch_ports::DispatchPorts;
use super::families::Families;
use crate::launch::Dispatch;

/// Ended kernels that had launched others, until every unit has been notified.
#[derive(State)]
pub(super) struct EndedParents {
    #[state(skip)]
    announce: Announce,
    #[state(rename = "ended_parents")]
    queue: VecDeque<EndedParent>,
}

#[derive(Debug, Serialize, Deserialize)]
struct EndedParent {
    kernel: u32,
    /// Units that have not been notified yet.
    #[serde(deserialize_with = "crate::bits::read")]
    unsent: FixedBitSet,
}

impl EndedParents {
    pub(super) fn new(announce: Announce) -> Self {
        Self {
            announce,
            queue: VecDeque::new(),
        }
    }

    /// True if kernels are announced with their descendants.
    pub(super) fn wait_for_families(&self) -> bool {
        self.announce == Announce::FamilyComplete
    }

    /// Queues notifications after the work-groups of a kernel are done. `complete` are the kernels
    /// that are now complete, with their descendants.
    pub(super) fn note(
        &mut self,
        kernel: u32,
        complete: &[u32],
        families: &Families,
        units: &DispatchPorts,
    ) {
        let ended = match self.announce {
            Announce::FamilyComplete => complete,
            Announce::OwnWorkGroups => &[kernel],
            Announce::Never => return,
        };
        let parents = ended.iter().filter(|kernel| families.is_parent(**kernel));
        let notify = |&kernel: &u32| EndedParent {
            kernel,
            unsent: units.all(),
        };
        self.queue.extend(parents.map(notify));
    }

    /// Notifies units that have room; each unit receives kernels in the order in which they ended.
    pub(super) fn send(&mut self, ctx: &mut Context<'_>, units: &mut DispatchPorts) {
        for EndedParent { kernel, unsent } in &mut self.queue {
            units.send_to(ctx, unsent, Dispatch::ParentEnded { kernel: *kernel });
        }
        self.queue.retain(|ended| !ended.unsent.is_clear());
    }

    /// True if units have not been notified yet.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        !self.queue.is_empty()
    }
}
