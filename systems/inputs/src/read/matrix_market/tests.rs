//! Tests of matrices through the public entry point: well-formed, malformed and hostile files.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use warpweave_files::{Budget, Ledger};
use warpweave_params::Files;

use crate::element::ElementType::S32;
use crate::error::InputError;
use crate::matrix::{DenseOrder, Matrix, MatrixArray};
use crate::read::{parse_matrix, read_matrix};

fn matrix(text: &str) -> Result<Matrix, InputError> {
    let text = format!("%%MatrixMarket matrix {text}");
    parse_matrix("m.mtx", text.as_bytes())
}

/// Returns all elements of the matrix by rows.
fn dense(text: &str) -> Vec<i32> {
    let words = matrix(text).unwrap();
    let words = words.words(MatrixArray::Dense(S32, DenseOrder::ByRows));
    words.into_iter().map(u32::cast_signed).collect()
}

#[test]
fn a_rectangular_matrix_has_its_shape_and_its_entries() {
    let text = "coordinate real general\n% a comment\n2 3 3\n1 3 -4\n2 1 5e0\n2 2 0\n";
    let found = matrix(text).unwrap();
    assert_eq!((found.rows(), found.columns()), (2, 3));
    assert_eq!(found.entries(), 3, "the zero in the file is an entry");
    assert_eq!(dense(text), [0, 0, -4, 5, 0, 0]);
    assert_eq!(found.times(&[1.0, 10.0, 0.5]), [-2.0, 5.0]);
}

#[test]
fn symmetric_entries_are_mirrored_with_their_sign() {
    let symmetric = "coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 -4\n";
    assert_eq!(dense(symmetric), [3, -4, -4, 0]);
    let skew = "coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 2 5\n";
    assert_eq!(dense(skew), [0, -4, 0, 4, 0, -5, 0, 5, 0]);
    let pattern = "coordinate pattern symmetric\n2 2 1\n2 1\n";
    assert_eq!(dense(pattern), [0, 1, 1, 0]);
    let hermitian = "coordinate complex hermitian\n2 2 1\n2 1 3 4\n";
    assert_eq!(matrix(hermitian).unwrap().entries(), 2);
}

#[test]
fn an_array_is_listed_by_columns_and_zeros_are_no_entries() {
    let general = "array integer general\n2 3\n1\n2\n0\n4\n5\n6\n";
    assert_eq!(dense(general), [1, 0, 5, 2, 4, 6]);
    assert_eq!(matrix(general).unwrap().entries(), 5);
    let symmetric = "array integer symmetric\n2 2\n1\n2\n3\n";
    assert_eq!(dense(symmetric), [1, 2, 2, 3]);
    let skew = "array integer skew-symmetric\n3 3\n1\n2\n3\n";
    assert_eq!(dense(skew), [0, -1, -2, 1, 0, -3, 2, 3, 0]);
    let vector = "array real general\n3 1\n1\n2\n3\n";
    assert_eq!(dense(vector), [1, 2, 3]);
    assert_eq!(matrix("array real general\n0 0\n").unwrap().entries(), 0);
    assert_eq!(
        matrix("array real skew-symmetric\n1 1\n")
            .unwrap()
            .entries(),
        0
    );
}

#[test]
fn entries_of_one_place_are_added_in_file_order_and_counted() {
    let text = "coordinate real general\n2 2 4\n2 1 1e16\n1 2 7\n2 1 1\n2 1 -1e16\n";
    let found = matrix(text).unwrap();
    assert_eq!(found.entries(), 2);
    let repeated = found.repeated().unwrap();
    assert_eq!((repeated.entries, repeated.place), (2, (1, 0)));
    // 1e16 + 1 is 1e16 in double precision.
    assert_eq!(dense(text), [0, 7, 0, 0]);
    assert_eq!(
        matrix("array real general\n1 1\n1\n").unwrap().repeated(),
        None
    );
}

#[test]
fn gzip_and_a_byte_order_mark_are_no_part_of_a_matrix() {
    let text = "%%MatrixMarket matrix array real general\n1 2\n1\n2\n";
    let plain = parse_matrix("m", text.as_bytes()).unwrap();
    let marked = parse_matrix("m", format!("\u{feff}{text}").as_bytes());
    assert_eq!(marked.unwrap(), plain);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    let zipped = encoder.finish().unwrap();
    assert_eq!(parse_matrix("m", zipped.as_slice()).unwrap(), plain);
}

