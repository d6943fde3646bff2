//! The grid management unit: hardware work queues and a pool of pending kernels.
//!
//! ```text
//!                ┌──────────────────────────────────────────────┐
//!  host.launch ─►│ pending pool ─► work queue 0  ─ head ─┐      │ scheduler.ready
//!                │  (FCFS)      ─► work queue 1  ─ head ─┼─►────┼────────────────►
//!                │              ─► …                     ┘      │
//!  host.done   ◄─┼──────────────────────────────────────────────┼◄ scheduler.done
//!                └──────────────────────────────────────────────┘
//! ```
//!
//! Kernels of one stream run strictly one after the other: a work queue belongs to one stream as
//! long as it holds a kernel, and only its head runs. Heads of different queues run concurrently.
//! A kernel that arrives joins the queue of its stream, or an empty queue (lowest number first),
//! or else the pool. When queues have room again, kernels leave the pool first come, first served
//! as far as their stream allows (LASER, section 3.2).
//!
//! # Ports
//!
//! | Port              | Direction | Message        | Back-pressure                              |
//! |-------------------|-----------|----------------|--------------------------------------------|
//! | `host.launch`     | in        | `KernelLaunch` | not taken while queue and pool are full    |
//! | `host.done`       | out       | `KernelDone`   | completions stay in `scheduler.done`       |
//! | `scheduler.ready` | out       | `KernelReady`  | heads wait, in the order they became heads |
//! | `scheduler.done`  | in        | `KernelDone`   | taken when `host.done` has room            |
//!
//! # Timing
//!
//! - A launch readable in cycle `c` enters a queue or the pool in cycle `c`, if either has room.
//! - A kernel that becomes head in cycle `h` is sent as `KernelReady` in cycle
//!   `h + dispatch_latency_cycles`, or the first later one with room. So with an empty queue:
//!   launch readable in `c`, `KernelReady` sent in `c + dispatch_latency_cycles`.
//! - A completion readable in cycle `d` is sent to the host in cycle `d`, and the next kernel of
//!   the queue, or one of the pool, becomes head in cycle `d`.
//!
//! # Not modelled
//!
//! Launches from the device, priorities, preemption.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Contents, Context, Cycle, Environment, Histogram, Id, IdTable, Kind, Level, Next,
    Ports, SpecError, State, Statistics, Waits,
};

use crate::launch::{KernelDone, KernelLaunch, KernelReady, LaunchSlave, ReadyMaster};

/// Kernels that queues and pool may hold in all.
const KERNELS_MAX: u64 = Id::PLACES_MAX as u64;

/// A grid management unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GmuSpec {
    /// Hardware work queues, at least 1: streams that can run concurrently.
    pub hardware_queues: u32,
    /// Kernels one hardware work queue holds, the running one included, at least 1.
    pub queue_depth: u32,
    /// Kernels the pending pool holds.
    pub pending_kernels: u32,
    /// Cycles from becoming the head of a queue to being sent to the work-group scheduler.
    pub dispatch_latency_cycles: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct InFlight {
    launch: KernelLaunch,
    arrived: Cycle,
    /// Sent to the work-group scheduler.
    sent: bool,
}

/// One hardware work queue; empty, it belongs to no stream.
#[derive(Debug, Default, Serialize, Deserialize)]
struct WorkQueue {
    stream: u32,
    kernels: VecDeque<Id>,
}

/// Queues kernels and runs one per stream; see the [module](self).
pub struct Gmu {
    host: LaunchSlave,
    scheduler: ReadyMaster,
    spec: GmuSpec,
    kernels: IdTable<InFlight>,
    queues: Vec<WorkQueue>,
    pool: VecDeque<Id>,
    /// Heads not yet sent, with the cycle from which they may be.
    heads: VecDeque<(Cycle, Id)>,
    accepted: u64,
    completed: u64,
    through_pool: u64,
    launch_stalls: u64,
    /// 1 while a launch waits for room.
    stalled: Level,
    queues_occupied: Level,
    queued: Level,
    pooled: Level,
    running: Level,
    waited: Histogram,
}

impl Kind for Gmu {
    const NAME: &'static str = "Gmu";
    const SUMMARY: &'static str = "Hardware work queues and pending pool for kernels";
    type Spec = GmuSpec;

