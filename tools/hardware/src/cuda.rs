//! GPU accessed through the CUDA driver, which is loaded at run time.
#![expect(unsafe_code, reason = "calls into the driver's library")]

use std::ffi::{CString, c_int, c_void};

use cudarc::driver::{DriverError as Failure, result, sys};

use crate::driver::{Device, Driver, DriverError, Launch};

/// First CUDA GPU of this machine.
pub struct Cuda {
    device: Device,
    ordinal: sys::CUdevice,
    modules: Vec<sys::CUmodule>,
    allocations: Vec<sys::CUdeviceptr>,
    start: sys::CUevent,
    end: sys::CUevent,
}

/// Adds the name of the call to its error.
trait Named<T> {
    fn named(self, call: &str) -> Result<T, DriverError>;
}

impl<T> Named<T> for Result<T, Failure> {
    fn named(self, call: &str) -> Result<T, DriverError> {
        self.map_err(|error| {
            let name = error
                .error_name()
                .map(|name| name.to_string_lossy().into_owned());
            let text = error
                .error_string()
                .map(|text| text.to_string_lossy().into_owned());
            DriverError::Call {
                call: call.to_owned(),
                reason: match (name, text) {
                    (Ok(name), Ok(text)) => format!("{name}, {text}"),
                    _ => format!("error {}", error.0 as u32),
                },
            }
        })
    }
}

impl Cuda {
    /// Opens the first GPU.
    ///
    /// # Errors
    /// Returns [`DriverError::NoDriver`], [`DriverError::NoDevice`], or the error of a failed call.
    pub fn open() -> Result<Self, DriverError> {
        // SAFETY: looks for the library and loads it; initialisers of the driver's library have no
        // requirements of their own.
        if !unsafe { sys::is_culib_present() } {
            return Err(DriverError::NoDriver);
        }
        result::init().named("cuInit")?;
        if result::device::get_count().named("cuDeviceGetCount")? == 0 {
            return Err(DriverError::NoDevice);
        }
        let ordinal = result::device::get(0).named("cuDeviceGet")?;
        // SAFETY: the device was just named by the driver. Its primary context stays retained until
        // this value is dropped.
        unsafe {
            let context = result::primary_ctx::retain(ordinal).named("cuDevicePrimaryCtxRetain")?;
            result::ctx::set_current(context).named("cuCtxSetCurrent")?;
        }
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        Ok(Self {
            device: describe(ordinal)?,
            ordinal,
            modules: Vec::new(),
            allocations: Vec::new(),
            start: result::event::create(flags).named("cuEventCreate")?,
            end: result::event::create(flags).named("cuEventCreate")?,
        })
    }
}

fn describe(ordinal: sys::CUdevice) -> Result<Device, DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let attribute = |which: Attribute| {
        // SAFETY: the device is one that the driver named.
        let value = unsafe { result::device::get_attribute(ordinal, which) };
        value
            .named("cuDeviceGetAttribute")
            .map(|value| value as u32)
    };
    let mut version: c_int = 0;
    // SAFETY: the driver writes one number.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }
        .result()
        .named("cuDriverGetVersion")?;
    let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Device {
        name: result::device::get_name(ordinal).named("cuDeviceGetName")?,
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
        capability: format!("{major}.{minor}"),
        units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        unit_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
    })
}

impl Driver for Cuda {
    fn device(&self) -> &Device {
        &self.device
    }

