//! Host programs: the host side of a GPU program, executed functionally into a program trace.
//!
//! ```text
//!  workload.ron --from_node--+                       +--> Program: allocations, commands, kernels
//!                            +--> HostProgram --execute--> checks: buffers against references
//!  Rust: builder() ----------+        |              +--> names of the kernels launched
//!                                     +-- module (PTX), graphs, buffers
//! ```
//!
//! Example of a workload file, with a parameter that `workload.n=..` overrides. A string that
//! starts with `=` is an integer expression over parameters and loop counters. For a graph `g`, it
//! may also use `g_vertices`, `g_arcs` and `g_source` (the vertex with the most arcs). `"=name"`
//! alone may also refer to a parameter of any other kind, even a whole graph:
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
//! Equivalent program in Rust:
//!
//! ```
//! use warpweave_inputs::{ArrayGenerator, ElementType::F32, reference::VectorAdd};
//! use warpweave_systems::host_program::{
//!     Argument, Commands, Contents, EmulationSpec, HostProgram, Launch,
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
//!                     .scalar(Argument::U32, "=n"),
//!             )
//!             .copy_to_host("sum"),
//!     )
//!     .expect("sum", VectorAdd { a: "a".into(), b: "b".into() })
//!     .build()?;
//! let executed = program.execute(&EmulationSpec::default())?;
//! assert_eq!(executed.verified, Some(true));
//! assert_eq!(executed.program.kernels[0].grid, [4, 1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `description/` holds the data types of a program. `read.rs` reads them from a file (`modules.rs`
//! its modules, `params.rs` its parameters, `sizes.rs` sets of their values), and `builder.rs`
//! takes them from Rust code. `inputs.rs` builds graphs, matrices and buffers, and `structures.rs`
//! lays out structures. `tables.rs` fills buffers of structures, and `textures.rs` defines textures
//! over buffers. `origin.rs` keeps the names of the files and the text. `check.rs` checks the
//! program before it runs, `execute/` runs it, and `examine.rs` observes it. `results.rs` selects
//! the results to write, and `answers.rs` and `compare.rs` check the final buffers.
//! [References](warpweave_inputs::reference) are found by name in an extensible list.
//!
//! # Not modelled
//! Copies that overlap with kernels, events. Launches of different streams are emulated in program
//! order.

mod answers;
mod buffer_use;
mod builder;
mod check;
mod compare;
mod demands;
mod description;
mod emulation;
mod examine;
mod execute;
mod inputs;
mod modules;
mod origin;
mod params;
mod read;
mod results;
mod shared_modules;
mod sizes;
mod structures;
mod tables;
#[cfg(test)]
mod tests;
mod textures;

use std::path::PathBuf;
use std::sync::Arc;

use warpweave_inputs::reference::{Inputs, Layout};
use warpweave_inputs::{Csr, Matrix, Name, ResultFormat};
use warpweave_params::{Diagnostic, Diagnostics, Env, Files, Placed, name_hint};

use inputs::{Buffer, HeldInputs};
use origin::ProgramOrigin;
use structures::{Column, Elements, Structure};

pub use builder::{Commands, HostProgramBuilder};
pub(crate) use demands::ProgramDemands;
pub use description::{
    Allow, Argument, Command, Contents, Demand, EdgeMode, Element, Expectation, FieldValue, Filter,
    GraphInput, Launch, LaunchPlace, Mistake, ReadMode, Record, TexelFormat, TextureInput,
    Tolerance,
};
pub use emulation::{
    AllocationOffset, EMULATOR_VERSION, EmulatedCode, EmulationOrder, EmulationSpec,
};
pub use examine::{Examined, ReviewedFinding};
pub(crate) use execute::StaticLaunches;
pub use execute::{
    CheckResult, Device, DeviceAllocation, DeviceError, DeviceLaunch, EmulationProgress,
    ExecuteError, Executed, LiveRun,
};
pub use modules::ProgramModule;
pub(crate) use shared_modules::SharedModules;
pub use warpweave_ptx::{
    AccessSite, EmulationError, Finding, FindingKind, Printed, SourcePlace, Verdict,
};

/// Maximum device memory of all buffers together: 4 GiB.
pub const DEVICE_BYTES_MAX: u64 = 4 << 30;

/// Checked host program with its inputs, ready to be executed any number of times.
#[derive(Debug)]
pub struct HostProgram {
    name: String,
    summary: String,
    modules: Vec<ProgramModule>,
    held: HeldInputs,
    structures: Vec<Arc<Structure>>,
    buffers: Vec<Buffer>,
    textures: Vec<textures::BufferTexture>,
    commands: Vec<Placed<Command>>,
    expectations: Vec<Expectation>,
    /// Buffers that are written as results on request.
    results: Vec<(Name, ResultFormat)>,
    /// Findings of a check that are intended.
    allowed: Vec<Placed<Allow>>,
    /// Warnings about its inputs, and about copies that may have been forgotten.
    warnings: Diagnostics,
    /// Values of parameters and graph properties, for expressions.
    env: Env,
    /// File access with its memory limits.
    reading: Files,
    origin: ProgramOrigin,
}

impl HostProgram {
    /// Starts a builder for a host program in Rust.
    pub fn builder(name: impl Into<String>) -> HostProgramBuilder {
        HostProgramBuilder::new(name)
    }

