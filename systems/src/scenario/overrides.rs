//! Overrides, with their origins and their targets.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_params::{
    Diagnostic, Diagnostics, Entries, Env, Field, Kind, MissingField, Name, Node, Override, Placed,
    Source, Span, Struct, is_expression, name_hint, parse_from, resolve_expressions, to_ron_line,
};

use crate::elaboration::InstanceOverride;
use crate::elaboration::system_file::SystemFile;

/// Override whose target is not yet determined.
pub(super) struct RawOverride {
    path: String,
    place: Span,
    value: Node,
}

/// Overrides by kind of target, in the order given.
#[derive(Default)]
pub(super) struct Overrides {
    /// Overrides of system-wide parameters and clocks.
    pub(super) globals: Globals,
    /// Overrides of the workload's parameters, by name.
    pub(super) workload: BTreeMap<String, Node>,
    /// Overrides of fields of component instances.
    pub(super) instances: Vec<InstanceOverride>,
}

/// Override in the form shown in reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedOverride {
    /// Path of the overridden value, as given.
    pub path: String,
    /// New value as RON, on one line.
    pub value: String,
    /// Origin of the override: `scenario`, or `command line`.
    pub from: String,
}

impl AppliedOverride {
    pub(super) fn of(raw: &RawOverride, from: &str) -> Self {
        Self {
            path: raw.path.clone(),
            value: to_ron_line(&raw.value),
            from: from.to_owned(),
        }
    }

    /// Converts the overrides of a scenario file.
    pub(super) fn of_file(raw: &[RawOverride]) -> Vec<Self> {
        raw.iter().map(|raw| Self::of(raw, "scenario")).collect()
    }
}

/// New values of the system's parameters and clocks.
#[derive(Default)]
pub(super) struct Globals {
    params: Vec<(Placed<String>, Node)>,
    clocks: Vec<(Placed<String>, Node)>,
}

impl RawOverride {
    /// Creates an override from an entry of a scenario file.
    pub(super) fn of_entry((path, value): (Placed<String>, Node)) -> Self {
        Self {
            path: path.value,
            place: path.place.unwrap_or_else(|| value.span.clone()),
            value,
        }
    }

    /// Parses `path=value` from the command line; the first equals sign separates the two.
    fn of_set(text: &str) -> Result<Self, Diagnostics> {
        let source = Source::new(format!("--set {text}"), text);
        let Some(equals) = text.find('=').filter(|at| !text[..*at].trim().is_empty()) else {
            let place = source.span(0, text.len());
            return Err(Diagnostic::error("an override is `path=value`")
                .at(&place)
                .hint("such as `l1.ways=8` or `cluster[*].cu[0].scheduler=Gto`")
                .into());
        };
        let value = value_of(&source, equals + 1)?;
        let path = text[..equals].trim().to_owned();
        Ok(Self {
            path,
            place: source.span(0, equals),
            value,
        })
    }

    /// True if it sets a parameter of the workload.
    pub(super) fn is_of_workload(&self) -> bool {
        self.path.starts_with("workload.")
    }

    /// True if it sets a field of the scenario itself.
    fn is_of_scenario(&self) -> bool {
        matches!(
            self.path.split('.').next(),
            Some(
                "seed"
                    | "size"
                    | "limits"
                    | "emulation"
                    | "energy"
                    | "measure"
                    | "taps"
                    | "region"
                    | "profile"
                    | "locality"
                    | "work_groups"
            )
        )
    }
}

impl Overrides {
    pub(super) fn sort_out(all: impl Iterator<Item = RawOverride>) -> Self {
        let mut sorted = Self::default();
        for RawOverride { path, place, value } in all {
            if let Some(name) = path.strip_prefix("workload.") {
                let value = Node::new(value.kind, place);
                sorted.workload.insert(name.to_owned(), value);
            } else if let Some(name) = path.strip_prefix("params.") {
                let name = Placed::at(name.to_owned(), &place);
                sorted.globals.params.push((name, value));
            } else if let Some(name) = path.strip_prefix("clocks.") {
                let name = Placed::at(name.to_owned(), &place);
                sorted.globals.clocks.push((name, value));
            } else {
                let replacement = InstanceOverride { path, place, value };
                sorted.instances.push(replacement);
            }
        }
        sorted
    }
}

/// Parses the overrides of the command line.
pub(super) fn of_command_line(sets: &[String], problems: &mut Diagnostics) -> Vec<RawOverride> {
    let mut read = Vec::new();
    for set in sets {
        read.extend(problems.take(RawOverride::of_set(set)));
    }
    refuse_repeats(&read, problems);
    read
}