/// Each line: the text after `%%MatrixMarket matrix `, and the reader's message.
#[test]
fn mistakes_in_a_matrix_are_named_with_their_place() {
    let cases = [
        (
            "vector real general\n",
            "1:23: expected `coordinate` or `array`, found \"vector\"",
        ),
        (
            "array pattern general\n",
            "1:29: expected `integer`, `real` or `complex` (all elements of an `array` have numbers), found \"pattern\"",
        ),
        (
            "coordinate pattern skew-symmetric\n",
            "1:42: expected `general` or `symmetric`, found \"skew-symmetric\"",
        ),
        (
            "coordinate real symmetric\n2 3 1\n",
            "2:3: expected as many columns as rows (only a square matrix is symmetric): 2, found \"3\"",
        ),
        (
            "coordinate real general\n2 3 1\n2 4 1\n",
            "3:3: expected a column from 1 to 3, found \"4\"",
        ),
        (
            "coordinate real general\n2 3 1\n2 3 nan\n",
            "3:5: expected a number, found \"nan\"",
        ),
        (
            "coordinate real general\n2 3 1\n2 3\n",
            "3:4: expected a number, found the end of the line",
        ),
        (
            "coordinate integer general\n2 3 1\n2 3 9007199254740993\n",
            "3:5: expected a whole number from -9007199254740992 to 9007199254740992, found \"9007199254740993\"",
        ),
        (
            "coordinate integer skew-symmetric\n3 3 1\n2 2 1\n",
            "3:3: expected a column below the diagonal (the file is skew-symmetric): 1, found \"2\"",
        ),
        (
            "coordinate integer skew-symmetric\n1 1 1\n1 1 1\n",
            "3:1: expected no entry, because the matrix has no place for one, found \"1\"",
        ),
        (
            "coordinate complex general\n2 3 1\n2 3 1\n",
            "3:6: expected a number, found the end of the line",
        ),
        (
            "array real general\n",
            "2:1: expected the size line `rows columns`, found the end of the file",
        ),
        (
            "array real general\n2 2 4\n",
            "2:5: expected the end of the line, found \"4\"",
        ),
        (
            "array real general\n2 2\n1\n2\n3\n",
            "6:1: expected entry 4 of the 4 given by the size line, found the end of the file",
        ),
        (
            "array real general\n1 1\n1\n2\n",
            "4:1: expected the end of the file after 1 entries, found \"2\"",
        ),
        (
            "array real general\n67108864 67108864\n",
            "2:1: expected an array of at most 268435456 elements, found \"67108864 67108864\"",
        ),
    ];
    for (text, expected) in cases {
        let found = matrix(text).expect_err(text).to_string();
        assert_eq!(found, format!("m.mtx:{expected}"));
    }
}

#[test]
fn a_matrix_that_takes_more_memory_than_there_may_be_is_refused_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let entries = "1 1 1\n".repeat(100_000);
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    let long = format!("{banner}1 1 100000\n{entries}");
    std::fs::write(folder.path().join("long"), long).unwrap();
    let tall = format!("{banner}67108864 1 0\n");
    std::fs::write(folder.path().join("tall"), tall).unwrap();
    let within = |name: &str, limit: u64| {
        let files = Files::of(folder.path());
        let files = files.charged_to(&Ledger::new(&Budget::of(limit)));
        read_matrix(std::path::Path::new(name), &files)
    };
    for name in ["long", "tall"] {
        let error = within(name, 1 << 20).unwrap_err();
        assert!(matches!(error, InputError::OverBudget(_)), "{error}");
    }
    assert_eq!(within("long", 16 << 20).unwrap().entries(), 1);
}

proptest! {
    #[test]
    fn mutated_matrices_never_panic(
        text in prop::sample::select(&[
            "coordinate real general\n3 2 2\n1 2 3.5\n3 1 -4e2\n",
            "coordinate integer skew-symmetric\n3 3 1\n3 1 7\n",
            "array real symmetric\n2 2\n1\n2\n3\n",
        ][..]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = format!("%%MatrixMarket matrix {text}").into_bytes();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = parse_matrix("m", bytes.as_slice());
    }
}
