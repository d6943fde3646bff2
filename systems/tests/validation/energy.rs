//! Energy in whole machines: the repository's coefficients fit, and do not change results.

use warpweave_framework::EngineOptions;
use warpweave_systems::energy::EnergyReport;
use warpweave_systems::{Machine, Simulated, standard_registry};

use super::harness::{run_with, scenario, scenarios};

fn coefficients() -> String {
    let path = scenarios().join("energy/clustered60.ron");
    format!("energy=\"{}\"", path.display())
}

fn simulate(sets: &[&str]) -> Simulated {
    let small = [
        "params.clusters=2",
        "params.units_per_cluster=3",
        "params.partitions=2",
        "workload.n=32",
    ];
    let sets = [&small[..], sets].concat();
    let scenario = scenario("systems/clustered60.ron", "matrix_multiply.ron", &sets);
    let executed = scenario.emulate().unwrap_or_else(|error| panic!("{error}"));
    run_with(&scenario, &executed.program, EngineOptions::default())
}

fn energy(simulated: &Simulated) -> &EnergyReport {
    simulated.energy.as_ref().expect("coefficients were given")
}

#[test]
fn coefficients_change_nothing_but_the_report() {
    let coefficients = coefficients();
    for icc in ["params.icc=false", "params.icc=true"] {
        let off = simulate(&[icc]);
        let on = simulate(&[icc, &coefficients]);
        assert_eq!(off.energy, None);
        assert!(energy(&on).total_j > 0.0);
        let without = Simulated { energy: None, ..on };
        assert_eq!(without, off);
    }
}

#[test]
fn energies_are_the_statistics_times_the_coefficients() {
    let simulated = simulate(&["params.icc=true", &coefficients()]);
    let energy = energy(&simulated);
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b, "{a} against {b}");
    // 1.4 GHz, from the first launch to the last completion.
    near(energy.seconds, simulated.cycles as f64 / 1.4e9);
    let part = |name: &str| {
        let mut parts = energy.components.iter();
        parts.find(|c| c.component == name).expect("it is there")
    };
    let crossbar = simulated.statistics.iter().find(|s| s.path == "crossbar");
    let crossbar = crossbar.expect("the machine has one");
    let flits = ["request_flits", "reply_flits"].map(|name| crossbar.counter(name).unwrap());
    near(
        part("crossbar").total_j,
        (flits[0] + flits[1]) as f64 * 172.2e-12,
    );
    near(
        part("cluster[*].cu[*]").static_j,
        6.0 * 0.28 * energy.seconds,
    );
    near(part("machine").total_j, 32.3 * energy.seconds);
    near(energy.edp_js, energy.total_j * energy.seconds);
    near(energy.components.iter().map(|c| c.share).sum(), 1.0);
    assert!(part("cluster[*].icc").dynamic_j > 0.0);
}

#[test]
fn coefficients_of_another_machine_are_refused_before_the_run() {
    let scenario = scenario("systems/tiny.ron", "vector_add.ron", &[&coefficients()]);
    let problems = Machine::without_program(&scenario, &standard_registry()).err();
    let text = problems.expect("tiny has no clusters").to_string();
    let file = std::fs::read_to_string(scenarios().join("energy/clustered60.ron"));
    let file = file.expect("the repository has the file");
    let at = file
        .lines()
        .position(|line| line.contains("\"cluster[*].cu[*]\""));
    let line = at.expect("the file has coefficients of units") + 1;
    assert!(
        text.contains(&format!("clustered60.ron:{line}:9")),
        "{text}"
    );
    assert!(
        text.contains("`cluster[*].cu[*]` does not match a component"),
        "{text}"
    );
}
