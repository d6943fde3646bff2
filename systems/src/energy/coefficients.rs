//! Coefficient files: what an event of a component costs, and what it draws all the time.

use std::collections::BTreeMap;

use serde::Deserialize;
use warpweave_framework::{InstanceStatistics, Value};
use warpweave_params::{Diagnostic, Diagnostics, Node, Span, from_node, name_hint, nearest};

use super::quantity::{Joules, Watts};
use crate::elaboration::address::Pattern;
use crate::elaboration::system_file::{check_fields, expect_name, key_text, map_entries};

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
    pub(super) place: Span,
    /// The machine may be without it.
    optional: bool,
    pub(super) events: Vec<(String, Span, EventEnergy)>,
    pub(super) idle: Option<StaticPower>,
}

/// Energy of one event.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventEnergy {
    /// Energy of each.
    pub energy: Joules,
    /// What is counted: the unit of the statistic.
    pub per: String,
    /// Where the number comes from.
    pub source: String,
}

/// Power drawn all the time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaticPower {
    /// Power of each instance.
    pub power: Watts,
    /// Where the number comes from.
    pub source: String,
}

const FIELDS: [&str; 3] = ["summary", "static", "components"];
const COMPONENT_FIELDS: [&str; 3] = ["events", "static", "optional"];

impl EnergyModel {
    /// Reads `Energy(static: (...), components: { "path[*]": (events: { "statistic": (...) },
    /// static: (...)) })`.
    ///
    /// # Errors
    /// Everything that is not of this form, each with its place.
    pub fn read(node: &Node) -> Result<Self, Diagnostics> {
        let mut problems = Diagnostics::new();
        expect_name(node, "Energy", &mut problems);
        check_fields(node, "Energy", &FIELDS, &mut problems);
        let entries = map_entries(node, "components", &mut problems);
        let mut components = Vec::new();
        for (key, value) in entries {
            components.extend(ComponentEnergy::read(key, value, &mut problems));
        }
        let machine = read_static(node, &mut problems);
        problems.into_result(Self {
            machine,
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
                problems.push(
                    Diagnostic::error(message)
                        .at(&component.place)
                        .related("first here", &other.place),
                );
                break;
            }
        }
        problems.into_result(())
    }
}

impl ComponentEnergy {
    fn read(key: &Node, value: &Node, problems: &mut Diagnostics) -> Option<Self> {
        let text = key_text(key, problems)?;
        let pattern = problems.take(Pattern::parse(text, &key.span))?;
        if let Some(name) = pattern.variables().first() {
            let message = format!("`{name}` in `{text}` has no value here");
            let hint = "an index is a number, or `*` for all";
            problems.push(Diagnostic::error(message).at(&key.span).hint(hint));
            return None;
        }
        check_fields(value, "a component's energy", &COMPONENT_FIELDS, problems);
        let mut events = Vec::new();
        for (name, event) in map_entries(value, "events", problems) {
            let read = problems.take(from_node::<EventEnergy>(event));
            let (Some(text), Some(read)) = (key_text(name, problems), read) else {
                continue;
            };
            require_source(&read.source, event, problems);
            events.push((text.to_owned(), name.span.clone(), read));
        }
        let idle = read_static(value, problems);
        let optional = value
            .field("optional")
            .and_then(|node| problems.take(from_node::<bool>(node)));
        if events.is_empty() && idle.is_none() && !problems.has_errors() {
            let message = format!("`{text}` has neither events nor static power");
            problems.push(Diagnostic::error(message).at(&key.span));
        }
        Some(Self {
            pattern,
            place: key.span.clone(),
            optional: optional.unwrap_or(false),
            events,
            idle,
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
        Diagnostic::error(message).at(&self.place).hint(hint)
    }

    fn check_events(&self, instance: &InstanceStatistics, problems: &mut Diagnostics) {
        let kind = &instance.kind;
        for (name, place, event) in &self.events {
            let statistic = instance.values.iter().find(|s| s.name == *name);
            let counters = || {
                let counters = instance.values.iter();
                counters.filter(|s| matches!(s.value, Value::Counter(_)))
            };
            let Some(statistic) = statistic else {
                let message = format!("{kind} has no statistic `{name}`");
                let known = counters().map(|s| s.name.as_str());
                let hint = name_hint(name, &format!("counters of {kind}"), known);
                problems.push(Diagnostic::error(message).at(place).hint(hint));
                continue;
            };
            if !matches!(statistic.value, Value::Counter(_)) {
                let message = format!("`{name}` of {kind} counts no events");
                let known = counters().map(|s| s.name.as_str());
                let hint = name_hint(name, &format!("counters of {kind}"), known);
                problems.push(Diagnostic::error(message).at(place).hint(hint));
            } else if statistic.unit != event.per {
                let message = format!(
                    "the energy is per `{}`, but `{name}` of {kind} counts {}",
                    event.per, statistic.unit
                );
                let hint = format!("write `per: \"{}\"` if that is meant", statistic.unit);
                problems.push(Diagnostic::error(message).at(place).hint(hint));
            }
        }
    }
}

fn read_static(owner: &Node, problems: &mut Diagnostics) -> Option<StaticPower> {
    let node = owner.field("static")?;
    let power = problems.take(from_node::<StaticPower>(node))?;
    require_source(&power.source, node, problems);
    Some(power)
}

fn require_source(source: &str, node: &Node, problems: &mut Diagnostics) {
    if source.trim().is_empty() {
        let place = node.field("source").map_or(&node.span, |s| &s.span);
        problems.push(
            Diagnostic::error("a coefficient says where it comes from")
                .at(place)
                .hint("name a paper, data sheet or tool; write PROPOSED for a guess"),
        );
    }
}

/// `cluster[3].l1` becomes `cluster[*].l1`.
fn any_index(path: &str) -> String {
    let mut parts = path.split('[');
    let mut pattern = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once(']').map_or("", |(_, rest)| rest);
        pattern.push_str("[*]");
        pattern.push_str(rest);
    }
    pattern
}
