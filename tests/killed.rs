//! Checks that a program killed at any moment leaves only complete files under their names.
//!
//! The moments are drawn from a seed. Half of them are anywhere in a run, half between the report
//! and process exit, when the results are written.
//! `WARPWEAVE_KILLS=500 cargo test --test tests killed:: -- --nocapture` kills more often and
//! prints the outcomes.
#![cfg(unix)]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "moments of host time are what is drawn; no verdict depends on them"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::experiment;
use crate::harness::{Bench, files_below};

const SEED: u64 = 12;

/// Default number of kills of each kind.
const KILLS: u64 = 20;

fn kills() -> u64 {
    let wanted = std::env::var("WARPWEAVE_KILLS").ok();
    wanted.map_or(KILLS, |text| text.parse().expect("a number"))
}

/// Moment at which a run is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// Delay after the start of the run.
    AfterStart(Duration),
    /// Delay after the first byte on standard output.
    AfterReport(Duration),
}

/// Duration of a run, and the time from its report to its end.
#[derive(Clone, Copy)]
struct Pace {
    whole: Duration,
    writing: Duration,
}

/// Returns the longest times over a few undisturbed runs.
fn pace(mut run: impl FnMut() -> std::process::Command) -> Pace {
    let mut pace = Pace {
        whole: Duration::ZERO,
        writing: Duration::ZERO,
    };
    for _ in 0..3 {
        let start = Instant::now();
        let mut child = run()
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut out = child.stdout.take().unwrap();
        let told = out.read(&mut [0]).map(|_| Instant::now()).unwrap();
        out.read_to_end(&mut Vec::new()).unwrap();
        assert!(child.wait().unwrap().success());
        pace.whole = pace.whole.max(start.elapsed());
        pace.writing = pace.writing.max(told.elapsed());
    }
    pace
}

impl Pace {
    /// Returns the kill moment with this number.
    fn moment(&self, number: u64) -> Moment {
        // A little beyond the end, too.
        let part = part(number) * 1.1;
        match number % 2 {
            0 => Moment::AfterStart(self.whole.mul_f64(part)),
            _ => Moment::AfterReport(self.writing.mul_f64(part)),
        }
    }
}

/// Returns a pseudo-random number from 0 to 1.
fn part(number: u64) -> f64 {
    warpweave_random::nth(SEED, number) as f64 / u64::MAX as f64
}

