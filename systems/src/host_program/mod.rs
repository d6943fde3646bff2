//! Host programs: what a GPU program does on the host, executed functionally into a program trace.
//!
//! ```text
//!  workload.ron --from_node--+                       +--> Program: allocations, commands, kernels
//!                            +--> HostProgram --execute--> checks: buffers against references
//!  Rust: builder() ----------+        |              +--> names of the kernels launched
//!                                     +-- module (PTX), graphs, buffers
//! ```
//!
//! A workload file, with a parameter that `workload.n=..` overrides. A string that starts with `=`
//! is an integer expression over parameters, loop counters and, for a graph `g`, `g_vertices`,
//! `g_arcs` and `g_source` (the vertex with the most arcs); `"=name"` alone may also stand for a
//! parameter of any other kind, even a whole graph:
//!
//! ```ron
//! Workload(
//!     summary: "Breadth-first search, one thread for each vertex",
//!     params: { "block": 256, "graph": Grid(width: 64, height: 64) },
//!     module: "cuda/bfs.ptx",                          // relative to this file
//!     graphs: { "g": "=graph" },                       // or Graph(source: .., weights: ..)
//!     buffers: {                                       // allocated in this order
//!         "row_offsets": RowOffsets("g"),
//!         "columns": Columns("g"),
//!         "level": Constant(element: U32, length: "=g_vertices", value: 4294967295),
//!         "changed": Zero(element: U32, length: 1),
//!     },
//!     commands: [
//!         CopyToDevice("row_offsets"), CopyToDevice("columns"), CopyToDevice("level"),
//!         Write(buffer: "level", index: "=g_source", value: 0),
//!         RepeatUntilZero(flag: "changed", counter: "round", at_most: 10000, body: [
//!             Write(buffer: "changed", index: 0, value: 0),
//!             Launch(kernel: "bfs_level", grid: "=ceil_div(g_vertices, block)", block: "=block",
//!                    arguments: [Buffer("row_offsets"), Buffer("columns"), Buffer("level"),
//!                                U32("=round"), Buffer("changed"), U32("=g_vertices")]),
//!         ]),
//!         CopyToHost("level"),
//!     ],
//!     expect: [ Expect(buffer: "level", equals: BfsLevels(graph: "g", source: "=g_source")) ],
//! )
//! ```
//!
//! The same in Rust:
//!
//! ```
//! use warpweave_inputs::{ArrayGenerator, ElementType::F32};
//! use warpweave_systems::host_program::{
//!     Commands, Contents, EmulationSpec, HostProgram, Launch, Reference, ScalarKind,
//! };
//!
//! # let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/workloads");
//! # let text = std::fs::read_to_string(format!("{folder}/cuda/vector_add.ptx"))?;
//! let draw = |seed| ArrayGenerator::Uniform { seed, low: 0.0, high: 1.0 };
//! let program = HostProgram::builder("vector_add")
//!     .module("vector_add.ptx", text)
//!     .param("n", 1000)
//!     .buffer("a", Contents::generated(F32, "=n", draw(1)))
//!     .buffer("b", Contents::generated(F32, "=n", draw(2)))
//!     .buffer("sum", Contents::zero(F32, "=n"))
//!     .commands(
//!         Commands::new()
//!             .copy_to_device("a")
//!             .copy_to_device("b")
//!             .launch(
//!                 Launch::new("vector_add")
//!                     .grid(["=ceil_div(n, 256)"])
//!                     .block([256])
//!                     .buffer("a")
//!                     .buffer("b")
//!                     .buffer("sum")
//!                     .scalar(ScalarKind::U32, "=n"),
//!             )
//!             .copy_to_host("sum"),
//!     )
//!     .expect("sum", Reference::VectorAdd { a: "a".into(), b: "b".into() })
//!     .build()?;
//! let executed = program.execute(&EmulationSpec::default())?;
//! assert_eq!(executed.verified, Some(true));
//! assert_eq!(executed.program.kernels[0].grid, [4, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not modelled
//! Elements of other sizes than four bytes, copies of parts of buffers, copies that overlap with
//! kernels, events, more than one module. Launches of different streams are emulated in the order
//! of the program.

mod answers;
mod builder;
mod check;
mod compare;
mod description;
mod emulation;
mod execute;
mod fields;
mod inputs;
mod number;
mod params;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use warpweave_inputs::Csr;
use warpweave_params::{Diagnostic, Diagnostics, Env, Node, Span, name_hint};
use warpweave_ptx::Module;

use fields::{Fields, expected, text};
use inputs::Buffer;
use number::error_at;
use params::Params;

pub use builder::{Commands, HostProgramBuilder};
pub use description::{
    Argument, BufferEntry, Command, Contents, Expectation, GraphEntry, GraphInput, Launch, Name,
    Number, Placed, Reference, ScalarKind, Tolerance, Value,
};
pub use emulation::{EmulationOrder, EmulationSpec};
pub use execute::{CheckResult, ExecuteError, Executed};

