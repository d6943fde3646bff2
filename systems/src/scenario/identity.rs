//! What the results of a scenario depend on, as two hashes.

use std::path::Path;
use std::sync::OnceLock;

use blake3::Hasher;
use serde::Serialize;
use warpweave_files::{Input, Ledger, ReadError};
use warpweave_params::{Diagnostic, Diagnostics, Entries, Kind, Node, Struct, to_node, to_ron};

use super::{Profile, Scenario, Work};
use crate::host_program::EMULATOR_VERSION;

/// What the results of a scenario depend on: BLAKE3 hashes in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Of the trace: the workload with its parameters, the bytes of every file that it reads, how it is
    /// emulated, and the version of the emulator; of a recorded trace its content.
    pub trace: String,
    /// Of the run: the trace, the system with its overrides, the other fields of the scenario, and the
    /// file of the program.
    pub run: String,
}

/// Fields of a scenario that are part of its identity by what they lead to, or not at all.
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
    /// What the results depend on. Equal for scenarios that lie elsewhere, are written otherwise, or set
    /// again what a file says already.
    ///
    /// # Errors
    /// A file that cannot be read again.
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
        let machine = without(&self.system_tree, &["summary", "params", "clocks"]);
        add(&mut run, to_ron(&machine).as_bytes());
        add_entries(&mut run, &self.system.scope.params);
        add_entries(&mut run, &self.system.clocks);
        for set in &self.overrides {
            add(&mut run, set.path.as_bytes());
            add(&mut run, to_ron(&set.value).as_bytes());
        }
        if let Some(path) = &self.energy_path {
            add_file(&mut run, path)?;
        }
        if let Some(path) = self.profile.as_ref().and_then(Profile::path) {
            add_file(&mut run, path)?;
        }
        let others = without(&self.tree, &LEAD_ELSEWHERE);
        add(&mut run, to_ron(&others).as_bytes());
        Ok(Identity {
            trace,
            run: run.finalize().to_hex().to_string(),
        })
    }

    /// Names of the parameters of the workload, in order.
    pub fn workload_parameters(&self) -> &[String] {
        self.program().map_or(&[], |program| program.parameters())
    }
}

/// Hash of the file of this program: another build may simulate otherwise, whatever its version says. The
/// version alone where the host does not tell which file that is.
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

/// Adds bytes, and how many they are: what follows cannot be taken for a part of them.
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

/// A struct without some of its fields.
fn without(node: &Node, names: &[&str]) -> Node {
    let mut node = node.clone();
    if let Kind::Struct(Struct { fields, .. }) = &mut node.kind {
        fields.retain(|field| !names.contains(&field.name.text.as_str()));
        fields.sort_by(|a, b| a.name.text.cmp(&b.name.text));
    }
    node
}
