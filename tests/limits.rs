//! Checks that input that is too deep, too large or not a file is rejected at once, with its
//! position. Nothing is expanded, unpacked or read to its end before.

use std::fmt::Write as _;

use crate::harness::{Bench, Ended, scenarios};

/// Creates a scenario whose system is `text`.
fn system(text: &str) -> Bench {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/mine.ron");
    bench.write("systems/mine.ron", text);
    bench
}

/// Creates a system with `modules`, of which `M0` is the only part.
fn of_modules(modules: &str) -> Bench {
    system(&format!(
        "System(\n    clocks: {{ \"core\": \"1 GHz\" }},\n    core: \"core\",\n    modules: {{\n{modules}    }},\n    \
         parts: {{ \"m\": M0() }},\n)\n"
    ))
}

fn check(bench: &Bench, sets: &[&str]) -> Ended {
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments: Vec<_> = ["check", "test.ron"].into_iter().chain(sets).collect();
    bench.warpweave(&arguments)
}

/// Runs the scenario with the given memory limit.
fn run_within(bench: &Bench, limit: &str, sets: &[&str]) -> Ended {
    let limit = format!("--memory-limit={limit}");
    let mut arguments = vec!["run", "test.ron", "--quiet", &limit];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    bench.warpweave(&arguments)
}

#[track_caller]
fn refused_with(ended: &Ended, code: i32, parts: &[&str]) {
    assert_eq!(ended.code, code, "{:.2000}", ended.err);
    assert!(ended.err.len() < 8 << 10, "{} bytes", ended.err.len());
    for part in parts {
        assert!(ended.err.contains(part), "no `{part}` in\n{}", ended.err);
    }
}

/// Builds a chain of modules, each containing the next one `times` times.
fn chain(depth: usize, times: usize) -> String {
    let mut modules = String::new();
    for i in 0..depth {
        let inner = (0..times).map(|n| format!("\"m{n}\": M{}()", i + 1));
        let inner: Vec<_> = inner.collect();
        let parts = if i + 1 == depth {
            String::new()
        } else {
            inner.join(", ")
        };
        writeln!(modules, "        \"M{i}\": Module(parts: {{ {parts} }}),").unwrap();
    }
    modules
}

#[test]
fn modules_nest_128_deep_and_no_deeper() {
    // The system is refused for what it lacks, not for its depth.
    let fits = check(&of_modules(&chain(128, 1)), &[]);
    assert!(!fits.err.contains("nested"), "{}", fits.err);
    for depth in [129, 10_000] {
        let ended = check(&of_modules(&chain(depth, 1)), &[]);
        refused_with(
            &ended,
            2,
            &[
                "modules nested more than 128 levels deep",
                "systems/mine.ron:",
            ],
        );
    }
}

#[test]
fn modules_that_double_are_refused_before_they_are_expanded() {
    let ended = check(&of_modules(&chain(28, 2)), &[]);
    let message = "the system has more than 65536 parts: `m` adds at least 268435455 of them";
    refused_with(
        &ended,
        2,
        &[message, "systems/mine.ron:", "--set limits.instances="],
    );
    let ended = check(
        &of_modules(&chain(120, 2)),
        &["limits.instances=4000000000"],
    );
    refused_with(&ended, 2, &["adds at least 18446744073709551615 of them"]);
}

#[test]
fn doubling_that_only_shows_when_it_is_expanded_stops_at_the_limit() {
    let mut modules = String::new();
    for i in 0..28 {
        let part = format!("\"m[i]\": M{}(n: \"=n\")", i + 1);
        let part = if i == 27 { "" } else { &part };
        writeln!(
            modules,
            "        \"M{i}\": Module(params: {{ \"n\": 2 }}, for: {{ \"i\": \"=n\" }}, parts: {{ {part} }}),"
        )
        .unwrap();
    }
    let ended = check(&of_modules(&modules), &[]);
    refused_with(
        &ended,
        2,
        &["the system has more than 65536 parts", "systems/mine.ron:"],
    );
}

