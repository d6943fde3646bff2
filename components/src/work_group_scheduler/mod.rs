//! Work-group scheduler: places the work-groups of ready kernels on compute units.
//!
//! ```text
//!              ┌────────────────────────────────────────────┐
//!  gmu.ready ─►│ kernels, oldest first ─► policy ─► placement│─► units[i].dispatch
//!              │             account of every unit's         │
//!  gmu.done  ◄─│             slots, registers, memory  ◄─────│◄─ units[i].completion
//!              └────────────────────────────────────────────┘
//! ```
//!
//! A policy chooses the next work-group of the ready kernels and its unit. The standard policies
//! serve the oldest kernel until all its work-groups are dispatched, then the next;
//! [`ShortestQueue`] is an exception. The scheduler keeps an exact account of each unit's resources
//! and checks the policy against it. A work-group is placed once, where it fits, and never moves or
//! gets preempted. After the last work-group of a kernel has completed, every unit invalidates its
//! first-level lines (according to `invalidate_at`). This includes units that still run other
//! kernels. The kernel is done when all have replied. With `FamilyEnd` this applies to the kernel
//! that ends last in the family of one host launch.
//!
//! Work-groups of a placed launch ask where they run, and not for their number. Each executes the
//! work-group of the trace that belongs to its unit and context: its slot, or the count of earlier
//! ones on the unit. Build and run fail unless the launch is placed on all units with as many
//! contexts as each holds, and every context is taken once.
//!
//! A kernel of a cooperative launch begins when all its work-groups fit at once. Later kernels wait
//! until they are placed. If they never fit, the run fails with the numbers.
//!
//! Each unit publishes its resources over its connection; the description may state them too.
//!
//! ```text
//!   mod.rs                the order of steps in a cycle
//!   machine.rs unit.rs    kernels and resources of units, which policies may query
//!   bodies.rs             what the work-groups of a placed launch execute
//!   dispatch.rs           queries the policy and places work-groups
//!   dispatch_ports.rs     ports to the units
//!   queue_memory.rs       accesses to work-group queues in memory
//!   kernel_ends.rs        the end of a kernel, with its steps:
//!     families.rs           kernels that come from one launch of the host
//!     ended_parents.rs      announces ended parents to the units
//!     ended_launchers.rs    announces ended work-groups with children to units that ask
//!     first_level.rs        invalidation in the units
//!     second_level.rs       invalidation in the slices of the second level
//!   accounting.rs         statistics
//!   limits.rs             resources of units as stated
//!   reported_limits.rs    resources as units publish them, compared with those stated
//!   functional.rs         functional execution
//!   role.rs policy.rs     the role, the trait of policies and their answers
//!   oldest_first.rs       policies for one kernel at a time
//!   candidates.rs         candidates of a policy in one query
//!   policies/             one file per policy
//! ```
//!
//! # Ports
//!
//! | Port                  | Direction | Message       | Back-pressure                            |
//! |-----------------------|-----------|---------------|------------------------------------------|
//! | `gmu.ready`           | in        | `KernelReady` | not taken while `kernel_slots` are taken |
//! | `gmu.done`            | out       | `KernelDone`  | the kernel keeps its slot until sent     |
//! | `units[i].dispatch`   | out       | `Dispatch`    | the policy waits for the unit            |
//! | `units[i].completion` | in        | `Completion`  | none: taken in the cycle it is readable  |
//! | `caches[i].command`   | out       | `CacheCommand` | with `second_level`: waits               |
//! | `caches[i].done`      | in        | `CacheCommandDone` | none: taken in the cycle it is readable |
//! | `memory`, optional    | both      | memory        | the placement waits                      |
//!
//! # Timing
//!
//! - `KernelReady` readable in cycle `c`, with a free kernel slot: the first work-group is sent in
//!   cycle `c` if it fits. This assumes that no older kernel has undispatched work-groups. On an
//!   otherwise empty device, work-group number `i` is sent in cycle
//!   `c + i / min(dispatches_per_cycle, u)`. Here `u` units take turns in the policy's order (one
//!   `Dispatch` per unit and cycle) and all work-groups fit.
//! - A completion readable in cycle `d` frees its resources for a dispatch in cycle `d`.
//! - Last completion of a kernel readable in cycle `d`: `Invalidate` is sent to every unit in cycle
//!   `d`, ahead of work-groups. When the last reply is readable in cycle `v`, `KernelDone` is sent
//!   in cycle `v`. Without invalidation it is sent in cycle `d`.
//! - With `second_level`, `CacheCommand` is sent to every slice in cycle `v` (or `d`), and
//!   `KernelDone` when the last reply is readable. Ends of several kernels invalidate the slices
//!   one after the other. Dirty lines stay, as in any cache that is invalidated.
//!
//! - A policy with queues in memory chooses in cycle `c` and sends its accesses from `c`, one per
//!   cycle. When the last reply is readable in cycle `a`, the work-group is sent in cycle `a`.
//!   There is one such placement at a time. A kernel readable in `c` writes its entries to queues
//!   in memory from `c`, one write per cycle, ahead of accesses chosen later.
//!
//! A message without room is sent in the first later cycle with room. `Invalidate` does not count
//! against `dispatches_per_cycle`.
//!
//! # Not modelled
//!
//! Preemption, dispatch pipelines (add latency to the connections instead), and units with
//! different resources.

