//! Interface to a GPU device that runs kernels.

/// Reason that a device did not execute a request.
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
pub struct Properties {
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
    /// Address of the GPU on the bus, by which other libraries find it, such as `00000000:00:06.0`.
    pub bus: String,
}

/// Event in the order of a device's work: it happens when all earlier work is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(pub usize);

/// Device with its loaded modules, buffers and kernels.
///
/// Copies within the device, launches and marks are queued, and done in order. Only
/// [`read`](Self::read), [`between`](Self::between) and [`wait`](Self::wait) wait for them.
pub trait Driver {
    /// Returns the properties of the device.
    fn properties(&self) -> &Properties;

    /// Loads the PTX of one more module, and returns its number.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn load(&mut self, ptx: &str) -> Result<usize, DriverError>;

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

    /// Copies bytes from the device to the host, after all earlier work.
    ///
    /// # Errors
    /// Returns the error reported by the driver for this or for earlier work.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError>;

    /// Copies bytes within the device.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), DriverError>;

    /// Launches a kernel.
    ///
    /// # Errors
    /// Returns the error reported by the driver. A kernel that fails later fails the next call that
    /// waits.
    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError>;

    /// Marks the end of the work so far.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    fn mark(&mut self) -> Result<Mark, DriverError>;

    /// Returns the time from one mark to a later one in nanoseconds, after waiting for the later
    /// one.
    ///
    /// # Errors
    /// Returns the error reported by the driver for this or for earlier work.
    fn between(&mut self, from: Mark, to: Mark) -> Result<f64, DriverError>;

    /// Makes all marks invalid, so that new ones reuse their events.
    fn forget_marks(&mut self);

    /// Waits for all work so far.
    ///
    /// # Errors
    /// Returns the error reported by the driver for earlier work.
    fn wait(&mut self) -> Result<(), DriverError>;

    /// Frees all memory, modules and marks, after all earlier work.
    fn release(&mut self);
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
    /// True if all work-groups must be resident at once.
    pub cooperative: bool,
    /// Bytes of each kernel parameter, in order.
    pub arguments: Vec<Vec<u8>>,
}
