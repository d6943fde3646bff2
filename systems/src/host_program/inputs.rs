//! Graphs, matrices and buffers: the host's initial data, built from the description.

use std::sync::Arc;

use warpweave_inputs::reference::unusable_weights;
use warpweave_inputs::{
    Csr, ElementType, FileArray, MAX_ELEMENTS, Matrix, MatrixArray, Name, Value, read_array,
};
use warpweave_params::{Diagnostic, Diagnostics, Env, Files, Placed, name_hint};

use super::DEVICE_BYTES_MAX;
use super::description::{Argument, Contents, Element, GraphInput};
use super::structures::{self, Elements, Structure};
use super::tables;

/// Builds a graph from its description.
pub(super) fn build_graph(
    name: &Name,
    input: GraphInput,
    files: &Files,
) -> Result<Csr, Diagnostic> {
    match input {
        GraphInput::Ready(graph) => Ok(graph),
        GraphInput::Source(source) => source.build(files).map_err(|error| name.blame(error)),
    }
}

/// Defines `g_vertices`, `g_arcs` and, unless the graph is empty, `g_source` for expressions.
pub(super) fn define_properties(env: &mut Env, name: &str, graph: &Csr) {
    env.set(format!("{name}_vertices"), graph.vertices().into());
    env.set(format!("{name}_arcs"), graph.arcs().into());
    if let Some(source) = graph.default_source() {
        env.set(format!("{name}_source"), source.into());
    }
}

/// Defines `m_rows`, `m_columns` and `m_entries` for expressions.
pub(super) fn define_matrix(env: &mut Env, name: &str, matrix: &Matrix) {
    env.set(format!("{name}_rows"), matrix.rows().into());
    env.set(format!("{name}_columns"), matrix.columns().into());
    env.set(format!("{name}_entries"), matrix.entries().into());
}

/// Rejects a duplicate graph name, and graph properties that would hide a parameter.
pub(super) fn check_graph_name(
    name: &Name,
    env: &Env,
    earlier: &[(String, Csr)],
) -> Result<(), Diagnostic> {
    check_name("graph", name, env, earlier, &["vertices", "arcs", "source"])
}

/// Rejects a duplicate matrix name, and matrix properties that would hide a parameter.
pub(super) fn check_matrix_name(
    name: &Name,
    env: &Env,
    earlier: &[(String, Matrix)],
) -> Result<(), Diagnostic> {
    check_name(
        "matrix",
        name,
        env,
        earlier,
        &["rows", "columns", "entries"],
    )
}

fn check_name<T>(
    what: &str,
    name: &Name,
    env: &Env,
    earlier: &[(String, T)],
    properties: &[&str],
) -> Result<(), Diagnostic> {
    if earlier.iter().any(|(earlier, _)| *earlier == name.value) {
        return Err(name.error(format!("{what} `{}` is defined twice", name.value)));
    }
    for property in properties {
        let property = format!("{}_{property}", name.value);
        if env.contains(&property) {
            let message = format!("{what} `{}` shadows the parameter `{property}`", name.value);
            return Err(name.error(message).hint("rename one of the two"));
        }
    }
    Ok(())
}

/// Returns a warning if several entries of a matrix have the same place.
pub(super) fn repeated_entries(name: &Name, matrix: &Matrix) -> Option<Diagnostic> {
    let repeated = matrix.repeated()?;
    let (row, column) = repeated.place;
    let entries = match repeated.entries {
        1 => "one entry is".to_owned(),
        entries => format!("{entries} entries are"),
    };
    let message = format!(
        "matrix `{}`: {entries} added to an earlier one of the same place, first in row {}, column {} (from 1)",
        name.value,
        row + 1,
        column + 1
    );
    let warning = Diagnostic::warning(message);
    Some(name.place.iter().fold(warning, Diagnostic::at))
}

fn find<'t, T>(
    what: &str,
    several: &str,
    all: &'t [(String, T)],
    name: &Name,
) -> Result<&'t T, Diagnostic> {
    let found = all.iter().find(|(known, _)| *known == name.value);
    found.map(|(_, it)| it).ok_or_else(|| {
        let names = all.iter().map(|(name, _)| name.as_str());
        name.error(format!("unknown {what} `{}`", name.value))
            .hint(name_hint(&name.value, several, names))
    })
}

/// Graphs and matrices by name, in order. Buffers may hold their arrays.
#[derive(Debug, Default)]
pub(super) struct HeldInputs {
    pub(super) graphs: Vec<(String, Csr)>,
    pub(super) matrices: Vec<(String, Matrix)>,
}

impl HeldInputs {
    /// Finds a graph by its name.
    pub(super) fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic> {
        find("graph", "graphs", &self.graphs, name)
    }

