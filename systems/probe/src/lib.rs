//! Measurement of a machine: latencies, bandwidths and rates, by small programs that run on it.
//!
//! Each figure is the difference between two runs that differ in the amount of work only. Launch,
//! cold caches and the end of a kernel cancel. Programs are traces written for the purpose;
//! no kernel is emulated.
//!
//! ```text
//!   programs.rs   instructions and streams of the programs
//!   bench.rs      the machine, and runs of a program on it
//!   figures/      what is measured, and by which pairs of programs
//! ```

mod bench;
mod figures;
mod programs;

pub use self::bench::{Bench, ProbeError};
pub use self::figures::{Figure, QUANTITIES, Selection, probe};
