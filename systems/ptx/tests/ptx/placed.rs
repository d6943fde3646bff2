//! Tests of placed launches, whose work-groups ask where they run.

use insta::assert_snapshot;
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, KernelArgument, LaunchConfig, Module, Order, launch,
};
use warpweave_trace::{KernelTrace, Place, PlacedBy};

use crate::harness::{HEADER, module};

fn placed(units: u32, contexts: u32, by: PlacedBy) -> EmulationOptions {
    EmulationOptions {
        place: Some(Place {
            units,
            contexts,
            by,
        }),
        ..EmulationOptions::default()
    }
}

/// Launches `k(out, counters, tasks, active)`; returns the words of `out` and the trace.
fn run(
    module: &Module,
    kernel: &str,
    grid: u32,
    [threads, tasks, active]: [u32; 3],
    options: &EmulationOptions,
) -> Result<(Vec<u32>, KernelTrace), String> {
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 1 << 16);
    let counters = memory.allocate("counters", 1 << 8);
    let args = [
        KernelArgument::Pointer(out),
        KernelArgument::Pointer(counters),
        KernelArgument::U32(tasks),
        KernelArgument::U32(active),
    ];
    let config = LaunchConfig {
        grid: [grid, 1, 1],
        block: [threads, 1, 1],
        dynamic_local_bytes: 0,
        args: &args,
    };
    let trace = launch(module, kernel, config, &mut memory, options);
    let trace = trace.map_err(|error| error.to_string())?;
    let bytes = memory.read(out, 1 << 16).expect("inside");
    let words = bytes.as_chunks::<4>().0.iter();
    Ok((words.map(|word| u32::from_le_bytes(*word)).collect(), trace))
}

fn entry(body: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out, .param .u64 counters, .param .u32 tasks, .param .u32 active)
{{
    .reg .b32 %r<32>; .reg .b64 %rd<8>; .reg .pred %p<4>;
    .shared .align 4 .b32 number;
    ld.param.u64 %rd0, [out];
    ld.param.u32 %r20, [tasks];
    ld.param.u32 %r21, [active];
{body}
    ret;
}}
"
    )
}

#[test]
fn registers_of_place_have_the_values_of_the_declared_placement() {
    let module = module(&entry(
        "    mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; mov.u32 %r3, %warpid; mov.u32 %r4, %nwarpid;
    mad.lo.u32 %r5, %r1, %r4, %r3;
    mul.wide.u32 %rd1, %r5, 16;
    add.u64 %rd1, %rd0, %rd1;
    st.global.v4.u32 [%rd1], {%r1, %r2, %r3, %r4};",
    ));
    let (units, contexts, wavefronts) = (3, 4, 2);
    // A placement by arrival declares the same.
    for by in [PlacedBy::Slot, PlacedBy::Arrival] {
        let options = placed(units, contexts, by);
        let (words, trace) = run(&module, "k", 12, [40, 0, 0], &options).unwrap();
        assert_eq!(trace.place(), options.place);
        let slots = contexts * wavefronts;
        for place in 0..units * slots {
            let (unit, slot) = (place / slots, place % slots);
            let told = &words[4 * place as usize..][..4];
            assert_eq!(told, [unit, units, slot, slots], "unit {unit}, slot {slot}");
        }
        // Context `n / units` of unit `n % units` is work-group `n` of the trace.
        for work_group in 0..12 {
            let mut cursor = trace.cursor(work_group, 1);
            let mut lanes = warpweave_trace::Lanes::default();
            let mut stored = None;
            while let Some(record) = cursor.next(&trace, &mut lanes) {
                if record.space == warpweave_trace::Space::Global {
                    stored = lanes.iter(record.mask).next().map(|(_, address)| address);
                }
            }
            let slot = work_group / units * wavefronts + 1;
            let place = work_group % units * slots + slot;
            assert_eq!(stored.unwrap() % (1 << 16), u64::from(place) * 16);
        }
    }
}

/// Clustered tasks (CCL-M7), after `%r1` received the unit, `%r2` the units and `%r3` the agent.
const TASKS: &str = "
    div.u32 %r4, %r20, %r2; rem.u32 %r5, %r20, %r2;
    add.u32 %r6, %r4, 1;
    mul.lo.u32 %r7, %r6, %r1;
    sub.s32 %r8, %r5, %r1; min.s32 %r8, %r8, 0; add.s32 %r7, %r7, %r8;
    setp.lt.u32 %p0, %r1, %r5; selp.u32 %r9, %r6, %r4, %p0;
    add.u32 %r9, %r9, %r7;
    add.u32 %r10, %r7, %r3;
    mov.u32 %r11, %tid.x;
    setp.ge.u32 %p1, %r3, %r21;
    @%p1 bra done;
