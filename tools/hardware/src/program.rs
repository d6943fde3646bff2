//! Reads the program of a scenario or of a workload file.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use warpweave_files::{Budget, Ledger};
use warpweave_inputs::Name;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{
    Diagnostic, Diagnostics, Files, Node, Placed, Source, begins_with_name, parse, parse_from,
};
use warpweave_systems::Scenario;
use warpweave_systems::host_program::{EmulationSpec, ExecuteError, Executed, HostProgram};

/// Program to run, with the settings for its emulation.
pub enum Loaded {
    /// Program and emulation of a scenario.
    Scenario(Box<Scenario>),
    /// Program of a workload file, to be emulated with default settings.
    Workload(Box<HostProgram>),
}

impl Loaded {
    /// Reads a scenario or a workload. `sets` are `workload.NAME=VALUE` and `size=NAME`, for a
    /// scenario any of its overrides.
    ///
    /// # Errors
    /// Returns all problems of the file and of those that it names, and refuses a scenario of a
    /// trace, which has no program.
    pub fn read(path: &Path, sets: &[String]) -> Result<Self, Diagnostics> {
        let ledger = Ledger::new(&Budget::unlimited());
        let files = Files::of("").charged_to(&ledger).of_description_at(path);
        let source = files.description(path, &["Scenario", "Workload"])?;
        if !begins_with_name(source.text(), &["Workload"]) {
            let scenario = Scenario::load(path, sets)?;
            if scenario.program().is_none() {
                let message = format!("{} runs a trace, which no GPU can run", path.display());
                return Err(Diagnostic::error(message)
                    .hint("name the workload that it was recorded from")
                    .into());
            }
            return Ok(Self::Scenario(Box::new(scenario)));
        }
        let mut size = None;
        let mut values = BTreeMap::new();
        for text in sets {
            let (name, value) = override_of(text)?;
            if name.value == "size" {
                size = Some(Placed::at(spelled(&value)?, &value.span));
            } else if let Some(parameter) = name.value.strip_prefix("workload.") {
                // Messages about the parameter point to its name.
                let place = name.place.clone().unwrap_or_else(|| value.span.clone());
                values.insert(parameter.to_owned(), Node::new(value.kind, place));
            } else {
                let message = format!("a workload file has no `{}`", name.value);
                let hint = "set `workload.NAME=VALUE` or `size=NAME`; other values are those of a scenario";
                return Err(name.error(message).hint(hint).into());
            }
        }
        workload(&source, path, size.as_ref(), &values).map(|it| Self::Workload(Box::new(it)))
    }

    pub fn program(&self) -> &HostProgram {
        match self {
            Self::Scenario(scenario) => scenario.program().expect("checked when it was read"),
            Self::Workload(program) => program,
        }
    }

    /// Emulates the program.
    ///
    /// # Errors
    /// Fails like [`HostProgram::execute`].
    pub fn emulate(&self) -> Result<Executed, ExecuteError> {
        match self {
            Self::Scenario(scenario) => scenario.emulate(),
            Self::Workload(program) => program.execute(&EmulationSpec::default()),
        }
    }
}

/// Reads a workload file with a size and parameters.
pub(crate) fn workload(
    source: &Arc<Source>,
    path: &Path,
    size: Option<&Name>,
    values: &BTreeMap<String, Node>,
) -> Result<HostProgram, Diagnostics> {
    let ledger = Ledger::new(&Budget::unlimited());
    let folder = path.parent().unwrap_or(Path::new(""));
    let files = Files::of(folder).charged_to(&ledger);
    let node = parse(source)?;
    HostProgram::from_node(&node, &files, size, values, &standard_references())
}

/// Parses `NAME=VALUE`; the first equals sign separates the two.
fn override_of(text: &str) -> Result<(Name, Node), Diagnostics> {
    let source = Source::new(format!("--set {text}"), text);
    let name = text.split_once('=').map(|(name, _)| name);
    let Some(name) = name.filter(|name| !name.trim().is_empty()) else {
        let place = source.span(0, text.len());
        return Err(Diagnostic::error("an override is `path=value`")
            .at(&place)
            .hint("such as `workload.n=256`")
            .into());
    };
    let value = parse_from(&source, name.len() + 1)?;
    let place = source.span(0, name.len());
    Ok((Placed::at(name.trim().to_owned(), &place), value))
}

/// Returns a name that is written with or without quotes.
fn spelled(value: &Node) -> Result<String, Diagnostics> {
    let name = value.name().map(|name| name.text.clone());
    let text = value.as_str().map(str::to_owned).or(name);
    text.ok_or_else(|| {
        let message = format!(
            "`size` must name a size of the workload, found {}",
            value.describe()
        );
        Diagnostic::error(message).at(&value.span).into()
    })
}
