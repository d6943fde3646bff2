//! Checks that invalid input is rejected with its position, the expected form, and the nearest
//! valid name.
//!
//! Each case breaks one thing in a working scenario. The snapshot holds the exit code and all of
//! standard error.

mod composition;
mod experiment;
mod taps;

use std::fs;

use crate::harness::Bench;

fn shown(name: &str, refusal: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, refusal));
}

/// Runs the broken scenario and compares its error with the snapshot.
fn refused(name: &str, bench: &Bench, sets: &[&str]) {
    let ended = bench.run(sets);
    assert!(
        matches!(ended.code, 1 | 2),
        "exit {}\n{}",
        ended.code,
        ended.err
    );
    shown(name, &ended.refusal());
}

#[test]
fn unknown_field() {
    let bench = Bench::new().edit("systems/tiny.ron", "mshr_merges: 4", "mshr_merge: 4");
    refused("unknown_field", &bench, &[]);
}

#[test]
fn wrong_type() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        "wavefront_slots: 32",
        r#"wavefront_slots: "many""#,
    );
    refused("wrong_type", &bench, &[]);
}

#[test]
fn wrong_unit() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""700 MHz""#, r#""1.4 GiB""#);
    refused("wrong_unit", &bench, &[]);
}

#[test]
fn wrong_variant() {
    let bench = Bench::new().edit("systems/tiny.ron", "scheduler: Lrr", "scheduler: Lru");
    refused("wrong_variant", &bench, &[]);
}

#[test]
fn missing_field() {
    let bench = Bench::new().edit("systems/tiny.ron", "index: \"=number\",\n", "");
    refused("missing_field", &bench, &[]);
}

#[test]
fn unconnected_port() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#"                "cu.memory <-> l1.up": (latency: 1),
"#,
        "",
    );
    refused("unconnected_port", &bench, &[]);
}

#[test]
fn scheduler_without_its_wire() {
    let bench = Bench::new().edit("systems/tiny.ron", "scheduler: Lrr", "scheduler: Ccws");
    refused("scheduler_without_its_wire", &bench, &[]);
}

#[test]
fn port_connected_twice() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#""cu.cache_control <-> l1.control": (latency: 1),"#,
        r#""cu.cache_control <-> l1.control": (latency: 1),
                "cu.memory <-> port.up[0]": (latency: 1),"#,
    );
    refused("port_connected_twice", &bench, &[]);
}

#[test]
fn protocol_mismatch() {
    let bench = Bench::new()
        .edit(
            "systems/tiny.ron",
            r#""cu.cache_control <-> l1.control""#,
            r#""cu.cache_control <-> l1.up""#,
        )
        .edit(
            "systems/tiny.ron",
            r#""cu.memory <-> l1.up""#,
            r#""cu.memory <-> l1.control""#,
        );
    refused("protocol_mismatch", &bench, &[]);
}

#[test]
fn missing_system_file() {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems/tinny.ron");
    refused("missing_system_file", &bench, &[]);
}

#[test]
fn missing_scenario() {
    let ended = Bench::new().warpweave(&["run", "tst.ron"]);
    shown("missing_scenario", &ended.refusal());
}

#[test]
fn folder_as_file() {
    let bench = Bench::new().edit("test.ron", "systems/tiny.ron", "systems");
    refused("folder_as_file", &bench, &[]);
}

#[test]
fn ptx_syntax() {
    let bench = Bench::new().edit(
        "workloads/cuda/vector_add.ptx",
        "setp.ge.u32 \t%p1, %r5, %r1;",
        "setp.ge.u32 \t%p1, %r5 %r1;",
    );
    refused("ptx_syntax", &bench, &[]);
}

#[test]
fn unknown_opcode() {
    let bench = Bench::new().edit("workloads/cuda/vector_add.ptx", "add.rn.f32", "addd.rn.f32");
    refused("unknown_opcode", &bench, &[]);
}

#[test]
fn undeclared_register() {
    let bench = Bench::new().edit(
        "workloads/cuda/vector_add.ptx",
        "%f3, %f1, %f2",
        "%f3, %f1, %f9",
    );
    refused("undeclared_register", &bench, &[]);
}

#[test]
fn missing_module_file() {
    let bench = Bench::new().edit(
        "workloads/vector_add.ron",
        "cuda/vector_add.ptx",
        "cuda/vector_ad.ptx",
    );
    refused("missing_module_file", &bench, &[]);
}

#[test]
fn mismatch_with_expectation() {
    let bench = Bench::new().edit(
        "workloads/vector_add.ron",
        r#"VectorAdd(a: "a", b: "b")"#,
        r#"VectorAdd(a: "a", b: "a")"#,
    );
    refused("mismatch_with_expectation", &bench, &[]);
}

