//! A system ready to run: how it is told to, what it says afterwards.

pub(crate) mod deadlock;
pub(crate) mod placement;
pub(crate) mod taps;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::channel::any_port::Direction;
use crate::channel::link::Link;
use crate::channel::ports::Ports;
use crate::checkpoint::saving::CheckpointError;
use crate::component::Component;
use crate::engine::division::Goal;
use crate::engine::parallel::coordinator::{Course, End, Limits, RunStep};
use crate::engine::parallel::threads;
use crate::engine::partition::activity::Activity;
use crate::engine::partition::place::Place;
use crate::engine::partition::window::Background;
use crate::engine::partition::{Partition, Slot};
use crate::engine::simulation::deadlock::DeadlockReport;
use crate::evaluation::schedule::Target;
use crate::evaluation::shared::Sink;
use crate::observe::contents::levels;
use crate::observe::probe::ProbeSink;
use crate::observe::reason::Reason;
use crate::observe::statistics::{InstanceStatistics, Statistics};
use crate::sync::Mutex;
use crate::time::{Cycle, TICK_MAX, Tick, TimeBase};
use crate::world::driver::WorldDriver;
use crate::world::wave::SignalLine;

/// An instance of a component in an elaborated system.
pub(crate) struct Instance {
    pub(crate) path: String,
    pub(crate) kind: String,
    /// Where it is now.
    pub(crate) place: Place,
}

/// A channel of an elaborated system: number of the instance and name of the port at each end.
pub(crate) struct ChannelInfo {
    pub(crate) from: (u32, String),
    pub(crate) to: (u32, String),
    pub(crate) link: Link,
    /// Values are overwritten and need no credits.
    pub(crate) published: bool,
    /// A tap stands at one of its ends, which may change when messages and credits arrive.
    pub(crate) tapped: bool,
}

/// In which order the components of a cycle are evaluated. Results never depend on it; tests
/// choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were added.
    #[default]
    Added,
    /// In another pseudo-random order every cycle.
    Shuffled {
        /// Seed of the order.
        seed: u64,
    },
}

/// How the engine works; none of it changes results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Order within a cycle.
    pub order: Order,
    /// Skip components and cycles with nothing to do. Without it every component is evaluated at
    /// every edge.
    pub sleeping: bool,
    /// Threads that evaluate, at most one per partition.
    pub threads: usize,
    /// Partitions into which the system is divided; 0 for as many as threads.
    pub partitions: usize,
    /// Threads among which the partitions are to be spread evenly; 0 for as many as partitions.
    pub shares: usize,
}

impl EngineOptions {
    /// The same with a system divided as is best for so many threads, however many there are: into
    /// more partitions than threads, because one that has done its own in a window takes what others
    /// have not begun, so that chance from window to window evens out. Every partition more costs
    /// some hundred instructions per window, which two threads feel most.
    pub fn divided_for(self, threads: usize) -> Self {
        let partitions = match threads {
            0 | 1 => 1,
            2 => 12,
            _ => (2 * threads).max(16),
        };
        Self {
            partitions,
            shares: threads.max(1),
            ..self
        }
    }

    pub(crate) fn goal(&self) -> Goal {
        let or = |number: usize, other: usize| if number == 0 { other } else { number };
        let partitions = or(self.partitions, self.threads);
        Goal {
            partitions,
            shares: or(self.shares, partitions),
        }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            order: Order::Added,
            sleeping: true,
            threads: 1,
            partitions: 0,
            shares: 0,
        }
    }
}

/// When to stop a run that does not end by itself.
#[derive(Clone, Debug, Default)]
pub struct RunLimits {
    /// Evaluate nothing after this tick.
    pub until: Option<Tick>,
    /// Report a livelock after this many ticks without any message sent.
    pub silence: Option<u64>,
    /// Set from outside, such as by Ctrl-C, to stop.
    pub interrupt: Option<Arc<AtomicBool>>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Every obligation was discharged, or nothing was left to do.
    Done,
    /// [`RunLimits::until`] was reached.
    Limit,
    /// Nothing can happen any more, yet something is waited for.
    Deadlock(DeadlockReport),
    /// Components kept working for [`RunLimits::silence`] without sending anything.
    Livelock(DeadlockReport),
    /// A component found the model violated.
    Failed(String),
    /// [`RunLimits::interrupt`] was set.
    Interrupted,
}

