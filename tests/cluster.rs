//! Checks that an experiment in parts, made by several processes or machines, equals that of one
//! process byte for byte.

use std::collections::BTreeMap;
use std::fs;

use crate::experiment;
use crate::harness::{Bench, Ended, files_below, told};

/// Runs the experiment of the folder with its results in `r`.
pub(crate) fn run(bench: &Bench, more: &[&str]) -> Ended {
    bench.warpweave(&[&["experiment", "ways.ron", "--out", "r", "--quiet"], more].concat())
}

/// Returns every file of the results, without those of the engine and of killed processes.
pub(crate) fn store(bench: &Bench) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_below(&bench.path("r"));
    let others = ["slurm/", "failed/"];
    files.retain(|name, _| {
        !others.iter().any(|other| name.starts_with(other)) && !name.contains(".partial-")
    });
    files.remove(".claim");
    files
}

/// Checks that two results are the same files.
pub(crate) fn check_same(what: &str, a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) {
    let differs = |name: &&String| a.get(*name) != b.get(*name);
    let names: Vec<_> = a.keys().chain(b.keys()).filter(differs).collect();
    assert!(names.is_empty(), "{what}: {names:?}");
}

/// Continues the series of `local` in another folder, since its date is part of the results.
pub(crate) fn continue_series(local: &Bench, other: &Bench) {
    other.write("r/series.json", &local.read("r/series.json"));
}

/// Adds runs that fail in simulation, and runs that cannot be emulated.
fn with_failures(bench: Bench) -> Bench {
    bench.edit(
        "ways.ron",
        "\"two\": {}",
        "\"two\": {}, \"short\": { \"limits.cycles\": 50 }, \"stuck\": { \"emulation.step_limit\": 1 }",
    )
}

