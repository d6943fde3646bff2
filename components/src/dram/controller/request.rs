//! Accesses that a controller is offered, and its answers.

use crate::dram::mapping::Location;

/// One access of burst size offered to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the access within the channel. Equal numbers address the same bytes.
    pub access: u64,
    pub location: Location,
    /// True for a write, false for a read.
    pub write: bool,
    /// Tag returned with the completion of a read.
    pub tag: u32,
}

/// Result of offering a request to a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The request was queued until it can be scheduled.
    Queued,
    /// The read is answered from a waiting write.
    Forwarded,
    /// The write replaced a waiting write of the same access.
    Merged,
    /// The queue is full, so the request must be offered again.
    Refused,
}
