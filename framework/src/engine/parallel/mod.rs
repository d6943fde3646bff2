//! Parallel execution of partitions: independent work within windows, synchronisation between them.
//!
//! | file | holds |
//! |---|---|
//! | `coordinator` | derives the next window, or the end, from what partitions did |
//! | `tally` | what they did, added up |
//! | `cut_channel` | channels between partitions |
//! | `threads`, `barrier` | who runs which partition, and where threads meet |
//! | `crew` | whether they work together, or one alone while others would only wait |
//!
//! A system that is not divided is one partition with one long window and uses the same code.

mod barrier;
mod coordinator;
mod cut_channel;
mod tally;
mod thread_governor;
mod threads;

pub use coordinator::RunStep;

pub(crate) use coordinator::{Coordinator, Limits, RunEnd, Stop};
pub(crate) use cut_channel::CutChannel;
pub(crate) use threads::run_windows;
