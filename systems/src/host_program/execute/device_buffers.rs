//! Buffers of a host program on a device.

use std::collections::BTreeMap;

use warpweave_files::Ledger;

use super::device::DeviceAllocation;

/// Memory of buffers, and their contents as the host last copied them.
pub(in crate::host_program) struct DeviceBuffers {
    /// Charge for the copies of all buffers, released with them.
    _charge: Ledger,
    /// Index of the allocation each buffer points to.
    pub(super) pointers: Vec<usize>,
    pub(super) allocations: Vec<DeviceAllocation>,
    /// Contents last copied back to the host, by buffer.
    pub(super) images: BTreeMap<usize, Vec<u32>>,
}

impl DeviceBuffers {
    /// Creates buffers that point to these allocations, in order.
    pub(super) fn new(charge: Ledger, allocations: Vec<DeviceAllocation>) -> Self {
        Self {
            _charge: charge,
            pointers: (0..allocations.len()).collect(),
            allocations,
            images: BTreeMap::new(),
        }
    }

    /// Returns the allocation that a buffer points to.
    pub(super) fn allocation(&self, buffer: usize) -> DeviceAllocation {
        self.allocations[self.pointers[buffer]]
    }

    /// Returns the device address that a buffer points to.
    pub(super) fn address(&self, buffer: usize) -> u64 {
        self.allocation(buffer).address
    }
}
