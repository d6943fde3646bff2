//! Checks that each statistic's combination over instances is consistent with its unit, name and
//! value.

use warpweave_framework::{Combination, Label, Statistic, Statistics, Tick, Value};
use warpweave_systems::standard_registry;

use super::tables::runs;

/// Units of amounts, which can be added.
const AMOUNTS: [&str; 36] = [
    "MSHR cycles",
    "MSHRs",
    "accesses",
    "barriers",
    "bits",
    "bytes",
    "changes",
    "commands",
    "copies",
    "cycles",
    "entries",
    "events",
    "flits",
    "instructions",
    "invocations",
    "kernels",
    "lanes",
    "launches",
    "lines",
    "loops",
    "messages",
    "misses",
    "packets",
    "pairs",
    "queues",
    "reads",
    "records",
    "registers",
    "requests",
    "responses",
    "rules",
    "sectors",
    "slots",
    "units",
    "wavefronts",
    "work-groups",
];

/// Units of points in time, which have a minimum and maximum but no sum.
const POINTS: [&str; 1] = ["cycle"];

/// Units of codes, whose numbers are only labels.
const CODES: [&str; 1] = ["relation"];

/// Returns the inconsistency in a statistic, if there is one.
fn contradiction(statistic: &Statistic) -> Option<String> {
    use Combination as C;
    let Statistic { label, value } = statistic;
    let Label {
        name,
        unit,
        meaning,
        combination,
        ..
    } = &**label;
    let combination = *combination;
    let extreme = matches!(combination, C::Maximum | C::Minimum);
    let mean = matches!(combination, C::WeightedMean { .. });
    let by_value = match value {
        Value::Counter(_) | Value::Series(_) => combination == C::Sum,
        Value::Number(_) => extreme || combination == C::None,
        Value::Ratio { .. } | Value::Histogram(_) => mean,
        Value::Gauge(_) => !mean,
    };
    let by_unit = if CODES.contains(unit) {
        combination == C::None
    } else if POINTS.contains(unit) {
        extreme || combination == C::None
    } else if unit.is_empty() {
        combination != C::Sum
    } else if AMOUNTS.contains(unit) {
        combination != C::None
    } else {
        return Some(format!("say in this file what kind of unit `{unit}` is"));
    };
    let name = name.split('[').next().unwrap_or_default();
    let meaning = meaning.to_lowercase();
    let by_name = (name.ends_with("_max") == (combination == C::Maximum)
        || POINTS.contains(unit)
        || meaning.starts_with("timing rules"))
        && (!name.ends_with("_min") || combination == C::Minimum)
        && (!(name.ends_with("_mean") || name.ends_with("_rate")) || mean);
    let by_meaning = (!(meaning.starts_with("most ") || meaning.starts_with("largest "))
        || combination == C::Maximum)
        && (!meaning.starts_with("mean ") || mean);
    let checks = [
        (by_value, "sort of its value"),
        (by_unit, "unit"),
        (by_name, "name"),
        (by_meaning, "meaning"),
        (
            combination.weight() != Some(""),
            "weight, which is not named",
        ),
    ];
    let (_, what) = checks.into_iter().find(|(holds, _)| !holds)?;
    Some(format!("`{combination}` contradicts its {what}"))
}

#[test]
fn every_statistic_of_every_kind_combines_as_its_unit_name_and_meaning_say() {
    let registry = standard_registry();
    let mut problems = Vec::new();
    for kind in registry.kinds() {
        for statistic in runs(kind.name).iter().flatten() {
            if let Some(problem) = contradiction(statistic) {
                let Label {
                    name,
                    unit,
                    meaning,
                    ..
                } = &*statistic.label;
                problems.push(format!(
                    "{}.{name} ({unit}, {meaning}): {problem}",
                    kind.name
                ));
            }
        }
    }
    problems.sort();
    problems.dedup();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn contradictions_are_found() {
    let found = |report: &dyn Fn(&mut Statistics<'_>)| {
        let mut values = Vec::new();
        report(&mut Statistics::new(1, Tick(1), &mut values));
        contradiction(&values[0])
    };
    let clean = found(&|s| s.counter("reads", "requests", "reads accepted", 1));
    assert_eq!(clean, None);
    let contradictory: [(&dyn Fn(&mut Statistics<'_>), &str); 8] = [
        (
            &|s| s.counter("mshrs_max", "MSHRs", "MSHRs in use", 1),
            "name",
        ),
        (
            &|s| s.counter("mshrs", "MSHRs", "most MSHRs in use", 1),
            "meaning",
        ),
        (&|s| s.counter("prediction", "relation", "which", 1), "unit"),
        (&|s| s.counter("first", "cycle", "first launch", 1), "unit"),
        (&|s| s.maximum("first_max", "relation", "which", 1), "unit"),
        (
            &|s| s.gauge("depth_mean", "requests", "depth", Combination::Sum, 1.0),
            "name",
        ),
        (&|s| s.ratio("hits", "", "hits", 1, 1), "weight"),
        (
            &|s| s.counter("smells", "odours", "smells", 1),
            "kind of unit",
        ),
    ];
    for (report, problem) in contradictory {
        let found = found(report).expect("it is found");
        assert!(found.contains(problem), "{found}");
    }
}
