//! A real GPU as the oracle: runs the program of a scenario through the CUDA driver and holds every
//! output against the emulator's, bit for bit, and measures latencies and throughputs.
//!
//! ```text
//!   Scenario::emulate_told ── DeviceAction ──► Replay ──► Driver (CUDA, or a double in tests)
//!                                                │
//!                                                ├──► Comparison: what was copied back, by copy
//!                                                └──► Timing of each launch ──► CSV
//! ```
//!
//! The driver is looked for when a command needs it: everything builds and its tests pass where there is none.

pub mod cuda;
pub mod driver;
pub mod micro;
pub mod replay;
pub mod table;
