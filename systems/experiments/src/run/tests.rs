use std::collections::BTreeMap;

use warpweave_systems::standard_registry;

use super::*;
use crate::model::Outcome;
use crate::read::Experiment;
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
        &folder,
        &bench.path("traces"),
        &mut |news| {
            made += usize::from(matches!(news, News::Ended(..)));
        },
    );
    assert!(failed.unwrap().is_empty());
    let outcomes = plan.runs.iter().map(|run| {
        let outcome = folder.outcome(&run.identity.run).unwrap();
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
    let folder = Folder::claim(&bench.path("full")).unwrap();
    assert!(folder.store("a", "{}").is_ok());
    #[expect(clippy::disallowed_methods, reason = "a full disk is what is tested")]
    let refused = warpweave_files::with_room(3, || folder.store("b", "{\"a\": 1}"));
    assert!(refused.is_err());
    assert!(folder.holds("a") && !folder.holds("b"));
}
