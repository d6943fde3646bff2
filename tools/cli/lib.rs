//! Warpweave as one dependency: the program, and the libraries for writing components.
//!
//! A program of your own adds component kinds to Warpweave. With them it can do everything that the
//! `warpweave` program does. See [`cli::main`], and `docs/extend.md` for all steps.
//!
//! The files next to this one are the program. `cli.rs` reads the command line, and each command
//! has its own file. Only `outcome.rs` decides on exit codes, and only `host.rs` reads clocks.

mod accesses;
mod analyze;
mod arguments;
mod bench;
mod check;
mod check_program;
pub mod cli;
mod compare;
mod conform;
mod describe;
mod diff;
mod drive;
mod emulation;
mod experiment;
mod fields;
mod host;
mod list;
mod memory;
mod new;
mod outcome;
mod policies;
mod probe;
mod progress;
mod ptx;
mod recordings;
mod results;
mod run;
mod stats;
mod stub;
mod sweep;
mod system;
mod timeline;
mod trace;
mod validate;

pub use warpweave_components as components;
pub use warpweave_experiments as experiments;
pub use warpweave_framework as framework;
pub use warpweave_params as params;
pub use warpweave_systems as systems;
pub use warpweave_systems::standard_registry;
