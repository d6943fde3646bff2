//! Device runtime functions: launches, streams, events, errors, output, assertions and the heap.

use warpweave_trace::Parent;

use crate::address_space::{DEVICE_BASE, LOCAL_WINDOW, SHARED_WINDOW};
use crate::exec::Machine;
use crate::exec::barrier::Shared;
use crate::exec::error::{Fault, FaultKind};
use crate::exec::events::EventError;
use crate::exec::family::{ArgumentBuffer, DEPTH_MAX, KERNEL_BYTES, KERNELS_MAX, Pending, Runtime};
use crate::exec::memory_path::{MemoryPath, offset_in};
use crate::exec::observe::Observer;
use crate::exec::print::{Arguments, format};
use crate::exec::registers::lanes;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::launch_limits::{WORK_GROUPS_MAX, check_shape, product};
use crate::ops::{External, ExternalSite, Region};

/// CUDA runtime error codes that are returned to programs.
mod code {
    pub(super) const SUCCESS: u32 = 0;
    /// CUDA runtime error code `cudaErrorInvalidValue`.
    pub(super) const INVALID_VALUE: u32 = 1;
    /// CUDA runtime error code `cudaErrorMemoryAllocation`.
    pub(super) const MEMORY_ALLOCATION: u32 = 2;
    /// CUDA runtime error code `cudaErrorInvalidConfiguration`.
    pub(super) const INVALID_CONFIGURATION: u32 = 9;
    /// CUDA runtime error code `cudaErrorLaunchMaxDepthExceeded`.
    pub(super) const DEPTH_EXCEEDED: u32 = 65;
    /// CUDA runtime error code `cudaErrorInvalidDeviceFunction`.
    pub(super) const INVALID_FUNCTION: u32 = 98;
    /// CUDA runtime error code `cudaErrorInvalidResourceHandle`.
    pub(super) const INVALID_HANDLE: u32 = 400;
}

/// Runtime call made by a single lane.
struct Call<'c> {
    site: &'c ExternalSite,
    lane: usize,
    /// Offset of the caller's frame in private memory.
    frame: u32,
}

impl Call<'_> {
    /// Reads `bytes` bytes of an argument, from byte `at`.
    fn part(&self, wavefront: &Wavefront, argument: usize, at: u32, bytes: u32) -> u64 {
        let place = self.frame + self.site.arguments[argument] + at;
        wavefront.private.read(self.lane, place as usize, bytes)
    }

    fn double(&self, wavefront: &Wavefront, argument: usize) -> u64 {
        self.part(wavefront, argument, 0, 8)
    }

    fn word(&self, wavefront: &Wavefront, argument: usize) -> u32 {
        self.part(wavefront, argument, 0, 4) as u32
    }

    /// Reads an argument of type `dim3`.
    fn axes(&self, wavefront: &Wavefront, argument: usize) -> [u32; 3] {
        [0, 4, 8].map(|at| self.part(wavefront, argument, at, 4) as u32)
    }
}

impl<'l, O: Observer> Machine<'l, O> {
    /// Executes a runtime function lane by lane, and records the call.
    pub(super) fn external(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        (pc, mask): (u32, u32),
        number: u32,
    ) -> Result<(), Fault> {
        let kernel = self.kernel;
        let site = &kernel.tables.control.externals[number as usize];
        let frame = wavefront.frame_base();
        let mut launched = 0;
        let record = if site.function.launches() {
            self.next_record(wavefront)
        } else {
            0
        };
        for lane in lanes(mask) {
            let call = Call { site, lane, frame };
            let value = match site.function {
                function if function.launches() => {
                    let error = self.launch_from(wavefront, &call, record)?;
                    launched |= u32::from(error == code::SUCCESS) << lane;
                    self.remember(wavefront, lane, error);
                    u64::from(error)
                }
                _ => self.plain_external(wavefront, shared, &call)?,
            };
            if let Some(&place) = site.results.first() {
                let bytes = site.function.shape().1[0];
                let place = (frame + place) as usize;
                wavefront.private.write(lane, place, bytes, value);
            }
        }
        if O::WATCHES
            && let Some(&place) = site.results.first()
        {
            let bytes = site.function.shape().1[0];
            self.observer.runtime_wrote(
                wavefront,
                self.memory.device,
                (frame + place, bytes),
                mask,
            );
        }
        let mask = if site.function.launches() {
            launched
        } else {
            mask
        };
        wavefront.writer.step(pc, mask);
        self.progress.take_effect();
        Ok(())
    }

