//! Checks that experiments never lose a finished run and give the same results on any number of
//! cores.

use std::fs;
use std::path::Path;

use crate::harness::{Bench, Ended, files_below, told};

/// Experiment with two variants and a control that fails. `{}` is replaced by the number of pairs.
const EXPERIMENT: &str = r#"Experiment(
    summary: "Ways of the L1",
    base: "test.ron",
    workloads: { "add": (file: "workloads/vector_add.ron", sets: { "workload.n": 256, "workload.block": 64 }) },
    variants: { "two": {}, "one": { "unit[*].l1.ways": 1 } },
    baseline: "two",
    perturb: (pairs: PAIRS, draws: { "host.launch_latency_cycles": [DRAWS], "workload.block": [64, 128] }),
    metrics: { "ipc": (value: "ipc", kind: Ratio, better: Larger) },
)
"#;

/// Creates a folder with the experiment file `ways.ron`.
pub(crate) fn bench(pairs: usize) -> Bench {
    let bench = Bench::new();
    let draws: Vec<String> = (1..=pairs).map(|n| n.to_string()).collect();
    let text = EXPERIMENT.replace("PAIRS", &pairs.to_string());
    bench.write("ways.ron", &text.replace("DRAWS", &draws.join(", ")));
    bench
}

fn run(bench: &Bench, more: &[&str]) -> Ended {
    bench.warpweave(&[&["experiment", "ways.ron", "--quiet"], more].concat())
}

/// Returns everything that must match between equal experiments: all but the date in the series and
/// in the database.
pub(crate) fn results(bench: &Bench, folder: &str) -> Vec<(String, Vec<u8>)> {
    let files = files_below(&bench.path(folder)).into_iter();
    files
        .filter(|(name, _)| {
            let dated = ["series.json", "experiment.sqlite", "report.html", ".claim"];
            !dated.contains(&name.as_str()) && !name.contains(".partial-")
        })
        .collect()
}

#[test]
fn results_are_the_same_on_any_number_of_cores() {
    let bench = bench(4);
    for (folder, jobs) in [("one", "1"), ("two", "2"), ("five", "5")] {
        let traces = format!("traces-{jobs}");
        told(run(
            &bench,
            &["--out", folder, "-j", jobs, "--traces", &traces],
        ));
    }
    let one = results(&bench, "one");
    assert!(one.iter().any(|(name, _)| name == "runs.jsonl"));
    assert!(one.iter().any(|(name, _)| name.starts_with("figures/")));
    assert!(bench.read("one/report.html").contains("Ways of the L1"));
    assert!(one == results(&bench, "two"));
    assert!(one == results(&bench, "five"));
    assert!(files_below(&bench.path("traces-1")) == files_below(&bench.path("traces-5")));
}

#[test]
fn experiments_that_share_a_folder_of_traces_at_the_same_time_do_not_disturb_each_other() {
    let bench = bench(2);
    told(run(&bench, &["--out", "alone", "--traces", "own"]));
    let (alone, own) = (results(&bench, "alone"), files_below(&bench.path("own")));
    for round in 0..3 {
        let traces = format!("shared-{round}");
        let outs = ["x", "y", "z"].map(|name| format!("{name}-{round}"));
        let begin = |out: &String| {
            let arguments = ["experiment", "ways.ron", "--quiet", "--traces", &traces];
            let mut command = bench.command(&[&arguments[..], &["--out", out]].concat());
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        };
        for mut child in outs.each_ref().map(begin) {
            assert!(child.wait().unwrap().success());
        }
        for out in &outs {
            assert!(results(&bench, out) == alone, "{out}");
        }
        assert!(files_below(&bench.path(&traces)) == own);
    }
}

