//! Readers of graph files, plain or gzip-compressed, and of files of arrays (`array/`).

mod array;
mod edge_list;
mod lines;
mod matrix_market;

use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use warpweave_files::{Budget, Charge, Input, Unpacked};
use warpweave_params::Files;

use crate::csr::Csr;
use crate::error::{InputError, Place};
pub(crate) use array::npy_name;
pub use array::{ColumnChoice, FileArray, FileFormat, FileReading, read_array};
use lines::Lines;

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
    files: &Files,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let path = files.folder().join(path);
    let name = path.display().to_string();
    let input = match Input::open(&path) {
        Ok(input) => input,
        Err(reason) => return Err(InputError::Open { file: name, reason }),
    };
    let stored = input.size();
    let reading = Reading {
        name: &name,
        quoted: if files.may_quote(&path) {
            STRANGER_QUOTED
        } else {
            0
        },
        budget: files.ledger().budget(),
    };
    parse(&reading, input, stored, format, values)
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
    input: impl Read,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let reading = Reading {
        name,
        quoted: STRANGER_QUOTED,
        budget: Budget::unlimited(),
    };
    parse(&reading, input, u64::MAX, format, values)
}

/// Bytes that a message may quote of a file before it is known to be a graph.
const STRANGER_QUOTED: u64 = 80;

/// How a graph is read.
struct Reading<'n> {
    /// Stands for the file in messages.
    name: &'n str,
    /// Bytes that a message may quote before the file is known to be a graph.
    quoted: u64,
    budget: Budget,
}

/// The graph in a stream of `stored` bytes.
fn parse(
    reading: &Reading<'_>,
    mut input: impl Read,
    stored: u64,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let name = reading.name;
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
        let unzipped = Unpacked::of(MultiGzDecoder::new(whole), stored);
        let lines = Lines::new(reading, BufReader::new(unzipped), true);
        parse_lines(lines, &reading.budget, format, values)
    } else {
        let lines = Lines::new(reading, whole, false);
        parse_lines(lines, &reading.budget, format, values)
    }
}

fn parse_lines(
    lines: Lines<impl std::io::BufRead>,
    budget: &Budget,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    match format {
        GraphFormat::MatrixMarket => matrix_market::read(lines, budget, values),
        GraphFormat::EdgeList => edge_list::read(lines, budget, values),
    }
}

/// Arcs as they come from a file, with a weight each or none at all.
struct Arcs {
    ends: Vec<(u32, u32)>,
    weights: Option<Vec<u32>>,
    charge: Charge,
    /// Arcs that are charged.
    charged: usize,
}

/// Bytes of an arc while it is read, and in the graph that becomes of it; a vector that grows is twice
/// as large for a moment.
const ARC_BYTES: u64 = 40;

/// Bytes of a vertex in a graph and while it is built.
const VERTEX_BYTES: u64 = 12;

/// Arcs charged at once.
const ARCS_CHARGED: usize = 1 << 12;

impl Arcs {
    fn new(budget: &Budget, weighted: bool) -> Result<Self, InputError> {
        Ok(Self {
            ends: Vec::new(),
            weights: weighted.then(Vec::new),
            charge: budget.charge("a graph", 0)?,
            charged: 0,
        })
    }

    fn push(&mut self, from: u32, to: u32, weight: Option<u32>) -> Result<(), InputError> {
        if self.ends.len() == self.charged {
            let more = self.charged.max(ARCS_CHARGED);
            self.charge.grow("a graph", more as u64 * ARC_BYTES)?;
            self.charged += more;
        }
        self.ends.push((from, to));
        if let (Some(weights), Some(weight)) = (&mut self.weights, weight) {
            weights.push(weight);
        }
        Ok(())
    }

    fn into_graph(mut self, vertices: u32) -> Result<Csr, InputError> {
        let bytes = u64::from(vertices) * VERTEX_BYTES;
        self.charge.grow("a graph", bytes)?;
        Ok(Csr::from_arcs(
            vertices,
            &self.ends,
            self.weights.as_deref(),
        )?)
    }
}

#[cfg(test)]
mod tests;
