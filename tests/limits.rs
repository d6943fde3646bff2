//! What is too deep, too large or no file at all is refused with its place, and at once: nothing is
//! expanded, unpacked or read to its end before.

use std::fmt::Write as _;

use crate::harness::{Bench, Ended};

/// A scenario whose system is `text`.
fn system(text: &str) -> Bench {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/mine.ron");
    bench.write("systems/mine.ron", text);
    bench
}

/// A system with `modules`, of which `M0` is its only part.
fn of_modules(modules: &str) -> Bench {
    system(&format!(
        "System(\n    clocks: {{ \"core\": \"1 GHz\" }},\n    core: \"core\",\n    modules: {{\n{modules}    }},\n    \
         parts: {{ \"m\": M0() }},\n)\n"
    ))
}

fn check(bench: &Bench, sets: &[&str]) -> Ended {
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<_> = ["check", "test.ron"].into_iter().chain(sets).collect();
    bench.warpweave(&arguments)
}

#[track_caller]
fn refused_with(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, code, "{:.2000}", ended.err);
    assert!(ended.err.len() < 8 << 10, "{} bytes", ended.err.len());
    for part in parts {
        assert!(ended.err.contains(part), "no `{part}` in\n{}", ended.err);
    }
}

/// A chain of modules, each of which holds the next `times`.
fn chain(depth: usize, times: usize) -> String {
    let mut modules = String::new();
    for i in 0..depth {
        let inner = (0..times).map(|n| format!("\"m{n}\": M{}()", i + 1));
        let inner: Vec<_> = inner.collect();
        let parts = if i + 1 == depth {
            String::new()
        } else {
            inner.join(", ")
        };
        writeln!(modules, "        \"M{i}\": Module(parts: {{ {parts} }}),").unwrap();
    }
    modules
}

#[test]
fn modules_nest_128_deep_and_no_deeper() {
    // The system is refused for what it lacks, not for its depth.
    let fits = check(&of_modules(&chain(128, 1)), &[]);
    assert!(!fits.err.contains("nested"), "{}", fits.err);
    for depth in [129, 10_000] {
        let ended = check(&of_modules(&chain(depth, 1)), &[]);
        refused_with(
            &ended,
            2,
            &[
                "modules nested more than 128 levels deep",
                "systems/mine.ron:",
            ],
        );
    }
}

#[test]
fn modules_that_double_are_refused_before_they_are_expanded() {
    let ended = check(&of_modules(&chain(28, 2)), &[]);
    let message = "the system has more than 65536 parts: `m` is at least 268435455 of them";
    refused_with(
        &ended,
        2,
        &[message, "systems/mine.ron:", "--set limits.instances="],
    );
    let ended = check(
        &of_modules(&chain(120, 2)),
        &["limits.instances=4000000000"],
    );
    refused_with(&ended, 2, &["is at least 18446744073709551615 of them"]);
}

#[test]
fn doubling_that_only_shows_when_it_is_expanded_stops_at_the_limit() {
    let mut modules = String::new();
    for i in 0..28 {
        let part = format!("\"m[i]\": M{}(n: \"=n\")", i + 1);
        let part = if i == 27 { "" } else { &part };
        writeln!(
            modules,
            "        \"M{i}\": Module(params: {{ \"n\": 2 }}, for: {{ \"i\": \"=n\" }}, parts: {{ {part} }}),"
        )
        .unwrap();
    }
    let ended = check(&of_modules(&modules), &[]);
    refused_with(
        &ended,
        2,
        &["the system has more than 65536 parts", "systems/mine.ron:"],
    );
}

#[test]
fn a_count_of_parts_beyond_the_limit_is_refused_and_the_limit_can_be_set() {
    let bench = Bench::new();
    let ended = check(&bench, &["params.units=100000"]);
    refused_with(
        &ended,
        2,
        &["more than 65536 parts: `unit[u]` is", "systems/tiny.ron:"],
    );
    let ended = check(&bench, &["limits.instances=5"]);
    refused_with(&ended, 2, &["more than 5 parts"]);
    let ended = check(&bench, &["limits.wires=3"]);
    refused_with(&ended, 2, &["more than 3 wires", "--set limits.wires="]);
}

#[test]
fn files_that_include_one_another_in_a_long_row_or_a_ladder_end_with_a_verdict() {
    let system = |text: &str| {
        let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/mine.ron");
        bench.write("systems/mine.ron", text);
        bench
    };
    let including = "System(extends: \"tiny.ron\", include: [\"l0.ron\"])";
    let row = |length: usize| {
        let bench = system(including);
        for i in 0..length {
            let text = if i + 1 == length {
                "Library()".to_owned()
            } else {
                format!("Library(include: [\"l{}.ron\"])", i + 1)
            };
            bench.write(&format!("systems/l{i}.ron"), &text);
        }
        check(&bench, &[])
    };
    assert_eq!(row(128).code, 0);
    refused_with(
        &row(130),
        2,
        &["more than 128 files name one another in a row"],
    );

    let bench = system(including);
    for i in 0..100 {
        let next = format!("\"l{}.ron\", \"b{}.ron\"", i + 1, i + 1);
        let text = format!("Library(include: [{}])", if i == 99 { "" } else { &next });
        bench.write(&format!("systems/l{i}.ron"), &text);
        bench.write(&format!("systems/b{i}.ron"), &text);
    }
    let ended = check(&bench, &[]);
    assert_eq!(ended.code, 0, "{}", ended.err);
}
