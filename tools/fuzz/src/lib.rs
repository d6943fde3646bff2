//! Fuzzing with mutated inputs of every kind, against the libraries and through the program.
//!
//! ```text
//!   Kind, seed, number ──► Case: one file of a Folder, changed ──► inside: the libraries, panics caught
//!                                                              └─► through: the program as a child
//!                                           Verdict: accepted, refused, or a Fault ──► shrunk, kept
//! ```
//!
//! The contents of a [`Case`] follow from its kind, seed and number alone. A [`Campaign`] tries
//! many of them. Worker processes with a memory limit test the libraries, so that an abort or a
//! hang ends one input only. The program is tested with a child process for each input.

mod campaign;
mod case;
mod checkpoints;
mod folder;
mod indexed;
mod kind;
mod libraries;
mod limits;
mod mutate;
mod sealed;
mod shrink;
mod surfaces;
mod through;
mod verdict;

pub use campaign::{BrokenPromise, Campaign, Mode, Tally};
pub use case::Case;
pub use checkpoints::Moment;
pub use folder::Folder;
pub use kind::Kind;
pub use libraries::{LibraryTargets, work};
pub use limits::Limits;
pub use through::Program;
pub use verdict::{Fault, FaultKind, InputOutcome, Verdict};
