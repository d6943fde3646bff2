//! Buffers of structures, and structures passed by value.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tempfile::TempDir;
use warpweave_inputs::ElementType::{F32, U32, U64};
use warpweave_inputs::reference::{Values, standard_references};
use warpweave_params::{Diagnostics, Files, Source, parse};

use crate::host_program::{
    Commands, Contents, Element, EmulationSpec, Executed, FieldValue, HostProgram, Launch, Record,
};

/// Kernel that moves points `struct Point { float x; unsigned char tag; double v; }` by `v * by.dt`
/// and counts the moved ones. `by` is `struct Step { unsigned n; float dt; unsigned *count; }`.
const MODULE: &str = r"
.version 7.0
.target sm_70
.address_size 64
.global .align 8 .b8 step[16];
.visible .entry move(.param .u64 points, .param .align 8 .b8 by[16])
{
    .reg .pred %p1;
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    .reg .f32 %f<4>;
    .reg .f64 %fd<2>;
    ld.param.u64 %rd1, [points];
    ld.param.u32 %r1, [by];
    ld.param.f32 %f1, [by+4];
    ld.param.u64 %rd2, [by+8];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p1, %r2, %r1;
    @%p1 ret;
    mad.wide.u32 %rd3, %r2, 16, %rd1;
    ld.global.f32 %f2, [%rd3];
    ld.global.f64 %fd1, [%rd3+8];
    cvt.rn.f32.f64 %f3, %fd1;
    fma.rn.f32 %f2, %f3, %f1, %f2;
    st.global.f32 [%rd3], %f2;
    ld.global.u8 %r3, [%rd3+4];
    red.global.add.u32 [%rd2], %r3;
    ret;
}
";

const POINTS: &[u8] = b"tag,v,x\n1,2.0,0.5\n2,-4,1\n3,0.5,100\n";

