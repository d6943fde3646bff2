//! Tables on component pages that are generated from the code.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use warpweave_framework::{
    Environment, FieldDoc, KindEntry, Registry, Statistic, Statistics, Tick,
};
use warpweave_params::{Source, parse};
use warpweave_systems::standard_registry;
use warpweave_trace::{FrontEnd, Program};

use super::descriptions::DESCRIPTIONS;
use super::shared_rows;

/// Marker in a field's doc comment that ends its meaning and starts the source of its value.
const SOURCE: &str = "Source: ";

/// Text in the column of defaults for a field without one.
const REQUIRED: &str = "required";

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.trim().trim_end_matches('.').replace('|', "\\|")
}

struct Parameter {
    name: String,
    default: String,
    meaning: String,
    /// Source of the value; empty if not given.
    source: String,
}

impl Parameter {
    fn new(name: String, field: &FieldDoc) -> Self {
        let (meaning, source) = field.doc.split_once(SOURCE).unwrap_or((&field.doc, ""));
        let default = match &field.default {
            Some(value) if value.is_empty() => "empty".to_owned(),
            Some(value) => format!("`{value}`"),
            None if field.required => REQUIRED.to_owned(),
            None => "absent".to_owned(),
        };
        Self {
            name,
            default,
            meaning: cell(meaning),
            source: cell(source),
        }
    }
}

/// Returns the parameter table of a kind. A column with equal values for all fields becomes a
/// sentence before the table. Sources that few fields have are appended to their meanings.
pub(super) fn parameters(kind: &KindEntry) -> String {
    let fields = kind.fields();
    let rows = shared_rows::fields(&fields).into_iter();
    let rows: Vec<_> = rows
        .map(|(name, field)| Parameter::new(name, field))
        .collect();
    let defaults = rows.iter().any(|row| row.default != REQUIRED);
    let sources = rows.iter().filter(|row| !row.source.is_empty()).count() * 2 >= rows.len();
    let titles = [
        Some("field"),
        defaults.then_some("default"),
        Some("meaning"),
        sources.then_some("source"),
    ];
    let mut text = String::new();
    if !defaults {
        text.push_str("Every field is required.\n\n");
    }
    text.push_str(&line(titles.map(|title| title.map(str::to_owned))));
    text.push_str(&line(titles.map(|title| title.map(|_| "---".to_owned()))).replace(' ', ""));
    for row in rows {
        let meaning = match row.source.as_str() {
            source if sources || source.is_empty() => row.meaning,
            source => format!("{}. {SOURCE}{source}", row.meaning),
        };
        text.push_str(&line([
            Some(format!("`{}`", row.name)),
            defaults.then_some(row.default),
            Some(meaning),
            sources.then_some(row.source),
        ]));
    }
    text
}

/// Returns the policies of a role: each with its meaning, then its fields.
pub(super) fn policies(registry: &Registry, role: &str) -> String {
    let mut text = "| policy | default | meaning |\n|---|---|---|\n".to_owned();
    for policy in registry.policies(role) {
        let name = policy.name;
        let _ = writeln!(text, "| `{name}` | | {} |", cell(policy.summary));
        let fields = policy.fields();
        for (field, told) in shared_rows::fields(&fields) {
            let Parameter {
                name: field,
                default,
                meaning,
                source,
            } = Parameter::new(field, told);
            let source = if source.is_empty() {
                source
            } else {
                format!(". {SOURCE}{source}")
            };
            let _ = writeln!(text, "| `{name}.{field}` | {default} | {meaning}{source} |");
        }
    }
    text
}

/// Returns a table line with the cells that are present.
fn line(cells: [Option<String>; 4]) -> String {
    let cells: Vec<String> = cells.into_iter().flatten().collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns an environment with an empty program, for kinds that inspect the program when they are
/// built.
fn environment() -> Environment {
    let mut environment = Environment::new("page", 0);
    environment.provide(Arc::new(Program {
        name: String::new(),
        allocations: Vec::new(),
        commands: Vec::new(),
        kernels: Vec::new(),
        front_end: FrontEnd::default(),
    }));
    environment
}

/// Returns the statistics of one instance of this description.
fn reported(registry: &Registry, description: &str) -> Vec<Statistic> {
    let node = parse(&Source::new("description", description))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let built = registry
        .build(&node, &environment())
        .unwrap_or_else(|problem| panic!("{problem}"));
    let mut list = Vec::new();
    let mut statistics = Statistics::new(1, Tick(1), &mut list);
    built.component.statistics(&mut statistics);
    list
}

/// Replaces numbers in a name: `taken[3]` becomes `taken[i]`.
pub(super) fn any_index(name: &str) -> String {
    let mut text = String::new();
    for (number, part) in name.split('[').enumerate() {
        match part.split_once(']') {
            Some((index, rest)) if number > 0 && index.bytes().all(|b| b.is_ascii_digit()) => {
                let _ = write!(text, "[i]{rest}");
            }
            _ if number > 0 => {
                let _ = write!(text, "[{part}");
            }
            _ => text.push_str(part),
        }
    }
    text
}

/// Returns the statistics of every listed description of this kind.
pub(super) fn runs(kind: &str) -> Vec<Vec<Statistic>> {
    let registry = standard_registry();
    let of_kind = |text: &&&str| text.split('(').next() == Some(kind);
    let runs: Vec<_> = DESCRIPTIONS
        .iter()
        .filter(of_kind)
        .map(|text| reported(&registry, text))
        .collect();
    assert!(!runs.is_empty(), "{kind}: add a description to the list");
    runs
}

/// Returns the statistics table of a kind: name, unit, combination over instances, meaning.
/// Statistics not reported by every listed description are marked.
pub(super) fn statistics(kind: &str) -> String {
    let runs = runs(kind);
    let mut list = Vec::new();
    let mut seen = BTreeSet::new();
    for statistic in runs.iter().flatten() {
        let name = any_index(&statistic.name);
        if !seen.insert(name.clone()) {
            continue;
        }
        let has = |run: &Vec<Statistic>| run.iter().any(|s| any_index(&s.name) == name);
        let sometimes = if runs.iter().all(has) {
            ""
        } else {
            "; with its feature"
        };
        let unit = if statistic.unit.is_empty() {
            "-"
        } else {
            statistic.unit
        };
        let (combination, meaning) = (statistic.combination, cell(statistic.meaning));
        list.push((
            name,
            format!("{unit} | {combination} | {meaning}{sometimes}"),
        ));
    }
    let mut text = "| name | unit | instances | meaning |\n|---|---|---|---|\n".to_owned();
    for (name, cells) in shared_rows::statistics(list) {
        let _ = writeln!(text, "| `{name}` | {cells} |");
    }
    text
}

/// Returns the names in the first column of a table.
pub(super) fn names(table: &str) -> impl Iterator<Item = &str> {
    table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
}

/// Returns every statistic that a listed description reports, with numbers removed from its name.
pub(super) fn reported_names(kind: &str) -> BTreeSet<String> {
    let runs = runs(kind);
    runs.iter()
        .flatten()
        .map(|statistic| any_index(&statistic.name))
        .collect()
}