mod accounting;
mod bodies;
mod candidates;
mod dispatch;
mod dispatch_ports;
mod ended_launchers;
mod ended_parents;
mod families;
mod first_level;
mod fit;
mod functional;
mod kernel_ends;
mod limits;
mod machine;
mod oldest_first;
mod placement;
mod policies;
mod policy;
mod queue_memory;
mod reported_limits;
mod role;
mod second_level;
mod spec;
mod unit;

#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;
use std::sync::Arc;

use warpweave_framework::{
    Component, Contents, Context, Environment, Facts, Functional, FunctionalError, Inspect, Kind,
    Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State, Statistics, Unfit, Waits,
};
use warpweave_trace::Program;

use self::accounting::{Accounting, Activity};
pub use self::candidates::Candidates;
use self::dispatch::Dispatcher;
use self::dispatch_ports::DispatchPorts;
use self::functional::Replaying;
use self::kernel_ends::KernelEnds;
pub use self::limits::StatedLimits;
use self::machine::{Ended, Running};
pub use self::machine::{Kernel, Machine};
pub use self::oldest_first::{Assignment, OldestFirst, OneKernelPolicy};
pub use self::placement::{Placement, PlacementSite};
pub use self::policies::*;
pub use self::policy::{PlacementChoice, PlacementPolicy, QueueAccess};
use self::queue_memory::QueueMemory;
use self::reported_limits::ReportedLimits;
pub use self::role::WorkGroupPlacement;
pub use self::spec::{Announce, InvalidateAt, SecondLevelSpec, WorkGroupSchedulerSpec};
use crate::demands::Demands;
use crate::kernel_times::KernelTimes;
use crate::launch::{Completion, DispatchMaster, KernelReady, ReadySlave};

/// Work-group scheduler: places work-groups on compute units; see the [module](self).
#[derive(Ports, State, Statistics)]
pub struct WorkGroupScheduler {
    #[port]
    gmu: ReadySlave,
    #[port(flatten)]
    units: DispatchPorts,
    #[port(flatten)]
    #[state(flatten)]
    memory: QueueMemory,
    #[port(flatten)]
    #[state(flatten)]
    ends: KernelEnds,
    #[state(flatten)]
    machine: Machine,
    #[state(flatten)]
    #[statistic(flatten)]
    accounting: Accounting,
    #[state(flatten)]
    #[statistic(flatten)]
    dispatcher: Dispatcher,
    #[state(skip)]
    spec: WorkGroupSchedulerSpec,
    /// Resource demands of the program on the units, if known in advance.
    #[state(skip)]
    demands: Option<Arc<Demands>>,
    /// Facts that the units have published.
    #[state(skip)]
    said: ReportedLimits,
    /// Kernel in functional execution; `None` between cycles.
    #[state(skip)]
    replaying: Option<Replaying>,
}

