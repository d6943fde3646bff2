//! Programs that read matrices of real numbers and any shape, and graphs whose numbers are no
//! weights.

use std::collections::BTreeMap;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;
use warpweave_inputs::parse_matrix;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Source, parse};

use super::EMPTY;
use crate::host_program::{Commands, Contents, EmulationSpec, HostProgram};

/// Multiplies a matrix in compressed sparse row form with a vector, one thread per row.
const SPMV: &str = "
.version 6.3
.target sm_70
.address_size 64
.visible .entry spmv(.param .u64 offsets, .param .u64 columns, .param .u64 values,
                     .param .u64 x, .param .u64 y, .param .u32 rows)
{
    .reg .pred %p;
    .reg .b32 %row, %rows, %at, %end, %column, %t<3>;
    .reg .f32 %sum, %value, %other;
    .reg .b64 %offsets, %columns, %values, %x, %y, %a, %b;
    mov.u32 %t0, %ctaid.x;
    mov.u32 %t1, %ntid.x;
    mov.u32 %t2, %tid.x;
    mad.lo.u32 %row, %t0, %t1, %t2;
    ld.param.u32 %rows, [rows];
    setp.ge.u32 %p, %row, %rows;
    @%p bra DONE;
    ld.param.u64 %offsets, [offsets];
    ld.param.u64 %columns, [columns];
    ld.param.u64 %values, [values];
    ld.param.u64 %x, [x];
    ld.param.u64 %y, [y];
    mul.wide.u32 %b, %row, 4;
    add.u64 %a, %offsets, %b;
    ld.global.u32 %at, [%a];
    ld.global.u32 %end, [%a+4];
    add.u64 %y, %y, %b;
    mov.f32 %sum, 0f00000000;
NEXT:
    setp.ge.u32 %p, %at, %end;
    @%p bra STORE;
    mul.wide.u32 %b, %at, 4;
    add.u64 %a, %columns, %b;
    ld.global.u32 %column, [%a];
    add.u64 %a, %values, %b;
    ld.global.f32 %value, [%a];
    mul.wide.u32 %b, %column, 4;
    add.u64 %a, %x, %b;
    ld.global.f32 %other, [%a];
    fma.rn.f32 %sum, %value, %other, %sum;
    add.u32 %at, %at, 1;
    bra NEXT;
STORE:
    st.global.f32 [%y], %sum;
DONE:
    ret;
}
";

/// Four rows and seven columns, with real values of both signs and an empty row.
const WIDE: &str = "%%MatrixMarket matrix coordinate real general
% rows, columns, entries
4 7 7
1 1 0.5
1 7 -2.25
2 3 1e-3
4 2 3.75
4 4 -0.125
4 5 1024.5
4 7 7
";

