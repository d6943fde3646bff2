//! Export of result arrays to files that other programs can read.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::element::ElementType;
use crate::read::npy_name;

/// File format for a result array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum ResultFormat {
    /// Table of one column, named after the array. Numbers have the fewest digits that identify
    /// them.
    Csv,
    /// Array format of `NumPy`, version 1, with one dimension.
    Npy,
}

impl ResultFormat {
    /// Returns the ending of the file name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Npy => "npy",
        }
    }

    /// Returns the file contents for an array of `length` elements stored in `words`.
    ///
    /// # Panics
    /// Panics if there are fewer words than the elements take.
    pub fn file(self, name: &str, element: ElementType, length: usize, words: &[u32]) -> Vec<u8> {
        match self {
            Self::Csv => table(length, &[(name, element, words)]).into_bytes(),
            Self::Npy => npy(element, length, words),
        }
    }
}

/// Returns a table of `length` lines with one column per array, given by its name, type and words.
///
/// # Panics
/// Panics if a column has fewer words than its elements take.
pub fn table<W: AsRef<[u32]>>(length: usize, columns: &[(&str, ElementType, W)]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, ..)| cell(name)).collect();
    let mut text = names.join(",") + "\n";
    for at in 0..length {
        for (column, (_, element, words)) in columns.iter().enumerate() {
            let separator = if column == 0 { "" } else { "," };
            let _ = write!(
                text,
                "{separator}{}",
                element.text(element.pattern(words.as_ref(), at))
            );
        }
        text.push('\n');
    }
    text
}

/// Returns a name, quoted if necessary.
fn cell(name: &str) -> String {
    if name.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

fn npy(element: ElementType, length: usize, words: &[u32]) -> Vec<u8> {
    let descr = npy_name(element);
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({length},), }}");
    // Magic, version, length and header fill lines of 64 bytes, the last byte ends the line.
    let before = 10;
    let padded = (before + header.len() + 1).next_multiple_of(64) - before;
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((padded as u16).to_le_bytes());
    file.extend(format!("{header:<0$}\n", padded - 1).bytes());
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    file.extend(bytes.take(length * element.bytes()));
    file
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use warpweave_params::Files;

    use super::*;
    use crate::element::ElementType::{BF16, F16, F32, F64, S8, S16, S64, U8, U32, U64};
    use crate::read::{FileReading, read_array};

    const TYPES: &[ElementType] = &[U8, S8, S16, U32, U64, S64, F16, BF16, F32, F64];

    #[test]
    fn a_table_has_the_name_and_one_value_a_line() {
        let file = ResultFormat::Csv.file("sum", F32, 2, &[0x3f80_0000, 0xbf00_0000]);
        assert_eq!(String::from_utf8(file).unwrap(), "sum\n1.0\n-0.5\n");
        let file = ResultFormat::Csv.file("a,b", S8, 1, &[0xff]);
        assert_eq!(String::from_utf8(file).unwrap(), "\"a,b\"\n-1\n");
    }

    #[test]
    fn the_header_of_numpy_fills_lines_of_64_bytes() {
        let file = ResultFormat::Npy.file("a", U8, 3, &[0x0003_0201]);
        assert_eq!(file.len(), 128 + 3);
        assert_eq!(file[127..], [b'\n', 1, 2, 3]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            element in prop::sample::select(TYPES),
            words in prop::collection::vec(any::<u32>(), 2..20),
        ) {
            let length = words.len() / 2 * 8 / element.bytes();
            let words = &words[..words.len() / 2 * 2];
            let is_nan = |at| element.range().is_none() && element.number(element.pattern(words, at)).is_nan();
            let folder = tempfile::tempdir().unwrap();
            for format in [ResultFormat::Csv, ResultFormat::Npy] {
                let name = format!("a.{}", format.ending());
                std::fs::write(folder.path().join(&name), format.file("a", element, length, words)).unwrap();
                let how = FileReading { header: (format == ResultFormat::Csv).then_some(true), ..FileReading::default() };
                let read = read_array(Path::new(&name), &Files::of(folder.path()), element, &how).unwrap();
                prop_assert_eq!(read.length, length);
                for at in (0..length).filter(|at| format == ResultFormat::Npy || !is_nan(*at)) {
                    prop_assert_eq!(element.pattern(&read.words, at), element.pattern(words, at));
                }
            }
        }
    }
}
