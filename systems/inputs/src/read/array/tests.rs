//! Tests with valid and invalid array files.

use std::path::Path;

use proptest::prelude::*;
use warpweave_params::Files;

use super::*;
use crate::element::ElementType::{F32, S32, U8, U16, U32};

fn read_as(
    name: &str,
    bytes: &[u8],
    element: ElementType,
    how: &FileReading,
) -> Result<Vec<u64>, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), bytes).unwrap();
    let files = Files::of(folder.path());
    let array = read_array(Path::new(name), &files, element, how);
    let array = array.map_err(|error| {
        error
            .to_string()
            .replace(&*folder.path().to_string_lossy(), "")
    })?;
    Ok((0..array.length)
        .map(|at| element.pattern(&array.words, at))
        .collect())
}

fn read(name: &str, bytes: &[u8], element: ElementType) -> Result<Vec<u64>, String> {
    read_as(name, bytes, element, &FileReading::default())
}

fn npy(descr: &str, order: &str, shape: &str, values: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), values].concat()
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_table() {
    let marked = "\u{feff}a,b\n1,2\n".as_bytes();
    let how = FileReading {
        column: Some(ColumnChoice::Name("a".to_owned())),
        ..FileReading::default()
    };
    assert_eq!(read_as("t.csv", marked, U8, &how).unwrap(), [1]);
    assert_eq!(
        read("t.csv", "\u{feff}3,4\n".as_bytes(), U8).unwrap(),
        [3, 4]
    );
}

#[test]
fn cells_are_trimmed_and_quoted_ones_may_hold_separators() {
    assert_eq!(
        read("t.csv", b" 1 ,\"2\"\r\n3,4\r\n", U8).unwrap(),
        [1, 2, 3, 4]
    );
    assert!(read("t.csv", b"", U8).unwrap().is_empty());
    let third = FileReading {
        column: Some(ColumnChoice::Number(1)),
        ..FileReading::default()
    };
    let quoted = b"\"a,b\",7\n\"c\",x\n";
    let message = read_as("t.csv", quoted, U8, &third).unwrap_err();
    assert_eq!(
        message,
        "/t.csv:2:5: expected a whole number from 0 to 255, found \"x\""
    );
}

#[test]
fn a_first_line_without_numbers_names_the_columns_unless_it_is_said_otherwise() {
    assert_eq!(read("t.csv", b"a\n5\n", S32).unwrap(), [5]);
    let none = FileReading {
        header: Some(false),
        ..FileReading::default()
    };
    assert!(read_as("t.csv", b"a\n5\n", S32, &none).is_err());
    let some = FileReading {
        header: Some(true),
        ..FileReading::default()
    };
    assert_eq!(read_as("t.csv", b"4\n5\n", S32, &some).unwrap(), [5]);
}

#[test]
fn arrays_of_numpy_are_of_their_type_row_after_row_and_whole() {
    let values = [1, 0, 2, 0];
    assert_eq!(
        read("a.npy", &npy("<u2", "False", "(2,)", &values), U16).unwrap(),
        [1, 2]
    );
    assert_eq!(
        read("a.npy", &npy("<u2", "False", "(1, 2)", &values), U16).unwrap(),
        [1, 2]
    );
    assert_eq!(
        read("a.npy", &npy("|b1", "False", "(4,)", &values), U8).unwrap(),
        [1, 0, 2, 0]
    );
    assert_eq!(
        read("a.npy", &npy("<u2", "False", "()", &values[..2]), U16).unwrap(),
        [1]
    );
    let wrong = [
        (
            npy(">u2", "False", "(2,)", &values),
            "of the NumPy type `>u2`, expected `<u2`",
        ),
        (npy("<u2", "True", "(1, 2)", &values), ""),
        (
            npy("<u2", "True", "(2, 2)", &values),
            "is in column-major order",
        ),
        (
            npy("<u2", "False", "(3,)", &values),
            "4 bytes of elements, expected 6",
        ),
        (
            npy("<u2", "False", "(99999999999999999999,)", &values),
            "is not a NumPy array",
        ),
        (
            npy("<u2", "False", "(9999999999,9999999999,9)", &values),
            "fewer than its shape",
        ),
        (b"text".to_vec(), "is not a NumPy array"),
    ];
    for (bytes, expected) in wrong {
        match read("a.npy", &bytes, U16) {
            Ok(_) => assert_eq!(expected, ""),
            Err(message) => assert!(
                !expected.is_empty() && message.contains(expected),
                "{message}"
            ),
        }
    }
}