/// Starts the command and kills it. True if the kill came before its end.
fn killed(command: &mut std::process::Command, moment: Moment) -> bool {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    match moment {
        Moment::AfterStart(wait) => std::thread::sleep(wait),
        Moment::AfterReport(wait) => {
            let _ = out.read(&mut [0]).unwrap();
            std::thread::sleep(wait);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}

/// Reads every file below a folder, except those whose name marks them as temporary.
fn named_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = files_below(folder);
    files.retain(|path, _| {
        let name = path.rsplit('/').next().unwrap_or_default();
        !name.starts_with(".partial-") && name != ".claim"
    });
    files
}

/// Arguments of a run that writes a file of every kind into its working folder.
const RUN: [&str; 19] = [
    "run",
    "../test.ron",
    "--quiet",
    "--set",
    "workload.n=512",
    "--out",
    "r",
    "--state-hash",
    "100",
    "--record",
    "a.vcd",
    "--record",
    "a.fst",
    "--record",
    "a.pftrace",
    "--checkpoint",
    "a-{cycle}.wwc",
    "--checkpoint-every",
    "100",
];

#[test]
fn a_killed_run_leaves_whole_files_and_its_successor_takes_over() {
    let bench = Bench::new();
    let command = |folder: &str, arguments: &[&str]| {
        let mut command = bench.command(arguments);
        command.current_dir(bench.path(folder));
        command
    };
    let mut rounds = 0..;
    let pace = pace(|| {
        let folder = format!("undisturbed-{}", rounds.next().unwrap());
        fs::create_dir(bench.path(&folder)).unwrap();
        command(&folder, &RUN)
    });
    let whole = named_files(&bench.path("undisturbed-0"));
    let report = String::from_utf8(whole["r/report.txt"].clone()).unwrap();
    let mut before_the_end = 0;
    let mut while_writing = 0;
    let mut with_partial_files = 0;
    let mut resumed = BTreeSet::new();
    for number in 0..kills() {
        let folder = format!("killed-{number}");
        fs::create_dir(bench.path(&folder)).unwrap();
        let moment = pace.moment(number);
        before_the_end += u64::from(killed(&mut command(&folder, &RUN), moment));
        let left = named_files(&bench.path(&folder));
        for (name, bytes) in &left {
            assert!(whole.get(name) == Some(bytes), "{name} after {moment:?}");
        }
        let all = fs::read_dir(bench.path(&folder)).unwrap();
        let mut names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        with_partial_files += u64::from(names.any(|name| name.starts_with(".partial-")));
        if left.contains_key("r/manifest.json") {
            let missing = whole.keys().filter(|name| name.starts_with("r/"));
            assert!(
                missing.clone().all(|name| left.contains_key(name)),
                "{moment:?}"
            );
        } else {
            while_writing += u64::from(
                left.keys()
                    .any(|name| name.starts_with("r/") || name == "a.vcd"),
            );
            let next = command(&folder, &RUN).output().unwrap();
            let err = String::from_utf8_lossy(&next.stderr);
            assert_eq!(next.status.code(), Some(0), "after {moment:?}: {err}");
            assert!(
                named_files(&bench.path(&folder)) == whole,
                "after {moment:?}"
            );
        }
        // Equal files are the same run when they are resumed.
        for name in left.keys().filter(|name| name.starts_with("a-")) {
            if resumed.insert(name.clone()) {
                let more = [&RUN[1..5], &["--resume", name]].concat();
                let output = command(&folder, &[&["run"], &more[..]].concat())
                    .output()
                    .unwrap();
                assert_eq!(String::from_utf8_lossy(&output.stdout), report, "{name}");
            }
        }
        fs::remove_dir_all(bench.path(&folder)).unwrap();
    }
    println!(
        "{} kills: {before_the_end} before the end, {while_writing} while the results were written, \
         {with_partial_files} left partial files; {} checkpoints resumed; a run takes {:?}, {:?} of \
         them after its report",
        kills(),
        resumed.len(),
        pace.whole,
        pace.writing
    );
}

/// Kills a command repeatedly while it replaces its earlier output, made from other inputs.
fn old_or_whole(bench: &Bench, old: &[&str], new: &[&str], file: &str) {
    let write = |arguments: &[&str]| {
        let ended = bench.warpweave(arguments);
        assert_eq!(ended.code, 0, "{}", ended.err);
        fs::read(bench.path(file)).unwrap()
    };
    let whole = write(new);
    let before = write(old);
    assert!(before != whole);
    let pace = pace(|| bench.command(new));
    let mut replaced = 0;
    for number in 0..kills() {
        fs::write(bench.path(file), &before).unwrap();
        // Not every one of these commands has a report.
        let wait = pace.whole.mul_f64(part(number) * 1.1);
        killed(&mut bench.command(new), Moment::AfterStart(wait));
        let found = fs::read(bench.path(file)).unwrap();
        assert!(found == before || found == whole, "after {wait:?}");
        replaced += u64::from(found == whole);
    }
    println!(
        "{file}: {} kills, {replaced} after the file was replaced",
        kills()
    );
}

#[test]
fn a_killed_recording_of_a_trace_leaves_the_old_one_or_the_new_one() {
    let record = |n: &'static str| ["trace", "record", "test.ron", "a.trace", "--set", n];
    let bench = Bench::new();
    old_or_whole(
        &bench,
        &record("workload.n=256"),
        &record("workload.n=100000"),
        "a.trace",
    );
}

#[test]
fn a_killed_bench_leaves_the_old_table_or_the_new_one() {
    let bench = Bench::new();
    let rows = |count: u32| {
        let rows = (0..count).map(|n| format!("{},R,{}", n * 9, n * 64));
        rows.collect::<Vec<_>>().join("\n")
    };
    for (name, count) in [("old.csv", 10), ("new.csv", 20_000)] {
        bench.write(name, &format!("arrival,rw,address\n{}", rows(count)));
    }
    let drive = |trace: &'static str| {
        [
            "bench",
            "dram",
            "--trace",
            trace,
            "--preset",
            "A",
            "--per-request",
            "a.csv",
        ]
    };
    old_or_whole(&bench, &drive("old.csv"), &drive("new.csv"), "a.csv");
}

