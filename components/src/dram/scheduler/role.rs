//! The place in a memory controller that an order of requests fills.

use warpweave_framework::PolicyRole;

use super::AnyRequestOrder;
use crate::dram::mapping::Geometry;

/// The order of the requests of a memory channel; each channel has a policy of its own, built from the
/// same specification.
pub struct RequestOrder;

impl PolicyRole for RequestOrder {
    const NAME: &'static str = "request_order";
    const SUMMARY: &'static str =
        "Chooses the waiting request of a memory channel that gets the next command";
    type Policy = AnyRequestOrder;
    type Site = RequestOrderSite;
}

/// What a memory controller tells the policy of one of its channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOrderSite {
    /// Number of the channel in the controller.
    pub channel: u32,
    /// Channels of the controller.
    pub channels: u32,
    /// Banks, rows and columns of the channel.
    pub geometry: Geometry,
    /// Accesses that the read queue holds.
    pub read_queue: u32,
    /// Accesses that the write queue holds.
    pub write_queue: u32,
    /// Accesses that each bank's own queue holds, where there are such; then requests are scheduled
    /// from them, reads and writes together.
    pub bank_queue: Option<u32>,
}