#[test]
fn running_again_makes_what_is_missing_alone() {
    let bench = bench(4);
    let out = told(run(&bench, &["--only", "add/one"]));
    assert!(out.contains("4 of 8"), "{out}");
    let first = files_below(&bench.path("ways.results/runs"));
    assert_eq!(first.len(), 4);
    // Claims are about all runs: of some there is nothing to say.
    let claims = bench.read("ways.results/claims.csv");
    assert_eq!(claims.lines().count(), 1, "{claims}");
    let kept = first.keys().next().unwrap().clone();
    fs::remove_file(bench.path("ways.results/runs").join(&kept)).unwrap();
    let out = told(run(&bench, &[]));
    assert!(out.contains("8 of 8"), "{out}");
    let all = files_below(&bench.path("ways.results/runs"));
    assert_eq!(all.len(), 8);
    assert!(
        first
            .iter()
            .all(|(name, bytes)| all.get(name) == Some(bytes))
    );
    let none = run(&bench, &["--only", "add/three"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("`add/two/-/0`"), "{}", none.err);
}

#[test]
fn a_change_opens_a_series_when_it_is_explained() {
    let bench = bench(1);
    told(run(&bench, &[]));
    let bench = bench.edit("ways.ron", "l1.ways\": 1", "l1.mshr_entries\": 2");
    let refused = run(&bench, &[]);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("--note"), "{}", refused.err);
    told(run(&bench, &["--note", "the wrong number was meant"]));
    let series = bench.read("ways.results/series.json");
    assert!(series.contains("the wrong number was meant"), "{series}");
    assert_eq!(series.matches("\"number\"").count(), 2);
    // What the other one ran stays.
    assert_eq!(files_below(&bench.path("ways.results/runs")).len(), 3);
}

#[test]
fn pairs_that_repeat_each_other_are_warned_of() {
    let bench = bench(2).edit(
        "ways.ron",
        "[1, 2], \"workload.block\": [64, 128]",
        "[1, 1]",
    );
    for more in [&["--check"][..], &[]] {
        let ended = run(&bench, more);
        assert_eq!(ended.code, 0, "{}", ended.err);
        assert!(
            ended
                .err
                .contains("warning: on `add`, equal draws make these pairs identical: 0 = 1"),
            "{}",
            ended.err
        );
    }
    assert!(
        bench
            .read("ways.results/report.html")
            .contains("equal draws make these pairs identical: 0 = 1")
    );
}