    /// Executes a runtime function other than a launch and returns its result.
    fn plain_external(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        call: &Call<'_>,
    ) -> Result<u64, Fault> {
        let (lane, thread) = (call.lane, thread(wavefront, call.lane));
        Ok(match call.site.function {
            External::ParameterBuffer => {
                let bytes = call.double(wavefront, 1);
                self.argument_buffer(lane, ArgumentBuffer { bytes, shape: None })?
            }
            External::ParameterBufferV2 => {
                let function = call.double(wavefront, 0);
                let Some(kernel) = self.launchable(function, lane)? else {
                    self.remember(wavefront, lane, code::INVALID_FUNCTION);
                    return Ok(0);
                };
                let bytes = u64::from(kernel.argument_bytes());
                let (grid, block) = (call.axes(wavefront, 1), call.axes(wavefront, 2));
                let shape = Some((function, grid, block, call.word(wavefront, 3)));
                self.argument_buffer(lane, ArgumentBuffer { bytes, shape })?
            }
            External::StreamCreate => {
                let to = call.double(wavefront, 0);
                let Some(stream) = self.runtime.new_stream() else {
                    self.remember(wavefront, lane, code::MEMORY_ALLOCATION);
                    return Ok(code::MEMORY_ALLOCATION.into());
                };
                self.write_generic(wavefront, shared, lane, to, u64::from(stream))?;
                0
            }
            External::EventCreate
            | External::EventRecord
            | External::EventRecordPerThread
            | External::StreamWait
            | External::StreamWaitPerThread
            | External::EventDestroy => {
                let error = self.event(wavefront, shared, call)?;
                if error != code::SUCCESS {
                    self.runtime.errors.insert(thread, error);
                }
                error.into()
            }
            External::LastError => {
                u64::from(self.runtime.errors.remove(&thread).unwrap_or(code::SUCCESS))
            }
            External::PeekError => {
                let error = self.runtime.errors.get(&thread);
                u64::from(error.copied().unwrap_or(code::SUCCESS))
            }
            External::Print => {
                let (text, from) = (call.double(wavefront, 0), call.double(wavefront, 1));
                let text = self.memory.text(wavefront, shared, lane, text)?;
                let mut arguments = VariadicArguments {
                    memory: &mut self.memory,
                    wavefront: &*wavefront,
                    shared: &*shared,
                    lane,
                    at: from,
                    count: 0,
                };
                let printed = format(&text, &mut arguments)?;
                let count = arguments.count;
                self.runtime.printed.add(&printed);
                count
            }
            External::AssertFail => {
                let text = |machine: &mut Self, argument| {
                    let address = call.double(wavefront, argument);
                    let text = machine.memory.text(wavefront, shared, lane, address)?;
                    Ok(String::from_utf8_lossy(&text).into_owned())
                };
                let said = [text(self, 0)?, text(self, 1)?, text(self, 3)?];
                let [expression, file, function] = said;
                let line = call.word(wavefront, 2);
                let kind = FaultKind::Assertion {
                    said: format!("{file}:{line}: {function}: `{expression}`"),
                };
                return Err(Fault::at(lane, kind));
            }
            External::Malloc => {
                let bytes = call.double(wavefront, 0);
                let address = self.runtime.heap.take(self.memory.device, bytes);
                let address =
                    address.map_err(|error| Fault::at(lane, FaultKind::OverBudget(error)))?;
                if address != 0 {
                    self.observer.handed_out(address, bytes);
                }
                address
            }
            External::Free => {
                let address = call.double(wavefront, 0);
                if !self.runtime.heap.give_back(address) {
                    return Err(Fault::at(lane, FaultKind::NotTaken { address }));
                }
                0
            }
            External::StreamDestroy
            | External::Launch
            | External::LaunchV2
            | External::LaunchPerThread
            | External::LaunchV2PerThread => 0,
        })
    }

