//! Readers for files of graphs and matrices, plain or gzip-compressed, and of arrays (`array/`).

mod array;
mod edge_list;
mod lines;
mod matrix_market;

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use warpweave_files::{Budget, Charge, Input, Unpacked};
use warpweave_params::Files;

use crate::csr::Csr;
use crate::error::{InputError, Place};
use crate::mark::BYTE_ORDER_MARK;
use crate::matrix::Matrix;
pub(crate) use array::npy_name;
pub use array::{ColumnChoice, FileArray, FileFormat, FileReading, read_array};
use lines::{Lines, Words};

/// Format of a graph file. Compression is independent of it, because gzip is recognised by its
/// first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphFormat {
    /// Matrix Market coordinate format: a square matrix in which entry (r, c) is the arc r -> c.
    ///
    /// Supports all fields and symmetries. A symmetric file stores the lower triangle, and the
    /// mirror arc of each off-diagonal entry is added. Repeated entries become parallel arcs,
    /// diagonal entries loops. Complex and skew-symmetric numbers are no weights.
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
    /// Entry values are arc weights: whole numbers from 0 to 4294967295 (`3.0` is one). If others
    /// occur, the graph has [no usable weights](Csr::unusable_weights).
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
    read_file(path, files, GraphOf { format, values })
}

/// Reads the matrix in a Matrix Market file.
///
/// # Errors
/// Same as [`read_graph`].
pub fn read_matrix(path: &Path, files: &Files) -> Result<Matrix, InputError> {
    read_file(path, files, MatrixOf)
}

fn read_file<P: Parse>(path: &Path, files: &Files, parsed: P) -> Result<P::Output, InputError> {
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
    parse(&reading, input, stored, parsed)
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
    parse(
        &unlimited(name),
        input,
        u64::MAX,
        GraphOf { format, values },
    )
}

/// Reads the matrix in a stream of bytes, like [`parse_graph`].
///
/// # Errors
/// Same as [`read_graph`].
pub fn parse_matrix(name: &str, input: impl Read) -> Result<Matrix, InputError> {
    parse(&unlimited(name), input, u64::MAX, MatrixOf)
}

fn unlimited(name: &str) -> Reading<'_> {
    Reading {
        name,
        quoted: STRANGER_QUOTED,
        budget: Budget::unlimited(),
    }
}

/// Product that the lines of a file are made into.
trait Parse {
    type Output;

    fn parse(self, lines: Lines<impl BufRead>, budget: &Budget)
    -> Result<Self::Output, InputError>;
}

/// Makes a graph of a file in either format.
struct GraphOf {
    format: GraphFormat,
    values: EntryValues,
}

impl Parse for GraphOf {
    type Output = Csr;

    fn parse(self, lines: Lines<impl BufRead>, budget: &Budget) -> Result<Csr, InputError> {
        match self.format {
            GraphFormat::MatrixMarket => matrix_market::read_graph(lines, budget, self.values),
            GraphFormat::EdgeList => edge_list::read(lines, budget, self.values),
        }
    }
}

/// Makes a matrix of a Matrix Market file.
struct MatrixOf;

impl Parse for MatrixOf {
    type Output = Matrix;

    fn parse(self, lines: Lines<impl BufRead>, budget: &Budget) -> Result<Matrix, InputError> {
        matrix_market::read_matrix(lines, budget)
    }
}

/// Bytes that a message may quote before a file is known to be of its format.
const STRANGER_QUOTED: u64 = 80;

/// Settings for reading a graph or a matrix.
struct Reading<'n> {
    /// Name of the file for messages.
    name: &'n str,
    /// Bytes that a message may quote before the file is known to be of its format.
    quoted: u64,
    budget: Budget,
}

/// Parses a stream of `stored` bytes.
fn parse<P: Parse>(
    reading: &Reading<'_>,
    mut input: impl Read,
    stored: u64,
    parsed: P,
) -> Result<P::Output, InputError> {
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
        parsed.parse(lines, &reading.budget)
    } else {
        let lines = Lines::new(reading, whole, false);
        parsed.parse(lines, &reading.budget)
    }
}

/// Arcs read from a file, all with a weight or all without.
struct Arcs {
    ends: Vec<(u32, u32)>,
    weights: Option<Vec<u32>>,
    /// Reason why the numbers of the file are no weights, if they are none.
    unusable: Option<String>,
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
            unusable: None,
            charge: budget.charge("a graph", 0)?,
            charged: 0,
        })
    }

    /// Begins to keep weights, unless they turned out unusable.
    fn expect_weights(&mut self) {
        if self.unusable.is_none() {
            self.weights.get_or_insert_default();
        }
    }

    /// Drops the weights of all arcs.
    fn refuse_weights(&mut self, reason: String) {
        self.weights = None;
        self.unusable = Some(reason);
    }

    /// Reads the number of an arc. Returns it if it is a weight that is kept.
    fn weight(&mut self, words: &mut Words<'_>) -> Result<Option<u32>, InputError> {
        if self.weights.is_none() {
            words.real()?;
            return Ok(None);
        }
        match words.weight()? {
            Ok(weight) => Ok(Some(weight)),
            Err(reason) => {
                self.refuse_weights(reason.to_string());
                Ok(None)
            }
        }
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
        let graph = Csr::from_arcs(vertices, &self.ends, self.weights.as_deref())?;
        Ok(match self.unusable {
            Some(reason) => graph.with_unusable_weights(reason),
            None => graph,
        })
    }
}

#[cfg(test)]
mod tests;
