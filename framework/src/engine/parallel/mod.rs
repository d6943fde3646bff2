//! Parallel execution of partitions: independent work within windows, synchronisation between them.
//!
//! | file | holds |
//! |---|---|
//! | `coordinator` | derives the next window, or the end, from what partitions did |
//! | `found` | what they did, added up |
//! | `cut_channel`, `exchange` | channels between partitions, and who is told of events at them |
//! | `threads`, `claims` | execution of windows, and who runs which partition |
//! | `barrier`, `window_cell` | where threads meet, and what they read when they part |
//! | `thread_governor` | whether they work together, or one alone while others would only wait |
//!
//! A system that is not divided is one partition with one long window and uses the same code.

mod barrier;
mod claims;
mod coordinator;
mod cut_channel;
mod exchange;
mod found;
mod thread_governor;
mod threads;
mod window_cell;

pub use coordinator::{RunStep, WindowsWorked};

pub(crate) use coordinator::{Coordinator, Limits, RunEnd, Stop};
pub(crate) use cut_channel::CutChannel;
pub(crate) use threads::run_windows;