#[test]
fn failed_runs_are_listed_and_stop_no_other() {
    let bench = bench(2).edit(
        "ways.ron",
        "\"two\": {}",
        "\"two\": {}, \"short\": { \"limits.cycles\": 50 }",
    );
    let ended = run(&bench, &[]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(
        ended.out.contains("6 of 6 completed, 2 failed"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("add/short/-/0: limit"), "{}", ended.err);
    assert!(ended.err.contains("add/short/-/1: limit"), "{}", ended.err);
}

#[test]
fn without_a_place_to_write_nothing_is_run() {
    let bench = bench(1);
    for arguments in [["--out", "ways.ron/r"], ["--traces", "ways.ron/t"]] {
        let ended = run(&bench, &arguments);
        assert_eq!(ended.code, 3, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains("cannot write"), "{}", ended.err);
    }
    let left = files_below(&bench.path("ways.results/runs"));
    assert!(left.is_empty(), "{left:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_run_that_was_stored() {
    let bench = bench(4);
    let limited = |bytes: u64| {
        let script = format!("trap '' XFSZ; exec prlimit --fsize={bytes} -- \"$@\"");
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_warpweave")])
            .args(["experiment", "ways.ron", "--quiet", "--out", "r"])
            .current_dir(bench.path("."));
        Ended::of(&command.output().unwrap())
    };
    if std::process::Command::new("prlimit")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("the size of files cannot be limited here");
        return;
    }
    told(run(&bench, &["--out", "whole"]));
    let whole = results(&bench, "whole");
    for bytes in [0, 100, 1000, 4000, 10_000] {
        let ended = limited(bytes);
        assert_eq!(ended.code, 3, "{bytes}: {}{}", ended.err, ended.out);
        for (name, left) in results(&bench, "r") {
            let is_run = name.starts_with("runs/");
            let same = whole.contains(&(name.clone(), left));
            assert!(same || !is_run, "{bytes}: {name}");
        }
    }
    told(run(&bench, &["--out", "r"]));
    assert!(results(&bench, "r") == whole);
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_was_stored_and_the_next_time_goes_on() {
    use std::io::Read;

    let bench = bench(100);
    let mut child = bench
        .command(&["experiment", "ways.ron"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let stored = || fs::read_dir(bench.path("ways.results/runs")).map_or(0, Iterator::count);
    while stored() < 3 {
        std::thread::yield_now();
    }
    let id = child.id().to_string();
    let asked = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(asked.unwrap().success());
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{err}");
    let stored = files_below(&bench.path("ways.results/runs"));
    assert!((3..200).contains(&stored.len()), "{}", stored.len());
    let out = told(run(&bench, &[]));
    assert!(out.contains("200 of 200 completed, 0 failed"), "{out}");
}

#[test]
fn a_sweep_shows_a_row_for_each_combination() {
    let bench = Bench::new();
    let sweep = |more: &[&str]| {
        let axes = [
            "sweep",
            "test.ron",
            "--quiet",
            "--axis",
            "unit[*].l1.ways=1,2",
        ];
        told(bench.warpweave(&[&axes[..], more].concat()))
    };
    let files = ["--csv", "t.csv", "--svg", "t.svg"];
    let table = sweep(&[&["--axis", "workload.n=256,512"][..], &files].concat());
    insta::assert_snapshot!("sweep", table);
    let csv = bench.read("t.csv");
    assert_eq!(csv.lines().count(), 5);
    assert!(
        csv.starts_with("unit[*].l1.ways,workload.n,cycles,ipc\n1,256,"),
        "{csv}"
    );
    // A bar of the last metric for each combination, and what it stands for.
    let svg = bench.read("t.svg");
    for line in csv.lines().skip(1) {
        let fields: Vec<_> = line.split(',').collect();
        let bar = format!("{}, {}, ipc: {}", fields[0], fields[1], fields[3]);
        assert!(svg.contains(&bar), "{bar} is not in {svg}");
    }
    let metric = sweep(&[
        "--metric",
        "sum(unit[*].l1.reads) / cycles",
        "--metric",
        "cycles / 0",
    ]);
    assert!(
        metric.contains("sum(unit[*].l1.reads) / cycles"),
        "{metric}"
    );
    assert_eq!(metric.matches("undefined").count(), 2, "{metric}");
    let nowhere = ["--svg", "nowhere/t.svg"];
    let axis = ["sweep", "test.ron", "--axis", "unit[*].l1.ways=1"];
    let refused = bench.warpweave(&[&axis[..], &nowhere].concat());
    assert_eq!((refused.code, refused.out.as_str()), (3, ""));
    assert!(refused.err.contains("nowhere/t.svg"), "{}", refused.err);
    let mistaken = [
        "sweep",
        "test.ron",
        "--axis",
        "unit[*].l1.ways=1",
        "--metric",
        "sum(unit[*].l1.raeds)",
    ];
    let refused = bench.warpweave(&mistaken);
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(
        refused.err.contains("--metric sum(unit[*].l1.raeds)"),
        "{}",
        refused.err
    );
    let zipped = sweep(&["--axis", "workload.n=256,512", "--zip"]);
    assert_eq!(zipped.lines().count(), 3, "{zipped}");
}

#[test]
fn an_experiment_of_more_runs_than_memory_holds_is_refused_before_they_are_made() {
    let bench = bench(2);
    let axis = |at| format!("\"a{at}\": Values(path: \"unit[0].l1.ways\", values: [1, 2])");
    let axes: Vec<String> = (0..30).map(axis).collect();
    let axes = format!("baseline: \"two\", axes: {{ {} }},", axes.join(", "));
    let bench = bench.edit("ways.ron", "baseline: \"two\",", &axes);
    let arguments = [
        "experiment",
        "ways.ron",
        "--check",
        "--memory-limit",
        "1 GiB",
    ];
    let refused = bench.warpweave(&arguments);
    assert_eq!(refused.code, 3, "{}", refused.err);
    for part in [
        "`a0` (2 levels)",
        "4294967296 runs",
        "ways.ron:6:",
        "--memory-limit",
    ] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
}

#[test]
fn names_with_control_characters_and_formulas_are_harmless_in_every_file() {
    let bench = bench(2)
        .edit("ways.ron", "summary: \"Ways", r#"summary: "\u{1b}[31mWays"#)
        .edit("ways.ron", "\"one\":", r#""=1+2\u{1b}[0m":"#)
        .edit("ways.ron", "\"ipc\":", r#""@ipc\u{7}":"#)
        .edit("ways.ron", "\"add\":", r#""-add\u{9b}":"#);
    let ended = run(&bench, &[]);
    let steers = |text: &str| text.contains(|c: char| c != '\n' && c.is_control());
    assert!(!steers(&ended.err), "{}", ended.err);
    assert!(!steers(&told(ended)));
    let mut checked = 0;
    for (name, bytes) in files_below(&bench.path("ways.results")) {
        let text = [".csv", ".html", ".svg", ".json", ".jsonl"];
        if text.iter().any(|ending| name.ends_with(ending)) {
            let text = String::from_utf8(bytes).unwrap();
            assert!(
                !steers(&text) || Path::new(&name).extension().is_some_and(|e| e == "jsonl"),
                "{name}: {text:?}"
            );
            checked += 1;
        }
        if name == "metrics.csv" {
            let metrics = bench.read("ways.results/metrics.csv");
            assert!(
                metrics.contains("\n'-add\\u{9b},'=1+2\\u{1b}[0m,"),
                "{metrics}"
            );
        }
    }
    assert!(checked > 5);
}

#[test]
fn a_line_break_in_a_name_is_refused() {
    let bench = bench(2).edit("ways.ron", "\"one\":", r#""o\nne":"#);
    let refused = run(&bench, &["--check"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("has a line break"), "{}", refused.err);
}

#[test]
fn verdicts_of_earlier_series_are_kept() {
    let claims = "metrics: {";
    let more =
        r#"claims: [Identity(name: "time passes", claim: AtMost("1", "cycles"))], metrics: {"#;
    let bench = bench(2).edit("ways.ron", claims, more);
    told(run(&bench, &[]));
    let first = bench.read("ways.results/verdicts.json");
    let bench = bench.edit("ways.ron", "\"1\", \"cycles\"", "\"2\", \"cycles\"");
    told(run(&bench, &["--note", "a tighter bound"]));
    let both = bench.read("ways.results/verdicts.json");
    let both: serde_json::Value = serde_json::from_str(&both).unwrap();
    let first: serde_json::Value = serde_json::from_str(&first).unwrap();
    assert_eq!(both["1"], first["1"]);
    assert_eq!(both["2"][0]["verdict"], "holds");
    let page = bench.read("ways.results/report.html");
    assert!(page.contains("Verdicts of earlier series"), "{page}");
}

#[test]
fn launches_and_headroom_are_the_same_from_shards_and_written_for_other_tools() {
    let bench = bench(2).edit(
        "ways.ron",
        "better: Larger) }",
        "better: Larger, over: Launches(), mean: Pooled(Harmonic)) },
        headroom: (machines: { \"large\": { \"unit[*].l1.size_bytes\": 1048576 } }, show: [\"ipc\"])",
    );
    let out = told(run(&bench, &["--out", "whole"]));
    assert!(out.contains("5 of 5"), "{out}");
    assert!(out.contains("ipc: harmonic mean over launches"), "{out}");
    let launches = bench.read("whole/launches.csv");
    let lines: Vec<&str> = launches.lines().collect();
    assert_eq!(lines.len(), 3, "{launches}");
    assert!(lines[1].starts_with("ipc,two,add,add,0,"), "{launches}");
    assert!(lines[1].ends_with(",1,1,1"), "{launches}");
    let headroom = bench.read("whole/headroom.csv");
    let machines: Vec<&str> = headroom
        .lines()
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(machines, ["machine", "two", "large"]);
    for shard in ["1/2", "2/2"] {
        told(run(&bench, &["--out", "parts", "--shard", shard]));
    }
    told(run(&bench, &["--out", "parts", "--merge"]));
    assert!(results(&bench, "whole") == results(&bench, "parts"));
}
