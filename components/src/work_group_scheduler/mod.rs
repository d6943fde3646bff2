//! The work-group scheduler: places the work-groups of ready kernels on compute units.
//!
//! ```text
//!              ┌────────────────────────────────────────────┐
//!  gmu.ready ─►│ kernels, oldest first ─► policy ─► placement│─► units[i].dispatch
//!              │             account of every unit's         │
//!  gmu.done  ◄─│             slots, registers, memory  ◄─────│◄─ units[i].completion
//!              └────────────────────────────────────────────┘
//! ```
//!
//! The oldest ready kernel is served until it has no undispatched work-groups, then the next. The
//! scheduler keeps an exact account of the resources of each unit and dispatches only what fits;
//! a work-group never moves and is never preempted. When the last work-group of a kernel has
//! completed, every unit is told to drop its first-level lines (if `invalidate_at_kernel_end`),
//! also units that still run other kernels, and the kernel is done when all have answered. With
//! `keep_lines_beside_others` nothing is dropped while work-groups of other kernels are resident.
//!
//! One file per policy, behind the trait of `policy.rs`; `unit.rs` is the account of one compute
//! unit, `invalidation.rs` the end of a kernel, `activity.rs` what the cycles are charged to.
//!
//! # Ports
//!
//! | Port                  | Direction | Message       | Back-pressure                            |
//! |-----------------------|-----------|---------------|------------------------------------------|
//! | `gmu.ready`           | in        | `KernelReady` | not taken while `kernel_slots` are taken |
//! | `gmu.done`            | out       | `KernelDone`  | the kernel keeps its slot until sent     |
//! | `units[i].dispatch`   | out       | `Dispatch`    | the policy waits for the unit            |
//! | `units[i].completion` | in        | `Completion`  | none: taken in the cycle it is readable  |
//!
//! # Timing
//!
//! - `KernelReady` readable in cycle `c`, a kernel slot free: its first work-group is sent in cycle
//!   `c` if no older kernel has undispatched ones and it fits. Work-group number `i` of an
//!   otherwise empty machine is sent in cycle `c + i / min(dispatches_per_cycle, u)`, where `u`
//!   units take turns in the policy's order (one `Dispatch` per unit and cycle) and all fit.
//! - A completion readable in cycle `d` frees its resources for a dispatch in cycle `d`.
//! - Last completion of a kernel readable in cycle `d`: `Invalidate` is sent to every unit in cycle
//!   `d`, ahead of work-groups; with the last answer readable in cycle `v`, `KernelDone` is sent in
//!   cycle `v`. Without invalidation it is sent in cycle `d`.
//!
//! Everything is sent in the first later cycle with room if there is none. `Invalidate` does not
//! count against `dispatches_per_cycle`.
//!
//! # Not modelled
//!
//! Queues of work-groups per unit, priorities, preemption, dispatch pipelines (add latency to the
//! wires).

mod activity;
mod demand;
mod distributed;
mod distributed_block;
mod global_round_robin;
mod greedy_clustering;
mod invalidation;
mod ordered;
mod policy;
mod pools;
mod spec;
mod two_level;
mod unit;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Environment, Histogram, Id, IdTable, Kind, Level, Next, Ports,
    Preset, SpecError, State, Statistics, Waits,
};
use warpweave_trace::Program;

use self::activity::{ACTIVITIES, Activity};
use self::invalidation::Invalidation;
pub use self::policy::WorkGroupPolicy;
use self::policy::{Choice, Machine, Placement, Policy};
pub use self::spec::WorkGroupSchedulerSpec;
use self::unit::Unit;
use crate::launch::{Completion, Dispatch, DispatchMaster, KernelDone, ReadySlave};
use crate::occupancy::{Limiter, WorkGroupNeeds};

/// What the program says of a kernel.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Shape {
    work_groups: u32,
    needs: WorkGroupNeeds,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Kernel {
    number: u32,
    shape: Shape,
    limiter: Limiter,
    dispatched: u32,
    completed: u32,
}

