//! Ports of the cache by which facts and functional accesses come and go.

use warpweave_framework::{PortId, PortName};

use crate::launch::CacheControlSlave;
use crate::memory::{MemMaster, MemSlave};

/// Takes requests from above.
pub(super) const UP: PortId = PortName::new("up").member(MemSlave::REQUEST);
/// Sends requests down.
pub(super) const DOWN: PortId = PortName::new("down").member(MemMaster::REQUEST);
/// Takes commands.
pub(super) const CONTROL: PortId = PortName::new("control").member(CacheControlSlave::COMMAND);
