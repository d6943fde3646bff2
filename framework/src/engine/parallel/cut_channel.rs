//! Channels between partitions, as the coordinator sees them between windows.
//!
//! A window is no longer than the latency and the credit latency of any cut channel, so what one
//! partition does at a cut is not visible to the other before the next window. Only wake-ups are
//! left to arrange, and those the coordinator derives from the time stamps in the slots while
//! nobody runs: for a message at the head the tick at which it is readable, for a sender that
//! waits the tick of its credit. That is exactly whom, and when, the ends would have woken
//! themselves within one partition.

use std::sync::Arc;

use crate::channel::Boundary;
use crate::engine::partition::Place;

/// One channel or published wire that crosses partitions.
pub(crate) struct CutChannel {
    pub(crate) from: Place,
    pub(crate) to: Place,
    /// `None` for published wires, which have no slots.
    pub(crate) boundary: Option<Arc<dyn Boundary>>,
    /// The sender waits for a credit of which nothing has been seen.
    pub(crate) waiting: bool,
}
