//! The engine: evaluates awake components at their clock edges and tells how a run ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::channel::Link;
use crate::checkpoint::CheckpointError;
use crate::component::{Component, Next, Reason};
use crate::context::{Context, Shared};
use crate::deadlock::DeadlockReport;
use crate::ports::Ports;
use crate::probe::{Probe, ProbeSink};
use crate::schedule::{DomainSchedule, Target};
use crate::statistics::{InstanceStatistics, Statistics};
use crate::time::{Cycle, TICK_MAX, Tick, TimeBase};
use crate::world::OwnedWorld;

/// An instance of a component in an elaborated system.
pub(crate) struct Instance {
    pub(crate) path: String,
    pub(crate) kind: String,
    pub(crate) target: Target,
}

/// A channel of an elaborated system: number of the instance and name of the port at each end.
pub(crate) struct ChannelInfo {
    pub(crate) from: (u32, String),
    pub(crate) to: (u32, String),
    pub(crate) link: Link,
}

/// Cycles of one component charged to what it waited for.
///
/// The cycle before a timer expires has work for the next one and is charged as busy, so that
/// a component that is asked in that cycle too and says [`Next::Busy`] is charged alike.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Activity {
    reason: Reason,
    since: Cycle,
    /// Expiry of the timer while the reason is one.
    until: Cycle,
    cycles: [u64; Reason::ALL.len()],
}

impl Activity {
    #[inline]
    fn charge(&mut self, cycle: Cycle, next: Next) {
        let elapsed = cycle - self.since;
        if self.reason == Reason::Timer {
            let waited = elapsed.min((self.until - 1).saturating_sub(self.since));
            self.cycles[Reason::Timer as usize] += waited;
            self.cycles[Reason::Busy as usize] += elapsed - waited;
        } else {
            self.cycles[self.reason as usize] += elapsed;
        }
        self.since = cycle;
        self.reason = next.reason();
        if let Next::Until(at) = next {
            self.until = at.max(cycle + 1);
        }
    }
}

/// Whether background wake-ups alone keep a run going.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Background {
    /// They fire only on the way to foreground work.
    Waits,
    /// They fire like all others: somebody lets time pass.
    Counts,
}

struct Domain {
    slots: Vec<Slot>,
}

/// One component with what the engine keeps about it.
struct Slot {
    component: Box<dyn Component>,
    /// Number of the instance in the whole system.
    number: u32,
    activity: Activity,
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
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            order: Order::Added,
            sleeping: true,
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
    domains: Vec<Domain>,
    pub(crate) instances: Vec<Instance>,
    pub(crate) channels: Vec<ChannelInfo>,
    pub(crate) shared: Shared,
    options: EngineOptions,
    now: Tick,
    /// Events, signals and processes, if the system has any.
    world: Option<OwnedWorld>,
    evaluations: u64,
    scratch: Vec<(u32, bool)>,
    shuffle: u64,
}

/// Edges between two looks at the interrupt flag.
const EDGES_PER_CHECK: u32 = 1024;

impl Simulation {
    pub(crate) fn new(
        time: TimeBase,
        clock_names: Vec<String>,
        components: Vec<Vec<Box<dyn Component>>>,
        instances: Vec<Instance>,
        channels: Vec<ChannelInfo>,
        world: Option<OwnedWorld>,
    ) -> Self {
        let fresh = Activity {
            reason: Reason::Idle,
            since: 0,
            until: 0,
            cycles: [0; Reason::ALL.len()],
        };
        let mut domains: Vec<_> = components
            .into_iter()
            .map(|components| {
                let slots = components.into_iter().map(|component| Slot {
                    component,
                    number: 0,
                    activity: fresh,
                });
                Domain {
                    slots: slots.collect(),
                }
            })
            .collect();
        for (number, instance) in instances.iter().enumerate() {
            let Target { domain, index } = instance.target;
            domains[domain as usize].slots[index as usize].number = number as u32;
        }
        let mut schedules: Vec<_> = domains
            .iter()
            .enumerate()
            .map(|(d, domain)| DomainSchedule::new(time.period(d), domain.slots.len()))
            .collect();
        for (schedule, domain) in schedules.iter_mut().zip(&domains) {
            for index in 0..domain.slots.len() {
                schedule.wake(index as u32, 0);
            }
        }
        let shared = Shared {
            domains: schedules,
            background: std::collections::BTreeSet::new(),
            invited: true,
            obligations: 0,
            obliged: false,
            last_progress: Tick(0),
            messages: 0,
            process_ports: Vec::new(),
            stop: None,
            sink: None,
        };
        Self {
            time,
            clock_names,
            domains,
            instances,
            channels,
            shared,
            options: EngineOptions::default(),
            now: Tick(0),
            world,
            evaluations: 0,
            scratch: Vec::new(),
            shuffle: 0,
        }
    }

