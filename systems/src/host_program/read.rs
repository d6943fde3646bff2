//! Workload files: from the tree to the description.

use std::path::PathBuf;

use warpweave_inputs::{ArrayGenerator, EdgeWeights, ElementType, GraphSource};
use warpweave_params::{Diagnostic, Diagnostics, Env, Kind, Node, from_node, resolve_expressions};

use super::description::{
    Argument, BufferEntry, Command, Contents, Expectation, GraphEntry, GraphInput, Launch, Name,
    Placed, Reference, ScalarKind, Tolerance, Value,
};
use super::fields::{Fields, entries, expected, positional, text, value, variant};

/// Fields of a workload file.
pub(super) const WORKLOAD: [&str; 7] = [
    "summary", "params", "module", "graphs", "buffers", "commands", "expect",
];

/// Reads a generator or the like, whose numbers may be expressions.
fn typed<T: serde::de::DeserializeOwned>(node: &Node, env: &Env) -> Result<T, Diagnostics> {
    let mut node = node.clone();
    resolve_expressions(&mut node, env)?;
    Ok(from_node(&node)?)
}

pub(super) fn graphs(node: &Node, env: &Env) -> Result<Vec<GraphEntry>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut list = Vec::new();
    for (name, node) in entries(node)? {
        if let Some(input) = problems.take(graph(node, env)) {
            list.push(GraphEntry { name, input });
        }
    }
    problems.into_result(list)
}

/// `Grid(..)` and so on, or `Graph(source: Grid(..), weights: ..)`.
fn graph(node: &Node, env: &Env) -> Result<GraphInput, Diagnostics> {
    let wrapped = match node.name() {
        Some(name) => name.text == "Graph",
        None => matches!(node.kind, Kind::Struct(_)),
    };
    if !wrapped {
        let source = typed::<GraphSource>(node, env)?;
        return Ok(GraphInput::Source {
            source,
            weights: EdgeWeights::AsStored,
        });
    }
    let fields = Fields::of(node, "Graph", &["source", "weights"])?;
    let source = typed(fields.required("source")?, env)?;
    let weights = match fields.optional("weights") {
        Some(node) => typed(node, env)?,
        None => EdgeWeights::AsStored,
    };
    Ok(GraphInput::Source { source, weights })
}

pub(super) fn buffers(node: &Node, env: &Env) -> Result<Vec<BufferEntry>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut list = Vec::new();
    for (name, node) in entries(node)? {
        if let Some(contents) = problems.take(contents(node, env)) {
            list.push(BufferEntry { name, contents });
        }
    }
    problems.into_result(list)
}

const CONTENTS: [&str; 8] = [
    "RowOffsets",
    "Columns",
    "Weights",
    "Constant",
    "Zero",
    "Generated",
    "File",
    "Values",
];

fn contents(node: &Node, env: &Env) -> Result<Contents, Diagnostics> {
    let single = || -> Result<Name, Diagnostic> { text(&positional::<1>(node)?[0]) };
    Ok(match variant(node, "kind of buffer", &CONTENTS)? {
        "RowOffsets" => Contents::RowOffsets(single()?),
        "Columns" => Contents::Columns(single()?),
        "Weights" => Contents::Weights(single()?),
        "Constant" => {
            let fields = Fields::of(node, "Constant", &["element", "length", "value"])?;
            Contents::Constant {
                element: element(&fields)?,
                length: fields.value("length")?,
                value: fields.value("value")?,
            }
        }
        "Zero" => {
            let fields = Fields::of(node, "Zero", &["element", "length"])?;
            Contents::Zero {
                element: element(&fields)?,
                length: fields.value("length")?,
            }
        }
        "Generated" => {
            let fields = Fields::of(node, "Generated", &["element", "length", "generator"])?;
            Contents::Generated {
                element: element(&fields)?,
                length: fields.value("length")?,
                generator: typed::<ArrayGenerator>(fields.required("generator")?, env)?,
            }
        }
        "File" => {
            let fields = Fields::of(node, "File", &["element", "path"])?;
            Contents::File {
                element: element(&fields)?,
                path: path(fields.required("path")?)?,
            }
        }
        _ => {
            let fields = Fields::of(node, "Values", &["element", "values"])?;
            let element = element(&fields)?;
            let words = fields
                .items("values")?
                .iter()
                .map(|node| super::number::element(&value(node)?, env, "the value", element))
                .collect::<Result<_, _>>()?;
            Contents::Words { element, words }
        }
    })
}

fn element(fields: &Fields<'_>) -> Result<ElementType, Diagnostic> {
    from_node(fields.required("element")?)
}

