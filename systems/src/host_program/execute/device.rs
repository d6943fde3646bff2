//! Interface to the device on which the host executes a program: the emulator, or a real GPU.

use warpweave_ptx::{EmulationError, KernelArgument, Texture};
use warpweave_trace::{Attribute, Place};

use crate::host_program::modules::ProgramModule;

/// Memory on a device: that of a buffer, or of a variable of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAllocation {
    /// Number of the allocation on its device, from 0 in allocation order.
    pub number: usize,
    /// Address of the first byte in device memory.
    pub address: u64,
    /// Size of the memory in bytes.
    pub bytes: u64,
}

/// Kernel launch whose shape and arguments are evaluated.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLaunch<'l> {
    /// Index of the kernel's module in the program.
    pub module_number: usize,
    pub module: &'l ProgramModule,
    /// Name of the kernel in its module.
    pub kernel: &'l str,
    /// Number of work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Threads per work-group along x, y, z.
    pub block: [u32; 3],
    /// Bytes of local memory in addition to the kernel's static declaration.
    pub dynamic_local_bytes: u32,
    /// Stream of the launch; launches of one stream run in order.
    pub stream: u32,
    /// True if all work-groups must be resident at once.
    pub cooperative: bool,
    /// Placement of work-groups that ask where they run, if the launch declares one.
    pub place: Option<Place>,
    /// Values by name for policies of a simulated machine. A GPU ignores them.
    pub attributes: &'l [Attribute],
    /// Arguments, one for each kernel parameter.
    pub arguments: &'l [KernelArgument],
}

/// Reason why a device did not do what the host asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The emulation of a launch failed.
    #[error(transparent)]
    Emulation(#[from] Box<EmulationError>),
    /// A module refers to a variable that no earlier module defines.
    #[error("{file} declares variable `{variable}`, which no earlier module defines")]
    Undefined {
        file: String,
        /// Name of the variable that is not defined.
        variable: String,
    },
    /// The device refused, for the reason in the text. A hint may follow on a line of its own.
    #[error("{0}")]
    Refused(String),
}

/// Device that does what the host of a program asks for, in order.
pub trait Device {
    /// Allocates zeroed memory for the buffer with this name.
    ///
    /// # Errors
    /// Returns the reason why the device has no such memory.
    fn allocate(&mut self, name: &str, bytes: u64) -> Result<DeviceAllocation, DeviceError>;

    /// Loads all modules of the program, and initialises their variables. Called once, before the
    /// first launch and the first use of a variable.
    ///
    /// # Errors
    /// Returns the reason why a module cannot be loaded.
    fn load(&mut self, modules: &[ProgramModule]) -> Result<(), DeviceError>;

    /// Returns the memory of a variable that the module with this number defines.
    ///
    /// # Errors
    /// Returns an error if the device does not know the variable.
    fn variable(&mut self, module: usize, name: &str) -> Result<DeviceAllocation, DeviceError>;

    /// Copies bytes from the host into an allocation, from byte `offset` on, after all earlier
    /// launches.
    ///
    /// # Errors
    /// Returns the reason why the bytes could not be copied.
    fn write(&mut self, to: DeviceAllocation, offset: u64, bytes: &[u8])
    -> Result<(), DeviceError>;

    /// Copies bytes of an allocation to the host, from byte `offset` on, after all earlier
    /// launches.
    ///
    /// # Errors
    /// Returns the reason why the bytes could not be copied.
    fn read(
        &mut self,
        from: DeviceAllocation,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError>;

    /// Copies an allocation to another one of the same size, after all earlier launches.
    ///
    /// # Errors
    /// Returns the reason why the bytes could not be copied.
    fn copy(&mut self, from: DeviceAllocation, to: DeviceAllocation) -> Result<(), DeviceError> {
        let mut bytes = vec![0; from.bytes as usize];
        self.read(from, 0, &mut bytes)?;
        self.write(to, 0, &bytes)
    }

    /// Creates a texture over allocated memory and returns its handle, which kernels take as an
    /// argument. Devices refuse unless they override this.
    ///
    /// # Errors
    /// Returns the reason why the texture cannot be created.
    fn create_texture(&mut self, name: &str, _texture: Texture) -> Result<u64, DeviceError> {
        let message = format!("texture `{name}`: textures are not supported on this device");
        Err(DeviceError::Refused(message))
    }

    /// Binds a texture to a texture reference of the module with this number, until another is
    /// bound. Devices refuse unless they override this.
    ///
    /// # Errors
    /// Returns the reason why the texture cannot be bound.
    fn bind_texture(
        &mut self,
        _module: usize,
        reference: &str,
        _handle: u64,
    ) -> Result<(), DeviceError> {
        let message =
            format!("texture reference `{reference}`: textures are not supported on this device");
        Err(DeviceError::Refused(message))
    }

    /// Launches a kernel. Later actions of the host wait for it only where they need its results.
    ///
    /// # Errors
    /// Returns the reason why the kernel was not launched, or why it or an earlier one failed.
    fn launch(&mut self, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError>;

    /// Waits for all launches so far.
    ///
    /// # Errors
    /// Returns the reason why one of them failed.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// True if written bytes are discarded, so that the host need not determine them.
    fn discards_contents(&self) -> bool {
        false
    }
}
