//! Buffers of a host program on the emulated device.

use std::collections::BTreeMap;

use warpweave_files::Ledger;

/// Addresses of buffers, and their contents as the host last copied them.
pub(in crate::host_program) struct DeviceBuffers {
    /// Charge for the copies of all buffers, released with them.
    _charge: Ledger,
    /// Index of the allocation each buffer points to.
    pub(super) pointers: Vec<usize>,
    /// Device address of each allocation made for a buffer.
    pub(super) bases: Vec<u64>,
    /// Contents last copied back to the host, by buffer.
    pub(super) images: BTreeMap<usize, Vec<u32>>,
}

impl DeviceBuffers {
    /// Creates buffers that point to the allocations at `bases`, in order.
    pub(super) fn new(charge: Ledger, bases: Vec<u64>) -> Self {
        Self {
            _charge: charge,
            pointers: (0..bases.len()).collect(),
            bases,
            images: BTreeMap::new(),
        }
    }

    /// Returns the device address that a buffer points to.
    pub(super) fn address(&self, buffer: usize) -> u64 {
        self.bases[self.pointers[buffer]]
    }
}
