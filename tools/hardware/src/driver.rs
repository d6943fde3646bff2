//! Interface to a GPU device that runs kernels.

/// Reasons that a device did not execute a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The CUDA driver library was not found.
    #[error(
        "no CUDA driver on this machine (libcuda was not found)\n\
         hint: run this on a machine with an NVIDIA GPU and its driver"
    )]
    NoDriver,
    /// The driver reports no CUDA device.
    #[error("the CUDA driver finds no GPU\nhint: `nvidia-smi` lists those of this machine")]
    NoDevice,
    /// A call to the driver failed.
    #[error("{call} failed: {reason}")]
    Call {
        /// Name of the driver call that failed.
        call: String,
        /// Error name and description from the driver.
        reason: String,
    },
}

/// Properties of the GPU on which a measurement was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Product name of the GPU, from the driver.
    pub name: String,
    /// Version of the driver interface, such as `12.2`.
    pub driver: String,
    /// Compute capability of the GPU, such as `9.0`.
    pub capability: String,
    /// Number of compute units on the GPU.
    pub units: u32,
    /// Clock of the compute units as stated by the driver, kHz. The actual clock varies.
    pub unit_clock_khz: u32,
    /// Clock of the memory as stated by the driver, kHz.
    pub memory_clock_khz: u32,
    /// Capacity of the L2 cache, bytes.
    pub l2_bytes: u32,
}

/// Device with its loaded modules, buffers and kernels.
pub trait Driver {
    /// Returns the properties of the device.
    fn device(&self) -> &Device;

    /// Loads the PTX of one more module. Modules are numbered in load order.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn load(&mut self, ptx: &str) -> Result<(), DriverError>;

    /// Returns the address and size in bytes of a variable in the module with this number.
    ///
    /// # Errors
    /// Returns the driver's error. Only `.visible` variables are known to the driver.
    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError>;

    /// Allocates zeroed device memory and returns its address.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError>;

    /// Copies bytes from the host to the device.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError>;

    /// Copies bytes from the device to the host.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError>;

    /// Launches a kernel and waits for its end. Returns its duration in nanoseconds, measured with
    /// device events.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn launch(&mut self, launch: &Launch) -> Result<f64, DriverError>;
}

/// Kernel launch in the form that a driver accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of the module that contains the kernel.
    pub module: usize,
    /// Name of the kernel within its module.
    pub kernel: String,
    /// Number of work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Number of threads in a work-group along x, y, z.
    pub block: [u32; 3],
    /// Local memory in addition to the kernel's static amount, bytes.
    pub dynamic_local_bytes: u32,
    /// Bytes of each kernel parameter, in order.
    pub arguments: Vec<Vec<u8>>,
}
