//! Tests of child kernel launches and other device runtime functions.

use std::fmt::Write as _;

use warpweave_ptx::{
    DeviceMemory, EmulationError, EmulationOptions, Family, KernelArgument, LaunchConfig,
    LaunchWatch, Numbers, Order, ProgramChecker, launch, launch_family,
};
use warpweave_trace::{Class, Lanes, LaunchGraph};

use crate::harness::{errors, module};

/// Returns declarations as compilers emit them, with the prefix of a runtime generation.
pub(crate) fn declarations(prefix: &str) -> String {
    format!(
        ".extern .func (.param .b64 r) {prefix}GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12],
            .param .align 4 .b8 b[12], .param .b32 s);
        .extern .func (.param .b32 r) {prefix}LaunchDeviceV2(.param .b64 p, .param .b64 s);
        .extern .func (.param .b64 r) {prefix}GetParameterBuffer(.param .b64 a, .param .b64 s);
        .extern .func (.param .b32 r) {prefix}LaunchDevice(.param .b64 f, .param .b64 p, .param .align 4 .b8 g[12],
            .param .align 4 .b8 b[12], .param .b32 s, .param .b64 stream);
        .extern .func (.param .b32 r) {prefix}StreamCreateWithFlags(.param .b64 s, .param .b32 f);
        .extern .func (.param .b32 r) {prefix}GetLastError();
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);
        .extern .func (.param .b64 r) malloc(.param .b64 n);
        .extern .func free(.param .b64 p);
"
    )
}

/// Stores a `dim3` with the value `(x, 1, 1)`.
fn axes(name: &str, x: &str) -> String {
    format!("st.param.b32 [{name}], {x}; st.param.b32 [{name}+4], 1; st.param.b32 [{name}+8], 1;")
}

/// Launches `function` in stream `stream` with `blocks` work-groups of `threads` threads. The
/// arguments are `%rd10` (8 bytes) and `%r10` (4 bytes); the error is returned in `%r20`.
pub(crate) fn launch_of(
    prefix: &str,
    function: &str,
    blocks: &str,
    threads: &str,
    stream: &str,
) -> String {
    format!(
        "{{ .param .b64 fn; .param .align 4 .b8 gd[12]; .param .align 4 .b8 bl[12]; .param .b32 sh; .param .b64 buf;
        mov.u64 %rd20, {function};
        st.param.b64 [fn], %rd20; {} {} st.param.b32 [sh], 0;
        call.uni (buf), {prefix}GetParameterBufferV2, (fn, gd, bl, sh);
        ld.param.b64 %rd21, [buf]; }}
        st.u64 [%rd21], %rd10; st.u32 [%rd21+8], %r10;
        {{ .param .b64 ar; .param .b64 st; .param .b32 er;
        st.param.b64 [ar], %rd21; st.param.b64 [st], {stream};
        call.uni (er), {prefix}LaunchDeviceV2, (ar, st);
        ld.param.b32 %r20, [er]; }}
",
        axes("gd", blocks),
        axes("bl", threads)
    )
}

const REGISTERS: &str = ".reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .pred %p<8>; .reg .f64 %fd<4>;
    ld.param.u64 %rd10, [out]; ld.param.u32 %r9, [left]; mov.u32 %r0, %tid.x;";

pub(crate) fn entry(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 out, .param .u32 left) {{ {REGISTERS}\n{body}\nret; }}\n"
    )
}

const BYTES: u64 = 4096;

fn config(threads: u32, args: &[KernelArgument]) -> LaunchConfig<'_> {
    LaunchConfig {
        grid: [1, 1, 1],
        block: [threads, 1, 1],
        dynamic_local_bytes: 0,
        args,
    }
}

