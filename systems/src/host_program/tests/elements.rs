//! Buffers of every element type, and buffers read from files.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tempfile::TempDir;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Source, parse};

use super::EMPTY;
use crate::host_program::{EmulationSpec, Executed, HostProgram};

/// Creates a folder with these files and a module.
fn folder_of(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.ptx"), EMPTY).unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// Builds a program that copies the buffer `a` to the device and back and checks it.
fn program_in(folder: &TempDir, a: &str, expected: &str) -> Result<HostProgram, Diagnostics> {
    let text = format!(
        r#"Workload(
    module: "empty.ptx",
    buffers: {{ "a": {a} }},
    commands: [CopyToDevice("a"), CopyToHost("a")],
    expect: [Expect(buffer: "a", equals: {expected})],
)
"#
    );
    let node = parse(&Source::new("elements.ron", text))?;
    let (reading, none) = (Files::of(folder.path()), BTreeMap::new());
    HostProgram::from_node(&node, &reading, None, &none, &standard_references())
}

fn program(files: &[(&str, &[u8])], a: &str, expected: &str) -> Result<HostProgram, Diagnostics> {
    program_in(&folder_of(files), a, expected)
}

fn executed(files: &[(&str, &[u8])], a: &str, expected: &str) -> Executed {
    // The answers are read again when the program has ended.
    let folder = folder_of(files);
    let program = program_in(&folder, a, expected).unwrap_or_else(|problems| panic!("{problems}"));
    program
        .execute(&EmulationSpec::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(files: &[(&str, &[u8])], a: &str) -> String {
    let message = program(files, a, "Constant(0)").unwrap_err().to_string();
    // The folder is another one each time.
    let folder = std::env::temp_dir().display().to_string();
    let rest = message.split(&folder);
    let shortened = rest.enumerate().map(|(at, piece)| match at {
        0 => piece.to_owned(),
        _ => piece.splitn(3, '/').last().unwrap_or_default().to_owned(),
    });
    shortened.collect()
}

#[test]
fn values_of_every_type_come_back_from_the_device() {
    let cases = [
        ("U8", "[0, 1, 255]", vec![0x00ff_0100]),
        ("S8", "[-1, -128, 127]", vec![0x007f_80ff]),
        ("U16", "[65535, 1, 2]", vec![0x0001_ffff, 2]),
        ("S16", "[-2, -32768]", vec![0x8000_fffe]),
        ("S32", "[-1, 2147483647]", vec![u32::MAX, 0x7fff_ffff]),
        ("U64", "[18446744073709551615]", vec![u32::MAX; 2]),
        ("S64", "[-2]", vec![0xffff_fffe, u32::MAX]),
        ("F16", "[1.0, -2, 65504]", vec![0xc000_3c00, 0x7bff]),
        ("BF16", "[1.0, 0.5]", vec![0x3f00_3f80]),
        ("F64", "[1.0, -0.5]", vec![0, 0x3ff0_0000, 0, 0xbfe0_0000]),
    ];
    for (element, values, words) in cases {
        let a = format!("Values(element: {element}, values: {values})");
        let executed = executed(&[], &a, &format!("Values({values})"));
        assert_eq!(
            executed.verified,
            Some(true),
            "{element}: {:?}",
            executed.checks
        );
        assert_eq!(executed.outputs["a"], words, "{element}");
        let bytes = executed.program.allocations[0].bytes as usize;
        assert_eq!(bytes.div_ceil(4), words.len(), "{element}");
    }
}

#[test]
fn generated_elements_lie_in_their_range() {
    for element in [
        "U8", "S8", "U16", "S16", "S32", "U64", "S64", "F16", "BF16", "F64",
    ] {
        let a = format!(
            "Generated(element: {element}, length: 99, generator: Uniform(seed: 1, low: 10, high: 20))"
        );
        let executed = executed(&[], &a, "Constant(15), tolerance: Absolute(5)");
        assert_eq!(
            executed.verified,
            Some(true),
            "{element}: {:?}",
            executed.checks
        );
    }
    let too_long = refusal(&[], "Constant(element: S8, length: 3, value: 128)");
    assert!(too_long.contains("128, expected -128 to 127"), "{too_long}");
}

#[test]
fn a_value_beyond_its_type_is_marked_where_it_stands() {
    assert_snapshot!(refusal(&[], "Values(element: U8, values: [1, 256])"), @r#"
    error: the value is 256, expected 0 to 255
     --> elements.ron:3:53
      |
    3 |     buffers: { "a": Values(element: U8, values: [1, 256]) },
      |                                                     ^^^
    "#);
    assert_snapshot!(refusal(&[], "Values(element: F16, values: [1, 1e6])"), @r#"
    error: the value is 1e6, which is beyond the range of f16
     --> elements.ron:3:54
      |
    3 |     buffers: { "a": Values(element: F16, values: [1, 1e6]) },
      |                                                      ^^^
    "#);
}

#[test]
fn columns_of_tables_are_found_by_name_and_by_number() {
    let table: &[u8] = b"id, weight ,name\n1,0.5,\"x,y\"\n-2,1e3,z\n";
    let files = [("t.csv", table)];
    let cases = [
        ("S16", "column: \"id\"", "Values([1, -2])"),
        ("F32", "column: \"weight\"", "Values([0.5, 1000])"),
        ("F64", "column: 1, header: true", "Values([0.5, 1000])"),
        (
            "F64",
            "column: 1",
            "Column(path: \"t.csv\", column: \"weight\")",
        ),
    ];
    for (element, how, expected) in cases {
        let a = format!("File(element: {element}, path: \"t.csv\", {how})");
        let executed = executed(&files, &a, expected);
        assert_eq!(
            executed.verified,
            Some(true),
            "{how}: {:?}",
            executed.checks
        );
    }
    let rows = executed(
        &[("m.tsv", b"1\t2\n3\t4\n")],
        "File(element: U8, path: \"m.tsv\")",
        "Values([1, 2, 3, 4])",
    );
    assert_eq!(rows.verified, Some(true));
}

#[test]
fn a_wrong_value_of_a_table_is_named_by_file_line_and_column() {
    let table: &[u8] = b"id,weight\n1,0.5\n2,heavy\n";
    let files = [("t.csv", table)];
    assert_snapshot!(refusal(&files, "File(element: F32, path: \"t.csv\", column: \"weight\")"), @r#"
    error: t.csv:3:3: expected a number in the range of f32, found "heavy"
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F32, path: "t.csv", column: "weight") },
      |                                              ^^^^^^^
    "#);
    assert_snapshot!(refusal(&files, "File(element: F32, path: \"t.csv\", column: \"wieght\")"), @r#"
    error: t.csv:1:1: no column `wieght`
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F32, path: "t.csv", column: "wieght") },
      |                                              ^^^^^^^
      = hint: did you mean `weight`? columns: id, weight
    "#);
    assert_snapshot!(refusal(&files, "File(element: F32, path: \"t.csv\", column: 2)"), @r#"
    error: t.csv:1:1: expected a column with number 2 (counted from 0), found 2 columns
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F32, path: "t.csv", column: 2) },
      |                                              ^^^^^^^
    "#);
    assert_snapshot!(refusal(&[("t.csv", b"1,2\n3\n")], "File(element: F32, path: \"t.csv\")"), @r#"
    error: t.csv:2:1: expected 2 cells, as many as in the first line, found 1
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F32, path: "t.csv") },
      |                                              ^^^^^^^
    "#);
    assert_snapshot!(refusal(&[], "File(element: F32, path: \"none.csv\")"), @r#"
    error: none.csv: cannot read: No such file or directory (os error 2)
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F32, path: "none.csv") },
      |                                              ^^^^^^^^^^
    "#);
}

