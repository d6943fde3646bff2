use std::collections::BTreeMap;

use proptest::prelude::*;
use warpweave_params::{Placed, Source};
use warpweave_systems::report::{Record, RecordedStatistic};

use super::Expression;

fn statistic(json: &str) -> RecordedStatistic {
    serde_json::from_str(json).unwrap()
}

fn counter(value: u64) -> RecordedStatistic {
    statistic(&format!(
        r#"{{"value": {value}, "unit": "requests", "combination": "sum"}}"#
    ))
}

fn ratio(part: u64, whole: u64) -> RecordedStatistic {
    let value = if whole == 0 {
        "null".to_owned()
    } else {
        format!("{}", part as f64 / whole as f64)
    };
    statistic(&format!(
        r#"{{"value": {value}, "part": {part}, "whole": {whole}, "unit": "", "combination": "weighted mean"}}"#
    ))
}

/// Creates the record of a run with three caches and two launches.
pub(crate) fn record() -> Record {
    let json = r#"{
        "schema_version": 2, "scenario": "s.ron", "status": "done", "cycles": 1000, "simulated_s": 0.5,
        "wavefront_instructions": 4000, "thread_instructions": 100000, "ipc": 4.0, "occupancy": 0.5,
        "core_clock": "core", "stats": {},
        "kernel_time": {"cycles": 800, "run_cycles": 1000, "occupancy": 0.625, "slots": {}},
        "kernels": [
            {"number": 0, "name": "one", "grid": [1, 1, 1], "block": [1, 1, 1], "cycles": 310,
             "run_cycles": 300, "wavefront_instructions": 1500, "thread_instructions": 1},
            {"number": 1, "name": "two", "grid": [1, 1, 1], "block": [1, 1, 1], "cycles": 810,
             "run_cycles": 500, "wavefront_instructions": 2500, "thread_instructions": 1}],
        "energy": {"seconds": 1.0, "dynamic_j": 2.0, "static_j": 1.0, "total_j": 3.0, "edp_js": 3.0,
                   "components": [{"component": "l1[*]", "total_j": 2.0}, {"component": "machine", "total_j": 1.0}]}
    }"#;
    let mut record: Record = serde_json::from_str(json).unwrap();
    for (number, (reads, hits)) in [(10, 4), (20, 5), (0, 0)].into_iter().enumerate() {
        let statistics = BTreeMap::from([
            ("reads".to_owned(), counter(reads)),
            ("hit_rate".to_owned(), ratio(hits, reads)),
        ]);
        record.stats.insert(format!("l1[{number}]"), statistics);
    }
    record
}

fn value(text: &str) -> Result<Option<f64>, String> {
    let text = Placed::from(text);
    let expression = Expression::parse(&text).map_err(|error| error.to_string())?;
    expression.evaluate(&record())
}

#[test]
fn every_function_gives_what_its_name_says() {
    for (text, expected) in [
        ("cycles", 1000.0),
        ("ipc * 2", 8.0),
        ("sum(l1[*].reads)", 30.0),
        ("max(l1[*].reads)", 20.0),
        ("mean(l1[*].reads)", 10.0),
        ("part(l1[*].hit_rate) / whole(l1[*].hit_rate)", 9.0 / 30.0),
        ("kernels(*, cycles)", 800.0),
        ("wavefront_instructions / kernels(two, cycles)", 8.0),
        ("kernels(t*, ipc)", 5.0),
        // Over all launches together, and without the time that one waits for the other.
        ("kernels(*, ipc)", 5.0),
        ("kernels(*, 2 * wavefront_instructions / cycles)", 10.0),
        ("energy", 3.0),
        ("edp - energy(machine)", 2.0),
        ("power / 2", 1.5),
        ("energy(l1[*])", 2.0),
        ("2 + 3 * 4 - -(1 + 1)", 16.0),
        ("8 / 4 / 2", 1.0),
        ("8 - 4 - 2", 2.0),
        ("occupancy", 0.5),
        ("kernel_cycles", 800.0),
        ("kernel_occupancy", 0.625),
    ] {
        assert_eq!(value(text), Ok(Some(expected)), "{text}");
    }
}

