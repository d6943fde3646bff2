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
//! Each unit publishes its resources over its connection; the description may state them too.
//!
//! ```text
//!   role.rs policy.rs     the role, the trait of policies, what they answer
//!   machine.rs unit.rs    the account of kernels and units, which policies may ask
//!   oldest_first.rs       policies of one kernel at a time
//!   policies/             one file per policy
//!   queue_memory.rs       policies whose queues are in memory
//!   limits.rs, said.rs    what units offer: stated, said, compared
//!   dispatch.rs           asks the policy and sends
//!   invalidation.rs       the end of a kernel
//!   second_level.rs       a second level that drops its lines, too
//!   ended_parents.rs      tells units which parents have ended
//!   families.rs           which kernels come from one launch of the host
//!   untimed.rs            kernels of no time
//!   accounting.rs         counters, and what the cycles are charged to
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
mod dispatch;
mod ended_parents;
mod families;
mod invalidation;
mod limits;
mod machine;
mod oldest_first;
mod placement;
mod policies;
mod policy;
mod queue_memory;
mod role;
mod said;
mod second_level;
mod spec;
mod unit;
mod untimed;

#[cfg(test)]
pub(crate) mod tests;

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use warpweave_framework::{
    Component, Contents, Context, Environment, Facts, Functional, FunctionalError, Id, Inspect,
    Kind, Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State, Statistics, Unfit,
    Waits,
};
use warpweave_trace::Program;

use self::accounting::{Accounting, Activity};
use self::ended_parents::EndedParent;
use self::families::Families;
use self::invalidation::Invalidation;
pub use self::limits::StatedLimits;
use self::machine::Running;
pub use self::machine::{Kernel, Machine};
pub use self::oldest_first::{Assignment, OldestFirst, OneKernelPolicy};
pub use self::placement::{Placement, PlacementSite};
pub use self::policies::*;
pub use self::policy::{PlacementChoice, PlacementPolicy, QueueAccess};
use self::queue_memory::{Entering, PendingPlacement};
pub use self::role::WorkGroupPlacement;
use self::said::ReportedLimits;
use self::second_level::SecondLevel;
pub use self::spec::{Announce, InvalidateAt, SecondLevelSpec, WorkGroupSchedulerSpec};
use self::untimed::Replaying;
use crate::kernel_times::{KernelTimes, Moment};
use crate::launch::{Completion, DispatchMaster, KernelDone, KernelReady, ReadySlave};
use crate::memory::MemMaster;

/// Work-group scheduler: places work-groups on compute units; see the [module](self).
#[derive(Ports, State, Statistics)]
pub struct WorkGroupScheduler {
    #[port]
    gmu: ReadySlave,
    #[port]
    units: Vec<DispatchMaster>,
    #[port(optional)]
    memory: MemMaster,
    #[port(flatten)]
    #[state(part)]
    second_level: SecondLevel,
    #[state(skip)]
    spec: WorkGroupSchedulerSpec,
    #[state(flatten)]
    #[statistic(flatten)]
    accounting: Accounting,
    #[state(with = visit_policy)]
    #[statistic(with = report_policy)]
    policy: Box<dyn PlacementPolicy>,
    #[state(flatten)]
    machine: Machine,
    #[state(with = visit_times)]
    times: Option<Arc<KernelTimes>>,
    /// Facts that the units have published.
    #[state(skip)]
    said: ReportedLimits,
    /// Kernels with undispatched work-groups, oldest first.
    waiting: VecDeque<Id>,
    /// A placement that was chosen but has not been made.
    taking: Option<PendingPlacement>,
    entering: Entering,
    /// Request ID of the next access to queue memory.
    next_id: u32,
    /// True if an access was sent in this cycle.
    #[state(skip)]
    access_sent: bool,
    #[state(flatten)]
    families: Families,
    /// Ended parent kernels, and the units not notified yet.
    ended_parents: VecDeque<EndedParent>,
    invalidations: VecDeque<Invalidation>,
    /// Finished kernels that must be reported to the GMU.
    finished: VecDeque<Id>,
    /// Kernel in functional execution; `None` between cycles.
    #[state(skip)]
    replaying: Option<Replaying>,
    /// Units that were sent a message in this cycle.
    #[state(skip)]
    served: FixedBitSet,
}

fn visit_policy(policy: &mut Box<dyn PlacementPolicy>, name: &str, state: &mut State<'_>) {
    state.part(name, |state| policy.state(state));
}

#[allow(clippy::borrowed_box, reason = "the derive passes the field as it is")]
fn report_policy(policy: &Box<dyn PlacementPolicy>, statistics: &mut Statistics<'_>) {
    policy.statistics(statistics);
}

fn visit_times(times: &mut Option<Arc<KernelTimes>>, _name: &str, state: &mut State<'_>) {
    KernelTimes::state(times, Moment::Started, state);
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
        Ok(Self {
            gmu: ReadySlave::default(),
            units: (0..units).map(|_| DispatchMaster::default()).collect(),
            memory: MemMaster::default(),
            policy,
            families: Families::of(&program),
            machine: Machine::new(site, program),
            times: environment.resource::<KernelTimes>(),
            said: ReportedLimits::default(),
            waiting: VecDeque::new(),
            taking: None,
            entering: Entering::default(),
            next_id: 0,
            access_sent: false,
            ended_parents: VecDeque::new(),
            invalidations: VecDeque::new(),
            second_level: SecondLevel::of(spec.second_level),
            finished: VecDeque::new(),
            replaying: None,
            served: FixedBitSet::with_capacity(units),
            accounting: Accounting::new(units),
            spec,
        })
    }
}

