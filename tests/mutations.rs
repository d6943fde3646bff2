//! No text makes the program panic: descriptions with random tokens lost, doubled or replaced are
//! run or refused.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use warpweave_systems::{Scenario, standard_registry};

use crate::harness::Bench;

/// Words, quoted texts, and single marks, with the blanks before them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut inside = '\0';
    let mut fresh = true;
    for c in text.chars() {
        let class = match c {
            _ if inside == '"' => '"',
            '"' => 'q',
            c if c.is_alphanumeric() || c == '_' || c == '.' => 'a',
            c if c.is_whitespace() => ' ',
            _ => 'm',
        };
        if fresh || class != inside || class == 'm' {
            tokens.push(String::new());
        }
        tokens
            .last_mut()
            .expect("the first character opens one")
            .push(c);
        fresh = class == '"' && c == '"';
        inside = match class {
            'q' => '"',
            '"' if c == '"' => '\0',
            other => other,
        };
        if class == 'q' {
            fresh = false;
        }
    }
    tokens
}

/// What happens to one token.
#[derive(Clone, Debug)]
enum Change {
    Delete,
    Double,
    Replace(prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::Delete),
        Just(Change::Double),
        any::<prop::sample::Index>().prop_map(Change::Replace),
    ]
}

/// A machine that uses all that puts one together.
const COMPOSED: &str = r#"System(
    extends: "tiny.ron",
    include: ["library.ron"],
    params: { "fast": "900 MHz", "slow": "700 MHz", "hurry": true, "lines": 16, "fifo": true },
    clocks: { "core": "=if hurry && units > 1 then fast else slow" },
    without: (wires: ["unit[*].memory <-> crossbar.up[*]"]),
    modules: { "Unit": (params: { "lines": 8 }, parts: { "l1": Cache(preset: "quick") }) },
    parts: {
        "unit[u]": (lines: "=lines"),
        "fifo[u]": ClockCrossing(if: "=fifo", depth: 4, synchroniser_cycles: 1),
    },
    wires: {
        "unit[*].memory <-> fifo[*].up": (latency: 1),
        "fifo[*].down <-> crossbar.up[*]": (latency: 1),
        "unit[*].memory <-> crossbar.up[*]": (latency: 1, if: "=!fifo"),
    },
)"#;

const LIBRARY: &str = r#"Library(
    params: { "units": 2 },
    presets: {
        "small": Cache(preset: "fermi_l1", size_bytes: "=lines * 128", ways: 2),
        "quick": Cache(preset: "small", hit_latency_cycles: "=max(lines / 8, 1)"),
    },
)"#;

/// A folder whose scenario runs the composed machine.
fn composed() -> Bench {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/composed.ron");
    bench.write("systems/composed.ron", COMPOSED);
    bench.write("systems/library.ron", LIBRARY);
    bench
}

/// Does all that `run` does; refusals are fine, panics are not. Whether nothing was refused.
fn run(bench: &Bench) -> bool {
    let sets = ["limits.cycles=5000", "emulation.step_limit=100000"].map(str::to_owned);
    let Ok(scenario) = Scenario::load(&bench.path("test.ron"), &sets) else {
        return false;
    };
    let Ok(executed) = scenario.emulate() else {
        return false;
    };
    let Ok(mut machine) = scenario.machine(&standard_registry(), &executed.program) else {
        return false;
    };
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    true
}

#[test]
fn the_descriptions_run_before_they_are_changed() {
    assert!(run(&Bench::new()) && run(&composed()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 240, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_descriptions_never_panic(
        file in prop::sample::select(vec![
            "systems/composed.ron", "systems/composed.ron", "systems/library.ron",
            "test.ron", "systems/tiny.ron", "systems/tiny.ron", "workloads/vector_add.ron",
            "workloads/cuda/vector_add.ptx",
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4),
    ) {
        let whole = matches!(file, "systems/composed.ron" | "systems/library.ron");
        let bench = if whole { composed() } else { Bench::new() };
        let mut tokens = tokens(&bench.read(file));
        for (place, change) in changes {
            let at = place.index(tokens.len());
            match change {
                Change::Delete => { tokens.remove(at); }
                Change::Double => tokens.insert(at, tokens[at].clone()),
                Change::Replace(by) => tokens[at] = tokens[by.index(tokens.len())].clone(),
            }
        }
        bench.write(file, &tokens.concat());
        run(&bench);
    }
}
