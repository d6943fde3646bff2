//! Saving and loading checkpoints, from which a system can resume.
//!
//! ```text
//!   Simulation ── save ──► Checkpoint                        ── load ──► Simulation, elaborated
//!                            description of the system (compared first)   from the same
//!                            per instance: the fields it names            description
//!                            per channel: what it holds, its accounting
//!                            engine: time, wake-ups by instance, activity
//! ```
//!
//! All state is indexed by the numbers of instances and channels, not by the engine's partitions. A
//! system saved by one engine can therefore be loaded by another.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::channel::{Direction, Link, SavedPort, Width};
use crate::checkpoint::description::{Description, Difference, Subject};
use crate::engine::{Activity, Instance, Partition, Simulation, Stop};
use crate::state::{State, StateError};
use crate::time::{Cycle, TICK_MAX, Tick};

/// The state of a system between two edges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Description of the system: clocks, instances, wires.
    system: Description,
    /// Further properties that must match before the checkpoint may be loaded, such as
    /// specifications. Filled in by the caller.
    pub details: Description,
    engine: EngineState,
    /// State of components, indexed by instance number.
    components: Vec<Vec<u8>>,
    /// State of channels, indexed by channel number.
    channels: Vec<SavedChannel>,
}

/// Reason for which a system could not be saved or a checkpoint not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// The system has processes, whose state between two waits is code, not data.
    #[error(
        "process `{0}` cannot be saved\nhint: save systems of components only, or replay the \
         inputs of the process"
    )]
    Process(String),
    /// The event world waits for something although it has no process.
    #[error("pending notifications and signal updates of the event world cannot be saved")]
    World,
    /// The checkpoint belongs to another system.
    #[error("the checkpoint is for a different system: {0}")]
    OtherSystem(#[from] Difference),
    /// The state of a component could not be saved or loaded.
    #[error("`{path}` ({kind}): {problem}")]
    Component {
        /// Path of the instance with the problem.
        path: String,
        /// Kind of component of the instance.
        kind: String,
        /// Problem with the state of the component.
        problem: StateError,
    },
    /// The state of a channel could not be saved or loaded.
    #[error("channel `{name}`: {problem}")]
    Channel {
        /// Name of the channel as `from -> to`.
        name: String,
        /// Describes the problem with the channel's state.
        problem: String,
    },
    /// The state of the engine could not be saved or loaded.
    #[error("the engine state does not match this system: {0}")]
    Engine(String),
}

/// State of the engine, indexed by numbers of clocks and instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct EngineState {
    now: Tick,
    evaluations: u64,
    messages: u64,
    last_progress: Tick,
    obligations: u64,
    /// End of the run, if it is decided but not reached yet.
    stop: Option<Stop>,
    /// Last evaluated cycle of each clock, and true if there was one.
    clocks: Vec<(Cycle, bool)>,
    /// Cycles at which each instance is to be woken.
    wakes: Vec<Vec<Cycle>>,
    /// Wake-ups that do not keep a run alive, with their instances.
    background: Vec<(Tick, u32)>,
    /// Activity counts, indexed by instance number.
    activity: Vec<Activity>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SavedChannel {
    from: SavedPort,
    to: SavedPort,
}

impl Checkpoint {
    /// Returns the time at which the system was saved.
    pub fn now(&self) -> Tick {
        self.engine.now
    }
}

impl Simulation {
    /// Saves the state from which a system elaborated from the same description can resume.
    ///
    /// # Errors
    /// Returns an error if a component refuses, or if the system has processes.
    pub fn save(&mut self) -> Result<Checkpoint, CheckpointError> {
        if let Some(refusal) = self.world_refuses() {
            return Err(refusal);
        }
        let components = (0..self.instances.len()).map(|n| self.save_component(n));
        let components = components.collect::<Result<_, _>>()?;
        Ok(Checkpoint {
            system: self.description(),
            details: Description::default(),
            engine: self.save_engine(),
            components,
            channels: self.save_channels()?,
        })
    }

    /// Sets the system, fresh or not, to the state that `checkpoint` holds.
    ///
    /// # Errors
    /// Returns an error if the checkpoint is damaged or belongs to another system. After an error
    /// the system's state is unusable, except after [`CheckpointError::OtherSystem`], which leaves
    /// it unchanged.
    pub fn load(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        if let Some(refusal) = self.world_refuses() {
            return Err(refusal);
        }
        checkpoint.system.compare(&self.description())?;
        let counts = (checkpoint.components.len(), checkpoint.channels.len());
        if counts != (self.instances.len(), self.channels.len()) {
            let problem = "it has different numbers of components and channels";
            return Err(CheckpointError::Engine(problem.to_owned()));
        }
        // Senders that wait are restored within one partition; the division follows.
        self.place(&vec![0; self.instances.len()]);
        let result = self.load_parts(checkpoint);
        self.divide();
        result
    }

