//! Tests of whole programs. `arguments.rs` covers launch arguments, and `commands.rs` covers
//! partial copies, numbers read and variables written. `compiled.rs` covers code as compiled, and
//! `elements.rs` buffers of every type and from files. `examine.rs` covers the findings of checks,
//! and `expectations.rs` compares buffers of one run. `workloads.rs` runs those of the repository,
//! `modules.rs` programs of several modules, and `programs.rs` small ones built in Rust.
//! `launches.rs` covers the limits and attributes of launches, and `matrices.rs` matrices of real
//! numbers. `refusals.rs` covers messages for invalid files, and `sizes.rs` the effects of a size.
//! `strategies.rs` runs the programs of the study of strategies. `structures.rs` covers compound
//! elements and arguments, and `textures.rs` programs with textures.

mod arguments;
mod commands;
mod compiled;
mod elements;
mod examine;
mod expectations;
mod graph_programs;
mod launches;
mod matrices;
mod modules;
mod programs;
mod refusals;
mod sizes;
mod strategies;
mod structures;
mod textures;
mod workloads;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpweave_inputs::Name;
use warpweave_inputs::reference::standard_references;
use warpweave_params::{Diagnostics, Files, Node, Source, parse, parse_from};

use super::{AllocationOffset, EmulationOrder, EmulationSpec, Executed, HostProgram};

/// PTX module that contains no kernels.
const EMPTY: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/workloads")
}

fn overrides(sets: &[(&str, &str)]) -> BTreeMap<String, Node> {
    let read = |&(name, text): &(&str, &str)| {
        let source = Source::new(format!("--set workload.{name}"), text);
        (name.to_owned(), parse_from(&source, 0).unwrap())
    };
    sets.iter().map(read).collect()
}

fn execute(program: &HostProgram, order: EmulationOrder) -> Executed {
    let spec = EmulationSpec {
        order,
        resident_work_groups: 7,
        quantum: 5,
        ..Default::default()
    };
    program
        .execute(&spec)
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Reads a program from a workload file in the common workload folder.
fn read(source: &Arc<Source>, sets: &[(&str, &str)]) -> Result<HostProgram, Diagnostics> {
    read_sized(source, None, sets)
}

/// Like [`read`], with a chosen size.
fn read_sized(
    source: &Arc<Source>,
    size: Option<&str>,
    sets: &[(&str, &str)],
) -> Result<HostProgram, Diagnostics> {
    read_below(&folder(), source, size, sets)
}

/// Like [`read_sized`], with the folder of the file.
fn read_below(
    folder: &Path,
    source: &Arc<Source>,
    size: Option<&str>,
    sets: &[(&str, &str)],
) -> Result<HostProgram, Diagnostics> {
    let node = parse(source)?;
    HostProgram::from_node(
        &node,
        &Files::of(folder),
        size.map(Name::from).as_ref(),
        &overrides(sets),
        &standard_references(),
    )
}

#[test]
fn buffers_begin_at_multiples_of_an_allocation() {
    let read = |bytes: u64| AllocationOffset::try_from(bytes);
    assert_eq!(read(16 << 20).map(AllocationOffset::get), Ok(16 << 20));
    for wrong in [1, 4100, (16 << 20) + 256, u64::MAX] {
        let error = read(wrong).unwrap_err();
        assert!(
            error.starts_with("expected a multiple of 256 up to 16777216"),
            "{error}"
        );
    }
}

/// Moving buffers may change hits and misses, but never the results of a program.
#[test]
fn a_program_computes_the_same_wherever_its_buffers_lie() {
    let text = std::fs::read_to_string(folder().join("bfs.ron")).unwrap();
    let program = read(&Source::new("bfs.ron", text), &[]).unwrap();
    let here = program.execute(&EmulationSpec::default()).unwrap();
    let there = program.execute(&EmulationSpec {
        allocation_offset_bytes: AllocationOffset::try_from(69_632).unwrap(),
        ..EmulationSpec::default()
    });
    let there = there.unwrap();
    assert_eq!(here.outputs, there.outputs);
    let bases = |executed: &Executed| -> Vec<u64> {
        executed
            .program
            .allocations
            .iter()
            .map(|a| a.base)
            .collect()
    };
    let moved: Vec<u64> = bases(&here).iter().map(|base| base + 69_632).collect();
    assert_eq!(bases(&there), moved);
    assert_ne!(here.program.hash(), there.program.hash());
}

#[test]
fn a_trace_is_the_same_wherever_its_files_lie() {
    let here = folder();
    let elsewhere = tempfile::tempdir().unwrap();
    std::fs::create_dir(elsewhere.path().join("cuda")).unwrap();
    let module = "cuda/vector_add.ptx";
    std::fs::copy(here.join(module), elsewhere.path().join(module)).unwrap();
    let text = std::fs::read_to_string(here.join("vector_add.ron")).unwrap();
    let hash = |folder: &Path| {
        let node = parse(&Source::new("vector_add.ron", text.as_str())).unwrap();
        let files = Files::of(folder);
        let references = standard_references();
        let program = HostProgram::from_node(&node, &files, None, &BTreeMap::new(), &references);
        let executed = program.unwrap().execute(&EmulationSpec::default());
        executed.unwrap().program.hash()
    };
    assert_eq!(hash(&here), hash(elsewhere.path()));
}
