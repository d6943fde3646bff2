//! Tests of reuse monitors in a machine. They run the scenarios of LSR-M14b, each a program that
//! reads and launches.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use warpweave_systems::{Machine, Scenario, Simulated, Status, standard_registry};

use crate::harness::{Bench, scenarios};

/// Step of the parent kernel; steps run in order. Lines are of 128 bytes.
enum Step {
    /// Reads `lines` lines starting at line `first`.
    Read { first: u32, lines: u32 },
    /// Waits until all launched children have ended.
    Wait,
    /// Launches a child that reads `lines` lines starting at line `first`, `times` times.
    Launch { first: u32, lines: u32, times: u32 },
}

/// Number of wait rounds, enough for a child to start and end.
const WAIT_ROUNDS: u32 = 4000;

/// Generates a kernel `parent` of one thread that takes these steps, and its child.
fn module(steps: &[Step]) -> String {
    let mut body = String::new();
    for (number, step) in steps.iter().enumerate() {
        match *step {
            Step::Read { first, lines } => writeln!(
                body,
                "mov.b32 %r1, {first}; mov.b32 %r2, {lines}; mov.b32 %r3, 1;\n{}",
                reads(&format!("parent_{number}"))
            ),
            Step::Wait => writeln!(
                body,
                "mov.b32 %r1, {WAIT_ROUNDS};\n$wait_{number}:\nsub.u32 %r1, %r1, 1;\n\
                 setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $wait_{number};"
            ),
            Step::Launch {
                first,
                lines,
                times,
            } => writeln!(
                body,
                "mov.u64 %rd4, child;\nmov.b32 %r1, 1;\n{{\n.param .b64 kernel;\n\
                 st.param.b64 [kernel+0], %rd4;\n.param .align 4 .b8 grid[12];\n\
                 st.param.b32 [grid+0], %r1; st.param.b32 [grid+4], %r1; st.param.b32 [grid+8], %r1;\n\
                 .param .align 4 .b8 block[12];\n\
                 st.param.b32 [block+0], %r1; st.param.b32 [block+4], %r1; st.param.b32 [block+8], %r1;\n\
                 .param .b32 bytes;\nst.param.b32 [bytes+0], 0;\n.param .b64 buffer;\n\
                 call.uni (buffer), cudaGetParameterBufferV2, (kernel, grid, block, bytes);\n\
                 ld.param.b64 %rd5, [buffer+0];\n}}\n\
                 mov.b32 %r1, {first}; mov.b32 %r2, {lines}; mov.b32 %r3, {times}; mov.u64 %rd6, 0;\n\
                 st.u64 [%rd5], %rd1; st.u32 [%rd5+8], %r1; st.u32 [%rd5+12], %r2; st.u32 [%rd5+16], %r3;\n\
                 {{\n.param .b64 buffer;\nst.param.b64 [buffer+0], %rd5;\n.param .b64 stream;\n\
                 st.param.b64 [stream+0], %rd6;\n.param .b32 status;\n\
                 call.uni (status), cudaLaunchDeviceV2, (buffer, stream);\n\
                 ld.param.b32 %r4, [status+0];\n}}"
            ),
        }
        .unwrap();
    }
    format!(
        ".version 6.3\n.target sm_70\n.address_size 64\n\
         .extern .func (.param .b64 buffer) cudaGetParameterBufferV2 (.param .b64 kernel, \
         .param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 bytes);\n\
         .extern .func (.param .b32 status) cudaLaunchDeviceV2 (.param .b64 buffer, .param .b64 stream);\n\
         .visible .entry child(.param .u64 data, .param .u32 first, .param .u32 lines, .param .u32 times)\n\
         {{\n{REGISTERS}ld.param.u64 %rd1, [data];\nld.param.u32 %r1, [first];\n\
         ld.param.u32 %r2, [lines];\nld.param.u32 %r3, [times];\n{child}ret;\n}}\n\
         .visible .entry parent(.param .u64 data)\n\
         {{\n{REGISTERS}ld.param.u64 %rd1, [data];\n{body}ret;\n}}\n",
        child = reads("child"),
    )
}

const REGISTERS: &str = ".reg .pred %p<3>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n";

