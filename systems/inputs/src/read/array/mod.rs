//! Arrays in files: tables, `NumPy` arrays, pictures, sequences, and the bytes of a memory.

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
pub(crate) use npy::name as npy_name;
use text::Text;

/// The format of a file that holds an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileFormat {
    /// Little-endian elements, one after the other.
    Raw,
    /// Values separated by commas, of `.tsv` files by tabs; the first line may name the columns.
    Csv,
    /// The array format of `NumPy`, versions 1 to 3, of the type of the elements.
    Npy,
    /// Portable grey or colour maps (P2, P3, P5, P6): samples from the upper left, row after row.
    Pnm,
    /// Sequences of letters: the codes of all letters, those of one sequence after those of the one before.
    Fasta,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnChoice {
    /// By the name that the first line gives it.
    Name(String),
    /// By its number, from 0.
    Number(u64),
}

/// How the elements of a file are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileReading {
    /// Its format; `None`: by the end of its name ([`FileFormat::of`]).
    pub format: Option<FileFormat>,
    /// Of a table, the column; `None`: every cell, row after row.
    pub column: Option<ColumnChoice>,
    /// Of a table, whether its first line names the columns; `None`: if no cell of it is a number.
    pub header: Option<bool>,
}

/// The elements of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileArray {
    /// The words of a memory that holds them; see [`ElementType::pack`].
    pub words: Vec<u32>,
    /// Number of elements.
    pub length: usize,
}

impl FileFormat {
    /// The format that the end of a file's name stands for: `csv` and `tsv`, `npy`, `pgm`, `ppm` and `pnm`, `fa`,
    /// `fasta`, `fna` and `faa`; any other is [`FileFormat::Raw`].
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

/// What is known of a file besides its bytes.
struct FileInfo<'f> {
    /// Stands for the file in messages.
    file: &'f str,
    element: ElementType,
    /// Whether messages may show what is in it.
    may_quote: bool,
}

/// The elements of a file.
///
/// # Errors
/// The file cannot be read, is not what its format asks for, holds what is no element of this type or more
/// than [`MAX_ELEMENTS`], or takes more memory than there may be. The message names the place.
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
            table::read(&asked, &Text::new(&asked, &data), how, separator)
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

/// Whether a file of several elements holds nothing but lines of printable characters, as no useful array does.
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
