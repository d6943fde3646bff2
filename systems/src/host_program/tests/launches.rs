//! Limits and attributes of launches.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use warpweave_files::{Budget, Ledger};
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Files, Source, parse};
use warpweave_trace::{Attribute, Class, Place, PlacedBy};

use crate::host_program::{EmulationSpec, Executed, HostProgram, StaticLaunches};

/// Executes a workload of this module, buffers and commands; messages call its folder `folder`.
fn execute(module: &str, buffers: &str, commands: &str) -> Result<Executed, String> {
    let folder = tempfile::tempdir().unwrap();
    let head = ".version 7.0 .target sm_70 .address_size 64\n";
    std::fs::write(folder.path().join("k.ptx"), format!("{head}{module}")).unwrap();
    let text = format!(
        "Workload(module: \"k.ptx\", buffers: {{ {buffers} }}, commands: [\n    {commands}\n])"
    );
    let node = parse(&Source::new("w.ron", text)).unwrap();
    let files = Files::of(folder.path());
    let references = standard_references();
    let program = HostProgram::from_node(&node, &files, None, &BTreeMap::new(), &references);
    let executed = match program {
        Err(problems) => Err(problems.to_string()),
        Ok(program) => {
            let executed = program.execute(&EmulationSpec::default());
            executed.map_err(|error| error.to_string())
        }
    };
    executed.map_err(|said| said.replace(&folder.path().display().to_string(), "folder"))
}

fn launch(kernel: &str, fields: &str) -> String {
    format!("Launch(kernel: \"{kernel}\", {fields}, arguments: [])")
}

