//! Reader for workload files: from the parsed tree to a host program.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use warpweave_inputs::reference::References;
use warpweave_inputs::{ElementType, GraphSource, MatrixSource, Name, ResultFormat};
use warpweave_params::{Diagnostic, Diagnostics, Entries, Files, Node, Placed, from_named};
use warpweave_ptx::Module;

use super::HostProgram;
use super::builder::HostProgramBuilder;
use super::description::{
    Allow, Command, Contents, Demand, Expectation, GraphInput, TextureInput, Tolerance,
};
use super::inputs::{build_graph, define_matrix, define_properties};
use super::modules::ModuleText;
use super::params::Params;
use super::shared_modules::SharedModules;
use super::sizes;

/// Workload file. Its sections are read in order, and each may use definitions of earlier ones.
#[derive(Deserialize)]
struct Workload {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    params: Entries<Node>,
    #[serde(default)]
    sizes: Entries<Entries<Node>>,
    #[serde(default)]
    module: Option<Node>,
    #[serde(default)]
    modules: Option<Node>,
    #[serde(default)]
    graphs: Option<Node>,
    #[serde(default)]
    matrices: Option<Node>,
    #[serde(default)]
    structs: Option<Node>,
    #[serde(default)]
    buffers: Option<Node>,
    #[serde(default)]
    textures: Option<Node>,
    commands: Node,
    #[serde(default)]
    expect: Option<Node>,
    #[serde(default)]
    results: Entries<ResultFormat>,
    #[serde(default)]
    allow: Option<Node>,
}

/// Expectation whose reference is not yet resolved.
#[derive(Deserialize)]
struct Expect {
    buffer: Name,
    #[serde(default)]
    equals: Option<Node>,
    #[serde(default)]
    holds: Option<Node>,
    #[serde(default)]
    tolerance: Option<Tolerance>,
}

impl HostProgram {
    /// Reads a workload file. Files that it names are read through `files`. `size` selects one of
    /// its sizes, whose values replace those in `params`. `overrides` replace parameters by name,
    /// including those set by the size. `references` holds the reference answers it may name. The
    /// program is named after the file.
    ///
    /// # Errors
    /// Returns all problems of the file, its modules and its inputs, each with its location.
    pub fn from_node(
        node: &Node,
        files: &Files,
        size: Option<&Name>,
        overrides: &BTreeMap<String, Node>,
        references: &References,
    ) -> Result<Self, Diagnostics> {
        Self::from_node_with(node, files, size, overrides, references, None)
    }

    /// Reads a workload file like [`Self::from_node`]. Modules are taken from those that are
    /// `shared`, and added to them.
    pub(crate) fn from_node_with(
        node: &Node,
        files: &Files,
        size: Option<&Name>,
        overrides: &BTreeMap<String, Node>,
        references: &References,
        shared: Option<&SharedModules>,
    ) -> Result<Self, Diagnostics> {
        let file: Workload = from_named(node, "Workload")?;
        let values = sizes::values(&file.params, &file.sizes, size, overrides)?;
        let params = Params::read(&file.params, &values)?;

        let stem = Path::new(node.span.source.name()).file_stem();
        let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let mut builder = HostProgramBuilder::new(stem).reading(files.clone());
        builder.summary = file.summary;
        builder.env = params.env.clone();
        builder.origin.resolved = params.resolved(node);
        builder.origin.parameters = file.params.names().map(str::to_owned).collect();

        let mut problems = Diagnostics::new();
        for (name, path) in problems
            .take(modules(file.module, file.modules, node, &params))
            .unwrap_or_default()
        {
            builder
                .origin
                .files_read
                .push(files.folder().join(&path.value));
            builder
                .modules
                .extend(problems.take(read_module(name, &path, files, shared)));
        }

        // Buffers may use properties of graphs and matrices, so these are built first.
        let mut env = params.env.clone();
        let graphs: Option<Entries<GraphSource>> =
            problems.take(params.evaluated_part(file.graphs, &env));
        for (name, source) in graphs.unwrap_or_default() {
            let file = source.file().map(|path| files.folder().join(path));
            builder.origin.files_read.extend(file);
            let graph = build_graph(&name, GraphInput::Source(source), files);
            if let Some(graph) = problems.take(graph) {
                define_properties(&mut env, &name.value, &graph);
                builder.graphs.push((name, GraphInput::Ready(graph)));
            }
        }
        let matrices: Option<Entries<MatrixSource>> =
            problems.take(params.evaluated_part(file.matrices, &env));
        for (name, source) in matrices.unwrap_or_default() {
            builder
                .origin
                .files_read
                .push(files.folder().join(source.file()));
            let matrix = source.build(files).map_err(|error| name.blame(error));
            if let Some(matrix) = problems.take(matrix) {
                define_matrix(&mut env, &name.value, &matrix);
                builder.matrices.push((name, matrix));
            }
        }
        let structures: Option<Entries<Entries<ElementType>>> =
            problems.take(params.part(file.structs));
        builder.structures = structures.unwrap_or_default().into_iter().collect();
        if problems.has_errors() {
            // Everything below would complain about names of inputs that could not be built.
            return Err(problems);
        }
        let buffers: Option<Entries<Contents>> =
            problems.take(params.evaluated_part(file.buffers, &env));
        builder.buffers = buffers.unwrap_or_default().into_iter().collect();
        let textures: Option<Entries<TextureInput>> =
            problems.take(params.evaluated_part(file.textures, &env));
        builder.textures = textures.unwrap_or_default().into_iter().collect();
        let commands: Option<Vec<Placed<Command>>> =
            problems.take(params.part(Some(file.commands)));
        builder.commands = commands.unwrap_or_default();
        let expected: Option<Vec<Expect>> = problems.take(params.part(file.expect));
        for expect in expected.unwrap_or_default() {
            let demand = problems.take(demand(&expect, references));
            builder
                .expectations
                .extend(demand.map(|demand| Expectation {
                    buffer: expect.buffer,
                    demand,
                }));
        }
        builder.results = file.results.into_iter().collect();
        let allowed: Option<Vec<Placed<Allow>>> = problems.take(params.part(file.allow));
        builder.allowed = allowed.unwrap_or_default();
        problems.into_result(())?;
        let program = builder.build()?;
        if let Some(shared) = shared {
            for module in &program.modules {
                shared.keep(module, &files.ledger().budget());
            }
        }
        Ok(program)
    }
}