#[test]
fn a_count_of_parts_beyond_the_limit_is_refused_and_the_limit_can_be_set() {
    let bench = Bench::new();
    let ended = check(&bench, &["params.units=100000"]);
    refused_with(
        &ended,
        2,
        &["more than 65536 parts: `unit[u]` adds", "systems/tiny.ron:"],
    );
    let ended = check(&bench, &["limits.instances=5"]);
    refused_with(&ended, 2, &["more than 5 parts"]);
    let ended = check(&bench, &["limits.wires=3"]);
    refused_with(&ended, 2, &["more than 3 wires", "--set limits.wires="]);
}

#[test]
fn files_that_include_one_another_in_a_long_row_or_a_ladder_end_with_a_verdict() {
    let system = |text: &str| {
        let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/mine.ron");
        bench.write("systems/mine.ron", text);
        bench
    };
    let including = "System(extends: \"tiny.ron\", include: [\"l0.ron\"])";
    let row = |length: usize| {
        let bench = system(including);
        for i in 0..length {
            let text = if i + 1 == length {
                "Library()".to_owned()
            } else {
                format!("Library(include: [\"l{}.ron\"])", i + 1)
            };
            bench.write(&format!("systems/l{i}.ron"), &text);
        }
        check(&bench, &[])
    };
    assert_eq!(row(128).code, 0);
    refused_with(
        &row(130),
        2,
        &["more than 128 files refer to one another in a chain"],
    );

    let bench = system(including);
    for i in 0..100 {
        let next = format!("\"l{}.ron\", \"b{}.ron\"", i + 1, i + 1);
        let text = format!("Library(include: [{}])", if i == 99 { "" } else { &next });
        bench.write(&format!("systems/l{i}.ron"), &text);
        bench.write(&format!("systems/b{i}.ron"), &text);
    }
    let ended = check(&bench, &[]);
    assert_eq!(ended.code, 0, "{}", ended.err);
}

/// Creates a scenario in which every optional file is present.
fn with_every_file() -> Bench {
    let bench = Bench::new();
    let workload = r#"Workload(
    module: "cuda/vector_add.ptx",
    params: { "n": 256, "block": 64 },
    graphs: { "g": File(path: "graph.txt", format: EdgeList) },
    buffers: {
        "a": File(element: F32, path: "words.bin"),
        "b": Constant(element: F32, length: "=n", value: 1),
        "sum": Zero(element: F32, length: "=n"),
    },
    commands: [
        CopyToDevice("a"),
        CopyToDevice("b"),
        Launch(
            kernel: "vector_add",
            grid: ["=ceil_div(n, block)"],
            block: ["=block"],
            arguments: [Buffer("a"), Buffer("b"), Buffer("sum"), U32("=n")],
        ),
        CopyToHost("sum"),
    ],
    expect: [(buffer: "sum", equals: File("right.bin"))],
)
"#;
    bench.write("workloads/mine.ron", workload);
    bench.write("workloads/graph.txt", "0 1\n1 2\n");
    std::fs::write(bench.path("workloads/words.bin"), [0; 1024]).unwrap();
    let ones: Vec<u8> = (0..256).flat_map(|_| 1_f32.to_le_bytes()).collect();
    std::fs::write(bench.path("workloads/right.bin"), ones).unwrap();
    bench.write("energy.ron", "Energy(components: {})\n");
    bench
        .edit("test.ron", "workloads/vector_add.ron", "workloads/mine.ron")
        .edit(
            "test.ron",
            "    overrides",
            "    energy: \"energy.ron\",\n    overrides",
        )
}

