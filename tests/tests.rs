//! Integration tests: one binary, one module for each promise to the user.
//!
//! Most tests drive the real program through [`harness`]; those that need an engine option or a
//! component kind of their own use the library.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod accel_sim_machines;
mod accesses;
mod ahead;
mod bench;
mod browser;
mod check_program;
mod checkpoint;
mod cli;
mod compare;
mod composition;
mod conform;
mod deadlock;
mod determinism;
mod docs;
mod errors;
mod experiment;
mod full_disk;
mod fuzz;
mod harness;
mod killed;
mod laser;
mod launched;
mod limits;
mod machines;
mod monitors;
mod new;
mod option_files;
mod outputs;
mod own_kernel;
mod read_caches;
mod recordings;
mod report;
mod reuse;
mod third_party;
mod traces;
mod workloads;

/// The component that `warpweave new` writes, with its tests.
#[path = "../tools/cli/templates/program/src/throttle.rs"]
mod throttle;
