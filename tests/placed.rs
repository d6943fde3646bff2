//! Checks of placed launches in whole systems: agents ask where they run and share the tasks of a
//! plain kernel (CCL-M7).

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use insta::assert_snapshot;
use serde_json::Value;
use warpweave_framework::{EngineOptions, Order};
use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};

use crate::harness::{Bench, Ended};

/// Body of task `%r10`: adds 32 elements.
const TASK: &str = "
    mov.u32 %r11, %tid.x;
    mad.lo.u32 %r12, %r10, 32, %r11;
    mul.wide.u32 %rd4, %r12, 4;
    add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4; add.u64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd7], %f3;
";

fn entry(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c,
    .param .u64 counters, .param .u32 tasks, .param .u32 active)
{{
    .reg .b32 %r<32>; .reg .b64 %rd<12>; .reg .f32 %f<4>; .reg .pred %p<4>;
    .shared .align 4 .b32 number;
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
    ld.param.u32 %r20, [tasks]; ld.param.u32 %r21, [active];
{body}
    ret;
}}
"
    )
}

/// Lets agent `%r3` execute its tasks of the cluster of its unit.
fn agents(name: &str, number: &str) -> String {
    entry(
        name,
        &format!(
            "    mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; mov.u32 %r11, %tid.x;
{number}
    div.u32 %r4, %r20, %r2; rem.u32 %r5, %r20, %r2; add.u32 %r6, %r4, 1;
    mul.lo.u32 %r7, %r6, %r1;
    sub.s32 %r8, %r5, %r1; min.s32 %r8, %r8, 0; add.s32 %r7, %r7, %r8;
    setp.lt.u32 %p0, %r1, %r5; selp.u32 %r9, %r6, %r4, %p0; add.u32 %r9, %r9, %r7;
    add.u32 %r10, %r7, %r3;
    setp.ge.u32 %p1, %r3, %r21;
    @%p1 bra done;
next:
    setp.ge.u32 %p2, %r10, %r9;
    @%p2 bra done;
{TASK}
    add.u32 %r10, %r10, %r21;
    bra next;
done:"
        ),
    )
}

const COUNTED: &str =
    "    ld.param.u64 %rd8, [counters]; mul.wide.u32 %rd9, %r1, 4; add.u64 %rd8, %rd8, %rd9;
    setp.ne.u32 %p3, %r11, 0;
    @%p3 bra counted;
    atom.global.add.u32 %r3, [%rd8], 1;
    st.shared.u32 [number], %r3;
counted:
    bar.sync 0;
    ld.shared.u32 %r3, [number];";

/// Returns a bench whose workload launches `kernel` twice with these fields.
fn bench(kernel: &str, fields: &str) -> Bench {
    let bench = Bench::new();
    let module = [
        ".version 7.0\n.target sm_70\n.address_size 64\n".to_owned(),
        entry("add", &format!("    mov.u32 %r10, %ctaid.x;{TASK}")),
        agents("add_agents_rows_slot", "    mov.u32 %r3, %warpid;"),
        agents("add_agents_rows_arrival", COUNTED),
    ];
    bench.write("workloads/add.ptx", &module.concat());
    let launch = format!(
        r#"        CopyToDevice("counters"),
        Launch(
            kernel: "{kernel}", {fields}, block: 32,
            arguments: [Buffer("a"), Buffer("b"), Buffer("c"), Buffer("counters"), U32("=tasks"), U32("=active")],
        ),
"#
    );
    let workload = format!(
        r#"Workload(
    module: "add.ptx",
    params: {{ "tasks": 37, "active": 3, "units": 2, "contexts": 4 }},
    buffers: {{
        "a": Generated(element: F32, length: "=tasks * 32", generator: Uniform(seed: 1, low: -1, high: 1)),
        "b": Generated(element: F32, length: "=tasks * 32", generator: Uniform(seed: 2, low: -1, high: 1)),
        "c": Zero(element: F32, length: "=tasks * 32"),
        "counters": Zero(element: U32, length: "=units"),
    }},
    commands: [
        CopyToDevice("a"), CopyToDevice("b"),
{launch}{launch}        CopyToHost("c"),
    ],
    expect: [Expect(buffer: "c", equals: VectorAdd(a: "a", b: "b"))],
)
"#
    );
    bench.write("workloads/add.ron", &workload);
    bench.write(
        "test.ron",
        "Scenario(system: \"systems/tiny.ron\", workload: \"workloads/add.ron\")",
    );
    bench
}

fn placed(by: &str) -> Bench {
    let fields = format!(
        "grid: \"=units * contexts\", place: (units: \"=units\", contexts: \"=contexts\", by: {by})"
    );
    bench(&format!("add_agents_rows_{}", by.to_lowercase()), &fields)
}