#[test]
fn the_cycles_of_a_sampled_program_are_those_of_its_estimate() {
    let text = Placed::from("estimated_cycles / 2");
    let expression = Expression::parse(&text).unwrap();
    let mut record = record();
    let mut of = |region: &str| {
        record.region = serde_json::from_str(region).unwrap();
        expression.evaluate(&record)
    };
    assert_eq!(of("null"), Ok(Some(500.0)));
    let sampled = r#"{"outside": "warm", "estimate": {"cycles": 7000, "whole": true}}"#;
    assert_eq!(of(sampled), Ok(Some(3500.0)));
    let part = sampled.replace("true", "false");
    for without in ["{}", &part] {
        let error = of(without).unwrap_err();
        assert!(
            error.contains("no estimate of the whole program"),
            "{error}"
        );
    }
}

#[test]
fn what_is_divided_by_zero_or_a_mean_of_nothing_is_undefined() {
    for text in [
        "cycles / sum(l1[2].reads)",
        "0 / 0",
        "sum(l1[2].hit_rate)",
        "1 + mean(l1[*].hit_rate)",
        "2 * (1 / 0) - 3",
    ] {
        assert_eq!(value(text), Ok(None), "{text}");
    }
}

#[test]
fn what_a_run_does_not_have_is_named_with_the_nearest() {
    for (text, part) in [
        (
            "sum(l1[*].raeds)",
            "`l1[*].raeds` names nothing; did you mean `l1[*].reads`?",
        ),
        (
            "kernels(three, cycles)",
            "no launch of a kernel named `three`",
        ),
        (
            "kernels(one, sum(l1[*].reads))",
            "set `measure.kernels` to true",
        ),
        (
            "part(l1[*].reads)",
            "`l1[0].reads` is neither a ratio nor a mean",
        ),
        ("energy(l2)", "`l2` names nothing"),
        ("kernels(one, energy)", "whole runs only"),
        ("kernels(one, estimated_cycles)", "whole runs only"),
    ] {
        let error = value(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn mistakes_are_marked_where_they_stand_in_the_file() {
    let refused = |expression: &str| {
        let file = format!("(value: \"{expression}\")");
        let source = Source::new("e.ron", file);
        let place = source.span(8, 10 + expression.len());
        let text = Placed::at(expression.to_owned(), &place);
        Expression::parse(&text).unwrap_err().to_string()
    };
    let all = [
        "cycels / 2",
        "sum(l1.reads",
        "sum()",
        "2 +",
        "cycles cycles",
        "1..2",
        "kernels(a)",
        "sum + 1",
    ];
    insta::assert_snapshot!(all.map(refused).join("\n\n"));
}

#[derive(Clone, Debug)]
enum Tree {
    Number(u16),
    Cycles,
    Binary(char, Box<Tree>, Box<Tree>),
}

impl Tree {
    fn text(&self) -> String {
        match self {
            Self::Number(n) => n.to_string(),
            Self::Cycles => "cycles".to_owned(),
            Self::Binary(sign, left, right) => format!("({} {sign} {})", left.text(), right.text()),
        }
    }

    fn value(&self) -> f64 {
        match self {
            Self::Number(n) => f64::from(*n),
            Self::Cycles => 1000.0,
            Self::Binary('+', left, right) => left.value() + right.value(),
            Self::Binary('-', left, right) => left.value() - right.value(),
            Self::Binary('*', left, right) => left.value() * right.value(),
            Self::Binary(_, left, right) => left.value() / right.value(),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![any::<u16>().prop_map(Tree::Number), Just(Tree::Cycles)];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let sign = prop::sample::select(vec!['+', '-', '*', '/']);
        (sign, inner.clone(), inner)
            .prop_map(|(sign, left, right)| Tree::Binary(sign, Box::new(left), Box::new(right)))
    })
}

proptest! {
    #[test]
    fn values_are_those_of_a_naive_evaluation(tree in tree()) {
        let naive = tree.value();
        let ours = value(&tree.text()).unwrap();
        match ours {
            Some(ours) => prop_assert!(naive.is_nan() || (ours - naive).abs() <= naive.abs() * 1e-12),
            // An intermediate infinity may disappear again in the naive evaluation.
            None => prop_assert!(tree.text().contains('/')),
        }
        if naive.is_finite() && !tree.text().contains('/') {
            prop_assert_eq!(ours, Some(naive));
        }
    }

    #[test]
    fn any_text_is_read_or_refused_without_panic(text in "[-a-z0-9().,*/+ \\[\\]é]{0,60}") {
        let _ = Expression::parse(&Placed::from(text.as_str()));
    }
}

#[test]
fn deep_and_long_expressions_are_refused() {
    for text in [
        format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)),
        format!("{}1", "-".repeat(10_000)),
        format!("1{}", "+1".repeat(10_000)),
    ] {
        assert!(Expression::parse(&Placed::from(text.as_str())).is_err());
    }
}
