//! Resource demands of a program, where known before it runs.

use std::ops::Range;

use warpweave_framework::{Origin, Unfit};

/// Resource demands of a program; a resource of the environment. Compute units reject demands that
/// they cannot meet.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// Per-thread demands of the program's kernels.
    pub kernels: Vec<KernelDemand>,
    /// Locations of the program's data in global memory.
    pub buffers: Vec<BufferDemand>,
}

/// Resources that one thread of a kernel needs.
#[derive(Clone, Debug)]
pub struct KernelDemand {
    /// Name of the kernel in the program.
    pub name: String,
    /// Bytes of private (PTX `.local`) memory per thread.
    pub private_bytes: u32,
    /// Location in the source where the kernel is launched.
    pub origin: Option<Origin>,
}

/// Buffer of the program in global memory.
#[derive(Clone, Debug)]
pub struct BufferDemand {
    /// Name of the buffer in the program.
    pub name: String,
    /// Address of the buffer's first byte in global memory.
    pub base: u64,
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Location in the source where the buffer is described.
    pub origin: Option<Origin>,
}

impl Demands {
    /// Fails if a unit that offers `offered` bytes of private memory per thread, at the addresses
    /// `private`, cannot meet the demands.
    pub(crate) fn fit(&self, offered: u32, private: &Range<u64>) -> Result<(), Unfit> {
        let neediest = self
            .kernels
            .iter()
            .max_by_key(|kernel| kernel.private_bytes);
        if let Some(kernel) = neediest
            && kernel.private_bytes > offered
        {
            let (name, needed) = (&kernel.name, kernel.private_bytes);
            let message = format!(
                "{offered} bytes, but a thread of kernel `{name}` needs {needed}; raise it to that value, rounded up to a multiple of 4"
            );
            return Err(Unfit::at("private_memory.bytes_per_thread", message)
                .beside_origin(format!("`{name}` is launched here"), kernel.origin));
        }
        let overlaps = |buffer: &&BufferDemand| {
            buffer.base < private.end && private.start < buffer.base.saturating_add(buffer.bytes)
        };
        if let Some(buffer) = self.buffers.iter().find(overlaps) {
            let message = format!(
                "private memory of the unit, {:#x} to {:#x}, overlaps buffer `{}` at {:#x} in global memory",
                private.start, private.end, buffer.name, buffer.base
            );
            let there = format!("`{}` has {} bytes", buffer.name, buffer.bytes);
            return Err(
                Unfit::at("private_memory.base", message).beside_origin(there, buffer.origin)
            );
        }
        Ok(())
    }
}