next:
    setp.ge.u32 %p2, %r10, %r9;
    @%p2 bra done;
    mad.lo.u32 %r12, %r10, 32, %r11;
    mul.wide.u32 %rd1, %r12, 4; add.u64 %rd1, %rd0, %rd1;
    ld.global.u32 %r13, [%rd1];
    mad.lo.u32 %r14, %r10, 1000, %r11; add.u32 %r14, %r14, 7; add.u32 %r14, %r14, %r13;
    st.global.u32 [%rd1], %r14;
    add.u32 %r10, %r10, %r21;
    bra next;
done:
";

/// Task `v` of the plain kernel is its work-group `v`.
const PLAIN: &str = "
    mov.u32 %r10, %ctaid.x; mov.u32 %r11, %tid.x;
    mad.lo.u32 %r12, %r10, 32, %r11;
    mul.wide.u32 %rd1, %r12, 4; add.u64 %rd1, %rd0, %rd1;
    ld.global.u32 %r13, [%rd1];
    mad.lo.u32 %r14, %r10, 1000, %r11; add.u32 %r14, %r14, 7; add.u32 %r14, %r14, %r13;
    st.global.u32 [%rd1], %r14;
";

fn by_slot(next: &str) -> String {
    entry(&format!(
        "    mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; mov.u32 %r3, %warpid; {next}"
    ))
}

fn by_arrival(barrier: &str) -> String {
    entry(&format!(
        "    mov.u32 %r1, %smid; mov.u32 %r2, %nsmid; mov.u32 %r11, %tid.x;
    ld.param.u64 %rd2, [counters]; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd2, %rd2, %rd3;
    setp.ne.u32 %p3, %r11, 0;
    @%p3 bra counted;
    atom.global.add.u32 %r3, [%rd2], 1;
    st.shared.u32 [number], %r3;
counted:
    {barrier}
    ld.shared.u32 %r3, [number];
{TASKS}"
    ))
}

#[test]
fn agents_leave_the_memory_of_the_plain_kernel_in_every_order_of_emulation() {
    let plain = module(&entry(PLAIN));
    let (slot, arrival) = (module(&by_slot(TASKS)), module(&by_arrival("bar.sync 0;")));
    for tasks in [1, 5, 23, 64] {
        let options = EmulationOptions::default();
        let (expected, _) = run(&plain, "k", tasks, [32, 0, 0], &options).unwrap();
        for (units, contexts) in [(1, 1), (1, 4), (3, 2), (5, 3), (20, 2)] {
            for active in [1, contexts] {
                for (resident, order) in [
                    (1, Order::Linear),
                    (3, Order::Reversed),
                    (60, Order::Shuffled(5)),
                ] {
                    for (agents, by) in [(&slot, PlacedBy::Slot), (&arrival, PlacedBy::Arrival)] {
                        let options = EmulationOptions {
                            resident_work_groups: resident,
                            quantum: 3,
                            order,
                            ..placed(units, contexts, by)
                        };
                        let shape = [32, tasks, active];
                        let (words, _) =
                            run(agents, "k", units * contexts, shape, &options).unwrap();
                        let case = format!("{tasks} tasks, {units} units, {contexts}, {order:?}");
                        assert!(words == expected, "{case}, {by:?}, {active} active");
                    }
                }
            }
        }
    }
}

#[test]
fn wrong_agents_do_not_leave_the_memory_of_the_plain_kernel() {
    let plain = module(&entry(PLAIN));
    let options = EmulationOptions::default();
    let (expected, _) = run(&plain, "k", 23, [32, 0, 0], &options).unwrap();
    let wrong_sum = TASKS.replace("add.u32 %r6, %r4, 1;", "add.u32 %r6, %r4, 2;");
    let wrong_guard = TASKS.replace("setp.lt.u32 %p0, %r1, %r5;", "setp.le.u32 %p0, %r1, %r5;");
    let wrong_number = TASKS.replace(
        "add.u32 %r10, %r7, %r3;",
        "add.u32 %r10, %r7, %r3; add.u32 %r10, %r10, 1;",
    );
    for mutant in [wrong_sum, wrong_guard, wrong_number] {
        assert_ne!(mutant, TASKS);
        let agents = module(&by_slot(&mutant));
        let options = placed(4, 2, PlacedBy::Slot);
        let (words, _) = run(&agents, "k", 8, [32, 23, 2], &options).unwrap();
        assert!(words != expected);
    }
    // Counters that were not cleared, and a barrier that is missing.
    let stale = by_arrival("bar.sync 0;").replace(
        "atom.global.add.u32 %r3, [%rd2], 1;",
        "atom.global.add.u32 %r3, [%rd2], 1; add.u32 %r3, %r3, 2;",
    );
    let agents = module(&stale);
    let options = placed(4, 2, PlacedBy::Arrival);
    let (words, _) = run(&agents, "k", 8, [32, 23, 2], &options).unwrap();
    assert!(words != expected);
}

