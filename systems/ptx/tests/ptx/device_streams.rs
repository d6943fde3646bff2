//! Tests of the streams that device launches go into, of their events, and of the memory that
//! launches take.

use std::fmt::Write as _;

use warpweave_files::{Budget, Ledger};
use warpweave_ptx::{
    DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig, LaunchWatch,
    Numbers, launch, launch_family,
};
use warpweave_trace::Parent;

use crate::device_launches::{declarations, entry, launch_of, run};
use crate::harness::module;

/// Returns `child(out, tag)`, which stores at `out[tag + 1]` how many children ran before it, and a
/// kernel `k` of one thread with this body.
fn ranked(body: &str) -> String {
    format!(
        "{}{}{}",
        declarations("cuda"),
        entry(
            "child",
            "atom.global.add.u32 %r1, [%rd10], 1; mul.wide.u32 %rd1, %r9, 4; add.s64 %rd1, %rd1, %rd10;
            st.global.u32 [%rd1+4], %r1;"
        ),
        entry("k", body)
    )
}

/// Launches `child(out, tag)` into a stream.
fn child(tag: u32, stream: &str) -> String {
    format!(
        "mov.u32 %r10, {tag}; {}",
        launch_of("cuda", "child", "1", "1", stream)
    )
}

#[test]
fn tail_launches_run_last_and_in_order_wherever_they_are_made() {
    let body = [
        child(0, "3"),
        child(1, "4"),
        child(2, "3"),
        child(3, "0"),
        child(4, "2"),
    ];
    let options = EmulationOptions::default();
    let (family, words) = run(&ranked(&body.concat()), 1, 0, &options).unwrap();
    assert_eq!(words[..6], [5, 3, 0, 4, 1, 2]);
    let streams: Vec<u32> = family.kernels[1..]
        .iter()
        .map(|kernel| kernel.parent.unwrap().stream)
        .collect();
    let tail = Parent::tail_stream(0);
    // One for the fire-and-forget launch, the implicit one of the work-group, that of the thread.
    let first = 1 << 31;
    assert_eq!(streams, [first, first + 1, first + 2, tail, tail]);
}

#[test]
fn the_tail_of_a_child_comes_before_the_tail_of_its_parent() {
    // `middle` launches child 2 into its tail-launch stream and then child 1.
    let middle = format!("{}{}", child(2, "3"), child(1, "4"));
    let body = format!(
        "{}{}{}",
        child(4, "3"),
        launch_of("cuda", "middle", "1", "1", "4"),
        child(3, "0")
    );
    let text = format!("{}{}", ranked(&body), entry("middle", &middle));
    let (family, words) = run(&text, 1, 0, &EmulationOptions::default()).unwrap();
    assert_eq!(words[2..6], [0, 1, 2, 3]);
    let tail = family.kernels.last().unwrap().parent.unwrap();
    assert_eq!((tail.kernel, tail.is_tail()), (0, true));
}

#[test]
fn the_default_streams_are_of_the_work_group_or_of_the_thread() {
    let streams = |launch: String, threads: u32| -> Vec<u32> {
        let (family, _) = run(&ranked(&launch), threads, 0, &EmulationOptions::default()).unwrap();
        let launched = family.kernels[1..].iter();
        launched
            .map(|kernel| kernel.parent.unwrap().stream - (1 << 31))
            .collect()
    };
    let twice = |stream: &str| format!("{}{}", child(0, stream), child(0, stream));
    // Children run in the order of records, then of lanes.
    assert_eq!(streams(twice("0"), 2), [0, 0, 0, 0]);
    assert_eq!(streams(twice("1"), 2), [0, 0, 0, 0]);
    assert_eq!(streams(twice("2"), 2), [0, 1, 0, 1]);
    assert_eq!(streams(twice("4"), 2), [0, 1, 2, 3]);
    let mixed = format!("{}{}", child(0, "0"), child(0, "1"));
    assert_eq!(streams(mixed, 1), [0, 0]);
    // Compiled with a default stream for each thread.
    let per_thread = twice("0").replace("cudaLaunchDeviceV2", "cudaLaunchDeviceV2_ptsz");
    let declared =
        ".extern .func (.param .b32 r) cudaLaunchDeviceV2_ptsz(.param .b64 p, .param .b64 s);\n";
    let text = format!("{declared}{}", ranked(&per_thread));
    let (family, _) = run(&text, 2, 0, &EmulationOptions::default()).unwrap();
    let last = family.kernels[2].parent.unwrap().stream;
    assert_eq!(last, (1 << 31) + 1);
}

#[test]
fn a_handle_that_names_no_stream_is_an_error_of_the_program() {
    for handle in ["5", "2147483648", "4294967295", "0x300000000"] {
        let body = format!("{} st.global.u32 [%rd10], %r20;", child(0, handle));
        let (family, words) = run(&ranked(&body), 1, 0, &EmulationOptions::default()).unwrap();
        assert_eq!(
            (family.kernels.len(), family.refused, words[0]),
            (1, 1, 400),
            "{handle}"
        );
    }
}

