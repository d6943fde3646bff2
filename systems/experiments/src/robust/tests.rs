use std::collections::BTreeMap;

use warpweave_systems::standard_registry;

use super::*;
use crate::tests::Bench;

const CLAIMS: &str = r#"
    perturb: (pairs: 10, seed: 1, draws: { "host.launch_latency_cycles": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] }),
    controls: { "same": {} },
    claims: [
        Finding(name: "one way is slower", claim: Below(metric: "ipc", of: "narrow", margin: 0.01), control: "same"),
        Identity(name: "time passes", claim: AtMost("1", "cycles")),
    ],
"#;

const FILE: &str = r#"Robustness(
    summary: "A test",
    experiment: "test.ron",
    machines: 8,
    pairs: 3,
    ranges: { RANGES },
    rerun: (seed: 7, pairs: 2, attempts: 2),
)
"#;

const RANGES: &str = r#"
    "unit[*].l1.hit_latency_cycles": Between(low: 1, high: 9, stated: STATED),
    "unit[*].l1.mshr_entries": Values(values: [1, MSHR, 64], stated: MSHR)"#;

fn bench(ranges: &str) -> Bench {
    let bench = Bench::new();
    bench.experiment(CLAIMS);
    bench.write("robust.ron", &FILE.replace("RANGES", ranges));
    bench
}

fn read(ranges: &str) -> Result<Robustness, String> {
    let read = Robustness::read(&bench(ranges).path("robust.ron"), &Budget::unlimited());
    read.map_err(|problems| problems.to_string())
}

fn reproduced(verdict: Verdict) -> JudgedVerdict {
    JudgedVerdict {
        verdict,
        effect: None,
    }
}

/// Returns outcomes in which the finding is reproduced on the machines that `holds` selects.
fn outcomes(
    study: &Robustness,
    holds: impl Fn(&[DrawnValue]) -> bool,
) -> BTreeMap<u32, MachineOutcome> {
    let outcome = |machine| {
        let finding = if holds(&study.drawn(machine)) {
            Verdict::Reproduced
        } else {
            Verdict::NotReproduced
        };
        let verdicts = [finding, Verdict::Holds].map(reproduced);
        (machine, MachineOutcome::Judged(verdicts.into()))
    };
    (0..=study.machines).map(outcome).collect()
}

fn study(machines: u32) -> Robustness {
    let ranges = RANGES.replace("STATED", "4").replace("MSHR", "4");
    let mut study = read(&ranges).unwrap();
    study.machines = machines;
    study
}

#[test]
fn the_parameter_that_decides_is_found_and_the_other_is_not() {
    let study = study(200);
    let outcomes = outcomes(&study, |values| values[0].position < 0.7);
    let survey = Survey::of(&study, &outcomes, &BTreeMap::new());
    let finding = &survey.findings[0];
    let lost = outcomes
        .values()
        .filter(|outcome| outcome.verdicts().unwrap()[0].verdict == Verdict::NotReproduced);
    assert_eq!(finding.survives.with as usize, 200 - lost.count());
    let [first, second] = &finding.parameters[..] else {
        panic!()
    };
    assert!(
        first.decides && first.path.contains("hit_latency"),
        "{first:?}"
    );
    assert!(first.difference.unwrap().high < -0.3, "{first:?}");
    assert!(!second.decides, "{second:?}");
    assert_eq!(survey.counts(), [200, 0, 0, 0]);
    assert!(survey.is_sound());
}

#[test]
fn the_nearest_counterexample_is_run_again_and_the_next_one_if_it_is_not_confirmed() {
    let study = study(100);
    let first = outcomes(&study, |values| values[0].position < 0.7);
    let at = |again: &BTreeMap<u32, MachineOutcome>| {
        let survey = Survey::of(&study, &first, again);
        let counterexamples = survey.findings[0].counterexamples.clone();
        (survey.to_run_again(), counterexamples)
    };
    let mut again = BTreeMap::new();
    let (needed, tried) = at(&again);
    let nearest = tried[0].machine;
    assert_eq!(needed, [0, nearest]);
    let survey = Survey::of(&study, &first, &again);
    let differ = survey.machines.iter().filter(|machine| {
        machine.outcome.as_ref().unwrap().verdicts().unwrap()[0].verdict != Verdict::Reproduced
    });
    assert!(
        differ
            .map(|machine| machine.distance)
            .all(|d| d >= tried[0].distance)
    );
    // The rerun has the verdict of the stated machine.
    again.insert(0, first[&0].clone());
    again.insert(nearest, first[&0].clone());
    let (needed, tried) = at(&again);
    assert_eq!((needed.len(), tried.len()), (2, 2));
    assert!(!tried[0].rerun.as_ref().unwrap().confirmed);
    let next = tried[1].machine;
    again.insert(next, first[&next].clone());
    let survey = Survey::of(&study, &first, &again);
    assert_eq!(survey.to_run_again(), [] as [u32; 0]);
    assert_eq!(survey.findings[0].nearest().unwrap().machine, next);
    let text = survey_text(&survey);
    assert!(
        text.contains("confirmed: not reproduced when run again"),
        "{text}"
    );
}