/// Places work-groups on compute units; see the [module](self).
pub struct WorkGroupScheduler {
    gmu: ReadySlave,
    ports: Vec<DispatchMaster>,
    spec: WorkGroupSchedulerSpec,
    shapes: Vec<Shape>,
    policy: Box<dyn Policy>,
    units: Vec<Unit>,
    kernels: IdTable<Kernel>,
    /// Kernels with undispatched work-groups, oldest first; the policy works on the first.
    waiting: VecDeque<Id>,
    invalidations: VecDeque<Invalidation>,
    /// Kernels to be reported to the GMU.
    finished: VecDeque<Id>,
    /// Units sent something in this cycle.
    served: FixedBitSet,
    activity: Activity,
    activities: [Level; 8],
    resident: Level,
    dispatched: u64,
    completed: u64,
    kernels_done: u64,
    invalidates_sent: u64,
    dispatched_by_unit: Vec<u64>,
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
                "a work-group scheduler needs a program to run, and none was given",
            )
        })?;
        let machine = Machine {
            clusters: spec.clusters,
            units_per_cluster: spec.units_per_cluster,
        };
        let units = machine.units() as usize;
        let shapes = program.kernels.iter().map(|kernel| Shape {
            work_groups: kernel.work_groups(),
            needs: WorkGroupNeeds::of(kernel),
        });
        let mut activities: [Level; 8] = Default::default();
        activities[Activity::NoWork as usize].set(0, 1);
        Ok(Self {
            gmu: ReadySlave::default(),
            ports: (0..units).map(|_| DispatchMaster::default()).collect(),
            shapes: shapes.collect(),
            policy: spec.policy.build(machine),
            units: (0..units).map(|_| Unit::new(&spec.unit)).collect(),
            kernels: IdTable::default(),
            waiting: VecDeque::new(),
            invalidations: VecDeque::new(),
            finished: VecDeque::new(),
            served: FixedBitSet::with_capacity(units),
            activity: Activity::NoWork,
            activities,
            resident: Level::default(),
            dispatched: 0,
            completed: 0,
            kernels_done: 0,
            invalidates_sent: 0,
            dispatched_by_unit: vec![0; units],
            spec,
        })
    }
}

impl Component for WorkGroupScheduler {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("gmu", &mut self.gmu);
        ports.bundles("units", &mut self.ports);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        self.served.clear();
        self.take_completions(ctx);
        self.send_invalidates(ctx);
        let reported = self.report_kernels(ctx);
        self.accept_kernels(ctx);
        let activity = self.dispatch(ctx);
        self.enter(ctx.cycle(), activity);
        let invalidates_left = self.invalidations.iter().any(|i| !i.unsent.is_clear());
        let blocked = activity == Activity::UnitBusy || invalidates_left;
        if activity == Activity::Dispatching || blocked && !self.served.is_clear() {
            // The next cycle sends more, or finds that nothing fits.
            Next::Busy
        } else if blocked || !reported {
            Next::Credit
        } else if self.kernels.is_empty() {
            Next::Idle
        } else {
            Next::Message
        }
    }

    fn state(&mut self, state: &mut State<'_>) {
        // `served` is of the current cycle only.
        state.part("policy", |state| self.policy.state(state));
        state.array("units", &mut self.units);
        state.field("kernels", &mut self.kernels);
        state.field("waiting", &mut self.waiting);
        state.field("invalidations", &mut self.invalidations);
        state.field("finished", &mut self.finished);
        state.field("activity", &mut self.activity);
        state.array("activities", &mut self.activities);
        state.field("resident", &mut self.resident);
        state.field("dispatched", &mut self.dispatched);
        state.field("completed", &mut self.completed);
        state.field("kernels_done", &mut self.kernels_done);
        state.field("invalidates_sent", &mut self.invalidates_sent);
        state.array("dispatched_by_unit", &mut self.dispatched_by_unit);
    }

    fn evaluation_cost(&self) -> u64 {
        // About 5000 instructions.
        50
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let mut count = |name, unit, meaning, value| statistics.counter(name, unit, meaning, value);
        count(
            "kernels_done",
            "kernels",
            "kernels reported as done",
            self.kernels_done,
        );
        count(
            "work_groups_dispatched",
            "work-groups",
            "work-groups sent to compute units",
            self.dispatched,
        );
        count(
            "work_groups_completed",
            "work-groups",
            "work-groups that compute units reported as completed",
            self.completed,
        );
        count(
            "invalidates_sent",
            "messages",
            "compute units told to drop their first-level lines",
            self.invalidates_sent,
        );
        for (&(name, meaning), level) in ACTIVITIES.iter().zip(&self.activities) {
            count(name, "cycles", meaning, level.integral(cycle));
        }
        count(
            "resident_work_groups_max",
            "work-groups",
            "most work-groups on the machine at a time",
            self.resident.max(),
        );
        statistics.gauge(
            "resident_work_groups",
            "work-groups",
            "mean number of work-groups on the machine",
            self.resident.mean(cycle),
        );
        let mut by_unit = Histogram::default();
        for &work_groups in &self.dispatched_by_unit {
            by_unit.record(work_groups);
        }
        statistics.histogram(
            "work_groups_per_unit",
            "work-groups",
            "distribution over compute units of the work-groups dispatched to each",
            &by_unit,
        );
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        for kernel in self.kernels.values() {
            contents
                .thing("kernel", u64::from(kernel.number))
                .number("work_groups", u64::from(kernel.shape.work_groups))
                .waits(self.kernel_waits(kernel));
        }
        contents.level("resident_work_groups", self.resident.value());
        contents.level("waiting_kernels", self.waiting.len() as u64);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        for (number, unit) in self.units.iter().enumerate() {
            let resident = unit.resident();
            if resident > 0 {
                waits.on_port(
                    format!("units[{number}].completion"),
                    format!("{resident} work-groups have not completed"),
                );
            }
        }
        for invalidation in &self.invalidations {
            let kernel = self.kernels[invalidation.kernel].number;
            for unit in invalidation.unanswered.ones() {
                waits.on_port(
                    format!("units[{unit}].completion"),
                    format!("first-level lines of kernel {kernel} are not reported as dropped"),
                );
            }
        }
        for &key in &self.waiting {
            let kernel = &self.kernels[key];
            let left = kernel.shape.work_groups - kernel.dispatched;
            waits.inside(format!(
                "{left} work-groups of kernel {} are not dispatched",
                kernel.number
            ));
        }
    }
}

