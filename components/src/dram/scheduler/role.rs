//! Policy role for the request order of a memory controller.

use warpweave_framework::PolicyRole;

use super::AnyRequestOrder;
use crate::dram::mapping::Geometry;

/// Order of the requests of a memory channel. Each channel has its own policy, built from the same
/// specification.
pub struct RequestOrder;

impl PolicyRole for RequestOrder {
    const NAME: &'static str = "request_order";
    const SUMMARY: &'static str =
        "Chooses the waiting request of a memory channel that issues the next command";
    type Policy = AnyRequestOrder;
    type Site = RequestOrderSite;
}

/// Facts about a channel that its request-order policy is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOrderSite {
    /// Index of the channel in the controller.
    pub channel: u32,
    /// Number of channels in the controller.
    pub channels: u32,
    /// Numbers of banks, rows and columns of the channel.
    pub geometry: Geometry,
    /// Capacity of the read queue, in accesses.
    pub read_queue: u32,
    /// Capacity of the write queue, in accesses.
    pub write_queue: u32,
    /// Capacity of each bank's own queue, if there are any. Requests are then scheduled from these
    /// queues, reads and writes together.
    pub bank_queue: Option<u32>,
}