impl Component for WorkGroupScheduler {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.served.clear();
        self.access_sent = false;
        self.take_completions(ctx);
        self.go_on_taking(ctx);
        self.send_ends_of_parents(ctx);
        self.send_invalidates(ctx);
        self.finished.extend(self.second_level.go_on(ctx));
        let slices_left = self.second_level.has_unsent();
        let reported = self.report_kernels(ctx);
        self.accept_kernels(ctx);
        self.send_access(ctx);
        let activity = self.dispatch(ctx);
        self.accounting.enter(ctx.cycle(), activity);
        let invalidates_left = self.invalidations.iter().any(|i| !i.unsent.is_clear())
            || !self.ended_parents.is_empty()
            || slices_left;
        let unsent = self.has_unsent_accesses();
        let blocked = activity == Activity::UnitBusy || invalidates_left || unsent;
        let sent = !self.served.is_clear() || self.access_sent;
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
        if port.name == Self::UNITS {
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
        self.policy
            .fits(&limits)
            .map_err(|problem| Unfit::at("policy", problem))?;
        if self.policy.needs_memory() && !self.memory.request.is_connected() {
            return Err(Unfit::at(
                "policy",
                format!(
                    "{} fetches work-groups from memory, but the port `memory` is not connected; wire it to that of a memory, such as `scheduler.memory <-> l2.up`",
                    self.spec.policy.name()
                ),
            ));
        }
        self.machine.equip(limits);
        Ok(())
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
        let ready = *ready.ok_or_else(|| FunctionalError::UnexpectedMessage(port))?;
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
        contents.level("waiting_kernels", self.waiting.len() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        for number in 0..self.machine.site().units() {
            let resident = self.machine.resident(number);
            if resident > 0 {
                waits.on_port(
                    Self::UNITS.at(number).member(DispatchMaster::COMPLETION),
                    format!("{resident} work-groups have not completed"),
                );
            }
        }
        for invalidation in &self.invalidations {
            let kernel = self.machine.kernels()[invalidation.kernel].ready.kernel;
            for unit in invalidation.unanswered.ones() {
                waits.on_port(
                    Self::UNITS
                        .at(unit as u32)
                        .member(DispatchMaster::COMPLETION),
                    format!("the first-level invalidation for kernel {kernel} has not completed"),
                );
            }
        }
        self.second_level.waits(waits);
        for &key in &self.waiting {
            let kernel = &self.machine.kernels()[key];
            waits.inside(format!(
                "{} work-groups of kernel {} have not been dispatched",
                kernel.unplaced, kernel.ready.kernel
            ));
        }
        if let Some(taking) = &self.taking
            && !taking.is_answered()
        {
            waits.on_port(
                "memory.response",
                "a work-group is being fetched from a queue in memory",
            );
        }
    }
}

impl WorkGroupScheduler {
    /// Returns the reason why work-groups of a kernel are not dispatched, or its end is not
    /// reported.
    fn kernel_waits(&self, kernel: &Running) -> Option<&'static str> {
        let number = kernel.ready.kernel;
        let is_this = |key: &Id| self.machine.kernels()[*key].ready.kernel == number;
        if self.invalidations.iter().any(|i| is_this(&i.kernel)) {
            return Some("invalidation of first-level caches");
        }
        if self.second_level.kernels().any(|kernel| is_this(&kernel)) {
            return Some("invalidation of the second-level cache");
        }
        if !self.waiting.iter().any(is_this) {
            return None;
        }
        if !self.waiting.front().is_some_and(is_this) {
            return Some("an earlier kernel");
        }
        match self.accounting.activity() {
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

    fn take_completions(&mut self, ctx: &mut Context<'_>) {
        for unit in 0..self.units.len() {
            while let Some(completion) = self.units[unit].completion.pop(ctx) {
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
                    Completion::Invalidated { kernel } => self.invalidated(unit, kernel),
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
        let Some((key, last)) = self.machine.end(ended, slot) else {
            return false;
        };
        self.accounting.completed(ctx.cycle());
        self.policy.finished(ended, &self.machine);
        self.policy.changed(ended.unit, &self.machine);
        if last {
            self.policy.completed(ended.kernel, &self.machine);
            self.retire(key);
        }
        true
    }

    /// Reports kernels that are done. Returns false if the port to the GMU is full.
    fn report_kernels(&mut self, ctx: &mut Context<'_>) -> bool {
        while let Some(&key) = self.finished.front() {
            let kernel = self.machine.kernels()[key].ready.kernel;
            if self.gmu.done.try_send(ctx, KernelDone { kernel }).is_err() {
                return false;
            }
            self.accounting.kernels_done += 1;
            self.machine.remove(key);
            self.finished.pop_front();
        }
        true
    }

    fn accept_kernels(&mut self, ctx: &mut Context<'_>) {
        while self.machine.kernels().len() < self.spec.kernel_slots as usize {
            let Some(ready) = self.gmu.ready.pop(ctx) else {
                return;
            };
            let accepted = self.machine.accept(ready, ctx.cycle()).and_then(|key| {
                let kernel = self.machine.kernel(ready.kernel);
                let kernel = kernel.expect("the kernel was just accepted");
                self.policy.accepts(&kernel)?;
                self.waiting.push_back(key);
                self.policy.arrived(kernel, &self.machine);
                self.begin_entering(ready.kernel);
                Ok(())
            });
            if let Err(problem) = accepted {
                ctx.fail(problem);
                return;
            }
        }
    }
}