/// Applies overrides of the scenario's own fields and returns the others.
pub(super) fn apply_own(
    all: Vec<RawOverride>,
    scenario: &mut Node,
    problems: &mut Diagnostics,
) -> Vec<RawOverride> {
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(RawOverride::is_of_scenario);
    for RawOverride {
        path,
        place,
        mut value,
    } in own
    {
        // The scenario has no names.
        if problems
            .take(resolve_expressions(&mut value, &Env::new()))
            .is_none()
        {
            continue;
        }
        let applied = Override::of_value(&path, &place, value).and_then(|replacement| {
            match path.split_once('.') {
                Some(("taps", tap)) => ensure_entry(scenario, "taps", tap, &place),
                _ => ensure_struct(scenario, path.split('.').next().unwrap_or_default()),
            }
            let applied = replacement.apply(scenario, MissingField::Insert);
            applied.map_err(Diagnostics::from)
        });
        problems.take(applied);
    }
    others
}

/// Parses the value of a command-line override, starting at `start`. It is RON or an expression.
/// Quotes and equals sign of an expression may be omitted if the value is unambiguous.
fn value_of(source: &Arc<Source>, start: usize) -> Result<Node, Diagnostics> {
    let text = &source.text()[start..];
    let expression = |text: &str| {
        let at = source.text().len() - text.len();
        let place = source.span(at, at + text.trim_end().len());
        let bare = text.strip_prefix('=').unwrap_or(text);
        Node::new(Kind::Text(format!("={bare}")), place)
    };
    let trimmed = text.trim_start();
    if trimmed.starts_with('=') {
        return Ok(expression(trimmed));
    }
    parse_from(source, start).or_else(|problems| {
        if is_expression(trimmed) {
            Ok(expression(trimmed))
        } else {
            Err(problems)
        }
    })
}

impl Globals {
    /// Applies the new values to the system file.
    pub(super) fn set(self, file: &mut SystemFile, problems: &mut Diagnostics) {
        let params = &mut file.scope.params;
        replace(params, self.params, ("parameter", "parameters"), problems);
        replace(&mut file.clocks, self.clocks, ("clock", "clocks"), problems);
    }
}

fn replace(
    declared: &mut Entries<Node>,
    values: Vec<(Placed<String>, Node)>,
    (one, many): (&str, &str),
    problems: &mut Diagnostics,
) {
    for (name, value) in values {
        if let Some((_, default)) = declared.get_mut(&name.value) {
            *default = value;
            continue;
        }
        let hint = name_hint(
            &name.value,
            &format!("{many} of the system"),
            declared.names(),
        );
        let message = format!("the system has no {one} `{}`", name.value);
        problems.push(name.error(message).hint(hint));
    }
}

fn refuse_repeats(overrides: &[RawOverride], problems: &mut Diagnostics) {
    let mut first: BTreeMap<String, &Span> = BTreeMap::new();
    for o in overrides {
        let plain: String = o.path.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(earlier) = first.get(&plain) {
            problems.push(
                Diagnostic::error(format!("`{plain}` is set twice"))
                    .at(&o.place)
                    .related("first set here", earlier)
                    .hint("remove one of the two"),
            );
        } else {
            first.insert(plain, &o.place);
        }
    }
}

/// Adds an empty `field: ()` to a struct that omits it, so that parts of it can be set.
fn ensure_struct(node: &mut Node, field: &str) {
    if matches!(
        field,
        "seed" | "size" | "energy" | "profile" | "locality" | "work_groups"
    ) {
        return;
    }
    let nothing = Struct {
        name: None,
        fields: Vec::new(),
    };
    ensure_field(node, field, Kind::Struct(nothing));
}

/// Adds a field to a struct unless it already exists.
fn ensure_field(node: &mut Node, field: &str, value: Kind) {
    if node.field(field).is_some() {
        return;
    }
    let span = node.head_span();
    if let Kind::Struct(fields) = &mut node.kind {
        fields.fields.push(Field {
            name: Name {
                text: field.to_owned(),
                span: span.clone(),
            },
            value: Node::new(value, span),
        });
    }
}

/// Adds an entry `name` without a value to the map `field` unless it exists.
fn ensure_entry(node: &mut Node, field: &str, name: &str, place: &Span) {
    ensure_field(node, field, Kind::Map(Vec::new()));
    if name.contains('.') {
        return;
    }
    let Kind::Struct(value) = &mut node.kind else {
        return;
    };
    let map = value.fields.iter_mut().find(|f| f.name.text == field);
    if let Some(Kind::Map(entries)) = map.map(|field| &mut field.value.kind)
        && entries.iter().all(|(key, _)| key.as_str() != Some(name))
    {
        let key = Node::new(Kind::Text(name.to_owned()), place.clone());
        entries.push((key, Node::new(Kind::Map(Vec::new()), place.clone())));
    }
}
