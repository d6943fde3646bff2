//! Dispatch: queries the policy, checks its choice against the free resources, and sends the
//! work-group.

use fixedbitset::FixedBitSet;
use warpweave_framework::{Context, Id};

use super::accounting::Activity;
use super::machine::Running;
use super::queue_memory::PendingPlacement;
use super::{Placement, PlacementChoice, WorkGroupScheduler};
use crate::kernel_times::Moment;
use crate::launch::{Dispatch, DispatchMaster, KernelReady};

impl WorkGroupScheduler {
    /// Dispatches all work-groups possible in this cycle and returns the resulting activity.
    pub(super) fn dispatch(&mut self, ctx: &mut Context<'_>) -> Activity {
        for sent in 0..self.spec.dispatches_per_cycle {
            let stalled = if self.waiting.is_empty() {
                Activity::NoWork
            } else {
                match self.next_placement(ctx) {
                    Ok((key, placement)) => {
                        self.place(ctx, key, placement);
                        continue;
                    }
                    Err(stalled) => stalled,
                }
            };
            return if sent > 0 {
                Activity::Dispatching
            } else {
                stalled
            };
        }
        Activity::Dispatching
    }

    /// Returns the placement to make now, or the reason why there is none.
    fn next_placement(&mut self, ctx: &mut Context<'_>) -> Result<(Id, Placement), Activity> {
        let placement = match &self.taking {
            Some(taking) if !taking.is_answered() => return Err(Activity::QueueMemory),
            Some(PendingPlacement { placement, .. }) => *placement,
            None => self.choose(ctx)?,
        };
        if !sendable(&mut self.units, &self.served, ctx, placement.unit) {
            // The policy has been told that it will be made.
            self.taking
                .get_or_insert_with(|| PendingPlacement::new(placement, &[], 0));
            return Err(Activity::UnitBusy);
        }
        self.taking = None;
        let kernel = self.machine.key_of(placement.kernel);
        Ok((
            kernel.expect("a placement is checked when chosen"),
            placement,
        ))
    }

    /// Queries the policy for a placement and checks it.
    fn choose(&mut self, ctx: &mut Context<'_>) -> Result<Placement, Activity> {
        let Self {
            policy,
            machine,
            units,
            served,
            ..
        } = self;
        let choice = policy.choose(machine, &mut |unit| sendable(units, served, ctx, unit));
        match choice {
            PlacementChoice::Place(placement) => {
                if let Err(problem) = self.machine.check(placement) {
                    let Placement {
                        kernel,
                        work_group,
                        unit,
                    } = placement;
                    ctx.fail(format!(
                        "the placement {} put work-group {work_group} of kernel {kernel} on unit {unit}: {problem}",
                        self.spec.policy.name()
                    ));
                    return Err(Activity::HeldBack);
                }
                if self.begin_taking(ctx, placement) {
                    return Err(Activity::QueueMemory);
                }
                Ok(placement)
            }
            PlacementChoice::UnitBusy => Err(Activity::UnitBusy),
            PlacementChoice::HeldBack => Err(Activity::HeldBack),
            PlacementChoice::UnitsFull => {
                let oldest = self
                    .waiting
                    .front()
                    .map(|&key| &self.machine.kernels()[key]);
                Err(oldest.map_or(Activity::NoWork, |oldest| Activity::full(oldest.limiter())))
            }
        }
    }

    /// Sends a work-group to its unit and updates the accounts.
    fn place(&mut self, ctx: &mut Context<'_>, key: Id, placement: Placement) {
        let unit = placement.unit as usize;
        let Running {
            ready: KernelReady { hint, .. },
            unplaced,
            work_groups,
            ..
        } = self.machine.kernels()[key];
        if unplaced == work_groups
            && let Some(times) = &self.times
        {
            times.record(ctx, Moment::Started, placement.kernel);
        }
        let start = Dispatch::Start {
            kernel: placement.kernel,
            work_group: placement.work_group,
            slot: self.machine.place(key, placement),
            hint,
        };
        self.units[unit].dispatch.send(ctx, start);
        self.served.insert(unit);
        self.accounting.dispatched(ctx.cycle(), unit);
        self.policy.placed(placement, &self.machine);
        if self.machine.kernels()[key].unplaced == 0 {
            self.waiting.retain(|&waiting| waiting != key);
            self.policy.all_placed(placement.kernel, &self.machine);
        }
        self.policy.changed(placement.unit, &self.machine);
    }
}

/// True if a unit can be sent a message in this cycle.
fn sendable(
    units: &mut [DispatchMaster],
    served: &FixedBitSet,
    ctx: &mut Context<'_>,
    unit: u32,
) -> bool {
    let unit = unit as usize;
    let port = units.get_mut(unit).filter(|_| !served.contains(unit));
    port.is_some_and(|port| port.dispatch.can_send(ctx))
}
