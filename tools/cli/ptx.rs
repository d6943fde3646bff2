//! `warpweave ptx`: lists the kernels of a PTX file and its unsupported features.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use warpweave_files::{Budget, Input, Ledger, ReadError};
use warpweave_params::{Diagnostic, name_hint, printable_lines};
use warpweave_ptx::{Kernel, Module, Parameter, RefusedKernel};
use warpweave_trace::Class;

use crate::outcome::{CommandResult, Failure, to_stdout};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// PTX file to read, plain text.
    file: PathBuf,
    /// Show only the kernel with this name.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
}

/// Reads the PTX module of a file, whose text and tables are charged to the ledger.
///
/// # Errors
/// Fails if the file cannot be read or is no PTX, or if the budget does not hold it.
pub(crate) fn read_module(file: &Path, ledger: &Ledger) -> Result<Module, Failure> {
    let name = file.display().to_string();
    let refused = |error: &dyn std::fmt::Display| Failure::InputText(format!("{name}: {error}"));
    let input = Input::open(file).map_err(|error| refused(&error))?;
    let text = input.read_text(ledger);
    let text = text.map_err(|error| match error {
        ReadError::OverBudget(error) => Diagnostic::from(error).into(),
        ReadError::Io(error) => refused(&error),
    })?;
    let tables = ledger.charge(&name, Module::parse_bytes(&text));
    tables.map_err(|error| Failure::from(Diagnostic::from(error)))?;
    let module = Module::parse(&name, &text);
    module.map_err(|errors| Failure::InputText(errors.to_string()))
}

pub(crate) fn ptx(arguments: &Arguments, budget: &Budget) -> CommandResult {
    let name = arguments.file.display().to_string();
    let ledger = Ledger::new(budget);
    let module = read_module(&arguments.file, &ledger)?;
    if let Some(entry) = &arguments.entry {
        let names = module.kernels().iter().map(Kernel::name);
        let names = names.chain(module.refused().iter().map(|kernel| kernel.name.as_str()));
        if names.clone().all(|known| known != entry) {
            let hint = name_hint(entry, "kernels", names);
            return Err(Failure::InputText(format!(
                "--entry {entry}: {name} has no such kernel\nhint: {hint}"
            )));
        }
    }
    to_stdout(&printable_lines(&page(
        &name,
        &module,
        arguments.entry.as_deref(),
    )))?;
    Ok(ExitCode::SUCCESS)
}

fn page(name: &str, module: &Module, entry: Option<&str>) -> String {
    let is_wanted = |name: &str| entry.is_none_or(|entry| entry == name);
    let (kernels, refused) = (module.kernels(), module.refused());
    let mut text = format!(
        "{name}: {} that can be launched",
        counted(kernels.len(), "kernel")
    );
    if !refused.is_empty() {
        let _ = write!(text, ", {} that cannot", refused.len());
    }
    text.push('\n');
    let textures: Vec<&str> = module.texture_references().collect();
    if !textures.is_empty() {
        let _ = writeln!(text, "texture references: {}", textures.join(", "));
    }
    for kernel in kernels.iter().filter(|kernel| is_wanted(kernel.name())) {
        describe(kernel, &mut text);
    }
    for kernel in refused.iter().filter(|kernel| is_wanted(&kernel.name)) {
        describe_refused(kernel, &mut text);
    }
    text
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn describe(kernel: &Kernel, text: &mut String) {
    let code = kernel.code();
    let _ = writeln!(text, "\n{}", kernel.name());
    parameters(kernel.parameters(), text);
    let instructions = code.instructions.len();
    let _ = writeln!(
        text,
        "  {} for each thread, {} bytes of local memory for each work-group, {} bytes of private memory \
         for each thread, {}",
        counted(code.registers_per_thread as usize, "register"),
        code.static_local_bytes,
        code.private_bytes,
        counted(instructions, "instruction"),
    );
    if code.instructions.iter().any(|i| i.class == Class::Launch) {
        text.push_str("  launches kernels from the device\n");
    }
    if kernel.asks_place() {
        text.push_str("  asks where it runs: its launches state `place`\n");
    }
}

fn describe_refused(kernel: &RefusedKernel, text: &mut String) {
    let _ = writeln!(text, "\n{}: cannot be launched", kernel.name);
    parameters(&kernel.parameters, text);
    for line in kernel.reasons.to_string().lines() {
        let _ = writeln!(text, "  {line}");
    }
}

fn parameters(list: &[Parameter], text: &mut String) {
    let width = list.iter().map(|parameter| parameter.name.len()).max();
    let width = width.unwrap_or(0).min(40);
    for parameter in list {
        let Parameter {
            name,
            ty,
            bytes,
            align,
            ..
        } = parameter;
        let _ = write!(text, "  {name:<width$}  ");
        if *bytes == ty.bytes() {
            let _ = writeln!(text, "{ty}");
        } else {
            let _ = writeln!(text, "{bytes} bytes, aligned to {align}");
        }
    }
}
