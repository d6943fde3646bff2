//! Readers of graph files, plain or gzip-compressed, and of files of words.

mod edge_list;
mod lines;
mod matrix_market;
mod words;

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use crate::csr::Csr;
use crate::error::{InputError, Place};
use lines::Lines;
pub use words::read_words;

/// The format of a graph file. Compression is not part of it: gzip is recognised by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphFormat {
    /// Matrix Market coordinate format: a square matrix, entry (r, c) is the arc r -> c.
    ///
    /// Fields `pattern`, `integer` and `real`; symmetries `general` and `symmetric`. A symmetric file
    /// stores the lower triangle; the mirror arc of each entry off the diagonal is added. Repeated
    /// entries become parallel arcs, diagonal entries loops.
    MatrixMarket,
    /// One arc a line, `from to` or `from to weight`, vertices numbered from 0, all lines alike.
    ///
    /// Text from `#` or `%` at the start of a line is a comment. The largest number named decides
    /// how many vertices there are. Nothing is mirrored; repeated lines become parallel arcs.
    EdgeList,
}

/// What becomes of the numbers stored with the entries of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryValues {
    /// They are arc weights and must be whole numbers from 0 to 4294967295 (`3.0` is one).
    Weights,
    /// They must be numbers and are dropped.
    Ignored,
}

/// The graph in a file.
///
/// # Errors
/// The file cannot be opened or read, or is not what the format asks for; the message names the
/// place, what was expected and what is there.
pub fn read_graph(
    path: &Path,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => parse_graph(&name, file, format, values),
        Err(reason) => Err(InputError::Open { file: name, reason }),
    }
}

/// The graph in a stream of bytes; `name` stands for the file in error messages.
///
/// Memory use is bounded by the data actually there and by the limits
/// [`MAX_VERTICES`](crate::MAX_VERTICES) and [`MAX_EDGES`](crate::MAX_EDGES), whatever sizes the
/// data claims.
///
/// # Errors
/// As [`read_graph`].
pub fn parse_graph(
    name: &str,
    mut input: impl Read,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let mut magic = Vec::with_capacity(2);
    if let Err(reason) = input.by_ref().take(2).read_to_end(&mut magic) {
        let place = Place {
            file: name.to_string(),
            line: 1,
            column: 1,
        };
        return Err(InputError::Read { place, reason });
    }
    let zipped = magic == [0x1f, 0x8b];
    let whole = BufReader::new(Cursor::new(magic).chain(input));
    if zipped {
        let unzipped = BufReader::new(MultiGzDecoder::new(whole));
        parse_lines(Lines::new(name, unzipped, true), format, values)
    } else {
        parse_lines(Lines::new(name, whole, false), format, values)
    }
}

fn parse_lines(
    lines: Lines<impl std::io::BufRead>,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    match format {
        GraphFormat::MatrixMarket => matrix_market::read(lines, values),
        GraphFormat::EdgeList => edge_list::read(lines, values),
    }
}

/// Arcs as they come from a file, with a weight each or none at all.
struct Arcs {
    ends: Vec<(u32, u32)>,
    weights: Option<Vec<u32>>,
}

impl Arcs {
    fn push(&mut self, from: u32, to: u32, weight: Option<u32>) {
        self.ends.push((from, to));
        if let (Some(weights), Some(weight)) = (&mut self.weights, weight) {
            weights.push(weight);
        }
    }

    fn into_graph(self, vertices: u32) -> Result<Csr, InputError> {
        Ok(Csr::from_arcs(
            vertices,
            &self.ends,
            self.weights.as_deref(),
        )?)
    }
}

#[cfg(test)]
mod tests;
