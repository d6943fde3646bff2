//! Error messages for invalid workload files.

use insta::assert_snapshot;
use proptest::prelude::*;
use warpweave_params::{Source, from_node, parse};

use super::{folder, read};
use crate::host_program::{EmulationOrder, EmulationSpec};

const SMALL: &str = r#"Workload(
    params: { "n": 100, "block": 32, "factor": 0.5 },
    module: "cuda/vector_add.ptx",
    graphs: { "g": Grid(width: 4, height: 4) },
    buffers: {
        "a": Generated(element: F32, length: "=n", generator: Uniform(seed: 1, low: 0, high: 1)),
        "b": Generated(element: F32, length: "=n", generator: Iota),
        "sum": Zero(element: F32, length: "=n"),
        "columns": Columns("g"),
    },
    commands: [
        CopyToDevice("a"),
        CopyToDevice("b"),
        Launch(
            kernel: "vector_add", grid: "=ceil_div(n, block)", block: "=block",
            arguments: [Buffer("a"), Buffer("b"), Buffer("sum"), U32("=n")],
        ),
        CopyToHost("sum"),
    ],
    expect: [Expect(buffer: "sum", equals: VectorAdd(a: "a", b: "b"))],
)
"#;

/// Returns the error message of a small workload after a piece of it is replaced; its folder is
/// shown as `workloads`.
fn refusal(piece: &str, replacement: &str) -> String {
    refusal_with(piece, replacement, &[])
}

fn refusal_with(piece: &str, replacement: &str, sets: &[(&str, &str)]) -> String {
    assert!(SMALL.contains(piece), "{piece}");
    let source = Source::new("small.ron", SMALL.replacen(piece, replacement, 1));
    let message = match read(&source, sets) {
        Err(problems) => problems.to_string(),
        Ok(program) => match program.execute(&EmulationSpec::default()) {
            Err(error) => error.to_string(),
            Ok(executed) => format!("{:?} {:#?}", executed.verified, executed.checks),
        },
    };
    message.replace(&folder().display().to_string(), "workloads")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A file with a piece removed is either still valid or is rejected.
    #[test]
    fn damaged_files_never_panic(start in 0..SMALL.len(), length in 1_usize..40) {
        let end = (start + length).min(SMALL.len());
        let text = format!("{}{}", &SMALL[..start], &SMALL[end..]);
        match read(&Source::new("small.ron", text), &[]) {
            Ok(program) => { let _ = program.execute(&EmulationSpec::default()); }
            Err(problems) => prop_assert!(problems.has_errors()),
        }
    }
}

