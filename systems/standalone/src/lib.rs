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
pub mod noc;
mod rows;

pub use comparison::{Comparison, Tolerance};
pub use distribution::Distribution;
pub use environment::environment;
pub use error::StandaloneError;
pub use rows::{open_text, read_rows, read_rows_within, write_rows};
