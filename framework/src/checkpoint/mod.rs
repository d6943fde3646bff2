//! Checkpoints, from which a system can resume, and fingerprints of its state.
//!
//! | file | holds |
//! |---|---|
//! | `description` | what a checkpoint is of: the parts of a system, and the first difference to another |
//! | `saving` | taking a checkpoint from a simulation and putting it back |
//! | `file` | checkpoints as files |
//! | `state_hash` | hashes of every component and channel at a time |
//! | `parting` | the first time and place at which two runs part |
//!
//! This module sees a simulation from outside ([`crate::engine`]). Components and channels name
//! their state themselves ([`crate::state`]), and the engine is not aware of being saved.

mod description;
mod divergence;
mod file;
mod saving;
mod state_hash;

pub use description::{Description, Difference, Subject};
pub use divergence::{Divergence, DivergencePoint};
pub use file::FileError;
pub use saving::{Checkpoint, CheckpointError};
pub use state_hash::StateHasher;
