//! The program as a library: all commands, with the component kinds of any registry.
//!
//! `cli.rs` reads the command line, and each command has its own file. Only `outcome.rs` decides on
//! exit codes, and only `host.rs` reads clocks and draws random numbers.

mod accesses;
mod affine;
mod analyze;
mod arguments;
mod bench;
mod check;
mod check_program;
pub mod cli;
mod compare;
mod conform;
mod correlate;
mod describe;
mod diff;
mod drive;
mod emulation;
mod experiment;
mod fields;
mod host;
mod list;
mod mapping;
mod memory;
mod new;
mod outcome;
mod policies;
mod probe;
mod progress;
mod ptx;
mod recordings;
mod results;
mod robust;
mod run;
mod session;
mod sharing;
mod slurm;
mod stats;
mod stub;
mod sweep;
mod system;
mod timeline;
mod trace;
mod validate;
mod watch;
