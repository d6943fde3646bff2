//! Ports of the unit by which facts and functional accesses come and go.

use warpweave_framework::{PortId, PortName};

use crate::launch::{CacheControlMaster, DispatchSlave};
use crate::memory::MemMaster;

const DISPATCH_BUNDLE: PortName = PortName::new("dispatch");

/// Takes work-groups.
pub(super) const DISPATCH: PortId = DISPATCH_BUNDLE.member(DispatchSlave::DISPATCH);
/// Reports completed work-groups.
pub(super) const COMPLETION: PortId = DISPATCH_BUNDLE.member(DispatchSlave::COMPLETION);
/// Sends data requests.
pub(super) const MEMORY: PortId = PortName::new("memory").member(MemMaster::REQUEST);
/// Sends instruction fetches.
pub(super) const INSTRUCTIONS: PortId = PortName::new("instructions").member(MemMaster::REQUEST);
/// Sends commands to the first-level data cache.
pub(super) const CACHE_COMMAND: PortId =
    PortName::new("cache_control").member(CacheControlMaster::COMMAND);
