//! Uses a real GPU as the oracle. It runs a scenario's program through the CUDA driver and compares
//! every output with the emulator's, bit for bit. It also measures latencies and throughputs.
//!
//! ```text
//!   Scenario::emulate_told ── DeviceAction ──► Replay ──► Driver (CUDA, or a double in tests)
//!                                                │
//!                                                ├──► Comparison: what was copied back, by copy
//!                                                └──► Timing of each launch ──► CSV
//! ```
//!
//! The driver is loaded only when a command needs it. Everything builds and passes its tests
//! without one.

pub mod cuda;
pub mod driver;
pub mod micro;
pub mod replay;
pub mod table;