#[test]
fn samples_of_pictures_are_at_most_their_largest_value() {
    assert_eq!(
        read("p.pgm", b"P2\n# c\n2 2\n15\n1 2\n3 15\n", U8).unwrap(),
        [1, 2, 3, 15]
    );
    assert_eq!(
        read("p.pgm", b"P5 1 1 65535 \x01\x02", U16).unwrap(),
        [0x102]
    );
    assert_eq!(
        read("p.ppm", b"P6 1 1 255\n\x01\x02\x03", F32)
            .unwrap()
            .len(),
        3
    );
    let wrong: [(&[u8], &str); 5] = [
        (
            b"P4 1 1\n",
            "/p.pgm:1:1: expected `P2`, `P3`, `P5` or `P6`, found \"P4\"",
        ),
        (
            b"P2 2 2 15\n1 2\n",
            "/p.pgm:3:1: expected 2 times 2 pixels, found the end of the file",
        ),
        (
            b"P2 1 2 15\n1\n16 ",
            "/p.pgm:3:1: expected a sample, a whole number up to 15, found \"16\"",
        ),
        (
            b"P5 1 x 15\n",
            "/p.pgm:1:6: expected the height, a whole number up to 4294967295, found \"x\"",
        ),
        (
            b"P5 4294967295 4294967295 15\n",
            "/p.pgm:2:1: expected 4294967295 times 4294967295 pixels, found the end of the file",
        ),
    ];
    for (bytes, expected) in wrong {
        assert_eq!(read("p.pgm", bytes, U8).unwrap_err(), expected);
    }
}

#[test]
fn sequences_are_letters_under_their_names() {
    assert_eq!(
        read("s.fasta", b">a b c\nAC-\n\nG*\n", U8).unwrap(),
        b"AC-G*".map(u64::from)
    );
    let message = read("s.fa", b"ACGT\n", U8).unwrap_err();
    assert!(
        message.starts_with("/s.fa:1:1: expected a line that begins with `>`"),
        "{message}"
    );
    let message = read("s.fa", b">a\nAC1\n", U8).unwrap_err();
    assert_eq!(
        message,
        "/s.fa:2:3: expected a letter, `*` or `-`, found \"1\""
    );
}

#[test]
fn bytes_are_whole_elements_and_no_text_unless_elements_are_bytes() {
    assert_eq!(read("a.bin", &[1, 0, 2, 0, 3, 0], U16).unwrap(), [1, 2, 3]);
    assert!(
        read("a.bin", &[1, 0, 2], U16)
            .unwrap_err()
            .contains("not a multiple of 2")
    );
    assert!(
        read("a.bin", b"1\n22", U32)
            .unwrap_err()
            .contains("is a text file")
    );
    assert_eq!(read("a.txt", b"a\n", U8).unwrap(), [97, 10]);
}

/// First bytes of files in the supported formats.
const BEGINNINGS: &[&[u8]] = &[
    b"",
    b"P2 ",
    b"P5 3 1 255 ",
    b">a\n",
    b"x,y\n1,2\n",
    b"\x93NUMPY\x01\x00\x20\x00{'descr':'<f4','shape':(",
];

const NAMES: &[&str] = &["a.csv", "a.npy", "a.pgm", "a.fa", "a.bin"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any file contents give an array or an error.
    #[test]
    fn any_bytes_are_read_or_refused(
        start in prop::sample::select(BEGINNINGS),
        rest in prop::collection::vec(any::<u8>(), 0..60),
        name in prop::sample::select(NAMES),
    ) {
        let bytes = [start, &rest].concat();
        let _ = read(name, &bytes, F32);
        let _ = read(name, &bytes, U8);
    }

    /// A table that is written can be read back, as a whole or by columns.
    #[test]
    fn what_a_table_holds_is_found(rows in prop::collection::vec(any::<[i32; 3]>(), 1..9)) {
        let text = rows.iter().map(|[a, b, c]| format!("{a},{b},{c}"));
        let text = text.collect::<Vec<_>>().join("\n");
        let text = format!("a,b,c\n{text}");
        let all: Vec<u64> = rows.iter().flatten().map(|n| u64::from(*n as u32)).collect();
        prop_assert_eq!(read("t.csv", text.as_bytes(), S32).unwrap(), all);
        let by_name = FileReading { column: Some(ColumnChoice::Name("b".to_owned())), ..FileReading::default() };
        let column: Vec<u64> = rows.iter().map(|row| u64::from(row[1] as u32)).collect();
        prop_assert_eq!(read_as("t.csv", text.as_bytes(), S32, &by_name).unwrap(), column);
    }
}