#[test]
fn shards_merge_to_the_results_of_one_process() {
    let local = with_failures(experiment::bench(4));
    let ended = run(&local, &[]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let parts = with_failures(experiment::bench(4));
    continue_series(&local, &parts);
    // In any order, and one of them twice.
    for shard in ["3/3", "1/3", "3/3", "2/3"] {
        let made = run(&parts, &["--shard", shard]);
        assert_eq!(made.code, 0, "{}", made.err);
        assert!(
            made.out.contains(&format!("shard {shard}: ")),
            "{}",
            made.out
        );
    }
    let merged = run(&parts, &["--merge"]);
    assert_eq!(merged.refusal(), ended.refusal());
    assert_eq!(merged.out, ended.out);
    assert!(store(&parts) == store(&local));
    assert!(files_below(&parts.path("traces")) == files_below(&local.path("traces")));
}

#[test]
fn shards_write_into_one_folder_at_the_same_time() {
    let local = experiment::bench(10);
    told(run(&local, &[]));
    let parts = experiment::bench(10);
    continue_series(&local, &parts);
    let begin = |shard| {
        let arguments = ["experiment", "ways.ron", "--out", "r", "--shard", shard];
        let mut command = parts.command(&arguments);
        command.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    for mut child in ["1/2", "2/2", "1/2"].map(begin) {
        assert!(child.wait().unwrap().success());
    }
    told(run(&parts, &["--merge"]));
    assert!(store(&parts) == store(&local));
}

#[test]
fn a_merge_says_how_many_runs_are_missing_and_makes_none() {
    let bench = experiment::bench(4);
    told(run(&bench, &["--shard", "1/8"]));
    let merged = run(&bench, &["--merge"]);
    assert_eq!(merged.code, 130);
    assert!(merged.err.contains("7 runs are missing"), "{}", merged.err);
    assert!(merged.out.contains("1 of 8 completed"), "{}", merged.out);
    assert_eq!(files_below(&bench.path("r/runs")).len(), 1);
    let status = told(run(&bench, &["--status"]));
    assert_eq!(
        status,
        "runs     1 of 8 stored, 0 failed\ntraces   1 of 2\njobs     none submitted\n"
    );
    // What is missing may be made in any parts.
    for shard in ["1/2", "2/2"] {
        told(run(&bench, &["--shard", shard]));
    }
    told(run(&bench, &["--merge"]));
}

#[test]
fn programs_are_emulated_in_parts_of_their_own() {
    let bench = experiment::bench(2);
    for shard in ["1/2", "2/2"] {
        let made = told(run(&bench, &["--shard", shard, "--emulate-only"]));
        assert_eq!(
            made,
            format!("shard {shard}: 1 of 1 programs emulated, 0 failed\n")
        );
    }
    let traces = files_below(&bench.path("traces"));
    assert_eq!(traces.len(), 4);
    assert!(!bench.path("r").exists());
    told(run(&bench, &[]));
    let after = files_below(&bench.path("traces"));
    let is_kept = |(name, bytes)| after.get(name) == Some(bytes);
    assert!(traces.iter().all(is_kept));
}

#[test]
fn a_part_that_does_not_exist_and_parts_of_two_kinds_are_refused() {
    let bench = experiment::bench(1);
    for (arguments, word) in [
        (&["--shard", "3/2"][..], "I/N"),
        (&["--emulate-only"], "--shard"),
        (&["--merge", "--shard", "1/2"], "--shard"),
        (&["--status", "--engine", "slurm"], "--engine"),
        (&["--engine", "pbs"], "slurm"),
        (&["--engine", "slurm", "--sbatch", "gpu"], "--time=4:00:00"),
    ] {
        let refused = run(&bench, arguments);
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.err);
        assert!(refused.err.contains(word), "{}", refused.err);
    }
}

#[test]
fn a_dry_run_shows_what_would_be_submitted_and_keeps_an_edited_batch_file() {
    let bench = experiment::bench(4);
    let dry = ["--engine", "slurm", "--dry-run", "--shards", "3"];
    let shown = told(run(&bench, &[&dry[..], &["--sbatch", "--time=5"]].concat()));
    let batch = bench.read("r/slurm/job.sbatch");
    assert!(batch.contains("\n#SBATCH --time=5\n"), "{batch}");
    insta::assert_snapshot!(shown, @"
    sbatch --parsable --array=1-2 --output=r/slurm/emulate-%A_%a.log r/slurm/job.sbatch emulate 2
    sbatch --parsable --dependency=afterany:JOB --array=1-3 --output=r/slurm/simulate-%A_%a.log r/slurm/job.sbatch simulate 3
    sbatch --parsable --dependency=afterany:JOB --output=r/slurm/merge-%j.log r/slurm/job.sbatch merge 3
    ");
    bench.write("r/slurm/job.sbatch", "# mine\n");
    told(run(&bench, &["--shard", "2/3"]));
    // Parts that are made already are left out, as are traces that are there.
    let shown = told(run(&bench, &dry));
    assert_eq!(bench.read("r/slurm/job.sbatch"), "# mine\n");
    assert!(shown.contains(" --array=1,3 "), "{shown}");
    let refused = run(&bench, &[&dry[..], &["--sbatch", "--time=5"]].concat());
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("job.sbatch exists"), "{}", refused.err);
    fs::remove_file(bench.path("r/slurm/job.sbatch")).unwrap();
    told(run(&bench, &dry));
    // Without a stated folder the tasks take the default, too.
    told(bench.warpweave(&[&["experiment", "ways.ron"][..], &dry].concat()));
    let batch = bench.read("ways.results/slurm/job.sbatch");
    assert!(
        batch.contains("experiment 'ways.ron' --traces 'traces'"),
        "{batch}"
    );
}

#[test]
fn without_slurm_its_engine_is_refused() {
    let bench = experiment::bench(1);
    let arguments = ["experiment", "ways.ron", "--engine", "slurm"];
    let mut command = bench.command(&arguments);
    let ended = Ended::of(&command.env("PATH", "").output().unwrap());
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(
        ended.err.contains("cannot start `scontrol`"),
        "{}",
        ended.err
    );
    assert!(ended.err.contains("--shard"), "{}", ended.err);
}
