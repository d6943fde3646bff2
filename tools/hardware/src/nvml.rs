//! Power, energy and conditions of an NVIDIA GPU, from its management library (NVML), which is
//! loaded at run time. Nothing here changes a setting.
#![expect(unsafe_code, reason = "calls into the management library")]

use std::ffi::{CString, c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};

use libloading::Library;

use crate::power::{Reading, Sensor};

/// Names of the library: that of the driver, and that of a development package.
const LIBRARIES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "nvml.dll"];

/// Field of power without averaging (`NVML_FI_DEV_POWER_INSTANT`).
const POWER_INSTANT: c_uint = 186;

/// Type of a field's value that is an unsigned number of 32 bits (`NVML_VALUE_TYPE_UNSIGNED_INT`).
const UNSIGNED: c_uint = 1;

/// Clocks of the compute units and of the memory (`NVML_CLOCK_SM`, `NVML_CLOCK_MEM`).
const UNIT_CLOCK: c_uint = 1;
const MEMORY_CLOCK: c_uint = 2;

/// Number of the sensor on the chip (`NVML_TEMPERATURE_GPU`).
const CHIP: c_uint = 0;

type Handle = *mut c_void;

/// Value of a field, as the library lays it out (`nvmlFieldValue_t`).
#[repr(C)]
#[derive(Default)]
struct FieldValue {
    field: c_uint,
    scope: c_uint,
    timestamp: c_longlong,
    latency: c_longlong,
    value_type: c_uint,
    outcome: c_int,
    value: [u8; 8],
}

/// GPU as the management library knows it.
pub struct Nvml {
    library: Library,
    device: Handle,
}

// SAFETY: the library may be used from any thread, and a handle is a name that it gives out.
unsafe impl Send for Nvml {}

impl Nvml {
    /// Opens the GPU at an address on the bus. Returns `None` without the library, or if it does
    /// not know the GPU.
    pub fn open(bus: &str) -> Option<Self> {
        let bus = CString::new(bus).ok()?;
        // SAFETY: the initialisers of this library have no requirements of their own.
        let mut names = LIBRARIES.iter();
        let library = names.find_map(|name| unsafe { Library::new(*name) }.ok())?;
        let mut nvml = Self {
            library,
            device: std::ptr::null_mut(),
        };
        // SAFETY: the signatures are those of the library's header. It writes one handle.
        unsafe {
            type Init = unsafe extern "C" fn() -> c_int;
            type ByBus = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
            let init = nvml.library.get::<Init>("nvmlInit_v2").ok()?;
            if init() != 0 {
                return None;
            }
            let find = nvml
                .library
                .get::<ByBus>("nvmlDeviceGetHandleByPciBusId_v2");
            let mut device: Handle = std::ptr::null_mut();
            if find.ok()?(bus.as_ptr(), &raw mut device) != 0 {
                return None;
            }
            nvml.device = device;
        }
        Some(nvml)
    }

    /// Calls a function that writes one value of the device.
    ///
    /// # Safety
    /// The named function must have this signature.
    unsafe fn value<T: Default>(&self, name: &str) -> Option<T> {
        // SAFETY: as the caller promises. The device is one that the library named.
        unsafe {
            type Get<T> = unsafe extern "C" fn(Handle, *mut T) -> c_int;
            let get = self.library.get::<Get<T>>(name).ok()?;
            let mut value = T::default();
            (get(self.device, &raw mut value) == 0).then_some(value)
        }
    }

    /// Like [`Self::value`], for a function with a parameter that chooses among several values.
    ///
    /// # Safety
    /// The named function must have this signature.
    unsafe fn chosen(&self, name: &str, which: c_uint) -> Option<c_uint> {
        // SAFETY: as for `value`.
        unsafe {
            type Get = unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int;
            let get = self.library.get::<Get>(name).ok()?;
            let mut value = 0;
            (get(self.device, which, &raw mut value) == 0).then_some(value)
        }
    }

    /// Returns the power without averaging in milliwatts.
    fn instant_milliwatts(&self) -> Option<u32> {
        let mut value = FieldValue {
            field: POWER_INSTANT,
            ..FieldValue::default()
        };
        // SAFETY: the library fills one value, which has the layout of its header.
        let outcome = unsafe {
            type Get = unsafe extern "C" fn(Handle, c_int, *mut FieldValue) -> c_int;
            let get = self.library.get::<Get>("nvmlDeviceGetFieldValues").ok()?;
            get(self.device, 1, &raw mut value)
        };
        let known = outcome == 0 && value.outcome == 0 && value.value_type == UNSIGNED;
        let [first, second, third, fourth, ..] = value.value;
        known.then(|| u32::from_ne_bytes([first, second, third, fourth]))
    }
}

impl Sensor for Nvml {
    fn read(&mut self) -> Reading {
        let watts = |milliwatts: u32| f64::from(milliwatts) / 1e3;
        // SAFETY: the signatures are those of the library's header.
        unsafe {
            Reading {
                watts: self.value::<c_uint>("nvmlDeviceGetPowerUsage").map(watts),
                instant_watts: self.instant_milliwatts().map(watts),
                millijoules: self.value::<c_ulonglong>("nvmlDeviceGetTotalEnergyConsumption"),
                unit_mhz: self.chosen("nvmlDeviceGetClockInfo", UNIT_CLOCK),
                memory_mhz: self.chosen("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
                celsius: self.chosen("nvmlDeviceGetTemperature", CHIP),
                throttling: self.value::<c_ulonglong>("nvmlDeviceGetCurrentClocksThrottleReasons"),
            }
        }
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: the library was initialised by this value, and is not used after this.
        unsafe {
            type Shutdown = unsafe extern "C" fn() -> c_int;
            if let Ok(shutdown) = self.library.get::<Shutdown>("nvmlShutdown") {
                shutdown();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_the_layout_of_the_librarys_header() {
        assert_eq!(size_of::<FieldValue>(), 40);
        assert_eq!(std::mem::offset_of!(FieldValue, value_type), 24);
        assert_eq!(std::mem::offset_of!(FieldValue, value), 32);
    }

    #[test]
    fn a_machine_without_the_library_has_no_sensor() {
        // A machine with a GPU does not know one at this place.
        assert!(Nvml::open("ffff:ff:1f.7").is_none());
    }
}