/// Returns the family of `k(out, left)` and the words of `out`; also runs with an observer.
pub(crate) fn run(
    text: &str,
    threads: u32,
    left: u32,
    options: &EmulationOptions,
) -> Result<(Family, Vec<u32>), EmulationError> {
    let module = module(text);
    let mut seen = Vec::new();
    for watched in [false, true] {
        let mut memory = DeviceMemory::new();
        let out = memory.allocate("out", BYTES);
        let args = [KernelArgument::Pointer(out), KernelArgument::U32(left)];
        let numbers = &mut Numbers::default();
        let config = config(threads, &args);
        let family = if watched {
            let mut checker = ProgramChecker::new();
            checker.host_wrote(out, BYTES);
            let family = checker.launch(&module, "k", config, &mut memory, options, numbers)?;
            assert!(checker.findings().is_empty(), "{:?}", checker.findings());
            family
        } else {
            let watch = LaunchWatch::default();
            launch_family(&module, "k", config, &mut memory, options, numbers, watch)?
        };
        assert_eq!(numbers.kernel as usize, family.kernels.len());
        let bytes = memory.read(out, BYTES).expect("inside");
        let (words, _) = bytes.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        seen.push((family, words));
    }
    let (watched, plain) = (seen.remove(1), seen.remove(0));
    let hashes = |family: &Family| -> Vec<_> {
        family
            .kernels
            .iter()
            .map(warpweave_trace::KernelTrace::hash)
            .collect()
    };
    assert_eq!(hashes(&watched.0), hashes(&plain.0));
    assert_eq!(watched.1, plain.1);
    Ok(plain)
}

/// Lanes 1 and 3 of four each launch `child(out, lane)` with 2 work-groups of 32 threads.
fn two_children(prefix: &str) -> String {
    let launch = launch_of(prefix, "child", "2", "32", "0");
    format!(
        "{}{}{}",
        declarations(prefix),
        entry(
            "child",
            "mov.u32 %r1, %ctaid.x; mad.lo.u32 %r2, %r1, 32, %r0; mad.lo.u32 %r2, %r9, 64, %r2;
            mul.wide.u32 %rd1, %r2, 4; add.s64 %rd1, %rd1, %rd10; add.u32 %r3, %r9, 100; st.global.u32 [%rd1], %r3;"
        ),
        entry(
            "k",
            &format!(
                "and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %r10, %r0; mov.u32 %r20, 0;
                @%p1 bra done; {launch} done: "
            )
        )
    )
}

#[test]
fn both_generations_of_the_runtime_launch_with_arguments_and_shape() {
    for prefix in ["cuda", "__cudaCDP2"] {
        let (family, words) =
            run(&two_children(prefix), 4, 0, &EmulationOptions::default()).unwrap();
        assert_eq!(family.kernels.len(), 3);
        let [parent, first, second] = &family.kernels[..] else {
            panic!()
        };
        assert_eq!(
            (&*first.code.name, first.grid, first.block),
            ("child", [2, 1, 1], [32, 1, 1])
        );
        let by = [first, second].map(|kernel| kernel.parent.unwrap());
        assert_eq!(
            by.map(|by| (by.kernel, by.work_group, by.wavefront, by.record, by.lane)),
            [(0, 0, 0, 0, 1), (0, 0, 0, 0, 3)]
        );
        // The default stream of the work-group, which no host has.
        assert_eq!(by[0].stream, by[1].stream);
        assert!(by[0].stream >= 1 << 31);
        for (lane, base) in [(1, 64), (3, 192)] {
            assert!(
                words[base..base + 64]
                    .iter()
                    .all(|&word| word == 100 + lane),
                "{prefix} {lane}"
            );
        }
        assert_eq!(words[0], 0);
        // The launch is one record with the lanes that launched.
        let (mut cursor, mut lanes) = (parent.cursor(0, 0), Lanes::default());
        let mut launches = Vec::new();
        while let Some(record) = cursor.next(parent, &mut lanes) {
            if parent.code.instructions[record.pc as usize].class == Class::Launch {
                launches.push(record.mask);
            }
        }
        assert_eq!(launches, [0b1010]);
    }
}

