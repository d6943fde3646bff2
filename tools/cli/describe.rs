//! `warpweave describe`: explains a component kind or a policy.

use std::fmt::Write as _;
use std::process::ExitCode;

use warpweave_framework::{Direction, FieldDoc, KindEntry, Preset, Registry, described_ports};
use warpweave_params::{Node, Source, nearest, parse};
use warpweave_systems::empty_environment;

use crate::fields::{any_index, fields_in_words, indented};
use crate::outcome::{CommandResult, to_stdout};
use crate::{policies, stub};

pub(crate) fn describe(registry: &Registry, name: &str) -> CommandResult {
    let Some(kind) = registry.get(name) else {
        let policy = policies::find(registry, name).map_err(|problem| {
            // A name that is not a policy either is treated as a kind, unless only a policy has a
            // similar name.
            let kinds = registry.kinds().map(|kind| kind.name);
            let is_nearly_a_policy = nearest(name, kinds).is_none()
                && nearest(name, policies::names(registry)).is_some();
            let is_about_policies = name.contains('/') || problem.message.starts_with("several");
            if is_about_policies || is_nearly_a_policy {
                problem
            } else {
                registry.unknown(name)
            }
        })?;
        to_stdout(&policies::describe(registry, policy))?;
        return Ok(ExitCode::SUCCESS);
    };
    to_stdout(&in_words_of(registry, kind))?;
    Ok(ExitCode::SUCCESS)
}

/// Describes the ports, fields and presets of a kind, with a text to paste.
fn in_words_of(registry: &Registry, kind: &KindEntry) -> String {
    let mut text = format!("{}: {}\n", kind.name, kind.summary.trim_end_matches('.'));
    text.push_str(&ports(registry, kind));
    text.push_str("\nfields\n");
    text.push_str(&fields_in_words(&kind.fields()));
    if !kind.presets.is_empty() {
        text.push_str("\npresets\n");
    }
    for Preset { name, summary, .. } in kind.presets {
        let _ = writeln!(text, "  {name:<20} {}", summary.trim_end_matches('.'));
    }
    let stub = stub::of_kind(registry, kind);
    let _ = write!(text, "\nto write\n{}", indented(&stub));
    text
}

/// Lists the ports of the component in the text to paste, with `[i]` for any index, and those that
/// another value of one field adds. The list is empty if it cannot be built as it is.
fn ports(registry: &Registry, kind: &KindEntry) -> String {
    let Ok(node) = stub::expanded(registry, kind) else {
        return String::new();
    };
    let Some(mut known) = ports_of(registry, &node) else {
        return String::new();
    };
    let mut text = format!("\nports\n{}", known.concat());
    for field in kind.fields() {
        for value in values(registry, kind, &field) {
            let changed = format!("{}({}: {value})", kind.name, field.name);
            let Ok(changed) = parse(&Source::new("stub", changed)) else {
                continue;
            };
            let mut node = node.clone();
            node.merge_fields(changed.fields().to_vec());
            for line in ports_of(registry, &node).into_iter().flatten() {
                if !known.contains(&line) {
                    let _ = writeln!(text, "{}, with `{}`", line.trim_end(), field.name);
                    known.push(line);
                }
            }
        }
    }
    text
}

/// Returns a line for each port of a component; `None` if it cannot be built.
fn ports_of(registry: &Registry, node: &Node) -> Option<Vec<String>> {
    let mut built = registry.build(node, &empty_environment()).ok()?;
    let mut lines: Vec<String> = Vec::new();
    for port in described_ports(&mut *built.component) {
        let way = match port.direction {
            Direction::Input => "in",
            Direction::Output => "out",
        };
        let need = if port.optional { ", optional" } else { "" };
        let name = any_index(&port.name);
        let line = format!("  {name:<28} {way:<4} {}{need}\n", port.message);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    Some(lines)
}

/// Returns values of a field that a component may take to have other ports.
fn values(registry: &Registry, kind: &KindEntry, field: &FieldDoc) -> Vec<String> {
    if field.name.contains('.') {
        return Vec::new();
    }
    let plain = |choice: &&str| *choice != "None" && !choice.contains(['(', ' ']);
    let mut values: Vec<String> = match field.kind.as_str() {
        "boolean" => vec!["false".to_owned(), "true".to_owned()],
        kind if kind.starts_with("integer") => vec!["1".to_owned(), "2".to_owned()],
        kind => kind.split(" | ").filter(plain).map(str::to_owned).collect(),
    };
    values.push(stub::of_field(registry, kind, field));
    values
}
