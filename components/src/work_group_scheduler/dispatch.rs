//! Dispatch: queries the policy, checks its choice against the free resources, and sends the
//! work-group.

use std::collections::VecDeque;
use std::sync::Arc;

use warpweave_framework::{Context, Id, State, Statistics, Waits};

use super::accounting::{Accounting, Activity};
use super::dispatch_ports::DispatchPorts;
use super::machine::{Kernel, Machine, Running, Started};
use super::queue_memory::{Pending, QueueMemory};
use super::{Placement, PlacementChoice, PlacementPolicy, QueueAccess};
use crate::kernel_times::{KernelTimes, Moment};
use crate::launch::{Dispatch, KernelReady};
use crate::occupancy::UnitLimits;

/// Policy with the kernels whose work-groups it places.
#[derive(State, Statistics)]
pub(super) struct Dispatcher {
    #[state(part)]
    #[statistic(flatten)]
    policy: Box<dyn PlacementPolicy>,
    /// Name of the policy, used in messages.
    #[state(skip)]
    policy_name: String,
    /// Maximum number of work-groups sent per cycle.
    #[state(skip)]
    per_cycle: u32,
    /// Kernels with undispatched work-groups, oldest first.
    waiting: VecDeque<Id>,
    #[state(with = visit_times)]
    times: Option<Arc<KernelTimes>>,
}

fn visit_times(times: &mut Option<Arc<KernelTimes>>, _name: &str, state: &mut State<'_>) {
    KernelTimes::state(times, Moment::Started, state);
}

impl Dispatcher {
    pub(super) fn new(
        policy: Box<dyn PlacementPolicy>,
        policy_name: &str,
        per_cycle: u32,
        times: Option<Arc<KernelTimes>>,
    ) -> Self {
        Self {
            policy,
            policy_name: policy_name.to_owned(),
            per_cycle,
            waiting: VecDeque::new(),
            times,
        }
    }

    /// Checks that the policy works with these units and with the queue memory as connected.
    ///
    /// # Errors
    /// Returns the reason why it does not.
    pub(super) fn fits(&self, limits: &UnitLimits, memory: &QueueMemory) -> Result<(), String> {
        self.policy.fits(limits)?;
        if self.policy.needs_memory() && !memory.is_connected() {
            return Err(format!(
                "{} fetches work-groups from memory, but the port `memory` is not connected; wire it to that of a memory, such as `scheduler.memory <-> l2.up`",
                self.policy_name
            ));
        }
        Ok(())
    }

    /// Checks that the policy can place a kernel of which a unit holds at least one work-group.
    ///
    /// # Errors
    /// Returns the reason why it cannot.
    pub(super) fn accepts(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        self.policy.accepts(kernel)
    }

    /// Takes over a kernel that the machine has accepted.
    ///
    /// # Errors
    /// Returns the reason why the policy cannot place it.
    pub(super) fn accept(
        &mut self,
        key: Id,
        machine: &Machine,
        memory: &mut QueueMemory,
    ) -> Result<(), String> {
        let number = machine.kernels()[key].ready.kernel;
        let kernel = machine.kernel(number);
        let kernel = kernel.expect("the kernel was just accepted");
        self.policy.accepts(&kernel)?;
        self.waiting.push_back(key);
        self.policy.arrived(kernel, machine);
        let mut writes = Vec::new();
        self.policy.entries(&mut writes);
        memory.begin_entering(number, &writes);
        Ok(())
    }

    /// Tells the policy of the end of a work-group; `last` if it was the last one of its kernel.
    #[inline]
    pub(super) fn ended(&mut self, ended: Placement, last: bool, machine: &Machine) {
        self.policy.finished(ended, machine);
        self.policy.changed(ended.unit, machine);
        if last {
            self.policy.completed(ended.kernel, machine);
        }
    }

