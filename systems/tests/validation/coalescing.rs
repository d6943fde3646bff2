//! Coalescing unit in whole machines: added by the description alone, it changes only traffic and
//! time.

use warpweave_framework::{EngineOptions, Order, Value};
use warpweave_systems::{Scenario, Simulated};

use super::harness::{
    Numbers, Step, histogram, kernel, machine, named, program, run, run_with, scenario,
    scenario_of_text, scenarios, sum,
};

const MACHINE: &str = "systems/clustered60.ron";
/// Override that adds the coalescing unit to the machine.
const COALESCING: &str = "params.icc=true";
const PLAIN: &str = "params.icc=false";

/// Two clusters of three units, and two partitions.
const SMALL: [&str; 3] = [
    "params.clusters=2",
    "params.units_per_cluster=3",
    "params.partitions=2",
];

fn text() -> String {
    std::fs::read_to_string(scenarios().join(MACHINE)).expect("the system file exists")
}

/// Runs a workload on a machine and checks that its results match the host's.
fn simulate(scenario: &Scenario, options: EngineOptions) -> Simulated {
    let executed = scenario.emulate().unwrap_or_else(|error| panic!("{error}"));
    assert!(!executed.checks.is_empty() && executed.checks.iter().all(|check| check.passed));
    run_with(scenario, &executed.program, options)
}

fn on(which: &str, workload: &str, sets: &[&str]) -> Simulated {
    let sets = [&SMALL[..], &[which], sets].concat();
    simulate(
        &scenario(MACHINE, workload, &sets),
        EngineOptions::default(),
    )
}

#[test]
fn the_two_clustered_machines_differ_in_the_unit_only() {
    let parts = |which: &str| {
        let program = program(vec![kernel(1, 1, |_, _| vec![Step::Exit])]);
        let sets = [&SMALL[..], &[which]].concat();
        let built = machine(&scenario(MACHINE, "vector_add.ron", &sets), &program);
        let node = built.system().resolved.to_node();
        let parts = node.field("parts").expect("a system has parts").entries();
        let parts = parts.iter().map(|(path, part)| {
            let path = path.as_str().expect("paths are text").to_owned();
            (path, warpweave_params::to_ron(part))
        });
        parts.collect::<Vec<_>>()
    };
    let ends = |path: &str, name: &str| path.rsplit('.').next() == Some(name);
    let others = |all: Vec<(String, String)>| -> Vec<_> {
        let all = all.into_iter();
        all.filter(|(path, _)| !ends(path, "icc") && !ends(path, "port"))
            .collect()
    };
    assert_eq!(others(parts(PLAIN)), others(parts(COALESCING)));
}

/// Tiles of a row of the product share lines of `a`, and tiles of a column share lines of `b`.
#[test]
fn matrix_multiplication_reads_less_through_the_network() {
    let sets = ["workload.n=64"];
    let plain = on(PLAIN, "matrix_multiply.ron", &sets);
    let coalescing = on(COALESCING, "matrix_multiply.ron", &sets);
    let reads = |simulated: &Simulated| sum(&named(simulated, "l2"), "reads");
    let units = named(&coalescing, "icc");
    assert_eq!(sum(&units, "reads_injected"), reads(&coalescing));
    assert_eq!(
        sum(&units, "reads"),
        sum(&units, "reads_merged") + sum(&units, "cache_hits") + sum(&units, "reads_injected")
    );
    let (before, after) = (reads(&plain), reads(&coalescing));
    assert!(after * 10 < before * 8, "{after} reads against {before}");
    // One kernel: nothing is under way when it ends.
    assert_eq!(sum(&units, "entries_at_invalidation"), 0);
    assert_eq!(sum(&units, "invalidations"), 6);
    let writes = |simulated: &Simulated| sum(&named(simulated, "l2"), "writes");
    assert_eq!(writes(&plain), writes(&coalescing));
}

#[test]
fn coalescing_runs_alike_whatever_the_order_and_whoever_sleeps() {
    let scenario = scenario(
        MACHINE,
        "stencil_2d.ron",
        &[
            &SMALL[..],
            &[
                COALESCING,
                "workload.width=48",
                "workload.height=32",
                "workload.steps=2",
            ],
        ]
        .concat(),
    );
    let outcome = simulate(&scenario, EngineOptions::default());
    assert!(sum(&named(&outcome, "icc"), "reads_merged") > 0);
    for options in [
        EngineOptions {
            sleeping: false,
            ..EngineOptions::default()
        },
        EngineOptions {
            order: Order::Shuffled { seed: 7 },
            ..EngineOptions::default()
        },
    ] {
        let other = simulate(&scenario, options);
        assert_eq!(other.cycles, outcome.cycles);
        assert_eq!(other.statistics, outcome.statistics);
    }
}

