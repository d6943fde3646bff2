//! Differing settings of a comparison: overrides, and the systems as built.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_params::{Diagnostics, Kind, Node, Source, parse, to_ron_line};

use super::{Parameter, Side};
use crate::address::any_index;

/// Settings of one side, as a map from path to value.
pub(super) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Returns the overrides of a side's first run. If several set one path, the last one counts.
    pub(super) fn of_overrides(side: &Side) -> Self {
        let overrides = side.runs[0].overrides.iter();
        Self(
            overrides
                .map(|o| (o.path.clone(), o.value.clone()))
                .collect(),
        )
    }

    /// Returns every field of a system as built.
    ///
    /// # Errors
    /// Fails if the text is not valid RON.
    pub(super) fn of_system(system: &Arc<Source>) -> Result<Self, Diagnostics> {
        let tree = parse(system)?;
        let mut all = Self(BTreeMap::new());
        all.flatten("", &tree);
        Ok(all)
    }

    fn flatten(&mut self, path: &str, node: &Node) {
        let under = |name: &str| match (path, name) {
            // The parts of a system go by their own paths.
            ("" | "parts", name) => name.to_owned(),
            (path, name) => format!("{path}.{name}"),
        };
        match &node.kind {
            Kind::Struct(value) => {
                if let Some(name) = &value.name {
                    self.0.insert(under("kind"), name.text.clone());
                }
                for field in &value.fields {
                    self.flatten(&under(&field.name.text), &field.value);
                }
            }
            Kind::Map(entries) => {
                for (key, value) in entries {
                    let key = key.as_str().map_or_else(|| to_ron_line(key), str::to_owned);
                    self.flatten(&under(&key), value);
                }
            }
            _ => {
                self.0.insert(path.to_owned(), to_ron_line(node));
            }
        }
    }
}

/// Returns the settings that differ between the sides. Instances that differ only in their indices
/// and have equal values share one row.
pub(super) fn differing(sides: &[Parameters]) -> Vec<Parameter> {
    let mut paths: Vec<&str> = sides
        .iter()
        .flat_map(|side| side.0.keys().map(String::as_str))
        .collect();
    paths.sort_unstable();
    paths.dedup();
    let mut rows: BTreeMap<(String, Vec<Option<&str>>), (usize, &str)> = BTreeMap::new();
    for path in paths {
        let values = sides
            .iter()
            .map(|side| side.0.get(path).map(String::as_str));
        let values: Vec<_> = values.collect();
        if values.iter().any(|value| *value != values[0]) {
            let row = rows.entry((any_index(path), values));
            row.or_insert((0, path)).0 += 1;
        }
    }
    let rows = rows.into_iter();
    let row =
        |((pattern, values), (instances, first)): ((String, Vec<Option<&str>>), _)| Parameter {
            path: if instances == 1 {
                str::to_owned(first)
            } else {
                pattern
            },
            instances,
            values: values
                .iter()
                .map(|value| value.map(str::to_owned))
                .collect(),
        };
    rows.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_differ_in_fields_that_alike_instances_share() {
        let system = |ways: u32, odd: u32, policy: &str| {
            let text = format!(
                "System(core: \"core\", parts: {{\"l1[0]\": Cache(ways: {ways}, p: {policy}), \
                 \"l1[1]\": Cache(ways: {ways}, p: Lru), \"l2\": Cache(ways: {odd})}})"
            );
            Parameters::of_system(&Source::new("system.ron", text)).unwrap()
        };
        let rows = differing(&[system(4, 1, "Lru"), system(8, 2, "Fifo")]);
        let row = |path: &str, instances, values: [&str; 2]| Parameter {
            path: path.to_owned(),
            instances,
            values: values.map(|value| Some(value.to_owned())).into(),
        };
        assert_eq!(
            rows,
            [
                row("l1[0].p", 1, ["Lru", "Fifo"]),
                row("l1[*].ways", 2, ["4", "8"]),
                row("l2.ways", 1, ["1", "2"]),
            ]
        );
        assert_eq!(differing(&[system(1, 1, "Lru"), system(1, 1, "Lru")]), []);
    }

    #[test]
    fn a_part_of_another_kind_is_shown_with_what_only_one_side_has() {
        let of = |text: &str| Parameters::of_system(&Source::new("system.ron", text)).unwrap();
        let rows = differing(&[
            of("System(parts: {\"m\": Dram(banks: 4)})"),
            of("System(parts: {\"m\": Echo()})"),
        ]);
        let rows: Vec<_> = rows.iter().map(|r| (r.path.as_str(), &r.values)).collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows,
            [
                ("m.banks", &vec![some("4"), None]),
                ("m.kind", &vec![some("Dram"), some("Echo")]),
            ]
        );
    }
}
