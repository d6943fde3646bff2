//! Implementation of `warpweave bench cache` and `warpweave validate cache`.
//!
//! A trace lists byte addresses in order, without times. The presets therefore run only the tag
//! array, which determines hits. A description file runs the complete component, with a requester
//! that keeps it busy and a lower-level memory of fixed latency.

mod functional;
mod reference;
mod timed;
mod trace;

pub use functional::{Counts, Functional, GEOMETRIES, Preset};
pub use reference::{validate, validate_own};
pub use timed::{Bench, Timed};
pub use trace::{Access, read_trace, read_trace_within};
