//! Coefficient files: what an event of a component costs, and what it draws all the time.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use warpweave_framework::{InstanceStatistics, Value};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Node, Placed, from_named, name_hint, nearest,
};

use super::quantity::{Joules, Range, Watts};
use crate::elaboration::address::{Pattern, any_index};

/// The coefficients of a machine.
#[derive(Clone, Debug)]
pub struct EnergyModel {
    /// What the machine draws beyond its components.
    pub(super) machine: Option<StaticPower>,
    pub(super) components: Vec<ComponentEnergy>,
}

/// The coefficients of the instances that a pattern names.
#[derive(Clone, Debug)]
pub(super) struct ComponentEnergy {
    pub(super) pattern: Pattern,
    /// The pattern as written.
    name: Placed<String>,
    /// The machine may be without it.
    optional: bool,
    pub(super) events: Entries<EventEnergy>,
    pub(super) idle: Option<StaticPower>,
}

/// A coefficient file.
#[derive(Deserialize)]
struct Energy {
    /// For readers of the file.
    #[serde(default, rename = "summary")]
    _summary: IgnoredAny,
    #[serde(default, rename = "static")]
    machine: Option<StaticPower>,
    #[serde(default)]
    components: Entries<ComponentCoefficients>,
}

/// What a coefficient file says of the instances of a pattern.
#[derive(Deserialize)]
#[serde(rename = "a component's energy")]
struct ComponentCoefficients {
    #[serde(default)]
    events: Entries<EventEnergy>,
    #[serde(default, rename = "static")]
    idle: Option<StaticPower>,
    #[serde(default)]
    optional: bool,
}

/// Energy of one event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventEnergy {
    /// Energy of each.
    pub energy: Joules,
    /// Between what it may lie; without it `energy` is exact.
    #[serde(default)]
    pub range: Option<Placed<Range<Joules>>>,
    /// What is counted: the unit of the statistic.
    pub per: String,
    /// Where the number comes from.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

/// Power drawn all the time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticPower {
    /// Power of each instance.
    pub power: Watts,
    /// Between what it may lie; without it `power` is exact.
    #[serde(default)]
    pub range: Option<Placed<Range<Watts>>>,
    /// Where the number comes from.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

impl EnergyModel {
    /// Reads `Energy(static: (...), components: { "path[*]": (events: { "statistic": (...) },
    /// static: (...)) })`.
    ///
    /// # Errors
    /// Everything that is not of this form, each with its place.
    pub fn read(node: &Node) -> Result<Self, Diagnostics> {
        let file: Energy = from_named(node, "Energy")?;
        let mut problems = Diagnostics::new();
        let idle = file.components.iter().filter_map(|(_, c)| c.idle.as_ref());
        for power in file.machine.iter().chain(idle) {
            problems.take(holds(power.range.as_ref(), &power.power));
        }
        let events = file.components.iter().flat_map(|(_, c)| c.events.iter());
        for (_, event) in events {
            problems.take(holds(event.range.as_ref(), &event.energy));
        }
        let components = file.components.into_iter();
        let components = components
            .filter_map(|(name, read)| problems.take(ComponentEnergy::new(name, read)))
            .collect();
        problems.into_result(Self {
            machine: file.machine,
            components,
        })
    }

    /// Whether the coefficients fit a machine: every pattern names instances that no other one
    /// names, and every event is a counter of theirs, counted in the unit that the coefficient is
    /// for.
    ///
    /// # Errors
    /// Everything that does not fit, with its place and the nearest name.
    pub fn check(&self, statistics: &[InstanceStatistics]) -> Result<(), Diagnostics> {
        let mut problems = Diagnostics::new();
        let mut taken: BTreeMap<&str, &ComponentEnergy> = BTreeMap::new();
        for component in &self.components {
            let mut instances = component.instances(statistics).peekable();
            let Some(first) = instances.peek().copied() else {
                if !component.optional {
                    problems.push(component.names_nothing(statistics));
                }
                continue;
            };
            component.check_events(first, &mut problems);
            for instance in instances {
                let Some(other) = taken.insert(&instance.path, component) else {
                    continue;
                };
                let message = format!("`{}` has coefficients twice", instance.path);
                let mut problem = component.name.error(message);
                if let Some(first) = &other.name.place {
                    problem = problem.related("first here", first);
                }
                problems.push(problem);
                break;
            }
        }
        problems.into_result(())
    }
}

