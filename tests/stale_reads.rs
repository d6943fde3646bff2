//! Tests of `--check` on machines whose caches keep lines from kernel to kernel.

use crate::harness::{Bench, Ended};

/// Adds, overwrites most of an operand by other units than those that read it, and adds again.
const WORKLOAD: &str = "Workload(
    module: \"cuda/vector_add.ptx\",
    buffers: {
        \"a\": Zero(element: F32, length: 256),
        \"b\": Zero(element: F32, length: 256),
        \"sum\": Zero(element: F32, length: 256),
    },
    commands: [
        CopyToDevice(\"a\"),
        CopyToDevice(\"b\"),
        Launch(
            kernel: \"vector_add\", grid: 4, block: 64,
            arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(256)],
        ),
        Launch(
            kernel: \"vector_add\", grid: 4, block: 64,
            arguments: [
                Buffer(\"b\"), Buffer(\"b\"), BufferAt(buffer: \"a\", offset_bytes: OFFSET), U32(192),
            ],
        ),
        Launch(
            kernel: \"vector_add\", grid: 4, block: 64,
            arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(256)],
        ),
        CopyToHost(\"sum\"),
    ],
)";

const TINY: &str = "systems/tiny.ron";

const CONTROL: &str = "                \"cu.cache_control <-> l1.control\": (latency: 1),\n";

/// Returns the bench, where the second launch writes to `a` at this offset in bytes.
fn bench(offset: u32) -> Bench {
    let bench = Bench::new();
    let workload = WORKLOAD.replace("OFFSET", &offset.to_string());
    bench.write("workloads/again.ron", &workload);
    bench.write(
        "test.ron",
        "Scenario(system: \"systems/tiny.ron\", workload: \"workloads/again.ron\")",
    );
    bench
}

/// Runs with checkers.
fn checked(bench: &Bench) -> Ended {
    bench.warpweave(&["run", "test.ron", "--quiet", "--check"])
}

/// Checks that the run is refused with both places, and that it ends well without checkers.
fn is_stale(bench: &Bench) {
    let ended = checked(bench);
    assert_eq!(ended.code, 1, "{}{}", ended.err, ended.out);
    for words in [
        ".cu.memory.request: stale data at 0x",
        "read by instruction ",
        "(`ld.global.f32`, line ",
        "of kernel 2 (`vector_add`), work-group ",
        "it was written by instruction ",
        "(`st.global.f32`, line ",
        "of kernel 1 (`vector_add`), work-group ",
    ] {
        assert!(ended.err.contains(words), "{words}: {}", ended.err);
    }
    let plain = bench.run(&[]);
    assert_eq!(plain.code, 0, "{}", plain.err);
}

/// Checks that checkers find nothing and change nothing.
fn is_fresh(bench: &Bench) {
    let ended = checked(bench);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_eq!(bench.run(&[]).out, ended.out);
}

#[test]
fn a_line_that_outlives_the_write_of_another_unit_is_reported_with_both_places() {
    is_fresh(&bench(256));
    is_stale(&bench(256).edit(TINY, CONTROL, ""));
}

#[test]
fn a_stale_line_below_the_first_level_is_reported() {
    let tiny = |wires: &str| {
        let cache =
            r#""mid": Cache(preset: "fermi_l1", level: Named("Middle")), "port": ClusterPort("#;
        bench(256)
            .edit(TINY, r#""port": ClusterPort("#, cache)
            .edit(TINY, r#""l1.down <-> port.up[0]": (latency: 1),"#, wires)
    };
    let wires = r#""l1.down <-> mid.up": (latency: 1), "mid.down <-> port.up[0]": (latency: 1),"#;
    is_stale(&tiny(wires));
}

#[test]
fn a_unit_that_reads_its_own_writes_is_fresh_without_invalidation() {
    // The same work-groups write what they read, and writes drop the lines of their own unit.
    is_fresh(&bench(0).edit(TINY, CONTROL, ""));
}
