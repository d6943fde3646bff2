//! Hand-written workloads that do only the work their semantics require.
//!
//! Modules are boxed trait objects that sleep and wake as in the framework. Channels are bounded
//! and timed likewise. There are no names, hooks, clocks, statistics or checks.

mod cycles;
mod phold;

pub(crate) use cycles::{pipe, ring};
pub(crate) use phold::phold;
