//! Readers for arrays in files: tables, `NumPy` arrays, pictures, sequences and raw bytes.

mod fasta;
mod npy;
mod picture;
mod table;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use warpweave_files::{Input, Ledger, ReadError};
use warpweave_params::Files;

use crate::arrays::MAX_ELEMENTS;
use crate::element::{ElementType, words_of_bytes};
use crate::error::InputError;
use crate::mark::BYTE_ORDER_MARK;
pub(crate) use npy::name as npy_name;
use text::Text;

/// Format of a file that contains an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFormat {
    /// Little-endian elements without any header.
    Raw,
    /// Values separated by commas, or by tabs in `.tsv` files. The first line may name the columns.
    Csv,
    /// Array format of `NumPy`, versions 1 to 3, with the requested element type.
    Npy,
    /// Portable grey or colour maps (P2, P3, P5, P6): samples from the upper left, row by row.
    Pnm,
    /// Sequences of letters: the codes of all letters, sequence after sequence.
    Fasta,
}

/// Column of a table, by name or number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnChoice {
    /// Column by its name in the first line.
    Name(String),
    /// Column by its number, counted from 0.
    Number(u64),
}

/// Instructions for finding the elements in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReading {
    /// Format of the file; `None` to derive it from the file name ([`FileFormat::of`]).
    pub format: Option<FileFormat>,
    /// Column of a table; `None` for every cell, row by row.
    pub column: Option<ColumnChoice>,
    /// True if a table's first line names the columns. `None` treats it as names if no cell of it
    /// is a number.
    pub header: Option<bool>,
}

/// Elements that were read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArray {
    /// Elements as the words of their memory; see [`ElementType::pack`].
    pub words: Vec<u32>,
    pub length: usize,
}

impl FileFormat {
    /// Returns the format for the ending of a file's name. Known endings are `csv` and `tsv`,
    /// `npy`, `pgm`, `ppm` and `pnm`, `fa`, `fasta`, `fna` and `faa`. Any other is
    /// [`FileFormat::Raw`].
    pub fn of(path: &Path) -> Self {
        let end = path.extension().unwrap_or_default().to_string_lossy();
        match end.to_ascii_lowercase().as_str() {
            "csv" | "tsv" => Self::Csv,
            "npy" => Self::Npy,
            "pgm" | "ppm" | "pnm" => Self::Pnm,
            "fa" | "fasta" | "fna" | "faa" => Self::Fasta,
            _ => Self::Raw,
        }
    }
}

impl FileArray {
    fn of(element: ElementType, patterns: Vec<u64>) -> Self {
        Self {
            length: patterns.len(),
            words: element.pack(patterns),
        }
    }
}

/// Facts about a file besides its bytes.
struct FileInfo<'f> {
    /// Name of the file for messages.
    file: &'f str,
    element: ElementType,
    /// True if messages may quote its contents.
    may_quote: bool,
}

/// Reads the elements of a file.
///
/// # Errors
/// Returns an error if the file cannot be read or does not match its format. Also fails for
/// elements that are not of this type, for more than [`MAX_ELEMENTS`], or if the memory budget is
/// exceeded. The message includes the position.
pub fn read_array(
    path: &Path,
    files: &Files,
    element: ElementType,
    how: &FileReading,
) -> Result<FileArray, InputError> {
    let path: &PathBuf = &files.folder().join(path);
    let file = &path.display().to_string();
    let unreadable = |reason| InputError::Unreadable {
        file: file.clone(),
        reason,
    };
    let input = Input::open(path).map_err(unreadable)?;
    let bytes = input.size();
    let most = MAX_ELEMENTS as u64;
    if bytes > most {
        return Err(InputError::TooLarge {
            file: file.clone(),
            bytes,
            most,
        });
    }
    let format = how.format.unwrap_or_else(|| FileFormat::of(path));
    if format != FileFormat::Csv && (how.column.is_some() || how.header.is_some()) {
        let problem = format!("is read as {format:?}, which has no columns");
        return Err(InputError::of_array(
            file,
            problem,
            "`column` and `header` are for tables: format: Csv",
        ));
    }
    // The bytes while they are read, and the patterns that are found in them.
    let reading = Ledger::new(&files.ledger().budget());
    let data = input.read(&reading).map_err(|error| match error {
        ReadError::Io(reason) => unreadable(reason),
        ReadError::OverBudget(error) => error.into(),
    })?;
    let (patterns, elements) = match format {
        FileFormat::Raw | FileFormat::Npy => (0, bytes / element.bytes() as u64),
        // Two characters each: a digit and what ends it.
        FileFormat::Csv => (bytes / 2 + 1, bytes / 2 + 1),
        FileFormat::Pnm | FileFormat::Fasta => (bytes, bytes),
    };
    reading.charge(file, patterns * 8)?;
    files
        .ledger()
        .charge(file, elements * element.bytes() as u64)?;
    let asked = FileInfo {
        file,
        element,
        may_quote: files.may_quote(path),
    };
    match format {
        FileFormat::Raw => raw(&asked, &data),
        FileFormat::Npy => npy::read(&asked, &data),
        FileFormat::Csv => {
            let separator = match path.extension() {
                Some(end) if end.eq_ignore_ascii_case("tsv") => b'\t',
                _ => b',',
            };
            let data = data.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&data);
            table::read(&asked, &Text::new(&asked, data), how, separator)
        }
        FileFormat::Pnm => picture::read(&asked, &data),
        FileFormat::Fasta => fasta::read(&asked, &data),
    }
}

fn raw(asked: &FileInfo<'_>, data: &[u8]) -> Result<FileArray, InputError> {
    let bytes = asked.element.bytes();
    let file = || asked.file.to_owned();
    // A byte may well be a letter.
    if bytes > 1 && is_text(data) {
        return Err(InputError::TextForElements {
            file: file(),
            bytes,
        });
    }
    if !data.len().is_multiple_of(bytes) {
        return Err(InputError::PartOfAnElement {
            file: file(),
            found: data.len() as u64,
            bytes,
        });
    }
    Ok(FileArray {
        words: words_of_bytes(data),
        length: data.len() / bytes,
    })
}

/// True if a file of several elements consists only of lines of printable characters, which no
/// useful array does.
fn is_text(data: &[u8]) -> bool {
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    data.contains(&b'\n') && data.iter().all(printable)
}

impl<'de> Deserialize<'de> for ColumnChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ElementChoice;

        impl Visitor<'_> for ElementChoice {
            type Value = ColumnChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a column or its number, from 0")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<ColumnChoice, E> {
                Ok(ColumnChoice::Name(name.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ColumnChoice, E> {
                Ok(ColumnChoice::Number(number))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<ColumnChoice, E> {
                let column = u64::try_from(number);
                let wrong = |_| E::invalid_value(de::Unexpected::Signed(number), &self);
                column.map(ColumnChoice::Number).map_err(wrong)
            }
        }

        deserializer.deserialize_any(ElementChoice)
    }
}
