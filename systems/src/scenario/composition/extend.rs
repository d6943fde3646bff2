//! Extension of one system by another that states only the differences.

use warpweave_params::{
    Diagnostic, Diagnostics, Kind, Node, Struct, from_node, name_hint, same_key,
};

use super::take_field;

/// Maps of a system or module from which entries can be removed.
const MAPS: [&str; 8] = [
    "params", "clocks", "modules", "presets", "for", "parts", "wires", "ports",
];

/// Returns the system `base` with the changes in `change`.
///
/// # Errors
/// Fails if parts or modules to change or remove do not exist in the base.
pub(super) fn extend(mut base: Node, mut change: Node) -> Result<Node, Diagnostics> {
    let mut problems = Diagnostics::new();
    scope(&mut base, &mut change, "the system", &mut problems);
    if let Kind::Struct(Struct { fields, .. }) = change.kind {
        base.merge_fields(fields);
    }
    problems.into_result(base)
}

/// Removes the entries that a scope lists for removal and checks that changed entries exist.
/// Changes to modules are applied and removed from `change`.
fn scope(base: &mut Node, change: &mut Node, what: &str, problems: &mut Diagnostics) {
    if let Some(without) = take_field(change, "without") {
        for left_out in without.fields() {
            let map = &left_out.name;
            if !MAPS.contains(&map.text.as_str()) {
                let message = format!("entries cannot be removed from `{}`", map.text);
                let hint = name_hint(&map.text, "fields with entries", MAPS);
                problems.push(Diagnostic::error(message).at(&map.span).hint(hint));
                continue;
            }
            problems.take(from_node::<Vec<String>>(&left_out.value));
            for name in left_out.value.items() {
                leave_out(base, &map.text, name, what, problems);
            }
        }
        if without.fields().is_empty() && without.kind != Kind::Unit {
            let message = format!("expected `(parts: [..])`, found {}", without.describe());
            problems.push(Diagnostic::error(message).at(&without.head_span()));
        }
    }
    for map in ["parts", "modules"] {
        let Some(changes) = field_mut(change, map) else {
            continue;
        };
        let Kind::Map(changes) = &mut changes.kind else {
            continue;
        };
        for (key, value) in changes {
            let nameless = matches!(&value.kind, Kind::Struct(value) if value.name.is_none());
            if !nameless {
                continue;
            }
            let found = field_mut(base, map).and_then(|entries| entry_mut(entries, key));
            match found {
                None => unknown(base, map, key, what, problems),
                Some(module) if map == "modules" => {
                    let name = format!("module {}", key.as_str().unwrap_or_default());
                    scope(module, value, &name, problems);
                }
                Some(_) => {}
            }
        }
    }
}

fn field_mut<'n>(node: &'n mut Node, name: &str) -> Option<&'n mut Node> {
    let Kind::Struct(Struct { fields, .. }) = &mut node.kind else {
        return None;
    };
    let field = fields.iter_mut().find(|field| field.name.text == name)?;
    Some(&mut field.value)
}

fn entry_mut<'n>(map: &'n mut Node, key: &Node) -> Option<&'n mut Node> {
    let Kind::Map(entries) = &mut map.kind else {
        return None;
    };
    let entry = entries.iter_mut().find(|(known, _)| same_key(known, key))?;
    Some(&mut entry.1)
}

fn leave_out(base: &mut Node, map: &str, key: &Node, what: &str, problems: &mut Diagnostics) {
    let entries = field_mut(base, map).and_then(|map| match &mut map.kind {
        Kind::Map(entries) => Some(entries),
        _ => None,
    });
    let found = entries.and_then(|entries| {
        let at = entries.iter().position(|(known, _)| same_key(known, key))?;
        Some(entries.remove(at))
    });
    if found.is_none() {
        unknown(base, map, key, what, problems);
    }
}

/// Reports that the base has no entry `key`.
fn unknown(base: &Node, map: &str, key: &Node, what: &str, problems: &mut Diagnostics) {
    let Some(name) = key.as_str() else {
        return;
    };
    let entries = base.field(map).map_or(&[][..], Node::entries);
    let known: Vec<_> = entries.iter().filter_map(|(key, _)| key.as_str()).collect();
    let message = format!("{what} being extended has no `{name}` among its {map}");
    let hint = name_hint(name, &format!("{map} there"), known);
    problems.push(Diagnostic::error(message).at(&key.span).hint(hint));
}
