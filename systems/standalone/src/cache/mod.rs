//! `warpweave bench cache` and `warpweave validate cache`.
//!
//! A trace names bytes in order, without times, so the presets run the tag array alone: which
//! accesses hit. A description file runs the whole component, with a requester that keeps it busy
//! and a memory of fixed latency below.

mod functional;
mod reference;
mod timed;
mod trace;

pub use functional::{Counts, Functional, GEOMETRIES, Preset};
pub use reference::{validate, validate_own};
pub use timed::{Bench, Timed};
pub use trace::{Access, read_trace, read_trace_within};
