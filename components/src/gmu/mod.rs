//! Grid management unit (GMU): hardware work queues and a pool of pending kernels.
//!
//! ```text
//!                ┌──────────────────────────────────────────────┐
//!  host.launch ─►│ pending pool ─► work queue 0  ─ head ─┐      │ scheduler.ready
//!                │  (FCFS)      ─► work queue 1  ─ head ─┼─►────┼────────────────►
//!                │              ─► …                     ┘      │
//!  device      ─►│                                              │
//!  host.done   ◄─┼──────────────────────────────────────────────┼◄ scheduler.done
//!                └──────────────────────────────────────────────┘
//! ```
//!
//! Kernels of one stream run strictly in sequence. A work queue belongs to one stream as long as it
//! holds a kernel, and only its head runs. Heads of different queues run concurrently. An arriving
//! kernel joins the queue of its stream. An empty queue (lowest number first) goes to a kernel
//! whose stream has no queue, chosen by the policy `order`. The other kernels wait in the pool and
//! follow the first of their stream into its queue, if it has room (LASER, section 3.2).
//!
//! # Ports
//!
//! | Port              | Direction | Message        | Back-pressure                              |
//! |-------------------|-----------|----------------|--------------------------------------------|
//! | `host.launch`     | in        | `KernelLaunch` | not taken while queue and pool are full    |
//! | `device`          | in, optional | `KernelLaunch` | not taken while queue and pool are full  |
//! | `host.done`       | out       | `KernelDone`   | completions stay in `scheduler.done`       |
//! | `scheduler.ready` | out       | `KernelReady`  | heads wait, in the order of their cycles   |
//! | `scheduler.done`  | in        | `KernelDone`   | taken when `host.done` has room            |
//!
//! # Timing
//!
//! - A launch readable in cycle `c` enters a queue or the pool in cycle `c`, if either has room.
//! - A kernel of `w` work-groups that becomes head in cycle `h` is sent as `KernelReady` in cycle
//!   `h + dispatch_latency_cycles + w × work_group_latency_cycles`. If there is no room, it is sent
//!   in the first later cycle with room. With an empty queue and a second latency of 0, a launch
//!   readable in `c` is sent in `c + dispatch_latency_cycles`.
//! - A completion readable in cycle `d` is sent to the host in cycle `d`. The next kernel of the
//!   queue, or one from the pool, becomes head in the same cycle.
//!
//! - The policy is queried when a queue empties, or when a launch arrives while one is empty.
//!   Queries repeat in that cycle until it picks none of the waiting kernels.
//!
//! # Not modelled
//!
//! Preemption of kernels that are already running.
//!
//! # Families
//!
//! A kernel is complete when its own work-groups and all its descendants launched from the device
//! are complete. Its *queue* is free when its own work-groups are done. Otherwise kernels whose
//! children wait for a queue would occupy all queues. Its *stream* is not free yet: kernels of the
//! stream return to the front of the pool until the family is complete (LASER, section 3.3).
//! Completions of device-side kernels are also sent to the host, each before that of its parent.
//!
//! A kernel in the tail-launch stream of its parent waits in the pool. It waits until the parent's
//! work-groups are done, and every other kernel that the parent launched is complete. Those of one
//! stream follow each other by kernel number, each with all its descendants. They take no room of
//! the pool while they wait: those that they wait for may need it.
//!
//! ```text
//!   queues.rs            what moves where: launches, pool, queues
//!   families.rs          who waits for whom: kernels and those they launched
//!   order.rs             the role of kernel orders and their trait
//!   fcfs.rs priority.rs by_reuse.rs    kernel orders
//!   spec.rs accounting.rs    settings; statistics
//! ```

mod accounting;
mod by_reuse;
mod families;
mod fcfs;
mod order;
mod priority;
mod queues;
mod spec;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Functional, FunctionalError, Id, IdTable,
    InPort, Inspect, Kind, Next, Onward, PortId, Ports, Preset, Registry, SpecError, State,
    Statistics, Waits,
};

use self::accounting::{LaunchCounts, LaunchSource, Occupancy};
pub use self::by_reuse::ByReuse;
use self::families::Families;
pub use self::fcfs::Fcfs;
pub use self::order::{EmptyQueue, KernelOrder, OrderPolicy, OrderSite, PendingKernel};
pub use self::priority::{Priority, PrioritySpec};
pub use self::spec::GmuSpec;
use crate::launch::{KernelDone, KernelLaunch, KernelReady, LaunchSlave, ReadyMaster};
use warpweave_trace::Program;