const WORKLOAD: &str = r#"Workload(
    params: { "step": 0.5 },
    module: "move.ptx",
    structs: {
        "Point": { "x": F32, "tag": U8, "v": F64 },
        "Step": { "n": U32, "dt": F32, "count": U64 },
    },
    buffers: {
        "points": File(element: Struct("Point"), path: "points.csv"),
        "count": Zero(element: U32, length: 1),
    },
    commands: [
        CopyToDevice("points"),
        CopyToDevice("count"),
        Write(buffer: "points.x", index: 2, value: 8),
        Launch(kernel: "move", grid: 1, block: 32, arguments: [
            Buffer("points"),
            Record(structure: "Step", fields: { "dt": "=step", "n": 3, "count": Buffer("count") }),
        ]),
        Read(buffer: "points.tag", index: 2, name: "last"),
        CopyToHost("points"), CopyToHost("count"),
    ],
    expect: [
        Expect(buffer: "points.x", equals: Values([1.5, -1, 8.25])),
        Expect(buffer: "points.tag", holds: Ascending),
        Expect(buffer: "points.v", equals: Column(path: "points.csv", column: "v")),
        Expect(buffer: "count", equals: Values([6])),
    ],
    results: { "points": Csv },
)
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("move.ptx", MODULE.as_bytes()), ("points.csv", POINTS)] {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn read(folder: &TempDir, text: &str) -> Result<HostProgram, Diagnostics> {
    let node = parse(&Source::new("points.ron", text))?;
    let (files, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &files, None, &none, &standard_references())
}

fn execute(program: &HostProgram) -> Executed {
    let executed = program.execute(&EmulationSpec::default());
    executed.unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn structures_come_from_a_table_and_go_to_one() {
    let folder = folder();
    let program = read(&folder, WORKLOAD).unwrap_or_else(|problems| panic!("{problems}"));
    let executed = execute(&program);
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
    assert_eq!(executed.checks[0].buffer, "points.x");
    let files: Vec<_> = program.results(&executed).collect();
    assert_eq!(files[0].0, "points.csv");
    let text = String::from_utf8(files[0].1.clone()).unwrap();
    assert_eq!(text, "x,tag,v\n1.5,1,2.0\n-1.0,2,-4.0\n8.25,3,0.5\n");
}

#[test]
fn structures_are_built_in_rust_too() {
    let step = [
        ("n", 1.into()),
        ("dt", FieldValue::from(2.0)),
        (
            "count",
            FieldValue::Address(crate::host_program::Argument::Buffer("count".into()).into()),
        ),
    ];
    let zeros = Contents::zero(Element::Struct("Point".into()), 1);
    let program = HostProgram::builder("points")
        .module("move.ptx", MODULE)
        .structure("Point", [("x", F32), ("tag", U32), ("v", U64)])
        .structure("Step", [("n", U32), ("dt", F32), ("count", U64)])
        .buffer("points", zeros)
        .buffer("count", Contents::zero(U32, 1))
        .commands(
            Commands::new()
                .write("points.x", 0, 1.0)
                .write("points.tag", 0, 7)
                .write("points.v", 0, 3_f64.to_bits())
                .launch(
                    Launch::new("move")
                        .block([1])
                        .buffer("points")
                        .record(Record::new("Step", step)),
                )
                .copy_to_host("points"),
        )
        .expect("points.x", Values(vec![7.into()]))
        .build();
    let executed = execute(&program.unwrap_or_else(|problems| panic!("{problems}")));
    assert_eq!(executed.verified, Some(true), "{:?}", executed.checks);
}

/// Returns the error message after a piece of the workload is replaced.
fn refusal(piece: &str, replacement: &str) -> String {
    assert!(WORKLOAD.contains(piece), "{piece}");
    let folder = folder();
    let message = match read(&folder, &WORKLOAD.replacen(piece, replacement, 1)) {
        Err(problems) => problems.to_string(),
        Ok(_) => panic!("{replacement} is not refused"),
    };
    message.replace(&format!("{}/", folder.path().display()), "")
}

#[test]
fn a_structure_of_another_size_than_its_parameter_is_refused_with_its_layout() {
    assert_snapshot!(refusal(r#""n": U32, "dt": F32,"#, r#""n": U64, "dt": F32,"#), @r#"
    error: argument 2 of kernel `move` is a structure of 24 bytes, but the parameter is a structure of 16 bytes
      --> points.ron:18:13
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "n": 3, "count": Buffer("count") }),
       |             ^^^^^^
       = hint: `Step` has n U64 at 0, dt F32 at 8, count U64 at 16, 24 bytes in all
    "#);
}

#[test]
fn rows_have_a_number_for_each_field() {
    let file = r#"File(element: Struct("Point"), path: "points.csv")"#;
    let rows = |rows: &str| refusal(file, &format!(r#"Rows(structure: "Point", rows: {rows})"#));
    assert_snapshot!(rows("[[1, 2, 3], [1, 2]]"), @r#"
    error: structure `Point` has 3 fields, but 2 are given
     --> points.ron:9:62
      |
    9 |         "points": Rows(structure: "Point", rows: [[1, 2, 3], [1, 2]]),
      |                                                              ^^^^^^
      = hint: `Point` has x F32 at 0, tag U8 at 4, v F64 at 8, 16 bytes in all
    "#);
    assert_snapshot!(rows("[[1, 256, 3]]"), @r#"
    error: field `tag` is 256, expected 0 to 255
     --> points.ron:9:55
      |
    9 |         "points": Rows(structure: "Point", rows: [[1, 256, 3]]),
      |                                                       ^^^
    "#);
    let good = WORKLOAD.replacen(
        file,
        r#"Rows(structure: "Point", rows: [[0.5, 1, 2], [1, 2, -4], [100, 3, 0.5]])"#,
        1,
    );
    let folder = folder();
    let program = read(&folder, &good).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(execute(&program).verified, Some(true));
}

#[test]
fn structures_are_read_from_tables_only() {
    assert_snapshot!(refusal(r#"path: "points.csv")"#, r#"path: "points.npy")"#), @r#"
    error: structures are read from tables, but points.npy is read as Npy
     --> points.ron:9:56
      |
    9 |         "points": File(element: Struct("Point"), path: "points.npy"),
      |                                                        ^^^^^^^^^^^^
      = hint: use a `.csv` file with one column per field: x, tag, v; or a buffer of numbers for each field
    "#);
    assert_snapshot!(refusal(r#"path: "points.csv")"#, r#"path: "points.csv", column: "x")"#), @r#"
    error: structures select their columns by the names in the first line
     --> points.ron:9:56
      |
    9 |         "points": File(element: Struct("Point"), path: "points.csv", column: "x"),
      |                                                        ^^^^^^^^^^^^
      = hint: omit `column` and `header`; the table needs one column per field: x, tag, v
    "#);
    assert_snapshot!(refusal(r#""x": F32"#, r#""y": F32"#), @r#"
    error: points.csv:1:1: no column `y`
     --> points.ron:9:56
      |
    9 |         "points": File(element: Struct("Point"), path: "points.csv"),
      |                                                        ^^^^^^^^^^^^
      = hint: did you mean `v`? columns: tag, v, x
    "#);
    assert_snapshot!(refusal(r#""points": Csv"#, r#""points": Npy"#), @r#"
    error: buffer `points` of structures cannot be written as Npy
      --> points.ron:29:16
       |
    29 |     results: { "points": Npy },
       |                ^^^^^^^^
       = hint: write it as Csv, with a column for each field
    "#);
}

#[test]
fn names_of_structures_and_fields_are_looked_up() {
    assert_snapshot!(refusal(r#"Struct("Point")"#, r#"Struct("Pint")"#), @r#"
    error: unknown structure `Pint`
     --> points.ron:9:40
      |
    9 |         "points": File(element: Struct("Pint"), path: "points.csv"),
      |                                        ^^^^^^
      = hint: did you mean `Point`? structures: Point, Step
    "#);
    assert_snapshot!(refusal(r#"element: Struct("Point")"#, "element: F23"), @r#"
    error: unknown variant `F23` of ElementType
     --> points.ron:9:33
      |
    9 |         "points": File(element: F23, path: "points.csv"),
      |                                 ^^^
      = hint: did you mean `F32`? variants: U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64
    "#);
    assert_snapshot!(refusal(r#"buffer: "points.x", index"#, r#"buffer: "points.X", index"#), @r#"
    error: structure `Point` has no field `X`
      --> points.ron:15:23
       |
    15 |         Write(buffer: "points.X", index: 2, value: 8),
       |                       ^^^^^^^^^^
       = hint: did you mean `x`? fields: x, tag, v
    "#);
    assert_snapshot!(refusal(r#"buffer: "points.x", equals"#, r#"buffer: "points", equals"#), @r#"
    error: buffer `points` has structures `Point`, and numbers are needed here
      --> points.ron:24:24
       |
    24 |         Expect(buffer: "points", equals: Values([1.5, -1, 8.25])),
       |                        ^^^^^^^^
       = hint: name one of its fields: "points.x", "points.tag", "points.v"
    "#);
    assert_snapshot!(refusal(r#"buffer: "count", equals"#, r#"buffer: "count.n", equals"#), @r#"
    error: buffer `count` has numbers of type U32, no fields
      --> points.ron:27:24
       |
    27 |         Expect(buffer: "count.n", equals: Values([6])),
       |                        ^^^^^^^^^
       = hint: write "count"
    "#);
}

#[test]
fn fields_of_a_record_are_those_of_its_structure() {
    assert_snapshot!(refusal(r#""n": 3, "#, ""), @r#"
    error: field `n` of structure `Step` is missing
      --> points.ron:18:31
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "count": Buffer("count") }),
       |                               ^^^^^^
       = hint: `Step` has n U32 at 0, dt F32 at 4, count U64 at 8, 16 bytes in all
    "#);
    assert_snapshot!(refusal(r#""n": 3, "#, r#""m": 3, "#), @r#"
    error: structure `Step` has no field `m`
      --> points.ron:18:64
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "m": 3, "count": Buffer("count") }),
       |                                                                ^^^
       = hint: did you mean `n`? fields: n, dt, count

    error: field `n` of structure `Step` is missing
      --> points.ron:18:31
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "m": 3, "count": Buffer("count") }),
       |                               ^^^^^^
       = hint: `Step` has n U32 at 0, dt F32 at 4, count U64 at 8, 16 bytes in all
    "#);
    assert_snapshot!(refusal(r#""n": 3, "#, r#""n": -3, "#), @r#"
    error: an argument of type U32 is -3, expected 0 to 4294967295
      --> points.ron:18:69
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "n": -3, "count": Buffer("count") }),
       |                                                                     ^^
    "#);
    assert_snapshot!(refusal(r#""n": 3, "#, r#""n": U32(3), "#), @r#"
    error: the type of field `n` is given by its structure
      --> points.ron:18:69
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "n": U32(3), "count": Buffer("count") }),
       |                                                                     ^^^
       = hint: write only the number, or Buffer("name") for an address
    "#);
    assert_snapshot!(refusal(r#""n": 3, "#, r#""n": Buffer("count"), "#), @r#"
    error: field `n` of type U32 cannot hold an address
      --> points.ron:18:69
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "n": Buffer("count"), "count": Buffer("count") }),
       |                                                                     ^^^^^^
       = hint: declare a field that holds an address as U64
    "#);
    assert_snapshot!(refusal(r#"Buffer("count") }"#, r#"Bufer("count") }"#), @r#"
    error: unknown variant `Bufer` of Argument
      --> points.ron:18:81
       |
    18 |             Record(structure: "Step", fields: { "dt": "=step", "n": 3, "count": Bufer("count") }),
       |                                                                                 ^^^^^
       = hint: did you mean `Buffer`? variants: Buffer, BufferAt, Texture, U8, U16, U32, U64, S8, S16, S32, S64, F16, BF16, F32, F64, F32Bits, F64Bits, Struct, Record
    "#);
    assert_snapshot!(refusal(r#""x": F32, "tag": U8, "v": F64"#, ""), @r#"
    error: structure `Point` has no fields
     --> points.ron:5:9
      |
    5 |         "Point": {  },
      |         ^^^^^^^
      = hint: name them with their types: { "x": F32, "y": F32 }
    "#);
}
