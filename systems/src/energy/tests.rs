//! Energy sums checked by hand, and coefficients that do not fit.

use warpweave_framework::{InstanceStatistics, Statistics, Tick};
use warpweave_params::{Source, parse};

use super::*;

fn model(text: &str) -> EnergyModel {
    read(text).unwrap_or_else(|problems| panic!("{problems}"))
}

fn read(text: &str) -> Result<EnergyModel, warpweave_params::Diagnostics> {
    EnergyModel::read(&parse(&Source::new("energy.ron", text))?)
}

fn instance(
    path: &str,
    kind: &str,
    counters: &[(&'static str, &'static str, u64)],
) -> InstanceStatistics {
    let mut values = Vec::new();
    let mut statistics = Statistics::new(1, Tick(1), &mut values);
    for &(name, unit, value) in counters {
        statistics.counter(name, unit, "", value);
    }
    statistics.ratio("hit_rate", "requests", "", 1, 2);
    statistics.maximum("depth_max", "requests", "", 3);
    InstanceStatistics {
        path: path.to_owned(),
        kind: kind.to_owned(),
        values,
    }
}

fn machine() -> Vec<InstanceStatistics> {
    vec![
        instance("host", "HostDriver", &[]),
        instance(
            "unit[0].l1",
            "Cache",
            &[("hits", "requests", 100), ("misses", "requests", 10)],
        ),
        instance(
            "unit[1].l1",
            "Cache",
            &[("hits", "requests", 50), ("misses", "requests", 0)],
        ),
        instance("dram", "Gddr5", &[("bytes", "bytes", 4096)]),
    ]
}

const COEFFICIENTS: &str = r#"Energy(
    components: {
        "unit[*].l1": (
            events: {
                "hits": (energy: "20 pJ", per: "requests", source: "a paper"),
                "misses": (energy: "0.05 nJ", per: "requests", source: "a paper"),
            },
            static: (power: "2 mW", source: "a data sheet"),
        ),
        "dram": (events: { "bytes": (energy: "63 pJ", per: "bytes", source: "PROPOSED") }),
    },
)"#;

#[test]
fn energies_add_up_to_the_sums_by_hand() {
    let model = model(COEFFICIENTS);
    model.check(&machine()).expect("it fits");
    let report = model.report(&machine(), 1e-6);
    // 150 x 20 pJ + 10 x 50 pJ = 3.5 nJ; 2 x 2 mW x 1 us = 4 nJ; 4096 x 63 pJ = 258.048 nJ.
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b, "{a} against {b}");
    let l1 = &report.components[0];
    assert_eq!((l1.component.as_str(), l1.instances), ("unit[*].l1", 2));
    assert_eq!((l1.events[0].count, l1.events[1].count), (150, 10));
    near(l1.dynamic_j, 3.5e-9);
    near(l1.static_j, 4e-9);
    near(l1.share, 7.5 / 265.548);
    near(report.components[1].total_j, 258.048e-9);
    near(report.dynamic_j, 261.548e-9);
    near(report.total_j, 265.548e-9);
    near(report.average_w, 265.548e-3);
    near(report.edp_js, 265.548e-15);
    assert_eq!(report.without, ["host"]);
}

#[test]
fn no_time_draws_no_power() {
    let report = model(COEFFICIENTS).report(&[], 0.0);
    let numbers = [report.total_j, report.average_w, report.edp_js];
    assert!(numbers.iter().all(|n| n.abs() < f64::MIN_POSITIVE));
    assert!(report.components[0].share.abs() < f64::MIN_POSITIVE);
}

/// Values of the ICC paper, 8.3: 0.94 of the energy at 1.15 times the instructions per cycle.
#[test]
fn the_relative_product_is_that_of_energy_and_time() {
    let run = |total_j: f64, seconds: f64| EnergyReport {
        total_j,
        seconds,
        edp_js: total_j * seconds,
        ..model(COEFFICIENTS).report(&[], seconds)
    };
    let (energy, product) = run(0.94, 1.0 / 1.15).relative_to(&run(1.0, 1.0));
    assert!((energy - 0.94).abs() < 1e-12);
    assert!((product - 0.817).abs() < 5e-4, "{product}");
}

/// Returns the first message and its location.
fn problem(text: &str) -> String {
    let problems = read(text).and_then(|model| model.check(&machine()).map(|()| model));
    problems.expect_err("it does not fit").to_string()
}

