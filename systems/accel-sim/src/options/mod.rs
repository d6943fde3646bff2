//! Import of GPGPU-Sim and Accel-Sim option files as a system file.
//!
//! ```text
//!   tokens.rs ──► table.rs, form.rs ──► option_values.rs ──► machine.rs ──► write.rs
//!   words         known? well-formed?   values       what it means   RON
//!                 options.txt           and what     classes.rs,
//!                 cache.rs, dram.rs     is lost      caches.rs, memory.rs, interconnect.rs
//! ```

mod cache;
mod caches;
mod classes;
mod cycles;
mod dram;
mod form;
mod fragment;
mod front_end;
mod interconnect;
mod machine;
mod memory;
mod option_values;
mod shared;
mod table;
mod tokens;
mod write;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use warpweave_params::{Diagnostics, Files, printable};

use machine::Machine;
use option_values::OptionValues;

/// Treatment of options that no release of GPGPU-Sim or Accel-Sim has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownOptions {
    /// They are errors.
    Refuse,
    /// They are listed at the head of the result.
    LeaveOut,
}

/// Returns the system file for the machine described by option files: `gpgpusim.config`,
/// `trace.config` and others. Later files override earlier ones. The first lines of the result list
/// the options that are not modelled.
///
/// # Errors
/// Returns an error with position for options that are malformed, required but missing, or unknown
/// where `unknown` refuses them. The same holds for values that our machines cannot have.
pub fn system_of(files: &[PathBuf], unknown: UnknownOptions) -> Result<String, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut given = OptionValues::new(unknown);
    for file in files {
        match Files::default().description(file, &[]) {
            Ok(source) => given.read(&source, &mut problems),
            Err(problem) => problems.push(problem),
        }
    }
    problems.into_result(())?;
    let machine = Machine::of(&given)?;
    let names = files.iter().map(|file| {
        let name = file.file_name().unwrap_or_default().display().to_string();
        printable(&name).into_owned()
    });
    Ok(write::system(&names.collect::<Vec<_>>(), &given, &machine))
}
