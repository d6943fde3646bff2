//! How a message passes a port: most take a short way, for which the port knows all it needs.

use crate::channel::any_port::Reach;
use crate::evaluation::NEAR;

/// How a message passes a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryPath {
    /// Short: no taps, one message per cycle, and the other end in this partition and clock and near.
    Near,
    /// Short: no taps, one message per cycle, and the other end in another partition.
    CutActivity,
    /// Any other.
    Long,
}

impl DeliveryPath {
    /// The way to `other` at `cycles` of a wire that is `simple`, and whom to wake there if near.
    pub(super) fn to(other: &Reach, cycles: u64, simple: bool) -> (Self, u32) {
        match other {
            Reach::Same(target) if simple && cycles < NEAR => (Self::Near, target.index),
            Reach::Cut(..) if simple => (Self::CutActivity, 0),
            _ => (Self::Long, 0),
        }
    }
}

pub(super) const UNBOUND: &str = "ports are connected at elaboration, before any evaluation";
