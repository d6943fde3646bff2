//! Tests that foreign traces import correctly, and that malformed ones are rejected with a
//! position.

mod export;
mod functions;
mod indexed;
mod newer;
mod options;
mod random;
mod refusals;
mod vectors;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use warpweave_accel_sim::{AccelSimError, Imported, Quirks, import};
use warpweave_files::Ledger;
use warpweave_trace::{Program, TraceFile};

fn vector(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/accel_sim/vectors");
    folder.join(name)
}

/// Returns the program imported from a foreign trace.
fn imported(from: &Path, quirks: Quirks) -> Result<(Program, Imported), AccelSimError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let to = folder.path().join("it.trace");
    let said = import(from, &to, quirks, &Ledger::default())?;
    let program = TraceFile::open(&to)?.program()?;
    Ok((program, said))
}

/// Returns the contents of a program and the import result as text.
fn shown((program, said): &(Program, Imported)) -> String {
    let mut text = String::new();
    let stays = program.write_summary(&mut text);
    stays.expect("writing to a string succeeds");
    for kernel in &program.kernels {
        for work_group in 0..kernel.work_groups() {
            let stays = kernel.write_dump(work_group, None, &mut text);
            stays.expect("writing to a string succeeds");
        }
    }
    for unmodelled in &said.unmodelled {
        writeln!(text, "{unmodelled}").expect("writing to a string succeeds");
    }
    text
}