#[cfg(unix)]
#[test]
fn what_is_no_plain_file_is_refused_wherever_a_file_is_named() {
    use std::os::unix::fs::symlink;

    let files = [
        "test.ron",
        "systems/tiny.ron",
        "workloads/mine.ron",
        "workloads/cuda/vector_add.ptx",
        "workloads/graph.txt",
        "workloads/words.bin",
        "workloads/right.bin",
        "energy.ron",
    ];
    let bench = with_every_file();
    let ended = bench.run(&[]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for file in files {
        let path = bench.path(file);
        let kept = path.with_extension("kept");
        std::fs::rename(&path, &kept).unwrap();
        let refuse = |what: &str| {
            let ended = bench.run(&[]);
            let name = path.file_name().unwrap().to_str().unwrap();
            refused_with(
                &ended,
                2,
                &[name, &format!("it is {what}, not a regular file")],
            );
            let removed = std::fs::remove_file(&path);
            removed.or_else(|_| std::fs::remove_dir(&path)).unwrap();
        };
        symlink("/dev/zero", &path).unwrap();
        refuse("a device");
        std::fs::create_dir(&path).unwrap();
        refuse("a folder");
        // Opened, it would wait for a writer for ever.
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        refuse("a pipe");
        std::fs::rename(&kept, &path).unwrap();
    }
    let device = "it is a device, not a regular file";
    for arguments in [
        &["run", "test.ron", "--resume", "/dev/zero"][..],
        &["trace", "info", "/dev/zero"],
        &["bench", "dram", "--preset", "A", "--trace", "/dev/zero"],
        &[
            "bench",
            "noc",
            "--preset",
            "fifo_s1",
            "--trace",
            "/dev/zero",
        ],
        &["bench", "cache", "--preset", "A", "--trace", "/dev/zero"],
    ] {
        let ended = bench.warpweave(arguments);
        refused_with(&ended, 2, &["/dev/zero", device]);
    }
}

#[test]
fn what_takes_more_memory_than_there_may_be_ends_with_3_and_says_where() {
    let bench = with_every_file();
    let run = |limit: &str, sets: &[&str]| run_within(&bench, limit, sets);
    assert_eq!(run("64 MiB", &[]).code, 0);
    for (limit, sets, place) in [
        ("1 KiB", &[][..], "test.ron needs"),
        ("64 KiB", &[], "tiny.ron needs"),
        (
            "64 MiB",
            &["unit[*].l1.size_bytes=1073741824"],
            "size_bytes: not enough memory: `unit[0].l1` needs",
        ),
        (
            "64 MiB",
            &["emulation.resident_work_groups=4000000000"],
            "systems",
        ),
    ] {
        let ended = run(limit, sets);
        if place == "systems" {
            // Four work-groups are four, however many may be resident.
            assert_eq!(ended.code, 0, "{}", ended.err);
            continue;
        }
        refused_with(
            &ended,
            3,
            &[
                "not enough memory: ",
                place,
                "hint: set a higher limit with `--memory-limit SIZE`",
            ],
        );
    }
    let ended = run("nothing", &[]);
    refused_with(&ended, 2, &["--memory-limit"]);
}

#[test]
fn large_inputs_of_a_program_are_charged_before_they_are_made() {
    let bench = Bench::new();
    let run = |limit: &str, sets: &[&str]| run_within(&bench, limit, sets);
    let ended = run("256 MiB", &["workload.n=200000000"]);
    refused_with(
        &ended,
        3,
        &[
            "buffer `a` needs",
            "workloads/vector_add.ron:",
            "--memory-limit",
        ],
    );
    // The buffers fit, the trace does not.
    let ended = run("48 MiB", &["workload.n=1000000"]);
    refused_with(
        &ended,
        3,
        &[
            "launch 0 failed: not enough memory: the trace of `vector_add` needs",
            "workloads/vector_add.ron:",
        ],
    );
}

#[test]
fn the_tables_of_a_listed_ptx_module_are_charged_before_they_are_made() {
    let bench = Bench::new();
    let functions = ".func f () { ret; }\n".repeat(100_000);
    let module = format!(".version 7.0\n.target sm_70\n.address_size 64\n{functions}");
    bench.write("large.ptx", &module);
    let ended = bench.warpweave(&["ptx", "large.ptx", "--memory-limit", "8 MiB"]);
    refused_with(&ended, 3, &["large.ptx needs", "--memory-limit"]);
}

#[test]
fn a_request_trace_is_charged_while_it_is_read() {
    let bench = Bench::new();
    bench.write(
        "trace.csv",
        &format!("create,src,dst,flits\n{}", "0,0,0,1\n".repeat(100_000)),
    );
    let arguments = [
        "bench",
        "noc",
        "--preset",
        "fifo_s1",
        "--trace",
        "trace.csv",
        "--memory-limit=1 MiB",
    ];
    let ended = bench.warpweave(&arguments);
    refused_with(&ended, 3, &["not enough memory: trace.csv needs"]);
}

#[test]
fn nothing_that_an_input_holds_steers_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}";
    let bench = Bench::new()
        .edit("test.ron", "256 additions", &format!("{evil}256 additions"))
        .edit(
            "systems/tiny.ron",
            "summary: \"",
            &format!("summary: \"{evil}"),
        )
        .edit(
            "workloads/vector_add.ron",
            "summary: \"",
            &format!("summary: \"{evil}"),
        );
    let harmless = |ended: &Ended| {
        for text in [&ended.out, &ended.err] {
            let odd = text
                .chars()
                .find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(odd, None, "{text:.300}");
        }
    };
    let text = bench.run(&[]);
    assert!(text.out.contains(r"\u{1b}]0;owned"), "{:.300}", text.out);
    let json = bench.warpweave(&["run", "test.ron", "--quiet", "--format", "json"]);
    assert!(json.json()["summary"].as_str().unwrap().starts_with(evil));
    let ended = [
        text,
        json,
        check(&bench, &[]),
        bench.warpweave(&["list", "systems", "--folder", "."]),
        bench.warpweave(&["list", "workloads", "--folder", "."]),
        bench.warpweave(&["describe", evil]),
        bench.warpweave(&["run", evil]),
        bench.warpweave(&["run", "test.ron", "--resume", evil]),
        bench.warpweave(&["trace", "info", evil]),
        bench.warpweave(&["run", "test.ron", evil]),
        bench.warpweave(&[evil]),
        bench.run(&[&format!("params.{evil}=1")]),
        bench.run(&[&format!("unit[*].l1.ways=\"{evil}\"")]),
    ];
    ended.iter().for_each(harmless);
    bench.write(
        "workloads/cuda/vector_add.ptx",
        &format!(".version 7.0\n{evil}"),
    );
    harmless(&bench.run(&[]));
}