/// Runs a small machine with a checker around each unit, which fails at a lost, repeated or stale
/// reply.
fn checked(l2: &str, freshness: bool) -> Simulated {
    let parts = format!(
        r#""checker": CoalescingChecker(up_ports: "=units", freshness: {freshness}),
                "icc": IccUnit("#
    );
    let checked = text()
        .replacen(r#""icc": IccUnit("#, &parts, 1)
        .replacen(r#"size_bytes: "=512 * 1024","#, l2, 1)
        .replacen(
            r#""l1[*].down <-> icc.up[*]": (latency: 1),"#,
            r#""l1[*].down <-> checker.up[*]": (latency: 1),
                "checker.unit_up[*] <-> icc.up[*]": (latency: 1),"#,
            1,
        )
        .replacen(
            r#""icc.down <-> port.up[0]": (latency: 1),"#,
            r#""icc.down <-> checker.unit_down": (latency: 1),
                "checker.down <-> port.up[0]": (latency: 1),"#,
            1,
        );
    let sets = [&SMALL[..], &[COALESCING, "workload.block=32"]].concat();
    let scenario = scenario_of_text(&checked, "bfs.ron", &sets);
    let simulated = simulate(&scenario, EngineOptions::default());
    let checkers = named(&simulated, "checker");
    assert_eq!(checkers.len(), 2);
    assert_eq!(sum(&checkers, "unanswered"), 0);
    assert!(sum(&checkers, "reads_behind_writes") > 0);
    assert!(sum(&named(&simulated, "icc"), "entries_closed") > 0);
    simulated
}

/// The L2 never evicts here, so it knows the newest write to every line and can be checked too.
#[test]
fn a_checker_put_in_by_the_description_finds_no_fault() {
    let simulated = checked(r#"size_bytes: "=512 * 1024","#, true);
    assert_eq!(sum(&named(&simulated, "l2"), "evictions"), 0);
}

#[test]
fn reads_are_fresh_over_an_l2_that_evicts() {
    let simulated = checked("size_bytes: 4096,", false);
    let l2 = named(&simulated, "l2");
    assert!(sum(&l2, "evictions") > 100, "{}", sum(&l2, "evictions"));
    assert!(sum(&l2, "copy_backs") > 0);
}

/// Three units of one cluster: two request a line at once, the third later.
#[test]
fn a_line_of_several_units_is_read_once_and_then_found_in_the_cluster() {
    let sets = [
        COALESCING,
        "params.clusters=1",
        "params.units_per_cluster=3",
    ];
    let scenario = scenario(MACHINE, "vector_add.ron", &sets);
    let (shared, other) = (0, 1 << 16);
    let program = program(vec![kernel(3, 1, |work_group, _| match work_group {
        2 => vec![
            Step::Load(other),
            Step::Use,
            Step::Load(shared),
            Step::Use,
            Step::Exit,
        ],
        _ => vec![Step::Load(shared), Step::Use, Step::Exit],
    })]);
    let mut machine = machine(&scenario, &program);
    let simulated = run(&mut machine);
    let units = named(&simulated, "icc");
    let counts = ["reads", "reads_merged", "reads_injected", "cache_hits"];
    assert_eq!(counts.map(|name| sum(&units, name)), [4, 1, 2, 1]);
    assert_eq!(sum(&named(&simulated, "l2"), "reads"), 2);
    // The hit: issue to L1, its miss, the probe, the fill of the L1, and the wires between.
    let numbers = Numbers(machine.system().resolved.to_node());
    let (cu, l1, icc) = ("cluster[0].cu[0]", "cluster[0].l1[0]", "cluster[0].icc");
    let hit = numbers.of(cu, "classes.load.latency")
        + 2 * numbers.wire("cluster[0].cu[0].memory")
        + numbers.of(l1, "miss_latency_cycles")
        + 2 * numbers.wire("cluster[0].l1[0].down")
        + numbers.of(icc, "coalesced_cache.access_cycles")
        + numbers.of(l1, "fill_latency_cycles");
    let latencies = named(&simulated, "cu").into_iter().filter_map(|unit| {
        let loads = histogram(&[unit], "load_latency");
        match unit.get("load_latency") {
            Some(Value::Histogram(h)) if loads.0 == 2 => h.min(),
            _ => None,
        }
    });
    assert_eq!(latencies.collect::<Vec<_>>(), [hit]);
}