    fn build(spec: GmuSpec, _environment: &Environment) -> Result<Self, SpecError> {
        SpecError::in_range("hardware_queues", spec.hardware_queues, 1..)?;
        SpecError::in_range("queue_depth", spec.queue_depth, 1..)?;
        let queued = u64::from(spec.hardware_queues).saturating_mul(u64::from(spec.queue_depth));
        let total = queued.saturating_add(u64::from(spec.pending_kernels));
        SpecError::require(total <= KERNELS_MAX, "", || {
            format!(
                "{} queues of {} kernels and a pool of {} hold {total} kernels; at most \
                 {KERNELS_MAX} are supported",
                spec.hardware_queues, spec.queue_depth, spec.pending_kernels
            )
        })?;
        let queues = (0..spec.hardware_queues).map(|_| WorkQueue::default());
        Ok(Self {
            host: LaunchSlave::default(),
            scheduler: ReadyMaster::default(),
            kernels: IdTable::default(),
            queues: queues.collect(),
            pool: VecDeque::new(),
            heads: VecDeque::new(),
            accepted: 0,
            completed: 0,
            through_pool: 0,
            launch_stalls: 0,
            stalled: Level::default(),
            queues_occupied: Level::default(),
            queued: Level::default(),
            pooled: Level::default(),
            running: Level::default(),
            waited: Histogram::default(),
            spec,
        })
    }
}

impl Component for Gmu {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("host", &mut self.host);
        ports.bundle("scheduler", &mut self.scheduler);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let completions_taken = self.take_completions(ctx);
        self.take_launches(ctx);
        let next = self.send_heads(ctx);
        match next {
            // The credit that a completion waits for wakes as well.
            Next::Until(_) => next,
            _ if completions_taken => next,
            _ => Next::Credit,
        }
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("kernels", &mut self.kernels);
        state.array("queues", &mut self.queues);
        state.field("pool", &mut self.pool);
        state.field("heads", &mut self.heads);
        state.field("accepted", &mut self.accepted);
        state.field("completed", &mut self.completed);
        state.field("through_pool", &mut self.through_pool);
        state.field("launch_stalls", &mut self.launch_stalls);
        state.field("stalled", &mut self.stalled);
        state.field("queues_occupied", &mut self.queues_occupied);
        state.field("queued", &mut self.queued);
        state.field("pooled", &mut self.pooled);
        state.field("running", &mut self.running);
        state.field("waited", &mut self.waited);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        let cycle = statistics.cycle();
        let mut count = |name, unit, meaning, value| statistics.counter(name, unit, meaning, value);
        count(
            "kernels_accepted",
            "kernels",
            "launches taken from the host",
            self.accepted,
        );
        count(
            "kernels_completed",
            "kernels",
            "completions passed to the host",
            self.completed,
        );
        count(
            "kernels_through_pool",
            "kernels",
            "launches that had to wait in the pending pool",
            self.through_pool,
        );
        count(
            "launch_stalls",
            "launches",
            "launches that found their queue and the pool full",
            self.launch_stalls,
        );
        count(
            "launch_stall_cycles",
            "cycles",
            "cycles in which a launch waited because its queue and the pool were full",
            self.stalled.integral(cycle),
        );
        let levels = [
            (
                "queues_occupied",
                "queues",
                "mean number of work queues that hold a kernel",
                &self.queues_occupied,
            ),
            (
                "queued_kernels",
                "kernels",
                "mean number of kernels in work queues, running ones included",
                &self.queued,
            ),
            (
                "pooled_kernels",
                "kernels",
                "mean number of kernels in the pending pool",
                &self.pooled,
            ),
            (
                "running_kernels",
                "kernels",
                "mean number of kernels handed to the work-group scheduler and not completed",
                &self.running,
            ),
        ];
        for (name, unit, meaning, level) in levels {
            statistics.gauge(name, unit, meaning, level.mean(cycle));
        }
        let peaks = [
            (
                "queues_occupied_max",
                "queues",
                "most work queues that held a kernel at a time",
                &self.queues_occupied,
            ),
            (
                "pooled_kernels_max",
                "kernels",
                "most kernels in the pending pool at a time",
                &self.pooled,
            ),
            (
                "running_kernels_max",
                "kernels",
                "most kernels with the work-group scheduler at a time",
                &self.running,
            ),
        ];
        for (name, unit, meaning, level) in peaks {
            statistics.counter(name, unit, meaning, level.max());
        }
        statistics.histogram(
            "waiting_time",
            "cycles",
            "cycles from the arrival of a launch until it was sent to the work-group scheduler",
            &self.waited,
        );
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        let queued = self.queues.iter().flat_map(|queue| {
            let places = queue.kernels.iter().enumerate();
            places.map(|(place, &key)| (key, (place > 0).then_some("an earlier kernel")))
        });
        let pooled = self.pool.iter().map(|&key| (key, Some("a work queue")));
        for (key, behind) in queued.chain(pooled) {
            let InFlight { launch, sent, .. } = &self.kernels[key];
            contents
                .thing("kernel", u64::from(launch.kernel))
                .number("stream", u64::from(launch.stream))
                .waits(behind.or((!sent).then_some("dispatch")));
        }
        contents.level("pooled_kernels", self.pooled.value());
        let blocked = self.stalled.value() > 0;
        contents.blocked(blocked.then_some("the queue and the pool are full"));
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let running = self.running.value();
        if running > 0 {
            waits.on_port(
                "scheduler.done",
                format!("{running} kernels run on the machine"),
            );
        }
        let waiting = self.queued.value() - running + self.pooled.value();
        if waiting > 0 {
            waits.inside(format!(
                "{waiting} kernels wait behind others ({} of them in the pool)",
                self.pooled.value()
            ));
        }
    }
}