impl Kind for WorkGroupScheduler {
    const NAME: &'static str = "WorkGroupScheduler";
    const SUMMARY: &'static str = "Places work-groups of ready kernels on compute units";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "Work-groups in turn, one per cycle. Source: GPGPU-Sim's SM2_GTX480 configuration",
        ron: include_str!("../../../scenarios/presets/fermi/work_group_scheduler.ron"),
    }];
    type Spec = WorkGroupSchedulerSpec;

    fn build(spec: Self::Spec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let program = environment.resource::<Program>().ok_or_else(|| {
            SpecError::at(
                "",
                "a work-group scheduler needs a program to run, but none was provided",
            )
        })?;
        let site = PlacementSite {
            clusters: spec.clusters,
            units_per_cluster: spec.units_per_cluster,
        };
        let policy = spec.policy.build("policy", environment, &site, 0)?;
        let units = site.units() as usize;
        let times = environment.resource::<KernelTimes>();
        let per_cycle = spec.dispatches_per_cycle;
        Ok(Self {
            gmu: ReadySlave::default(),
            units: DispatchPorts::new(units),
            memory: QueueMemory::default(),
            ends: KernelEnds::new(&spec, &program),
            machine: Machine::new(site, program),
            accounting: Accounting::new(units),
            dispatcher: Dispatcher::new(policy, spec.policy.name(), per_cycle, times),
            spec,
            demands: environment.resource::<Demands>(),
            said: ReportedLimits::default(),
            replaying: None,
        })
    }
}

impl Component for WorkGroupScheduler {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.units.begin_cycle();
        self.memory.begin_cycle();
        self.take_completions(ctx);
        self.memory.take_responses(ctx, &mut self.accounting);
        self.ends
            .send(ctx, &mut self.units, &self.machine, &mut self.accounting);
        let reported =
            self.ends
                .report(ctx, &mut self.gmu, &mut self.machine, &mut self.accounting);
        self.accept_kernels(ctx);
        self.memory.send_access(ctx, &mut self.accounting);
        let activity = self.dispatcher.dispatch(
            ctx,
            &mut self.machine,
            &mut self.units,
            &mut self.memory,
            &mut self.accounting,
        );
        self.accounting.enter(ctx.cycle(), activity);
        let unsent = self.ends.has_unsent() || self.memory.has_unsent();
        let blocked = activity == Activity::UnitBusy || unsent;
        let sent = self.units.any_served() || self.memory.access_sent();
        if activity == Activity::Dispatching || blocked && sent {
            // The next cycle sends more, or finds that nothing fits.
            Next::Busy
        } else if blocked || !reported {
            Next::Credit
        } else if self.machine.kernels().is_empty() {
            Next::Idle
        } else {
            Next::Message
        }
    }

    fn evaluation_cost(&self) -> u64 {
        // About 5000 instructions.
        50
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for WorkGroupScheduler {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        if port.name == DispatchPorts::UNITS {
            facts.publish_from("unit", self.spec.facts());
        }
    }

    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        self.said.learn(port, facts)
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        let said = self.said.agree(&self.spec.unit)?;
        let limits = self.spec.unit.complete(said)?;
        self.said.check_clusters(self.machine.site())?;
        self.dispatcher
            .fits(&limits, &self.memory)
            .map_err(|problem| Unfit::at("policy", problem))?;
        self.machine.equip(limits);
        let asking = self.said.asking();
        self.ends.notify_launchers(self.machine.program(), &asking);
        match &self.demands {
            Some(demands) => self.fit(demands),
            None => Ok(()),
        }
    }
}