#[test]
fn emulation_is_read_from_a_scenario() {
    let read =
        |text: &str| from_node::<EmulationSpec>(&parse(&Source::new("e.ron", text)).unwrap());
    let spec = read("(order: Shuffled(seed: 7), quantum: 8)").unwrap();
    let expected = EmulationSpec {
        order: EmulationOrder::Shuffled { seed: 7 },
        quantum: 8,
        ..Default::default()
    };
    assert_eq!(spec, expected);
    assert_snapshot!(read("(resident: 7)").unwrap_err(), @"
    error: unknown field `resident` in EmulationSpec
     --> e.ron:1:2
      |
    1 | (resident: 7)
      |  ^^^^^^^^
      = hint: fields of EmulationSpec: resident_work_groups, quantum, order, step_limit, stall_limit, call_depth, stream_bytes, heap_bytes, allocation_offset_bytes, code
    ");
}

#[test]
fn unknown_buffers_are_named_with_the_nearest() {
    assert_snapshot!(refusal(r#"CopyToDevice("b")"#, r#"CopyToDevice("bb")"#), @r#"
    error: unknown buffer `bb`
      --> small.ron:13:22
       |
    13 |         CopyToDevice("bb"),
       |                      ^^^^
       = hint: did you mean `b`? buffers: a, b, sum, columns
    "#);
}

#[test]
fn unknown_graphs_are_named_with_the_nearest() {
    assert_snapshot!(refusal(r#"Columns("g")"#, r#"Columns("gg")"#), @r#"
    error: unknown graph `gg`
     --> small.ron:9:28
      |
    9 |         "columns": Columns("gg"),
      |                            ^^^^
      = hint: did you mean `g`? graphs: g
    "#);
}

#[test]
fn unknown_kernels_are_named_with_the_nearest() {
    assert_snapshot!(refusal(r#"kernel: "vector_add""#, r#"kernel: "vector_ad""#), @r#"
    error: workloads/cuda/vector_add.ptx has no kernel `vector_ad`
      --> small.ron:15:21
       |
    15 |             kernel: "vector_ad", grid: "=ceil_div(n, block)", block: "=block",
       |                     ^^^^^^^^^^^
       = hint: did you mean `vector_add`? kernels: vector_add
    "#);
}

#[test]
fn unknown_names_in_expressions_are_pointed_at() {
    assert_snapshot!(refusal(r#""=ceil_div(n, block)""#, r#""=ceil_div(n, blok)""#), @r#"
    error: unknown name `blok` in an expression
      --> small.ron:15:55
       |
    15 |             kernel: "vector_add", grid: "=ceil_div(n, blok)", block: "=block",
       |                                                       ^^^^
       = hint: did you mean `block`? names known here: block, factor, g_arcs, g_source, g_vertices, n
    "#);
}

#[test]
fn unknown_commands_are_named_with_the_nearest() {
    assert_snapshot!(refusal(r#"CopyToHost("sum")"#, r#"CopyToHosts("sum")"#), @r#"
    error: unknown variant `CopyToHosts` of Command
      --> small.ron:18:9
       |
    18 |         CopyToHosts("sum"),
       |         ^^^^^^^^^^^
       = hint: did you mean `CopyToHost`? variants: CopyToDevice, CopyToHost, CopyPartToDevice, CopyPartToHost, Read, WriteVariable, CopyToVariable, Write, Swap, BindTexture, Launch, Synchronize, If, Repeat, RepeatUntilZero
    "#);
}

#[test]
fn unknown_fields_are_named_with_the_nearest() {
    assert_snapshot!(refusal("expect:", "expects:"), @r#"
    error: unknown field `expects` in Workload
      --> small.ron:20:5
       |
    20 |     expects: [Expect(buffer: "sum", equals: VectorAdd(a: "a", b: "b"))],
       |     ^^^^^^^
       = hint: did you mean `expect`? fields of Workload: summary, params, sizes, module, modules, graphs, matrices, structs, buffers, textures, commands, expect, results, allow
    "#);
}

#[test]
fn missing_fields_are_named() {
    assert_snapshot!(refusal(r#"block: "=block","#, ""), @"
    error: missing field `block` in Launch
      --> small.ron:14:9
       |
    14 |         Launch(
       |         ^^^^^^
       = hint: add `block: ..`; fields of Launch: kernel, module, grid, block, dynamic_local_bytes, dynamic_shared_bytes, stream, cooperative, registers_per_thread, place, attributes, arguments
    ");
}

#[test]
fn too_few_arguments_list_the_parameters() {
    assert_snapshot!(refusal(r#", U32("=n")]"#, "]"), @r#"
    error: kernel `vector_add` takes 4 arguments, but 3 are given
      --> small.ron:15:21
       |
    15 |             kernel: "vector_add", grid: "=ceil_div(n, block)", block: "=block",
       |                     ^^^^^^^^^^^^
       = hint: the parameter types in order: .u64, .u64, .u64, .u32
    "#);
}

#[test]
fn arguments_of_a_wrong_type_are_pointed_at() {
    assert_snapshot!(refusal(r#"U32("=n")]"#, r#"F32("=factor")]"#), @r#"
    error: argument 4 of kernel `vector_add` is of type F32, but the parameter is of type .u32
      --> small.ron:16:66
       |
    16 |             arguments: [Buffer("a"), Buffer("b"), Buffer("sum"), F32("=factor")],
       |                                                                  ^^^
    "#);
}

#[test]
fn scalars_for_addresses_are_pointed_at() {
    assert_snapshot!(refusal(r#"Buffer("b"), Buffer("sum")"#, r#"U32(3), Buffer("sum")"#), @r#"
    error: argument 2 of kernel `vector_add` is of type U32, but the parameter is of type .u64
      --> small.ron:16:38
       |
    16 |             arguments: [Buffer("a"), U32(3), Buffer("sum"), U32("=n")],
       |                                      ^^^
    "#);
}

#[test]
fn arguments_out_of_range_are_pointed_at() {
    assert_snapshot!(refusal(r#"U32("=n")]"#, r#"U32("=n - 101")]"#), @r#"
    error: an argument of type U32 is -1, expected 0 to 4294967295
      --> small.ron:16:70
       |
    16 |             arguments: [Buffer("a"), Buffer("b"), Buffer("sum"), U32("=n - 101")],
       |                                                                      ^^^^^^^^^^
    "#);
}

#[test]
fn empty_grids_are_refused() {
    assert_snapshot!(refusal(r#"grid: "=ceil_div(n, block)""#, r#"grid: "=n / 1000""#), @r#"
    error: the grid along x is 0, expected 1 to 2147483647
      --> small.ron:15:41
       |
    15 |             kernel: "vector_add", grid: "=n / 1000", block: "=block",
       |                                         ^^^^^^^^^^^
    "#);
}

#[test]
fn absurd_grids_are_refused() {
    assert_snapshot!(refusal(r#"grid: "=ceil_div(n, block)""#, "grid: [2000000000, 60000, 60000]"), @r#"
    error: a grid of [2000000000, 60000, 60000] has more than 16777216 work-groups, which is the most that is emulated
      --> small.ron:15:42
       |
    15 |             kernel: "vector_add", grid: [2000000000, 60000, 60000], block: "=block",
       |                                          ^^^^^^^^^^
       = hint: give each work-group more work
    "#);
}

#[test]
fn blocks_beyond_the_hardware_are_refused() {
    assert_snapshot!(refusal(r#"block: "=block""#, "block: [512, 4]"), @r#"
    error: a block of [512, 4, 1] has 2048 threads; a GPU allows at most 1024
      --> small.ron:15:72
       |
    15 |             kernel: "vector_add", grid: "=ceil_div(n, block)", block: [512, 4],
       |                                                                        ^^^
    "#);
}

#[test]
fn indices_out_of_range_are_refused() {
    assert_snapshot!(refusal(r#"CopyToDevice("b")"#, r#"Write(buffer: "b", index: "=n", value: 0)"#), @r#"
    error: the index into buffer `b` of 100 elements is 100, expected 0 to 99
      --> small.ron:13:35
       |
    13 |         Write(buffer: "b", index: "=n", value: 0),
       |                                   ^^^^
    "#);
}

#[test]
fn values_of_a_wrong_type_are_refused() {
    assert_snapshot!(refusal(r#"CopyToDevice("b")"#, r#"Write(buffer: "columns", index: 0, value: 0.5)"#), @r#"
    error: the value is 0.5, expected a whole number
      --> small.ron:13:51
       |
    13 |         Write(buffer: "columns", index: 0, value: 0.5),
       |                                                   ^^^
    "#);
}

#[test]
fn absurd_lengths_are_refused() {
    assert_snapshot!(refusal(r#""sum": Zero(element: F32, length: "=n")"#, r#""sum": Zero(element: F32, length: "=n * 1000000000")"#), @r#"
    error: the length of buffer `sum` is 100000000000, expected 0 to 4294967296
     --> small.ron:8:43
      |
    8 |         "sum": Zero(element: F32, length: "=n * 1000000000"),
      |                                           ^^^^^^^^^^^^^^^^^
    "#);
}

#[test]
fn too_much_memory_is_refused() {
    assert_snapshot!(refusal(r#""columns": Columns("g")"#, r#""x0": Zero(element: U32, length: 268435456), "x1": Zero(element: U32, length: 268435456), "x2": Zero(element: U32, length: 268435456), "x3": Zero(element: U32, length: 268435456), "x4": Zero(element: U32, length: 268435456)"#), @r#"
    error: buffer `x3` of 1073741824 bytes does not fit: 3221226672 of 4294967296 bytes are already in use
     --> small.ron:9:144
      |
    9 | … Zero(element: U32, length: 268435456), "x3": Zero(element: U32, length: 268435456), "x4": Zero(element: U32, length: 268435456),
      |                                          ^^^^
      = hint: make the buffers smaller
    "#);
}

#[test]
fn missing_modules_are_named() {
    assert_snapshot!(refusal("cuda/vector_add.ptx", "cuda/vector_sub.ptx"), @r#"
    error: cannot read workloads/cuda/vector_sub.ptx: No such file or directory (os error 2)
     --> small.ron:3:13
      |
    3 |     module: "cuda/vector_sub.ptx",
      |             ^^^^^^^^^^^^^^^^^^^^^
      = hint: paths in a workload are relative to the folder of its file
    "#);
}

#[test]
fn missing_input_files_are_named() {
    assert_snapshot!(refusal("Grid(width: 4, height: 4)", r#"File(path: "absent.mtx", format: MatrixMarket)"#), @r#"
    error: workloads/absent.mtx: cannot open: No such file or directory (os error 2)
     --> small.ron:4:15
      |
    4 |     graphs: { "g": File(path: "absent.mtx", format: MatrixMarket) },
      |               ^^^
    "#);
}

#[test]
fn missing_data_files_are_named() {
    assert_snapshot!(refusal(r#"Columns("g")"#, r#"File(path: "absent.bin", element: U32)"#), @r#"
    error: workloads/absent.bin: cannot read: No such file or directory (os error 2)
     --> small.ron:9:31
      |
    9 |         "columns": File(path: "absent.bin", element: U32),
      |                               ^^^^^^^^^^^^
    "#);
}

#[test]
fn senseless_generators_are_refused() {
    assert_snapshot!(refusal("Uniform(seed: 1, low: 0, high: 1)", "Uniform(seed: 1, low: 1, high: 1)"), @r#"
    error: Uniform generator: `low` is 1, expected below `high`, which is 1 and excluded
     --> small.ron:6:9
      |
    6 |         "a": Generated(element: F32, length: "=n", generator: Uniform(seed: 1, low: 1, high: 1)),
      |         ^^^
    "#);
}

#[test]
fn graphs_without_weights_say_how_to_give_them() {
    assert_snapshot!(refusal(r#"Columns("g")"#, r#"Weights("g")"#), @r#"
    error: graph `g` has no weights
     --> small.ron:9:28
      |
    9 |         "columns": Weights("g"),
      |                            ^^^
      = hint: add weights: Graph(source: .., weights: Uniform(low: 1, high: 100, seed: 1))
    "#);
}

#[test]
fn loops_that_do_not_end_are_stopped_at_their_limit() {
    assert_snapshot!(refusal(r#"CopyToHost("sum"),"#, r#"RepeatUntilZero(flag: "sum", at_most: 3, body: [Write(buffer: "sum", index: 0, value: 1)]), CopyToHost("sum"),"#), @r#"
    error: `sum` is still not zero after 3 iterations, the limit of this loop
      --> small.ron:18:9
       |
    18 |         RepeatUntilZero(flag: "sum", at_most: 3, body: [Write(buffer: "sum", index: 0, value: 1)]), CopyToHost("sum"),
       |         ^^^^^^^^^^^^^^^
       = hint: raise `at_most`, or find out why the flag stays set
    "#);
}

#[test]
fn loops_without_effect_are_stopped() {
    assert_snapshot!(refusal(r#"CopyToHost("sum"),"#, r#"Repeat(times: 1000000000000, body: []), CopyToHost("sum"),"#), @r#"
    error: stopped after 4194304 host commands and loop iterations
      --> small.ron:18:9
       |
    18 |         Repeat(times: 1000000000000, body: []), CopyToHost("sum"),
       |         ^^^^^^
       = hint: reduce the number of loop iterations
    "#);
}

#[test]
fn counters_may_not_hide_parameters() {
    assert_snapshot!(refusal(r#"CopyToHost("sum"),"#, r#"Repeat(times: 2, counter: "n", body: []), CopyToHost("sum"),"#), @r#"
    error: counter `n` shadows another value of that name
      --> small.ron:18:35
       |
    18 |         Repeat(times: 2, counter: "n", body: []), CopyToHost("sum"),
       |                                   ^^^
       = hint: choose another name
    "#);
}

#[test]
fn numbers_in_loops_are_checked_when_they_are_reached() {
    assert_snapshot!(refusal(r#"CopyToHost("sum"),"#, r#"Repeat(times: 200, counter: "i", body: [Write(buffer: "sum", index: "=i", value: 0)]), CopyToHost("sum"),"#), @r#"
    error: the index into buffer `sum` of 100 elements is 100, expected 0 to 99
      --> small.ron:18:77
       |
    18 |         Repeat(times: 200, counter: "i", body: [Write(buffer: "sum", index: "=i", value: 0)]), CopyToHost("sum"),
       |                                                                             ^^^^
    "#);
}

#[test]
fn swaps_of_unequal_buffers_are_refused() {
    assert_snapshot!(refusal(r#"CopyToDevice("b")"#, r#"Swap("a", "columns")"#), @r#"
    error: `a` of 400 bytes cannot be swapped with `columns` of 192 bytes
      --> small.ron:13:19
       |
    13 |         Swap("a", "columns"),
       |                   ^^^^^^^^^
    "#);
}

#[test]
fn references_of_another_length_are_refused() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, "Values([1, 2])"), @r#"
    error: Values returns 2 elements, but buffer `sum` has 100
      --> small.ron:20:44
       |
    20 |     expect: [Expect(buffer: "sum", equals: Values([1, 2]))],
       |                                            ^^^^^^
    "#);
}

#[test]
fn references_of_another_element_type_are_refused() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"SumU32("columns")"#), @r#"
    error: SumU32 returns U32 elements, but buffer `sum` has F32
      --> small.ron:20:29
       |
    20 |     expect: [Expect(buffer: "sum", equals: SumU32("columns"))],
       |                             ^^^^^
    "#);
}

#[test]
fn references_to_buffers_of_another_type_are_refused() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"VectorAdd(a: "a", b: "columns")"#), @r#"
    error: VectorAdd requires F32 elements, but buffer `columns` has U32
      --> small.ron:20:65
       |
    20 |     expect: [Expect(buffer: "sum", equals: VectorAdd(a: "a", b: "columns"))],
       |                                                                 ^^^^^^^^^
    "#);
}

#[test]
fn expected_buffers_must_be_copied_to_the_host() {
    assert_snapshot!(refusal(r#"CopyToHost("sum"),"#, ""), @r#"
    error: buffer `sum` has an expected value but is never copied to the host
      --> small.ron:20:29
       |
    20 |     expect: [Expect(buffer: "sum", equals: VectorAdd(a: "a", b: "b"))],
       |                             ^^^^^
       = hint: add CopyToHost("sum") to the commands
    "#);
}

#[test]
fn wrong_results_are_a_mismatch_and_no_error() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"VectorAdd(a: "b", b: "b")"#), @r#"
    Some(false) [
        CheckResult {
            buffer: "sum",
            reference: "VectorAdd",
            passed: false,
            detail: "100 of 100 differ: [0] is 0.50226015, expected 0.0; [1] is 1.3581561, expected 2.0; [2] is 2.446162, expected 4.0; [3] is 3.7437088, expected 6.0; ...",
        },
    ]
    "#);
}

#[test]
fn bad_accesses_name_the_launch_and_the_instruction() {
    assert_snapshot!(refusal(r#"U32("=n")]"#, r#"U32("=n + 28")]"#), @r"
    error: launch 0 failed: workloads/cuda/vector_add.ptx:42: `ld.global.f32` in kernel `vector_add`, work-group (3, 0, 0), thread (4, 0, 0): 4-byte access to address 0x10000190 is outside every allocation; nearest is `a` (0x10000000..0x10000190, 400 bytes), 0 bytes past its end
      --> small.ron:14:9
       |
    14 |         Launch(
       |         ^^^^^^
    ");
}

#[test]
fn values_other_than_a_workload_are_refused() {
    assert_snapshot!(refusal("Workload(", "System("), @r"
    error: expected Workload, found `System(..)`
     --> small.ron:1:1
      |
    1 | System(
      | ^^^^^^
      = hint: write `Workload(..)`, or omit the name
    ");
}

#[test]
fn source_vertices_out_of_range_are_refused() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"BfsLevels(graph: "g", source: 99)"#), @r#"
    error: the source vertex is 99, expected 0 to 15
      --> small.ron:20:74
       |
    20 |     expect: [Expect(buffer: "sum", equals: BfsLevels(graph: "g", source: 99))],
       |                                                                          ^^
    "#);
}

#[test]
fn missing_reference_files_are_named_before_the_run() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"File("absent.bin")"#), @r#"
    error: workloads/absent.bin: cannot read: No such file or directory (os error 2)
      --> small.ron:20:49
       |
    20 |     expect: [Expect(buffer: "sum", equals: File("absent.bin"))],
       |                                                 ^^^^^^^^^^^^
    "#);
}

#[test]
fn modules_that_are_no_ptx_are_pointed_into() {
    assert_snapshot!(refusal("cuda/vector_add.ptx", "regenerate.sh"), @r#"
    error: workloads/regenerate.sh is not a PTX module: it does not begin with `.version`
     --> workloads/regenerate.sh:1:1
      |
    1 | #!/bin/sh
      | ^
    note: the module is named here
     --> small.ron:3:13
      |
    3 |     module: "regenerate.sh",
      |             ---------------
    "#);
}

#[test]
fn bad_tolerances_are_refused() {
    assert_snapshot!(refusal(r#"VectorAdd(a: "a", b: "b")"#, r#"VectorAdd(a: "a", b: "b"), tolerance: Relative(-1.0)"#), @r#"
    error: expected a tolerance of at least 0, found number `-1`
      --> small.ron:20:91
       |
    20 |     expect: [Expect(buffer: "sum", equals: VectorAdd(a: "a", b: "b"), tolerance: Relative(-1.0))],
       |                                                                                           ^^^^
    "#);
}

#[test]
fn names_of_graphs_may_not_hide_parameters() {
    assert_snapshot!(refusal(r#""factor": 0.5"#, r#""g_arcs": 5"#), @r#"
    error: graph `g` shadows the parameter `g_arcs`
     --> small.ron:4:15
      |
    4 |     graphs: { "g": Grid(width: 4, height: 4) },
      |               ^^^
      = hint: rename one of the two
    "#);
}

#[test]
fn overrides_of_unknown_parameters_name_the_nearest() {
    assert_snapshot!(refusal_with("100", "100", &[("blok", "64")]), @r"
    error: the workload has no parameter `blok`
     --> --set workload.blok:1:1
      |
    1 | 64
      | ^^
      = hint: did you mean `block`? parameters: n, block, factor
    ");
}

#[test]
fn overrides_keep_the_type_of_a_parameter() {
    assert_snapshot!(refusal_with("100", "100", &[("block", "0.5")]), @r"
    error: parameter `block` is a number such as 32, found number `0.5`
     --> --set workload.block:1:1
      |
    1 | 0.5
      | ^^^
    ");
}

#[test]
fn every_mistake_of_a_file_is_shown() {
    assert_snapshot!(refusal(r#"CopyToDevice("b"),"#, r#"CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),"#), @r#"
    error: `CopyToDevice` takes a string in parentheses
      --> small.ron:13:9
       |
    13 |         CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),
       |         ^^^^^^^^^^^^

    error: unknown field `blocks` in Launch
      --> small.ron:13:50
       |
    13 |         CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),
       |                                                  ^^^^^^
       = hint: did you mean `block`? fields of Launch: kernel, module, grid, block, dynamic_local_bytes, dynamic_shared_bytes, stream, cooperative, registers_per_thread, place, attributes, arguments

    error: expected 1 to 3 axes, found 0
      --> small.ron:13:46
       |
    13 |         CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),
       |                                              ^^

    error: expected a number or an expression, found `n`
      --> small.ron:13:77
       |
    13 |         CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),
       |                                                                             ^
       = hint: write "=n"

    error: expected a string, found integer `7`
      --> small.ron:13:88
       |
    13 |         CopyToDevice("b", "a"), Launch(grid: [], blocks: 4, arguments: [U32(n), Buffer(7)]),
       |                                                                                        ^
    "#);
}