/// Device memory all buffers together may take: 4 GiB.
pub const DEVICE_BYTES_MAX: u64 = 4 << 30;

/// A checked host program with its inputs, ready to be executed any number of times.
#[derive(Debug)]
pub struct HostProgram {
    name: String,
    summary: String,
    module: Module,
    graphs: Vec<(String, Csr)>,
    buffers: Vec<Buffer>,
    commands: Vec<Placed<Command>>,
    expectations: Vec<Expectation>,
    /// Parameters and properties of graphs.
    env: Env,
    /// Where relative paths start.
    folder: PathBuf,
}

impl HostProgram {
    /// Starts a host program in Rust.
    pub fn builder(name: impl Into<String>) -> HostProgramBuilder {
        HostProgramBuilder::new(name)
    }

    /// Reads a workload file. Relative paths in it start at `folder`; `overrides` replace
    /// parameters by name. The program is named after the file.
    ///
    /// # Errors
    /// Everything wrong with the file, its module or its inputs, each with its place.
    pub fn from_node(
        node: &Node,
        folder: &Path,
        overrides: &BTreeMap<String, Node>,
    ) -> Result<Self, Diagnostics> {
        if let Some(name) = node.name().filter(|name| name.text != "Workload") {
            return Err(expected(node, "Workload")
                .at(&name.span)
                .hint("a workload file holds one `Workload(..)`")
                .into());
        }
        let params = Params::read(node.field("params"), overrides)?;
        let mut node = node.clone();
        params.insert_values(&mut node);
        let fields = Fields::of(&node, "Workload", &read::WORKLOAD)?;

        let stem = Path::new(node.span.source.name()).file_stem();
        let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let mut builder = HostProgramBuilder::new(stem).folder(folder);
        builder.env = params.env;
        let mut problems = Diagnostics::new();
        if let Some(node) = fields.optional("summary") {
            builder.summary = problems
                .take(text(node))
                .map(|t| t.value)
                .unwrap_or_default();
        }
        builder.module = problems.take(read_module(&fields, folder));

        // Buffers may use properties of graphs, so graphs are built first.
        let mut env = builder.env.clone();
        if let Some(node) = fields.optional("graphs") {
            builder.graphs = problems.take(read::graphs(node, &env)).unwrap_or_default();
        }
        for entry in &mut builder.graphs {
            match inputs::build_graph(entry, folder) {
                Ok(graph) => {
                    inputs::define_properties(&mut env, &entry.name.value, &graph);
                    entry.input = GraphInput::Ready(graph);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if problems.has_errors() {
            // Everything below would complain about names of graphs that could not be built.
            return Err(problems);
        }
        if let Some(node) = fields.optional("buffers") {
            builder.buffers = problems.take(read::buffers(node, &env)).unwrap_or_default();
        }
        if let Some(list) = problems.take(fields.items("commands")) {
            builder.commands = problems.take(read::commands(list)).unwrap_or_default();
        }
        if fields.optional("expect").is_some()
            && let Some(list) = problems.take(fields.items("expect"))
        {
            builder.expectations = problems.take(read::expectations(list)).unwrap_or_default();
        }
        problems.into_result(())?;
        builder.build()
    }

    /// Name for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One sentence; may be empty.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Names of the buffers, in the order of their allocation.
    pub fn buffers(&self) -> impl Iterator<Item = &str> + Clone {
        self.buffers.iter().map(|buffer| buffer.name.as_str())
    }

    fn buffer(&self, name: &Name) -> Result<usize, Diagnostic> {
        self.buffers
            .iter()
            .position(|buffer| buffer.name == name.value)
            .ok_or_else(|| unknown("buffer", name, self.buffers()))
    }

    fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic> {
        inputs::find_graph(&self.graphs, name)
    }
}

/// An unknown name and the nearest valid one.
fn unknown<'a>(
    what: &str,
    name: &Name,
    valid: impl IntoIterator<Item = &'a str> + Clone,
) -> Diagnostic {
    error_at(
        name.place.as_ref(),
        format!("unknown {what} `{}`", name.value),
    )
    .hint(name_hint(&name.value, &format!("{what}s"), valid))
}

/// Text of a PTX module.
#[derive(Clone, Debug)]
struct ModuleText {
    file: String,
    text: String,
    place: Option<Span>,
}

fn read_module(fields: &Fields<'_>, folder: &Path) -> Result<ModuleText, Diagnostic> {
    let name = fields.name("module")?;
    let path = folder.join(&name.value);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(ModuleText {
            file: path.display().to_string(),
            text,
            place: name.place,
        }),
        Err(reason) => {
            let message = format!("cannot read the module {}: {reason}", path.display());
            Err(error_at(name.place.as_ref(), message)
                .hint("paths in a workload start at the folder of its file"))
        }
    }
}
