//! Checks that a plain run of a large program, which overlaps emulation with simulation, ends like
//! a run that emulates first.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::harness::{Bench, Ended};

/// Reads scattered words with one wavefront per work-group, 120 bytes of records each time. The
/// work-group `bad` finally writes outside every buffer.
const KERNEL: &str = "
.version 7.0
.target sm_50
.address_size 64
.visible .entry scatter(.param .u64 data, .param .u32 rounds, .param .u32 bad)
{
    .reg .pred %p<3>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [rounds];
    ld.param.u32 %r9, [bad];
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.s32 %r4, %r3, 32, %r2;
    mov.u32 %r5, 0;
LOOP:
    mad.lo.s32 %r4, %r4, 1664525, 1013904223;
    shr.u32 %r6, %r4, 10;
    mul.wide.u32 %rd2, %r6, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r7, [%rd3];
    add.s32 %r5, %r5, 1;
    setp.lt.u32 %p1, %r5, %r1;
    @%p1 bra LOOP;
    setp.ne.u32 %p2, %r3, %r9;
    @%p2 bra END;
    mov.u64 %rd4, 64;
    st.global.u32 [%rd4], %r7;
END:
    ret;
}
";

/// Launches 100 work-groups; the records of 80 exceed 8 MiB.
const WORKLOAD: &str = "Workload(
    params: { \"bad\": 1000 },
    module: \"scatter.ptx\",
    buffers: { \"data\": Zero(element: U32, length: 4194304) },
    commands: [
        CopyToDevice(\"data\"),
        Launch(
            kernel: \"scatter\", grid: 100, block: 32,
            arguments: [Buffer(\"data\"), U32(1000), U32(\"=bad\")],
        ),
        CopyToHost(\"data\"),
    ],
)";

/// Runs with these values twice: plainly, and with a results folder, which makes it emulate first.
fn both(sets: &[&str]) -> [Ended; 2] {
    let bench = Bench::new();
    bench.write("scatter.ptx", KERNEL);
    bench.write("scatter.ron", WORKLOAD);
    bench.write(
        "large.ron",
        "Scenario(system: \"systems/tiny.ron\", workload: \"scatter.ron\")",
    );
    [&[][..], &["--out", "results"]].map(|more| {
        let mut arguments = vec!["run", "large.ron", "--quiet", "--format", "json"];
        arguments.extend(sets.iter().flat_map(|set| ["--set", set]));
        arguments.extend(more);
        bench.warpweave(&arguments)
    })
}

#[test]
fn a_fault_far_into_a_program_is_told_as_when_it_is_emulated_first() {
    let [beside, first] = both(&["workload.bad=97"]);
    assert!(
        first.err.contains("scatter.ptx") && first.err.contains("0x40"),
        "{}",
        first.err
    );
    assert_eq!(
        (beside.code, &*beside.out, &*beside.err),
        (2, &*first.out, &*first.err)
    );
    assert_eq!(first.code, 2);
}

#[test]
fn a_run_that_reaches_a_limit_says_what_one_says_that_is_emulated_first() {
    let [beside, first] = both(&["limits.cycles=3000"]);
    let [of_beside, of_first] = [&beside, &first].map(|ended| {
        let mut json = ended.json();
        json.as_object_mut().unwrap().remove("host");
        json
    });
    assert_eq!(of_beside, of_first);
    assert_eq!(
        of_first["status"]["kind"]
            .as_str()
            .or(of_first["status"].as_str()),
        Some("limit"),
        "{of_first}"
    );
    assert_eq!((beside.code, first.code), (1, 1));
    assert_eq!(beside.err, first.err);
}

/// Launches so many work-groups that their emulation takes many minutes.
const ENDLESS: &str = "grid: 1000000, block: 32,";

#[test]
fn an_interrupt_ends_the_emulation_together_with_its_simulation() {
    let bench = Bench::new();
    bench.write("scatter.ptx", KERNEL);
    let workload = WORKLOAD.replace("grid: 100, block: 32,", ENDLESS);
    bench.write("scatter.ron", &workload);
    bench.write(
        "endless.ron",
        "Scenario(system: \"systems/tiny.ron\", workload: \"scatter.ron\")",
    );
    let mut child = bench
        .command(&["run", "endless.ron", "--verbose", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in ["simulating while the program is emulated", "simulating"] {
        assert!(log.any(|l| l.unwrap().ends_with(line)), "{line}");
    }
    let id = child.id().to_string();
    Command::new("kill").args(["-INT", &id]).status().unwrap();
    for rest in log {
        rest.unwrap();
    }
    let ended = Ended::of(&child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.err);
    let report = ended.json();
    assert_eq!(report["status"], "interrupted");
    let waited = report["host"]["wall_s"].as_f64();
    assert!(waited.is_some_and(|waited| waited < 60.0), "{waited:?}");
}