#[test]
fn pictures_sequences_and_arrays_are_recognised_by_their_names() {
    let mut npy =
        b"\x93NUMPY\x01\x00\x3a\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
            .to_vec();
    npy.extend([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40]);
    let files: [(&str, &[u8]); 4] = [
        ("p.pgm", b"P5 # grey\n2 1\n255\n\x07\xff"),
        ("q.ppm", b"P3\n1 1 9\n1 2 3"),
        ("s.fa", b">one\nAC\n>two\nG\n"),
        ("n.npy", &npy),
    ];
    let cases = [
        ("U8", "p.pgm", "Values([7, 255])"),
        ("F32", "q.ppm", "Values([1, 2, 3])"),
        ("U8", "s.fa", "Values([65, 67, 71])"),
        ("F32", "n.npy", "Values([1, 2])"),
    ];
    for (element, path, expected) in cases {
        let a = format!("File(element: {element}, path: \"{path}\")");
        let executed = executed(&files, &a, expected);
        assert_eq!(
            executed.verified,
            Some(true),
            "{path}: {:?}",
            executed.checks
        );
    }
    assert_snapshot!(refusal(&files, "File(element: F64, path: \"n.npy\")"), @r#"
    error: n.npy: has elements of the NumPy type `<f4`, expected `<f8`
     --> elements.ron:3:46
      |
    3 |     buffers: { "a": File(element: F64, path: "n.npy") },
      |                                              ^^^^^^^
      = hint: set `element` to the type of the file, or save it with `.astype(…)`
    "#);
    assert_snapshot!(refusal(&files, "File(element: S8, path: \"p.pgm\")"), @r#"
    error: p.pgm:4:2: expected a whole number from -128 to 127, found "255"
     --> elements.ron:3:45
      |
    3 |     buffers: { "a": File(element: S8, path: "p.pgm") },
      |                                             ^^^^^^^
    "#);
    assert_snapshot!(refusal(&files, "File(element: U8, path: \"p.pgm\", column: 1)"), @r#"
    error: p.pgm: is read as Pnm, which has no columns
     --> elements.ron:3:45
      |
    3 |     buffers: { "a": File(element: U8, path: "p.pgm", column: 1) },
      |                                             ^^^^^^^
      = hint: `column` and `header` are for tables: format: Csv
    "#);
}

#[test]
fn properties_are_judged_and_named_in_checks() {
    let a = "Values(element: S16, values: [3, -1, 2])";
    let program = |expect: &str| program(&[], a, expect);
    let holds = program("Values([3, -1, 2])), Expect(buffer: \"a\", holds: Permutation(\"a\")");
    let executed = holds.unwrap().execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(true));
    assert_eq!(executed.checks[1].reference, "Permutation");
    let fails = program("Values([3, -1, 2])), Expect(buffer: \"a\", holds: Ascending");
    let executed = fails.unwrap().execute(&EmulationSpec::default()).unwrap();
    assert_eq!(executed.verified, Some(false));
    assert_snapshot!(executed.checks[1].detail, @"[0] is 3, [1] is -1");
    let refused = |expect: &str| program(expect).unwrap_err().to_string();
    let both = refused("Values([1]), holds: Ascending");
    assert!(
        both.contains("exactly one of `equals` and `holds`"),
        "{both}"
    );
    let unknown = refused("Values([3, -1, 2])), Expect(buffer: \"a\", holds: Ascendin");
    assert_snapshot!(unknown, @r#"
    error: unknown property `Ascendin`
     --> elements.ron:5:90
      |
    5 |     expect: [Expect(buffer: "a", equals: Values([3, -1, 2])), Expect(buffer: "a", holds: Ascendin)],
      |                                                                                          ^^^^^^^^
      = hint: did you mean `Ascending`? properties: Ascending, MaximalIndependentSet, Permutation, ProperColouring
    "#);
}

#[test]
fn results_are_copied_to_the_host_first_and_named_like_files() {
    let results = |more: &str| {
        let a = format!("Values(element: U8, values: [1]) }}, {more} graphs: {{");
        program(&[], &a, "Values([1])")
    };
    let fine = results("results: { \"a\": Csv },").unwrap();
    let executed = fine.execute(&EmulationSpec::default()).unwrap();
    let files: Vec<_> = fine.results(&executed).collect();
    assert_eq!(files, [("a.csv".to_owned(), b"a\n1\n".to_vec())]);
    let unknown = results("results: { \"b\": Npy },").unwrap_err().to_string();
    assert!(unknown.contains("unknown buffer `b`"), "{unknown}");
}
