//! Benchmark workloads of the simulation kernel, the same written by hand, and those of
//! emulation and a memory path.
//!
//! They are a separate library so that their compiled code does not depend on the program around
//! them. Instructions are counted to the percent.

mod components;
mod elaboration;
mod emulation;
pub mod floor;
mod limit;
mod one;
mod phold;
mod signals;
mod workload;

pub use one::run;
pub use workload::{Implementation, Sample, Tally, Workload, starts_with_token};
