//! Full systems from description files: loader, host programs, runs and reports.
//!
//! ```text
//!  scenario.ron ──► Scenario ──► emulate ──► Executed: program trace, checked results
//!                      │                        │
//!                      └──────► machine ◄───────┘ ──► simulate ──► Simulated ──► report
//! ```

mod address;
mod elaborate;
pub mod host_program;
mod registry;
pub mod report;
mod resolved;
mod run;
mod scenario;
mod system_file;

pub use elaborate::ElaboratedSystem;
pub use registry::standard_registry;
pub use resolved::ResolvedSystem;
pub use run::{KernelResult, Machine, Progress, Simulated, Status, Threads};
pub use scenario::{Limits, Scenario};