fn verified(ended: &Ended) -> String {
    assert_eq!(ended.code, 0, "{}", ended.err);
    let mut report = ended.json();
    assert_eq!(report["verified"], Value::Bool(true));
    report.as_object_mut().unwrap().remove("host").unwrap();
    serde_json::to_string_pretty(&report).unwrap()
}

const JSON: [&str; 5] = ["run", "test.ron", "--quiet", "--format", "json"];

#[test]
fn agents_compute_what_the_plain_kernel_does_under_every_even_policy() {
    let plain = bench("add", "grid: \"=tasks\"");
    verified(&plain.warpweave(&JSON));
    for by in ["Slot", "Arrival"] {
        let bench = placed(by);
        for policy in ["StrictRoundRobin", "DemandRoundRobin", "RandomRoundRobin"] {
            let set = format!("scheduler.policy={policy}");
            verified(&bench.warpweave(&[&JSON[..], &["--set", &set]].concat()));
        }
        for order in ["Reversed", "Shuffled(seed: 3)"] {
            let set = format!("emulation.order={order}");
            verified(&bench.warpweave(&[&JSON[..], &["--set", &set]].concat()));
        }
    }
}

#[test]
fn a_launch_placed_unlike_the_machine_is_refused_before_it_runs() {
    let said = |set: &str| {
        let bench = placed("Slot");
        let refusal = bench
            .warpweave(&["check", "test.ron", "--set", set])
            .refusal();
        let run = bench.warpweave(&[&JSON[..], &["--set", set]].concat());
        assert_eq!(run.refusal(), refusal);
        refusal
    };
    assert_snapshot!(said("workload.contexts=3"));
    assert_snapshot!(said("workload.units=4"));
}

#[test]
fn a_placed_program_resumes_in_the_middle_with_the_same_report() {
    for by in ["Slot", "Arrival"] {
        let bench = placed(by);
        let straight = verified(&bench.warpweave(&JSON));
        let saving = [
            "--checkpoint",
            "run-{cycle}.wwc",
            "--checkpoint-at",
            "300,700,1100",
        ];
        let saved = verified(&bench.warpweave(&[&JSON[..], &saving].concat()));
        assert_eq!(saved, straight);
        for cycle in [300, 700, 1100] {
            let file = format!("run-{cycle}.wwc");
            let resumed = bench.warpweave(&[&JSON[..], &["--resume", &file]].concat());
            assert_eq!(verified(&resumed), straight, "after cycle {cycle}");
        }
    }
}

fn simulated(bench: &Bench, options: EngineOptions) -> Simulated {
    let path = bench.path("test.ron");
    let scenario = Scenario::load(Path::new(&path), &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let program = scenario.emulate().unwrap().program;
    let machine = Machine::of(&scenario, &standard_registry(), &program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    machine.set_options(options);
    machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {})
}

#[test]
fn placed_launches_do_not_depend_on_how_the_engine_works() {
    for by in ["Slot", "Arrival"] {
        let bench = placed(by);
        let options = EngineOptions::default();
        let plain = simulated(&bench, options);
        assert_eq!(plain.status, Status::Done);
        let order = Order::Shuffled { seed: 11 };
        let mut others = vec![
            EngineOptions { order, ..options },
            EngineOptions {
                sleeping: false,
                ..options
            },
        ];
        others.extend([2, 4, 8].map(|threads| EngineOptions { threads, ..options }));
        for options in others {
            let other = simulated(&bench, options);
            assert_eq!(
                (plain.cycles, &plain.kernels),
                (other.cycles, &other.kernels)
            );
            assert!(plain.statistics.iter().eq(other.statistics.iter()));
        }
    }
}

#[test]
fn a_recorded_trace_runs_like_the_program_and_tells_its_place() {
    let bench = placed("Arrival");
    let recorded = bench.warpweave(&["trace", "record", "test.ron", "t.wwt"]);
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let info = bench.warpweave(&["trace", "info", "t.wwt"]);
    let told = "asks where it runs: placed on 2 units by arrival, 4 work-groups each";
    assert!(info.out.contains(told), "{}", info.out);
    let exported = bench.warpweave(&["trace", "export", "t.wwt", "-o", "exported"]);
    let lost = format!("{}{}", exported.out, exported.err);
    assert!(lost.contains("launches placed on declared units"), "{lost}");
    let cycles = |ended: &Ended| {
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.json()["cycles"].clone()
    };
    let program = cycles(&bench.warpweave(&JSON));
    let trace = "Scenario(system: \"systems/tiny.ron\", trace: \"t.wwt\")";
    bench.write("test.ron", trace);
    assert_eq!(cycles(&bench.warpweave(&JSON)), program);
}
