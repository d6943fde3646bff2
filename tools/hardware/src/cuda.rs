//! GPU accessed through the CUDA driver, which is loaded at run time.
#![expect(unsafe_code, reason = "calls into the driver's library")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use cudarc::driver::{DriverError as Failure, result, sys};

use crate::device_library;
use crate::driver::{Driver, DriverError, Launch, Mark, Properties};

/// First CUDA GPU of this machine.
pub struct Cuda {
    properties: Properties,
    ordinal: sys::CUdevice,
    modules: Vec<Loaded>,
    allocations: Vec<sys::CUdeviceptr>,
    events: Vec<sys::CUevent>,
    /// Number of events that are marks.
    marks: usize,
    staging: Staging,
    /// Library for modules that launch kernels, if it is at hand.
    device_library: Option<PathBuf>,
}

/// Module with the kernels that were launched from it.
struct Loaded {
    module: sys::CUmodule,
    kernels: BTreeMap<String, sys::CUfunction>,
}

/// Pinned memory of the host, through which small copies are queued like launches.
struct Staging {
    memory: *mut u8,
    /// Bytes that earlier writes may still need.
    used: usize,
}

/// Size of the pinned memory in bytes.
const STAGING_BYTES: usize = 64 << 10;

/// Size up to which a copy passes through pinned memory, in bytes: flags and numbers do.
const STAGED_MOST: usize = 4 << 10;

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
    /// Opens the first GPU. Modules that launch kernels are linked with `device_library`, or else
    /// with that of an installed CUDA.
    ///
    /// # Errors
    /// Returns [`DriverError::NoDriver`], [`DriverError::NoDevice`], or the error of a failed call.
    pub fn open(device_library: Option<&Path>) -> Result<Self, DriverError> {
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
        // SAFETY: the memory is freed once, when this value is dropped.
        let memory = unsafe { result::malloc_host(STAGING_BYTES, 0) };
        Ok(Self {
            properties: describe(ordinal)?,
            ordinal,
            modules: Vec::new(),
            allocations: Vec::new(),
            events: Vec::new(),
            marks: 0,
            staging: Staging {
                memory: memory.named("cuMemHostAlloc")?.cast(),
                used: 0,
            },
            device_library: device_library::find(device_library),
        })
    }

    /// Links a module that launches kernels with the library that defines how, and loads it.
    fn link(&self, ptx: &str) -> Result<sys::CUmodule, DriverError> {
        let refused = |reason: &str| DriverError::Call {
            call: "linking of a module that launches kernels".to_owned(),
            reason: reason.to_owned(),
        };
        let library = self.device_library.as_ref().ok_or_else(|| {
            refused("no library of the CUDA runtime for the device is at hand\nhint: name `libcudadevrt.a` of CUDA 12 or later with --device-library")
        })?;
        let library = CString::new(library.display().to_string())
            .map_err(|_| refused("the name of the library contains a NUL byte"))?;
        let text = CString::new(ptx).map_err(|_| refused("the PTX contains a NUL byte"))?;
        let text = text.as_bytes_with_nul();
        let none = std::ptr::null_mut();
        let mut state: sys::CUlinkState = std::ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { sys::cuLinkCreate_v2(0, none, none.cast(), &raw mut state) }
            .result()
            .named("cuLinkCreate")?;
        // SAFETY: text and name live until the state is destroyed, after the image was loaded. The
        // driver only reads the text.
        unsafe {
            let linked = sys::cuLinkAddData_v2(
                state,
                sys::CUjitInputType::CU_JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.len(),
                c"module.ptx".as_ptr(),
                0,
                none,
                none.cast(),
            )
            .result()
            .named("cuLinkAddData")
            .and_then(|()| {
                sys::cuLinkAddFile_v2(
                    state,
                    sys::CUjitInputType::CU_JIT_INPUT_LIBRARY,
                    library.as_ptr(),
                    0,
                    none,
                    none.cast(),
                )
                .result()
                .named("cuLinkAddFile of the device library")
            })
            .and_then(|()| {
                let (mut image, mut bytes) = (std::ptr::null_mut(), 0);
                sys::cuLinkComplete(state, &raw mut image, &raw mut bytes)
                    .result()
                    .named("cuLinkComplete")?;
                result::module::load_data(image).named("cuModuleLoadData")
            });
            let _ = sys::cuLinkDestroy(state);
            linked
        }
    }

    /// Returns the function of a kernel, which is looked up once.
    fn function(&mut self, launch: &Launch) -> Result<sys::CUfunction, DriverError> {
        let missing = || DriverError::Call {
            call: format!("the launch of `{}`", launch.kernel),
            reason: "its module is not loaded".to_owned(),
        };
        let loaded = self.modules.get_mut(launch.module).ok_or_else(missing)?;
        if let Some(&function) = loaded.kernels.get(&launch.kernel) {
            return Ok(function);
        }
        let name = CString::new(launch.kernel.as_str()).map_err(|_| missing())?;
        // SAFETY: the module is loaded, and the name ends with a zero.
        let function = unsafe { result::module::get_function(loaded.module, name) };
        let function = function.named(&format!("cuModuleGetFunction of `{}`", launch.kernel))?;
        loaded.kernels.insert(launch.kernel.clone(), function);
        Ok(function)
    }
}

