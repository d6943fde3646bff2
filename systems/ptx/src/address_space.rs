//! Generic address space of PTX: one range of addresses for each kind of memory.
//!
//! ```text
//! 0x0080_0000  addresses of functions (data only, never accessed)
//! 0x00c0_0000  handles of textures (never accessed)
//! 0x0100_0000  shared window, 16 MiB: offset into the work-group's memory
//! 0x0200_0000  local window, 16 MiB: offset into the thread's private memory
//! 0x0300_0000  window of arguments, 1 MiB: offset into those of the kernel
//! 0x1000_0000  device memory: allocations, 256-byte aligned, with a gap after each
//! ```

use std::ops::Range;

/// Base of function addresses as data: distinct, and outside every memory window.
const FUNCTION_ADDRESS_BASE: u64 = 0x0080_0000;
/// Distance in bytes between the addresses of two functions.
const FUNCTION_ADDRESS_STEP: u64 = 16;

/// Returns the address of a function as data, from its index in the module.
pub(crate) fn function_address(function: usize) -> u64 {
    FUNCTION_ADDRESS_BASE + FUNCTION_ADDRESS_STEP * function as u64
}

/// Range of numbers used as texture handles.
pub(crate) const TEXTURE_HANDLES: Range<u64> = 0x00c0_0000..0x0100_0000;
/// Generic address window of the local memory of a work-group.
pub(crate) const SHARED_WINDOW: Range<u64> = 0x0100_0000..0x0200_0000;
/// Generic address window of the private memory of a thread.
pub(crate) const LOCAL_WINDOW: Range<u64> = 0x0200_0000..0x0300_0000;
/// Generic address window of the kernel's arguments.
pub(crate) const PARAM_WINDOW: Range<u64> = 0x0300_0000..0x0310_0000;
/// Address of the first allocation in device memory.
pub const DEVICE_BASE: u64 = 0x1000_0000;
