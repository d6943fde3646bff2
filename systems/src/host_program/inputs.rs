//! Graphs and buffers: what the host holds before the program runs.

use std::path::Path;

use warpweave_inputs::{Csr, ElementType, InputError, MAX_ELEMENTS};
use warpweave_params::{Diagnostic, Env, Span};

use super::description::{BufferEntry, Contents, GraphEntry, GraphInput, Name};
use super::number::{self, error_at, integer};
use super::{DEVICE_BYTES_MAX, unknown};

/// Bytes of an element.
pub(super) const ELEMENT_BYTES: u64 = 4;

/// Builds a graph.
pub(super) fn build_graph(entry: &GraphEntry, folder: &Path) -> Result<Csr, Diagnostic> {
    match &entry.input {
        GraphInput::Ready(graph) => Ok(graph.clone()),
        GraphInput::Source { source, weights } => source
            .build(folder, *weights)
            .map_err(|error| input_error(entry.name.place.as_ref(), &error)),
    }
}

/// An error of the inputs as a message at the place that asked for them.
fn input_error(place: Option<&Span>, error: &InputError) -> Diagnostic {
    let message = error.to_string();
    match message.split_once("\nhint: ") {
        Some((sentence, hint)) => error_at(place, sentence).hint(hint),
        None => error_at(place, message),
    }
}

/// Makes `g_vertices`, `g_arcs` and, unless the graph is empty, `g_source` known to expressions.
pub(super) fn define_properties(env: &mut Env, name: &str, graph: &Csr) {
    env.set(format!("{name}_vertices"), graph.vertices().into());
    env.set(format!("{name}_arcs"), graph.arcs().into());
    if let Some(source) = graph.default_source() {
        env.set(format!("{name}_source"), source.into());
    }
}

/// Refuses a second graph of a name and properties that would hide a parameter.
pub(super) fn check_graph_name(
    name: &Name,
    env: &Env,
    earlier: &[(String, Csr)],
) -> Result<(), Diagnostic> {
    let place = name.place.as_ref();
    if earlier.iter().any(|(earlier, _)| *earlier == name.value) {
        return Err(error_at(
            place,
            format!("there are two graphs `{}`", name.value),
        ));
    }
    for property in ["vertices", "arcs", "source"] {
        let property = format!("{}_{property}", name.value);
        if env.get(&property).is_some() {
            let message = format!("graph `{}` hides the parameter `{property}`", name.value);
            return Err(error_at(place, message).hint("rename one of the two"));
        }
    }
    Ok(())
}

/// The graph of a name.
pub(super) fn find_graph<'g>(
    graphs: &'g [(String, Csr)],
    name: &Name,
) -> Result<&'g Csr, Diagnostic> {
    let found = graphs.iter().find(|(known, _)| *known == name.value);
    found
        .map(|(_, graph)| graph)
        .ok_or_else(|| unknown("graph", name, graphs.iter().map(|(name, _)| name.as_str())))
}

/// A buffer whose size is known.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) name: String,
    pub(super) place: Option<Span>,
    pub(super) element: ElementType,
    /// Number of elements.
    pub(super) length: usize,
    initial: Initial,
}

/// Where the initial contents come from.
#[derive(Debug)]
enum Initial {
    /// The same bit pattern everywhere.
    Filled(u32),
    /// A generator or a graph, asked when the contents are needed.
    Described(Contents),
    /// At hand.
    Words(Vec<u32>),
}