fn folder_of(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let known = [("empty.ptx", EMPTY), ("spmv.ptx", SPMV)];
    for (name, text) in known.iter().chain(files) {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn read(folder: &Path, text: &str) -> Result<HostProgram, Diagnostics> {
    let node = parse(&Source::new("matrices.ron", text))?;
    let (files, none) = (Files::of(folder), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

fn shown(problems: &Diagnostics, folder: &Path) -> String {
    let folder = format!("{}/", folder.display());
    problems.to_string().replace(&folder, "")
}

/// Returns the error of a program whose buffer `a` holds part of the matrix `m`.
fn refusal(market: &str, matrices: &str, a: &str) -> String {
    let folder = folder_of(&[("m.mtx", market)]);
    let text = format!(
        r#"Workload(
    module: "empty.ptx",
    matrices: {{ {matrices} }},
    buffers: {{ "a": {a} }},
    commands: [CopyToDevice("a"), CopyToHost("a")],
)
"#
    );
    let problems = read(folder.path(), &text).unwrap_err();
    shown(&problems, folder.path())
}

const SPMV_PROGRAM: &str = r#"Workload(
    module: "spmv.ptx",
    matrices: { "m": File(path: "m.mtx") },
    buffers: {
        "row_offsets": Csr(matrix: "m", array: RowOffsets),
        "columns": Csr(matrix: "m", array: Columns),
        "values": Csr(matrix: "m", array: Values(F32)),
        "x": Generated(element: F32, length: "=m_columns", generator: Uniform(seed: 1, low: -1, high: 1)),
        "y": Constant(element: F32, length: "=m_rows", value: 9),
    },
    commands: [
        CopyToDevice("row_offsets"), CopyToDevice("columns"), CopyToDevice("values"),
        CopyToDevice("x"), CopyToDevice("y"),
        Launch(
            kernel: "spmv", grid: "=ceil_div(m_rows, 32)", block: 32,
            arguments: [
                Buffer("row_offsets"), Buffer("columns"), Buffer("values"),
                Buffer("x"), Buffer("y"), U32("=m_rows"),
            ],
        ),
        CopyToHost("y"),
    ],
    expect: [Expect(
        buffer: "y", equals: SparseTimesVector(matrix: "m", vector: "x"), tolerance: Absolute(1e-4),
    )],
)
"#;

#[test]
fn a_rectangular_matrix_of_real_values_times_a_vector_is_verified() {
    let folder = folder_of(&[("m.mtx", WIDE)]);
    let program = read(folder.path(), SPMV_PROGRAM).unwrap();
    assert!(program.warnings().is_empty());
    assert!(program.files_read().contains(&folder.path().join("m.mtx")));
    let executed = program.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    assert_eq!(executed.outputs["y"].len(), 4);
    assert_eq!(executed.outputs["y"][2], 0, "the empty row");
    // The kernel multiplies with another matrix than the reference.
    let other = SPMV_PROGRAM.replace(
        r#""values": Csr(matrix: "m", array: Values(F32))"#,
        r#""values": Constant(element: F32, length: "=m_entries", value: 1)"#,
    );
    let executed = read(folder.path(), &other).unwrap();
    let executed = executed.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(false));
}

#[test]
fn every_form_of_a_matrix_reaches_the_device() {
    let program = HostProgram::builder("forms")
        .module("empty.ptx", EMPTY)
        .matrix("m", parse_matrix("m.mtx", WIDE.as_bytes()).unwrap());
    let forms = r#"{
        "by_row": Csr(matrix: "m", array: RowOffsets),
        "by_column": Csc(matrix: "m", array: ColumnOffsets),
        "rows": Coo(matrix: "m", array: Rows),
        "values": Csc(matrix: "m", array: Values(F64)),
        "dense": Dense(matrix: "m", element: F32, order: ByColumns),
    }"#;
    let forms = parse(&Source::new("forms.ron", forms)).unwrap();
    let forms: warpweave_params::Entries<Contents> = warpweave_params::from_node(&forms).unwrap();
    let (mut program, mut commands) = (program, Commands::new());
    for (name, contents) in forms {
        commands = commands
            .copy_to_device(name.clone())
            .copy_to_host(name.clone());
        program = program.buffer(name, contents);
    }
    let program = program.commands(commands).build().unwrap();
    let outputs = program.execute(&EmulationSpec::default()).unwrap().outputs;
    assert_eq!(outputs["by_row"], [0, 2, 3, 3, 7]);
    assert_eq!(outputs["by_column"], [0, 1, 2, 3, 4, 5, 5, 7]);
    assert_eq!(outputs["rows"], [0, 0, 1, 3, 3, 3, 3]);
    assert_eq!(outputs["values"].len(), 14);
    assert_eq!(outputs["dense"].len(), 28);
    assert_eq!(outputs["dense"][7], 3.75_f32.to_bits(), "row 4, column 2");
}