#[test]
fn a_launch_beyond_maxntid_is_refused_with_its_line() {
    let run = |declared: &str, commands: &str| {
        let module = format!(".visible .entry k()\n{declared}\n{{ ret; }}\n");
        execute(&module, "", commands)
    };
    let of = |block: &str| launch("k", &format!("grid: 1, block: {block}"));
    run(".maxntid 16, 16, 1", &of("[256]")).unwrap();
    run(".reqntid 8, 2", &of("[8, 2]")).unwrap();
    assert_snapshot!(run(".maxntid 16, 16, 1", &of("[16, 17]")).unwrap_err(), @r#"
    error: kernel `k`: a work-group of 272 threads, but the kernel declares `.maxntid 16, 16, 1`, at most 256 threads
     --> w.ron:2:42
      |
    2 |     Launch(kernel: "k", grid: 1, block: [16, 17], arguments: [])
      |                                          ^^
      = hint: the directive is at folder/k.ptx:3
    "#);
    assert_snapshot!(run(".maxnreg 32\n.reqntid 8, 1, 1", &of("4")).unwrap_err(), @r#"
    error: kernel `k`: a work-group of 4, 1, 1 threads, but the kernel declares `.reqntid 8, 1, 1`, which is the only shape it may be launched with
     --> w.ron:2:41
      |
    2 |     Launch(kernel: "k", grid: 1, block: 4, arguments: [])
      |                                         ^
      = hint: the directive is at folder/k.ptx:4
    "#);
    assert_snapshot!(run(".reqntid 16", &of("[8, 2]")).unwrap_err(), @r#"
    error: kernel `k`: a work-group of 8, 2, 1 threads, but the kernel declares `.reqntid 16, 1, 1`, which is the only shape it may be launched with
     --> w.ron:2:42
      |
    2 |     Launch(kernel: "k", grid: 1, block: [8, 2], arguments: [])
      |                                          ^
      = hint: the directive is at folder/k.ptx:3
    "#);
    // The block is known only in the second round.
    let grows = of("\"=8 + i\"");
    let repeat = format!("Repeat(times: 2, counter: \"i\", body: [{grows}])");
    assert_snapshot!(run(".maxntid 8", &repeat).unwrap_err(), @r#"
    error: launch 1 failed: kernel `k`: a work-group of 9 threads, but the kernel declares `.maxntid 8, 1, 1`, at most 8 threads (folder/k.ptx:3)
     --> w.ron:2:43
      |
    2 |     Repeat(times: 2, counter: "i", body: [Launch(kernel: "k", grid: 1, block: "=8 + i", arguments: [])])
      |                                           ^^^^^^
    "#);
}

#[test]
fn grids_and_blocks_beyond_the_axes_of_a_gpu_are_refused() {
    let said: Vec<String> = [
        "grid: [2147483648], block: 1",
        "grid: [1, 65536], block: 1",
        "grid: [1, 1, 65536], block: 1",
        "grid: 1, block: [1, 1, 65]",
        "grid: 1, block: 1025",
        "grid: 1, block: [32, 0]",
    ]
    .map(|shape| {
        let said = execute(".visible .entry k() { ret; }", "", &launch("k", shape));
        let said = said.unwrap_err();
        said.lines().next().unwrap_or_default().to_owned()
    })
    .to_vec();
    assert_snapshot!(said.join("\n"), @"
    error: the grid along x is 2147483648, expected 1 to 2147483647
    error: the grid along y is 65536, expected 1 to 65535
    error: the grid along z is 65536, expected 1 to 65535
    error: the block along z is 65, expected 1 to 64
    error: the block along x is 1025, expected 1 to 1024
    error: the block along y is 0, expected 1 to 1024
    ");
}

/// Each thread counts itself and waits until those of all four work-groups have.
const GRID_BARRIER: &str = "
.global .u32 count;
.visible .entry k() {
    .reg .b32 %r<4>; .reg .pred %p1;
    red.global.add.u32 [count], 1;
wait:
    ld.volatile.global.u32 %r1, [count];
    setp.lt.u32 %p1, %r1, 128;
    @%p1 bra wait;
    ret;
}
";

#[test]
fn a_grid_wide_barrier_passes_in_a_cooperative_launch_only() {
    let plain = launch("k", "grid: 4, block: 32");
    let said = execute(GRID_BARRIER, "", &plain).unwrap_err();
    assert!(
        said.contains("such a grid-wide barrier passes only if all work-groups are resident; launch the kernel with `cooperative: true`"),
        "{said}"
    );
    let cooperative = launch("k", "grid: 4, block: 32, cooperative: true");
    let executed = execute(GRID_BARRIER, "", &cooperative).unwrap();
    assert!(executed.program.kernels[0].is_cooperative());
}

#[test]
fn the_registers_of_a_launch_can_be_stated() {
    let module = ".visible .entry k() { ret; }";
    let of = |fields: &str| {
        execute(
            module,
            "",
            &launch("k", &format!("grid: 1, block: 1{fields}")),
        )
    };
    let registers = |executed: Executed| executed.program.kernels[0].registers_per_thread();
    assert_eq!(registers(of("").unwrap()), 0);
    let stated = of(", registers_per_thread: 40").unwrap();
    let kernel = &stated.program.kernels[0];
    assert_eq!(kernel.attribute(Attribute::REGISTERS), Some(40));
    assert_eq!(kernel.code.registers_per_thread, 0);
    assert_eq!(kernel.code.instructions[0].class, Class::Exit);
    assert_eq!(registers(stated), 40);
    assert_snapshot!(of(", registers_per_thread: 256").unwrap_err(), @r#"
    error: the number of registers per thread is 256, expected 1 to 255
     --> w.ron:2:66
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, registers_per_thread: 256, arguments: [])
      |                                                                  ^^^
    "#);
}

/// Asks for the unit, and stores nothing.
const ASKS: &str = ".visible .entry k() {\n    .reg .b32 %r<2>;\n    mov.u32 %r1, %smid;\n    ret;\n}\n.visible .entry plain() { ret; }\n.visible .entry both() {\n    .reg .b32 %r<3>;\n    mov.u32 %r1, %smid;\n    mov.u32 %r2, %ctaid.x;\n    ret;\n}";

#[test]
fn the_place_of_a_launch_reaches_the_trace_of_a_kernel_that_asks_for_it() {
    let of = |kernel: &str, grid: u32, by: &str| {
        let place = format!("place: (units: \"=2 * 2\", contexts: 3, by: {by})");
        let command = launch(kernel, &format!("grid: {grid}, block: 1, {place}"));
        execute(ASKS, "", &command)
    };
    for (text, by) in [("Slot", PlacedBy::Slot), ("Arrival", PlacedBy::Arrival)] {
        let executed = of("k", 12, text).unwrap();
        let place = Place {
            units: 4,
            contexts: 3,
            by,
        };
        assert_eq!(executed.program.kernels[0].place(), Some(place));
    }
    let plain = of("plain", 7, "Slot").unwrap();
    assert_eq!(plain.program.kernels[0].place(), None);
    assert_eq!(plain.program.kernels[0].attributes, []);
    assert_snapshot!(of("k", 11, "Slot").unwrap_err(), @r#"
    error: kernel `k`: a grid of 11 work-groups, but its `place` has 4 units of 3 contexts, 12 in all
     --> w.ron:2:31
      |
    2 |     Launch(kernel: "k", grid: 11, block: 1, place: (units: "=2 * 2", contexts: 3, by: Slot), arguments: [])
      |                               ^^
      = hint: launch as many work-groups as the units hold at once: `units` times `contexts`
    "#);
    assert_snapshot!(of("both", 12, "Slot").unwrap_err(), @r#"
    error: the kernel asks for its number and its place: `%ctaid.x` here and `%smid` in line 10
      --> folder/k.ptx:11:18
       |
    11 |     mov.u32 %r2, %ctaid.x;
       |                  ^^^^^^^^
       = hint: work-groups of a placed launch take their work from their place alone; let the kernel find it from `%smid` and its number on the unit
    note: kernel `both` uses this and is launched here
      --> w.ron:2:20
       |
     2 |     Launch(kernel: "both", grid: 12, block: 1, place: (units: "=2 * 2", contexts: 3, by: Slot), arguments: [])
       |                    ------
    "#);
    assert_snapshot!(of("k", 12, "Slots").unwrap_err(), @r#"
    error: unknown variant `Slots` of PlacedBy
     --> w.ron:2:87
      |
    2 |     Launch(kernel: "k", grid: 12, block: 1, place: (units: "=2 * 2", contexts: 3, by: Slots), arguments: [])
      |                                                                                       ^^^^^
      = hint: did you mean `Slot`? variants: Slot, Arrival
    "#);
}

#[test]
fn a_kernel_that_asks_where_it_runs_is_refused_without_a_place() {
    let of = |fields: &str| execute(ASKS, "", &launch("k", fields)).unwrap_err();
    assert_snapshot!(of("grid: 1, block: 1"), @r#"
    error: `%smid` depends on placement or time, which are unknown in emulation
     --> folder/k.ptx:4:18
      |
    4 |     mov.u32 %r1, %smid;
      |                  ^^^^^
      = hint: launch the kernel with `place: (units: .., contexts: .., by: Slot)` or `by: Arrival`
    note: kernel `k` uses this and is launched here
     --> w.ron:2:20
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, arguments: [])
      |                    ---
    "#);
    assert_snapshot!(of("grid: 1, block: 1, place: (units: 1)"), @r#"
    error: missing field `contexts` in LaunchPlace
     --> w.ron:2:51
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, place: (units: 1), arguments: [])
      |                                                   ^
      = hint: add `contexts: ..`; fields of LaunchPlace: units, contexts, by
    "#);
    assert_snapshot!(of("grid: 1, block: 1, place: (units: 0, contexts: 1, by: Slot)"), @r#"
    error: the number of units of `place` is 0, expected 1 to 16777216
     --> w.ron:2:59
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, place: (units: 0, contexts: 1, by: Slot), arguments: [])
      |                                                           ^
    "#);
    assert_snapshot!(of("grid: 1, block: 1, attributes: { \"place_units\": 1 }"), @r#"
    error: `place_units` cannot be stated as an attribute
     --> w.ron:2:58
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, attributes: { "place_units": 1 }, arguments: [])
      |                                                          ^^^^^^^^^^^^^
      = hint: use the field `place`

    error: `%smid` depends on placement or time, which are unknown in emulation
     --> folder/k.ptx:4:18
      |
    4 |     mov.u32 %r1, %smid;
      |                  ^^^^^
      = hint: launch the kernel with `place: (units: .., contexts: .., by: Slot)` or `by: Arrival`
    note: kernel `k` uses this and is launched here
     --> w.ron:2:20
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, attributes: { "place_units": 1 }, arguments: [])
      |                    ---
    "#);
}

/// Counts its agents per unit; the last word is their sum.
const COUNTS: &str = ".visible .entry k(.param .u64 counters, .param .u64 sum) {
    .reg .b32 %r<8>; .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [counters]; ld.param.u64 %rd2, [sum];
    mov.u32 %r1, %smid; mul.wide.u32 %rd3, %r1, 4; add.u64 %rd3, %rd1, %rd3;
    atom.global.add.u32 %r2, [%rd3], 1;
    red.global.add.u32 [%rd2], %r2;
    ret;
}";

#[test]
fn a_program_clears_its_counters_before_each_launch() {
    let command = "CopyToDevice(\"counters\"), Launch(kernel: \"k\", grid: 6, block: 1, place: (units: 2, contexts: 3, by: Arrival), arguments: [Buffer(\"counters\"), Buffer(\"sum\")])";
    let zero =
        |name: &str, length: u32| format!("\"{name}\": Zero(element: U32, length: {length})");
    let buffers = format!("{}, {}", zero("counters", 2), zero("sum", 1));
    let sum = |commands: &str| {
        let commands = format!("CopyToDevice(\"sum\"), {commands}, CopyToHost(\"sum\")");
        let executed = execute(COUNTS, &buffers, &commands).unwrap();
        executed.outputs["sum"][0]
    };
    // Each launch adds 0 + 1 + 2 for each of two units.
    assert_eq!(sum(&format!("{command}, {command}")), 12);
    let stale = command.replacen("CopyToDevice(\"counters\"), ", "", 1);
    assert_eq!(sum(&format!("{command}, {stale}")), 30);
}

#[test]
fn attributes_of_a_launch_reach_the_trace() {
    let module = ".visible .entry k() { ret; }";
    let of = |attributes: &str| {
        let fields = format!("grid: 1, block: 1, attributes: {attributes}");
        execute(module, "", &launch("k", &fields))
    };
    let stated = of(r#"{ "work_group_map": 2, "other": "=2 * 20" }"#).unwrap();
    let kernel = &stated.program.kernels[0];
    assert_eq!(kernel.attribute("work_group_map"), Some(2));
    assert_eq!(kernel.attribute("other"), Some(40));
    let plain = execute(module, "", &launch("k", "grid: 1, block: 1")).unwrap();
    assert_ne!(plain.program.hash(), stated.program.hash());
    assert_snapshot!(of(r#"{ "cooperative": 1 }"#).unwrap_err(), @r#"
    error: `cooperative` cannot be stated as an attribute
     --> w.ron:2:58
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, attributes: { "cooperative": 1 }, arguments: [])
      |                                                          ^^^^^^^^^^^^^
      = hint: use the field `cooperative`
    "#);
    assert_snapshot!(of(r#"{ "work_group_map": -1 }"#).unwrap_err(), @r#"
    error: the attribute `work_group_map` is -1, expected 0 to 18446744073709551615
     --> w.ron:2:76
      |
    2 |     Launch(kernel: "k", grid: 1, block: 1, attributes: { "work_group_map": -1 }, arguments: [])
      |                                                                            ^^
    "#);
}

#[test]
fn buffers_are_charged_before_they_are_allocated() {
    let folder = tempfile::tempdir().unwrap();
    let text = ".version 7.0 .target sm_70 .address_size 64 .visible .entry k() { ret; }";
    std::fs::write(folder.path().join("k.ptx"), text).unwrap();
    let text = "Workload(module: \"k.ptx\", buffers: { \"small\": Zero(element: U32, length: 1), \"large\": Zero(element: U32, length: 1000000000) }, commands: [Launch(kernel: \"k\", grid: 1, block: 1, arguments: [])])";
    let node = parse(&Source::new("w.ron", text)).unwrap();
    let ledger = Ledger::new(&Budget::of(100 << 20));
    let files = Files::of(folder.path()).charged_to(&ledger);
    let references = standard_references();
    let program =
        HostProgram::from_node(&node, &files, None, &BTreeMap::new(), &references).unwrap();
    let spec = EmulationSpec::default();
    let said = program.execute(&spec).unwrap_err();
    assert!(said.is_over_budget(), "{said}");
    assert!(
        said.to_string().contains("buffer `large` needs 14.9 GiB"),
        "{said}"
    );
    // The same holds where launches are determined beforehand, and where kernels are checked.
    assert!(StaticLaunches::of(&program, &spec, 1 << 20).is_none());
    assert!(program.examine(&spec).unwrap_err().is_over_budget());
}

#[test]
fn the_parts_of_a_kernels_name_are_joined() {
    let module = ".visible .entry smooth_rows() { ret; }\n";
    let run = |parts: &str| {
        let fields = "grid: 1, block: 1, arguments: []";
        execute(module, "", &format!("Launch(kernel: {parts}, {fields})"))
    };
    let executed = run("[\"smooth\", \"_\", \"rows\"]").unwrap();
    assert_eq!(executed.kernels, ["smooth_rows"]);
    let unknown = run("[\"smooth\", \"_rowss\"]").unwrap_err();
    assert!(unknown.contains("w.ron:2:21"), "{unknown}");
    assert!(unknown.contains("did you mean `smooth_rows`?"), "{unknown}");
    let none = run("[]").unwrap_err();
    assert!(
        none.contains("expected at least one part of a name"),
        "{none}"
    );
}
