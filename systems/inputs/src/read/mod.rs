//! Readers for graph files, plain or gzip-compressed, and for files of arrays (`array/`).

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
use crate::mark::BYTE_ORDER_MARK;
pub(crate) use array::npy_name;
pub use array::{ColumnChoice, FileArray, FileFormat, FileReading, read_array};
use lines::Lines;

/// Format of a graph file. Compression is independent of it, because gzip is recognised by its
/// first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphFormat {
    /// Matrix Market coordinate format: a square matrix in which entry (r, c) is the arc r -> c.
    ///
    /// Supports the fields `pattern`, `integer` and `real`, and the symmetries `general` and
    /// `symmetric`. A symmetric file stores the lower triangle, and the mirror arc of each
    /// off-diagonal entry is added. Repeated entries become parallel arcs, diagonal entries loops.
    MatrixMarket,
    /// One arc per line, `from to` or `from to weight`, with vertices numbered from 0 and all lines
    /// of the same form.
    ///
    /// Text from `#` or `%` at the start of a line is a comment. The highest vertex number
    /// determines the number of vertices. Nothing is mirrored, and repeated lines become parallel
    /// arcs.
    EdgeList,
}

/// Use of the numbers stored with the entries of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryValues {
    /// Entry values are arc weights and must be whole numbers from 0 to 4294967295 (`3.0` is one).
    Weights,
    /// Entry values must be numbers and are dropped.
    Ignored,
}

/// Reads the graph in a file.
///
/// # Errors
/// Returns an error if the file cannot be opened or read, or does not match the format. The message
/// includes the position, the expected and the actual text.
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

/// Reads the graph in a stream of bytes. `name` is used for the file in error messages.
///
/// Memory use is bounded by the data actually present and by the limits
/// [`MAX_VERTICES`](crate::MAX_VERTICES) and [`MAX_EDGES`](crate::MAX_EDGES), whatever sizes the
/// data state.
///
/// # Errors
/// Same as [`read_graph`].
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

/// Bytes that a message may quote before a file is known to be a graph.
const STRANGER_QUOTED: u64 = 80;

/// Settings for reading a graph.
struct Reading<'n> {
    /// Name of the file for messages.
    name: &'n str,
    /// Bytes that a message may quote before the file is known to be a graph.
    quoted: u64,
    budget: Budget,
}

/// Parses the graph in a stream of `stored` bytes.
fn parse(
    reading: &Reading<'_>,
    mut input: impl Read,
    stored: u64,
    format: GraphFormat,
    values: EntryValues,
) -> Result<Csr, InputError> {
    let name = reading.name;
    let mut magic = Vec::with_capacity(BYTE_ORDER_MARK.len());
    let most = BYTE_ORDER_MARK.len() as u64;
    if let Err(reason) = input.by_ref().take(most).read_to_end(&mut magic) {
        let place = Place {
            file: name.to_string(),
            line: 1,
            column: 1,
        };
        return Err(InputError::Read { place, reason });
    }
    let zipped = magic.starts_with(&[0x1f, 0x8b]);
    if magic == BYTE_ORDER_MARK {
        magic.clear();
    }
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

/// Arcs read from a file, all with a weight or all without.
struct Arcs {
    ends: Vec<(u32, u32)>,
    weights: Option<Vec<u32>>,
    charge: Charge,
    /// Number of arcs charged to the budget so far.
    charged: usize,
}

/// Memory per arc while it is read, and in the resulting graph, in bytes. A growing vector is
/// temporarily twice as large.
const ARC_BYTES: u64 = 40;

/// Memory per vertex in a graph and while it is built, in bytes.
const VERTEX_BYTES: u64 = 12;

/// Number of arcs charged in one step.
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
