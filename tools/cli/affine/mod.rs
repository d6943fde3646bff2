//! `warpweave analyze affine`: addresses of loads and stores as forms, and reuse between
//! work-groups.

mod command_line;
mod found;
mod options;
mod page;
mod table;
mod verify;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use warpweave_files::{Budget, Input, Ledger};
use warpweave_params::{Diagnostic, printable_lines};
use warpweave_systems::{Scenario, locality};
use warpweave_trace::{Program, TRACE_MAGIC, TraceError};

use self::command_line::of_ptx;
use self::found::{Found, found};
pub(crate) use self::found::{Group, of_program};
pub(crate) use self::options::Arguments;
use self::options::Form;
use self::page::page;
use self::table::{object, table};
use self::verify::verify;
use crate::outcome::{CommandResult, Failure, to_stdout};

pub(crate) fn affine(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let is_ptx = arguments.file.extension().is_some_and(|end| end == "ptx");
    let (name, groups, allocations, program) = if is_ptx {
        for (given, message) in [
            (arguments.verify, "--verify needs recorded accesses"),
            (arguments.plan.is_some(), "--plan needs a program"),
        ] {
            if given {
                let message = format!("{message}: use a scenario or a trace");
                return Err(Failure::InputText(message));
            }
        }
        let (group, allocations) = of_ptx(arguments, budget)?;
        let name = arguments.file.display().to_string();
        (name, vec![group], allocations, None)
    } else {
        for (given, flag) in [
            (arguments.grid.is_some(), "--grid"),
            (arguments.block.is_some(), "--block"),
            (!arguments.args.is_empty(), "--arg"),
        ] {
            if given {
                let message = format!("{flag} is for PTX files; a program states its launches");
                return Err(Failure::InputText(message));
            }
        }
        let program = recorded(&arguments.file, &arguments.sets, budget)?;
        let groups = of_program(&program, arguments.kernel.as_deref(), &arguments.file)?;
        if let Some(path) = &arguments.plan {
            locality::write(path, program.hash(), &locality::compute(&program))?;
        }
        let name = program.name.clone();
        (name, groups, program.allocations.clone(), Some(program))
    };
    let found: Vec<Found> = groups
        .into_iter()
        .map(|group| found(group, &allocations, arguments))
        .collect();
    let text = match arguments.format {
        Form::Text => printable_lines(&page(&name, &found)).into_owned(),
        Form::Csv => table(&found),
        Form::Json => {
            let groups: Vec<Value> = found.iter().map(object).collect();
            let whole =
                json!({ "program": name, "line_bytes": arguments.line_bytes, "launches": groups });
            let text = serde_json::to_string_pretty(&whole);
            text.expect("objects have text keys only") + "\n"
        }
    };
    to_stdout(&text)?;
    match program.filter(|_| arguments.verify) {
        Some(program) => Ok(verify(&found, &program)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// Reads a trace, or emulates the program of a scenario.
pub(crate) fn recorded(
    file: &Path,
    sets: &[String],
    budget: &Budget,
) -> Result<Arc<Program>, Failure> {
    if !is_trace(file)? {
        let scenario = Scenario::load_within(file, sets, budget)?;
        return Ok(scenario.emulate()?.program);
    }
    if !sets.is_empty() {
        let message = "--set is for scenarios; a trace is what was recorded";
        return Err(Failure::InputText(message.to_owned()));
    }
    let program = Program::open_within(file, &Ledger::new(budget));
    let program = program.map_err(|error| match error {
        TraceError::OverBudget(error) => Diagnostic::from(error).into(),
        error => Failure::InputText(error.to_string()),
    });
    program.map(Arc::new)
}

/// True if the file starts as a trace does; anything else is read as a scenario.
fn is_trace(path: &Path) -> Result<bool, Failure> {
    let refused =
        |error: std::io::Error| Failure::InputText(format!("{}: {error}", path.display()));
    let mut input = Input::open(path).map_err(refused)?;
    let mut begin = [0; TRACE_MAGIC.len()];
    match std::io::Read::read_exact(&mut input, &mut begin) {
        Ok(()) => Ok(begin == TRACE_MAGIC),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(refused(error)),
    }
}
