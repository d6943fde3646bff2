//! The tables that the code determines.

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

/// What ends the meaning of a field in its doc comment and begins where its value comes from.
const SOURCE: &str = "Source: ";

/// What is said of a number that has no default and no source: it is one of the machine, which
/// its system file states.
const MACHINE: &str = "the system file";

/// Text as it can stand in a cell.
fn cell(text: &str) -> String {
    text.trim().trim_end_matches('.').replace('|', "\\|")
}

/// The fields inside `outer`, named without it.
fn inside<'a>(fields: &'a [FieldDoc], outer: &str) -> Vec<(&'a str, &'a FieldDoc)> {
    let prefix = format!("{outer}.");
    let inner = |f: &'a FieldDoc| Some((f.name.strip_prefix(&prefix)?, f));
    fields.iter().filter_map(inner).collect()
}

/// The field before `field` that has the same fields inside, if any: `reply` is like `request`.
fn twin<'a>(fields: &'a [FieldDoc], field: &FieldDoc) -> Option<&'a FieldDoc> {
    let same = |a: &(&str, &FieldDoc), b: &(&str, &FieldDoc)| a.0 == b.0 && a.1.doc == b.1.doc;
    let own = inside(fields, &field.name);
    let before = fields.iter().take_while(|f| f.name != field.name);
    before.filter(|f| !f.name.contains('.')).find(|before| {
        let other = inside(fields, &before.name);
        let equal = own.len() == other.len() && own.iter().zip(&other).all(|(a, b)| same(a, b));
        own.len() > 2 && equal
    })
}

/// The parameters of a kind: field, default, meaning, source.
pub(super) fn parameters(kind: &KindEntry) -> String {
    let fields = kind.fields();
    let mut text = "| field | default | meaning | source |\n|---|---|---|---|\n".to_owned();
    let mut like: Vec<String> = Vec::new();
    for field in &fields {
        if like.iter().any(|outer| field.name.starts_with(outer)) {
            continue;
        }
        let (meaning, source) = match field.doc.split_once(SOURCE) {
            Some((meaning, source)) => (meaning, source),
            None => (field.doc.as_str(), ""),
        };
        let mut meaning = cell(meaning);
        if let Some(before) = twin(&fields, field) {
            let _ = write!(meaning, "; fields as those of `{}`", before.name);
            like.push(format!("{}.", field.name));
        }
        let default = match (&field.default, field.required) {
            (Some(value), _) if value.is_empty() => "empty".to_owned(),
            (Some(value), _) => format!("`{value}`"),
            (None, true) => "required".to_owned(),
            (None, false) => "absent".to_owned(),
        };
        let source = match (source, field.required) {
            ("", true) => MACHINE.to_owned(),
            ("", false) => "off if left out".to_owned(),
            (source, _) => cell(source),
        };
        let _ = writeln!(
            text,
            "| `{}` | {default} | {meaning} | {source} |",
            field.name
        );
    }
    text
}

/// A program that does nothing, for kinds that look at it when they are built.
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

/// What one instance of this description reports.
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

/// Its name without numbers: `taken[3]` is `taken[i]`.
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

/// The statistics of a kind: name, unit, meaning. Those that not every description of the list
/// reports are marked.
pub(super) fn statistics(kind: &str) -> String {
    let registry = standard_registry();
    let of_kind = |text: &&&str| text.split('(').next() == Some(kind);
    let runs: Vec<Vec<Statistic>> = DESCRIPTIONS
        .iter()
        .filter(of_kind)
        .map(|text| reported(&registry, text))
        .collect();
    assert!(!runs.is_empty(), "{kind}: add a description to the list");
    let mut text = "| name | unit | meaning |\n|---|---|---|\n".to_owned();
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
        let meaning = cell(statistic.meaning);
        let _ = writeln!(text, "| `{name}` | {unit} | {meaning}{sometimes} |");
    }
    text
}
