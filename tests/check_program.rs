//! Tests of `run --check-program`: output to the user, and exit codes.

use insta::assert_snapshot;

use crate::harness::{Bench, scenarios, warpweave};

/// Checks that the page shows the program's output for its example.
#[test]
fn the_page_shows_what_is_printed() {
    let bench = example();
    let ended = bench.warpweave(&["run", "sum.ron", "--check-program", "--quiet"]);
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/check-a-program.md"
    ))
    .unwrap();
    assert_eq!((ended.code, ended.err.as_str()), (1, ""));
    assert!(page.contains(ended.out.trim_end()), "{}", ended.out);
}

/// Creates the files of the page `docs/check-a-program.md`.
fn example() -> Bench {
    let bench = Bench::new();
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/check-a-program.md"
    ))
    .unwrap();
    let block = |language: &str| {
        let opening = format!("```{language}\n");
        let (_, behind) = page.split_once(&opening).unwrap();
        behind.split("```").next().unwrap().to_owned()
    };
    bench.write("sum.ptx", &block("ptx"));
    bench.write("sum_workload.ron", &block("ron"));
    bench.write(
        "sum.ron",
        "Scenario(system: \"systems/tiny.ron\", workload: \"sum_workload.ron\")",
    );
    bench
}

#[test]
fn a_clean_program_ends_with_0_and_nothing_is_simulated() {
    let bench = Bench::new();
    let ended = bench.warpweave(&["run", "test.ron", "--check-program", "--quiet"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    assert_snapshot!(ended.out, @r"
    test.ron: 1 launch emulated

    ok: sum against VectorAdd: 256 elements equal bit for bit
    0 errors, 0 undecided, 0 notes, 0 allowed
    ");
}

#[test]
fn notes_and_what_is_undecided_end_with_0() {
    let bench = Bench::new().edit(
        "workloads/cuda/vector_add.ptx",
        "ld.global.f32",
        "shr.u64 %rd3, %rd3, 2;\n\tshl.b64 %rd3, %rd3, 2;\n\tld.global.f32",
    );
    let ended = bench.warpweave(&["run", "test.ron", "--check-program", "--quiet"]);
    assert!(
        ended.out.contains("undecided: OutsideAllocation"),
        "{}{}",
        ended.out,
        ended.err
    );
    assert_eq!(ended.code, 0, "{}", ended.out);
}

#[test]
fn the_json_object_says_what_the_page_says() {
    let bench = example();
    let arguments = [
        "run",
        "sum.ron",
        "--check-program",
        "--quiet",
        "--format",
        "json",
    ];
    let ended = bench.warpweave(&arguments);
    let object = ended.json();
    assert_eq!((ended.code, &object["clean"]), (1, &false.into()));
    let race = &object["findings"][1];
    assert_eq!(race["kind"], "LocalRace");
    assert_eq!(race["verdict"], "error");
    assert_eq!(race["first"]["source"], "sum.cu:5:5");
    assert_eq!(race["meets"]["opcode"], "ld.shared.u32");
    assert_eq!((&object["errors"], &race["count"]), (&2.into(), &32.into()));
}

#[test]
fn the_same_check_prints_the_same_bytes() {
    let bench = example();
    let run = || {
        bench
            .warpweave(&["run", "sum.ron", "--check-program", "--format", "json"])
            .out
    };
    assert_eq!(run(), run());
}

#[test]
fn a_check_goes_with_nothing_that_needs_a_simulation() {
    let bench = Bench::new();
    for option in [
        ["--out", "results"],
        ["--record", "a.vcd"],
        ["--checkpoint", "a"],
    ] {
        let ended = bench.warpweave(&["run", "test.ron", "--check-program", option[0], option[1]]);
        assert_eq!(ended.code, 2, "{option:?}");
        assert!(ended.err.contains("cannot be used with"), "{}", ended.err);
    }
}

#[test]
fn a_forgotten_copy_warns_when_the_program_runs_and_when_it_is_checked() {
    let bench = Bench::new().edit("workloads/vector_add.ron", "CopyToDevice(\"b\"),", "");
    for arguments in [
        &["run", "test.ron", "--check-program"][..],
        &["run", "test.ron"],
        &["check", "test.ron"],
    ] {
        let ended = bench.warpweave(arguments);
        let expected = "reads `b`, whose contents are never copied to the device";
        assert!(ended.err.contains(expected), "{arguments:?}: {}", ended.err);
        assert!(
            ended.err.contains("add CopyToDevice(\"b\")"),
            "{}",
            ended.err
        );
    }
}

#[test]
fn records_beyond_their_limit_end_with_1_and_name_the_knob() {
    let bench = Bench::new();
    let ended = bench.run(&["emulation.stream_bytes=100"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    for part in [
        "kernel `vector_add`",
        "more than the 100",
        "emulation.stream_bytes",
    ] {
        assert!(ended.err.contains(part), "{part}: {}", ended.err);
    }
}

#[test]
fn the_search_on_a_real_graph_is_clean() {
    let path = scenarios().join("bfs.ron").display().to_string();
    let ended = warpweave(&["run", &path, "--check-program", "--quiet"]);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{}", ended.out);
    assert!(
        ended
            .out
            .contains("allowed: GlobalRace in kernel `bfs_level`"),
        "{}",
        ended.out
    );
}