impl Buffer {
    /// Finds out the size of a buffer and checks its description.
    pub(super) fn new(
        entry: BufferEntry,
        graphs: &[(String, Csr)],
        env: &Env,
        folder: &Path,
    ) -> Result<Self, Diagnostic> {
        let place = entry.name.place.clone();
        let length_of = |length| {
            let range = (0, MAX_ELEMENTS as i128);
            integer(
                length,
                env,
                &format!("the length of buffer `{}`", entry.name.value),
                range,
            )
        };
        let (element, length, initial) = match entry.contents {
            Contents::RowOffsets(ref name) => {
                let length = find_graph(graphs, name)?.row_offsets().len();
                (ElementType::U32, length, Initial::Described(entry.contents))
            }
            Contents::Columns(ref name) => {
                let length = find_graph(graphs, name)?.columns().len();
                (ElementType::U32, length, Initial::Described(entry.contents))
            }
            Contents::Weights(ref name) => {
                let Some(weights) = find_graph(graphs, name)?.weights() else {
                    let message = format!("graph `{}` has no weights", name.value);
                    return Err(error_at(name.place.as_ref(), message).hint(
                        "give it some: Graph(source: .., weights: Uniform(low: 1, high: 100, \
                         seed: 1))",
                    ));
                };
                (
                    ElementType::U32,
                    weights.len(),
                    Initial::Described(entry.contents),
                )
            }
            Contents::Constant {
                element,
                ref length,
                ref value,
            } => {
                let word = number::element(value, env, "the value", element)?;
                (element, length_of(length)? as usize, Initial::Filled(word))
            }
            Contents::Zero {
                element,
                ref length,
            } => (element, length_of(length)? as usize, Initial::Filled(0)),
            Contents::Generated {
                element,
                ref length,
                ref generator,
            } => {
                let length = length_of(length)? as usize;
                // Of no elements: whether the description makes sense.
                let tried = generator.words(element, 0);
                tried.map_err(|error| input_error(place.as_ref(), &error))?;
                (element, length, Initial::Described(entry.contents))
            }
            Contents::File { element, ref path } => {
                let words = read_words(&folder.join(&path.value), path.place.as_ref())?;
                (element, words.len(), Initial::Words(words))
            }
            Contents::Words { element, words } => (element, words.len(), Initial::Words(words)),
        };
        Ok(Self {
            name: entry.name.value,
            place,
            element,
            length,
            initial,
        })
    }

    /// Size on the device.
    pub(super) fn bytes(&self) -> u64 {
        self.length as u64 * ELEMENT_BYTES
    }

    /// The initial contents as bit patterns.
    pub(super) fn initial(&self, graphs: &[(String, Csr)]) -> Result<Vec<u32>, Diagnostic> {
        let contents = match &self.initial {
            Initial::Filled(word) => return Ok(vec![*word; self.length]),
            Initial::Words(words) => return Ok(words.clone()),
            Initial::Described(contents) => contents,
        };
        match contents {
            Contents::RowOffsets(name) => Ok(find_graph(graphs, name)?.row_offsets().to_vec()),
            Contents::Columns(name) => Ok(find_graph(graphs, name)?.columns().to_vec()),
            Contents::Weights(name) => Ok(find_graph(graphs, name)?
                .weights()
                .unwrap_or_default()
                .to_vec()),
            Contents::Generated {
                element, generator, ..
            } => generator
                .words(*element, self.length)
                .map_err(|error| input_error(self.place.as_ref(), &error)),
            Contents::Constant { .. }
            | Contents::Zero { .. }
            | Contents::File { .. }
            | Contents::Words { .. } => unreachable!("turned into words when the buffer was made"),
        }
    }
}

/// Refuses a second buffer of a name and more memory than a device has.
pub(super) fn check_buffer(buffer: &Buffer, earlier: &[Buffer]) -> Result<(), Diagnostic> {
    let place = buffer.place.as_ref();
    if earlier.iter().any(|earlier| earlier.name == buffer.name) {
        return Err(error_at(
            place,
            format!("there are two buffers `{}`", buffer.name),
        ));
    }
    let before: u64 = earlier.iter().map(Buffer::bytes).sum();
    if before + buffer.bytes() > DEVICE_BYTES_MAX && before <= DEVICE_BYTES_MAX {
        let message = format!(
            "buffer `{}` of {} bytes does not fit: {before} of {DEVICE_BYTES_MAX} bytes are taken",
            buffer.name,
            buffer.bytes()
        );
        return Err(error_at(place, message).hint("make the buffers smaller"));
    }
    Ok(())
}

/// Little-endian words of a file.
pub(super) fn read_words(path: &Path, place: Option<&Span>) -> Result<Vec<u32>, Diagnostic> {
    let refuse = |problem: String| error_at(place, format!("{}: {problem}", path.display()));
    let size =
        std::fs::metadata(path).map_err(|reason| refuse(format!("cannot be read: {reason}")));
    let size = size?.len();
    if size > MAX_ELEMENTS as u64 * ELEMENT_BYTES {
        let most = MAX_ELEMENTS as u64 * ELEMENT_BYTES;
        return Err(refuse(format!(
            "has {size} bytes, at most {most} are possible"
        )));
    }
    let bytes =
        std::fs::read(path).map_err(|reason| refuse(format!("cannot be read: {reason}")))?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        let message = format!("has {} bytes, which is no multiple of 4", bytes.len());
        return Err(refuse(message).hint("the file holds little-endian words of 4 bytes"));
    }
    Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}