    /// Executes a runtime function on an event and returns the runtime's error code.
    fn event(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        call: &Call<'_>,
    ) -> Result<u32, Fault> {
        let (function, lane, group) = (call.site.function, call.lane, wavefront.group);
        if function == External::EventCreate {
            // Device code cannot ask for the time of an event.
            if call.word(wavefront, 1) & DISABLE_TIMING == 0 {
                return Ok(code::INVALID_VALUE);
            }
            let charged = self.memory.device.ledger();
            let charged = charged.charge("events of device code", self.runtime.events.growth());
            charged.map_err(|error| Fault::at(lane, FaultKind::OverBudget(error)))?;
            let handle = self.runtime.events.create(group);
            let to = call.double(wavefront, 0);
            self.write_generic(wavefront, shared, lane, to, handle)?;
            return Ok(code::SUCCESS);
        }
        if function == External::EventDestroy {
            let event = call.double(wavefront, 0);
            let destroyed = self.runtime.events.destroy(group, event);
            return event_code(destroyed, lane);
        }
        let waits = matches!(
            function,
            External::StreamWait | External::StreamWaitPerThread
        );
        let (first, second) = (call.double(wavefront, 0), call.double(wavefront, 1));
        let (event, stream) = if waits {
            (second, first)
        } else {
            (first, second)
        };
        let has_flags = waits && call.word(wavefront, 2) != 0;
        if has_flags || Runtime::takes_no_events(stream) {
            return Ok(code::INVALID_VALUE);
        }
        let stream = self
            .runtime
            .stream(wavefront, lane, stream, function.is_per_thread())?;
        let Some(stream) = stream else {
            return Ok(code::INVALID_HANDLE);
        };
        let events = &mut self.runtime.events;
        let done = if waits {
            events.wait(group, event, stream)
        } else {
            events.record(group, event, stream)
        };
        event_code(done, lane)
    }

    /// Counts a launch record of a wavefront and returns its number.
    fn next_record(&mut self, wavefront: &Wavefront) -> u32 {
        let place = (wavefront.group, wavefront.index);
        let records = self.runtime.records.entry(place).or_default();
        *records += 1;
        *records - 1
    }

    fn remember(&mut self, wavefront: &Wavefront, lane: usize, error: u32) {
        if error != code::SUCCESS {
            let thread = thread(wavefront, lane);
            self.runtime.errors.insert(thread, error);
            self.runtime.refused += 1;
        }
    }

    /// Allocates memory for arguments; an empty buffer takes one byte.
    fn argument_buffer(&mut self, lane: usize, buffer: ArgumentBuffer) -> Result<u64, Fault> {
        let bytes = buffer.bytes.clamp(1, ARGUMENTS_MAX);
        let spare = self.runtime.spare_buffers.get_mut(&bytes);
        let address = match spare.and_then(Vec::pop) {
            Some(spare) => spare,
            None => (self.memory.device)
                .allocate_charged("arguments of launches", bytes)
                .map_err(|error| Fault::at(lane, FaultKind::OverBudget(error)))?,
        };
        self.observer.handed_out(address, bytes);
        let buffer = ArgumentBuffer { bytes, ..buffer };
        self.runtime.buffers.insert(address, buffer);
        Ok(address)
    }

