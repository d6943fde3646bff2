//! Device actions of the host, for a listener that repeats them on another device.

use warpweave_ptx::{KernelArgument, Texture};

/// Device action of the host, in program order. Addresses are those of the emulated device.
#[derive(Clone, Debug, PartialEq)]
pub enum DeviceAction {
    /// Allocates device memory for a buffer.
    Allocate {
        /// Name of the buffer in the program.
        name: String,
        /// Address of the allocation's first byte.
        address: u64,
        /// Size of the allocation in bytes.
        bytes: u64,
    },
    /// Announces a variable of a module that has memory from now on.
    Variable {
        /// Index of its module in the program.
        module: usize,
        /// Name of the variable in its module.
        name: String,
        /// Address of the variable's first byte.
        address: u64,
        /// Size of the variable in bytes.
        bytes: u64,
    },
    /// Copies bytes from the host to the device.
    Write {
        /// Address of the first byte on the device.
        address: u64,
        /// Bytes that are copied, in order.
        bytes: Vec<u8>,
        /// Byte offsets of device addresses within the copied bytes, eight bytes each.
        pointers: Vec<u64>,
    },
    /// Announces a texture that later launches may read.
    Texture {
        /// Name of the texture in the program.
        name: String,
        /// Handle that kernels receive as the texture object.
        handle: u64,
        /// Address, layout and sampling of the texture.
        texture: Texture,
    },
    /// Launches a kernel. Later actions wait for it.
    Launch {
        /// Index of its module in the program.
        module: usize,
        /// Name of the kernel in its module.
        kernel: String,
        /// Number of work-groups along x, y, z.
        grid: [u32; 3],
        /// Threads per work-group along x, y, z.
        block: [u32; 3],
        /// Bytes of local memory in addition to the kernel's static declaration.
        dynamic_local_bytes: u32,
        /// Arguments, one for each kernel parameter.
        arguments: Vec<KernelArgument>,
    },
    /// Copies bytes from the device to the host.
    Read {
        /// Address of the first byte on the device.
        address: u64,
        /// Contents of that memory on the emulated device.
        bytes: Vec<u8>,
        /// Byte offsets of device addresses within the copied bytes, eight bytes each.
        pointers: Vec<u64>,
    },
}

/// Callback for every action, called after the emulated device has done it.
pub type Listener<'l> = &'l mut dyn FnMut(DeviceAction);
