//! Identity of a scenario: two hashes of everything that affects its results.

use std::path::Path;
use std::sync::OnceLock;

use blake3::Hasher;
use serde::Serialize;
use warpweave_files::{Input, Ledger, ReadError};
use warpweave_params::{Diagnostic, Diagnostics, Entries, Kind, Node, Struct, to_node, to_ron};

use super::{Scenario, Work};
use crate::host_program::EMULATOR_VERSION;

/// Hashes of everything that affects a scenario's results: BLAKE3 in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Hash of the trace. Covers the workload with its parameters, the bytes of every file it
    /// reads, the emulation settings and the emulator version. For a recorded trace it covers the
    /// content.
    pub trace: String,
    /// Hash of the run: the trace, the system with its overrides, the other fields of the scenario,
    /// and the program's executable file.
    pub run: String,
}

/// Fields that are not hashed themselves: their effects are hashed instead, or they do not matter.
const LEAD_ELSEWHERE: [&str; 8] = [
    "summary",
    "system",
    "workload",
    "trace",
    "size",
    "overrides",
    "emulation",
    "energy",
];

impl Scenario {
    /// Computes the identity. It does not depend on the location of a scenario or its formatting,
    /// or on overrides that repeat a file's value.
    ///
    /// # Errors
    /// Fails if a file cannot be read again.
    pub fn identity(&self) -> Result<Identity, Diagnostics> {
        let mut trace = Hasher::new_derive_key("warpweave trace of a scenario");
        add(&mut trace, &EMULATOR_VERSION.to_le_bytes());
        match &self.work {
            Work::Workload(program) => {
                add(&mut trace, program.name().as_bytes());
                add(&mut trace, program.resolved().as_bytes());
                for path in program.files_read() {
                    add_file(&mut trace, path)?;
                }
                add(&mut trace, text_of(&self.emulation)?.as_bytes());
            }
            Work::Trace(recording) => add(&mut trace, &recording.hash.0),
        }
        let trace = trace.finalize().to_hex().to_string();

        let mut run = Hasher::new_derive_key("warpweave run of a scenario");
        add(&mut run, program());
        add(&mut run, trace.as_bytes());
        let machine = without(&self.stated.system_tree, &["summary", "params", "clocks"]);
        add(&mut run, to_ron(&machine).as_bytes());
        add_entries(&mut run, &self.system.scope.params);
        add_entries(&mut run, &self.system.clocks);
        for set in &self.overrides {
            add(&mut run, set.path.as_bytes());
            add(&mut run, to_ron(&set.value).as_bytes());
        }
        if let Some(path) = &self.paths.energy {
            add_file(&mut run, path)?;
        }
        for path in self.analyses.files() {
            add_file(&mut run, path)?;
        }
        let others = without(&self.stated.tree, &LEAD_ELSEWHERE);
        add(&mut run, to_ron(&others).as_bytes());
        Ok(Identity {
            trace,
            run: run.finalize().to_hex().to_string(),
        })
    }

    /// Returns the names of the workload's parameters, in order.
    pub fn workload_parameters(&self) -> &[String] {
        self.program().map_or(&[], |program| program.parameters())
    }
}

/// Returns a hash of this program's executable, since another build may simulate differently
/// despite an equal version. Returns only the version if the host cannot locate the executable.
fn program() -> &'static [u8] {
    static PROGRAM: OnceLock<Vec<u8>> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let file = std::env::current_exe().and_then(std::fs::read);
        file.map_or_else(
            |_| env!("CARGO_PKG_VERSION").as_bytes().to_vec(),
            |bytes| blake3::hash(&bytes).as_bytes().to_vec(),
        )
    })
}

/// Hashes bytes with their length, so that they cannot be confused with the bytes that follow.
fn add(hasher: &mut Hasher, bytes: &[u8]) {
    hasher.update(&(bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

fn add_entries(hasher: &mut Hasher, entries: &Entries<Node>) {
    add(hasher, &(entries.iter().len() as u64).to_le_bytes());
    for (name, value) in entries {
        add(hasher, name.value.as_bytes());
        add(hasher, to_ron(value).as_bytes());
    }
}

fn add_file(hasher: &mut Hasher, path: &Path) -> Result<(), Diagnostic> {
    let read = Input::open(path).map_err(ReadError::from);
    let read = read.and_then(|input| input.read(&Ledger::default()));
    let bytes = read.map_err(|error| {
        Diagnostic::error(format!("cannot read {} again: {error}", path.display()))
    })?;
    add(hasher, &bytes);
    Ok(())
}

fn text_of(value: &impl Serialize) -> Result<String, Diagnostics> {
    Ok(to_ron(&to_node(value)?))
}

/// Returns a struct without some of its fields.
fn without(node: &Node, names: &[&str]) -> Node {
    let mut node = node.clone();
    if let Kind::Struct(Struct { fields, .. }) = &mut node.kind {
        fields.retain(|field| !names.contains(&field.name.text.as_str()));
        fields.sort_by(|a, b| a.name.text.cmp(&b.name.text));
    }
    node
}
