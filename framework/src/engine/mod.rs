//! Execution of a system: from parts and wires to a simulation, on one thread or many.
//!
//! ```text
//!   elaboration ── builds ──► simulation ── divides into ──► partitions, each with its components
//!                                 │                              ▲
//!                                 └── runs windows of ── parallel ┘
//! ```
//!
//! | room | holds |
//! |---|---|
//! | `division` | which instance is to be in which partition: a question about graphs alone |
//! | `partition` | the components that one thread evaluates, and the loop that does it |
//! | `parallel` | the windows in which partitions work, the coordinator between them, the threads |
//! | `simulation` | the whole: runs, reports, dividing and moving, taps |
//! | `elaboration` | the builder, and every check of a system |
//!
//! Each module imports only those above it. The engine evaluates components and steps the event
//! world ([`crate::world`]) through its driver. It does not know about files, checkpoints or test
//! benches.

mod division;
mod elaboration;
mod options;
mod parallel;
mod partition;
mod simulation;

pub use division::busiest_share;
pub use elaboration::{
    ElaborationError, ElaborationErrors, PortDoc, PortList, RelatedOrigin, SystemBuilder,
    described_ports,
};
pub use options::{EngineOptions, Order};
pub use parallel::{RunStep, WindowsWorked};
pub use simulation::{
    DeadlockReport, DeliveryError, Division, FunctionalWires, Outcome, PortAddress, RunLimits,
    Simulation, SystemWarning, TapError, WaitEdge,
};

pub(crate) use parallel::Stop;
pub(crate) use partition::{Activity, Partition};
pub(crate) use simulation::{ChannelInfo, Instance};
