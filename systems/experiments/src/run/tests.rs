use std::collections::BTreeMap;

use warpweave_systems::standard_registry;

use super::*;
use crate::model::Outcome;
use crate::read::Experiment;
use crate::store::Folder;
use crate::tests::Bench;

const MORE: &str = r#"
    perturb: (pairs: 3, draws: { "host.launch_latency_cycles": [1, 2, 3], "workload.block": [64, 128, 256] }),
    controls: { "stuck": { "limits.cycles": 100 } },
"#;

fn run(bench: &Bench, folder: &str, threads: usize) -> (BTreeMap<String, Outcome>, usize) {
    let budget = Budget::unlimited();
    let registry = standard_registry();
    let experiment = Experiment::read(&bench.experiment(MORE), &budget).unwrap();
    let interrupt = Arc::default();
    let plan = Plan::of(&experiment, &registry, threads, &interrupt, &budget);
    let plan = plan.unwrap_or_else(|e| panic!("{e}")).unwrap();
    let folder = Folder::claim(&bench.path(folder)).unwrap();
    let runner = Runner {
        registry: &registry,
        threads,
        interrupt: &interrupt,
        budget: &budget,
    };
    let mut made = 0;
    let wanted = plan.fitting(None);
    let failed = runner.run(
        &plan,
        &wanted,
        folder.reports(),
        &bench.path("traces"),
        &mut |news| {
            made += usize::from(matches!(news, RunEvent::Ended(..)));
        },
    );
    assert!(failed.unwrap().is_empty());
    let outcomes = plan.runs.iter().map(|run| {
        let outcome = folder.reports().outcome(&run.identity.run).unwrap();
        (run.ids[0].to_string(), outcome)
    });
    (outcomes.collect(), made)
}

#[test]
fn results_do_not_depend_on_the_number_of_workers_and_are_made_once() {
    let bench = Bench::new();
    let (alone, made) = run(&bench, "alone", 1);
    assert_eq!(made, 9);
    let (many, made) = run(&bench, "many", 4);
    assert_eq!(made, 9);
    assert!(alone == many);
    let (again, made) = run(&bench, "many", 2);
    assert_eq!(made, 0);
    assert!(again == many);
    for (name, outcome) in &alone {
        let failed = matches!(outcome, Outcome::Failed(why) if why.starts_with("limit"));
        assert_eq!(failed, name.contains("stuck"), "{name}: {outcome:?}");
    }
}

#[test]
fn a_full_disk_ends_the_runs_and_keeps_what_was_stored() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("full")).unwrap();
    let folder = Reports::in_folder(&bench.path("full")).unwrap();
    assert!(folder.store("a", "{}").is_ok());
    #[expect(clippy::disallowed_methods, reason = "a full disk is what is tested")]
    let refused = warpweave_files::with_room(3, || folder.store("b", "{\"a\": 1}"));
    assert!(refused.is_err());
    assert!(folder.holds("a") && !folder.holds("b"));
}

#[test]
fn a_trace_is_kept_and_one_that_is_damaged_is_made_again() {
    let bench = Bench::new();
    let (first, _) = run(&bench, "first", 1);
    let traces = || -> Vec<_> {
        let entries = std::fs::read_dir(bench.path("traces")).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
            .into_iter()
            .map(|path| (std::fs::read(&path).unwrap(), path))
            .collect()
    };
    let kept = traces();
    // Three programs, each with a trace and how its results compared.
    assert_eq!(kept.len(), 6);
    for (bytes, path) in &kept {
        std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
    }
    let (second, _) = run(&bench, "second", 2);
    assert!(first == second);
    assert!(traces() == kept);
}

#[test]
fn a_program_that_cannot_be_emulated_fails_all_its_runs_and_no_other() {
    let bench = Bench::new();
    let budget = Budget::unlimited();
    let registry = standard_registry();
    let more = r#"
        axes: { "steps": Values(path: "emulation.step_limit", values: [1, 1000000]) },
    "#;
    let experiment = Experiment::read(&bench.experiment(more), &budget).unwrap();
    let interrupt = Arc::default();
    let plan = Plan::of(&experiment, &registry, 2, &interrupt, &budget)
        .unwrap()
        .unwrap();
    let folder = Folder::claim(&bench.path("r")).unwrap();
    let runner = Runner {
        registry: &registry,
        threads: 2,
        interrupt: &interrupt,
        budget: &budget,
    };
    let wanted = plan.fitting(None);
    let mut news = Vec::new();
    let failed = runner.run(
        &plan,
        &wanted,
        folder.reports(),
        &bench.path("traces"),
        &mut |told| {
            if let RunEvent::Ended(at, passed) = told {
                news.push((at, passed));
            }
        },
    );
    assert_eq!(failed.unwrap().keys().copied().collect::<Vec<_>>(), [0, 1]);
    news.sort_unstable();
    assert_eq!(news, [(2, true), (3, true)]);
}