/// Returns the address of a device on the bus.
fn bus(ordinal: sys::CUdevice) -> Result<String, DriverError> {
    let mut text: [c_char; 32] = [0; 32];
    // SAFETY: the driver writes at most 32 bytes, and ends them with a zero.
    let text = unsafe {
        sys::cuDeviceGetPCIBusId(text.as_mut_ptr(), 32, ordinal)
            .result()
            .named("cuDeviceGetPCIBusId")?;
        CStr::from_ptr(text.as_ptr())
    };
    Ok(text.to_string_lossy().into_owned())
}

fn describe(ordinal: sys::CUdevice) -> Result<Properties, DriverError> {
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
    Ok(Properties {
        name: result::device::get_name(ordinal).named("cuDeviceGetName")?,
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
        capability: format!("{major}.{minor}"),
        units: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        unit_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?,
        bus: bus(ordinal)?,
    })
}

impl Driver for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn load(&mut self, ptx: &str) -> Result<usize, DriverError> {
        let module = if let Some(text) = device_library::to_be_linked(ptx) {
            self.link(&text)?
        } else {
            let text = CString::new(ptx).map_err(|_| DriverError::Call {
                call: "cuModuleLoadData".to_owned(),
                reason: "the PTX contains a NUL byte".to_owned(),
            })?;
            // SAFETY: the text ends with a zero and lives until the call returns.
            let module = unsafe { result::module::load_data(text.as_ptr().cast()) };
            module.named("cuModuleLoadData")?
        };
        self.modules.push(Loaded {
            module,
            kernels: BTreeMap::new(),
        });
        Ok(self.modules.len() - 1)
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<(u64, u64), DriverError> {
        let call = format!("cuModuleGetGlobal of `{name}`");
        let failed = |reason: &str| DriverError::Call {
            call: call.clone(),
            reason: reason.to_owned(),
        };
        let module = self.modules.get(module);
        let module = module.ok_or_else(|| failed("its module is not loaded"))?;
        let name = CString::new(name).map_err(|_| failed("the name contains a NUL byte"))?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: the module is loaded, the name ends with a zero, and the driver writes two
        // numbers.
        unsafe {
            sys::cuModuleGetGlobal_v2(
                &raw mut address,
                &raw mut bytes,
                module.module,
                name.as_ptr(),
            )
        }
        .result()
        .named(&call)?;
        Ok((address, bytes as u64))
    }

    fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError> {
        // The driver refuses to allocate nothing.
        let bytes = bytes.max(1) as usize;
        // SAFETY: the memory is freed once, by `release`.
        let address = unsafe { result::malloc_sync(bytes) }.named("cuMemAlloc")?;
        self.allocations.push(address);
        // SAFETY: the range was just allocated.
        unsafe { result::memset_d8_sync(address, 0, bytes) }.named("cuMemsetD8")?;
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        if bytes.len() > STAGED_MOST {
            // SAFETY: the driver checks the range on the device; `bytes` outlives the synchronous
            // copy, which the null stream orders after earlier work.
            return unsafe { result::memcpy_htod_sync(address, bytes) }.named("cuMemcpyHtoD");
        }
        if self.staging.used + bytes.len() > STAGING_BYTES - STAGED_MOST {
            self.wait()?;
        }
        // SAFETY: the bytes fit behind those in use, and nothing else refers to them. They stay as
        // they are until `wait` or `read` has waited for this copy.
        unsafe {
            let staged = self.staging.memory.add(self.staging.used);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), staged, bytes.len());
            self.staging.used += bytes.len();
            let staged = std::slice::from_raw_parts(staged, bytes.len());
            result::memcpy_htod_async(address, staged, result::stream::null())
        }
        .named("cuMemcpyHtoDAsync")
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), DriverError> {
        if bytes.len() > STAGED_MOST {
            // SAFETY: as for `write`.
            let copied = unsafe { result::memcpy_dtoh_sync(bytes, address) };
            return copied.named("cuMemcpyDtoH");
        }
        // SAFETY: the last bytes of the pinned memory are kept for this, and copied from only after
        // the driver has written them.
        let staged = unsafe {
            let staged = self.staging.memory.add(STAGING_BYTES - STAGED_MOST);
            std::slice::from_raw_parts_mut(staged, bytes.len())
        };
        // SAFETY: the pinned memory lives until this value is dropped.
        unsafe { result::memcpy_dtoh_async(staged, address, result::stream::null()) }
            .named("cuMemcpyDtoHAsync")?;
        self.wait()?;
        bytes.copy_from_slice(staged);
        Ok(())
    }

    fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        let stream = result::stream::null();
        // SAFETY: the driver checks both ranges.
        unsafe { result::memcpy_dtod_async(to, from, bytes as usize, stream) }
            .named("cuMemcpyDtoDAsync")
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), DriverError> {
        let function = self.function(launch)?;
        let mut arguments = launch.arguments.clone();
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(arguments.len());
        for argument in &mut arguments {
            pointers.push(argument.as_mut_ptr().cast());
        }
        let (grid, block) = (launch.grid.into(), launch.block.into());
        let (bytes, stream) = (launch.dynamic_local_bytes, result::stream::null());
        if bytes > PLAIN_LOCAL_BYTES {
            let most = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            // SAFETY: the function belongs to a module that is loaded.
            unsafe { result::function::set_function_attribute(function, most, bytes as i32) }
                .named("cuFuncSetAttribute")?;
        }
        // SAFETY: the function's module is loaded. Each parameter has a pointer to as many bytes as
        // the module declares, which the driver copies before it returns. The kernel's use of its
        // pointers is as safe as the program, which runs on the device alone.
        let launched = unsafe {
            if launch.cooperative {
                result::launch_cooperative_kernel(
                    function,
                    grid,
                    block,
                    bytes,
                    stream,
                    &mut pointers,
                )
            } else {
                result::launch_kernel(function, grid, block, bytes, stream, &mut pointers)
            }
        };
        launched.named(&format!("cuLaunchKernel of `{}`", launch.kernel))
    }

    fn mark(&mut self) -> Result<Mark, DriverError> {
        if self.marks == self.events.len() {
            let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
            self.events.push(event.named("cuEventCreate")?);
        }
        let mark = Mark(self.marks);
        self.marks += 1;
        // SAFETY: the event was created by this value and is not destroyed before.
        unsafe { result::event::record(self.events[mark.0], result::stream::null()) }
            .named("cuEventRecord")?;
        Ok(mark)
    }

    fn between(&mut self, from: Mark, to: Mark) -> Result<f64, DriverError> {
        let event = |mark: Mark| {
            let event = self.events.get(mark.0).filter(|_| mark.0 < self.marks);
            event.copied().ok_or_else(|| DriverError::Call {
                call: "cuEventElapsedTime".to_owned(),
                reason: "a mark was forgotten".to_owned(),
            })
        };
        let (from, to) = (event(from)?, event(to)?);
        // SAFETY: both events were recorded in the null stream.
        let milliseconds = unsafe {
            result::event::synchronize(to).named("cuEventSynchronize")?;
            result::event::elapsed(from, to).named("cuEventElapsedTime")?
        };
        Ok(f64::from(milliseconds) * 1e6)
    }

    fn forget_marks(&mut self) {
        self.marks = 0;
    }

    fn wait(&mut self) -> Result<(), DriverError> {
        // SAFETY: the null stream always exists.
        unsafe { result::stream::synchronize(result::stream::null()) }
            .named("cuStreamSynchronize")?;
        self.staging.used = 0;
        Ok(())
    }

    fn release(&mut self) {
        // A failed kernel was reported where the host waited for it.
        let _ = self.wait();
        self.forget_marks();
        // SAFETY: each was created by this value, and nothing is running.
        unsafe {
            for address in self.allocations.drain(..) {
                let _ = result::free_sync(address);
            }
            for loaded in self.modules.drain(..) {
                let _ = result::module::unload(loaded.module);
            }
        }
    }
}

/// Maximum dynamic local memory without opt-in (CUDA C++ Programming Guide, compute capability 7.0
/// and up).
const PLAIN_LOCAL_BYTES: u32 = 48 << 10;

impl Drop for Cuda {
    fn drop(&mut self) {
        self.release();
        // SAFETY: each was created by this value, and nothing is running. A failure at the end does
        // not affect the measurements.
        unsafe {
            for event in self.events.drain(..) {
                let _ = result::event::destroy(event);
            }
            let _ = result::free_host(self.staging.memory.cast());
            let _ = result::primary_ctx::release(self.ordinal);
        }
    }
}