    /// Dispatches all work-groups possible in this cycle and returns the resulting activity.
    pub(super) fn dispatch(
        &mut self,
        ctx: &mut Context<'_>,
        machine: &mut Machine,
        units: &mut DispatchPorts,
        memory: &mut QueueMemory,
        accounting: &mut Accounting,
    ) -> Activity {
        for sent in 0..self.per_cycle {
            let stalled = if self.waiting.is_empty() {
                Activity::NoWork
            } else {
                let next = self.next_placement(ctx, machine, units, memory, accounting);
                let placed = next
                    .and_then(|placement| self.place(ctx, placement, machine, units, accounting));
                match placed {
                    Ok(()) => continue,
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
    fn next_placement(
        &mut self,
        ctx: &mut Context<'_>,
        machine: &Machine,
        units: &mut DispatchPorts,
        memory: &mut QueueMemory,
        accounting: &mut Accounting,
    ) -> Result<Placement, Activity> {
        let placement = match memory.pending() {
            Pending::Unanswered => return Err(Activity::QueueMemory),
            Pending::Answered(placement) => placement,
            Pending::None => {
                let placement = self.choose(ctx, machine, units)?;
                let mut accesses = Vec::new();
                self.policy.accesses(placement, machine, &mut accesses);
                if !accesses.is_empty() {
                    self.begin_taking(ctx, placement, &accesses, memory, accounting);
                    return Err(Activity::QueueMemory);
                }
                placement
            }
        };
        if !units.can_send(ctx, placement.unit as usize) {
            memory.keep(placement);
            return Err(Activity::UnitBusy);
        }
        memory.made();
        Ok(placement)
    }

    /// Queries the policy for a placement and checks it.
    fn choose(
        &mut self,
        ctx: &mut Context<'_>,
        machine: &Machine,
        units: &mut DispatchPorts,
    ) -> Result<Placement, Activity> {
        let mut sendable = |unit| units.can_send(ctx, unit as usize);
        match self.policy.choose(machine, &mut sendable) {
            PlacementChoice::Place(placement) => {
                let checked = machine.check(placement);
                checked.map_err(|problem| self.refuse(ctx, placement, &problem))?;
                Ok(placement)
            }
            PlacementChoice::UnitBusy => Err(Activity::UnitBusy),
            PlacementChoice::HeldBack => Err(Activity::HeldBack),
            PlacementChoice::UnitsFull => {
                let oldest = self.waiting.front().map(|&key| &machine.kernels()[key]);
                Err(oldest.map_or(Activity::NoWork, |oldest| Activity::full(oldest.limiter())))
            }
        }
    }

    /// Fails the run because of a placement of the policy.
    fn refuse(&self, ctx: &mut Context<'_>, placement: Placement, problem: &str) -> Activity {
        let Placement {
            kernel,
            work_group,
            unit,
        } = placement;
        ctx.fail(format!(
            "the placement {} put work-group {work_group} of kernel {kernel} on unit {unit}: {problem}",
            self.policy_name
        ));
        Activity::HeldBack
    }

    /// Starts the accesses that a placement needs.
    fn begin_taking(
        &self,
        ctx: &mut Context<'_>,
        placement: Placement,
        accesses: &[QueueAccess],
        memory: &mut QueueMemory,
        accounting: &mut Accounting,
    ) {
        if memory.is_connected() {
            memory.begin_taking(ctx, placement, accesses, accounting);
        } else {
            ctx.fail(format!(
                "the placement {} fetches work-groups from memory, but the port `memory` is not connected",
                self.policy_name
            ));
        }
    }

    /// Sends a work-group to its unit and updates the accounts. Fails the run if a placed launch
    /// has no context for it.
    fn place(
        &mut self,
        ctx: &mut Context<'_>,
        placement: Placement,
        machine: &mut Machine,
        units: &mut DispatchPorts,
        accounting: &mut Accounting,
    ) -> Result<(), Activity> {
        let key = machine.key_of(placement.kernel);
        let key = key.expect("a placement is checked when chosen");
        let unit = placement.unit as usize;
        let Running {
            ready: KernelReady { hint, .. },
            unplaced,
            work_groups,
            ..
        } = machine.kernels()[key];
        let started = machine.place(key, placement);
        let Started { slot, body } =
            started.map_err(|problem| self.refuse(ctx, placement, &problem))?;
        if unplaced == work_groups
            && let Some(times) = &self.times
        {
            times.record(ctx, Moment::Started, placement.kernel);
        }
        let start = Dispatch::Start {
            kernel: placement.kernel,
            work_group: body,
            slot,
            hint,
        };
        units.send(ctx, unit, start);
        accounting.dispatched(ctx.cycle(), unit);
        self.policy.placed(placement, machine);
        if machine.kernels()[key].unplaced == 0 {
            self.waiting.retain(|&waiting| waiting != key);
            self.policy.all_placed(placement.kernel, machine);
        }
        self.policy.changed(placement.unit, machine);
        Ok(())
    }

    /// Returns the kernels with undispatched work-groups, oldest first.
    pub(super) fn waiting(&self) -> &VecDeque<Id> {
        &self.waiting
    }

    /// Returns the reason why work-groups of a kernel are not dispatched, if there are any.
    pub(super) fn wait_reason(
        &self,
        is_this: impl Fn(Id) -> bool,
        activity: Activity,
    ) -> Option<&'static str> {
        let place = self.waiting.iter().position(|&key| is_this(key))?;
        if place > 0 {
            return Some("an earlier kernel");
        }
        match activity {
            Activity::NoWork | Activity::Dispatching => None,
            Activity::UnitBusy => Some("room in the wire to a unit"),
            Activity::HeldBack => Some("the policy"),
            Activity::QueueMemory => Some("a queue in memory"),
            Activity::WorkGroupSlots => Some("work-group slots"),
            Activity::WavefrontSlots => Some("wavefront slots"),
            Activity::Registers => Some("registers"),
            Activity::LocalMemory => Some("local memory"),
        }
    }

    pub(super) fn waits(&self, machine: &Machine, waits: &mut Waits<'_>) {
        for &key in &self.waiting {
            let kernel = &machine.kernels()[key];
            waits.inside(format!(
                "{} work-groups of kernel {} have not been dispatched",
                kernel.unplaced, kernel.ready.kernel
            ));
        }
    }
}