    /// Chooses how the engine works, before the first run.
    pub fn set_options(&mut self, options: EngineOptions) {
        self.options = options;
        if let Order::Shuffled { seed } = options.order {
            self.shuffle = seed;
        }
    }

    /// Sends every instrumentation event from now on to `sink`, or to nobody.
    pub fn set_probe_sink(&mut self, sink: Option<Box<dyn ProbeSink>>) {
        self.shared.sink = sink;
    }

    /// Ends the recording of instrumentation events and drops the sink.
    ///
    /// # Errors
    /// What went wrong while recording, such as a full disk.
    pub fn finish_probes(&mut self) -> std::io::Result<()> {
        match self.shared.sink.take() {
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
        self.evaluations
    }

    /// Messages sent so far.
    pub fn messages(&self) -> u64 {
        self.shared.messages
    }

    /// Runs until the work is done or a limit is met. A later call goes on from there.
    pub fn run(&mut self, limits: &RunLimits) -> Outcome {
        self.run_with(limits, Background::Waits)
    }

    fn run_with(&mut self, limits: &RunLimits, background: Background) -> Outcome {
        let outcome = self.run_edges(limits, background);
        if let Some(OwnedWorld(world)) = &self.world {
            world.pass_time(self.now);
        }
        outcome
    }

    fn run_edges(&mut self, limits: &RunLimits, background: Background) -> Outcome {
        let until = limits.until.map_or(TICK_MAX, |t| t.0.min(TICK_MAX));
        let interrupted = || {
            let flag = limits.interrupt.as_ref();
            flag.is_some_and(|i| i.load(Ordering::Relaxed))
        };
        if interrupted() {
            return Outcome::Interrupted;
        }
        let mut edges = 0u32;
        loop {
            let events = self.world.as_ref().and_then(|w| w.0.next_tick());
            let Some(tick) = self.next_edge(background, events) else {
                return self.silent();
            };
            if tick.0 > until {
                self.now = self.now.max(Tick(until));
                return Outcome::Limit;
            }
            if let Some(silence) = limits.silence
                && tick.0.saturating_sub(self.shared.last_progress.0) > silence
            {
                // Asleep or awake, the run stops when its patience ends.
                self.now = self.now.max(Tick(self.shared.last_progress.0 + silence));
                return Outcome::Livelock(self.deadlock_report());
            }
            self.step(tick);
            if self.world.is_some() {
                self.run_world(events);
            }
            if let Some(message) = self.shared.stop.take() {
                return Outcome::Failed(message);
            }
            if self.shared.obliged && self.shared.obligations == 0 {
                self.shared.obliged = false;
                return Outcome::Done;
            }
            edges += 1;
            if edges == EDGES_PER_CHECK {
                edges = 0;
                if interrupted() {
                    return Outcome::Interrupted;
                }
            }
        }
    }

    /// The next tick with somebody awake, after moving due background wake-ups to their domains.
    #[inline]
    fn next_edge(&mut self, background: Background, events: Option<Tick>) -> Option<Tick> {
        let foreground = self
            .shared
            .domains
            .iter()
            .filter_map(DomainSchedule::next_tick)
            .chain(events)
            .min();
        let mut next = match background {
            Background::Waits => foreground?,
            Background::Counts => {
                let first = self.shared.background.first().map(|(tick, _)| *tick);
                foreground.into_iter().chain(first).min()?
            }
        };
        while let Some(&(tick, target)) = self.shared.background.first()
            && tick <= next
        {
            self.shared.background.pop_first();
            self.shared.wake_at_tick(target, tick.0);
            next = tick;
        }
        if !self.options.sleeping {
            // Everybody at every edge: the first edge of any clock after the last one evaluated.
            let started = self.evaluations > 0;
            next = self
                .shared
                .domains
                .iter()
                .map(|d| Tick((if started { d.cycle + 1 } else { 0 }) * d.period))
                .chain(events)
                .min()?;
        }
        Some(next)
    }

    /// Evaluates every domain that has an edge with somebody awake at `tick`.
    fn step(&mut self, tick: Tick) {
        self.now = tick;
        for d in self.domain_order() {
            let schedule = &self.shared.domains[d];
            let due = if self.options.sleeping {
                schedule.next_tick() == Some(tick)
            } else {
                tick.0.is_multiple_of(schedule.period) && schedule.is_new(tick.0 / schedule.period)
            };
            if due {
                self.evaluate_domain(d, tick.0 / schedule.period);
            }
        }
    }

    /// The event world's share of the current tick, after that of the components.
    fn run_world(&mut self, events: Option<Tick>) {
        let Some(OwnedWorld(world)) = &self.world else {
            return;
        };
        let mut ports = std::mem::take(&mut self.shared.process_ports);
        let world = world.clone();
        if events == Some(self.now) || !ports.is_empty() {
            // Components report in the order of evaluation, which must not matter.
            ports.sort_unstable();
            world.run_at(self.now, &ports);
            let (taken, discharged) = world.obligations();
            self.shared.obligations = (self.shared.obligations + taken)
                .checked_sub(discharged)
                .expect("an obligation is discharged once");
            self.shared.obliged |= taken > 0;
            let woken = std::mem::take(&mut world.inner.borrow_mut().port_wakes);
            for instance in woken {
                self.wake(instance as usize);
            }
            if let Some(message) = world.inner.borrow_mut().failure.take() {
                self.shared.stop.get_or_insert(message);
            }
            ports.clear();
        }
        self.shared.process_ports = ports;
    }

    /// Names of suspended processes and what they wait for.
    pub(crate) fn waiting_processes(&self) -> Vec<(String, String)> {
        self.world.as_ref().map_or(Vec::new(), |w| w.0.waiting())
    }

    /// The domains in the order of evaluation within a tick.
    #[inline]
    fn domain_order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.domains.len();
        let first = match self.options.order {
            Order::Added => 0,
            Order::Shuffled { .. } => (self.shuffle % count.max(1) as u64) as usize,
        };
        (first..count).chain(0..first)
    }