#[test]
fn the_first_generation_takes_shape_and_stream_with_the_launch() {
    let text = format!(
        "{}{}{}",
        declarations("cuda"),
        entry("child", "st.global.u32 [%rd10+4], %r9;"),
        entry(
            "k",
            &format!(
                ".local .align 8 .b8 depot[8];
                {{ .param .b64 a; .param .b64 n; .param .b64 buf;
                st.param.b64 [a], 8; st.param.b64 [n], 12;
                call.uni (buf), cudaGetParameterBuffer, (a, n); ld.param.b64 %rd21, [buf]; }}
                st.u64 [%rd21], %rd10; st.u32 [%rd21+8], 7;
                mov.u64 %rd1, depot; cvta.local.u64 %rd1, %rd1;
                {{ .param .b64 a; .param .b32 n; .param .b32 er; st.param.b64 [a], %rd1; st.param.b32 [n], 1;
                call.uni (er), cudaStreamCreateWithFlags, (a, n); }}
                ld.local.u64 %rd2, [depot];
                {{ .param .b64 fn; .param .b64 ar; .param .align 4 .b8 gd[12]; .param .align 4 .b8 bl[12]; .param .b32 sh;
                .param .b64 st; .param .b32 er; mov.u64 %rd20, child;
                st.param.b64 [fn], %rd20; st.param.b64 [ar], %rd21; {} {} st.param.b32 [sh], 0; st.param.b64 [st], %rd2;
                call.uni (er), cudaLaunchDevice, (fn, ar, gd, bl, sh, st); ld.param.b32 %r20, [er]; }}
                st.global.u32 [%rd10], %r20;",
                axes("gd", "1"),
                axes("bl", "1")
            )
        )
    );
    let (family, words) = run(&text, 1, 0, &EmulationOptions::default()).unwrap();
    assert_eq!(words[..2], [0, 7]);
    // The first stream made.
    assert_eq!(family.kernels[1].parent.unwrap().stream, 1 << 31);
}

/// Returns `k(out, left)`: one thread increments a counter and launches itself with `left`
/// decremented, until it is zero. The error of the last launch is stored after the counter.
fn chain() -> String {
    let launch = launch_of("cuda", "k", "1", "1", "0");
    format!(
        "{}{}",
        declarations("cuda"),
        entry(
            "k",
            &format!(
                "red.global.add.u32 [%rd10], 1; setp.eq.u32 %p1, %r9, 0; @%p1 bra done;
                sub.u32 %r10, %r9, 1; {launch} setp.eq.u32 %p2, %r20, 0; @%p2 bra done; st.global.u32 [%rd10+4], %r20;
                {{ .param .b32 er; call.uni (er), cudaGetLastError, (); ld.param.b32 %r21, [er]; }}
                st.global.u32 [%rd10+8], %r21;
                {{ .param .b32 er; call.uni (er), cudaGetLastError, (); ld.param.b32 %r21, [er]; }}
                st.global.u32 [%rd10+12], %r21;
                done:"
            )
        )
    )
}

#[test]
fn launches_nest_to_depth_24_and_one_deeper_is_refused_with_the_code_of_the_runtime() {
    let (family, words) = run(&chain(), 1, 24, &EmulationOptions::default()).unwrap();
    assert_eq!(
        (family.kernels.len(), words[0], words[1], family.refused),
        (25, 25, 0, 0)
    );
    let graph = LaunchGraph::of(family.kernels.iter().map(|kernel| kernel.parent));
    assert_eq!(graph.depth(24), 24);
    let (family, words) = run(&chain(), 1, 30, &EmulationOptions::default()).unwrap();
    assert_eq!((family.kernels.len(), family.refused), (25, 1));
    // The error is given once more, and then forgotten.
    assert_eq!(words[..4], [25, 65, 65, 0]);
}

#[test]
fn a_child_and_all_it_launches_come_before_its_next_sibling() {
    // Two threads launch `k` with one less each: a tree of two, four and eight.
    let launch = launch_of("cuda", "k", "1", "2", "0");
    let text = format!(
        "{}{}",
        declarations("cuda"),
        entry(
            "k",
            &format!(
                "setp.eq.u32 %p1, %r9, 0; @%p1 bra done; sub.u32 %r10, %r9, 1; {launch} done:"
            )
        )
    );
    let (family, _) = run(&text, 2, 3, &EmulationOptions::default()).unwrap();
    let parents: Vec<_> = family
        .kernels
        .iter()
        .map(|kernel| kernel.parent.map(|by| (by.kernel, by.lane)))
        .collect();
    assert_eq!(parents.len(), 15);
    assert_eq!(
        parents[..8],
        [
            None,
            Some((0, 0)),
            Some((1, 0)),
            Some((2, 0)),
            Some((2, 1)),
            Some((1, 1)),
            Some((5, 0)),
            Some((5, 1))
        ]
    );
}