#[test]
fn zero_ways() {
    let bench = Bench::new();
    refused("zero_ways", &bench, &["unit[*].l1.ways=0"]);
}

#[test]
fn zero_line_bytes() {
    let bench = Bench::new();
    refused("zero_line_bytes", &bench, &["unit[*].l1.line_bytes=0"]);
}

#[test]
fn negative_count() {
    let bench = Bench::new();
    refused("negative_count", &bench, &["unit[*].l1.ways=-2"]);
}

#[test]
fn size_not_a_power_of_two() {
    let bench = Bench::new();
    refused(
        "size_not_a_power_of_two",
        &bench,
        &["unit[*].l1.line_bytes=100"],
    );
}

#[test]
fn huge_cache() {
    let bench = Bench::new();
    refused(
        "huge_cache",
        &bench,
        &["unit[*].l1.size_bytes=9000000000000000000"],
    );
}

#[test]
fn huge_repeat() {
    let bench = Bench::new();
    refused("huge_repeat", &bench, &["params.units=1000000000000"]);
}

#[test]
fn huge_buffer() {
    let bench = Bench::new();
    refused("huge_buffer", &bench, &["workload.n=1000000000000"]);
}

#[test]
fn recursive_module() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#""port": ClusterPort("#,
        r#""inner": Unit(),
                "port": ClusterPort("#,
    );
    refused("recursive_module", &bench, &[]);
}

#[test]
fn impossible_clock() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""700 MHz""#, r#""0 Hz""#);
    refused("impossible_clock", &bench, &[]);
}

#[test]
fn incommensurable_clocks() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""700 MHz""#, r#""700.000000001 MHz""#);
    refused("incommensurable_clocks", &bench, &[]);
}

#[test]
fn truncated_text_graph() {
    let bench = graph_bench("g.mtx");
    bench.write(
        "g.mtx",
        "%%MatrixMarket matrix coordinate pattern general\n4 4 3\n1 2\n2 3\n",
    );
    refused("truncated_text_graph", &bench, &[]);
}

#[test]
fn truncated_gzip_graph() {
    let bench = graph_bench("g.mtx.gz");
    let whole = fs::read(crate::harness::scenarios().join("data/polblogs.mtx.gz")).unwrap();
    fs::write(bench.path("g.mtx.gz"), &whole[..whole.len() / 2]).unwrap();
    refused("truncated_gzip_graph", &bench, &[]);
}

#[test]
fn duplicate_key() {
    let bench = Bench::new().edit(
        "test.ron",
        r#""workload.block": 64"#,
        r#""workload.block": 64, "workload.block": 32"#,
    );
    refused("duplicate_key", &bench, &[]);
}

#[test]
fn duplicate_field() {
    let bench = Bench::new().edit(
        "test.ron",
        r#"system: "systems/tiny.ron","#,
        r#"system: "systems/tiny.ron",
    system: "systems/tiny.ron","#,
    );
    refused("duplicate_field", &bench, &[]);
}

#[test]
fn set_twice() {
    let bench = Bench::new();
    refused(
        "set_twice",
        &bench,
        &["unit[0].l1.ways=4", "unit[0].l1.ways=2"],
    );
}

#[test]
fn set_matching_nothing() {
    let bench = Bench::new();
    refused("set_matching_nothing", &bench, &["unit[*].l1x.ways=4"]);
}

#[test]
fn set_unknown_field() {
    let bench = Bench::new();
    refused("set_unknown_field", &bench, &["unit[*].l1.way=4"]);
}

#[test]
fn set_unknown_parameter() {
    let bench = Bench::new();
    refused("set_unknown_parameter", &bench, &["params.unit=4"]);
}

#[test]
fn set_unknown_workload_parameter() {
    let bench = Bench::new();
    refused(
        "set_unknown_workload_parameter",
        &bench,
        &["workload.blok=4"],
    );
}

#[test]
fn set_malformed() {
    let bench = Bench::new();
    refused("set_malformed", &bench, &["unit[*].l1.ways"]);
}

#[test]
fn set_malformed_value() {
    let bench = Bench::new();
    refused("set_malformed_value", &bench, &["unit[*].l1.ways=(4"]);
}

#[test]
fn unknown_kind() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""l1": Cache("#, r#""l1": Cach("#);
    refused("unknown_kind", &bench, &[]);
}

#[test]
fn unknown_clock() {
    let bench = Bench::new().edit("systems/tiny.ron", r#"clock: "dram""#, r#"clock: "drm""#);
    refused("unknown_clock", &bench, &[]);
}

#[test]
fn wildcard_count_mismatch() {
    let bench = Bench::new().edit("systems/tiny.ron", r#"up_ports: "=units""#, "up_ports: 5");
    refused("wildcard_count_mismatch", &bench, &[]);
}

#[test]
fn negative_index() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#""unit[u]": Unit"#,
        r#""unit[u - 1]": Unit"#,
    );
    refused("negative_index", &bench, &[]);
}

