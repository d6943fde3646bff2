//! Checks that outputs are tested before work starts, never overwrite inputs, and never cost a
//! report if they cannot be written.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::{Bench, Ended};

/// Request trace of each bench, and the preset used with it.
const BENCHES: [(&str, &str, &str); 3] = [
    ("cache", "rw,addr_hex\nR,0\nW,80\nR,0\n", "L1_16k_4w"),
    ("noc", "create,src,dst,flits\n0,0,1,2\n1,1,0,1\n", "voq_i1"),
    (
        "dram",
        "arrival,rw,address\n0,R,0\n0,R,32\n9,W,131072\n",
        "A",
    ),
];

/// Returns the arguments of a bench that reads `NAME.csv`.
fn bench_of<'a>(name: &'a str, preset: &'a str, trace: &'a str) -> Vec<&'a str> {
    vec!["bench", name, "--trace", trace, "--preset", preset]
}

fn quiet<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "test.ron", "--quiet"], more].concat()
}

/// Lists the names of all files and subfolders of a folder.
fn files(bench: &Bench, folder: &str) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(bench.path(folder)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let path = format!("{folder}/{name}");
        if bench.path(&path).is_dir() {
            names.extend(files(bench, &path));
        }
        names.push(path);
    }
    names.sort();
    names
}

#[test]
fn an_output_that_cannot_be_written_ends_the_command_before_it_works() {
    let bench = Bench::new();
    bench.write("file", "");
    for (option, name) in [
        ("--out", "file/r"),
        ("--out", "file"),
        ("--record", "none/run.vcd"),
        ("--record", "none/run.fst"),
        ("--record", "none/run.pftrace"),
        ("--checkpoint", "none/run.wwc"),
        ("--checkpoint", "none/run-{cycle}.wwc"),
        ("--checkpoint", "systems"),
    ] {
        let ended = bench.warpweave(&["run", "test.ron", "--verbose", option, name]);
        assert_eq!((ended.code, ended.out.as_str()), (3, ""), "{}", ended.err);
        assert!(!ended.err.contains("emulating"), "{}", ended.err);
        assert!(ended.err.contains("error: cannot write"), "{}", ended.err);
    }
    // There is no trace, and the output is tested before the trace is opened.
    for (name, _, preset) in BENCHES {
        let arguments = bench_of(name, preset, "none.csv");
        let unwritable = [&arguments[..], &["--per-request", "none/x.csv"]].concat();
        assert_eq!(bench.warpweave(&unwritable).code, 3, "{name}");
        assert_eq!(bench.warpweave(&arguments).code, 2, "{name}");
    }
    let broken = Bench::new().edit("workloads/vector_add.ron", "CopyToDevice(\"a\"),", "");
    let record = broken.warpweave(&["trace", "record", "test.ron", "none/t.trace"]);
    assert_eq!(record.code, 3, "{}", record.err);
    let untouched = files(&bench, ".");
    assert!(
        !untouched.iter().any(|name| name.contains(".partial-")),
        "{untouched:?}"
    );
}

