//! Coefficient files: energy per event of a component, and its static power.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny};
use warpweave_framework::{InstanceStatistics, Value};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Node, Placed, from_named, name_hint, nearest,
};

use super::quantity::{Joules, Range, Watts};
use crate::address::{Pattern, any_index};

/// Energy coefficients of a machine, from a coefficient file.
#[derive(Clone, Debug)]
pub struct EnergyModel {
    /// Static power of the machine beyond its components.
    pub(super) machine: Option<StaticPower>,
    pub(super) components: Vec<ComponentEnergy>,
}

/// Coefficients of the instances that a pattern names.
#[derive(Clone, Debug)]
pub(super) struct ComponentEnergy {
    pub(super) pattern: Pattern,
    /// Instance pattern as written in the file.
    name: Placed<String>,
    /// Allows machines that contain no matching instance.
    optional: bool,
    pub(super) events: Entries<EventEnergy>,
    pub(super) idle: Option<StaticPower>,
}

/// Top level of a coefficient file.
#[derive(Deserialize)]
struct Energy {
    /// Summary for human readers; not evaluated by the simulator.
    #[serde(default, rename = "summary")]
    _summary: IgnoredAny,
    #[serde(default, rename = "static")]
    machine: Option<StaticPower>,
    #[serde(default)]
    components: Entries<ComponentCoefficients>,
}

/// Coefficients in the file for the instances of one pattern.
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

/// Energy coefficient of one kind of event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventEnergy {
    /// Energy of each event, with its unit.
    pub energy: Joules,
    /// Range of possible energies; without it `energy` is exact.
    #[serde(default)]
    pub range: Option<Placed<Range<Joules>>>,
    /// Unit of the counted events, which must match the statistic's unit.
    pub per: String,
    /// Source of the number, such as a paper; mandatory.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

/// Power drawn continuously, independent of any activity.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticPower {
    /// Static power of each instance, with its unit.
    pub power: Watts,
    /// Range of possible powers; without it `power` is exact.
    #[serde(default)]
    pub range: Option<Placed<Range<Watts>>>,
    /// Source of the number, such as a paper; mandatory.
    #[serde(deserialize_with = "source")]
    pub source: String,
}

impl EnergyModel {
    /// Parses an energy file:
    ///
    /// ```text
    /// Energy(
    ///     static: (...),
    ///     components: { "path[*]": (events: { "statistic": (...) }, static: (...)) },
    /// )
    /// ```
    ///
    /// # Errors
    /// Returns everything that does not have this form, each with its location.
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

    /// Checks that the coefficients fit a machine. Every pattern must name instances that no other
    /// pattern names. Every event must be one of their counters, counted in the coefficient's unit.
    ///
    /// # Errors
    /// Returns everything that does not fit, with its location and the nearest name.
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
            let hint = "an index must be a number, or `*` for all";
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

    /// Returns the instances that the pattern names.
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
            format!("`{text}` does not match a component of this machine that reports statistics");
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
                let message = format!("`{name}` of {kind} is not an event counter");
                let known = counters().map(|s| &*s.name);
                let hint = name_hint(name, &format!("counters of {kind}"), known);
                problems.push(written.error(message).hint(hint));
            } else if statistic.unit != event.per {
                let message = format!(
                    "the energy is per `{}`, but `{name}` of {kind} counts {}",
                    event.per, statistic.unit
                );
                let hint = format!("write `per: \"{}\"` if that is intended", statistic.unit);
                problems.push(written.error(message).hint(hint));
            }
        }
    }
}

impl EventEnergy {
    /// Returns the minimum and maximum energy per event, in joules.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let range = self.range.as_ref().map(|range| range.value);
        range.map_or((self.energy.0, self.energy.0), |r| (r.low.0, r.high.0))
    }
}

impl StaticPower {
    /// Returns the minimum and maximum power per instance, in watts.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let range = self.range.as_ref().map(|range| range.value);
        range.map_or((self.power.0, self.power.0), |r| (r.low.0, r.high.0))
    }
}

/// Checks that a coefficient is within its own range; otherwise one of them is wrong.
fn holds<Q: PartialOrd>(range: Option<&Placed<Range<Q>>>, nominal: &Q) -> Result<(), Diagnostic> {
    match range {
        Some(range) if !range.value.contains(nominal) => {
            let message = "the range does not contain its coefficient";
            let hint = "a range must extend from the minimum to the maximum of the coefficient";
            Err(range.error(message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// Reads the source of a coefficient and rejects an empty one.
fn source<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let source = String::deserialize(deserializer)?;
    if source.trim().is_empty() {
        return Err(D::Error::custom(
            "a coefficient must state its source\nhint: name a paper, data sheet or tool; write PROPOSED for a guess",
        ));
    }
    Ok(source)
}
