//! Tests that a run saved in one process and loaded in another equals an uninterrupted run.

use std::path::Path;
use std::process::Command;

use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use warpweave_files::Ledger;
use warpweave_framework::{Checkpoint, EngineOptions, Outcome, RunLimits, Tick};

use crate::random_systems::{FOREVER, Results, System, build, results, run, system};

/// Environment variable with the checkpoint from which this process resumes, if it is the second
/// one.
const RESUME: &str = "WARPWEAVE_TEST_RESUME";

/// Returns the random system with this number, equal in both processes.
fn random_system(number: u8) -> System {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[number; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    system().new_tree(&mut runner).unwrap().current()
}

fn straight_through(number: u8) -> Results {
    run(&random_system(number), EngineOptions::default())
}

/// Resumes from the file and prints the results from there on.
#[expect(clippy::print_stdout, reason = "the first process reads it")]
fn second_process(file: &Path) {
    let (checkpoint, number) = Checkpoint::read::<u8>(file, &Ledger::default()).unwrap();
    let (mut simulation, log) = build(&random_system(number), EngineOptions::default());
    simulation.load(&checkpoint).unwrap();
    let outcome = simulation.run(&FOREVER);
    println!("resumed: {:?}", results(&simulation, outcome, &log));
}

#[test]
fn a_run_saved_here_goes_on_in_a_new_process_as_if_never_stopped() {
    if let Some(file) = std::env::var_os(RESUME) {
        return second_process(Path::new(&file));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut saved = 0;
    for number in 0..24 {
        let mut whole = straight_through(number);
        let (mut simulation, log) = build(&random_system(number), EngineOptions::default());
        let half = whole.now.0 / 2;
        let until = Some(Tick(half));
        let limits = RunLimits { until, ..FOREVER };
        if half == 0 || simulation.run(&limits) != Outcome::Limit {
            continue;
        }
        let file = folder.path().join("half.wwc");
        simulation.save().unwrap().write(&file, &number).unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture", "--test-threads=1"])
            .arg("new_process::a_run_saved_here_goes_on_in_a_new_process_as_if_never_stopped")
            .env(RESUME, &file)
            .output()
            .unwrap();
        let out = String::from_utf8(child.stdout).unwrap();
        let resumed = out.split_once("resumed: ").map(|(_, rest)| rest);
        let resumed = resumed.and_then(|rest| rest.lines().next());
        // What was received before the checkpoint was received by this process.
        let early = log.all();
        let all = whole.log.len();
        whole.log.retain(|entry| !early.contains(entry));
        assert_eq!(whole.log.len() + early.len(), all);
        assert_eq!(
            resumed,
            Some(format!("{whole:?}").as_str()),
            "system {number}"
        );
        saved += 1;
    }
    assert!(
        saved >= 16,
        "only {saved} systems ran long enough to be saved"
    );
}