#[test]
fn entries_of_one_place_are_warned_of_with_their_place() {
    let market = WIDE.replace("4 7 7\n1", "4 7 8\n4 7 1\n1");
    let folder = folder_of(&[("m.mtx", &market)]);
    let program = read(folder.path(), SPMV_PROGRAM).unwrap();
    assert_snapshot!(program.warnings().to_string(), @r#"
    warning: matrix `m`: one entry is added to an earlier one of the same place, first in row 4, column 7 (from 1)
     --> matrices.ron:3:17
      |
    3 |     matrices: { "m": File(path: "m.mtx") },
      |                 ^^^
    "#);
    let executed = program.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
}

#[test]
fn unknown_matrices_and_arrays_are_named_with_the_nearest() {
    let matrices = r#""m": File(path: "m.mtx")"#;
    assert_snapshot!(refusal(WIDE, matrices, r#"Csr(matrix: "n", array: Columns)"#), @r#"
    error: unknown matrix `n`
     --> matrices.ron:4:33
      |
    4 |     buffers: { "a": Csr(matrix: "n", array: Columns) },
      |                                 ^^^
      = hint: did you mean `m`? matrices: m
    "#);
    assert_snapshot!(refusal(WIDE, matrices, r#"Csr(matrix: "m", array: Colums)"#), @r#"
    error: unknown variant `Colums` of CsrArray
     --> matrices.ron:4:45
      |
    4 |     buffers: { "a": Csr(matrix: "m", array: Colums) },
      |                                             ^^^^^^
      = hint: did you mean `Columns`? variants: RowOffsets, Columns, Values
    "#);
}

#[test]
fn a_matrix_may_not_hide_a_parameter() {
    let folder = folder_of(&[("m.mtx", WIDE)]);
    let text = SPMV_PROGRAM.replace("module:", "params: { \"m_rows\": 4 }, module:");
    let problems = read(folder.path(), &text).unwrap_err();
    let message = shown(&problems, folder.path());
    assert!(
        message.contains("matrix `m` shadows the parameter `m_rows`"),
        "{message}"
    );
}

#[test]
fn numbers_that_an_array_cannot_hold_are_refused_with_both_places() {
    let matrices = r#""m": File(path: "m.mtx")"#;
    let integers = r#"Csr(matrix: "m", array: Values(S32))"#;
    assert_snapshot!(refusal(WIDE, matrices, integers), @r#"
    error: matrix `m` has the number 0.5 in row 1, column 1 (from 1), expected a whole number from -2147483648 to 2147483647
     --> matrices.ron:4:33
      |
    4 |     buffers: { "a": Csr(matrix: "m", array: Values(S32)) },
      |                                 ^^^
    "#);
    let complex = "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 2 3\n";
    let dense = r#"Dense(matrix: "m", element: F64)"#;
    assert_snapshot!(refusal(complex, matrices, dense), @r#"
    error: matrix `m` has complex numbers, and arrays hold real ones
     --> matrices.ron:4:35
      |
    4 |     buffers: { "a": Dense(matrix: "m", element: F64) },
      |                                   ^^^
    "#);
    let broken = WIDE.replace("-2.25", "two");
    assert_snapshot!(refusal(&broken, matrices, dense), @r#"
    error: m.mtx:5:5: expected a number, found "two"
     --> matrices.ron:3:17
      |
    3 |     matrices: { "m": File(path: "m.mtx") },
      |                 ^^^
    "#);
}

#[test]
fn a_product_that_does_not_fit_its_buffers_is_refused() {
    let refused = |piece: &str, replacement: &str| {
        let folder = folder_of(&[("m.mtx", WIDE)]);
        assert!(SPMV_PROGRAM.contains(piece), "{piece}");
        let text = SPMV_PROGRAM.replacen(piece, replacement, 1);
        let problems = read(folder.path(), &text).unwrap_err();
        shown(&problems, folder.path())
    };
    let short = refused(r#"vector: "x""#, r#"vector: "y""#);
    assert_snapshot!(short, @r#"
    error: SparseTimesVector requires 7 elements, but buffer `y` has 4
      --> matrices.ron:24:69
       |
    24 |         buffer: "y", equals: SparseTimesVector(matrix: "m", vector: "y"), tolerance: Absolute(1e-4),
       |                                                                     ^^^
    "#);
    let whole = refused(
        r#"Constant(element: F32, length: "=m_rows", value: 9)"#,
        r#"Zero(element: U32, length: "=m_rows")"#,
    );
    assert_snapshot!(whole, @r#"
    error: matrix `m` gives fractions, and the buffer has U32 elements
      --> matrices.ron:24:56
       |
    24 |         buffer: "y", equals: SparseTimesVector(matrix: "m", vector: "x"), tolerance: Absolute(1e-4),
       |                                                        ^^^
    "#);
}

/// Searches and colourings use no weights.
#[test]
fn a_graph_whose_numbers_are_no_weights_serves_programs_that_use_none() {
    let square =
        "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 0.5\n2 3 -1.5e3\n3 1 2\n";
    let folder = folder_of(&[("g.mtx", square)]);
    let program = |weights: &str, expected: &str| {
        let text = format!(
            r#"Workload(
    module: "empty.ptx",
    graphs: {{ "g": File(path: "g.mtx", format: MatrixMarket) }},
    buffers: {{ "columns": Columns("g"), "a": {weights} }},
    commands: [CopyToDevice("a"), CopyToHost("a")],
    expect: [Expect(buffer: "a", equals: {expected})],
)
"#
        );
        read(folder.path(), &text)
    };
    let levels = "Values(element: U32, values: [0, 1, 2])";
    let searched = program(levels, r#"BfsLevels(graph: "g", source: 0)"#).unwrap();
    let executed = searched.execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    let refused = |weights: &str, expected: &str| {
        let problems = program(weights, expected).unwrap_err();
        shown(&problems, folder.path())
    };
    assert_snapshot!(refused(r#"Weights("g")"#, "Constant(0)"), @r#"
    error: graph `g` has no usable weights: g.mtx:3:5: expected a whole weight from 0 to 4294967295, found "0.5"
     --> matrices.ron:4:54
      |
    4 |     buffers: { "columns": Columns("g"), "a": Weights("g") },
      |                                                      ^^^
      = hint: draw weights: Graph(source: .., weights: Uniform(low: 1, high: 100, seed: 1)), or read the numbers as a matrix under `matrices`
    "#);
    let paths = r#"ShortestPaths(graph: "g", source: 0)"#;
    assert_snapshot!(refused(levels, paths), @r#"
    error: graph `g` has no usable weights: g.mtx:3:5: expected a whole weight from 0 to 4294967295, found "0.5"
     --> matrices.ron:6:63
      |
    6 |     expect: [Expect(buffer: "a", equals: ShortestPaths(graph: "g", source: 0))],
      |                                                               ^^^
      = hint: draw weights: Graph(source: .., weights: Uniform(low: 1, high: 100, seed: 1)), or read the numbers as a matrix under `matrices`
    "#);
}