fn path(node: &Node) -> Result<Placed<PathBuf>, Diagnostic> {
    let name = text(node)?;
    Ok(Placed {
        value: PathBuf::from(name.value),
        place: name.place,
    })
}

pub(super) fn commands(list: &[Node]) -> Result<Vec<Placed<Command>>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut commands = Vec::new();
    for node in list {
        if let Some(read) = problems.take(command(node)) {
            commands.push(Placed::at(read, &node.head_span()));
        }
    }
    problems.into_result(commands)
}

const COMMANDS: [&str; 8] = [
    "CopyToDevice",
    "CopyToHost",
    "Write",
    "Swap",
    "Launch",
    "Synchronize",
    "Repeat",
    "RepeatUntilZero",
];

/// Rounds of a loop that states no limit.
const ROUNDS_DEFAULT: u32 = 10_000;

fn command(node: &Node) -> Result<Command, Diagnostics> {
    let single = || -> Result<Name, Diagnostic> { text(&positional::<1>(node)?[0]) };
    let counter = |fields: &Fields<'_>| fields.optional("counter").map(text).transpose();
    Ok(match variant(node, "command", &COMMANDS)? {
        "CopyToDevice" => Command::CopyToDevice(single()?),
        "CopyToHost" => Command::CopyToHost(single()?),
        "Write" => {
            let fields = Fields::of(node, "Write", &["buffer", "index", "value"])?;
            Command::Write {
                buffer: fields.name("buffer")?,
                index: fields.value("index")?,
                value: fields.value("value")?,
            }
        }
        "Swap" => {
            let [one, other] = positional::<2>(node)?;
            Command::Swap(text(one)?, text(other)?)
        }
        "Launch" => Command::Launch(launch(node)?),
        "Synchronize" => Command::Synchronize,
        "Repeat" => {
            let fields = Fields::of(node, "Repeat", &["times", "counter", "body"])?;
            Command::Repeat {
                times: fields.value("times")?,
                counter: counter(&fields)?,
                body: commands(fields.items("body")?)?,
            }
        }
        _ => {
            let valid = ["flag", "counter", "at_most", "body"];
            let fields = Fields::of(node, "RepeatUntilZero", &valid)?;
            Command::RepeatUntilZero {
                flag: fields.name("flag")?,
                counter: counter(&fields)?,
                at_most: fields.value_or("at_most", ROUNDS_DEFAULT)?,
                body: commands(fields.items("body")?)?,
            }
        }
    })
}

fn launch(node: &Node) -> Result<Launch, Diagnostics> {
    let valid = [
        "kernel",
        "grid",
        "block",
        "dynamic_local_bytes",
        "stream",
        "arguments",
    ];
    let fields = Fields::of(node, "Launch", &valid)?;
    let mut problems = Diagnostics::new();
    let mut arguments = Vec::new();
    for node in fields.items("arguments")? {
        if let Some(read) = problems.take(argument(node)) {
            arguments.push(Placed::at(read, &node.head_span()));
        }
    }
    let launch = Launch {
        kernel: fields.name("kernel")?,
        grid: axes(fields.required("grid")?)?,
        block: axes(fields.required("block")?)?,
        dynamic_local_bytes: fields.value_or("dynamic_local_bytes", 0)?,
        stream: fields.value_or("stream", 0)?,
        arguments,
    };
    problems.into_result(launch)
}

/// One number, or a list of up to three.
fn axes(node: &Node) -> Result<Vec<Value>, Diagnostic> {
    match &node.kind {
        Kind::List(items) if (1..=3).contains(&items.len()) => items.iter().map(value).collect(),
        Kind::List(items) => {
            let message = format!("expected 1 to 3 axes, found {}", items.len());
            Err(Diagnostic::error(message).at(&node.span))
        }
        _ => Ok(vec![value(node)?]),
    }
}

const ARGUMENTS: [(&str, Option<ScalarKind>); 9] = [
    ("Buffer", None),
    ("U8", Some(ScalarKind::U8)),
    ("U16", Some(ScalarKind::U16)),
    ("U32", Some(ScalarKind::U32)),
    ("U64", Some(ScalarKind::U64)),
    ("S32", Some(ScalarKind::S32)),
    ("S64", Some(ScalarKind::S64)),
    ("F32", Some(ScalarKind::F32)),
    ("F64", Some(ScalarKind::F64)),
];