impl Functional for WorkGroupScheduler {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        if let Some(Completion::WorkGroup { .. }) = message.downcast_ref() {
            self.go_on_replaying(port.index(), onward);
            return Ok(());
        }
        let ready = message.downcast_ref::<KernelReady>();
        let ready = *ready.ok_or(FunctionalError::UnexpectedMessage(port))?;
        self.replay(ready, onward)
    }
}

impl Inspect for WorkGroupScheduler {
    fn contents(&self, contents: &mut Contents<'_>) {
        for kernel in self.machine.kernels().values() {
            contents
                .thing("kernel", u64::from(kernel.ready.kernel))
                .number("work_groups", u64::from(kernel.work_groups))
                .waits(self.kernel_waits(kernel));
        }
        contents.level("resident_work_groups", self.accounting.resident());
        contents.level("waiting_kernels", self.dispatcher.waiting().len() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        for number in 0..self.machine.site().units() {
            let resident = self.machine.resident(number);
            if resident > 0 {
                waits.on_port(
                    DispatchPorts::UNITS
                        .at(number)
                        .member(DispatchMaster::COMPLETION),
                    format!("{resident} work-groups have not completed"),
                );
            }
        }
        self.ends.waits(&self.machine, waits);
        self.dispatcher.waits(&self.machine, waits);
        self.memory.waits(waits);
    }
}

impl WorkGroupScheduler {
    /// Returns the reason why work-groups of a kernel are not dispatched, or its end is not
    /// reported.
    fn kernel_waits(&self, kernel: &Running) -> Option<&'static str> {
        let number = kernel.ready.kernel;
        let is_this = |key| self.machine.kernels()[key].ready.kernel == number;
        let activity = self.accounting.activity();
        let ends = self.ends.wait_reason(is_this);
        ends.or_else(|| self.dispatcher.wait_reason(is_this, activity))
    }

    fn take_completions(&mut self, ctx: &mut Context<'_>) {
        for unit in 0..self.units.count() {
            while let Some(completion) = self.units.pop(ctx, unit) {
                let known = match completion {
                    Completion::WorkGroup {
                        kernel,
                        work_group,
                        slot,
                    } => {
                        let ended = Placement {
                            kernel,
                            work_group,
                            unit: unit as u32,
                        };
                        self.complete(ctx, ended, slot)
                    }
                    Completion::Invalidated { kernel } => {
                        self.ends.invalidated(unit, kernel, &self.machine)
                    }
                };
                if !known {
                    ctx.fail(format!(
                        "compute unit {unit} sent {completion:?}, which matches no request"
                    ));
                }
            }
        }
    }

    /// Handles the end of a work-group. Returns false if no such work-group exists.
    fn complete(&mut self, ctx: &mut Context<'_>, ended: Placement, slot: u16) -> bool {
        let Some(Ended {
            kernel,
            work_group,
            is_last,
        }) = self.machine.end(ended, slot)
        else {
            return false;
        };
        self.ends
            .work_group_ended(ended.kernel, ended.work_group, ended.unit);
        let ended = Placement {
            work_group,
            ..ended
        };
        self.accounting.completed(ctx.cycle());
        self.dispatcher.ended(ended, is_last, &self.machine);
        if is_last {
            self.ends.begin(kernel, &self.machine, &self.units);
        }
        true
    }

    fn accept_kernels(&mut self, ctx: &mut Context<'_>) {
        while self.machine.kernels().len() < self.spec.kernel_slots as usize {
            let waiting = self.gmu.ready.peek(ctx);
            if !waiting.is_some_and(|ready| self.machine.may_begin(ready.kernel)) {
                return;
            }
            let Some(ready) = self.gmu.ready.pop(ctx) else {
                return;
            };
            let accepted = self.machine.accept(ready, ctx.cycle());
            let accepted = accepted
                .and_then(|key| (self.dispatcher).accept(key, &self.machine, &mut self.memory));
            if let Err(problem) = accepted {
                ctx.fail(problem);
                return;
            }
        }
    }
}