    /// Finds a matrix by its name.
    pub(super) fn matrix(&self, name: &Name) -> Result<&Matrix, Diagnostic> {
        find("matrix", "matrices", &self.matrices, name)
    }

    /// Returns the weights of a graph, which must have some.
    fn weights(&self, name: &Name) -> Result<&[u32], Diagnostic> {
        let graph = self.graph(name)?;
        match (graph.weights(), graph.unusable_weights()) {
            (Some(weights), _) => Ok(weights),
            (None, Some(reason)) => Err(unusable_weights(name, reason)),
            (None, None) => {
                let message = format!("graph `{}` has no weights", name.value);
                let hint =
                    "add weights: Graph(source: .., weights: Uniform(low: 1, high: 100, seed: 1))";
                Err(name.error(message).hint(hint))
            }
        }
    }
}

/// Buffer whose size and elements are known.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) name: Name,
    pub(super) elements: Elements,
    pub(super) length: usize,
    initial: Initial,
}

/// Source of the initial contents of a buffer.
#[derive(Debug)]
enum Initial {
    /// Zero in every byte of the buffer.
    Zero,
    /// Same bit pattern in every element.
    Repeated(ElementType, u64),
    /// Generator or graph, evaluated when the contents are needed.
    Described(Contents),
    /// Words of the contents, already in memory.
    Words(Vec<u32>),
}

impl Buffer {
    /// Determines the size of a buffer and checks its description.
    pub(super) fn new(
        name: Name,
        contents: Contents,
        held: &HeldInputs,
        structures: &[Arc<Structure>],
        env: &Env,
        files: &Files,
    ) -> Result<Self, Diagnostics> {
        let length_of = |length: &Value| {
            let what = format!("the length of buffer `{}`", name.value);
            let length = length.integer(env, &what, 0..=MAX_ELEMENTS as i128)?;
            Ok::<_, Diagnostic>(length as usize)
        };
        let numbers = Elements::Numbers;
        let (elements, length, initial) = match contents {
            Contents::RowOffsets(ref graph) => {
                let length = held.graph(graph)?.row_offsets().len();
                (
                    numbers(ElementType::U32),
                    length,
                    Initial::Described(contents),
                )
            }
            Contents::Columns(ref graph) => {
                let length = held.graph(graph)?.columns().len();
                (
                    numbers(ElementType::U32),
                    length,
                    Initial::Described(contents),
                )
            }
            Contents::Weights(ref graph) => {
                let length = held.weights(graph)?.len();
                (
                    numbers(ElementType::U32),
                    length,
                    Initial::Described(contents),
                )
            }
            Contents::Csr { .. }
            | Contents::Csc { .. }
            | Contents::Coo { .. }
            | Contents::Dense { .. } => {
                let Some((matrix, array)) = contents.matrix_array() else {
                    unreachable!("these contents are arrays of a matrix");
                };
                let length = matrix_length(&name, held.matrix(matrix)?, matrix, array)?;
                (
                    numbers(array.element()),
                    length,
                    Initial::Described(contents),
                )
            }
            Contents::Pointers(ref pointers) => {
                let length = pointers.len();
                (
                    numbers(ElementType::U64),
                    length,
                    Initial::Described(contents),
                )
            }
            Contents::Constant {
                element,
                ref length,
                ref value,
            } => {
                let pattern = element.bits(value, env, "the value")?;
                let initial = match pattern {
                    0 => Initial::Zero,
                    _ => Initial::Repeated(element, pattern),
                };
                (numbers(element), length_of(length)?, initial)
            }
            Contents::Zero {
                ref element,
                ref length,
            } => {
                let elements = match element {
                    Element::Number(element) => numbers(*element),
                    Element::Struct(name) => {
                        Elements::Structures(structures::find(structures, name)?.clone())
                    }
                };
                (elements, length_of(length)?, Initial::Zero)
            }
            Contents::Generated {
                element,
                ref length,
                ref generator,
            } => {
                let length = length_of(length)?;
                // Of no elements: whether the description makes sense.
                let tried = generator.words(element, 0);
                tried.map_err(|error| name.blame(error))?;
                (numbers(element), length, Initial::Described(contents))
            }
            Contents::File { ref element, .. } => {
                let Some((path, how)) = contents.reading() else {
                    unreachable!("a file is read");
                };
                let (elements, FileArray { words, length }) = match element {
                    Element::Number(element) => {
                        let read = read_array(&path.value, files, *element, &how);
                        (numbers(*element), read.map_err(|error| path.blame(error))?)
                    }
                    Element::Struct(name) => {
                        let structure = structures::find(structures, name)?;
                        let rows = tables::read(structure, path, files, &how)?;
                        (Elements::Structures(structure.clone()), rows)
                    }
                };
                (elements, length, Initial::Words(words))
            }
            Contents::Rows {
                ref structure,
                ref rows,
            } => {
                let structure = structures::find(structures, structure)?;
                let FileArray { words, length } = tables::given(structure, rows, env)?;
                let elements = Elements::Structures(structure.clone());
                (elements, length, Initial::Words(words))
            }
            Contents::Values { element, values } => {
                let patterns = values
                    .iter()
                    .map(|value| element.bits(value, env, "the value"));
                let patterns = patterns.collect::<Result<Vec<_>, _>>()?;
                let length = patterns.len();
                let initial = Initial::Words(element.pack(patterns));
                (numbers(element), length, initial)
            }
            Contents::Words { element, words } => {
                let length = words.len() * size_of::<u32>() / element.bytes();
                (numbers(element), length, Initial::Words(words))
            }
        };
        Ok(Self {
            name,
            elements,
            length,
            initial,
        })
    }

