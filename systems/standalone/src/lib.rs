//! Runs one component under a request trace, without a system around it, and compares the results
//! with reference simulators.
//!
//! ```text
//!   trace (CSV, plain or gzip) ──► dram | noc | cache ──► report: latencies, rates, counts
//!                                       │
//!   reference folder ───────────────────┴──► Comparison: ours, theirs, tolerance, verdict
//! ```

pub mod cache;
mod comparison;
mod description;
mod distribution;
pub mod dram;
mod environment;
mod error;
mod folder;
pub mod noc;
mod own;
mod rows;
mod table;
mod written;

pub use comparison::{Comparison, Tolerance};
pub use description::Description;
pub use distribution::Distribution;
pub use environment::environment;
pub use error::StandaloneError;
pub use own::Own;
pub use rows::{open_text, write_rows};
pub use table::{RowProblem, Table};

/// Largest cycle that a trace may contain. It is far beyond any run and far from overflow.
pub const CYCLE_MAX: u64 = 1 << 62;
