//! Ports to the compute units. A unit is sent at most one message per cycle.

use fixedbitset::FixedBitSet;
use warpweave_framework::{Context, Ports, State};

use crate::launch::{Completion, Dispatch, DispatchMaster};

/// Ports to all units, by unit, with those that a cycle has used.
#[derive(Ports, State)]
pub(super) struct DispatchPorts {
    #[port]
    units: Vec<DispatchMaster>,
    /// Units that were sent a message in this cycle.
    #[state(skip)]
    served: FixedBitSet,
}

impl DispatchPorts {
    pub(super) fn new(units: usize) -> Self {
        Self {
            units: (0..units).map(|_| DispatchMaster::default()).collect(),
            served: FixedBitSet::with_capacity(units),
        }
    }

    /// Returns the number of units.
    #[inline]
    pub(super) fn count(&self) -> usize {
        self.units.len()
    }

    /// Returns the set of all units.
    pub(super) fn all(&self) -> FixedBitSet {
        let mut units = FixedBitSet::with_capacity(self.units.len());
        units.insert_range(..);
        units
    }

    /// Allows each unit one message again.
    #[inline]
    pub(super) fn begin_cycle(&mut self) {
        self.served.clear();
    }

    /// True if a unit was sent a message in this cycle.
    #[inline]
    pub(super) fn any_served(&self) -> bool {
        !self.served.is_clear()
    }

    /// Takes the next completion of a unit.
    #[inline]
    pub(super) fn pop(&mut self, ctx: &mut Context<'_>, unit: usize) -> Option<Completion> {
        self.units[unit].completion.pop(ctx)
    }

    /// True if the unit exists and can be sent a message in this cycle.
    #[inline]
    pub(super) fn can_send(&mut self, ctx: &mut Context<'_>, unit: usize) -> bool {
        let port = self.units.get_mut(unit);
        let port = port.filter(|_| !self.served.contains(unit));
        port.is_some_and(|port| port.dispatch.can_send(ctx))
    }

    /// Sends a message to a unit that can be sent one.
    #[inline]
    pub(super) fn send(&mut self, ctx: &mut Context<'_>, unit: usize, message: Dispatch) {
        self.units[unit].dispatch.send(ctx, message);
        self.served.insert(unit);
    }

    /// Sends a message to those of the units that can be sent one, and removes them from `unsent`.
    /// Returns their number.
    pub(super) fn send_to(
        &mut self,
        ctx: &mut Context<'_>,
        unsent: &mut FixedBitSet,
        message: Dispatch,
    ) -> u64 {
        let (mut from, mut sent) = (0, 0);
        while let Some(unit) = unsent.ones().find(|&unit| unit >= from) {
            from = unit + 1;
            if self.can_send(ctx, unit) {
                self.send(ctx, unit, message);
                unsent.remove(unit);
                sent += 1;
            }
        }
        sent
    }
}
