//! `warpweave new`: creates components, policies and programs from templates.
//!
//! `name.rs` checks names; `component.rs`, `policy.rs` and `program.rs` write files. The templates
//! are the files in `templates/program/`, a crate whose component is compiled and run by this
//! repository's tests, and the policies of `tests/third-party/`.

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

/// Subcommands that create new files from templates.
#[derive(Subcommand)]
pub(crate) enum NewCommand {
    /// Write the file of a component: specification, ports, one cycle's work, state, statistics,
    /// tests.
    ///
    /// The template component is placed in a memory wire and passes requests on at a bounded rate.
    Component {
        /// Name of the kind in description files, such as `WriteCounter`; the file is then
        /// `write_counter.rs`.
        name: String,
        /// Folder in which to write the file.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Write the file of a policy: specification, decisions, state, tests.
    Policy {
        /// Name of the policy in description files, such as `TwoOldest`; the file is then
        /// `two_oldest.rs`.
        name: String,
        /// Role of the policy, as shown by `warpweave list policies`.
        #[arg(long, default_value = "wavefront_scheduler")]
        role: String,
        /// Folder in which to write the file.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
    },
    /// Write a crate: a program with all of Warpweave's commands and its own component, the
    /// component's tests, and a scenario that uses it.
    ///
    /// The program depends on Warpweave by the path of its sources: those used to build this
    /// program, or those given by --warpweave.
    Program {
        /// Name of the crate and of its folder.
        name: String,
        /// Folder in which to create the crate's folder.
        #[arg(long, value_name = "DIR", default_value = ".")]
        out: PathBuf,
        /// Folder of the Warpweave sources to depend on.
        #[arg(long, value_name = "PATH", default_value_os_t = own_sources(), hide_default_value = true)]
        warpweave: PathBuf,
    },
}

/// Returns the folder of the sources from which this program was built.
fn own_sources() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
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

/// Converts the reason that a new file could not be written into a failure.
fn not_new(failed: OutputError) -> Failure {
    match failed.error.kind() {
        ErrorKind::AlreadyExists => Failure::InputText(format!(
            "{} already exists\nhint: choose another name or folder",
            failed.path.display()
        )),
        _ => failed.into(),
    }
}
