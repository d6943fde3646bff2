//! Cache-conscious scheduling in whole machines, enabled as its page describes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Simulated, Status, standard_registry};
use warpweave_trace::Program;

use super::harness::{
    Step, kernel, machine, named, program, run_with, scenario_of_text, scenarios, sum,
};

/// Overrides that disable both halves but keep the wire.
const NEITHER: [&str; 2] = ["unit[*].cu.scheduler=Gto", "unit[*].l1.policies=[]"];

/// Returns the machine from the compute unit's page: the tiny one with cache-conscious scheduling.
fn both() -> String {
    let page = scenarios().join("../docs/components/compute_unit.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    let blocks = page.split("```ron\n").skip(1);
    let mut blocks = blocks.filter_map(|block| block.split("```").next());
    let system = blocks.find(|block| block.contains("CcwsVictimTags"));
    let base = scenarios().join("systems/tiny.ron").display().to_string();
    let system = system.expect("the page describes a machine");
    assert!(system.contains("\"tiny.ron\""), "{system}");
    system.replace("tiny.ron", &base)
}

/// Returns wavefronts that each repeatedly read four lines of their own. In total they need twice
/// the capacity of a first-level cache, but the lines of a few wavefronts fit.
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

/// Returns the read hits and total reads of the first-level caches.
fn reads(simulated: &Simulated) -> (u64, u64) {
    let caches = named(simulated, "l1");
    (sum(&caches, "read_hits"), sum(&caches, "reads"))
}

#[test]
fn lines_that_thrash_stay_when_fewer_wavefronts_load() {
    let greedy = simulate(&both(), &NEITHER, EngineOptions::default());
    let conscious = simulate(&both(), &[], EngineOptions::default());
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
    let plain = simulate(&both(), &NEITHER, EngineOptions::default());
    for set in [
        "unit[*].cu.scheduler=Gto",
        "unit[*].cu.scheduler.k_throttle=0",
    ] {
        let other = simulate(&both(), &[set], EngineOptions::default());
        assert_eq!(plain.kernels, other.kernels, "{set}");
        assert!(sum(&named(&other, "l1"), "victim_tag_hits") > 0);
    }
}

fn same(a: &Simulated, b: &Simulated, how: &dyn std::fmt::Debug) {
    assert_eq!(a.kernels, b.kernels, "{how:?}");
    for (x, y) in a.statistics.iter().zip(b.statistics.iter()) {
        assert_eq!(x, y, "{how:?}");
    }
    for (x, y) in a.activity.instances.iter().zip(&b.activity.instances) {
        assert_eq!(x, y, "{how:?}");
    }
    assert_eq!(a, b, "{how:?}");
}

#[test]
fn cache_conscious_runs_depend_neither_on_the_engine_nor_on_a_pause() {
    let plain = EngineOptions::default();
    let usual = simulate(&both(), &[], plain);
    let shuffled = EngineOptions {
        order: Order::Shuffled { seed: 5 },
        ..plain
    };
    let awake = EngineOptions {
        sleeping: false,
        ..plain
    };
    for options in [shuffled, awake, plain.divided_for(2), plain.divided_for(4)] {
        same(&usual, &simulate(&both(), &[], options), &options);
    }

    let scenario = scenario_of_text(&both(), "vector_add.ron", &[]);
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
    let wire = "\"cu.locality <-> l1.locality\"";
    let without = both().replacen(&format!("{wire}: (latency: 1)"), "", 1);
    let scenario = scenario_of_text(&without, "vector_add.ron", &[]);
    let refused = Machine::of(&scenario, &standard_registry(), &thrashing());
    let problems = refused.map(|_| "built").expect_err("the wire is missing");
    let problems = problems.to_string();
    assert!(
        problems.contains(&format!("such as `{wire}: (latency: 1)`")),
        "{problems}"
    );
    // It is shown where the scheduler is named.
    assert!(problems.contains("\"cu\": (scheduler: Ccws)"), "{problems}");
}
