//! Full systems from description files: loader, host programs, runs and reports.
//!
//! ```text
//!  scenario.ron ──► Scenario ──► emulate ──► Executed: program trace, checked results
//!                      │                        │
//!                      └──────► machine ◄───────┘ ──► simulate ──► Simulated ──► report
//! ```

mod address;
mod digits;
mod elaboration;
pub mod energy;
pub mod host_program;
mod limits;
pub mod locality;
pub mod mappings;
pub mod profile;
mod registry;
pub mod report;
mod run;
mod scenario;
mod taps;

pub use address::any_index;
pub use digits::grouped;
pub use elaboration::{ElaboratedSystem, ResolvedSystem};
pub use limits::Limits;
pub use registry::standard_registry;
pub use run::{
    EmulationAhead, EngineActivity, Estimate, Interval, KernelResult, KernelTime, LazyMeasured,
    Machine, MachineCheckpointError, Measured, Part, Progress, ReadLog, ReadLogError, RegionResult,
    Simulated, StateLog, Status, Threads, empty_environment,
};
pub use scenario::{
    AppliedOverride, Identity, Measure, Observation, Outside, Region, Scenario, ScenarioPaths,
    SharedPrograms, StatedScenario, Variation,
};
pub use taps::{RequestsAt, RequestsByKernel, StartLogError, TapSpec};
