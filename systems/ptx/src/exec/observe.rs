//! Observer interface of the interpreter.
//!
//! The interpreter is compiled separately for each observer. [`Unobserved`] observes no
//! instructions, so its instance contains no calls to an observer.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use warpweave_trace::KernelTrace;

use crate::exec::LaunchConfig;
use crate::exec::barrier::Shared;
use crate::exec::constants::Constants;
use crate::exec::memory_path::Parts;
use crate::exec::stack::Activation;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Kernel;
use crate::memory::DeviceMemory;
use crate::module::Module;
use crate::ops::CallSite;

/// Launch that is about to begin.
pub(super) struct Start<'s> {
    pub(super) module: &'s Module,
    pub(super) kernel: &'s Kernel,
    pub(super) config: &'s LaunchConfig<'s>,
    pub(super) memory: &'s DeviceMemory,
}

/// Instruction that is about to execute.
pub(super) struct Step<'s> {
    pub(super) kernel: &'s Kernel,
    pub(super) wavefront: &'s Wavefront,
    pub(super) constants: &'s Constants,
    pub(super) pc: u32,
    /// Active lanes of the current path.
    pub(super) active: u32,
    /// Active lanes whose guard predicate is true.
    pub(super) mask: u32,
}

/// Kind of effect that an access has on memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// Access that is about to execute; its addresses have not been bounds-checked.
pub(super) struct PendingAccess<'s> {
    pub(super) kernel: &'s Kernel,
    pub(super) wavefront: &'s Wavefront,
    pub(super) constants: &'s Constants,
    pub(super) memory: &'s DeviceMemory,
    pub(super) shared: &'s Shared,
    pub(super) pc: u32,
    pub(super) touch: AccessKind,
    /// Index of the access or atomic in the kernel's table.
    pub(super) number: u32,
    pub(super) parts: &'s Parts,
    /// Lane addresses, each in the space of its part.
    pub(super) addresses: &'s [u64; 32],
}

/// Observer that is notified of events during a launch.
pub(super) trait Observer {
    /// Enables observation of instructions; `false` removes the calls from the interpreter.
    const WATCHES: bool;

    /// Returns the first kernel of the launch, if its streams are simulated during emulation.
    fn foreseen(&self) -> Option<&KernelTrace> {
        None
    }
    /// True if the results are no longer needed.
    fn is_abandoned(&self) -> bool {
        false
    }
    /// Called when a kernel launched from the device is about to begin.
    fn child_starts(&mut self) {}
    /// Called at the start of a launch, once memory holds the module's variables.
    fn launch_starts(&mut self, _start: &Start<'_>) {}
    /// Called when all work-groups of a launch have ended.
    fn launch_ends(&mut self) {}
    /// Called when a wavefront is about to begin.
    fn wavefront_starts(&mut self, _kernel: &Kernel, _wavefront: &Wavefront) {}
    fn step(&mut self, _step: &Step<'_>) {}
    fn reach(&mut self, _reach: &PendingAccess<'_>) {}
    /// Called once the callee's frame is open and its arguments are passed.
    fn call(&mut self, _kernel: &Kernel, _wavefront: &Wavefront, _frames: Frames<'_>) {}
    /// Called at the end of a call; the observer propagates its state of the results.
    fn end_call(&mut self, _kernel: &Kernel, _wavefront: &Wavefront, _frames: Frames<'_>) {}
    /// Called when the runtime writes private memory as a call result: first byte and number of
    /// bytes.
    fn runtime_wrote(
        &mut self,
        _wavefront: &Wavefront,
        _memory: &DeviceMemory,
        _place: (u32, u32),
        _mask: u32,
    ) {
    }
    /// Called when the runtime allocates memory: first address and number of bytes. Any previous
    /// owner has released it.
    fn handed_out(&mut self, _address: u64, _bytes: u64) {}
    /// Called when the runtime has filled device memory: first address and number of bytes.
    fn runtime_filled(&mut self, _address: u64, _bytes: u64) {}
    /// Called when lanes of a wavefront arrive at a barrier; `waits` is false if they continue
    /// immediately.
    fn arrive(&mut self, _wavefront: &Wavefront, _arrival: Arrival) {}
    /// Called when barriers of a work-group open; `barriers` is a bit set.
    fn release(&mut self, _group: u32, _barriers: u32) {}
    /// Called when all wavefronts of a work-group have ended.
    fn group_ends(&mut self, _group: u32) {}
}

/// Caller and callee frame of a call.
pub(super) struct Frames<'s> {
    /// Index of the call instruction in the caller.
    pub(super) pc: u32,
    pub(super) site: &'s CallSite,
    pub(super) caller: &'s Activation,
    pub(super) callee: &'s Activation,
}

/// Arrival of lanes at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) pc: u32,
    pub(super) number: u32,
    pub(super) mask: u32,
    pub(super) waits: bool,
}

/// Counts of a running launch, which another thread may read.
#[derive(Debug, Default)]
pub struct LaunchCounts {
    /// Work-groups that have ended, of all kernels of the launch.
    pub ended: AtomicU64,
    /// Kernels launched from the device that have begun.
    pub from_device: AtomicU64,
    /// Set by another thread to end the emulation early, with
    /// [`EmulationError::Abandoned`](crate::EmulationError::Abandoned).
    pub abandoned: AtomicBool,
}

impl LaunchCounts {
    pub(super) fn child_starts(&self) {
        self.from_device.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn group_ends(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// Observer that ignores instructions. It only updates optional counts and supports simulation
/// during emulation.
pub(super) struct Unobserved<'c> {
    pub(super) counts: Option<&'c LaunchCounts>,
    pub(super) foreseen: Option<&'c KernelTrace>,
}

impl Observer for Unobserved<'_> {
    const WATCHES: bool = false;

    fn foreseen(&self) -> Option<&KernelTrace> {
        self.foreseen
    }

    fn is_abandoned(&self) -> bool {
        self.counts
            .is_some_and(|counts| counts.abandoned.load(Ordering::Relaxed))
    }

    fn group_ends(&mut self, _group: u32) {
        if let Some(counts) = self.counts {
            counts.group_ends();
        }
    }

    fn child_starts(&mut self) {
        if let Some(counts) = self.counts {
            counts.child_starts();
        }
    }
}
