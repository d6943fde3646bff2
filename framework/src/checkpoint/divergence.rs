//! Divergence of two runs: the first time and place at which their states differ.

use std::fmt;

use serde_json::Value;

use crate::checkpoint::description::{Description, Difference};
use crate::checkpoint::saving::CheckpointError;
use crate::checkpoint::state_hash::StateHasher;
use crate::engine::{Outcome, RunLimits, Simulation};
use crate::state::State;
use crate::time::Tick;

/// Time and place at which two runs diverge.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The tick after whose evaluation the runs differ; `None` if they differ before the first
    /// event.
    pub tick: Option<Tick>,
    /// All components and channels that differ at that tick, in the order of instances and
    /// channels.
    pub places: Vec<DivergencePoint>,
}

/// A component or channel that differs between two runs.
#[derive(Clone, Debug, PartialEq)]
pub struct DivergencePoint {
    /// Path of the instance, or `from -> to` of the channel.
    pub name: String,
    /// Kind of component, or `channel` for a channel.
    pub kind: String,
    /// Differing fields: the field with the path into its value, and the two values. A value is
    /// `None` if only the other run has it.
    pub fields: Vec<(String, Option<Value>, Option<Value>)>,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tick {
            Some(tick) => writeln!(f, "the two runs diverge at {tick}:")?,
            None => writeln!(f, "the two runs differ from the start:")?,
        }
        for DivergencePoint { name, kind, fields } in &self.places {
            writeln!(f, "  `{name}` ({kind})")?;
            for (field, a, b) in fields {
                let shown = |v: &Option<Value>| {
                    v.as_ref()
                        .map_or_else(|| "nothing".to_owned(), Value::to_string)
                };
                writeln!(f, "    {field}: {} | {}", shown(a), shown(b))?;
            }
        }
        Ok(())
    }
}

impl Divergence {
    /// Runs two systems of the same parts in lockstep, edge by edge, until their states differ or
    /// `until` has passed.
    ///
    /// # Errors
    /// Returns an error if a component refuses to be saved, or if the systems consist of different
    /// parts.
    pub fn find(
        a: &mut Simulation,
        b: &mut Simulation,
        until: Tick,
    ) -> Result<Option<Self>, CheckpointError> {
        same_parts(a, b)?;
        let mut hashers = [StateHasher::new(), StateHasher::new()];
        let (mut tick, mut ended) = (None, false);
        loop {
            let [of_a, of_b] = &mut hashers;
            of_a.look(a)?;
            of_b.look(b)?;
            if of_a.components != of_b.components || of_a.channels != of_b.channels {
                let places = parted_places(a, b, &hashers)?;
                return Ok(Some(Self { tick, places }));
            }
            let next = next_edge(a, b).filter(|next| *next <= until && !ended);
            let Some(next) = next else {
                return Ok(None);
            };
            tick = Some(next);
            let limits = RunLimits {
                until: Some(next),
                ..RunLimits::default()
            };
            let outcomes = [a.run(&limits), b.run(&limits)];
            ended = outcomes.iter().all(|outcome| *outcome != Outcome::Limit);
        }
    }
}

/// Returns the first edge of any clock after the current time of both systems.
fn next_edge(a: &Simulation, b: &Simulation) -> Option<Tick> {
    let now = a.now().max(b.now());
    if a.evaluations() == 0 && b.evaluations() == 0 {
        return Some(Tick(0));
    }
    let periods = (0..a.clock_names().count()).map(|clock| a.time().period(clock));
    periods
        .map(|period| Tick((now.0 / period + 1) * period))
        .min()
}

fn same_parts(a: &Simulation, b: &Simulation) -> Result<(), Difference> {
    let names = |simulation: &Simulation| {
        let mut description: Description = simulation.description();
        for subject in &mut description.subjects {
            subject.fields.clear();
        }
        description
    };
    names(a).compare(&names(b))
}

fn parted_places(
    a: &mut Simulation,
    b: &mut Simulation,
    [of_a, of_b]: &[StateHasher; 2],
) -> Result<Vec<DivergencePoint>, CheckpointError> {
    let mut places = Vec::new();
    for number in 0..of_a.components.len() {
        if of_a.components[number] != of_b.components[number] {
            let (path, kind) = a.instances().nth(number).unwrap_or_default();
            let (name, kind) = (path.to_owned(), kind.to_owned());
            let fields = differences(list(a, number)?, list(b, number)?);
            places.push(DivergencePoint { name, kind, fields });
        }
    }
    for channel in 0..of_a.channels.len() {
        if of_a.channels[channel] != of_b.channels[channel] {
            let [in_a, in_b] = [&mut *a, &mut *b].map(|s| list_channel(s, channel));
            places.push(DivergencePoint {
                name: a.channel_name(channel as u32),
                kind: "channel".to_owned(),
                fields: differences(in_a, in_b),
            });
        }
    }
    Ok(places)
}

fn list(
    simulation: &mut Simulation,
    number: usize,
) -> Result<Vec<(String, Value)>, CheckpointError> {
    let component = simulation.component_mut(number);
    State::list(|state| component.state(state))
        .map_err(|problem| simulation.component_error(number, problem))
}

/// Lists the contents of a channel and the accounting of its sending end.
fn list_channel(simulation: &mut Simulation, channel: usize) -> Vec<(String, Value)> {
    let ends = [
        &simulation.channels[channel].to,
        &simulation.channels[channel].from,
    ]
    .map(Clone::clone);
    let mut listed = Vec::new();
    for (instance, name) in ends {
        simulation.visit_ports(instance as usize, &mut |port| {
            if *port.name == *name {
                listed.extend(port.port.describe());
            }
        });
    }
    listed
}

/// Maximum number of leaves listed of one field; the others are only counted.
const LEAVES_MAX: usize = 16;

type FieldDifference = (String, Option<Value>, Option<Value>);

/// Returns the differing fields, down to the individual values in them.
fn differences(a: Vec<(String, Value)>, b: Vec<(String, Value)>) -> Vec<FieldDifference> {
    let mut found = Vec::new();
    for (name, in_a) in &a {
        let in_b = b.iter().find(|(other, _)| other == name).map(|(_, v)| v);
        let mut leaves = Vec::new();
        descend(name, Some(in_a), in_b, &mut leaves);
        leaves.truncate(LEAVES_MAX);
        found.extend(leaves);
    }
    for (name, in_b) in b {
        if !a.iter().any(|(other, _)| *other == name) {
            found.push((name, None, Some(in_b)));
        }
    }
    found
}

fn descend(path: &str, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<FieldDifference>) {
    if a == b {
        return;
    }
    match (a, b) {
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for i in 0..a.len().max(b.len()) {
                descend(&format!("{path}[{i}]"), a.get(i), b.get(i), found);
            }
        }
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let more = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(more) {
                descend(&format!("{path}.{key}"), a.get(key), b.get(key), found);
            }
        }
        _ => found.push((path.to_owned(), a.cloned(), b.cloned())),
    }
}