    /// Returns the reason for which the event world, if there is one, cannot be saved.
    fn world_refuses(&self) -> Option<CheckpointError> {
        let world = self.world.as_ref()?;
        if let Some(process) = world.first_process() {
            return Some(CheckpointError::Process(process));
        }
        world.upcoming().map(|_| CheckpointError::World)
    }

    fn load_parts(&mut self, checkpoint: &Checkpoint) -> Result<(), CheckpointError> {
        for (number, bytes) in checkpoint.components.iter().enumerate() {
            State::load(bytes, |state| self.component_mut(number).state(state))
                .map_err(|problem| self.component_error(number, problem))?;
        }
        self.load_channels(&checkpoint.channels)?;
        self.load_engine(&checkpoint.engine)
            .map_err(CheckpointError::Engine)
    }

    fn save_component(&mut self, number: usize) -> Result<Vec<u8>, CheckpointError> {
        State::save(|state| self.component_mut(number).state(state))
            .map_err(|problem| self.component_error(number, problem))
    }

    pub(crate) fn component_error(&self, number: usize, problem: StateError) -> CheckpointError {
        let Instance { path, kind, .. } = &self.instances[number];
        CheckpointError::Component {
            path: path.to_string(),
            kind: kind.to_string(),
            problem,
        }
    }

    /// Describes the clocks, instances and wires of the system.
    pub(crate) fn description(&self) -> Description {
        let subject = |name: &str, kind: &str, fields| Subject {
            name: name.to_owned(),
            kind: kind.to_owned(),
            fields,
        };
        let text = |name: &str, value: &dyn fmt::Display| (name.to_owned(), value.to_string());
        let clocks = self.clock_names().enumerate().map(|(clock, name)| {
            let period = self.time.seconds(Tick(self.time.period(clock)));
            subject(name, "clock", vec![text("period in seconds", &period)])
        });
        let names: Vec<_> = self.clock_names().collect();
        let instances = self.instances.iter().map(|instance| {
            let clock = names[instance.place.target.domain as usize];
            subject(&instance.path, &instance.kind, vec![text("clock", &clock)])
        });
        let wires = self.channels.iter().enumerate().map(|(number, channel)| {
            let name = self.channel_name(number as u32);
            subject(&name, "wire", wire_fields(&channel.link))
        });
        Description {
            subjects: clocks.chain(instances).chain(wires).collect(),
        }
    }

    /// Visits both ends of every channel with the number of the channel and the port.
    fn visit_channel_ends(&mut self, mut visit: impl FnMut(u32, &mut dyn crate::channel::AnyPort)) {
        for (number, ends) in self.ends_by_instance().iter().enumerate() {
            self.visit_ports(number, &mut |port| {
                for (_, channel) in ends.iter().filter(|(name, _)| **name == *port.name) {
                    visit(*channel, port.port);
                }
            });
        }
    }

    fn save_channels(&mut self) -> Result<Vec<SavedChannel>, CheckpointError> {
        let mut saved = vec![SavedChannel::default(); self.channels.len()];
        let mut failed = None;
        let now = self.now().0;
        self.visit_channel_ends(|channel, port| match port.save(now) {
            Ok(_) if port.is_tapped() => {
                let problem = "the state of a tap on one of its ports cannot be saved";
                failed.get_or_insert((channel, problem.to_owned()));
            }
            Ok(state) => *saved[channel as usize].end(port.direction()) = state,
            Err(problem) => failed = failed.take().or(Some((channel, problem))),
        });
        self.channel_result(failed)?;
        Ok(saved)
    }

    fn load_channels(&mut self, saved: &[SavedChannel]) -> Result<(), CheckpointError> {
        let mut failed = None;
        self.visit_channel_ends(|_, port| port.clear());
        self.visit_channel_ends(|channel, port| {
            let SavedChannel { from, to } = &saved[channel as usize];
            let (own, other) = match port.direction() {
                Direction::Output => (from, to),
                Direction::Input => (to, from),
            };
            if let Err(problem) = port.load(own, other) {
                failed.get_or_insert((channel, problem));
            }
        });
        self.channel_result(failed)
    }

    pub(crate) fn channel_result(
        &self,
        failed: Option<(u32, String)>,
    ) -> Result<(), CheckpointError> {
        failed.map_or(Ok(()), |(channel, problem)| {
            Err(CheckpointError::Channel {
                name: self.channel_name(channel),
                problem,
            })
        })
    }