    /// Returns the name of the program for display.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns a one-sentence summary, which may be empty.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns the modules in order; there is at least one.
    pub fn modules(&self) -> &[ProgramModule] {
        &self.modules
    }

    /// Returns warnings about inputs, and about copies the program may have forgotten.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Returns the names of the buffers in allocation order.
    pub fn buffers(&self) -> impl Iterator<Item = &str> + Clone {
        self.buffers.iter().map(|buffer| buffer.name.value.as_str())
    }

    /// Returns the graphs of the program with their names, in order.
    pub fn graphs(&self) -> impl Iterator<Item = (&str, &Csr)> {
        let graphs = self.held.graphs.iter();
        graphs.map(|(name, graph)| (name.as_str(), graph))
    }

    /// True if the host's contents of a buffer are device addresses.
    pub fn holds_addresses(&self, buffer: &str) -> bool {
        let mut buffers = self.buffers.iter();
        buffers.any(|it| it.name.value == buffer && it.pointers().is_some())
    }

    /// Returns the files read for the program: modules, graphs, matrices, buffers and reference
    /// answers.
    pub fn files_read(&self) -> &[PathBuf] {
        &self.origin.files_read
    }

    /// Returns the text of the program's file with the values of its parameters. It is equal for
    /// files and overrides that mean the same program, given equal bytes in [the files
    /// read](Self::files_read). It is empty for a program built in Rust.
    pub fn resolved(&self) -> &str {
        &self.origin.resolved
    }

    /// Returns the names of the parameters in the program's file, in order.
    pub fn parameters(&self) -> &[String] {
        &self.origin.parameters
    }

    /// Returns the initial contents of a buffer as words of memory.
    fn initial(&self, buffer: usize) -> Result<Vec<u32>, Diagnostic> {
        self.buffers[buffer].initial(&self.held)
    }

    fn buffer(&self, name: &Name) -> Result<usize, Diagnostic> {
        self.buffers
            .iter()
            .position(|buffer| buffer.name.value == name.value)
            .ok_or_else(|| unknown("buffer", name, self.buffers()))
    }

    /// Returns the numbers of a buffer, or of a structure field named `buffer.field`.
    fn column(&self, name: &Name) -> Result<Column, Diagnostic> {
        let text = name.value.as_str();
        let of_field = |buffer: &Buffer| {
            let rest = text.strip_prefix(buffer.name.value.as_str())?;
            rest.strip_prefix('.')
        };
        let whole = self.buffers.iter().position(|it| it.name.value == text);
        let number = whole.or_else(|| self.buffers.iter().position(|it| of_field(it).is_some()));
        let number = number.ok_or_else(|| unknown("buffer", name, self.buffers()))?;
        let buffer = &self.buffers[number];
        let field = of_field(buffer).filter(|_| whole.is_none());
        let (element, first) = match (&buffer.elements, field) {
            (Elements::Numbers(element), None) => (*element, 0),
            (Elements::Numbers(element), Some(_)) => {
                let buffer = &buffer.name.value;
                let message =
                    format!("buffer `{buffer}` has numbers of type {element:?}, no fields");
                return Err(name.error(message).hint(format!("write \"{buffer}\"")));
            }
            (Elements::Structures(structure), Some(field)) => {
                let found = structure.fields.iter().find(|known| known.name == field);
                let found = found.ok_or_else(|| {
                    let message = format!(
                        "structure `{}` has no field `{field}`",
                        structure.name.value
                    );
                    let hint = name_hint(field, "fields", structure.field_names());
                    name.error(message).hint(hint)
                })?;
                (found.element, found.offset)
            }
            (Elements::Structures(structure), None) => {
                let message = format!(
                    "buffer `{text}` has structures `{}`, and numbers are needed here",
                    structure.name.value
                );
                let names: Vec<String> = structure
                    .field_names()
                    .map(|field| format!("\"{text}.{field}\""))
                    .collect();
                let hint = format!("name one of its fields: {}", names.join(", "));
                return Err(name.error(message).hint(hint));
            }
        };
        Ok(Column {
            buffer: number,
            element,
            length: buffer.length,
            first,
            stride: buffer.elements.bytes(),
        })
    }
}

/// Host data that references may read.
impl Inputs for HostProgram {
    fn layout(&self, buffer: &Name) -> Result<Layout, Diagnostic> {
        Ok(self.column(buffer)?.layout())
    }

    fn contents(&self, buffer: &Name) -> Result<Vec<u32>, Diagnostic> {
        let column = self.column(buffer)?;
        let words = self.initial(column.buffer)?;
        Ok(column.gather(&words).into_owned())
    }

    fn graph(&self, name: &Name) -> Result<&Csr, Diagnostic> {
        self.held.graph(name)
    }

    fn matrix(&self, name: &Name) -> Result<&Matrix, Diagnostic> {
        self.held.matrix(name)
    }

    fn env(&self) -> &Env {
        &self.env
    }

    fn reading(&self) -> &Files {
        &self.reading
    }
}

/// Reports an unknown name, with the nearest valid one.
fn unknown<'a>(
    what: &str,
    name: &Name,
    valid: impl IntoIterator<Item = &'a str> + Clone,
) -> Diagnostic {
    name.error(format!("unknown {what} `{}`", name.value))
        .hint(name_hint(&name.value, &format!("{what}s"), valid))
}
