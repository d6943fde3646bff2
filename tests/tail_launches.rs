//! Checks when the launches into a kernel's special streams run on a whole machine.

use std::fmt::Write as _;

use crate::harness::{Bench, scenarios};

/// Returns a module whose kernel `parent` launches a kernel into each of `streams`, in this order.
/// They are the tail-launch, fire-and-forget and default streams.
fn program(streams: &[u32]) -> String {
    let mut launches = String::new();
    for (number, stream) in streams.iter().enumerate() {
        let kernel = match stream {
            3 => "tail",
            4 => "forgotten",
            _ => "ordinary",
        };
        let _ = write!(
            launches,
            "{{ .param .b64 k; .param .align 4 .b8 g[12]; .param .align 4 .b8 b[12]; .param .b32 s;
                .param .b64 r; .param .b64 l; .param .b64 to; .param .b32 e;
                mov.u64 %rd2, {kernel};
                st.param.b64 [k], %rd2;
                st.param.b32 [g], 2; st.param.b32 [g+4], 1; st.param.b32 [g+8], 1;
                st.param.b32 [b], 32; st.param.b32 [b+4], 1; st.param.b32 [b+8], 1;
                st.param.b32 [s], 0;
                call.uni (r), __cudaCDP2GetParameterBufferV2, (k, g, b, s);
                ld.param.b64 %rd2, [r];
                st.u64 [%rd2], %rd1;
                st.param.b64 [l], %rd2;
                st.param.b64 [to], {stream};
                call.uni (e), __cudaCDP2LaunchDeviceV2, (l, to);
                ld.param.b32 %r1, [e];
                st.global.u32 [%rd1+{place}], %r1; }}\n",
            place = 4 * number,
        );
    }
    let kernel = |name: &str, turns: u32| {
        format!(
            ".visible .entry {name}(.param .u64 out) {{
                .reg .b32 %r<3>; .reg .pred %p;
                mov.u32 %r1, 0;
            turn:
                add.u32 %r1, %r1, 1;
                setp.lt.u32 %p, %r1, {turns};
                @%p bra turn;
                ret; }}\n"
        )
    };
    format!(
        ".version 7.8\n.target sm_86\n.address_size 64
        .extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 k, .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
        .extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2 (.param .b64 l, .param .b64 to);
        {}{}{}{}
        .visible .entry parent(.param .u64 out) {{
            .reg .b64 %rd<3>; .reg .b32 %r<2>;
            ld.param.u64 %rd1, [out];
            {launches} ret; }}",
        kernel("tail", 10),
        kernel("forgotten", 2000),
        kernel("ordinary", 1000),
        kernel("host", 1),
    )
}

/// Kernel of a run, with the cycles in which it started and was complete.
type Ran = (String, u64, u64);

fn run(streams: &[u32], sets: &[&str]) -> Vec<Ran> {
    let bench = Bench::new();
    bench.write("k.ptx", &program(streams));
    let launch = |kernel: &str| {
        format!("Launch(kernel: \"{kernel}\", grid: 1, block: 1, arguments: [Buffer(\"out\")])")
    };
    bench.write(
        "w.ron",
        &format!(
            "Workload(summary: \"special streams\", module: \"k.ptx\",
                buffers: {{ \"out\": Constant(element: U32, length: {n}, value: 99) }},
                commands: [CopyToDevice(\"out\"), {}, {}, CopyToHost(\"out\")],
                expect: [Expect(buffer: \"out\", equals: Values([{}]))])",
            launch("parent"),
            launch("host"),
            vec!["0"; streams.len()].join(", "),
            n = streams.len(),
        ),
    );
    let system = scenarios().join("systems/laser.ron").display().to_string();
    bench.write(
        "s.ron",
        &format!("Scenario(system: \"{system}\", workload: \"w.ron\")"),
    );
    let sets = sets.iter().flat_map(|set| ["--set", set]);
    let arguments = ["run", "s.ron", "--quiet", "--format", "json"];
    let ended = bench.warpweave(&arguments.into_iter().chain(sets).collect::<Vec<_>>());
    let report = ended.json();
    assert_eq!(report["verified"], true, "{report}");
    let kernels = report["kernels"].as_array().expect("kernels");
    let ran = kernels.iter().map(|kernel| {
        let at = |field: &str| kernel[field].as_u64().expect(field);
        let name = kernel["name"].as_str().expect("a name").to_owned();
        (name, at("started"), at("completed"))
    });
    ran.collect()
}

/// Returns all kernels of a name, in launch order.
fn of<'r>(ran: &'r [Ran], name: &str) -> Vec<&'r Ran> {
    ran.iter().filter(|kernel| kernel.0 == name).collect()
}

#[test]
fn a_tail_launch_waits_for_everything_else_and_the_kernel_for_its_tails() {
    for (streams, queues) in [
        ([3, 4, 0, 4], 32),
        ([4, 0, 4, 3], 32),
        ([3, 0, 3, 4], 32),
        ([3, 4, 0, 4], 1),
    ] {
        let ran = run(&streams, &[&format!("gmu.hardware_queues={queues}")]);
        let others = ran
            .iter()
            .filter(|kernel| ["forgotten", "ordinary"].contains(&kernel.0.as_str()));
        let last = others.map(|kernel| kernel.2).max().expect("others ran");
        let tails = of(&ran, "tail");
        let (parent, host) = (of(&ran, "parent")[0], of(&ran, "host")[0]);
        let mut before = last;
        for tail in &tails {
            assert!(tail.1 >= before, "{streams:?}: {ran:?}");
            before = tail.2;
        }
        assert!(parent.2 >= before, "{streams:?}: {ran:?}");
        assert!(host.1 >= parent.2, "{streams:?}: {ran:?}");
    }
}

#[test]
fn launches_that_are_forgotten_run_side_by_side_and_those_of_one_stream_in_turn() {
    let ran = run(&[4, 4, 0, 0], &[]);
    let (forgotten, ordinary) = (of(&ran, "forgotten"), of(&ran, "ordinary"));
    assert!(forgotten[1].1 < forgotten[0].2, "{ran:?}");
    assert!(ordinary[1].1 >= ordinary[0].2, "{ran:?}");
}