impl WorkGroupScheduler {
    /// Why work-groups of a kernel are not dispatched, or its end not reported.
    fn kernel_waits(&self, kernel: &Kernel) -> Option<&'static str> {
        let is_this = |key: &Id| self.kernels[*key].number == kernel.number;
        if self.invalidations.iter().any(|i| is_this(&i.kernel)) {
            return Some("first-level caches drop their lines");
        }
        if !self.waiting.iter().any(is_this) {
            return None;
        }
        if !self.waiting.front().is_some_and(is_this) {
            return Some("an earlier kernel");
        }
        match self.activity {
            Activity::NoWork | Activity::Dispatching => None,
            Activity::UnitBusy => Some("room in the wire to a unit"),
            Activity::HeldBack => Some("the policy"),
            Activity::WorkGroupSlots => Some("work-group slots"),
            Activity::WavefrontSlots => Some("wavefront slots"),
            Activity::Registers => Some("registers"),
            Activity::LocalMemory => Some("local memory"),
        }
    }

    fn take_completions(&mut self, ctx: &mut Context<'_>) {
        for unit in 0..self.ports.len() {
            while let Some(completion) = self.ports[unit].completion.pop(ctx) {
                let known = match completion {
                    Completion::WorkGroup {
                        kernel,
                        work_group,
                        slot,
                    } => self.complete(ctx, unit, slot, (kernel, work_group)),
                    Completion::Invalidated { kernel } => self.invalidated(unit, kernel),
                };
                if !known {
                    ctx.fail(format!(
                        "compute unit {unit} answers {completion:?}, which it was not asked for"
                    ));
                }
            }
        }
    }

    /// A work-group has ended. False when there is none such.
    fn complete(
        &mut self,
        ctx: &mut Context<'_>,
        unit: usize,
        slot: u16,
        (number, work_group): (u32, u32),
    ) -> bool {
        let Some(resident) = self.units[unit].resident_in(slot) else {
            return false;
        };
        let key = resident.kernel;
        let kernel = &mut self.kernels[key];
        if kernel.number != number || resident.work_group != work_group {
            return false;
        }
        kernel.completed += 1;
        let last = kernel.completed == kernel.shape.work_groups;
        self.units[unit].end(slot);
        self.completed += 1;
        self.resident.sub(ctx.cycle(), 1);
        self.tell_policy(unit);
        if last {
            self.retire(key);
        }
        true
    }

    /// Reports kernels that are done. False when the way to the GMU is full.
    fn report_kernels(&mut self, ctx: &mut Context<'_>) -> bool {
        while let Some(&key) = self.finished.front() {
            let kernel = self.kernels[key].number;
            if self.gmu.done.try_send(ctx, KernelDone { kernel }).is_err() {
                return false;
            }
            self.kernels_done += 1;
            self.kernels.remove(key);
            self.finished.pop_front();
        }
        true
    }

    fn accept_kernels(&mut self, ctx: &mut Context<'_>) {
        while self.kernels.len() < self.spec.kernel_slots as usize {
            let Some(ready) = self.gmu.ready.pop(ctx) else {
                return;
            };
            let number = ready.kernel;
            let Some(&shape) = self.shapes.get(number as usize) else {
                ctx.fail(format!(
                    "the GMU hands down kernel {number}, but the program has {}",
                    self.shapes.len()
                ));
                return;
            };
            let occupancy = self.spec.unit.occupancy(&shape.needs);
            if occupancy.work_groups == 0 {
                ctx.fail(self.never_fits(number, &shape.needs));
                return;
            }
            if self.spec.policy == WorkGroupPolicy::DistributedBlock && occupancy.work_groups < 2 {
                ctx.fail(format!(
                    "DistributedBlock places pairs of work-groups, but a compute unit holds only \
                     one of kernel {number}, bounded by {:?}; choose Distributed",
                    occupancy.limiter
                ));
                return;
            }
            let key = self.kernels.insert(Kernel {
                number,
                shape,
                limiter: occupancy.limiter,
                dispatched: 0,
                completed: 0,
            });
            self.waiting.push_back(key);
            if self.waiting.len() == 1 {
                self.begin(key);
            }
        }
    }

    fn never_fits(&self, number: u32, needs: &WorkGroupNeeds) -> String {
        let unit = &self.spec.unit;
        format!(
            "a work-group of kernel {number} never fits a compute unit: it needs {} wavefronts of \
             {} registers each and {} bytes of local memory; a unit has {} wavefront slots, {} \
             registers in {} partitions and {} bytes",
            needs.wavefronts,
            unit.registers_per_wavefront(needs.registers_per_thread),
            needs.local_bytes,
            unit.wavefront_slots,
            unit.registers,
            unit.register_partitions,
            unit.local_memory_bytes
        )
    }

    /// The policy turns to a kernel.
    fn begin(&mut self, key: Id) {
        self.policy.begin(self.kernels[key].shape.work_groups);
        for unit in 0..self.units.len() {
            self.tell_policy(unit);
        }
    }

    /// Tells the policy what holds for a unit now.
    fn tell_policy(&mut self, number: usize) {
        if let Some(&key) = self.waiting.front() {
            let unit = &self.units[number];
            let room = unit.room(&self.spec.unit, &self.kernels[key].shape.needs);
            self.policy.update(number as u32, unit.resident(), room);
        }
    }

    fn dispatch(&mut self, ctx: &mut Context<'_>) -> Activity {
        for sent in 0..self.spec.dispatches_per_cycle {
            let Some(&key) = self.waiting.front() else {
                return if sent > 0 {
                    Activity::Dispatching
                } else {
                    Activity::NoWork
                };
            };
            let Self {
                policy,
                ports,
                served,
                ..
            } = self;
            let choice = policy.choose(&mut |unit| {
                let unit = unit as usize;
                !served.contains(unit) && ports[unit].dispatch.can_send(ctx)
            });
            let stalled = match choice {
                Choice::Place(placement) => {
                    self.place(ctx, key, placement);
                    continue;
                }
                Choice::UnitBusy => Activity::UnitBusy,
                Choice::HeldBack => Activity::HeldBack,
                Choice::UnitsFull => Activity::full(self.kernels[key].limiter),
            };
            return if sent > 0 {
                Activity::Dispatching
            } else {
                stalled
            };
        }
        Activity::Dispatching
    }

    /// Dispatches a work-group of the kernel whose turn it is.
    fn place(&mut self, ctx: &mut Context<'_>, key: Id, placement: Placement) {
        let Placement { work_group, unit } = placement;
        let number = unit as usize;
        let kernel = &mut self.kernels[key];
        let slot = self.units[number].start(&self.spec.unit, &kernel.shape.needs, key, work_group);
        let start = Dispatch::Start {
            kernel: kernel.number,
            work_group,
            slot,
        };
        self.ports[number].dispatch.send(ctx, start);
        kernel.dispatched += 1;
        let exhausted = kernel.dispatched == kernel.shape.work_groups;
        self.served.insert(number);
        self.dispatched += 1;
        self.dispatched_by_unit[number] += 1;
        self.resident.add(ctx.cycle(), 1);
        self.policy.placed(placement);
        if exhausted {
            self.waiting.pop_front();
            if let Some(&next) = self.waiting.front() {
                self.begin(next);
            }
        } else {
            self.tell_policy(number);
        }
    }

    /// Charges the cycles from this one on to `activity`.
    fn enter(&mut self, cycle: u64, activity: Activity) {
        if self.activity != activity {
            self.activities[self.activity as usize].set(cycle, 0);
            self.activities[activity as usize].set(cycle, 1);
            self.activity = activity;
        }
    }
}