fn argument(node: &Node) -> Result<Argument, Diagnostic> {
    let name = variant(node, "kind of argument", &ARGUMENTS.map(|(name, _)| name))?;
    let [inner] = positional::<1>(node)?;
    match ARGUMENTS.iter().find(|(known, _)| *known == name) {
        Some((_, Some(kind))) => Ok(Argument::Scalar(*kind, value(inner)?)),
        _ => Ok(Argument::Buffer(text(inner)?)),
    }
}

pub(super) fn expectations(list: &[Node]) -> Result<Vec<Expectation>, Diagnostics> {
    let mut problems = Diagnostics::new();
    let read: Vec<_> = list
        .iter()
        .filter_map(|node| problems.take(expectation(node)))
        .collect();
    problems.into_result(read)
}

fn expectation(node: &Node) -> Result<Expectation, Diagnostics> {
    let fields = Fields::of(node, "Expect", &["buffer", "equals", "tolerance"])?;
    let tolerance = match fields.optional("tolerance") {
        Some(node) => Placed::at(tolerance(node)?, &node.span),
        None => Tolerance::Exact.into(),
    };
    let equals = fields.required("equals")?;
    Ok(Expectation {
        buffer: fields.name("buffer")?,
        equals: Placed::at(reference(equals)?, &equals.head_span()),
        tolerance,
    })
}

fn tolerance(node: &Node) -> Result<Tolerance, Diagnostic> {
    let number = || -> Result<f64, Diagnostic> {
        let [inner] = positional::<1>(node)?;
        let number: f64 = from_node(inner)?;
        if number.is_finite() && number >= 0.0 {
            return Ok(number);
        }
        Err(expected(inner, "a tolerance of at least 0"))
    };
    Ok(
        match variant(node, "tolerance", &["Exact", "Relative", "Absolute"])? {
            "Exact" => Tolerance::Exact,
            "Relative" => Tolerance::Relative(number()?),
            _ => Tolerance::Absolute(number()?),
        },
    )
}

const REFERENCES: [&str; 12] = [
    "VectorAdd",
    "MatrixMultiply",
    "Stencil2d",
    "SumU32",
    "SumF32",
    "SumF32ByBlocks",
    "Histogram",
    "BfsLevels",
    "ShortestPaths",
    "File",
    "Constant",
    "Values",
];

fn reference(node: &Node) -> Result<Reference, Diagnostics> {
    let single = || -> Result<Name, Diagnostic> { text(&positional::<1>(node)?[0]) };
    Ok(match variant(node, "reference", &REFERENCES)? {
        "VectorAdd" => {
            let fields = Fields::of(node, "VectorAdd", &["a", "b"])?;
            Reference::VectorAdd {
                a: fields.name("a")?,
                b: fields.name("b")?,
            }
        }
        "MatrixMultiply" => {
            let fields = Fields::of(node, "MatrixMultiply", &["a", "b", "n"])?;
            Reference::MatrixMultiply {
                a: fields.name("a")?,
                b: fields.name("b")?,
                n: fields.value("n")?,
            }
        }
        "Stencil2d" => {
            let valid = ["input", "width", "steps", "centre", "neighbour"];
            let fields = Fields::of(node, "Stencil2d", &valid)?;
            Reference::Stencil2d {
                input: fields.name("input")?,
                width: fields.value("width")?,
                steps: fields.value_or("steps", 1)?,
                centre: fields.value("centre")?,
                neighbour: fields.value("neighbour")?,
            }
        }
        "SumU32" => Reference::SumU32(single()?),
        "SumF32" => Reference::SumF32(single()?),
        "SumF32ByBlocks" => {
            let fields = Fields::of(node, "SumF32ByBlocks", &["values", "blocks"])?;
            Reference::SumF32ByBlocks {
                values: fields.name("values")?,
                blocks: fields.value("blocks")?,
            }
        }
        "Histogram" => Reference::Histogram(single()?),
        "BfsLevels" => {
            let fields = Fields::of(node, "BfsLevels", &["graph", "source"])?;
            Reference::BfsLevels {
                graph: fields.name("graph")?,
                source: fields.value("source")?,
            }
        }
        "ShortestPaths" => {
            let fields = Fields::of(node, "ShortestPaths", &["graph", "source"])?;
            Reference::ShortestPaths {
                graph: fields.name("graph")?,
                source: fields.value("source")?,
            }
        }
        "File" => Reference::File(path(&positional::<1>(node)?[0])?),
        "Constant" => Reference::Constant(value(&positional::<1>(node)?[0])?),
        _ => {
            let [list] = positional::<1>(node)?;
            let Kind::List(items) = &list.kind else {
                return Err(expected(list, "a list `[..]`").into());
            };
            Reference::Values(items.iter().map(value).collect::<Result<_, _>>()?)
        }
    })
}
