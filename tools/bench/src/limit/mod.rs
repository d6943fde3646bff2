//! What the workloads cost when written by hand: nothing but what their semantics ask for.
//!
//! Modules are boxed trait objects, channels are bounded and timed as the framework's are, modules
//! sleep and wake the same way; there are no names, hooks, clocks, statistics or checks.

mod cycles;
mod phold;

pub(crate) use cycles::{pipe, ring};
pub(crate) use phold::phold;