    fn load(&mut self, ptx: &str) -> Result<(), DriverError> {
        let text = CString::new(ptx).map_err(|_| DriverError::Call {
            call: "cuModuleLoadData".to_owned(),
            reason: "the PTX contains a NUL byte".to_owned(),
        })?;
        // SAFETY: the text ends with a zero and lives until the call returns.
        let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
        self.modules.push(module.named("cuModuleLoadData")?);
        Ok(())
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError> {
        let call = format!("cuModuleGetGlobal of `{name}`");
        let failed = |reason: &str| DriverError::Call {
            call: call.clone(),
            reason: reason.to_owned(),
        };
        let module = self.modules.get(module);
        let module = *module.ok_or_else(|| failed("its module is not loaded"))?;
        let name = CString::new(name).map_err(|_| failed("the name contains a NUL byte"))?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a zero, and the driver writes two
        // numbers.
        unsafe {
            sys::cuModuleGetGlobal_v2(&raw mut address, &raw mut bytes, module, name.as_ptr())
        }
        .result()
        .named(&call)?;
        Ok((address, bytes as u64))
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError> {
        // The driver refuses to allocate nothing.
        let bytes = bytes.max(1) as usize;
        // SAFETY: the memory is freed once, when this value is dropped.
        let address = unsafe { result::malloc_sync(bytes) }.named("cuMemAlloc")?;
        self.allocations.push(address);
        // SAFETY: the range was just allocated.
        unsafe { result::memset_d8_sync(address, 0, bytes) }.named("cuMemsetD8")?;
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the driver checks the range on the device; `bytes` outlives the synchronous copy.
        unsafe { result::memcpy_htod_sync(address, bytes) }.named("cuMemcpyHtoD")
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        // SAFETY: as for `write`.
        unsafe { result::memcpy_dtoh_sync(bytes, address) }.named("cuMemcpyDtoH")
    }

    fn launch(&mut self, launch: &Launch) -> Result<f64, DriverError> {
        let missing = || DriverError::Call {
            call: format!("the launch of `{}`", launch.kernel),
            reason: "its module is not loaded".to_owned(),
        };
        let module = *self.modules.get(launch.module).ok_or_else(missing)?;
        let name = CString::new(launch.kernel.as_str()).map_err(|_| missing())?;
        let mut arguments = launch.arguments.clone();
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(arguments.len());
        for argument in &mut arguments {
            pointers.push(argument.as_mut_ptr().cast());
        }
        let (grid, block) = (launch.grid, launch.block);
        let stream = result::stream::null();
        // SAFETY: the module is loaded. Each parameter has a pointer to as many bytes as the module
        // declares, which live until the event after the launch completes. The kernel's use of its
        // pointers is as safe as the program, which runs on the device alone.
        unsafe {
            let function = result::module::get_function(module, name);
            let function =
                function.named(&format!("cuModuleGetFunction of `{}`", launch.kernel))?;
            if launch.dynamic_local_bytes > PLAIN_LOCAL_BYTES {
                let most =
                    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                let bytes = launch.dynamic_local_bytes as i32;
                result::function::set_function_attribute(function, most, bytes)
                    .named("cuFuncSetAttribute")?;
            }
            result::event::record(self.start, stream).named("cuEventRecord")?;
            result::launch_kernel(
                function,
                (grid[0], grid[1], grid[2]),
                (block[0], block[1], block[2]),
                launch.dynamic_local_bytes,
                stream,
                &mut pointers,
            )
            .named(&format!("cuLaunchKernel of `{}`", launch.kernel))?;
            result::event::record(self.end, stream).named("cuEventRecord")?;
            let ran = result::event::synchronize(self.end);
            ran.named(&format!("`{}`", launch.kernel))?;
            let milliseconds = result::event::elapsed(self.start, self.end);
            Ok(f64::from(milliseconds.named("cuEventElapsedTime")?) * 1e6)
        }
    }
}

/// Maximum dynamic local memory without opt-in (CUDA C++ Programming Guide, compute capability 7.0
/// and up).
const PLAIN_LOCAL_BYTES: u32 = 48 << 10;

impl Drop for Cuda {
    fn drop(&mut self) {
        // SAFETY: each was created by this value, and nothing is running. A failure at the end does
        // not affect the measurements.
        unsafe {
            for address in self.allocations.drain(..) {
                let _ = result::free_sync(address);
            }
            for module in self.modules.drain(..) {
                let _ = result::module::unload(module);
            }
            let _ = result::event::destroy(self.start);
            let _ = result::event::destroy(self.end);
            let _ = result::primary_ctx::release(self.ordinal);
        }
    }
}