impl Gmu {
    /// Passes completions on and starts what they held up. False when the way to the host is full.
    fn take_completions(&mut self, ctx: &mut Context<'_>) -> bool {
        while let Some(&KernelDone { kernel }) = self.scheduler.done.peek(ctx) {
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
            if self.host.done.try_send(ctx, KernelDone { kernel }).is_err() {
                return false;
            }
            self.scheduler.done.pop(ctx);
            self.retire(ctx.cycle(), queue);
        }
        true
    }

    /// Removes the head of a queue and lets others move up.
    fn retire(&mut self, cycle: Cycle, queue: usize) {
        let head = self.queues[queue].kernels.pop_front();
        self.kernels
            .remove(head.expect("a kernel that runs is the head of its queue"));
        self.completed += 1;
        self.running.sub(cycle, 1);
        self.queued.sub(cycle, 1);
        match self.queues[queue].kernels.front() {
            Some(&next) => self.becomes_head(cycle, next),
            None => self.queues_occupied.sub(cycle, 1),
        }
        self.drain_pool(cycle);
    }

    /// Moves kernels from the pool into queues, first come, first served. A kernel whose queue is
    /// full holds up those of its stream only, because they look for the same queue.
    fn drain_pool(&mut self, cycle: Cycle) {
        let mut place = 0;
        while let Some(&key) = self.pool.get(place) {
            if self.enqueue(cycle, key) {
                self.pool.remove(place);
                self.pooled.sub(cycle, 1);
            } else {
                place += 1;
            }
        }
    }

    fn take_launches(&mut self, ctx: &mut Context<'_>) {
        let cycle = ctx.cycle();
        while let Some(&launch) = self.host.launch.peek(ctx) {
            // What waits in the pool came first and found no queue; of the same stream it goes
            // first.
            let held_up = self
                .pool
                .iter()
                .any(|&key| self.kernels[key].launch.stream == launch.stream);
            let queue = if held_up {
                None
            } else {
                self.queue_for(launch.stream)
            };
            if queue.is_none() && self.pool.len() >= self.spec.pending_kernels as usize {
                if self.stalled.value() == 0 {
                    self.launch_stalls += 1;
                    self.stalled.set(cycle, 1);
                }
                return;
            }
            self.stalled.set(cycle, 0);
            self.host.launch.pop(ctx);
            self.accepted += 1;
            let key = self.kernels.insert(InFlight {
                launch,
                arrived: cycle,
                sent: false,
            });
            if queue.is_none() || !self.enqueue(cycle, key) {
                self.pool.push_back(key);
                self.pooled.add(cycle, 1);
                self.through_pool += 1;
            }
        }
    }

    /// The queue a kernel of this stream can enter: that of its stream if it has room, else none;
    /// without one the first empty queue.
    fn queue_for(&self, stream: u32) -> Option<usize> {
        let own = self
            .queues
            .iter()
            .position(|q| !q.kernels.is_empty() && q.stream == stream);
        match own {
            Some(queue) => {
                let room = self.queues[queue].kernels.len() < self.spec.queue_depth as usize;
                room.then_some(queue)
            }
            None => self.queues.iter().position(|q| q.kernels.is_empty()),
        }
    }

    /// Puts a kernel into a queue, if one can take it.
    fn enqueue(&mut self, cycle: Cycle, key: Id) -> bool {
        let stream = self.kernels[key].launch.stream;
        let Some(place) = self.queue_for(stream) else {
            return false;
        };
        let queue = &mut self.queues[place];
        queue.stream = stream;
        queue.kernels.push_back(key);
        self.queued.add(cycle, 1);
        if queue.kernels.len() == 1 {
            self.queues_occupied.add(cycle, 1);
            self.becomes_head(cycle, key);
        }
        true
    }

    fn becomes_head(&mut self, cycle: Cycle, key: Id) {
        let from = cycle + Cycle::from(self.spec.dispatch_latency_cycles);
        self.heads.push_back((from, key));
    }

    fn send_heads(&mut self, ctx: &mut Context<'_>) -> Next {
        let cycle = ctx.cycle();
        while let Some(&(from, key)) = self.heads.front() {
            if cycle < from {
                return Next::Until(from);
            }
            let head = &mut self.kernels[key];
            let ready = KernelReady {
                kernel: head.launch.kernel,
            };
            if self.scheduler.ready.try_send(ctx, ready).is_err() {
                return Next::Credit;
            }
            head.sent = true;
            self.waited.record(cycle - head.arrived);
            self.running.add(cycle, 1);
            self.heads.pop_front();
        }
        if self.kernels.is_empty() {
            Next::Idle
        } else {
            Next::Message
        }
    }
}