#[test]
fn refused_and_failed_machines_count_apart_with_their_reasons() {
    let study = study(10);
    let mut outcomes = outcomes(&study, |_| true);
    outcomes.insert(
        3,
        MachineOutcome::Refused("r.ron:3:4: too few ways".to_owned()),
    );
    outcomes.insert(
        4,
        MachineOutcome::Failed("add/plain/-/0: deadlock".to_owned()),
    );
    outcomes.remove(&10);
    let survey = Survey::of(&study, &outcomes, &BTreeMap::new());
    assert_eq!(survey.counts(), [7, 1, 1, 1]);
    assert_eq!(survey.findings[0].survives, Count { with: 7, of: 7 });
    assert!(survey.findings[0].counterexamples.is_empty());
    assert!(!survey.is_sound());
    let text = survey_text(&survey);
    assert!(
        text.contains("machine 3: refused: r.ron:3:4: too few ways"),
        "{text}"
    );
    let files = write_survey(&survey, "again").0;
    let of = |name: &str| &files.iter().find(|(known, _)| *known == name).unwrap().1;
    assert!(of("machines.csv").contains("4,failed,add/plain/-/0: deadlock"));
    assert!(of("findings.csv").contains("one way is slower,reproduced,7,7,1,"));
    assert!(of("report.html").contains("too few ways"));
}

#[test]
fn the_stated_value_must_be_that_of_the_machine_and_every_path_must_exist() {
    let (registry, budget) = (standard_registry(), Budget::unlimited());
    let check = |latency: &str, path: &str| {
        let ranges = RANGES.replace("STATED", latency).replace("MSHR", "4");
        let bench = bench(&ranges.replace("mshr_entries", path));
        let read = Robustness::read(&bench.path("robust.ron"), &budget);
        let mut study = read.unwrap_or_else(|e| panic!("{e}"));
        study.check(&registry, &budget).map_err(|e| e.to_string())
    };
    assert_eq!(check("4", "mshr_entries"), Ok(()));
    let refused = check("9", "mshr_entries").unwrap_err();
    assert!(
        refused.contains("has another value in the experiment"),
        "{refused}"
    );
    assert!(refused.contains("robust.ron:7:"), "{refused}");
    let refused = check("4", "mshr_entrees").unwrap_err();
    assert!(
        refused.contains("mshr_entries") && refused.contains("robust.ron:8:"),
        "{refused}"
    );
}

#[test]
fn a_range_that_the_experiment_overrides_is_refused_with_both_places() {
    for (path, told) in [
        (
            "host.launch_latency_cycles",
            "the perturbations of the experiment draw it",
        ),
        ("workload.n", "a workload of the experiment sets it"),
    ] {
        let refused =
            read(&format!("\"{path}\": Between(low: 1, high: 9, stated: 2)")).unwrap_err();
        assert!(
            refused.contains(told) && refused.contains("test.ron:"),
            "{refused}"
        );
    }
    // Only one variant sets it.
    assert!(read("\"unit[*].l1.ways\": Between(low: 1, high: 9, stated: 2)").is_ok());
    let refused = read("").unwrap_err();
    assert!(refused.contains("no parameter has a range"), "{refused}");
}

#[test]
fn repetitions_beyond_those_of_the_experiment_are_refused() {
    let bench = bench("\"unit[*].l1.ways\": Between(low: 1, high: 9, stated: 2)");
    let path = bench.path("robust.ron");
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, told) in [
        ("pairs: 3", "pairs: 11", "expected 1 to 10 pairs, found 11"),
        ("seed: 7", "seed: 1", "already have the seed 1"),
        (
            "machines: 8",
            "machines: 0",
            "expected 1 to 100000 machines, found 0",
        ),
        (
            "experiment: \"test.ron\"",
            "experiment: \"tset.ron\"",
            "no such file",
        ),
        ("machines: 8", "machine: 8", "did you mean `machines`"),
    ] {
        bench.write("robust.ron", &text.replace(from, to));
        let refused = Robustness::read(&path, &Budget::unlimited())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(told) && refused.contains("robust.ron:"),
            "{refused}"
        );
    }
    let small = Budget::of(1 << 20);
    bench.write(
        "robust.ron",
        &text.replace("machines: 8", "machines: 100000"),
    );
    let refused = Robustness::read(&path, &small).unwrap_err();
    assert!(refused.is_of_host(), "{refused}");
}
