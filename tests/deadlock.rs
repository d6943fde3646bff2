//! A system that can make no progress says who waits for whom.

use crate::harness::Bench;

/// The memory side of the L2 is wired back to the crossbar: every miss asks the L2 itself.
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

/// Without the parts of `tiny.ron` that nothing uses any more.
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
    let detail = report["detail"].as_str().unwrap();
    insta::assert_snapshot!("deadlock", detail);
    assert!(
        detail.contains("partition[0].l2[0]") && detail.contains("crossbar"),
        "{detail}"
    );
}

/// As above for one partition; the memory of the other one refreshes for ever, so that the system
/// never falls silent.
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
