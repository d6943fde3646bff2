//! Integration tests: one binary, with one module for each promise to the user.
//!
//! Most tests drive the real program through [`harness`]. Those that need an engine option or their
//! own component kind use the library.
#![expect(clippy::unwrap_used, reason = "a test may fail")]

mod accel_sim_machines;
mod accesses;
mod affine;
mod ahead;
mod bench;
mod bound_to_fail;
mod browser;
mod check_program;
mod checkpoint;
mod cli;
mod cluster;
mod clustering;
mod compare;
mod composition;
mod conform;
mod correlate;
mod deadlock;
mod determinism;
mod docs;
mod errors;
mod experiment;
mod full_disk;
mod fuzz;
mod graphs;
mod h200;
mod harness;
mod killed;
mod laser;
mod launched;
mod limits;
mod look_ahead;
mod machines;
mod mapping;
mod monitors;
mod new;
mod option_files;
mod optional_tool;
mod outputs;
mod own_kernel;
mod packaging;
mod placed;
mod prefetching;
mod probe;
mod read_caches;
mod recordings;
mod report;
mod reuse;
mod robust;
mod sharing;
mod slurm;
mod spare_registers;
mod stale_reads;
mod tail_launches;
mod thesis;
mod third_party;
mod traces;
mod watch;
mod workloads;

/// Component written by `warpweave new`, with its tests.
#[path = "../tools/cli/templates/program/src/throttle.rs"]
mod throttle;
