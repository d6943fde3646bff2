//! What goes into a controller and what comes out: accesses and commands.

use serde::{Deserialize, Serialize};
use warpweave_framework::Cycle;

use crate::dram::banks::Command;
use crate::dram::mapping::Location;

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What names the access among all of the channel; equal numbers are the same bytes.
    pub access: u64,
    /// Where it goes.
    pub location: Location,
    /// Write or read.
    pub write: bool,
    /// Returned with the completion of a read.
    pub tag: u32,
}

/// What became of an offered request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It waits for its turn.
    Queued,
    /// The read is answered from a waiting write.
    Forwarded,
    /// The write replaced a waiting write of the same access.
    Merged,
    /// The queue is full; offer it again.
    Refused,
}

/// A command as issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issued {
    /// Cycle of the command bus.
    pub cycle: Cycle,
    /// The command.
    pub command: Command,
}
