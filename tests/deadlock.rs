//! Checks that a deadlocked system reports which component waits for which.

use crate::harness::Bench;

/// Wires the memory side of the L2 back to the crossbar, so that every L2 miss goes to the L2
/// itself.
fn l2_behind_itself() -> Bench {
    Bench::new()
        .edit(
            "systems/tiny.ron",
            r#"ports: { "slice[s]": "l2[s].up" },"#,
            r#"ports: { "slice[s]": "l2[s].up", "memory[s]": "l2[s].down" },"#,
        )
        .edit(
            "systems/tiny.ron",
            r#"            wires: { "l2[s].down <-> dram.up[s]": (latency: 1) },"#,
            "",
        )
        .edit(
            "systems/tiny.ron",
            r#""dram": Gddr5("#,
            r#""unused_dram": Gddr5("#,
        )
        .edit(
            "systems/tiny.ron",
            r#"up_ports: "=units","#,
            r#"up_ports: "=units + 2","#,
        )
        .edit(
            "systems/tiny.ron",
            "unit[*].memory <-> crossbar.up[*]",
            "unit[u].memory <-> crossbar.up[u]",
        )
        .edit(
            "systems/tiny.ron",
            r#""crossbar.down[s"#,
            r#""partition[c].memory[s] <-> crossbar.up[units + c]": (latency: 1),
        "crossbar.down[s"#,
        )
}

/// Removes the parts of `tiny.ron` that are no longer used.
fn without_dram(bench: Bench) -> Bench {
    let text = bench.read("systems/tiny.ron");
    let start = text.find("                \"unused_dram\"").unwrap();
    let end = start
        + text[start..]
            .find("latency_cycles: 5,\n                ),\n")
            .unwrap();
    let end = end + "latency_cycles: 5,\n                ),\n".len();
    bench.write(
        "systems/tiny.ron",
        &format!("{}{}", &text[..start], &text[end..]),
    );
    bench
}

#[test]
fn memory_that_waits_for_itself_is_reported_with_the_cycle() {
    let bench = without_dram(l2_behind_itself());
    let ended = bench.warpweave(&["run", "test.ron", "--quiet", "--format", "json"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let report = ended.json();
    assert_eq!(report["status"], "deadlock");
    // The run made progress before the deadlock, and its results are correct.
    let [cycles, issued] =
        ["cycles", "wavefront_instructions"].map(|k| report[k].as_u64().unwrap());
    assert!(cycles > 0 && issued > 0, "{cycles} {issued}");
    let ipc = report["ipc"].as_f64().unwrap();
    assert!((ipc * cycles as f64 - issued as f64).abs() < 1e-6, "{ipc}");
    assert_eq!(report["kernels"][0]["completed"], serde_json::Value::Null);
    let note = "the program's results were correct in emulation; the timing model got stuck";
    assert_eq!(report["verified"], true);
    assert_eq!(report["verified_note"], note);
    assert!(
        ended.err.ends_with(&format!("note: {note}\n")),
        "{}",
        ended.err
    );
    let detail = report["detail"].as_str().unwrap();
    insta::assert_snapshot!("deadlock", detail);
    assert!(
        detail.contains("partition[0].l2[0]") && detail.contains("crossbar"),
        "{detail}"
    );
}

/// Checks the same for one partition. The memory of the other one refreshes forever, so the system
/// never becomes idle.
#[test]
fn standstill_beside_a_refreshing_memory_is_reported() {
    let whole = Bench::new();
    let text = whole.read("systems/tiny.ron");
    let end = text.find("    for: { \"u\"").unwrap() - "    },\n".len();
    let closed = without_dram(l2_behind_itself()).read("systems/tiny.ron");
    let closed_start = closed.find("        \"Partition\": Module(").unwrap();
    let closed_end = closed.find("    for: { \"u\"").unwrap() - "    },\n".len();
    let closed = closed[closed_start..closed_end].replace("\"Partition\"", "\"Closed\"");
    whole.write(
        "systems/tiny.ron",
        &format!("{}{closed}{}", &text[..end], &text[end..]),
    );
    let bench = whole
        .edit("systems/tiny.ron", "\"partition[c]\": Partition(", "\"partition[0]\": Closed(slices: 2, channels: 2, per_channel: 1),\n        \"partition[1]\": Partition(")
        .edit("systems/tiny.ron", r#"up_ports: "=units","#, r#"up_ports: "=units + 1","#)
        .edit("systems/tiny.ron", "unit[*].memory <-> crossbar.up[*]", "unit[u].memory <-> crossbar.up[u]")
        .edit(
            "systems/tiny.ron",
            r#""crossbar.down[s"#,
            r#""partition[0].memory[0] <-> crossbar.up[units]": (latency: 1),
        "crossbar.down[s"#,
        );
    let ended = bench.run(&["limits.silent_cycles=20000"]);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let cycle = ended.err.split("others that wait").next().unwrap();
    assert!(
        cycle.contains("partition[0].l2[0]") && cycle.contains("crossbar"),
        "{}",
        ended.err
    );
}

#[test]
fn a_run_that_reaches_its_limit_reports_cycles_ipc_and_what_its_verification_means() {
    let bench = Bench::new();
    let sets = [
        "limits.cycles=600",
        "workload.n=4096",
        "host.copy_bytes_per_cycle=4096",
    ];
    let mut arguments = vec!["run", "test.ron", "--quiet", "--full"];
    arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
    let ended = bench.warpweave(&arguments);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let line = |name: &str| {
        let mut lines = ended.out.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().unwrap().trim().to_owned()
    };
    assert_eq!(line("status"), "limit");
    assert_eq!(
        line("verified"),
        "yes: the program's results were correct in emulation; the timing simulation did not complete"
    );
    assert_ne!(line("cycles"), "0 (core clock)");
    assert!(!line("IPC").starts_with("0.000"), "{}", ended.out);
    // Launched and started, not ended.
    let kernel = line("  vector_add #0");
    let cells: Vec<_> = kernel.split_whitespace().collect();
    assert!(
        cells[2].parse::<u64>().unwrap() < cells[3].parse().unwrap(),
        "{kernel}"
    );
    assert_eq!(cells[4], "-", "{kernel}");
}

#[test]
fn no_silence_at_all_is_refused_where_it_stands() {
    let bench = Bench::new().edit(
        "test.ron",
        "overrides:",
        "limits: (silent_cycles: 0),\n    overrides:",
    );
    insta::assert_snapshot!(bench.run(&[]).refusal(), @r"
    exit 2
    error: silent_cycles: 0, expected at least 1
     --> test.ron:5:29
      |
    5 |     limits: (silent_cycles: 0),
      |                             ^
      = hint: omit it for the default of 1000000 core cycles
    ");
    insta::assert_snapshot!(Bench::new().run(&["limits.silent_cycles=0"]).refusal(), @r"
    exit 2
    error: silent_cycles: 0, expected at least 1
     --> --set limits.silent_cycles=0:1:22
      |
    1 | limits.silent_cycles=0
      |                      ^
      = hint: omit it for the default of 1000000 core cycles
    ");
}
