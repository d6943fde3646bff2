//! What a device can be asked for.

/// Why a device did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The driver's library is not there.
    #[error(
        "no CUDA driver on this machine (libcuda was not found)\n\
         hint: run this on a machine with an NVIDIA GPU and its driver"
    )]
    NoDriver,
    /// The driver knows no device.
    #[error("the CUDA driver finds no GPU\nhint: `nvidia-smi` lists those of this machine")]
    NoDevice,
    /// A call of the driver failed.
    #[error("{call} failed: {reason}")]
    Call {
        /// What was asked for.
        call: String,
        /// The driver's name of the error and what it says of it.
        reason: String,
    },
}

/// What a measurement stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The GPU's name.
    pub name: String,
    /// Version of the driver's interface, such as `12.2`.
    pub driver: String,
    /// Compute capability, such as `9.0`.
    pub capability: String,
    /// Compute units.
    pub units: u32,
    /// Clock of the compute units as the driver states it, kHz. The clock at any time may be another one.
    pub unit_clock_khz: u32,
    /// Clock of the memory as the driver states it, kHz.
    pub memory_clock_khz: u32,
    /// L2, bytes.
    pub l2_bytes: u32,
}

/// A device with its modules.
pub trait Driver {
    /// What it is.
    fn device(&self) -> &Device;

    /// Takes the PTX of one more module, whose number is that of the modules before it.
    ///
    /// # Errors
    /// As the driver says.
    fn load(&mut self, ptx: &str) -> Result<(), DriverError>;

    /// Address and bytes of a variable of a module, by the module's number.
    ///
    /// # Errors
    /// As the driver says: it knows those that are `.visible`.
    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError>;

    /// Reserves device memory; the bytes are zero. Returns its address.
    ///
    /// # Errors
    /// As the driver says.
    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError>;

    /// Copies to the device.
    ///
    /// # Errors
    /// As the driver says.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError>;

    /// Copies from the device.
    ///
    /// # Errors
    /// As the driver says.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError>;

    /// Launches a kernel, waits for its end, and says how long it took, in nanoseconds as the
    /// device's events measure it.
    ///
    /// # Errors
    /// As the driver says.
    fn launch(&mut self, launch: &Launch) -> Result<f64, DriverError>;
}

/// A launch as a driver takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Number of the module.
    pub module: usize,
    /// Name of the kernel.
    pub kernel: String,
    /// Work-groups along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a work-group along x, y, z.
    pub block: [u32; 3],
    /// Local memory on top of what the kernel states, bytes.
    pub dynamic_local_bytes: u32,
    /// The bytes of each parameter.
    pub arguments: Vec<Vec<u8>>,
}
