//! Statistics of component kinds, found by building each from its smallest description.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use warpweave_framework::{FieldDoc, KindEntry, Label, Registry, Statistic, Statistics, Tick};
use warpweave_params::{Node, Source, parse, resolve_expressions};
use warpweave_systems::empty_environment;

use crate::fields::any_index;
use crate::stub;

/// Lists the statistics of every kind: name, unit, how the values of instances combine, meaning.
pub(crate) fn list(registry: &Registry) -> String {
    let mut text = String::new();
    for kind in registry.kinds() {
        let _ = writeln!(text, "{}", kind.name);
        for Row { statistic, with } in rows(registry, kind) {
            let Label {
                unit,
                meaning,
                combination,
                ..
            } = &*statistic.label;
            let name = any_index(&statistic.name);
            let with = with.map_or(String::new(), |with| format!("; with {with}"));
            let combination = combination.to_string();
            let _ = writeln!(
                text,
                "  {name:<36} {unit:<14} {combination:<20} {meaning}{with}"
            );
        }
    }
    text
}

/// Statistic of a kind, and the field that enables it if it is optional.
struct Row {
    statistic: Statistic,
    with: Option<String>,
}

fn rows(registry: &Registry, kind: &KindEntry) -> Vec<Row> {
    let Ok(plain) = stub::expanded(registry, kind) else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |node: &Node, with: Option<&str>| {
        let reported = reported(registry, node);
        for statistic in reported.iter().flatten() {
            if seen.insert(any_index(&statistic.name)) {
                rows.push(Row {
                    statistic: statistic.clone(),
                    with: with.map(str::to_owned),
                });
            }
        }
        reported.is_some()
    };
    add(&plain, None);
    for field in kind.fields() {
        if field.name.contains('.') {
            continue;
        }
        for values in choices(registry, kind, &field) {
            // Valid values depend on the rest of the description, so the first that fits is taken.
            values.into_iter().any(|(value, with)| {
                let text = format!("{}({}: {value})", kind.name, field.name);
                let set = parse(&Source::new("feature", text));
                set.is_ok_and(|set| {
                    let mut node = plain.clone();
                    node.merge_fields(set.fields().to_vec());
                    let resolved = resolve_expressions(&mut node, &warpweave_params::Env::new());
                    resolved.is_ok() && add(&node, Some(&with))
                })
            });
        }
    }
    rows
}

/// Returns candidate values for an optional field. For each feature enabled by the field there are
/// alternative values, each with its description.
fn choices(registry: &Registry, kind: &KindEntry, field: &FieldDoc) -> Vec<Vec<(String, String)>> {
    let name = &field.name;
    if let Some(role) = &field.role {
        let policies = registry.policies(role);
        return policies
            .map(|policy| {
                let text = stub::of_policy(registry, policy.name, &policy.fields());
                let with = format!("`{name}: {}`", policy.name);
                vec![(text.clone(), with.clone()), (format!("[{text}]"), with)]
            })
            .collect();
    }
    if field.required {
        return Vec::new();
    }
    let with = format!("`{name}`");
    if field.kind == "boolean" {
        return vec![vec![("true".to_owned(), with)]];
    }
    if field.default.is_some() {
        return Vec::new();
    }
    let numbers = ["1", "4", "32", "64", "1024"].map(str::to_owned);
    let values = std::iter::once(stub::of_field(registry, kind, field)).chain(numbers);
    vec![values.map(|value| (value, with.clone())).collect()]
}

/// Returns the statistics of an instance of this description, if it can be built.
fn reported(registry: &Registry, description: &Node) -> Option<Vec<Statistic>> {
    let built = registry.build(description, &empty_environment()).ok()?;
    let mut list = Vec::new();
    built
        .component
        .statistics(&mut Statistics::new(1, Tick(1), &mut list));
    Some(list)
}

#[cfg(test)]
mod tests {
    use warpweave_systems::standard_registry;

    use super::*;

    #[test]
    fn statistics_of_features_and_policies_are_found_beside_those_of_every_instance() {
        let list = list(&standard_registry());
        let line = |name: &str| {
            let mut lines = list
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(name));
            lines
                .next()
                .unwrap_or_else(|| panic!("{name} is not in\n{list}"))
        };
        for (name, combination, with) in [
            ("read_hit_rate", "mean by reads", ""),
            ("mshrs_max", "maximum", ""),
            ("reuse_prediction", "none", "`reuse_monitor`"),
            ("victim_hits", "sum", "`victim_cache`"),
            ("sector_merges", "sum", "`sector_bytes`"),
            ("timing_violations", "sum", "`check`"),
            ("scheduler0_lost_locality", "sum", "Ccws`"),
            ("prefetches_issued", "sum", "Ghb`"),
            ("first_launch_cycle", "minimum", ""),
        ] {
            let line = line(name);
            assert!(line.contains(combination), "{line}");
            assert_eq!(line.contains("; with "), !with.is_empty(), "{line}");
            assert!(line.ends_with(with), "{line}");
        }
    }

    #[test]
    fn every_kind_reports_something() {
        let registry = standard_registry();
        for kind in registry.kinds() {
            assert!(!rows(&registry, kind).is_empty(), "{}", kind.name);
        }
    }
}