#[test]
fn streams_of_graphs_are_refused_by_name_and_line() {
    for (handle, name) in [
        ("0x0100000000000000", "`cudaStreamGraphTailLaunch`"),
        ("0x0200000000000000", "`cudaStreamGraphFireAndForget`"),
        (
            "0x0300000000000000",
            "`cudaStreamGraphFireAndForgetAsSibling`",
        ),
    ] {
        let said = run(
            &ranked(&child(0, handle)),
            1,
            0,
            &EmulationOptions::default(),
        );
        let said = said.unwrap_err().to_string();
        assert!(said.contains(name) && said.contains("test.ptx:"), "{said}");
    }
}

const EVENT_FUNCTIONS: &str = "
.extern .func (.param .b32 r) cudaEventCreateWithFlags(.param .b64 e, .param .b32 f);
.extern .func (.param .b32 r) cudaEventRecord(.param .b64 e, .param .b64 s);
.extern .func (.param .b32 r) cudaEventRecord_ptsz(.param .b64 e, .param .b64 s);
.extern .func (.param .b32 r) cudaStreamWaitEvent(.param .b64 s, .param .b64 e, .param .b32 f);
.extern .func (.param .b32 r) cudaEventDestroy(.param .b64 e);
";

/// Calls a function with 64-bit arguments and, at the end, 32-bit flags. The error code is stored
/// at `out[64 + slot]`.
fn event_call(function: &str, arguments: &[&str], flags: Option<u32>, slot: u32) -> String {
    let (mut declared, mut given) = (String::new(), Vec::new());
    for (at, value) in arguments.iter().enumerate() {
        write!(
            declared,
            ".param .b64 a{at}; st.param.b64 [a{at}], {value}; "
        )
        .expect("a string takes it");
        given.push(format!("a{at}"));
    }
    if let Some(flags) = flags {
        write!(declared, ".param .b32 fl; st.param.b32 [fl], {flags}; ")
            .expect("a string takes it");
        given.push("fl".to_owned());
    }
    format!(
        "{{ {declared} .param .b32 er; call.uni (er), {function}, ({}); ld.param.b32 %r30, [er]; }}
        st.global.u32 [%rd10+{}], %r30;\n",
        given.join(", "),
        256 + 4 * slot
    )
}

/// Creates an event, whose handle is then in `%rd30`.
fn event(flags: u32, slot: u32) -> String {
    let created = event_call("cudaEventCreateWithFlags", &["%rd31"], Some(flags), slot);
    format!("add.u64 %rd31, %rd10, 1024;\n{created}ld.global.u64 %rd30, [%rd31];\n")
}

fn record(stream: &str, slot: u32) -> String {
    event_call("cudaEventRecord", &["%rd30", stream], None, slot)
}

fn wait(stream: &str, slot: u32) -> String {
    event_call("cudaStreamWaitEvent", &[stream, "%rd30"], Some(0), slot)
}

fn with_events(body: &[String]) -> Result<(warpweave_ptx::Family, Vec<u32>), EmulationError> {
    let text = format!("{EVENT_FUNCTIONS}{}", ranked(&body.concat()));
    run(&text, 1, 0, &EmulationOptions::default())
}

#[test]
fn events_that_streams_keep_by_themselves_change_nothing() {
    let destroy = |slot| event_call("cudaEventDestroy", &["%rd30"], None, slot);
    let body = [
        event(2, 0),
        // Never recorded, and recorded before any launch.
        wait("2", 1),
        record("0", 2),
        wait("2", 3),
        child(0, "0"),
        record("0", 4),
        // The implicit stream under its other name keeps its order.
        wait("1", 5),
        child(1, "0"),
        destroy(6),
        child(2, "2"),
    ];
    let (family, words) = with_events(&body).unwrap();
    assert_eq!(words[64..71], [0; 7]);
    assert_eq!(words[..4], [3, 0, 1, 2]);
    let streams = family.kernels[1..].iter();
    let streams: Vec<u32> = streams
        .map(|kernel| kernel.parent.unwrap().stream)
        .collect();
    assert_eq!(streams[0], streams[1]);
    assert_ne!(streams[0], streams[2]);
}

#[test]
fn a_stream_that_waits_for_kernels_of_another_is_refused_with_its_line() {
    let body = [event(2, 0), child(0, "0"), record("0", 1), wait("2", 2)];
    let said = with_events(&body).map(drop).unwrap_err().to_string();
    let reason = "`cudaStreamWaitEvent` makes a stream wait for kernels of another stream";
    assert!(
        said.contains(reason) && said.contains("test.ptx:"),
        "{said}"
    );
    // The null stream of a thread is another one than that of its work-group.
    let per_thread = event_call("cudaEventRecord_ptsz", &["%rd30", "0"], None, 1);
    let body = [event(2, 0), child(0, "2"), per_thread, wait("0", 2)];
    assert!(with_events(&body).is_err());
}