#[test]
fn an_argument_of_any_length_is_quoted_in_part() {
    let bench = Bench::new();
    let long = "x".repeat(60_000);
    for arguments in [
        &["run", "test.ron", &long][..],
        &["run", &long],
        &["run", "test.ron", "--resume", &long],
        &["run", "test.ron", &format!("--{long}")],
    ] {
        let ended = bench.warpweave(arguments);
        assert_eq!(ended.code, 2, "{:.300}", ended.err);
        assert!(ended.err.len() < 16 << 10, "{} bytes", ended.err.len());
    }
}

#[cfg(unix)]
#[test]
fn of_a_file_beside_the_scenario_nothing_is_shown_that_is_not_what_it_is_named_for() {
    let bench = Bench::new();
    bench.write("secret", "root:topsecret:0:0\n");
    bench.write(
        "inner/test.ron",
        &std::fs::read_to_string(bench.path("test.ron")).unwrap(),
    );
    let inner = |system: &str, workload: &str| {
        let text = format!("Scenario(system: \"{system}\", workload: \"{workload}\")");
        bench.write("inner/test.ron", &text);
        bench.warpweave(&["check", "inner/test.ron"])
    };
    let (system, workload) = ("../systems/tiny.ron", "../workloads/vector_add.ron");
    assert_eq!(inner(system, workload).code, 0);
    std::os::unix::fs::symlink("../secret", bench.path("inner/link.ron")).unwrap();
    let module = "Workload(module: \"../secret\", commands: [])";
    bench.write("inner/module.ron", module);
    let graph = "Workload(module: \"../workloads/cuda/vector_add.ptx\", commands: [],\n    \
                 graphs: { \"g\": File(path: \"../secret\", format: EdgeList) })";
    bench.write("inner/graph.ron", graph);
    for ended in [
        inner("../secret", workload),
        inner("link.ron", workload),
        inner(system, "../secret"),
        inner(system, "module.ron"),
        inner(system, "graph.ron"),
    ] {
        assert_eq!(ended.code, 2);
        assert!(
            !ended.err.contains("topsecret") && !ended.err.contains("root"),
            "{}",
            ended.err
        );
    }
    // The same beside a scenario that may show it.
    let bench = bench.edit("test.ron", "systems/tiny.ron", "secret");
    refused_with(&bench.run(&[]), 2, &["root:topsecret"]);
}

#[test]
fn the_machines_of_this_repository_are_far_from_every_limit() {
    let scenario = scenarios().join("bfs_60.ron");
    let arguments = [
        "check",
        scenario.to_str().unwrap(),
        "--memory-limit=256 MiB",
    ];
    let ended = crate::harness::warpweave(&arguments);
    assert_eq!(ended.code, 0, "{}", ended.err);
}