#[test]
fn memory_does_not_depend_on_the_order_of_emulation() {
    let text = two_children("cuda");
    let mut seen = Vec::new();
    for (order, resident) in [
        (Order::Linear, 60),
        (Order::Reversed, 1),
        (Order::Shuffled(7), 2),
    ] {
        let options = EmulationOptions {
            order,
            resident_work_groups: resident,
            quantum: 3,
            ..EmulationOptions::default()
        };
        seen.push(run(&text, 16, 0, &options).unwrap().1);
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn impossible_launches_give_the_errors_of_the_runtime() {
    let axis = |launch: String, name: &str, offset: u32, value: u32| {
        launch.replace(
            &format!("st.param.b32 [{name}+{offset}], 1;"),
            &format!("st.param.b32 [{name}+{offset}], {value};"),
        )
    };
    let plain = || launch_of("cuda", "k", "1", "1", "0");
    let child = |threads: &str| launch_of("cuda", "limited", "1", threads, "0");
    for (launch, code) in [
        (launch_of("cuda", "k", "1", "1025", "0"), 9),
        (launch_of("cuda", "k", "0", "32", "0"), 9),
        (launch_of("cuda", "k", "2147483648", "1", "0"), 9),
        (axis(plain(), "gd", 4, 65_536), 9),
        (axis(plain(), "gd", 8, 65_536), 9),
        (axis(plain(), "gd", 8, 0), 9),
        (axis(plain(), "bl", 8, 65), 9),
        (axis(plain(), "bl", 4, 1025), 9),
        (child("65"), 9),
        (child("64").replace("limited", "exact"), 9),
    ] {
        let text = format!(
            "{}{}{}{}",
            declarations("cuda"),
            entry("limited", "").replace("{ .reg", ".maxntid 8, 8, 1 { .reg"),
            entry("exact", "").replace("{ .reg", ".reqntid 8, 8, 1 { .reg"),
            entry(
                "k",
                &format!("mov.u32 %r10, 0; {launch} st.global.u32 [%rd10], %r20;")
            )
        );
        let (family, words) =
            run(&text, 1, 0, &EmulationOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (family.kernels.len(), family.refused, words[0]),
            (1, 1, code)
        );
    }
}

#[test]
fn more_work_groups_than_are_emulated_are_a_fault_and_no_error_of_the_program() {
    let launch = launch_of("cuda", "k", "16777217", "1", "0");
    let text = format!("{}{}", declarations("cuda"), entry("k", &launch));
    let error = run(&text, 1, 0, &EmulationOptions::default()).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("a launch of 16777217 work-groups; at most 16777216 are emulated"),
        "{said}"
    );
}

#[test]
fn there_is_no_memory_for_the_arguments_of_what_is_no_kernel() {
    let launch = launch_of("cuda", "0x1234", "1", "32", "0");
    let (get, _) = launch.split_once("st.u64 [%rd21]").unwrap();
    let body = format!(
        "{get} st.global.u64 [%rd10], %rd21;
        {{ .param .b32 er; call.uni (er), cudaGetLastError, (); ld.param.b32 %r21, [er]; }} st.global.u32 [%rd10+8], %r21;"
    );
    let text = format!("{}{}", declarations("cuda"), entry("k", &body));
    let (family, words) = run(&text, 1, 0, &EmulationOptions::default()).unwrap();
    assert_eq!((family.refused, &words[..3]), (1, &[0, 0, 98][..]));
}

#[test]
fn a_kernel_that_waits_for_its_children_is_refused_with_its_line() {
    let text = format!(
        ".version 7.0 .target sm_70 .address_size 64
.extern .func (.param .b32 r) cudaDeviceSynchronize();
{}",
        entry(
            "k",
            "\n{ .param .b32 er; call.uni (er), cudaDeviceSynchronize, (); }"
        )
    );
    let said = errors(&text);
    assert!(said.contains("test.ptx:6:"), "{said}");
    assert!(
        said.contains("`cudaDeviceSynchronize` waits for kernels launched from the device"),
        "{said}"
    );
    let unknown = text.replace("cudaDeviceSynchronize", "cudaGetLastErr");
    let said = run(&unknown, 1, 0, &EmulationOptions::default());
    let said = said
        .map(|_| ())
        .expect_err("the call is reached")
        .to_string();
    assert!(
        said.contains("`cudaGetLastErr` has no body") && said.contains("cudaGetLastError"),
        "{said}"
    );
}

#[test]
fn the_traces_of_a_family_are_not_given_as_one() {
    let module = module(&chain());
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", BYTES);
    let args = [KernelArgument::Pointer(out), KernelArgument::U32(2)];
    let result = launch(
        &module,
        "k",
        config(1, &args),
        &mut memory,
        &EmulationOptions::default(),
    );
    let said = result
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    assert!(
        said.contains("it launched 2 kernels from the device"),
        "{said}"
    );
}

#[test]
fn formatted_output_is_in_the_results_in_the_order_of_threads() {
    let mut bytes = String::new();
    for byte in b"lane %d of %s: %.1f\n\0two\0" {
        let _ = write!(bytes, "{byte}, ");
    }
    let bytes = bytes.trim_end_matches(", ");
    let text = format!(
        "{}.global .align 1 .b8 text[] = {{{bytes}}};\n{}",
        declarations("cuda"),
        entry(
            "k",
            ".local .align 8 .b8 depot[24]; mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1;
            mov.u64 %rd3, text; cvta.global.u64 %rd3, %rd3; add.s64 %rd4, %rd3, 21;
            st.local.u32 [depot], %r0; st.local.u64 [depot+8], %rd4;
            cvt.rn.f64.u32 %fd1, %r0; st.local.f64 [depot+16], %fd1;
            { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
            call.uni (r), vprintf, (f, a); ld.param.b32 %r5, [r]; }
            mul.wide.u32 %rd5, %r0, 4; add.s64 %rd5, %rd5, %rd10; st.global.u32 [%rd5], %r5;"
        )
    );
    let (family, words) = run(&text, 2, 0, &EmulationOptions::default()).unwrap();
    assert_eq!(
        family.printed.text,
        "lane 0 of two: 0.0\nlane 1 of two: 1.0\n"
    );
    assert_eq!(words[..2], [3, 3]);
}

#[test]
fn an_assertion_that_fails_stops_the_program_with_what_it_says() {
    let mut bytes = String::new();
    for byte in b"x > 0\0a.cu\0f\0" {
        let _ = write!(bytes, "{byte}, ");
    }
    let bytes = bytes.trim_end_matches(", ");
    let text = format!(
        "{}.global .align 1 .b8 text[] = {{{bytes}}};\n{}",
        declarations("cuda"),
        entry(
            "k",
            "setp.ne.u32 %p1, %r0, 5; @%p1 bra fine;
            mov.u64 %rd1, text; cvta.global.u64 %rd1, %rd1; add.s64 %rd2, %rd1, 6; add.s64 %rd3, %rd1, 11;
            { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 c;
            st.param.b64 [m], %rd1; st.param.b64 [f], %rd2; st.param.b32 [l], 42; st.param.b64 [n], %rd3; st.param.b64 [c], 1;
            call.uni __assertfail, (m, f, l, n, c); }
            fine:"
        )
    );
    let error = run(&text, 8, 0, &EmulationOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("thread (5, 0, 0): assertion failed: a.cu:42: f: `x > 0`"),
        "{error}"
    );
}

#[test]
fn the_heap_gives_memory_until_it_is_full_and_takes_it_back_once() {
    let call = |name: &str| {
        format!(
            "{{ .param .b64 n; .param .b64 r; st.param.b64 [n], %rd1; call.uni (r), {name}, (n); ld.param.b64 %rd2, [r]; }}"
        )
    };
    let free = "{ .param .b64 n; st.param.b64 [n], %rd2; call.uni free, (n); }";
    let body = format!(
        "mov.u64 %rd1, 64; {} st.u32 [%rd2+60], %r0; ld.u32 %r1, [%rd2+60]; mul.wide.u32 %rd3, %r0, 4; add.s64 %rd3, %rd3, %rd10;
        st.global.u32 [%rd3], %r1; {free}
        mov.u64 %rd1, 100000; {} cvt.u32.u64 %r2, %rd2; st.global.u32 [%rd3+128], %r2;",
        call("malloc"),
        call("malloc")
    );
    let text = format!("{}{}", declarations("cuda"), entry("k", &body));
    let options = EmulationOptions {
        heap_bytes: 4096,
        ..EmulationOptions::default()
    };
    let (_, words) = run(&text, 32, 0, &options).unwrap();
    assert_eq!(words[..32], (0..32).collect::<Vec<u32>>());
    assert_eq!(words[32..64], [0; 32], "more than the heap has");
    let twice = format!(
        "{}{}",
        declarations("cuda"),
        entry(
            "k",
            &format!("mov.u64 %rd1, 64; {} {free} {free}", call("malloc"))
        )
    );
    let error = run(&twice, 1, 0, &options).unwrap_err().to_string();
    assert!(error.contains("was freed before"), "{error}");
}
