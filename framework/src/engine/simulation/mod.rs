//! Simulation: an elaborated system, its execution and its results.
//!
//! | file | holds |
//! |---|---|
//! | this one | the simulation: runs, and what every instance did |
//! | `outcome` | when a run stops, and how it ended |
//! | `deadlock` | who waits for whom when nothing moves any more |
//! | `description` | its parts by name |
//! | `recording` | what it shows to recordings |
//! | `dividing`, `moving` | which instance belongs to which partition, and taking it there |
//! | `taps` | putting taps on ports |
//! | `functional` | functional accesses along the wires |

mod deadlock;
mod description;
mod dividing;
mod functional;
mod migration;
mod outcome;
mod recording;
mod taps;

pub use deadlock::{DeadlockReport, WaitEdge};
pub use description::SystemWarning;
pub use dividing::Division;
pub use functional::{DeliveryError, FunctionalWires};
pub use outcome::{Outcome, RunLimits};
pub use taps::{PortAddress, TapError};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam::utils::CachePadded;
use tracing::field::Empty;
use tracing::trace_span;

use crate::channel::{Link, Port, Ports};
use crate::component::Component;
use crate::engine::division::Goal;
use crate::engine::options::EngineOptions;
use crate::engine::parallel::{Coordinator, Limits, RunEnd, RunStep, WindowsWorked, run_windows};
use crate::engine::partition::{Activity, Background, Partition, Place, Slot};
use crate::evaluation::Target;
use crate::observe::{InstanceStatistics, Look, Reason, Statistic, Statistics};
use crate::sync::Mutex;
use crate::time::{Cycle, TICK_MAX, Tick, TimeBase};
use crate::world::WorldDriver;

/// Initial capacity of a component's list of statistics.
const USUAL_STATISTICS: usize = 64;

/// An instance of a component in an elaborated system.
pub(crate) struct Instance {
    pub(crate) path: Arc<str>,
    pub(crate) kind: Arc<str>,
    /// Current location of the instance within the partitions.
    pub(crate) place: Place,
}

/// A channel of an elaborated system: instance number and port name at each end.
pub(crate) struct ChannelInfo {
    pub(crate) from: (u32, Arc<str>),
    pub(crate) to: (u32, Arc<str>),
    pub(crate) link: Link,
    /// True if values are overwritten and need no credits.
    pub(crate) published: bool,
    /// True if a tap is attached to one end, which may change the arrival of messages and credits.
    pub(crate) tapped: bool,
}

/// An elaborated system that is ready to run.
pub struct Simulation {
    pub(crate) time: TimeBase,
    clock_names: Vec<String>,
    pub(crate) partitions: Vec<Partition>,
    /// Goal of the current partitioning; `None` if instances were moved since.
    pub(crate) divided_for: Option<Goal>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) channels: Vec<ChannelInfo>,
    pub(crate) coordinator: Coordinator,
    pub(crate) options: EngineOptions,
    pub(crate) now: Tick,
    /// Events, signals and processes, if the system has any.
    pub(crate) world: Option<WorldDriver>,
    /// Warnings about unwired ports whose absence is probably unintended.
    unwired: Vec<SystemWarning>,
}

impl Simulation {
    pub(crate) fn new(
        time: TimeBase,
        clock_names: Vec<String>,
        components: Vec<Vec<Box<dyn Component>>>,
        instances: Vec<Instance>,
        channels: Vec<ChannelInfo>,
        world: Option<WorldDriver>,
        unwired: Vec<SystemWarning>,
    ) -> Self {
        let slot = |component| Slot {
            component,
            number: 0,
            activity: Activity::new(),
            evaluations: 0,
            shown: None,
        };
        let mut slots: Vec<Vec<Slot>> = components
            .into_iter()
            .map(|components| components.into_iter().map(slot).collect())
            .collect();
        for (number, instance) in instances.iter().enumerate() {
            let Target { domain, index } = instance.place.target;
            slots[domain as usize][index as usize].number = number as u32;
        }
        let options = EngineOptions::default();
        let mut partition = Partition::new(&time, slots, options, true);
        for schedule in &mut partition.domains {
            for index in 0..schedule.components() {
                schedule.wake(index, 0);
            }
        }
        let mut simulation = Self {
            time,
            clock_names,
            partitions: vec![partition],
            divided_for: None,
            instances,
            channels,
            coordinator: Coordinator::new(1),
            options,
            now: Tick(0),
            world,
            unwired,
        };
        simulation.coordinator.stop_delay = simulation.stop_delay_of_wires();
        simulation.set_world_targets();
        simulation
    }