fn refusal(text: &str, grid: u32, options: &EmulationOptions) -> String {
    run(&module(text), "k", grid, [32, 4, 1], options).expect_err("must be refused")
}

#[test]
fn a_kernel_that_asks_for_its_place_is_refused_only_when_launched_without_one() {
    let text = format!(
        "{}.visible .entry other() {{ ret; }}",
        entry("    mov.u32 %r1, %smid;\n    mov.u32 %r3, %nwarpid;")
    );
    let parsed = module(&text);
    assert_eq!(parsed.refused().len(), 0);
    let kernel = parsed.kernel("k").expect("it can be launched");
    assert!(kernel.asks_place() && kernel.check_questions(true).is_ok());
    assert!(!parsed.kernel("other").unwrap().asks_place());
    assert_snapshot!(refusal(&text, 1, &EmulationOptions::default()), @"
    kernel `k` uses unsupported features:
    test.ptx:11:18: `%smid` depends on placement or time, which are unknown in emulation
    11 |     mov.u32 %r1, %smid;
       |                  ^^^^^
    hint: launch the kernel with `place: (units: .., contexts: .., by: Slot)` or `by: Arrival`
    test.ptx:12:18: `%nwarpid` depends on placement or time, which are unknown in emulation
    12 |     mov.u32 %r3, %nwarpid;
       |                  ^^^^^^^^
    hint: launch the kernel with `place: (units: .., contexts: .., by: Slot)` or `by: Arrival`
    ");
}

#[test]
fn a_kernel_that_asks_for_its_number_and_its_place_is_refused_with_a_place() {
    let text = format!(
        ".func (.reg .b32 %r0) which() {{ mov.u32 %r0, %clusterid.y; ret; }}\n{}",
        entry("    mov.u32 %r1, %smid;\n    mov.u32 %r2, %ctaid.x;\n    call (%r3), which;")
    );
    assert_snapshot!(refusal(&text, 4, &placed(4, 1, PlacedBy::Slot)), @"
    kernel `k` uses unsupported features:
    test.ptx:4:46: the kernel asks for its number and its place: `%clusterid.y` here and `%smid` in line 12
    4 | .func (.reg .b32 %r0) which() { mov.u32 %r0, %clusterid.y; ret; }
      |                                              ^^^^^^^^^^^^
    hint: work-groups of a placed launch take their work from their place alone; let the kernel find it from `%smid` and its number on the unit
    test.ptx:13:18: the kernel asks for its number and its place: `%ctaid.x` here and `%smid` in line 12
    13 |     mov.u32 %r2, %ctaid.x;
       |                  ^^^^^^^^
    hint: work-groups of a placed launch take their work from their place alone; let the kernel find it from `%smid` and its number on the unit
    ");
    let without = refusal(&text, 4, &EmulationOptions::default());
    assert!(
        without.contains("`%smid` depends on placement"),
        "{without}"
    );
    assert!(!without.contains("%ctaid"), "{without}");
}

#[test]
fn the_grid_of_a_placed_launch_has_a_work_group_for_every_context() {
    let text = entry("    mov.u32 %r1, %smid;");
    assert_snapshot!(refusal(&text, 6, &placed(4, 2, PlacedBy::Slot)), @"kernel `k`: a grid of 6 work-groups, but its `place` has 4 units of 2 contexts, 8 in all");
}

#[test]
fn a_kernel_that_does_not_ask_runs_as_without_a_place() {
    let plain = module(&entry(PLAIN));
    let options = EmulationOptions::default();
    let (expected, without) = run(&plain, "k", 6, [32, 0, 0], &options).unwrap();
    let (words, with) = run(&plain, "k", 6, [32, 0, 0], &placed(4, 2, PlacedBy::Slot)).unwrap();
    assert!(words == expected);
    assert_eq!((with.place(), with.hash()), (None, without.hash()));
}

#[test]
fn the_hash_of_a_trace_tells_how_it_is_placed() {
    let asks = module(&entry("    mov.u32 %r1, %smid;"));
    let hash = |units, contexts, by| {
        let (_, trace) = run(&asks, "k", 8, [32, 0, 0], &placed(units, contexts, by)).unwrap();
        trace.hash()
    };
    let first = hash(4, 2, PlacedBy::Slot);
    assert_eq!(first, hash(4, 2, PlacedBy::Slot));
    assert_ne!(first, hash(4, 2, PlacedBy::Arrival));
    assert_ne!(first, hash(2, 4, PlacedBy::Slot));
}

#[test]
fn registers_of_time_stay_refused() {
    let text = format!("{HEADER}{}", entry("    mov.u32 %r1, %clock;"));
    let module = Module::parse("test.ptx", &text).unwrap();
    assert_eq!(module.refused().len(), 1);
}