/// Reads the modules and their files: a single one, or several by name.
fn modules(
    module: Option<Node>,
    modules: Option<Node>,
    workload: &Node,
    params: &Params,
) -> Result<Vec<(Name, Name)>, Diagnostics> {
    let named = match (module, modules) {
        (Some(module), None) => {
            let path: Placed<String> = params.value(module)?;
            return Ok(vec![(path.clone(), path)]);
        }
        (None, Some(modules)) => params.part::<Entries<Name>>(Some(modules))?,
        _ => Entries::default(),
    };
    if named.is_empty() {
        let message = "a workload must have either `module` or `modules`";
        let problem = Diagnostic::error(message).at(&workload.head_span());
        let hint = "module: \"kernels.ptx\", or modules: { \"name\": \"kernels.ptx\" }";
        return Err(problem.hint(hint).into());
    }
    Ok(named.into_iter().collect())
}

/// Returns the requirement of an expectation, which must be exactly one of the two kinds.
fn demand(expect: &Expect, references: &References) -> Result<Demand, Diagnostics> {
    match (&expect.equals, &expect.holds) {
        (Some(equals), None) => {
            let answer = references.read(equals)?;
            Ok(Demand::Equals(answer, expect.tolerance.unwrap_or_default()))
        }
        (None, Some(holds)) => {
            if expect.tolerance.is_some() {
                let message = "a property cannot have a tolerance";
                return Err(expect
                    .buffer
                    .error(message)
                    .hint("remove `tolerance`")
                    .into());
            }
            Ok(Demand::Holds(references.read_property(holds)?))
        }
        _ => {
            let message = format!(
                "buffer `{}` needs exactly one of `equals` and `holds`",
                expect.buffer.value
            );
            let hint =
                "equals: a reference, such as Values([1, 2]); holds: a property, such as Ascending";
            Err(expect.buffer.error(message).hint(hint).into())
        }
    }
}

/// Reads the module `called` from the file `name`.
fn read_module(
    called: Name,
    name: &Name,
    files: &Files,
    shared: Option<&SharedModules>,
) -> Result<ModuleText, Diagnostic> {
    let path = files.folder().join(&name.value);
    let what = "a PTX module: it does not begin with `.version`";
    let source = files.other_text(&path, what, is_ptx).map_err(|error| {
        let place = name.place.as_ref();
        if error.place.is_some() {
            return place.into_iter().fold(error, |error, place| {
                error.related("the module is named here", place)
            });
        }
        let problem = name.blame(error);
        match problem.hint {
            Some(_) => problem,
            None => problem.hint("paths in a workload are relative to the folder of its file"),
        }
    })?;
    let tables = Module::parse_bytes(source.text());
    let charged = files.ledger().charge(source.name(), tables);
    charged.map_err(|error| name.blame(error))?;
    Ok(ModuleText {
        name: called,
        parsed: shared.and_then(|shared| shared.get(source.name(), source.text())),
        file: source.name().to_owned(),
        text: source.text().into(),
        place: name.place.clone(),
    })
}

/// True if a text starts like PTX after comments.
fn is_ptx(text: &str) -> bool {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("//") {
            comment.split_once('\n').map(|(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, after)| after)
        } else {
            return rest.starts_with(".version");
        };
        rest = after.unwrap_or_default().trim_start();
    }
}
