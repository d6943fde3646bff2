//! The workloads of the kernel, the same written by hand, and those of emulation.
//!
//! They are a library of their own so that what a compiler makes of them does not depend on the
//! program around them: instructions are counted to the percent.

mod components;
mod elaboration;
mod emulation;
mod limit;
mod one;
mod phold;
mod signals;
mod workload;

pub use one::run;
pub use workload::{Implementation, Sample, Tally, Workload, starts_with_token};