/// Number of kills of an experiment before it may finish.
const EXPERIMENT_KILLS: u64 = 10;

#[test]
fn an_experiment_of_200_runs_killed_ten_times_equals_the_undisturbed_one() {
    let bench = experiment::bench(100);
    let command = |folder: &str| {
        let traces = format!("{folder}-traces");
        bench.command(&[
            "experiment",
            "ways.ron",
            "--quiet",
            "--out",
            folder,
            "--traces",
            &traces,
        ])
    };
    let start = Instant::now();
    assert!(command("undisturbed").output().unwrap().status.success());
    let whole = start.elapsed();
    let mut before_the_end = 0;
    for number in 0..EXPERIMENT_KILLS {
        // Of the time for all of it each gets so much that some of them come to the end.
        let wait = whole.mul_f64(part(number) * 0.4);
        before_the_end += u64::from(killed_after(&mut command("killed"), wait));
    }
    let last = command("killed").output().unwrap();
    let err = String::from_utf8_lossy(&last.stderr);
    assert_eq!(last.status.code(), Some(0), "{err}");
    assert!(experiment::results(&bench, "killed") == experiment::results(&bench, "undisturbed"));
    println!(
        "{before_the_end} of {EXPERIMENT_KILLS} kills before the end; undisturbed it takes {whole:?}"
    );
}

#[test]
fn interrupted_runs_are_saved_and_continued_with_the_results_of_undisturbed_ones() {
    let long = ["\"workload.n\": 256", "\"workload.n\": 200000"];
    let bench = experiment::bench(1).edit("ways.ron", long[0], long[1]);
    let arguments = ["experiment", "ways.ron", "--quiet", "-j", "1", "--out"];
    let command = |folder| bench.command(&[&arguments[..], &[folder]].concat());
    let run = |folder| {
        let start = Instant::now();
        let output = command(folder).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{err}");
        start.elapsed()
    };
    run("emulated");
    let whole = run("undisturbed");
    let undisturbed = experiment::results(&bench, "undisturbed");
    let saved = || files_below(&bench.path("r/unfinished"));
    let (mut last, mut times) = (None, 0);
    while last.is_none() || !saved().is_empty() {
        times += 1;
        assert!(times < 50, "a run is saved soon");
        let mut child = command("r").stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole.mul_f64(part(times) * 0.8));
        let id = child.id().to_string();
        let asked = std::process::Command::new("kill")
            .args(["-INT", &id])
            .status();
        assert!(asked.unwrap().success());
        child.wait().unwrap();
        last = saved().into_iter().next().or(last);
        if last.is_none() && stored(&bench.path("r")) == 2 {
            fs::remove_dir_all(bench.path("r")).unwrap();
        }
    }
    run("r");
    assert!(experiment::results(&bench, "r") == undisturbed);
    // A checkpoint that cannot be read is no reason not to make the run.
    let (name, bytes) = last.unwrap();
    let run_of = name.replace(".wwc", ".json.zst");
    fs::remove_file(bench.path("r/runs").join(run_of)).unwrap();
    fs::write(
        bench.path("r/unfinished").join(name),
        &bytes[..bytes.len() / 2],
    )
    .unwrap();
    run("r");
    assert!(experiment::results(&bench, "r") == undisturbed);
    println!("{times} interrupts; undisturbed it takes {whole:?}");
}

fn stored(results: &Path) -> usize {
    files_below(&results.join("runs")).len()
}

/// Starts a command that prints nothing before its end, and kills it. True if the kill came before
/// its end.
fn killed_after(command: &mut std::process::Command, wait: Duration) -> bool {
    let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = quiet.spawn().unwrap();
    std::thread::sleep(wait);
    child.kill().unwrap();
    child.wait().unwrap().code().is_none()
}
