//! Paths of messages through a port. Most take a short path, for which the port has all necessary
//! information.

use crate::channel::any_port::Reach;
use crate::evaluation::NEAR;

/// Path that a message takes through a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryPath {
    /// Short path: no taps, one message per cycle, and the other end nearby in this partition and
    /// clock domain.
    Near,
    /// Short path: no taps, one message per cycle, and the other end in another partition.
    CutActivity,
    /// General path for all other cases.
    Long,
}

impl DeliveryPath {
    /// Returns the path to `other` at `cycles` of a wire that is `simple`, and the component to
    /// wake if it is near.
    pub(super) fn to(other: &Reach, cycles: u64, simple: bool) -> (Self, u32) {
        match other {
            Reach::Same(target) if simple && cycles < NEAR => (Self::Near, target.index),
            Reach::Cut(..) if simple => (Self::CutActivity, 0),
            _ => (Self::Long, 0),
        }
    }
}

pub(super) const UNBOUND: &str = "ports are connected at elaboration, before any evaluation";