    /// Returns the execution options of the engine.
    pub fn options(&self) -> EngineOptions {
        self.options
    }

    /// Sets the execution options of the engine; allowed between runs.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.options = options;
        self.coordinator.sleeping = options.sleeping;
        self.divide();
    }

    /// Sets a callback after each step of runs on one thread. For measuring the balance of a
    /// partitioning.
    pub fn set_window_observer(&mut self, observer: Option<Box<dyn FnMut(RunStep) + Send>>) {
        self.coordinator.observer = observer;
    }

    /// Returns the time of the last evaluated edge.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// Returns the common tick and the clock periods.
    pub fn time(&self) -> &TimeBase {
        &self.time
    }

    /// Returns the number of evaluations so far; a measure of work, not a result.
    pub fn evaluations(&self) -> u64 {
        self.partitions.iter().map(|p| p.evaluations).sum()
    }

    /// Returns the number of messages sent so far.
    pub fn messages(&self) -> u64 {
        self.partitions.iter().map(|p| p.shared.messages).sum()
    }

    /// Returns the number of windows opened so far, which is the number of thread synchronisations.
    /// A measure of work, not a result.
    pub fn windows(&self) -> u64 {
        self.coordinator.windows
    }

    /// Returns who worked on the windows so far. Depends on the pace of the host.
    pub fn windows_worked(&self) -> WindowsWorked {
        self.coordinator.worked
    }

    /// Ticks from the deciding tick to the end of the run, both included. The deciding tick is the
    /// one whose end left no obligation, or in which a component failed. It depends on the system,
    /// not on its partitioning: the longest look-ahead of any partitioning, at most 64 cycles of
    /// the slowest clock. It is one tick if every wire takes one tick.
    pub fn stop_delay(&self) -> u64 {
        self.coordinator.stop_delay
    }

    /// Runs until the work is done or a limit is reached. A later call continues from there.
    pub fn run(&mut self, limits: &RunLimits) -> Outcome {
        // One span for all windows of a call: a window itself takes no longer than a span.
        let span = trace_span!("windows", opened = Empty).entered();
        let before = self.coordinator.windows;
        let outcome = self.run_with(limits, Background::Waits);
        span.record("opened", self.coordinator.windows - before);
        outcome
    }

    fn run_with(&mut self, limits: &RunLimits, background: Background) -> Outcome {
        let interrupt = limits.interrupt.as_deref();
        if interrupt.is_some_and(|i| i.load(Ordering::Relaxed)) {
            return Outcome::Interrupted;
        }
        let until = limits.until.map_or(TICK_MAX, |t| t.0.min(TICK_MAX));
        let bounds = Limits {
            until,
            silence: limits.silence,
            interrupt,
            background,
        };
        for partition in &mut self.partitions {
            partition.begin();
        }
        let upcoming = self.world.as_ref().and_then(WorldDriver::upcoming);
        self.partitions[0].begin_world(upcoming);
        let end = loop {
            let partitions = self.partitions.iter_mut();
            let cells = partitions.map(|partition| CachePadded::new(Mutex::new(partition)));
            let cells: Vec<_> = cells.collect();
            let end = run_windows(
                &cells,
                &mut self.coordinator,
                &bounds,
                self.world.as_ref(),
                self.options.threads,
            );
            drop(cells);
            if end != RunEnd::Livelock || !self.something_arrives(limits) {
                break end;
            }
        };
        let last = self.partitions.iter().map(|p| p.now).max();
        self.now = self.now.max(last.unwrap_or_default());
        let outcome = match end {
            RunEnd::Silent => self.silent(),
            RunEnd::Done => Outcome::Done,
            RunEnd::Failed(message) => Outcome::Failed(message),
            RunEnd::Limit => {
                self.now = self.now.max(Tick(until));
                Outcome::Limit
            }
            RunEnd::Livelock => {
                // Asleep or awake, the run stops when its patience ends.
                self.now = self.now.max(self.patience_ends(limits));
                Outcome::Livelock(self.deadlock_report())
            }
            RunEnd::Interrupted => Outcome::Interrupted,
            RunEnd::Paused => Outcome::Paused,
        };
        // Clocks without awake components are still at an earlier edge; a component that sleeps now
        // may not sleep in the next run.
        let partitions = self.partitions.iter_mut();
        for schedule in partitions.flat_map(|p| &mut p.domains) {
            schedule.pass(self.now);
        }
        if let Some(world) = &self.world {
            world.pass_time(self.now);
        }
        outcome
    }

    /// Returns the last tick that is evaluated without any progress.
    fn patience_ends(&self, limits: &RunLimits) -> Tick {
        let silence = limits.silence.unwrap_or(u64::MAX);
        Tick(self.coordinator.last_progress.0.saturating_add(silence))
    }

    /// True if a message or a credit is in flight when patience ends; its arrival is progress.
    /// Nothing has been evaluated after that tick, so the result is the same for any partitioning.
    #[cold]
    fn something_arrives(&mut self, limits: &RunLimits) -> bool {
        let now = self.patience_ends(limits).0;
        let mut last = None;
        for number in 0..self.instances.len() {
            self.visit_ports(number, &mut |port| last = last.max(port.port.arrival(now)));
        }
        let Some(last) = last else { return false };
        self.coordinator.last_progress = Tick(last);
        for partition in &mut self.partitions {
            partition.shared.progress_at(Tick(last));
        }
        true
    }

    /// Returns the names of suspended processes and the conditions they wait for.
    pub(crate) fn waiting_processes(&self) -> Vec<(String, String)> {
        (self.world.as_ref()).map_or(Vec::new(), WorldDriver::waiting)
    }

    /// Wakes instance `number` at its first edge after the current time; for test benches that
    /// changed something from outside.
    pub(crate) fn wake(&mut self, number: usize) {
        let now = self.now;
        let place = self.instances[number].place;
        let started = self.evaluations() > 0;
        let partition = &mut self.partitions[place.partition as usize];
        let schedule = &mut partition.domains[place.target.domain as usize];
        if started {
            schedule.wake_after(place.target.index, now);
        } else {
            schedule.wake(place.target.index, 0);
        }
    }

    /// Advances time up to `tick`, even if only background work is left; for test benches.
    pub(crate) fn pass_time(&mut self, tick: Tick) -> Outcome {
        let limits = RunLimits {
            until: Some(tick),
            ..RunLimits::default()
        };
        let outcome = self.run_with(&limits, Background::Counts);
        self.now = self.now.max(tick);
        outcome
    }

    /// Determines the outcome if nothing is scheduled: finished or deadlocked.
    fn silent(&mut self) -> Outcome {
        let report = self.deadlock_report();
        if report.is_deadlock() {
            Outcome::Deadlock(report)
        } else {
            Outcome::Done
        }
    }

    fn deadlock_report(&mut self) -> DeadlockReport {
        DeadlockReport::of(self)
    }

    /// Returns the reason for which instance `number` waits.
    pub fn reason(&self, number: usize) -> Reason {
        self.slot(number).activity.reason()
    }

    pub(crate) fn component(&self, number: usize) -> &dyn Component {
        &*self.slot(number).component
    }

    fn slot(&self, number: usize) -> &Slot {
        let Place { partition, target } = self.instances[number].place;
        self.partitions[partition as usize].slot(target)
    }

    pub(crate) fn component_mut(&mut self, number: usize) -> &mut dyn Component {
        &mut *self.slot_mut(number).component
    }

    fn slot_mut(&mut self, number: usize) -> &mut Slot {
        let Place { partition, target } = self.instances[number].place;
        self.partitions[partition as usize].slot_mut(target)
    }

    pub(crate) fn activity_of(&self, number: usize) -> &Activity {
        &self.slot(number).activity
    }

    /// True if instance `number` was evaluated after `tick`.
    pub(crate) fn evaluated_after(&self, number: usize, tick: Tick) -> bool {
        let domain = self.instances[number].place.target.domain as usize;
        self.activity_of(number).since() * self.time.period(domain) > tick.0
    }

    pub(crate) fn activity_of_mut(&mut self, number: usize) -> &mut Activity {
        &mut self.slot_mut(number).activity
    }

    /// Restores the current time and the number of evaluations.
    pub(crate) fn set_progress(&mut self, now: Tick, evaluations: u64) {
        self.now = now;
        for partition in &mut self.partitions {
            partition.now = now;
            partition.evaluations = 0;
        }
        self.partitions[0].evaluations = evaluations;
    }

    pub(crate) fn visit_ports(&mut self, number: usize, visit: &mut dyn FnMut(Port<'_>)) {
        self.component_mut(number).ports(&mut Ports::new(visit));
    }

    /// Returns the cycles of instance `number`'s clock up to now (the edge at `now` included).
    fn cycles_of(&self, number: usize) -> Cycle {
        let domain = self.instances[number].place.target.domain as usize;
        if self.evaluations() == 0 {
            return 0;
        }
        self.now.0 / self.time.period(domain) + 1
    }

    /// Returns the statistics of every instance that has any, in the order they were added.
    pub fn statistics(&self) -> Vec<InstanceStatistics> {
        let mut all: Vec<InstanceStatistics> = Vec::with_capacity(self.instances.len());
        // The last of each kind: most often the next one reports the same names.
        let mut of_kind: BTreeMap<&str, usize> = BTreeMap::new();
        for (number, Instance { path, kind, .. }) in self.instances.iter().enumerate() {
            let like = of_kind.get(&**kind).map(|last| &*all[*last].values);
            let values = self.values_of(number, like.unwrap_or_default());
            if values.is_empty() {
                continue;
            }
            of_kind.insert(kind, all.len());
            all.push(InstanceStatistics {
                path: path.as_ref().to_owned(),
                kind: kind.as_ref().to_owned(),
                values,
            });
        }
        all
    }

    /// Reads every cumulative statistic. Copies no names, so that it can be called often.
    pub fn growing(&self, look: &mut Look<'_>) {
        for (number, instance) in self.instances.iter().enumerate() {
            let (component, cycle) = (self.component(number), self.cycles_of(number));
            look.at(&instance.path, cycle, self.now, |statistics| {
                component.statistics(statistics);
            });
        }
    }

    /// Returns the statistics of instance `number`, sharing the names of `like` if they are the
    /// same.
    fn values_of(&self, number: usize, like: &[Statistic]) -> Vec<Statistic> {
        let room = if like.is_empty() {
            USUAL_STATISTICS
        } else {
            like.len()
        };
        let mut values = Vec::with_capacity(room);
        let cycle = self.cycles_of(number);
        let mut statistics = Statistics::named_like(like, cycle, self.now, &mut values);
        self.component(number).statistics(&mut statistics);
        values
    }

    /// Returns the cycles of instance `number` charged to each [`Reason`], in the order of
    /// [`Reason::ALL`].
    pub fn activity(&self, number: usize) -> [u64; Reason::ALL.len()] {
        self.slot(number).activity.until(self.cycles_of(number))
    }

    /// Returns the number of evaluations of instance `number` so far, its weight when the system is
    /// divided. A measure of work, not a result.
    pub fn evaluations_of(&self, number: usize) -> u64 {
        self.slot(number).evaluations
    }
}
