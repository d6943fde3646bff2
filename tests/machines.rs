//! Checks that inconsistent machines are rejected before the run, naming both positions.

use insta::assert_snapshot;

use crate::harness::Bench;

/// Returns the output of `check` on the tiny machine with these fields set.
fn checked(bench: &Bench, sets: &[&str]) -> String {
    let mut arguments = vec!["check", "test.ron"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    bench.warpweave(&arguments).refusal()
}

#[test]
fn two_units_with_one_index_are_refused_with_both_places() {
    let bench = Bench::new().edit("systems/tiny.ron", r#"index: "=number","#, "index: 1,");
    assert_snapshot!(checked(&bench, &[]));
    let bench = Bench::new();
    assert_snapshot!(checked(&bench, &["unit[0].cu.index=1"]));
}

#[test]
fn a_unit_unlike_what_the_scheduler_is_told_is_refused_with_both_places() {
    let bench = Bench::new();
    let told = "scheduler.unit=(work_group_slots: 8)";
    assert_snapshot!(checked(&bench, &[told]));
    assert_snapshot!(checked(&bench, &["unit[1].cu.local_memory.bytes=8192"]));
}

#[test]
fn lines_of_different_lengths_are_refused_with_both_places() {
    let bench = Bench::new();
    assert_snapshot!(checked(&bench, &["unit[1].cu.load_store.line_bytes=64"]));
    let cut = [
        "unit[1].l1.below_line_bytes=32",
        "unit[1].l1.miss_queue_entries=8",
    ];
    assert_snapshot!(checked(&bench, &cut));
    assert_snapshot!(checked(&bench, &["crossbar.interleave.granule_bytes=64"]));
}

/// Creates the tiny machine with a constant cache in each unit. The cluster gets `up_ports`, and
/// these wires are added to that from unit to L1.
fn with_constant_cache(up_ports: u32, wires: &str) -> Bench {
    let tiny = "systems/tiny.ron";
    let cache =
        r#""l1c": Cache(preset: "fermi_l1", level: Named("Constant")), "port": ClusterPort("#;
    Bench::new()
        .edit(tiny, r#""port": ClusterPort("#, cache)
        .edit(tiny, "up_ports: 1", &format!("up_ports: {up_ports}"))
        .edit(tiny, r#""l1.down <-> port.up[0]": (latency: 1),"#, wires)
}

const BESIDE: &str = r#""l1.down <-> port.up[0]": (latency: 1), "l1c.down <-> port.up[1]": (latency: 1),
                "cu.constants <-> l1c.up": (latency: 1),"#;

const CONSTANTS: &str = "unit[*].cu.constants=(arguments: 70368744177664, line_bytes: 128, queue_depth: 4, \
                         requests_per_cycle: 1, outstanding_max: 64, writeback_latency: 1)";

#[test]
fn a_path_without_its_wire_and_a_wire_without_its_path_are_refused() {
    let textures = "unit[0].cu.textures=(loads: Textures, line_bytes: 128, queue_depth: 4, \
                    requests_per_cycle: 1, outstanding_max: 64, writeback_latency: 1)";
    assert_snapshot!(checked(&Bench::new(), &[textures]));
    assert_snapshot!(checked(&with_constant_cache(2, BESIDE), &[]));
    let control = r#""l1.down <-> l1c.up": (latency: 1), "l1c.down <-> port.up[0]": (latency: 1),
                "cu.constants_control <-> l1c.control": (latency: 1),"#;
    assert_snapshot!(checked(&with_constant_cache(1, control), &[]));
}

#[test]
fn a_path_that_does_not_fit_its_cache_or_the_address_space_is_refused() {
    let bench = with_constant_cache(2, BESIDE);
    let set = |field: &str| format!("unit[0].cu.constants.{field}");
    assert_snapshot!(checked(&bench, &[CONSTANTS, &set("line_bytes=64")]));
    for base in ["1099511627776", "268435456"] {
        let base = set(&format!("arguments={base}"));
        let refusal = checked(&bench, &[CONSTANTS, &base]);
        assert_snapshot!(refusal);
        assert_eq!(bench.run(&[CONSTANTS, &base]).refusal(), refusal);
    }
}

#[test]
fn slices_that_the_machine_has_not_are_refused_with_both_places() {
    let bench = Bench::new();
    assert_snapshot!(checked(&bench, &["partition[1].slices=4"]));
    assert_snapshot!(checked(&bench, &["partition[0].dram.interleave.slices=1"]));
    let bench = Bench::new()
        .edit(
            "systems/tiny.ron",
            r#""slices_per_channel": 1"#,
            r#""slices_per_channel": 2"#,
        )
        .edit(
            "systems/tiny.ron",
            "crossbar.down[s * channels + c] <->",
            "crossbar.down[c * slices_per_channel + s] <->",
        );
    assert_snapshot!(checked(&bench, &[]));
}

#[test]
fn private_memory_that_is_not_there_or_over_global_memory_is_refused() {
    let bench = Bench::new();
    let none = "unit[*].cu.private_memory.bytes_per_thread=0";
    assert_snapshot!(checked(&bench, &[none]));
    let over = "unit[*].cu.private_memory.base=0x10000000";
    assert_snapshot!(checked(&bench, &[over]));
}

#[test]
fn a_program_that_needs_more_private_memory_is_refused_before_it_is_timed() {
    let bench = Bench::new().edit(
        "workloads/cuda/vector_add.ptx",
        "{\n",
        "{\n\t.local .align 4 .b8 \t__local_depot0[8192];\n",
    );
    let refusal = checked(&bench, &[]);
    assert_snapshot!(refusal);
    let run = bench.run(&[]);
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
    assert_eq!(run.refusal(), refusal);
    let enough = "unit[*].cu.private_memory.bytes_per_thread=8192";
    let run = bench.run(&[enough]);
    assert_eq!(run.code, 0, "{}", run.err);
}

const CONTROL: &str = r#"                "cu.cache_control <-> l1.control": (latency: 1),
"#;

#[test]
fn a_control_port_without_wire_is_missed_unless_it_is_meant() {
    let bench = Bench::new().edit("systems/tiny.ron", CONTROL, "");
    assert_snapshot!(checked(&bench, &[]));
    let ports = r#""l1.down <-> port.up[0]": (latency: 1),
            },
            unwired: ["cu.cache_control", "l1.control"],"#;
    let wires = r#""l1.down <-> port.up[0]": (latency: 1),
            },"#;
    let bench = bench.edit("systems/tiny.ron", wires, ports);
    assert_eq!(checked(&bench, &[]), "exit 0\n");
    // What is meant is part of the system as built.
    let resolved = bench.warpweave(&["check", "test.ron", "--resolved"]).out;
    bench.write("systems/tiny.ron", &resolved);
    assert_eq!(checked(&bench, &[]), "exit 0\n");
}

/// Returns the tiny machine with a second cache below the first level of each unit.
fn with_a_cache_between(wires: &str) -> Bench {
    let tiny = "systems/tiny.ron";
    let cache = r#""mid": Cache(preset: "fermi_l1", level: Named("Middle")), "port": ClusterPort("#;
    Bench::new()
        .edit(tiny, r#""port": ClusterPort("#, cache)
        .edit(tiny, r#""l1.down <-> port.up[0]": (latency: 1),"#, wires)
}

#[test]
fn a_cache_below_the_first_level_that_nobody_invalidates_is_missed_unless_it_is_meant() {
    let wires = r#""l1.down <-> mid.up": (latency: 1), "mid.down <-> port.up[0]": (latency: 1),"#;
    let checked_with = |more: &str| checked(&with_a_cache_between(&format!("{wires}{more}")), &[]);
    let warning = checked_with("");
    assert!(warning.starts_with("exit 0"), "{warning}");
    for words in [
        "port `unit[0].mid.control` (Cache) is not connected",
        "later kernels may hit stale lines (1 more like it)",
        "`unwired: [\"mid.control\"]`",
        "systems/tiny.ron:",
    ] {
        assert!(warning.contains(words), "{words}: {warning}");
    }
    assert_eq!(
        checked_with(r#"}, unwired: ["mid.control"], for: {"#),
        "exit 0\n"
    );
    // One unit alone writes nothing that its own caches do not see.
    let alone = with_a_cache_between(wires);
    assert_eq!(checked(&alone, &["params.units=1"]), "exit 0\n");
}

#[test]
fn only_optional_ports_may_be_meant_to_have_no_wire() {
    for (port, words) in [
        ("l1.contrl", "`l1.contrl` does not name a port"),
        ("cu.memory", "`unit[0].cu.memory.request` must be connected"),
    ] {
        let field =
            format!("unwired: [\"{port}\"],\n            wires: {{\n                \"cu.mem");
        let wires = "wires: {\n                \"cu.mem";
        let bench = Bench::new().edit("systems/tiny.ron", wires, &field);
        let refusal = checked(&bench, &[]);
        assert!(refusal.starts_with("exit 2"), "{refusal}");
        assert!(refusal.contains(words), "{refusal}");
        assert!(refusal.contains("systems/tiny.ron:"), "{refusal}");
    }
}

/// Changes one of two numbers that must agree, in a shipped machine.
#[test]
fn no_number_that_stands_twice_can_be_changed_once() {
    let gtx480 = [
        "unit[3].cu.index=2",
        "unit[3].cu.index=77",
        "unit[3].number=4",
        "unit[3].cu.wavefront_slots=32",
        "unit[3].cu.work_group_slots=4",
        "unit[3].cu.registers=16384",
        "unit[3].cu.register_partitions=2",
        "unit[3].cu.register_granularity=128",
        "unit[3].cu.local_memory.bytes=16384",
        "unit[3].cu.private_memory.bytes_per_thread=1024",
        "unit[*].cu.private_memory.base=268435456",
        "unit[3].cu.load_store.line_bytes=64",
        "unit[3].l1.line_bytes=64",
        "unit[3].l1.below_line_bytes=32",
        "unit[3].port.up_ports=2",
        "scheduler.clusters=5",
        "scheduler.units_per_cluster=2",
        "scheduler.unit=(registers: 65536)",
        "crossbar.up_ports=14",
        "crossbar.down_ports=11",
        "crossbar.interleave.slices=11",
        "crossbar.interleave.granule_bytes=128",
        "partition[0].slices=6",
        "partition[0].channels=12",
        "partition[0].per_channel=1",
        "partition[0].l2[0].line_bytes=64",
        "partition[0].l2[0].interleave.slices=6",
        "partition[0].l2[0].interleave.granule_bytes=512",
        "partition[0].dram.interleave.slices=12",
        "partition[0].dram.interleave.slices=3",
        "partition[0].dram.interleave.granule_bytes=128",
        "partition[0].dram.ports=1",
        "partition[0].dram.ports=3",
    ];
    let clustered60 = [
        "cluster[0].number=1",
        "cluster[0].units=4",
        "cluster[0].port.up_ports=2",
        "scheduler.clusters=5",
        "scheduler.units_per_cluster=12",
        "partition[0].partitions=4",
        "partition[0].l2.interleave.slices=4",
        "partition[0].dram.interleave.slices=4",
    ];
    let files = [
        ("quickstart", &gtx480[..]),
        ("matrix_multiply_60_icc", &clustered60[..]),
    ];
    for (name, sets) in files {
        let scenario = format!("scenarios/{name}.ron");
        let fine = crate::harness::warpweave(&["check", &scenario]);
        assert_eq!((fine.code, fine.err.as_str()), (0, ""));
        for set in sets {
            let ended = crate::harness::warpweave(&["check", &scenario, "--set", set]);
            assert_eq!(ended.code, 2, "{scenario} with {set}: {}", ended.err);
            assert!(
                ended.err.contains("-->"),
                "{scenario} with {set}: {}",
                ended.err
            );
        }
    }
}

/// Checks that units grouped into other clusters than those sharing a network port are rejected.
#[test]
fn clusters_of_the_scheduler_are_those_of_the_network() {
    for (clusters, units) in [(5, 12), (60, 1)] {
        let sets = [
            format!("scheduler.clusters={clusters}"),
            format!("scheduler.units_per_cluster={units}"),
        ];
        let scenario = "scenarios/matrix_multiply_60.ron";
        let arguments = ["check", scenario, "--set", &sets[0], "--set", &sets[1]];
        let refusal = crate::harness::warpweave(&arguments).refusal();
        assert!(refusal.starts_with("exit 2"), "{refusal}");
        assert!(refusal.contains("of `crossbar`"), "{refusal}");
    }
}