/// Registers the kernel orders of this module.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<ByReuse>();
    registry.register_policy::<Fcfs>();
    registry.register_policy::<Priority>();
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    launch: KernelLaunch,
    arrived: Cycle,
    /// True if the kernel was sent to the work-group scheduler.
    sent: bool,
}

/// One hardware work queue; belongs to no stream while empty.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WorkQueue {
    stream: u32,
    kernels: VecDeque<Id>,
}

/// Grid management unit: queues kernels and runs one per stream; see the [module](self).
#[derive(Ports, State, Statistics)]
pub struct Gmu {
    #[port]
    host: LaunchSlave,
    #[port(optional)]
    device: InPort<KernelLaunch>,
    #[port]
    scheduler: ReadyMaster,
    #[state(skip)]
    spec: GmuSpec,
    kernels: IdTable<InFlight>,
    #[state(array)]
    queues: Vec<WorkQueue>,
    pool: VecDeque<Id>,
    /// Heads not sent yet, with the earliest cycle in which they may be sent.
    heads: VecDeque<(Cycle, Id)>,
    /// Work-groups of each kernel of the program; empty if `work_group_latency_cycles` is 0.
    #[state(skip)]
    work_groups: Vec<u32>,
    #[state(flatten)]
    families: Families,
    /// Completions that still have to follow one already sent.
    done: VecDeque<KernelDone>,
    /// cycles in which a device launch waited because its queue and the pool were full
    #[state(flatten)]
    #[statistic(flatten)]
    #[statistic(
        name = "device_launch_stall_cycles",
        unit = "cycles",
        value = self.device_stall_cycles(statistics.cycle())
    )]
    launches: LaunchCounts,
    #[state(flatten)]
    #[statistic(flatten)]
    occupancy: Occupancy,
    #[state(part)]
    #[statistic(flatten)]
    order: Box<dyn OrderPolicy>,
}

impl Kind for Gmu {
    const NAME: &'static str = "Gmu";
    const SUMMARY: &'static str = "Hardware work queues and pending pool for kernels";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "One hardware queue, as on the GTX 480. Source: own choice of sizes",
        ron: include_str!("../../../scenarios/presets/fermi/gmu.ron"),
    }];
    type Spec = GmuSpec;

    fn build(spec: GmuSpec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let site = OrderSite {
            hardware_queues: spec.hardware_queues,
            pending_kernels: spec.pending_kernels,
        };
        let order = spec.order.build("order", environment, &site, 0)?;
        let queues = (0..spec.hardware_queues).map(|_| WorkQueue::default());
        let program = environment.resource::<Program>();
        let work_groups = match &program {
            Some(program) if spec.work_group_latency_cycles > 0 => {
                let kernels = program.kernels.iter();
                kernels.map(|kernel| kernel.work_groups()).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self {
            host: LaunchSlave::default(),
            device: InPort::new(),
            families: Families::of(program.as_deref()),
            done: VecDeque::new(),
            scheduler: ReadyMaster::default(),
            kernels: IdTable::default(),
            queues: queues.collect(),
            pool: VecDeque::new(),
            heads: VecDeque::new(),
            work_groups,
            launches: LaunchCounts::default(),
            occupancy: Occupancy::default(),
            order,
            spec,
        })
    }
}

impl Component for Gmu {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let completed = self.launches.completed;
        let completions_taken = self.take_completions(ctx);
        self.take_launches(ctx, self.launches.completed > completed);
        let next = self.send_heads(ctx);
        match next {
            // The credit that a completion waits for wakes as well.
            Next::Until(_) => next,
            _ if completions_taken => next,
            _ => Next::Credit,
        }
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Functional for Gmu {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let launch = message.downcast_ref::<KernelLaunch>();
        let launch = *launch.ok_or(FunctionalError::UnexpectedMessage(port))?;
        onward.send(
            Self::SCHEDULER.member(ReadyMaster::READY),
            KernelReady::from(launch),
        );
        Ok(())
    }
}