/// Generates PTX that reads lines %r1 .. %r1 + %r2 of %rd1, %r3 times over.
fn reads(label: &str) -> String {
    format!(
        "$again_{label}:\nmov.b32 %r5, 0;\n$line_{label}:\nadd.u32 %r6, %r1, %r5;\n\
         mul.wide.u32 %rd2, %r6, 128;\nadd.s64 %rd2, %rd1, %rd2;\nld.global.u32 %r7, [%rd2];\n\
         add.u32 %r5, %r5, 1;\nsetp.ne.u32 %p1, %r5, %r2;\n@%p1 bra $line_{label};\n\
         sub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra $again_{label};\n"
    )
}

/// Runs the program on a machine with `units` units and the given overrides.
fn run(units: u32, steps: &[Step], sets: &[&str]) -> Simulated {
    run_launches(units, steps, 1, sets)
}

/// Runs a program whose host launches the parent so many times, one after the other.
fn run_launches(units: u32, steps: &[Step], launches: usize, sets: &[&str]) -> Simulated {
    let bench = Bench::new();
    let root = scenarios().display().to_string();
    bench.write("work.ptx", &module(steps));
    let launch = "Launch(kernel: \"parent\", grid: 1, block: 1, arguments: [Buffer(\"data\")]), ";
    let launches = launch.repeat(launches);
    bench.write(
        "work.ron",
        &format!(
            "Workload(summary: \"a parent and its children\", module: \"work.ptx\", buffers: {{\
             \"data\": Zero(element: U32, length: 8192) }}, commands: [{launches}])"
        ),
    );
    bench.write(
        "program.ron",
        &format!(
            "Scenario(system: \"{root}/systems/laser.ron\", workload: \"work.ron\", overrides: {{ \
             \"params.units\": {units}, \"params.order\": Priority, \"params.warm_up_children\": 0, \
             \"launcher.base_cycles\": 100, \"launcher.cycles_per_kernel\": 10 }})"
        ),
    );
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let scenario = Scenario::load(&bench.path("program.ron"), &sets);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let executed = scenario.emulate().unwrap();
    let machine = Machine::of(&scenario, &standard_registry(), &executed.program);
    let mut machine = machine.unwrap_or_else(|problems| panic!("{problems}"));
    let run = machine.simulate(&Arc::new(AtomicBool::new(false)), &mut |_| {});
    assert_eq!(run.status, Status::Done);
    run
}

/// Returns hits and look-ups of one filter of a unit.
fn rate(run: &Simulated, unit: u32, filter: &str) -> (u64, u64) {
    let count = |what: &str| count(run, unit, &format!("reuse_{filter}_{what}"));
    (count("hits"), count("hits") + count("misses"))
}

fn count(run: &Simulated, unit: u32, counter: &str) -> u64 {
    let path = format!("unit[{unit}].cu");
    let found = run.statistics.iter().find(|part| part.path == path);
    found.unwrap().counter(counter).unwrap()
}

/// Counts the launches of a unit by prediction: none, parent, sibling, self.
fn predicted(run: &Simulated, unit: u32) -> [u64; 4] {
    ["none", "parent", "sibling", "self"]
        .map(|what| count(run, unit, &format!("reuse_predicted_{what}")))
}

/// (a): the second launch uses the monitored reads of the first child.
#[test]
fn a_child_that_reads_its_parents_lines_on_its_unit_makes_the_next_one_urgent() {
    let child = || Step::Launch {
        first: 0,
        lines: 10,
        times: 1,
    };
    let steps = [
        Step::Read {
            first: 0,
            lines: 10,
        },
        child(),
        Step::Wait,
        child(),
    ];
    let run = run(1, &steps, &[]);
    assert_eq!(rate(&run, 0, "parent"), (20, 20));
    assert_eq!(predicted(&run, 0), [1, 1, 0, 0]);
}

/// (b): a child on another unit finds no reuse of its parent's lines.
#[test]
fn a_child_on_another_unit_finds_nothing_of_its_parent() {
    let steps = [
        Step::Read {
            first: 0,
            lines: 10,
        },
        Step::Launch {
            first: 0,
            lines: 10,
            times: 1,
        },
    ];
    let run = run(2, &steps, &[]);
    assert_eq!(rate(&run, 0, "parent"), (0, 0));
    assert_eq!(rate(&run, 1, "parent"), (0, 10));
    assert_eq!(predicted(&run, 0), [1, 0, 0, 0]);
}

