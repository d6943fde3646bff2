//! `warpweave new`: templates to start from.
//!
//! `name.rs` says which names fit, `component.rs`, `policy.rs` and `program.rs` write. The templates are
//! files in `templates/program/`, a crate whose component the tests of this repository compile and
//! run, and the policies of `tests/third-party/`.

mod component;
mod name;
mod policy;
mod program;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use warpweave_files::{Output, OutputError};
use warpweave_framework::Registry;

use crate::outcome::{CommandResult, Failure, to_stdout};

/// What to begin.
#[derive(Subcommand)]
pub(crate) enum NewCommand {
    /// Write the file of a component: specification, ports, one cycle's work, state, statistics,
    /// tests.
    ///
    /// The template stands in a memory wire and passes requests on at a bounded rate.
    Component {
        /// Name of the kind in description files, such as `WriteCounter`; the file is then
        /// `write_counter.rs`.
        name: String,
        /// Folder of the file.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Write the file of a policy: specification, decisions, state, tests.
    Policy {
        /// Name of the policy in description files, such as `TwoOldest`; the file is then
        /// `two_oldest.rs`.
        name: String,
        /// Its role, as `warpweave list policies` names it.
        #[arg(long, default_value = "wavefront_scheduler")]
        role: String,
        /// Folder of the file.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Write a crate: a program with all of Warpweave's commands and a component of its own, the
    /// component's tests, and a scenario that uses it.
    ///
    /// The program depends on Warpweave by the path of its sources: those this program was built
    /// from, or the ones that --warpweave names.
    Program {
        /// Name of the crate and of its folder.
        name: String,
        /// Folder in which to make the crate's folder.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// Folder of Warpweave's sources to depend on.
        #[arg(long, value_name = "PATH", default_value = env!("CARGO_MANIFEST_DIR"), hide_default_value = true)]
        warpweave: PathBuf,
    },
}

pub(crate) fn new(registry: &Registry, command: &NewCommand) -> CommandResult {
    let told = match command {
        NewCommand::Component { name, out } => component::write(registry, name, out)?,
        NewCommand::Policy { name, role, out } => policy::write(registry, name, role, out)?,
        NewCommand::Program {
            name,
            out,
            warpweave,
        } => program::write(name, out, warpweave)?,
    };
    to_stdout(&told)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    Output::write_new(path, text.as_bytes()).map_err(not_new)
}

/// Why something new could not be written.
fn not_new(failed: OutputError) -> Failure {
    match failed.error.kind() {
        ErrorKind::AlreadyExists => Failure::InputText(format!(
            "{} exists already\nhint: choose another name or folder",
            failed.path.display()
        )),
        _ => failed.into(),
    }
}