    fn evaluate_domain(&mut self, d: usize, cycle: Cycle) {
        self.shared.domains[d].advance(cycle);
        match (self.options.sleeping, self.options.order) {
            (true, Order::Added) => self.evaluate_awake(d, cycle),
            (sleeping, order) => self.evaluate_list(d, cycle, sleeping, order),
        }
    }

    /// Evaluates those awake in the order in which they were added.
    fn evaluate_awake(&mut self, d: usize, cycle: Cycle) {
        let now = self.now;
        let (slots, shared) = (&mut self.domains[d].slots[..], &mut self.shared);
        let mut evaluations = 0;
        for word in 0..shared.domains[d].words() {
            let mut bits = shared.domains[d].take_word(word);
            evaluations += u64::from(bits.count_ones());
            while bits != 0 {
                let index = (word as u32) << 6 | bits.trailing_zeros();
                bits &= bits - 1;
                let me = Target {
                    domain: d as u32,
                    index,
                };
                evaluate(&mut slots[index as usize], shared, now, cycle, me);
            }
        }
        self.evaluations += evaluations;
    }

    /// Evaluates those awake, or everybody without sleeping, in any order.
    fn evaluate_list(&mut self, d: usize, cycle: Cycle, sleeping: bool, order: Order) {
        // Index and whether the component is awake.
        let mut list = std::mem::take(&mut self.scratch);
        let count = self.domains[d].slots.len() as u32;
        for word in 0..self.shared.domains[d].words() {
            let awake = self.shared.domains[d].take_word(word);
            let first = (word as u32) << 6;
            let all = (first..count.min(first + 64)).map(|i| (i, awake >> (i - first) & 1 == 1));
            list.extend(all.filter(|(_, awake)| *awake || !sleeping));
        }
        if order != Order::Added {
            for i in (1..list.len()).rev() {
                // SplitMix64: a new order every cycle from the seed alone.
                self.shuffle = self.shuffle.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = self.shuffle;
                z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                list.swap(i, ((z ^ z >> 31) % (i as u64 + 1)) as usize);
            }
        }
        self.evaluations += list.len() as u64;
        for (index, awake) in list.drain(..) {
            self.shared.invited = awake;
            let me = Target {
                domain: d as u32,
                index,
            };
            let slot = &mut self.domains[d].slots[index as usize];
            evaluate(slot, &mut self.shared, self.now, cycle, me);
        }
        self.shared.invited = true;
        self.scratch = list;
    }

