//! Carries out the actions of a program's host on a driver's device.

use std::cell::RefCell;

use warpweave_systems::host_program::{
    Device, DeviceAllocation, DeviceError, DeviceLaunch, ProgramModule,
};

use crate::driver::{Driver, DriverError, Launch, Mark};

/// Completed kernel launch with its duration.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedLaunch {
    /// Launch as given to the driver.
    pub launch: Launch,
    /// Duration of the launch in nanoseconds, from device events.
    pub nanoseconds: f64,
}

/// One program's use of a device. All its memory and modules are released with this value.
///
/// A shared reference to it is the device of a run, so that the owner can set marks between the
/// stages of the run.
pub struct Session<'d> {
    inner: RefCell<Inner<'d>>,
}

struct Inner<'d> {
    driver: &'d mut dyn Driver,
    /// Number that the driver gave to each of the program's modules.
    modules: Vec<usize>,
    /// Number of allocations and variables so far.
    allocations: usize,
    /// Launches with the marks around them, if each is timed.
    timed: Option<Vec<(Launch, Mark, Mark)>>,
}

impl From<DriverError> for DeviceError {
    fn from(error: DriverError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl<'d> Session<'d> {
    /// Starts a session on a device that holds nothing.
    pub fn new(driver: &'d mut dyn Driver) -> Self {
        Self {
            inner: RefCell::new(Inner {
                driver,
                modules: Vec::new(),
                allocations: 0,
                timed: None,
            }),
        }
    }

    /// Starts to put marks around every launch.
    pub fn time_launches(&self) {
        self.inner.borrow_mut().timed = Some(Vec::new());
    }

    /// Returns the launches since [`time_launches`](Self::time_launches) with their durations.
    /// Waits for them, and stops putting marks around launches.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    pub fn timed_launches(&self) -> Result<Vec<TimedLaunch>, DriverError> {
        let mut inner = self.inner.borrow_mut();
        let timed = inner.timed.take().unwrap_or_default();
        let of_marks = |(launch, from, to)| {
            let nanoseconds = inner.driver.between(from, to)?;
            Ok(TimedLaunch {
                launch,
                nanoseconds,
            })
        };
        timed.into_iter().map(of_marks).collect()
    }

    /// Marks the end of the work so far.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    pub fn mark(&self) -> Result<Mark, DriverError> {
        self.inner.borrow_mut().driver.mark()
    }

    /// Returns the nanoseconds between two marks, after waiting for the later one.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    pub fn between(&self, from: Mark, to: Mark) -> Result<f64, DriverError> {
        self.inner.borrow_mut().driver.between(from, to)
    }

    /// Makes all marks invalid, so that new ones reuse their events.
    pub fn forget_marks(&self) {
        self.inner.borrow_mut().driver.forget_marks();
    }

    /// Waits for all work so far.
    ///
    /// # Errors
    /// Returns the error reported by the driver.
    pub fn wait(&self) -> Result<(), DriverError> {
        self.inner.borrow_mut().driver.wait()
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.inner.get_mut().driver.release();
    }
}

impl Inner<'_> {
    /// Numbers the memory at an address.
    fn allocation(&mut self, address: u64, bytes: u64) -> DeviceAllocation {
        let number = self.allocations;
        self.allocations += 1;
        DeviceAllocation {
            number,
            address,
            bytes,
        }
    }

    fn load(&mut self, module: &ProgramModule) -> Result<(), DeviceError> {
        let parsed = module.module();
        if let Some(variable) = parsed.undefined_variables().next() {
            let message = format!(
                "module `{}` declares the variable `{variable}` of another module: modules are loaded separately on this device and are not linked\nhint: merge both into one module",
                parsed.file()
            );
            return Err(DeviceError::Refused(message));
        }
        let number = self.driver.load(module.text())?;
        self.modules.push(number);
        Ok(())
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<DeviceAllocation, DeviceError> {
        let number = self.modules.get(module).copied().unwrap_or(usize::MAX);
        let (address, bytes) = self.driver.variable(number, name)?;
        Ok(self.allocation(address, bytes))
    }

    fn launch(&mut self, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let module = launch.module_number;
        let kernel = launch.module.module().kernel(launch.kernel);
        let kernel = kernel.map_err(|error| DeviceError::Refused(error.to_string()))?;
        let pairs = launch.arguments.iter().zip(kernel.parameters());
        let arguments = pairs.map(|(argument, parameter)| argument.bytes(parameter.bytes));
        let queued = Launch {
            module: self.modules.get(module).copied().unwrap_or(usize::MAX),
            kernel: launch.kernel.to_owned(),
            grid: launch.grid,
            block: launch.block,
            dynamic_local_bytes: launch.dynamic_local_bytes,
            cooperative: launch.cooperative,
            arguments: arguments.collect(),
        };
        let Some(timed) = &mut self.timed else {
            return Ok(self.driver.launch(&queued)?);
        };
        let from = self.driver.mark()?;
        self.driver.launch(&queued)?;
        let to = self.driver.mark()?;
        timed.push((queued, from, to));
        Ok(())
    }
}

impl Device for &Session<'_> {
    fn allocate(&mut self, _name: &str, bytes: u64) -> Result<DeviceAllocation, DeviceError> {
        let mut inner = self.inner.borrow_mut();
        let address = inner.driver.allocate(bytes)?;
        Ok(inner.allocation(address, bytes))
    }

    fn load(&mut self, modules: &[ProgramModule]) -> Result<(), DeviceError> {
        let mut inner = self.inner.borrow_mut();
        modules.iter().try_for_each(|module| inner.load(module))
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<DeviceAllocation, DeviceError> {
        self.inner.borrow_mut().variable(module, name)
    }

    fn write(
        &mut self,
        to: DeviceAllocation,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        let driver = &mut self.inner.borrow_mut().driver;
        Ok(driver.write(to.address + offset, bytes)?)
    }

    fn read(
        &mut self,
        from: DeviceAllocation,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        let driver = &mut self.inner.borrow_mut().driver;
        Ok(driver.read(from.address + offset, bytes)?)
    }

    fn copy(&mut self, from: DeviceAllocation, to: DeviceAllocation) -> Result<(), DeviceError> {
        let driver = &mut self.inner.borrow_mut().driver;
        Ok(driver.copy(from.address, to.address, from.bytes)?)
    }

    fn launch(&mut self, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        self.inner.borrow_mut().launch(launch)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(self.inner.borrow_mut().driver.wait()?)
    }
}
