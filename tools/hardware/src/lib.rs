//! Runs programs on a real GPU through the CUDA driver. It checks the emulator bit for bit, and
//! measures time, power and energy.
//!
//! ```text
//!   LiveRun ── Device ──► Session ──► Driver (CUDA, or a double in tests)
//!      │                      │
//!      │                      └──► marks: time of a run, and of each launch
//!      └──► outputs: expectations, and a comparison with the emulator's
//! ```
//!
//! The driver is loaded only when a command needs it. Everything builds and passes its tests
//! without one.

pub mod campaign;
pub mod compare;
pub mod cuda;
pub mod device_library;
pub mod driver;
pub mod live;
pub mod measure;
pub mod micro;
pub mod nvml;
pub mod power;
pub mod program;
pub mod repeat;
pub mod session;
pub mod set;
pub mod table;