    /// Wakes instance `number` at its first edge after now; for test benches that changed
    /// something from outside.
    pub(crate) fn wake(&mut self, number: usize) {
        let target = self.instances[number].target;
        let schedule = &mut self.shared.domains[target.domain as usize];
        let cycle = if self.evaluations == 0 {
            0
        } else {
            self.now.0 / schedule.period + 1
        };
        schedule.wake(target.index, cycle);
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
    pub(crate) fn reason(&self, number: usize) -> Reason {
        let target = self.instances[number].target;
        self.domains[target.domain as usize].slots[target.index as usize]
            .activity
            .reason
    }

    pub(crate) fn component(&self, number: usize) -> &dyn Component {
        let target = self.instances[number].target;
        &*self.domains[target.domain as usize].slots[target.index as usize].component
    }

    pub(crate) fn component_mut(&mut self, number: usize) -> &mut dyn Component {
        &mut *self.slot_mut(number).component
    }

    fn slot_mut(&mut self, number: usize) -> &mut Slot {
        let target = self.instances[number].target;
        &mut self.domains[target.domain as usize].slots[target.index as usize]
    }

    pub(crate) fn activity_of(&self, number: usize) -> &Activity {
        let target = self.instances[number].target;
        &self.domains[target.domain as usize].slots[target.index as usize].activity
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
        self.evaluations = evaluations;
    }

    /// Why the event world, if there is one, cannot be saved.
    pub(crate) fn world_refuses(&self) -> Option<CheckpointError> {
        let world = &self.world.as_ref()?.0;
        if let Some(process) = world.first_process() {
            return Some(CheckpointError::Process(process));
        }
        world.next_tick().map(|_| CheckpointError::World)
    }

    pub(crate) fn visit_ports(&mut self, number: usize, visit: &mut dyn FnMut(crate::Port<'_>)) {
        self.component_mut(number).ports(&mut Ports::new(visit));
    }

    /// Cycles of instance `number`'s clock up to now (the edge at `now` included).
    fn cycles_of(&self, number: usize) -> Cycle {
        let domain = self.instances[number].target.domain as usize;
        if self.evaluations == 0 {
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
        let target = self.instances[number].target;
        let mut activity =
            self.domains[target.domain as usize].slots[target.index as usize].activity;
        activity.charge(self.cycles_of(number), Next::Idle);
        activity.cycles
    }
}

#[inline]
fn evaluate(slot: &mut Slot, shared: &mut Shared, now: Tick, cycle: Cycle, me: Target) {
    let mut ctx = Context {
        shared,
        now,
        cycle,
        me,
        component: slot.number,
    };
    let next = slot.component.evaluate(&mut ctx);
    if let Some(sink) = &mut shared.sink
        && slot.activity.reason != next.reason()
    {
        let reason = next.reason();
        sink.record(now, slot.number, &Probe::Waits { reason });
    }
    slot.activity.charge(cycle, next);
    let at = match next {
        Next::Busy => cycle + 1,
        Next::Until(at) => at.max(cycle + 1),
        Next::Message | Next::Credit | Next::Idle => return,
    };
    shared.domains[me.domain as usize].wake(me.index, at);
}