#[test]
fn calls_that_events_of_device_code_do_not_have_give_the_errors_of_the_runtime() {
    let unknown = "%rd10";
    let body = [
        // With times, which device code cannot ask for.
        event(0, 0),
        event(2, 1),
        // The tail-launch and the fire-and-forget stream take no events.
        record("3", 2),
        wait("4", 3),
        record("0x0100000000000000", 4),
        // Handles of nothing.
        record("77", 5),
        event_call("cudaEventRecord", &[unknown, "0"], None, 6),
        event_call("cudaStreamWaitEvent", &["0", unknown], Some(0), 7),
        event_call("cudaEventDestroy", &[unknown], None, 8),
        event_call("cudaStreamWaitEvent", &["0", "%rd30"], Some(1), 9),
        event_call("cudaEventDestroy", &["%rd30"], None, 10),
        event_call("cudaEventDestroy", &["%rd30"], None, 11),
        "{ .param .b32 er; call.uni (er), cudaGetLastError, (); ld.param.b32 %r30, [er]; }
        st.global.u32 [%rd10+304], %r30;\n"
            .to_owned(),
    ];
    let (family, words) = with_events(&body).unwrap();
    assert_eq!(
        words[64..77],
        [1, 0, 1, 1, 1, 400, 400, 400, 400, 1, 0, 400, 400]
    );
    assert_eq!((family.kernels.len(), family.refused), (1, 0));
}

#[test]
fn launches_from_the_device_have_a_limit_with_the_launching_line() {
    let module = module(&ranked(&format!("{}{}", child(0, "0"), child(1, "0"))));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 64);
    let args = [KernelArgument::Pointer(out), KernelArgument::U32(0)];
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [1, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    let mut attempt = |kernel: u32| {
        let mut numbers = Numbers {
            kernel,
            ..Numbers::default()
        };
        let (options, watch) = (EmulationOptions::default(), LaunchWatch::default());
        launch_family(
            &module,
            "k",
            config,
            &mut memory,
            &options,
            &mut numbers,
            watch,
        )
    };
    assert_eq!(attempt((1 << 22) - 3).unwrap().kernels.len(), 3);
    let error = attempt((1 << 22) - 2).unwrap_err();
    let said = error.to_string();
    assert!(matches!(error, EmulationError::Launches { .. }), "{said}");
    assert!(
        said.contains("test.ptx:") && said.contains("launched 4194304 kernels"),
        "{said}"
    );
}

/// Emulates `k(out)` within a memory budget.
fn within(budget: u64, text: &str, options: &EmulationOptions) -> Result<(), EmulationError> {
    let module = module(text);
    let mut memory = DeviceMemory::new().charged_to(&Ledger::new(&Budget::of(budget)));
    let out = memory.allocate("out", 64);
    let config = LaunchConfig {
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_local_bytes: 0,
        args: &[KernelArgument::Pointer(out)],
    };
    launch(&module, "k", config, &mut memory, options).map(drop)
}

#[test]
fn the_memory_of_nested_calls_is_charged_before_it_is_taken() {
    let recursive = |bytes: u32| {
        format!(
            ".func f() {{ .local .b8 x[{bytes}]; call f, (); ret; }}
            .visible .entry k(.param .u64 out) {{ call f, (); ret; }}"
        )
    };
    let options = EmulationOptions::default();
    let said = within(100 << 20, &recursive(100_000), &options).unwrap_err();
    assert!(matches!(said, EmulationError::OverBudget(_)), "{said}");
    let said = said.to_string();
    assert!(
        said.contains("nested calls") && said.contains("test.ptx:") && said.contains("kernel `k`"),
        "{said}"
    );
    // With enough memory, the depth of calls is the limit.
    let said = within(u64::MAX, &recursive(1000), &options).unwrap_err();
    assert!(matches!(said, EmulationError::CallDepth { .. }), "{said}");
    // The window of private memory is a limit too.
    let said = within(u64::MAX, &recursive(4_000_000), &options).unwrap_err();
    assert!(
        said.to_string()
            .contains("at most 16777216 can be addressed"),
        "{said}"
    );
    let text = ".visible .entry k(.param .u64 out) { .local .b8 x[20000000]; ret; }";
    let said = within(u64::MAX, text, &options).unwrap_err();
    assert!(matches!(said, EmulationError::Launch { .. }), "{said}");
}

#[test]
fn the_device_heap_is_charged_before_it_is_taken() {
    let body = "mov.u64 %rd1, 5000000;
        { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd1; call.uni (r), malloc, (n); }";
    let text = format!("{}{}", declarations("cuda"), entry("k", body))
        .replace(", .param .u32 left)", ")")
        .replace("ld.param.u32 %r9, [left];", "");
    let options = EmulationOptions {
        heap_bytes: 1 << 30,
        ..EmulationOptions::default()
    };
    within(u64::MAX, &text, &options).unwrap();
    let said = within(26 << 20, &text, &options).unwrap_err();
    assert!(matches!(said, EmulationError::OverBudget(_)), "{said}");
    assert!(said.to_string().contains("`malloc`"), "{said}");
}