impl Inspect for Gmu {
    fn contents(&self, contents: &mut Contents<'_>) {
        let queued = self.queues.iter().flat_map(|queue| {
            let places = queue.kernels.iter().enumerate();
            places.map(|(place, &key)| (key, (place > 0).then_some("an earlier kernel")))
        });
        let pooled = self.pool.iter().map(|&key| {
            let kernel = self.kernels[key].launch.kernel;
            let waits = self.families.waits_for_parent(kernel);
            let behind = if waits { "its parent" } else { "a work queue" };
            (key, Some(behind))
        });
        for (key, behind) in queued.chain(pooled) {
            let InFlight { launch, sent, .. } = &self.kernels[key];
            contents
                .thing("kernel", u64::from(launch.kernel))
                .number("stream", u64::from(launch.stream))
                .waits(behind.or((!sent).then_some("dispatch")));
        }
        contents.level("pooled_kernels", self.occupancy.pooled.value());
        let blocked = self.launches.any_stalled();
        contents.blocked(blocked.then_some("the queue and the pool are full"));
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        if self.launches.any_stalled() {
            waits.inside(format!(
                "a launch waits: the pending pool of {} kernels is full",
                self.spec.pending_kernels
            ));
        }
        for (stream, kernel) in self.families.held() {
            waits.inside(format!(
                "kernel {kernel} and its stream {stream} wait for kernels that were launched from it"
            ));
        }
        let running = self.occupancy.running.value();
        if running > 0 {
            waits.on_port(
                "scheduler.done",
                format!("{running} kernels run on the machine"),
            );
        }
        let waiting = self.occupancy.queued.value() - running + self.occupancy.pooled.value();
        if waiting > 0 {
            waits.inside(format!(
                "{waiting} kernels wait behind others ({} of them in the pool)",
                self.occupancy.pooled.value()
            ));
        }
    }
}

impl Gmu {
    fn device_stall_cycles(&self, now: Cycle) -> Option<u64> {
        let is_connected = self.device.is_connected();
        is_connected.then(|| self.launches.stall_cycles(LaunchSource::Device, now))
    }

    /// Forwards completions and starts the kernels that they release. Returns false if the port to
    /// the host is full.
    fn take_completions(&mut self, ctx: &mut Context<'_>) -> bool {
        loop {
            while let Some(&done) = self.done.front() {
                if self.host.done.try_send(ctx, done).is_err() {
                    return false;
                }
                self.done.pop_front();
            }
            let Some(&KernelDone { kernel }) = self.scheduler.done.peek(ctx) else {
                return true;
            };
            let running = |queue: &WorkQueue| {
                queue.kernels.front().is_some_and(|&head| {
                    let head = &self.kernels[head];
                    head.sent && head.launch.kernel == kernel
                })
            };
            let Some(queue) = self.queues.iter().position(running) else {
                ctx.fail(format!(
                    "the work-group scheduler reports completion of kernel {kernel}, which does \
                     not run"
                ));
                return true;
            };
            let complete = self.families.completed_by(kernel);
            if let Some(&kernel) = complete.first()
                && self.host.done.try_send(ctx, KernelDone { kernel }).is_err()
            {
                return false;
            }
            self.scheduler.done.pop(ctx);
            let later = complete.iter().skip(1);
            self.done.extend(later.map(|&kernel| KernelDone { kernel }));
            self.retire(ctx, queue, &complete);
        }
    }

    fn becomes_head(&mut self, cycle: Cycle, key: Id) {
        let kernel = self.kernels[key].launch.kernel as usize;
        let work_groups = self.work_groups.get(kernel).copied().unwrap_or(0);
        let each = Cycle::from(self.spec.work_group_latency_cycles);
        let latency = Cycle::from(self.spec.dispatch_latency_cycles);
        let from = cycle + latency + each * Cycle::from(work_groups);
        let place = self.heads.partition_point(|(other, _)| *other <= from);
        self.heads.insert(place, (from, key));
    }

    fn send_heads(&mut self, ctx: &mut Context<'_>) -> Next {
        let cycle = ctx.cycle();
        while let Some(&(from, key)) = self.heads.front() {
            if cycle < from {
                return Next::Until(from);
            }
            let head = &mut self.kernels[key];
            let ready = KernelReady::from(head.launch);
            if self.scheduler.ready.try_send(ctx, ready).is_err() {
                return Next::Credit;
            }
            head.sent = true;
            self.occupancy.waited.record(cycle - head.arrived);
            self.occupancy.running.add(cycle, 1);
            self.heads.pop_front();
        }
        if self.kernels.is_empty() {
            Next::Idle
        } else {
            Next::Message
        }
    }
}