/// (c): the rate is 0 of 20, then 20 of 40, which is not more than a half, then 40 of 60.
#[test]
fn siblings_are_foretold_once_more_than_half_of_their_reads_were_a_siblings() {
    let mut steps = vec![Step::Read {
        first: 100,
        lines: 5,
    }];
    for _ in 0..4 {
        steps.push(Step::Launch {
            first: 0,
            lines: 20,
            times: 1,
        });
        steps.push(Step::Wait);
    }
    let run = run(1, &steps, &[]);
    assert_eq!(rate(&run, 0, "sibling"), (60, 80));
    assert_eq!(rate(&run, 0, "parent"), (0, 80));
    assert_eq!(predicted(&run, 0), [3, 0, 1, 0]);
}

/// (d): repeats count neither for nor against siblings, whatever the keys.
#[test]
fn a_child_that_repeats_its_own_reads_is_not_taken_for_a_sibling() {
    let steps = || {
        let child = || Step::Launch {
            first: 0,
            lines: 5,
            times: 10,
        };
        [child(), Step::Wait, child()]
    };
    let owner = run(1, &steps(), &[]);
    // The second child reads what the first one read: five of its reads are a sibling's.
    assert_eq!(rate(&owner, 0, "self"), (90, 100));
    assert_eq!(rate(&owner, 0, "sibling"), (5, 10));
    assert_eq!(predicted(&owner, 0), [1, 0, 0, 1]);
    let line = run(1, &steps(), &["params.key=Line"]);
    assert_eq!(predicted(&line, 0), [1, 0, 0, 1]);
}

const BY_PROFILE: [&str; 2] = ["params.monitor=Profile", "profile=Compute"];

/// Launches a child that reads these lines once.
fn child(first: u32, lines: u32) -> Step {
    Step::Launch {
        first,
        lines,
        times: 1,
    }
}

/// Checks that the oracle knows what monitors cannot have seen, since children run elsewhere.
#[test]
fn a_profile_says_what_a_child_shares_before_it_or_any_sibling_has_run() {
    let reads_10 = Step::Read {
        first: 0,
        lines: 10,
    };
    let steps = [
        reads_10,
        child(0, 10),
        child(100, 20),
        // Shares 15 of 20 lines with the child before it.
        child(105, 20),
        // Shares all with its parent, but also with the first child.
        child(0, 10),
    ];
    let told = run(2, &steps, &BY_PROFILE);
    assert_eq!(predicted(&told, 0), [2, 1, 1, 0]);
    let measured = run(2, &steps, &[]);
    assert_eq!(predicted(&measured, 0), [4, 0, 0, 0]);
}

/// Checks that filters are emptied when a launching work-group and the families of its children are
/// complete. Keys of lines alone find what the launch before has left.
#[test]
fn the_family_of_a_launching_work_group_takes_its_lines_with_it() {
    let steps = [
        Step::Read {
            first: 0,
            lines: 10,
        },
        child(0, 10),
    ];
    let counts = |sets: &[&str]| {
        let run = run_launches(1, &steps, 3, &[&["params.key=Line"], sets].concat());
        [rate(&run, 0, "self"), rate(&run, 0, "parent")]
    };
    let kept = counts(&["params.clear=KernelOnly"]);
    assert_eq!(kept, [(20, 30), (30, 30)]);
    // Not before the child: it comes when the work-group of its parent has ended.
    let cleared = counts(&["params.clear=ParentWorkGroup"]);
    assert_eq!(cleared, [(0, 30), (30, 30)]);
    let too_early = counts(&["params.clear=KernelOnly", "params.reset_on=OwnWorkGroups"]);
    assert!(too_early[1].0 < 10, "{too_early:?}");
}

/// Checks that only the unit on which the work-group ran is concerned.
#[test]
fn the_end_of_a_launching_work_group_concerns_the_unit_on_which_it_ran() {
    let steps = [
        Step::Read {
            first: 0,
            lines: 10,
        },
        child(0, 10),
    ];
    let counts = |clear: &str| {
        let run = run_launches(2, &steps, 3, &["params.key=Line", clear]);
        [0, 1].map(|unit| rate(&run, unit, "self"))
    };
    // Parents run on unit 0 and children on unit 1, which keeps what it has read.
    let kept = [(0, 0), (20, 30)];
    assert_eq!(counts("params.clear=KernelOnly"), kept);
    assert_eq!(counts("params.clear=ParentWorkGroup"), kept);
}