#[test]
fn what_does_not_fit_is_named_with_its_place_and_the_nearest_name() {
    let cases = [
        (
            "unit[*].l1",
            "unit[*].l2",
            &["energy.ron:3:9", "did you mean `unit[*].l1`?"],
        ),
        (
            "\"misses\"",
            "\"mises\"",
            &["energy.ron:6:17", "did you mean `misses`?"],
        ),
        (
            "\"hits\"",
            "\"hit_rate\"",
            &["energy.ron:5:17", "is not an event counter"],
        ),
        // The largest of something costs nothing, however many units there are.
        (
            "\"hits\"",
            "\"depth_max\"",
            &["energy.ron:5:17", "is not an event counter"],
        ),
        (
            "per: \"bytes\"",
            "per: \"requests\"",
            &["energy.ron:10:", "counts bytes"],
        ),
        ("20 pJ", "20 pW", &["energy.ron:5:", "units are fJ"]),
        ("2 mW", "2 mJ", &["energy.ron:8:", "units are fW"]),
        (
            "PROPOSED",
            " ",
            &["energy.ron:10:", "must state its source"],
        ),
        (
            "\"dram\"",
            "\"unit[1].l1\"",
            &["energy.ron:10:9", "coefficients twice"],
        ),
        (
            "static:",
            "statik:",
            &["energy.ron:8:13", "did you mean `static`?"],
        ),
        ("[*]", "[u]", &["energy.ron:3:9", "has no value here"]),
    ];
    for (good, bad, wanted) in cases {
        let text = COEFFICIENTS.replacen(good, bad, 1);
        let found = problem(&text);
        for part in wanted {
            assert!(found.contains(part), "{bad}: {found}");
        }
    }
}

#[test]
fn a_coefficient_without_source_is_refused() {
    let text = COEFFICIENTS.replacen(", source: \"a paper\"", "", 1);
    assert!(problem(&text).contains("source"), "{}", problem(&text));
}

#[test]
fn the_machine_may_draw_power_and_be_without_optional_components() {
    let text = COEFFICIENTS
        .replacen(
            "components: {",
            "static: (power: \"3 W\", source: \"x\"), components: {",
            1,
        )
        .replacen("unit[*].l1\": (", "cluster[*].icc\": (optional: true,", 1);
    let model = model(&text);
    model.check(&machine()).expect("it fits");
    let report = model.report(&machine(), 0.5);
    assert_eq!(report.components[0].instances, 0);
    let last = report.components.last().expect("three");
    assert_eq!(last.component, MACHINE);
    assert!((last.total_j - 1.5).abs() < 1e-12);
    assert!((report.total_j - 1.5 - 258.048e-9).abs() < 1e-12);
}

#[test]
fn ranges_bound_the_energy_and_what_has_none_is_exact() {
    let text = COEFFICIENTS
        .replacen("\"20 pJ\"", "\"20 pJ\", range: (\"10 pJ\", \"40 pJ\")", 1)
        .replacen("\"2 mW\"", "\"2 mW\", range: (\"1 mW\", \"2 mW\")", 1);
    let report = model(&text).report(&machine(), 1e-6);
    // 150 x 10..40 pJ + 10 x 50 pJ + 2 x 1..2 mW x 1 us; the memory's 258.048 nJ are exact.
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-12 * b, "{a} against {b}");
    let hits = &report.components[0].events[0];
    near(hits.low_j, 1.5e-9);
    near(hits.high_j, 6e-9);
    near(report.components[0].low_j, 4e-9);
    near(report.components[0].high_j, 10.5e-9);
    near(report.low_j, 262.048e-9);
    near(report.high_j, 268.548e-9);
    near(report.total_j, 265.548e-9);
}

#[test]
fn a_range_that_cannot_be_is_refused_where_it_stands() {
    let cases = [
        (
            "20 pJ",
            "(\"21 pJ\", \"40 pJ\")",
            "energy.ron:5:",
            "does not contain",
        ),
        (
            "2 mW",
            "(\"1 mW\", \"1.9 mW\")",
            "energy.ron:8:",
            "does not contain",
        ),
        (
            "20 pJ",
            "(\"40 pJ\", \"10 pJ\")",
            "energy.ron:5:",
            "low end first",
        ),
        (
            "20 pJ",
            "(\"10 pW\", \"40 pJ\")",
            "energy.ron:5:",
            "units are fJ",
        ),
    ];
    for (of, range, place, wanted) in cases {
        let stated = format!("\"{of}\", range: {range}");
        let text = COEFFICIENTS.replacen(&format!("\"{of}\""), &stated, 1);
        let found = problem(&text);
        assert!(
            found.contains(place) && found.contains(wanted),
            "{range}: {found}"
        );
    }
}
