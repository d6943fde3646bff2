//! Option files of GPGPU-Sim and Accel-Sim, read into a system file.
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

use warpweave_params::{Diagnostics, Source, printable};

use machine::Machine;
use option_values::OptionValues;

/// The system file for the machine that option files describe: `gpgpusim.config`, `trace.config` and others,
/// of which later ones have the last word. Its first lines say what of the options it does not have.
///
/// # Errors
/// Options that are unknown, malformed, or needed and not there, and values that no machine of ours can have,
/// with their places.
pub fn system_of(files: &[PathBuf]) -> Result<String, Diagnostics> {
    let mut problems = Diagnostics::new();
    let mut given = OptionValues::default();
    for file in files {
        match Source::read(file) {
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
