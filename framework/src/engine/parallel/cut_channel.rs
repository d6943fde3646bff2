//! Channels between partitions, as the engine sees them between windows.
//!
//! A window is no longer than the latency and the credit latency of any cut channel. Actions of one
//! partition at a cut are thus not visible to the other before the next window. Only wake-ups
//! remain to be arranged, from what the ends recorded in the window and from the positions of both.
//! A message at the head wakes the receiver at the tick at which it is readable. A waiting sender
//! is woken at the tick of its credit. Within one partition the ends would have performed exactly
//! the same wake-ups.

use std::sync::Arc;

use crate::channel::{Boundary, Positions};
use crate::engine::partition::Place;
use crate::sync::AtomicBool;

/// One channel or published wire that crosses partitions.
pub(crate) struct CutChannel {
    pub(crate) from: Place,
    pub(crate) to: Place,
    pub(crate) positions: Arc<Positions>,
    /// Slot time stamps; `None` for published wires, which have no slots.
    pub(crate) boundary: Option<Arc<dyn Boundary>>,
    /// True if the sender waits for a credit that has not been seen yet. Only the thread to which
    /// the sender's partition belongs uses it.
    pub(crate) waiting: AtomicBool,
}