#[test]
fn index_over_the_end() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        "crossbar.down[s * channels + c]",
        "crossbar.down[s * channels + c + 1]",
    );
    refused("index_over_the_end", &bench, &[]);
}

#[test]
fn zero_latency_wire() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#""cu.memory <-> l1.up": (latency: 1)"#,
        r#""cu.memory <-> l1.up": (latency: 0)"#,
    );
    refused("zero_latency_wire", &bench, &[]);
}

#[test]
fn misspelt_port() {
    let bench = Bench::new().edit(
        "systems/tiny.ron",
        r#""cu.memory <-> l1.up""#,
        r#""cu.memry <-> l1.up""#,
    );
    refused("misspelt_port", &bench, &[]);
}

#[test]
fn work_group_too_large() {
    let bench = Bench::new();
    refused("work_group_too_large", &bench, &["workload.block=2048"]);
}

#[test]
fn work_group_that_never_fits() {
    let bench = Bench::new();
    refused(
        "work_group_that_never_fits",
        &bench,
        &["workload.block=1024", "unit[*].cu.wavefront_slots=8"],
    );
}

#[test]
fn unknown_kernel() {
    let bench = Bench::new().edit(
        "workloads/vector_add.ron",
        r#"kernel: "vector_add""#,
        r#"kernel: "vector_ad""#,
    );
    refused("unknown_kernel", &bench, &[]);
}

#[test]
fn wrong_argument_count() {
    let bench = Bench::new().edit("workloads/vector_add.ron", r#", U32("=n")"#, "");
    refused("wrong_argument_count", &bench, &[]);
}

#[test]
fn wrong_argument_type() {
    let bench = Bench::new().edit("workloads/vector_add.ron", r#"U32("=n")"#, r#"U64("=n")"#);
    refused("wrong_argument_type", &bench, &[]);
}

#[test]
fn unknown_buffer() {
    let bench = Bench::new().edit(
        "workloads/vector_add.ron",
        r#"CopyToHost("sum")"#,
        r#"CopyToHost("sun")"#,
    );
    refused("unknown_buffer", &bench, &[]);
}

#[test]
fn unclosed_bracket() {
    let bench = Bench::new().edit("test.ron", " },\n)", " },\n");
    refused("unclosed_bracket", &bench, &[]);
}

#[test]
fn not_a_scenario() {
    let bench = Bench::new().edit("test.ron", "Scenario(", "System(");
    refused("not_a_scenario", &bench, &[]);
}

#[test]
fn division_by_zero() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""=2 * 1024""#, r#""=2 / 0""#);
    refused("division_by_zero", &bench, &[]);
}

#[test]
fn unknown_name_in_expression() {
    let bench = Bench::new().edit("systems/tiny.ron", r#""=per_channel""#, r#""=per_chanel""#);
    refused("unknown_name_in_expression", &bench, &[]);
}

#[test]
fn empty_file() {
    let bench = Bench::new();
    bench.write("test.ron", "");
    refused("empty_file", &bench, &[]);
}

#[test]
fn unknown_component_to_describe() {
    shown(
        "unknown_component_to_describe",
        &Bench::new().warpweave(&["describe", "Cach"]).refusal(),
    );
}

#[test]
fn unknown_policy_to_describe() {
    let bench = Bench::new();
    let refused = |name: &str| bench.warpweave(&["describe", name]).refusal();
    let refusals = [
        refused("OldestFrist"),
        refused("arbiter/Islp"),
        refused("arbitr/Islip"),
    ];
    shown("unknown_policy_to_describe", &refusals.concat());
}

#[test]
fn results_folder_already_used() {
    let bench = Bench::new();
    assert_eq!(
        bench
            .warpweave(&["run", "test.ron", "--quiet", "--out", "r"])
            .code,
        0
    );
    let again = bench.warpweave(&["run", "test.ron", "--quiet", "--out", "r"]);
    shown("results_folder_already_used", &again.refusal());
}

#[test]
fn trace_file_that_is_none() {
    shown(
        "trace_file_that_is_none",
        &Bench::new()
            .warpweave(&["trace", "info", "test.ron"])
            .refusal(),
    );
}

/// Sets up a breadth-first search on the graph file `name`.
fn graph_bench(name: &str) -> Bench {
    let graph = format!("\"workload.graph\": File(path: \"../{name}\", format: MatrixMarket)");
    Bench::new().edit("test.ron", "vector_add", "bfs").edit(
        "test.ron",
        "\"workload.n\": 256, \"workload.block\": 64",
        &graph,
    )
}