impl ComponentEnergy {
    fn new(name: Placed<String>, read: ComponentCoefficients) -> Result<Self, Diagnostic> {
        let text = &name.value;
        let pattern = Pattern::parse(text, &name)?;
        if let Some(variable) = pattern.variables().first() {
            let message = format!("`{variable}` in `{text}` has no value here");
            let hint = "an index is a number, or `*` for all";
            return Err(name.error(message).hint(hint));
        }
        if read.events.is_empty() && read.idle.is_none() {
            let message = format!("`{text}` has neither events nor static power");
            return Err(name.error(message));
        }
        Ok(Self {
            pattern,
            name,
            optional: read.optional,
            events: read.events,
            idle: read.idle,
        })
    }

    /// The instances that the pattern names.
    pub(super) fn instances<'s>(
        &self,
        statistics: &'s [InstanceStatistics],
    ) -> impl Iterator<Item = &'s InstanceStatistics> {
        let all = statistics.iter();
        all.filter(|instance| self.pattern.matches(&instance.path).is_some())
    }

    fn names_nothing(&self, statistics: &[InstanceStatistics]) -> Diagnostic {
        let text = self.pattern.text();
        let message =
            format!("`{text}` names no component of this machine that reports statistics");
        let paths: Vec<String> = statistics.iter().map(|s| any_index(&s.path)).collect();
        let hint = match nearest(&text, paths.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`warpweave check` lists the components".to_owned(),
        };
        self.name.error(message).hint(hint)
    }

    fn check_events(&self, instance: &InstanceStatistics, problems: &mut Diagnostics) {
        let kind = &instance.kind;
        for (written, event) in &self.events {
            let name = &written.value;
            let statistic = instance.values.iter().find(|s| *s.name == **name);
            let counters = || {
                let counters = instance.values.iter();
                counters.filter(|s| matches!(s.value, Value::Counter(_)))
            };
            let Some(statistic) = statistic else {
                let message = format!("{kind} has no statistic `{name}`");
                let known = counters().map(|s| &*s.name);
                let hint = name_hint(name, &format!("counters of {kind}"), known);
                problems.push(written.error(message).hint(hint));
                continue;
            };
            if !matches!(statistic.value, Value::Counter(_)) {
                let message = format!("`{name}` of {kind} counts no events");
                let known = counters().map(|s| &*s.name);
                let hint = name_hint(name, &format!("counters of {kind}"), known);
                problems.push(written.error(message).hint(hint));
            } else if statistic.unit != event.per {
                let message = format!(
                    "the energy is per `{}`, but `{name}` of {kind} counts {}",
                    event.per, statistic.unit
                );
                let hint = format!("write `per: \"{}\"` if that is meant", statistic.unit);
                problems.push(written.error(message).hint(hint));
            }
        }
    }
}

impl EventEnergy {
    /// Joules of each, at the least and at the most.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let range = self.range.as_ref().map(|range| range.value);
        range.map_or((self.energy.0, self.energy.0), |r| (r.low.0, r.high.0))
    }
}

impl StaticPower {
    /// Watts of each instance, at the least and at the most.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let range = self.range.as_ref().map(|range| range.value);
        range.map_or((self.power.0, self.power.0), |r| (r.low.0, r.high.0))
    }
}

/// A coefficient outside of its own range has one of the two wrong.
fn holds<Q: PartialOrd>(range: Option<&Placed<Range<Q>>>, nominal: &Q) -> Result<(), Diagnostic> {
    match range {
        Some(range) if !range.value.contains(nominal) => {
            let message = "the range does not contain the coefficient that it is of";
            let hint = "a range goes from the least to the most that the coefficient may be";
            Err(range.error(message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// Where a coefficient comes from, which no one may leave open.
fn source<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let source = String::deserialize(deserializer)?;
    if source.trim().is_empty() {
        return Err(D::Error::custom(
            "a coefficient says where it comes from\n\
             hint: name a paper, data sheet or tool; write PROPOSED for a guess",
        ));
    }
    Ok(source)
}