    /// Returns the kernel at this address, if there is one; faults if it needs unsupported
    /// features.
    fn launchable(&self, function: u64, lane: usize) -> Result<Option<&'l Kernel>, Fault> {
        match self.module.refused_at(function) {
            None => Ok(self.module.kernel_at(function)),
            Some(refused) => Err(Fault::at(lane, FaultKind::LaunchRefused(Box::new(refused)))),
        }
    }

    /// Launches a kernel and returns the runtime's error code.
    fn launch_from(
        &mut self,
        wavefront: &Wavefront,
        call: &Call<'_>,
        record: u32,
    ) -> Result<u32, Fault> {
        let is_old = call.site.function.takes_shape();
        let (buffer, stream) = if is_old {
            (call.double(wavefront, 1), call.double(wavefront, 5))
        } else {
            (call.double(wavefront, 0), call.double(wavefront, 1))
        };
        let Some(taken) = self.runtime.buffers.remove(&buffer) else {
            return Ok(code::INVALID_VALUE);
        };
        let spare = self.runtime.spare_buffers.entry(taken.bytes).or_default();
        spare.push(buffer);
        let shape = if is_old {
            let (grid, block) = (call.axes(wavefront, 2), call.axes(wavefront, 3));
            let local = call.word(wavefront, 4);
            Some((call.double(wavefront, 0), grid, block, local))
        } else {
            taken.shape
        };
        let Some((function, grid, block, dynamic_local_bytes)) = shape else {
            return Ok(code::INVALID_VALUE);
        };
        let Some(kernel) = self.launchable(function, call.lane)? else {
            return Ok(code::INVALID_FUNCTION);
        };
        let local = u64::from(kernel.code().static_local_bytes) + u64::from(dynamic_local_bytes);
        let possible = check_shape(grid, block).is_ok()
            && kernel.check_declared(block).is_ok()
            && local <= SHARED_WINDOW.end - SHARED_WINDOW.start;
        if !possible {
            return Ok(code::INVALID_CONFIGURATION);
        }
        let work_groups = product(grid);
        if work_groups > WORK_GROUPS_MAX {
            let kind = FaultKind::TooManyWorkGroups { work_groups };
            return Err(Fault::at(call.lane, kind));
        }
        let bytes = u64::from(kernel.argument_bytes());
        if bytes > taken.bytes {
            return Ok(code::INVALID_VALUE);
        }
        if self.runtime.depth >= DEPTH_MAX {
            return Ok(code::DEPTH_EXCEEDED);
        }
        let arguments = match self.memory.device.read(buffer, bytes) {
            Ok(arguments) => arguments.to_vec(),
            Err(_) => return Ok(code::INVALID_VALUE),
        };
        let is_per_thread = call.site.function.is_per_thread();
        let Some(stream) = self
            .runtime
            .stream(wavefront, call.lane, stream, is_per_thread)?
        else {
            return Ok(code::INVALID_HANDLE);
        };
        if self.runtime.kernels >= KERNELS_MAX {
            let kind = FaultKind::TooManyLaunches {
                kernels: KERNELS_MAX,
            };
            return Err(Fault::at(call.lane, kind));
        }
        self.memory
            .device
            .ledger()
            .charge("kernels launched from the device", KERNEL_BYTES)
            .map_err(|error| Fault::at(call.lane, FaultKind::OverBudget(error)))?;
        self.runtime.kernels += 1;
        self.runtime.events.launched_into(stream);
        self.runtime.pending.push(Pending {
            function,
            grid,
            block,
            dynamic_local_bytes,
            arguments,
            parent: Parent {
                kernel: self.runtime.kernel,
                work_group: wavefront.group,
                wavefront: wavefront.index,
                record,
                lane: call.lane as u8,
                stream,
            },
        });
        Ok(code::SUCCESS)
    }

    /// Writes eight bytes at a generic address.
    fn write_generic(
        &mut self,
        wavefront: &mut Wavefront,
        shared: &mut Shared,
        lane: usize,
        address: u64,
        value: u64,
    ) -> Result<(), Fault> {
        if SHARED_WINDOW.contains(&address) {
            let (at, size) = (address - SHARED_WINDOW.start, shared.bytes.len() as u32);
            let at = offset_in(Region::Shared, lane, at, 8, size)?;
            shared.bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        } else if LOCAL_WINDOW.contains(&address) {
            let (at, size) = (address - LOCAL_WINDOW.start, wavefront.private.bytes);
            let place = offset_in(Region::Local, lane, at, 8, size)?;
            wavefront.private.write(lane, place, 8, value);
            if O::WATCHES {
                self.observer.runtime_wrote(
                    wavefront,
                    self.memory.device,
                    (place as u32, 8),
                    1 << lane,
                );
            }
        } else if address < DEVICE_BASE {
            return Err(Fault::at(lane, FaultKind::NoSuchSpace { address }));
        } else {
            let at = self.memory.device_index(lane, address, 8)?;
            self.memory.device.data_mut()[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}

/// Flag of an event without times, `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;

/// Returns the runtime's error code of a call on an event.
fn event_code(done: Result<(), EventError>, lane: usize) -> Result<u32, Fault> {
    match done {
        Ok(()) => Ok(code::SUCCESS),
        Err(EventError::NoSuchEvent) => Ok(code::INVALID_HANDLE),
        Err(EventError::AcrossStreams) => Err(Fault::at(lane, FaultKind::EventAcrossStreams)),
    }
}

/// Maximum size of the arguments in bytes (CUDA C++ Programming Guide, "Function Parameters").
const ARGUMENTS_MAX: u64 = 32_764;

/// Returns the work-group and linear index of a thread.
pub(super) fn thread(wavefront: &Wavefront, lane: usize) -> (u32, u32) {
    (wavefront.group, wavefront.index * 32 + lane as u32)
}

/// Reader for the arguments of formatted output in memory.
struct VariadicArguments<'m, 'l> {
    memory: &'m mut MemoryPath<'l>,
    wavefront: &'m Wavefront,
    shared: &'m Shared,
    lane: usize,
    at: u64,
    count: u64,
}

impl Arguments for VariadicArguments<'_, '_> {
    type Error = Fault;

    fn next(&mut self, bytes: u32) -> Result<u64, Fault> {
        self.at = self.at.next_multiple_of(u64::from(bytes));
        let value =
            self.memory
                .read_generic(self.wavefront, self.shared, self.lane, self.at, bytes)?;
        self.at += u64::from(bytes);
        self.count += 1;
        Ok(value)
    }

    fn text(&mut self, address: u64) -> Result<Vec<u8>, Fault> {
        self.memory
            .text(self.wavefront, self.shared, self.lane, address)
    }
}