#[test]
fn a_place_for_the_cycle_belongs_to_the_name_of_the_file() {
    let ended = Bench::new().warpweave(&quiet(&["--checkpoint", "{cycle}/run.wwc"]));
    insta::assert_snapshot!(ended.refusal(), @"
    exit 2
    error: `--checkpoint {cycle}/run.wwc`: `{cycle}` is allowed in the name of the file, not in its folder
    ");
}

/// Creates a bench whose scenario reads a file of every kind.
fn reading_everything() -> (Bench, Vec<&'static str>) {
    let bench = Bench::new()
        .edit(
            "workloads/vector_add.ron",
            "buffers: {",
            "graphs: { \"g\": File(path: \"graph.txt\", format: EdgeList) }, buffers: { \
             \"extra\": File(element: U32, path: \"words.bin\"),",
        )
        .edit(
            "workloads/vector_add.ron",
            "expect: [",
            "expect: [ Expect(buffer: \"extra\", equals: File(\"right.bin\")),",
        )
        .edit(
            "workloads/vector_add.ron",
            "CopyToHost(",
            "CopyToDevice(\"extra\"), CopyToHost(\"extra\"), CopyToHost(",
        )
        .edit("test.ron", "summary:", "energy: \"energy.ron\", summary:")
        .edit("test.ron", "systems/tiny.ron", "machine.ron");
    bench.write("machine.ron", "System(extends: \"systems/tiny.ron\")");
    bench.write("energy.ron", "Energy(summary: \"none\")");
    bench.write("workloads/graph.txt", "0 1\n1 2\n");
    for name in ["words.bin", "right.bin"] {
        fs::write(bench.path("workloads").join(name), [1, 0, 0, 0, 2, 0, 0, 0]).unwrap();
    }
    let inputs = vec![
        "test.ron",
        "machine.ron",
        "systems/tiny.ron",
        "energy.ron",
        "workloads/vector_add.ron",
        "workloads/cuda/vector_add.ptx",
        "workloads/graph.txt",
        "workloads/words.bin",
        "workloads/right.bin",
    ];
    (bench, inputs)
}

#[cfg(unix)]
#[test]
fn no_output_replaces_an_input_under_any_name() {
    let (bench, inputs) = reading_everything();
    let plain = bench.warpweave(&quiet(&[]));
    assert_eq!(plain.code, 0, "{}{}", plain.out, plain.err);
    let saved = bench.warpweave(&quiet(&["--checkpoint", "a.wwc", "--checkpoint-at", "300"]));
    assert_eq!(saved.code, 0, "{}", saved.err);
    let before: Vec<_> = inputs
        .iter()
        .map(|name| fs::read(bench.path(name)).unwrap())
        .collect();
    let refused = |arguments: &[&str]| {
        let ended = bench.warpweave(arguments);
        assert_eq!(
            (ended.code, ended.out.as_str()),
            (2, ""),
            "{arguments:?}: {}",
            ended.err
        );
        assert!(
            ended.err.contains("which this command reads"),
            "{}",
            ended.err
        );
    };
    for input in &inputs {
        refused(&quiet(&["--checkpoint", input]));
        refused(&["trace", "record", "test.ron", input]);
        // Under another name, as recordings have endings of their own.
        fs::hard_link(bench.path(input), bench.path("hard.vcd")).unwrap();
        std::os::unix::fs::symlink(bench.path(input), bench.path("soft.vcd")).unwrap();
        refused(&quiet(&["--record", "hard.vcd"]));
        refused(&quiet(&["--record", "soft.vcd"]));
        refused(&quiet(&["--checkpoint", "./systems/../hard.vcd"]));
        for name in ["hard.vcd", "soft.vcd"] {
            fs::remove_file(bench.path(name)).unwrap();
        }
    }
    // Only a checkpoint may replace the one that a run resumes from.
    std::os::unix::fs::symlink("a.wwc", bench.path("soft.vcd")).unwrap();
    refused(&quiet(&["--resume", "a.wwc", "--record", "soft.vcd"]));
    // The folder of results holds a copy of the scenario.
    fs::create_dir(bench.path("r")).unwrap();
    fs::hard_link(bench.path("test.ron"), bench.path("r/scenario.ron")).unwrap();
    refused(&quiet(&["--out", "r"]));
    assert_eq!(files(&bench, "r"), ["r/scenario.ron"]);
    let after: Vec<_> = inputs
        .iter()
        .map(|name| fs::read(bench.path(name)).unwrap())
        .collect();
    assert!(before == after);
}

#[test]
fn a_bench_does_not_replace_its_trace_or_its_description() {
    let bench = Bench::new();
    for (name, trace, preset) in BENCHES {
        bench.write("trace.csv", trace);
        let arguments = bench_of(name, preset, "trace.csv");
        let ended = bench.warpweave(&[&arguments[..], &["--per-request", "./trace.csv"]].concat());
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert_eq!(bench.read("trace.csv"), trace);
        bench.write("part.ron", "part");
        let arguments = bench_of(name, "part.ron", "trace.csv");
        let ended = bench.warpweave(&[&arguments[..], &["--per-request", "part.ron"]].concat());
        assert!(
            ended.err.contains("which this command reads"),
            "{}",
            ended.err
        );
        assert_eq!(bench.read("part.ron"), "part");
    }
    let arguments = bench_of("dram", "A", "trace.csv");
    let both = ["--per-request", "x.csv", "--commands", "./x.csv"];
    let ended = bench.warpweave(&[&arguments[..], &both].concat());
    insta::assert_snapshot!(ended.refusal(), @"
    exit 2
    error: `--commands ./x.csv` and `--per-request x.csv` are the same file
    hint: choose another name
    ");
}

#[test]
fn two_outputs_of_a_run_are_two_files() {
    let bench = Bench::new();
    for more in [
        &["--record", "a.vcd", "--record", "./a.vcd"][..],
        &["--record", "a.vcd", "--checkpoint", "systems/../a.vcd"],
        &["--record", "a-7.vcd", "--checkpoint", "a-{cycle}.vcd"],
        &["--out", "r", "--checkpoint", "r/report.txt"],
        &["--out", "r", "--checkpoint", "r/manifest.json"],
    ] {
        let ended = bench.warpweave(&quiet(more));
        assert_eq!(ended.code, 2, "{}", ended.err);
        assert!(ended.err.contains("are the same file"), "{}", ended.err);
        assert!(!bench.path("r").exists() && !bench.path("a.vcd").exists());
    }
    let apart = bench.warpweave(&quiet(&["--out", "r", "--record", "r/run.vcd"]));
    assert_eq!(apart.code, 0, "{}", apart.err);
    assert!(bench.read("r/run.vcd").contains("$enddefinitions"));
}

#[cfg(unix)]
#[test]
fn a_file_that_standard_output_goes_into_is_no_other_output() {
    let bench = Bench::new();
    fs::create_dir(bench.path("r")).unwrap();
    let into = File::create(bench.path("r/report.txt")).unwrap();
    let output = bench.command(&quiet(&["--out", "r"])).stdout(into).output();
    let ended = Ended::of(&output.unwrap());
    assert_eq!(ended.code, 2);
    assert!(
        ended.err.contains("and standard output are the same file"),
        "{}",
        ended.err
    );
}

#[test]
fn a_checkpoint_may_replace_the_one_that_the_run_goes_on_from() {
    let bench = Bench::new();
    let json = |more: &[&'static str]| {
        let ended = bench.warpweave(&quiet(&[&["--format", "json"], more].concat()));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let mut report = ended.json();
        report.as_object_mut().unwrap().remove("host");
        report
    };
    let straight = json(&[]);
    json(&["--checkpoint", "a.wwc", "--checkpoint-at", "300"]);
    let first = fs::read(bench.path("a.wwc")).unwrap();
    let again = [
        "--resume",
        "a.wwc",
        "--checkpoint",
        "./a.wwc",
        "--checkpoint-at",
        "500",
    ];
    assert_eq!(json(&again), straight);
    assert!(fs::read(bench.path("a.wwc")).unwrap() != first, "replaced");
    assert_eq!(json(&["--resume", "a.wwc"]), straight);
}

/// Run that is simulating and will not end soon.
struct Long {
    child: Child,
    log: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Long {
    fn start(bench: &Bench, more: &[&str]) -> Self {
        let arguments = ["run", "test.ron", "--set", "workload.n=2000000"];
        let mut child = bench
            .command(&[&arguments, more].concat())
            .env("WARPWEAVE_LOG", "info")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(log.any(|line| line.unwrap().ends_with("simulating")));
        Self { child, log }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for a given line on its standard error.
    fn says(&mut self, what: &str) {
        let told = self.log.any(|line| line.unwrap().contains(what));
        assert!(told, "it never says `{what}`");
    }

    /// Waits for the end of the run. Standard error holds only the part not read yet.
    fn ended(self) -> Ended {
        let rest: Vec<_> = self.log.map(Result::unwrap).collect();
        let mut ended = Ended::of(&self.child.wait_with_output().unwrap());
        ended.err = rest.join("\n");
        ended
    }
}

#[test]
fn sigusr1_without_a_checkpoint_says_so_and_the_run_goes_on() {
    let bench = Bench::new();
    let mut run = Long::start(&bench, &[]);
    run.signal("-USR1");
    run.says("SIGUSR1: nothing saved, because the run was started without `--checkpoint FILE`");
    run.signal("-INT");
    let ended = run.ended();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.out.contains("interrupted"), "{}", ended.out);
}

#[test]
fn an_interrupted_run_reports_though_it_cannot_be_saved() {
    let bench = Bench::new();
    fs::create_dir(bench.path("sub")).unwrap();
    let run = Long::start(&bench, &["--checkpoint", "sub/a.wwc"]);
    fs::remove_dir(bench.path("sub")).unwrap();
    run.signal("-INT");
    let ended = run.ended();
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.out.contains("interrupted"), "{}", ended.out);
    assert!(
        ended.err.contains("cannot write sub/a.wwc"),
        "{}",
        ended.err
    );
}

#[test]
fn a_checkpoint_that_fails_on_the_way_is_a_warning_and_exit_3_at_the_end() {
    let bench = Bench::new();
    let plain = bench.run(&[]);
    // Nothing can be saved under this name.
    fs::create_dir_all(bench.path("run-200.wwc")).unwrap();
    let saving = [
        "--checkpoint",
        "run-{cycle}.wwc",
        "--checkpoint-at",
        "100,200,300",
    ];
    let ended = bench.warpweave(&quiet(&saving));
    assert_eq!(ended.out, plain.out);
    insta::assert_snapshot!(ended.refusal(), @"
    exit 3
    warning: not saved after core cycle 200: cannot write run-200.wwc: it is not a regular file
    error: not saved after core cycle 200: cannot write run-200.wwc: it is not a regular file
    ");
    for cycle in [100, 300] {
        let resumed = bench.warpweave(&quiet(&["--resume", &format!("run-{cycle}.wwc")]));
        assert_eq!(
            (resumed.code, &resumed.out),
            (0, &plain.out),
            "{}",
            resumed.err
        );
    }
    // Of many failures, only a few are reported at once.
    for cycle in (10..600).step_by(10) {
        fs::create_dir_all(bench.path(&format!("many-{cycle}.wwc"))).unwrap();
    }
    let saving = [
        "--checkpoint",
        "many-{cycle}.wwc",
        "--checkpoint-every",
        "10",
    ];
    let ended = bench.warpweave(&quiet(&saving));
    assert_eq!((ended.code, &ended.out), (3, &plain.out));
    assert!(ended.err.lines().count() < 12, "{}", ended.err);
}

#[test]
fn of_several_exit_codes_1_comes_first_and_every_reason_is_told() {
    let bench = Bench::new().edit(
        "workloads/vector_add.ron",
        "VectorAdd(a: \"a\", b: \"b\")",
        "VectorAdd(a: \"a\", b: \"a\")",
    );
    fs::create_dir_all(bench.path("run.wwc-200")).unwrap();
    let saving = ["--checkpoint", "run.wwc-{cycle}", "--checkpoint-at", "200"];
    let ended = bench.warpweave(&quiet(&saving));
    assert_eq!(ended.code, 1);
    for reason in [
        "`sum` differs from VectorAdd",
        "error: not saved after core cycle 200",
    ] {
        assert!(ended.err.contains(reason), "{}", ended.err);
    }
    let mut closed = bench
        .command(&quiet(&[]))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(closed.stdout.take());
    assert_eq!(closed.wait().unwrap().code(), Some(1));
    // An interrupted run whose results were wrong was wrong.
    let run = Long::start(&bench, &[]);
    run.signal("-INT");
    let ended = run.ended();
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("differs from"), "{}", ended.err);
}

#[test]
fn of_two_runs_into_one_folder_one_wins_and_the_other_says_why() {
    let bench = Bench::new();
    let first = Long::start(&bench, &["--out", "r"]);
    let second = bench.warpweave(&quiet(&["--out", "r"]));
    insta::assert_snapshot!(second.refusal(), @"
    exit 2
    error: another run is writing into r
    hint: choose another folder, or wait until that run ends
    ");
    first.signal("-INT");
    assert_eq!(first.ended().code, 130);
    let manifest: Value = serde_json::from_str(&bench.read("r/manifest.json")).unwrap();
    assert_eq!(manifest["status"], "interrupted");
    let third = bench.warpweave(&quiet(&["--out", "r"]));
    assert!(
        third.err.contains("already holds finished results"),
        "{}",
        third.err
    );
    assert!(
        !files(&bench, "r").iter().any(|name| name.contains("/.")),
        "nothing hidden is left"
    );
}

#[test]
fn of_runs_that_start_at_once_one_has_the_folder() {
    let bench = Bench::new();
    for round in 0..5 {
        let out = format!("r{round}");
        let start = |_| {
            let mut run = bench.command(&quiet(&["--out", &out]));
            run.stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let runs: Vec<_> = (0..4).map(start).collect();
        let ended = runs
            .into_iter()
            .map(|run| Ended::of(&run.wait_with_output().unwrap()));
        let (won, lost): (Vec<_>, Vec<_>) = ended.partition(|ended| ended.code == 0);
        assert_eq!(won.len(), 1);
        for ended in lost {
            let why = ["another run is writing", "already holds finished results"];
            assert!(
                why.iter().any(|why| ended.err.contains(why)),
                "{}",
                ended.err
            );
            assert_eq!((ended.code, ended.out.as_str()), (2, ""));
        }
        assert_eq!(bench.read(&format!("{out}/report.txt")), won[0].out);
    }
}

#[test]
fn the_folder_of_a_killed_run_is_taken_over() {
    let bench = Bench::new();
    let run = Long::start(&bench, &["--out", "r", "--record", "r/run.vcd"]);
    run.signal("-KILL");
    assert_eq!(run.ended().code, -1);
    let left = files(&bench, "r");
    assert!(left.iter().all(|name| name.starts_with("r/.")), "{left:?}");
    let next = bench.warpweave(&quiet(&["--out", "r"]));
    assert_eq!(next.code, 0, "{}", next.err);
    assert_eq!(bench.read("r/report.txt"), next.out);
}

#[test]
fn a_command_that_is_refused_leaves_no_folder() {
    let bench = Bench::new();
    let ended = bench.warpweave(&quiet(&["--out", "r", "--set", "unit[*].l1.ways=0"]));
    assert_eq!(ended.code, 2);
    assert!(!bench.path("r").exists());
}

/// Sources that may create files without the shared helper: tests, and code whose files are no
/// output of a command.
const OTHER_WRITERS: [&str; 5] = [
    "framework/files/src/",
    "systems/conform/src/lib.rs", // Machines to try, in the system's folder for such files.
    "tools/bench/src/",           // Not the program.
    "tools/fuzz/src/",            // Nor this.
    "tests/",
];

#[test]
fn every_output_goes_through_the_shared_helper() {
    let mut writers = Vec::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders: Vec<_> = ["components", "framework", "systems", "tools"]
        .map(|folder| root.join(folder))
        .to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs")
                && !name.contains("/tests")
                && !name.contains("_tests.")
            {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]").next().unwrap_or_default();
                let makes = ["File::create", "fs::write(", "File::options", "OpenOptions"];
                if makes.iter().any(|call| code.contains(call)) {
                    writers.push(name);
                }
            }
        }
    }
    assert!(
        writers
            .iter()
            .any(|name| name == "framework/files/src/output.rs")
    );
    writers.retain(|name| !OTHER_WRITERS.iter().any(|other| name.starts_with(other)));
    assert_eq!(writers, [""; 0]);
}
