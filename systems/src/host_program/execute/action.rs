//! What the host asked of its device, for whoever asks another device for the same.

use warpweave_ptx::{KernelArgument, Texture};

/// Something that the host asked of its device, in the order of the program. Addresses are those of the
/// emulated device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceAction {
    /// Device memory for a buffer.
    Allocate {
        /// Name of the buffer.
        name: String,
        /// Its first address.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// A variable of a module, which has memory from now on.
    Variable {
        /// Number of its module among those of the program.
        module: usize,
        /// Name of the variable.
        name: String,
        /// Its first address.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// A copy from the host.
    Write {
        /// First address on the device.
        address: u64,
        /// What is copied.
        bytes: Vec<u8>,
        /// Where in it there are device addresses, of eight bytes each.
        pointers: Vec<u64>,
    },
    /// A texture that launches from now on may read.
    Texture {
        /// Name of the texture.
        name: String,
        /// What kernels get as an object.
        handle: u64,
        /// Where it lies and how it reads.
        texture: Texture,
    },
    /// A launch. What follows waits for it.
    Launch {
        /// Number of its module among those of the program.
        module: usize,
        /// Name of the kernel.
        kernel: String,
        /// Work-groups along x, y, z.
        grid: [u32; 3],
        /// Threads of a work-group along x, y, z.
        block: [u32; 3],
        /// Local memory on top of what the kernel states, bytes.
        dynamic_local_bytes: u32,
        /// One for each parameter.
        arguments: Vec<KernelArgument>,
    },
    /// A copy to the host.
    Read {
        /// First address on the device.
        address: u64,
        /// What the emulated device had there.
        bytes: Vec<u8>,
        /// Where in it there are device addresses, of eight bytes each.
        pointers: Vec<u64>,
    },
}

/// Hears of every action, after the emulated device has done it.
pub type Listener<'l> = &'l mut dyn FnMut(DeviceAction);