/// A system ready to run.
pub struct Simulation {
    pub(crate) time: TimeBase,
    clock_names: Vec<String>,
    pub(crate) partitions: Vec<Partition>,
    /// What the division into partitions is for, unless instances were moved since.
    pub(crate) divided_for: Option<Goal>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) channels: Vec<ChannelInfo>,
    pub(crate) course: Course,
    pub(crate) options: EngineOptions,
    pub(crate) now: Tick,
    /// Events, signals and processes, if the system has any.
    pub(crate) world: Option<WorldDriver>,
}

impl Simulation {
    pub(crate) fn new(
        time: TimeBase,
        clock_names: Vec<String>,
        components: Vec<Vec<Box<dyn Component>>>,
        instances: Vec<Instance>,
        channels: Vec<ChannelInfo>,
        world: Option<WorldDriver>,
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
            course: Course::new(1),
            options,
            now: Tick(0),
            world,
        };
        simulation.course.stop_delay = simulation.stop_delay_of_wires();
        simulation.tell_world_targets();
        simulation
    }

    /// How the engine works.
    pub fn options(&self) -> EngineOptions {
        self.options
    }

    /// Chooses how the engine works, between runs.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.options = options;
        self.course.sleeping = options.sleeping;
        self.divide();
    }

    /// Tells `observer` after each step of runs on one thread. For measuring how evenly a division
    /// spreads the work.
    pub fn set_window_observer(&mut self, observer: Option<Box<dyn FnMut(RunStep) + Send>>) {
        self.course.observer = observer;
    }

    /// Sends every instrumentation event from now on to `sink`, or to nobody.
    pub fn set_probe_sink(&mut self, sink: Option<Box<dyn ProbeSink>>) {
        for slot in self.partitions.iter_mut().flat_map(|p| &mut p.slots) {
            for slot in slot {
                let views = sink
                    .as_ref()
                    .is_some_and(|sink| sink.wants_contents(slot.number));
                slot.shown = views.then(Box::default);
            }
        }
        if let Some(world) = &self.world {
            world.record_changes(sink.is_some());
        }
        let listens = sink.is_some();
        self.place_sink(sink);
        if listens && self.now > Tick(0) {
            for partition in &mut self.partitions {
                partition.show(self.now);
            }
        }
    }

    /// The levels that instance `number` shows to recordings, see [`crate::Contents::level`].
    pub fn levels(&self, number: u32) -> Vec<(&'static str, u64)> {
        let slot = self.slot(number as usize);
        levels(|contents| slot.component.contents(contents))
    }

    /// Every signal and FIFO of the event world that has a waveform.
    pub fn signals(&self) -> Vec<SignalLine> {
        let world = self.world.as_ref();
        world.map_or(Vec::new(), WorldDriver::signals)
    }

    /// Messages in each channel now, in flight and queued.
    pub fn occupancies(&mut self) -> Vec<usize> {
        let mut held = BTreeMap::new();
        for number in 0..self.instances.len() {
            self.visit_ports(number, &mut |port| {
                if port.direction() == Direction::Input {
                    held.insert(
                        (number as u32, port.name.to_owned()),
                        port.state().occupancy,
                    );
                }
            });
        }
        let ends = self.channels.iter().map(|channel| &channel.to);
        ends.map(|end| held.get(end).copied().unwrap_or(0))
            .collect()
    }

    /// The listener, taken from where it is.
    pub(crate) fn take_sink(&mut self) -> Option<Box<dyn ProbeSink>> {
        let buffered = self.course.sink.take();
        buffered.or_else(|| match self.partitions[0].shared.sink.take()? {
            Sink::Direct(sink) => Some(sink),
            Sink::Buffer(_) => None,
        })
    }

    /// Puts the listener where this number of partitions needs it.
    pub(crate) fn place_sink(&mut self, sink: Option<Box<dyn ProbeSink>>) {
        if let [only] = &mut self.partitions[..] {
            only.shared.sink = sink.map(Sink::Direct);
            self.course.sink = None;
        } else {
            for partition in &mut self.partitions {
                partition.shared.sink = sink.is_some().then(|| Sink::Buffer(Vec::new()));
            }
            self.course.sink = sink;
        }
    }

    /// Ends the recording of instrumentation events and drops the sink.
    ///
    /// # Errors
    /// What went wrong while recording, such as a full disk.
    pub fn finish_probes(&mut self) -> std::io::Result<()> {
        let sink = self.take_sink();
        self.set_probe_sink(None);
        match sink {
            Some(mut sink) => sink.finish(self.now),
            None => Ok(()),
        }
    }

    /// Time of the last evaluated edge.
    pub fn now(&self) -> Tick {
        self.now
    }

    /// The common tick and the clock periods.
    pub fn time(&self) -> &TimeBase {
        &self.time
    }

    /// Index of the clock of this name, for [`TimeBase::period`].
    pub fn clock(&self, name: &str) -> Option<usize> {
        self.clock_names.iter().position(|n| n == name)
    }

    /// Paths and kinds of all instances, in the order they were added.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.instances
            .iter()
            .map(|i| (i.path.as_str(), i.kind.as_str()))
    }

    /// `from -> to` of channel `number`, as in [`crate::Probe::Sent`].
    pub fn channel_name(&self, number: u32) -> String {
        let ChannelInfo { from, to, .. } = &self.channels[number as usize];
        format!(
            "{}.{} -> {}.{}",
            self.instances[from.0 as usize].path, from.1, self.instances[to.0 as usize].path, to.1
        )
    }

    /// Instance number and port name at the sending and at the receiving end of channel `number`.
    pub fn channel_ends(&self, number: u32) -> [(u32, &str); 2] {
        let ChannelInfo { from, to, .. } = &self.channels[number as usize];
        [(from.0, &from.1), (to.0, &to.1)]
    }

    /// Messages that channel `number` holds, in flight and queued.
    pub fn channel_capacity(&self, number: u32) -> u32 {
        let link = &self.channels[number as usize].link;
        link.capacity.unwrap_or_else(|| link.full_rate_capacity())
    }

    /// Number of channels.
    pub fn channel_count(&self) -> usize {
        self.channels.len()
    }

    /// Wires whose capacity does not sustain full rate, as text.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, channel) in self.channels.iter().enumerate() {
            let full = channel.link.full_rate_capacity();
            if let Some(capacity) = channel.link.capacity
                && capacity < full
            {
                warnings.push(format!(
                    "{} holds {capacity} messages; full rate needs {full} (width × (latency + \
                     credit latency))",
                    self.channel_name(number as u32)
                ));
            }
        }
        warnings
    }

    /// Evaluations so far; a measure of work, not a result.
    pub fn evaluations(&self) -> u64 {
        self.partitions.iter().map(|p| p.evaluations).sum()
    }

    /// Messages sent so far.
    pub fn messages(&self) -> u64 {
        self.partitions.iter().map(|p| p.shared.messages).sum()
    }

    /// Windows opened so far: how often the threads met. A measure of work, not a result.
    pub fn windows(&self) -> u64 {
        self.course.windows
    }

    /// Ticks from the one whose end left no obligation, or in which a component failed, to the end
    /// of the run, both included. A property of the system, not of its division: the longest
    /// look-ahead at which any division could work, at most 64 cycles of the slowest clock. One
    /// tick, the deciding one, where every wire takes one tick.
    pub fn stop_delay(&self) -> u64 {
        self.course.stop_delay
    }

    /// Runs until the work is done or a limit is met. A later call goes on from there.
    pub fn run(&mut self, limits: &RunLimits) -> Outcome {
        self.run_with(limits, Background::Waits)
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
        let world = self.world.as_ref();
        for partition in &mut self.partitions {
            partition.begin();
        }
        (self.partitions[0].world).begin(world.and_then(WorldDriver::upcoming));
        let cells: Vec<_> = self.partitions.iter_mut().map(Mutex::new).collect();
        let end = threads::run(
            &cells,
            &mut self.course,
            &bounds,
            world,
            self.options.threads,
        );
        drop(cells);
        let last = self.partitions.iter().map(|p| p.now).max();
        self.now = self.now.max(last.unwrap_or_default());
        let outcome = match end {
            End::Silent => self.silent(),
            End::Done => Outcome::Done,
            End::Failed(message) => Outcome::Failed(message),
            End::Limit => {
                self.now = self.now.max(Tick(until));
                Outcome::Limit
            }
            End::Livelock => {
                // Asleep or awake, the run stops when its patience ends.
                let patience = limits.silence.unwrap_or_default();
                self.now = self.now.max(Tick(self.course.last_progress.0 + patience));
                Outcome::Livelock(self.deadlock_report())
            }
            End::Interrupted => Outcome::Interrupted,
        };
        // Clocks with nobody awake stand at an earlier edge; who sleeps now may not in the next run.
        let partitions = self.partitions.iter_mut();
        for schedule in partitions.flat_map(|p| &mut p.domains) {
            schedule.pass(self.now);
        }
        if let Some(world) = &self.world {
            world.pass_time(self.now);
        }
        outcome
    }

    /// Names of suspended processes and what they wait for.
    pub(crate) fn waiting_processes(&self) -> Vec<(String, String)> {
        (self.world.as_ref()).map_or(Vec::new(), WorldDriver::waiting)
    }

    /// Wakes instance `number` at its first edge after now; for test benches that changed
    /// something from outside.
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

    /// Lets time pass up to `tick` whether or not anything but background work is left; for test
    /// benches.
    pub(crate) fn pass_time(&mut self, tick: Tick) -> Outcome {
        let limits = RunLimits {
            until: Some(tick),
            ..RunLimits::default()
        };
        let outcome = self.run_with(&limits, Background::Counts);
        self.now = self.now.max(tick);
        outcome
    }

    /// Nothing is scheduled: finished, or stuck?
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

    /// What instance `number` said it waits for.
    /// What instance `number` waits for.
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

    /// Whether instance `number` was evaluated after `tick`.
    pub(crate) fn evaluated_after(&self, number: usize, tick: Tick) -> bool {
        let domain = self.instances[number].place.target.domain as usize;
        self.activity_of(number).since() * self.time.period(domain) > tick.0
    }

    pub(crate) fn activity_of_mut(&mut self, number: usize) -> &mut Activity {
        &mut self.slot_mut(number).activity
    }

    pub(crate) fn clock_names(&self) -> impl Iterator<Item = &str> {
        self.clock_names.iter().map(String::as_str)
    }

    /// Restores how far the run has come.
    pub(crate) fn set_progress(&mut self, now: Tick, evaluations: u64) {
        self.now = now;
        for partition in &mut self.partitions {
            partition.now = now;
            partition.evaluations = 0;
        }
        self.partitions[0].evaluations = evaluations;
    }

    /// Why the event world, if there is one, cannot be saved.
    pub(crate) fn world_refuses(&self) -> Option<CheckpointError> {
        let world = self.world.as_ref()?;
        if let Some(process) = world.first_process() {
            return Some(CheckpointError::Process(process));
        }
        world.upcoming().map(|_| CheckpointError::World)
    }

    pub(crate) fn visit_ports(&mut self, number: usize, visit: &mut dyn FnMut(crate::Port<'_>)) {
        self.component_mut(number).ports(&mut Ports::new(visit));
    }

    /// Cycles of instance `number`'s clock up to now (the edge at `now` included).
    fn cycles_of(&self, number: usize) -> Cycle {
        let domain = self.instances[number].place.target.domain as usize;
        if self.evaluations() == 0 {
            return 0;
        }
        self.now.0 / self.time.period(domain) + 1
    }

    /// The statistics of every instance that has any, in the order they were added.
    pub fn statistics(&self) -> Vec<InstanceStatistics> {
        (0..self.instances.len())
            .filter_map(|number| {
                let mut values = Vec::new();
                let mut statistics = Statistics::new(self.cycles_of(number), self.now, &mut values);
                self.component(number).statistics(&mut statistics);
                let Instance { path, kind, .. } = &self.instances[number];
                (!values.is_empty()).then(|| InstanceStatistics {
                    path: path.clone(),
                    kind: kind.clone(),
                    values,
                })
            })
            .collect()
    }

    /// Cycles of instance `number` charged to each [`Reason`], in the order of [`Reason::ALL`].
    pub fn activity(&self, number: usize) -> [u64; Reason::ALL.len()] {
        self.slot(number).activity.until(self.cycles_of(number))
    }

    /// Evaluations of instance `number` so far: what it weighs when the system is divided. A
    /// measure of work, not a result.
    pub fn evaluations_of(&self, number: usize) -> u64 {
        self.slot(number).evaluations
    }
}
