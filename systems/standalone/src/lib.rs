//! One component under a request trace, without a system around it, and the comparison of what
//! comes out with reference simulators.
//!
//! ```text
//!   trace (CSV, plain or gzip) ──► dram | noc | cache ──► report: latencies, rates, counts
//!                                       │
//!   reference folder ───────────────────┴──► Comparison: ours, theirs, tolerance, verdict
//! ```

pub mod cache;
mod comparison;
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
pub use distribution::Distribution;
pub use environment::environment;
pub use error::StandaloneError;
pub use own::Own;
pub use rows::{open_text, write_rows};
pub use table::{RowProblem, Table};

/// The last cycle that a trace may name: far beyond any run, and far from the end of the numbers.
pub const CYCLE_MAX: u64 = 1 << 62;