    /// Returns, per instance, the names of its connected ports with their channels.
    pub(crate) fn ends_by_instance(&self) -> Vec<Vec<(Arc<str>, u32)>> {
        let mut ends = vec![Vec::new(); self.instances.len()];
        for (number, channel) in self.channels.iter().enumerate() {
            for (instance, port) in [&channel.from, &channel.to] {
                ends[*instance as usize].push((port.clone(), number as u32));
            }
        }
        ends
    }

    fn save_engine(&self) -> EngineState {
        let scheduled = self.scheduled();
        let mut wakes = vec![Vec::new(); self.instances.len()];
        for (number, cycle) in scheduled.wakes {
            wakes[number as usize].push(cycle);
        }
        let mut background = scheduled.background;
        background.sort_unstable();
        EngineState {
            now: self.now(),
            evaluations: self.evaluations(),
            messages: self.messages(),
            last_progress: self.coordinator.last_progress,
            obligations: self.coordinator.obligations,
            stop: self.coordinator.stop.clone(),
            clocks: scheduled.standing,
            wakes,
            background,
            activity: (0..self.instances.len())
                .map(|n| *self.activity_of(n))
                .collect(),
        }
    }

    /// Restores the engine, which must consist of a single partition.
    fn load_engine(&mut self, engine: &EngineState) -> Result<(), String> {
        let Partition {
            shared, domains, ..
        } = &mut self.partitions[0];
        let counts = [engine.wakes.len(), engine.activity.len()];
        if counts != [self.instances.len(); 2] || engine.clocks.len() != domains.len() {
            return Err("it has different numbers of clocks and components".to_owned());
        }
        let now = engine.now.0;
        if now > TICK_MAX {
            return Err(format!("tick {now} is beyond the horizon"));
        }
        for (schedule, (cycle, started)) in domains.iter_mut().zip(&engine.clocks) {
            if *cycle > now / schedule.period || !started && *cycle > 0 {
                return Err(format!(
                    "cycle {cycle} was evaluated, but the current time is tick {now}"
                ));
            }
            schedule.load(*cycle, *started);
        }
        let counts = [engine.evaluations, engine.messages, engine.obligations];
        if let Some(count) = counts.into_iter().find(|count| *count > TICK_MAX) {
            return Err(format!("count {count} is out of range"));
        }
        if engine.last_progress.0 > TICK_MAX {
            return Err(format!(
                "last progress at {} is beyond the horizon",
                engine.last_progress
            ));
        }
        for (instance, cycles) in self.instances.iter().zip(&engine.wakes) {
            let target = instance.place.target;
            let schedule = &mut domains[target.domain as usize];
            for cycle in cycles {
                if !schedule.is_new(*cycle) {
                    let path = &instance.path;
                    return Err(format!(
                        "`{path}` has a wake-up in cycle {cycle}, which is in the past"
                    ));
                }
                schedule.wake(target.index, *cycle);
            }
        }
        shared.background.clear();
        for (tick, number) in &engine.background {
            if tick.0 > TICK_MAX {
                return Err(format!("a wake-up at {tick} is beyond the horizon"));
            }
            let instance = self.instances.get(*number as usize);
            let instance = instance.ok_or("a wake-up for a component that does not exist")?;
            shared.background.insert((*tick, instance.place.target));
        }
        shared.messages = engine.messages;
        shared.last_progress = engine.last_progress;
        let here = self.instances.iter().map(|instance| {
            let target = instance.place.target;
            (&instance.path, engine.clocks[target.domain as usize].0)
        });
        for ((path, cycle), activity) in here.zip(&engine.activity) {
            activity
                .check(cycle)
                .map_err(|problem| format!("`{path}`: {problem}"))?;
        }
        for (number, activity) in engine.activity.iter().enumerate() {
            *self.activity_of_mut(number) = *activity;
        }
        self.coordinator.last_progress = engine.last_progress;
        self.coordinator.obligations = engine.obligations;
        self.coordinator.stop.clone_from(&engine.stop);
        self.set_progress(engine.now, engine.evaluations);
        Ok(())
    }
}

impl SavedChannel {
    fn end(&mut self, direction: Direction) -> &mut SavedPort {
        match direction {
            Direction::Output => &mut self.from,
            Direction::Input => &mut self.to,
        }
    }
}

fn wire_fields(link: &Link) -> Vec<(String, String)> {
    let capacity = link.capacity.unwrap_or_else(|| link.full_rate_capacity());
    let width = match link.width {
        Width::Messages(n) => format!("{n} messages per cycle"),
        Width::Bytes(n) => format!("{n} bytes per cycle"),
    };
    [
        ("latency", link.latency.to_string()),
        ("credit_latency", link.credit_latency.to_string()),
        ("capacity", capacity.to_string()),
        ("width", width),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