    /// Returns the addresses that the buffer holds, if it holds addresses.
    pub(super) fn pointers(&self) -> Option<&[Placed<Argument>]> {
        match &self.initial {
            Initial::Described(Contents::Pointers(pointers)) => Some(pointers),
            _ => None,
        }
    }

    /// Returns the size on the device in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.length * self.elements.bytes()) as u64
    }

    /// True if the host's contents are not just zeros.
    pub(super) fn has_contents(&self) -> bool {
        !matches!(self.initial, Initial::Zero) && self.length > 0
    }

    /// Returns the initial contents as words of memory.
    pub(super) fn initial(&self, held: &HeldInputs) -> Result<Vec<u32>, Diagnostic> {
        let contents = match &self.initial {
            Initial::Zero => {
                let words = (self.length * self.elements.bytes()).div_ceil(size_of::<u32>());
                return Ok(vec![0; words]);
            }
            Initial::Repeated(element, pattern) => {
                let patterns = std::iter::repeat_n(*pattern, self.length);
                return Ok(element.pack(patterns));
            }
            Initial::Words(words) => return Ok(words.clone()),
            Initial::Described(contents) => contents,
        };
        if let Some((matrix, array)) = contents.matrix_array() {
            return Ok(held.matrix(matrix)?.words(array));
        }
        match contents {
            Contents::RowOffsets(name) => Ok(held.graph(name)?.row_offsets().to_vec()),
            Contents::Columns(name) => Ok(held.graph(name)?.columns().to_vec()),
            Contents::Weights(name) => Ok(held.weights(name)?.to_vec()),
            Contents::Generated {
                element, generator, ..
            } => generator
                .words(*element, self.length)
                .map_err(|error| self.name.blame(error)),
            Contents::Pointers(_) => Err(self.name.error(format!(
                "the addresses in buffer `{}` are known only on the device",
                self.name.value
            ))),
            Contents::Csr { .. }
            | Contents::Csc { .. }
            | Contents::Coo { .. }
            | Contents::Dense { .. } => unreachable!("arrays of a matrix are made above"),
            Contents::Constant { .. }
            | Contents::Zero { .. }
            | Contents::File { .. }
            | Contents::Values { .. }
            | Contents::Rows { .. }
            | Contents::Words { .. } => unreachable!("turned into words when the buffer was made"),
        }
    }
}

/// Returns the length of a buffer with an array of a matrix, which must be able to hold it.
fn matrix_length(
    buffer: &Name,
    matrix: &Matrix,
    name: &Name,
    array: MatrixArray,
) -> Result<usize, Diagnostic> {
    if let Some(refusal) = matrix.refusal(array) {
        return Err(name.error(format!("matrix `{}` {refusal}", name.value)));
    }
    let length = matrix.length(array);
    let fits = usize::try_from(length)
        .ok()
        .filter(|it| *it <= MAX_ELEMENTS);
    fits.ok_or_else(|| {
        name.error(format!(
            "the length of buffer `{}` is {length}, expected 0 to {MAX_ELEMENTS}",
            buffer.value
        ))
    })
}

/// Rejects a duplicate buffer name, and more total memory than a device has.
pub(super) fn check_buffer(buffer: &Buffer, earlier: &[Buffer]) -> Result<(), Diagnostic> {
    let name = &buffer.name;
    if earlier
        .iter()
        .any(|earlier| earlier.name.value == name.value)
    {
        return Err(name.error(format!("buffer `{}` is defined twice", name.value)));
    }
    let before: u64 = earlier.iter().map(Buffer::bytes).sum();
    if before + buffer.bytes() > DEVICE_BYTES_MAX && before <= DEVICE_BYTES_MAX {
        let message = format!(
            "buffer `{}` of {} bytes does not fit: {before} of {DEVICE_BYTES_MAX} bytes are already in use",
            name.value,
            buffer.bytes()
        );
        return Err(name.error(message).hint("make the buffers smaller"));
    }
    Ok(())
}
