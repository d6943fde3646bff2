//! Cache-conscious scheduling in whole machines, switched on as its page says.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Simulated, Status, standard_registry};
use warpweave_trace::Program;

use super::harness::{
    Step, kernel, machine, named, program, run_with, scenario, scenario_of_text, scenarios, sum,
};

const SYSTEM: &str = "systems/tiny.ron";
const GTO: &str = "unit[*].cu.scheduler=Gto";

/// The page about the compute unit.
fn page() -> String {
    let path = scenarios().join("../docs/components/compute_unit.md");
    std::fs::read_to_string(path).expect("the page exists")
}

/// The overrides that the page names.
fn both_halves() -> Vec<String> {
    let page = page();
    let overrides = page.lines().filter_map(|line| {
        let text = line.strip_prefix("--set '")?.strip_suffix('\'')?;
        Some(text.to_owned())
    });
    let overrides: Vec<_> = overrides.collect();
    assert_eq!(overrides.len(), 3, "{overrides:?}");
    overrides
}

/// The tiny machine with the wires of the page between unit and cache.
fn wired() -> String {
    let (page, system) = (page(), scenarios().join(SYSTEM));
    let (_, wires) = page.split_once("wires: {\n").expect("the page has wires");
    let (wires, _) = wires.split_once('}').expect("they end");
    let system = std::fs::read_to_string(system).expect("the system exists");
    // Those of them that the machine has are not stated twice.
    let is_other = |line: &&str| {
        let (key, _) = line.trim().split_once(':').unwrap_or_default();
        !(key.contains("<->") && wires.contains(key))
    };
    let kept: Vec<_> = system.lines().filter(is_other).collect();
    let port = "\"l1.down <-> port.up[0]\"";
    kept.join("\n").replacen(port, &format!("{wires}{port}"), 1)
}

/// Wavefronts that each read four lines of their own again and again: twice as many lines as a
/// first-level cache holds, but those of a few wavefronts fit.
fn thrashing() -> Arc<Program> {
    let kernel = kernel(4, 4, |work_group, wavefront| {
        let own = u64::from(4 * work_group + wavefront) * 4 * 128;
        let round = (0..4).flat_map(|line| [Step::Load(own + 128 * line), Step::Use]);
        let rounds = (0..40).flat_map(|_| round.clone());
        rounds.chain([Step::Exit]).collect()
    });
    program(vec![kernel])
}

fn simulate(system: &str, sets: &[&str], options: EngineOptions) -> Simulated {
    let scenario = scenario_of_text(system, "vector_add.ron", sets);
    run_with(&scenario, &thrashing(), options)
}

/// Read hits and reads of the first-level caches.
fn reads(simulated: &Simulated) -> (u64, u64) {
    let caches = named(simulated, "l1");
    (sum(&caches, "read_hits"), sum(&caches, "reads"))
}

#[test]
fn lines_that_thrash_stay_when_fewer_wavefronts_load() {
    let sets = both_halves();
    let sets: Vec<_> = sets.iter().map(String::as_str).collect();
    let greedy = simulate(&wired(), &[GTO], EngineOptions::default());
    let conscious = simulate(&wired(), &sets, EngineOptions::default());
    let (hits, all) = reads(&greedy);
    let (hits_conscious, all_conscious) = reads(&conscious);
    assert_eq!(all, all_conscious);
    assert!(hits * 4 < all, "the lines do not fit: {hits} of {all} hit");
    assert!(hits_conscious * 2 > all, "{hits_conscious} of {all} hit");
    // What the caches find is what the units hear.
    let told = sum(&named(&conscious, "l1"), "victim_tag_hits");
    let heard = sum(&named(&conscious, "cu"), "lost_locality");
    assert!(told > 0);
    assert_eq!(told, heard);
}

#[test]
fn victim_tags_and_a_scheduler_that_does_not_throttle_change_nothing() {
    let plain = simulate(&wired(), &[GTO], EngineOptions::default());
    let tags = "unit[*].l1.policies=[CcwsVictimTags]";
    for scheduler in ["Gto", "Ccws(k_throttle: 0)"] {
        let scheduler = format!("unit[*].cu.scheduler={scheduler}");
        let other = simulate(&wired(), &[&scheduler, tags], EngineOptions::default());
        assert_eq!(plain.kernels, other.kernels, "{scheduler}");
        assert!(sum(&named(&other, "l1"), "victim_tag_hits") > 0);
    }
}

fn same(a: &Simulated, b: &Simulated, how: &dyn std::fmt::Debug) {
    assert_eq!(a.kernels, b.kernels, "{how:?}");
    for (x, y) in a.statistics.iter().zip(&b.statistics) {
        for (p, q) in x.values.iter().zip(&y.values) {
            assert_eq!(p, q, "{how:?}, {}", x.path);
        }
    }
    for (x, y) in a.activity.iter().zip(&b.activity) {
        assert_eq!(x, y, "{how:?}");
    }
    assert_eq!(a.messages, b.messages, "{how:?}");
}

#[test]
fn cache_conscious_runs_depend_neither_on_the_engine_nor_on_a_pause() {
    let sets = both_halves();
    let sets: Vec<_> = sets.iter().map(String::as_str).collect();
    let plain = EngineOptions::default();
    let usual = simulate(&wired(), &sets, plain);
    let shuffled = EngineOptions {
        order: Order::Shuffled { seed: 5 },
        ..plain
    };
    let awake = EngineOptions {
        sleeping: false,
        ..plain
    };
    for options in [shuffled, awake, plain.divided_for(2), plain.divided_for(4)] {
        same(&usual, &simulate(&wired(), &sets, options), &options);
    }

    let scenario = scenario_of_text(&wired(), "vector_add.ron", &sets);
    let never = Arc::new(AtomicBool::new(false));
    let mut before = machine(&scenario, &thrashing());
    before.advance(usual.cycles / 2, &never);
    let saved = before.simulation_mut().save().expect("all names its state");
    let mut after = machine(&scenario, &thrashing());
    let loaded = after.simulation_mut().load(&saved);
    loaded.expect("it is the same machine");
    let status = after.advance(u64::MAX, &never).expect("the run ends");
    assert_eq!(status, Status::Done);
    same(&usual, &after.results(status), &"resumed");
}

#[test]
fn a_scheduler_without_its_wire_is_refused() {
    let sets = both_halves();
    let sets: Vec<_> = sets.iter().map(String::as_str).collect();
    let scenario = scenario(SYSTEM, "vector_add.ron", &sets);
    let refused = scenario.machine(&standard_registry(), &thrashing());
    let problems = refused.map(|_| "built").expect_err("the wire is missing");
    let wire = "such as `\"cu.locality <-> l1.locality\": (latency: 1)`";
    assert!(problems.to_string().contains(wire), "{problems}");
}
