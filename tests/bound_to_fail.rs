//! Checks that `check` refuses what the run is bound to refuse, with both places, and nothing else.

use insta::assert_snapshot;

use crate::harness::Bench;

/// Checks that `check` and `run` refuse the machine alike, and returns what they say.
fn refused(bench: &Bench, sets: &[&str]) -> String {
    let mut arguments = vec!["check", "test.ron"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    let refusal = bench.warpweave(&arguments).refusal();
    assert!(refusal.starts_with("exit 2"), "{refusal}");
    assert_eq!(bench.run(sets).refusal(), refusal);
    refusal
}

/// Checks that neither `check` nor `run` refuses the machine.
fn accepted(bench: &Bench, sets: &[&str]) {
    let mut arguments = vec!["check", "test.ron"];
    for set in sets {
        arguments.extend(["--set", set]);
    }
    for ended in [bench.warpweave(&arguments), bench.run(sets)] {
        assert_eq!(ended.code, 0, "{}", ended.err);
    }
}

const LAUNCH: &str = "Launch(\n            kernel: \"vector_add\",";

/// Returns the bench with these fields in front of the launch's others.
fn launched_with(fields: &str) -> Bench {
    let launch = format!("{LAUNCH} {fields}");
    Bench::new().edit("workloads/vector_add.ron", LAUNCH, &launch)
}

#[test]
fn a_unit_smaller_than_one_work_group_is_refused_with_both_places() {
    let slots = "unit[*].cu.wavefront_slots=1";
    assert_snapshot!(refused(&Bench::new(), &[slots]));
    let registers = launched_with("registers_per_thread: 255,");
    let few = "unit[*].cu.registers=8192";
    assert_snapshot!(refused(&registers, &[few]));
    accepted(&registers, &["unit[*].cu.registers=16384"]);
    let local = launched_with("dynamic_local_bytes: \"=8 * 1024\",");
    assert_snapshot!(refused(&local, &["unit[*].cu.local_memory.bytes=4096"]));
    accepted(&local, &["unit[*].cu.local_memory.bytes=8192"]);
    let stated = [slots, "scheduler.unit=(wavefront_slots: 1)"];
    assert_snapshot!(refused(&Bench::new(), &stated));
}

#[test]
fn a_cooperative_launch_that_never_fits_at_once_is_refused() {
    let bench = launched_with("cooperative: true,");
    assert_snapshot!(refused(&bench, &["unit[*].cu.work_group_slots=1"]));
    accepted(&bench, &["unit[*].cu.work_group_slots=2"]);
}

#[test]
fn a_launch_that_the_placement_cannot_place_is_refused() {
    let sets = |slots: u32| format!("unit[*].cu.wavefront_slots={slots}");
    let pairs = "scheduler.policy=DistributedBlock";
    assert_snapshot!(refused(&Bench::new(), &[pairs, &sets(3)]));
    accepted(&Bench::new(), &[pairs, &sets(4)]);
}

/// A unit of one wavefront slot, which a launch of `block` threads does not fit.
const ONE_SLOT: &str = "unit[*].cu.wavefront_slots=1";

#[test]
fn launches_that_are_not_certain_to_run_are_left_to_the_run() {
    let never = Bench::new().edit(
        "workloads/vector_add.ron",
        "        CopyToHost(\"sum\"),",
        "        Repeat(times: 0, body: [Launch(kernel: \"vector_add\", grid: 1, block: 256, \
         arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(1)])]),
        CopyToHost(\"sum\"),",
    );
    accepted(&never, &[ONE_SLOT, "workload.block=32"]);
    let launch = "Launch(kernel: \"vector_add\", grid: 1, block: 256, \
         arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(1)])";
    let branch = |condition: &str| {
        Bench::new().edit(
            "workloads/vector_add.ron",
            "        CopyToHost(\"sum\"),",
            &format!(
                "        If(condition: {condition}, body: [], otherwise: [{launch}]),
        CopyToHost(\"sum\"),"
            ),
        )
    };
    accepted(&branch("true"), &[ONE_SLOT, "workload.block=32"]);
    let refusal = refused(&branch("false"), &[ONE_SLOT, "workload.block=32"]);
    assert!(refusal.contains("vector_add.ron:20:"), "{refusal}");
    let once = Bench::new().edit(
        "workloads/vector_add.ron",
        "        CopyToHost(\"sum\"),",
        "        Repeat(times: 1, counter: \"round\", body: [Launch(kernel: \"vector_add\", grid: 1, \
         block: \"=round + 64\", \
         arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(1)])]),
        CopyToHost(\"sum\"),",
    );
    let refusal = refused(&once, &[ONE_SLOT, "workload.block=32"]);
    assert!(refusal.contains("vector_add.ron:20:"), "{refusal}");
}

#[test]
fn a_launch_outside_the_region_that_is_skipped_needs_no_room() {
    let two = Bench::new()
        .edit(
            "workloads/vector_add.ron",
            "        CopyToHost(\"sum\"),",
            "        Launch(kernel: \"vector_add\", grid: 1, block: 32, \
             arguments: [Buffer(\"a\"), Buffer(\"b\"), Buffer(\"sum\"), U32(1)]),
        CopyToHost(\"sum\"),",
        )
        .edit(
            "test.ron",
            "overrides:",
            "region: (launches: 1), overrides:",
        );
    accepted(&two, &[ONE_SLOT]);
    let named = two.edit("test.ron", "launches: 1", "kernels: \"vector_*\"");
    refused(&named, &[ONE_SLOT]);
}

const STORE: &str = "st.global.f32 \t[%rd1], %f3;";

/// Returns the bench whose kernel has this instruction before its store.
fn with_instruction(instruction: &str) -> Bench {
    let both = format!("{instruction}\n\t{STORE}");
    Bench::new().edit("workloads/cuda/vector_add.ptx", STORE, &both)
}

const NOBODY: &str = "partition[*].l2[*].atomics=Forward";

#[test]
fn atomics_that_nothing_executes_are_refused_with_both_places() {
    let bench = with_instruction("atom.global.add.f32 \t%f4, [%rd1], %f3;").edit(
        "workloads/cuda/vector_add.ptx",
        "%f<4>",
        "%f<5>",
    );
    accepted(&bench, &[]);
    let check = bench.warpweave(&["check", "test.ron", "--set", NOBODY]);
    assert_snapshot!(check.refusal());
    let run = bench.run(&[NOBODY]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("an atomic on line"), "{}", run.err);
    // Without atomics the same machine is fine.
    accepted(&Bench::new(), &[NOBODY]);
    // As long as a cache on the way executes them, it does not matter which.
    let first_level = "unit[*].l1.atomics=Execute(latency_cycles: 4)";
    let check = ["check", "test.ron", "--set", NOBODY, "--set", first_level];
    let check = bench.warpweave(&check);
    assert_eq!(check.code, 0, "{}", check.err);
}

#[test]
fn atomics_on_local_memory_need_nothing_below_the_unit() {
    let text = ".shared .align 4 .b8 box[4];\n\tatom.shared.add.u32 \t%r1, [box], 1;";
    accepted(&with_instruction(text), &[NOBODY]);
}

#[test]
fn a_trace_that_does_not_fit_is_refused_before_it_runs() {
    let bench = Bench::new();
    let recorded = bench.warpweave(&["trace", "record", "test.ron", "it.trace"]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let scenario = "Scenario(system: \"systems/tiny.ron\", trace: \"it.trace\")";
    bench.write("test.ron", scenario);
    accepted(&bench, &[]);
    assert_snapshot!(refused(&bench, &[ONE_SLOT]));
}
