//! Comparison of runs with profiles that Nsight Compute took on a real GPU.
//!
//! ```text
//!   profile.rs ◄── cells, number, metric     rows of `ncu --csv` as launches with metrics
//!   report.rs, program.rs ──► launch         ours: from a report, or from a program trace
//!   pairs.rs ──► quantity, stall ──► score   launches by pairs, values, errors by kernel
//!   text, table, object, page                the four forms of the result
//! ```
//!
//! `docs/correlate.md` defines the formats, the quantities and the figures.

mod cells;
mod correlation;
mod figure;
mod launch;
mod metric;
mod name;
mod number;
mod object;
mod page;
mod pairs;
mod profile;
mod program;
mod quantity;
mod report;
mod score;
mod stall;
mod sums;
mod table;
mod text;
mod traffic;

pub use self::correlation::{Correlation, Rules};
pub use self::launch::{OwnLaunch, OwnRun};
pub use self::pairs::MatchBy;
pub use self::profile::{Profile, ProfileFilter};
pub use self::program::run_of_program;
pub use self::report::{CyclesFrom, PlaceNames, run_of_report};
pub use self::traffic::Traffic;
