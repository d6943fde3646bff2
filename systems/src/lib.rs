//! Full systems from description files: loader, host programs, runs and reports.
//!
//! ```text
//!  scenario.ron ──► Scenario ──► emulate ──► Executed: program trace, checked results
//!                      │                        │
//!                      └──────► machine ◄───────┘ ──► simulate ──► Simulated ──► report
//! ```

mod address;
mod checkpoint;
mod elaborate;
pub mod energy;
pub mod host_program;
mod registry;
pub mod report;
mod resolved;
mod run;
mod scenario;
mod state_log;
mod system_file;

pub use checkpoint::MachineCheckpointError;
pub use elaborate::ElaboratedSystem;
pub use registry::standard_registry;
pub use resolved::ResolvedSystem;
pub use run::{KernelResult, Machine, Progress, Simulated, Status, Threads};
pub use scenario::{Limits, Scenario};
pub use state_log::{ReadLog, ReadLogError, StateLog};
