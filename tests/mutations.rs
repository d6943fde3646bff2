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

/// Does all that `run` does; refusals are fine, panics are not.
fn run(bench: &Bench) {
    let sets = ["limits.cycles=5000", "emulation.step_limit=100000"].map(str::to_owned);
    let Ok(scenario) = Scenario::load(&bench.path("test.ron"), &sets) else {
        return;
    };
    let Ok(executed) = scenario.emulate() else {
        return;
    };
    let Ok(mut machine) = scenario.machine(&standard_registry(), &executed.program) else {
        return;
    };
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_descriptions_never_panic(
        file in prop::sample::select(vec![
            "test.ron", "systems/tiny.ron", "systems/tiny.ron", "workloads/vector_add.ron",
            "workloads/cuda/vector_add.ptx",
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), change()), 1..4),
    ) {
        let bench = Bench::new();
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
