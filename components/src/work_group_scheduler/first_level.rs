//! First-level invalidation at kernel end: every unit drops its lines.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Id, State, Waits};

use super::InvalidateAt;
use super::accounting::Accounting;
use super::dispatch_ports::DispatchPorts;
use super::machine::Machine;
use crate::launch::{Dispatch, DispatchMaster};

/// Completed kernels for which the units are invalidating lines.
#[derive(State)]
pub(super) struct FirstLevel {
    #[state(skip)]
    invalidate_at: InvalidateAt,
    invalidations: VecDeque<Invalidation>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Invalidation {
    kernel: Id,
    /// Units that have not been sent the invalidation yet.
    #[serde(deserialize_with = "crate::bits::read")]
    unsent: FixedBitSet,
    /// Units whose reply to the invalidation is outstanding.
    #[serde(deserialize_with = "crate::bits::read")]
    unanswered: FixedBitSet,
}

/// Effect of a unit's reply.
pub(super) enum Reply {
    /// No invalidation of the unit was outstanding.
    Unknown,
    /// Other units have not replied.
    Outstanding,
    /// The first level has finished for this kernel.
    Last(Id),
}

impl FirstLevel {
    pub(super) fn new(invalidate_at: InvalidateAt) -> Self {
        Self {
            invalidate_at,
            invalidations: VecDeque::new(),
        }
    }

    /// Starts the invalidation for a kernel. Returns false if there is nothing to invalidate.
    pub(super) fn starts(&mut self, kernel: Id, family_ended: bool, units: &DispatchPorts) -> bool {
        let drops = self.invalidate_at.drops(family_ended);
        if drops {
            self.invalidations.push_back(Invalidation {
                kernel,
                unsent: units.all(),
                unanswered: units.all(),
            });
        }
        drops
    }

    /// Sends invalidations to the units that have room.
    pub(super) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        units: &mut DispatchPorts,
        machine: &Machine,
        accounting: &mut Accounting,
    ) {
        for invalidation in &mut self.invalidations {
            let running = &machine.kernels()[invalidation.kernel];
            let kernel = running.ready.kernel;
            let ran = u32::try_from(ctx.cycle() - running.since).unwrap_or(u32::MAX);
            let message = Dispatch::Invalidate { kernel, ran };
            let sent = units.send_to(ctx, &mut invalidation.unsent, message);
            accounting.invalidates_sent += sent;
        }
    }

    /// Takes the reply of a unit for the kernel of this number.
    pub(super) fn reply(&mut self, unit: usize, number: u32, machine: &Machine) -> Reply {
        let kernels = machine.kernels();
        let asked = |invalidation: &Invalidation| {
            kernels[invalidation.kernel].ready.kernel == number
                && invalidation.unanswered.contains(unit)
                && !invalidation.unsent.contains(unit)
        };
        let Some(place) = self.invalidations.iter().position(asked) else {
            return Reply::Unknown;
        };
        let invalidation = &mut self.invalidations[place];
        invalidation.unanswered.remove(unit);
        if !invalidation.unanswered.is_clear() {
            return Reply::Outstanding;
        }
        let kernel = invalidation.kernel;
        self.invalidations.remove(place);
        Reply::Last(kernel)
    }

    /// True if units have not been sent an invalidation yet.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.invalidations.iter().any(|i| !i.unsent.is_clear())
    }

    /// Returns the kernels whose end is delayed by this level.
    pub(super) fn kernels(&self) -> impl Iterator<Item = Id> {
        self.invalidations
            .iter()
            .map(|invalidation| invalidation.kernel)
    }

    pub(super) fn waits(&self, machine: &Machine, waits: &mut Waits<'_>) {
        for invalidation in &self.invalidations {
            let kernel = machine.kernels()[invalidation.kernel].ready.kernel;
            for unit in invalidation.unanswered.ones() {
                waits.on_port(
                    DispatchPorts::UNITS
                        .at(unit as u32)
                        .member(DispatchMaster::COMPLETION),
                    format!("the first-level invalidation for kernel {kernel} has not completed"),
                );
            }
        }
    }
}
