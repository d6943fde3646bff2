//! What the interpreter tells somebody who watches a launch.
//!
//! The interpreter is compiled once for each observer. [`Unobserved`] watches no instruction, so that its
//! copy contains no call for one.

use std::sync::atomic::{AtomicU64, Ordering};

use warpweave_trace::KernelTrace;

use crate::exec::LaunchConfig;
use crate::exec::access::Parts;
use crate::exec::barrier::Shared;
use crate::exec::stack::Activation;
use crate::exec::wavefront::Wavefront;
use crate::memory::DeviceMemory;
use crate::module::{Kernel, Module};
use crate::ops::{CallSite, Lanes32, Lanes64};

/// A launch about to begin.
pub(super) struct Start<'s> {
    pub(super) module: &'s Module,
    pub(super) kernel: &'s Kernel,
    pub(super) config: &'s LaunchConfig<'s>,
    pub(super) memory: &'s DeviceMemory,
}

/// An instruction about to be executed.
pub(super) struct Step<'s> {
    pub(super) kernel: &'s Kernel,
    pub(super) wavefront: &'s Wavefront,
    pub(super) constants32: &'s [Lanes32],
    pub(super) constants64: &'s [Lanes64],
    pub(super) pc: u32,
    /// Lanes that came here.
    pub(super) active: u32,
    /// Those of them whose guard holds.
    pub(super) mask: u32,
}

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessKind {
    Load,
    Store,
    Atomic,
}

/// An access about to happen; nothing says yet that its addresses are inside anything.
pub(super) struct PendingAccess<'s> {
    pub(super) kernel: &'s Kernel,
    pub(super) wavefront: &'s Wavefront,
    pub(super) constants32: &'s [Lanes32],
    pub(super) constants64: &'s [Lanes64],
    pub(super) memory: &'s DeviceMemory,
    pub(super) shared: &'s Shared,
    pub(super) pc: u32,
    pub(super) touch: AccessKind,
    /// Number of the access, or of the atomic, in the kernel's table.
    pub(super) number: u32,
    pub(super) parts: &'s Parts,
    /// Addresses in the space of each lane's part.
    pub(super) addresses: &'s [u64; 32],
}

/// Somebody who watches a launch.
pub(super) trait Observer {
    /// Whether it does; `false` leaves no trace in the interpreter.
    const WATCHES: bool;

    /// The first kernel of the launch, if its streams are simulated while it is emulated.
    fn foreseen(&self) -> Option<&KernelTrace> {
        None
    }
    /// Memory holds the module's variables.
    fn launch_starts(&mut self, _start: &Start<'_>) {}
    /// All work-groups have ended.
    fn launch_ends(&mut self) {}
    /// A wavefront is about to begin.
    fn wavefront_starts(&mut self, _kernel: &Kernel, _wavefront: &Wavefront) {}
    fn step(&mut self, _step: &Step<'_>) {}
    fn reach(&mut self, _reach: &PendingAccess<'_>) {}
    /// The callee's frame is open, its arguments are passed.
    fn call(&mut self, _kernel: &Kernel, _wavefront: &Wavefront, _frames: Frames<'_>) {}
    /// A call has ended; the observer passes on what it knows of the results.
    fn end_call(&mut self, _kernel: &Kernel, _wavefront: &Wavefront, _frames: Frames<'_>) {}
    /// The runtime wrote private memory, as the result of a call: first byte and number of bytes.
    fn runtime_wrote(
        &mut self,
        _wavefront: &Wavefront,
        _memory: &DeviceMemory,
        _place: (u32, u32),
        _mask: u32,
    ) {
    }
    /// The runtime hands out memory: first address and number of bytes. Whoever had it before is done with it.
    fn handed_out(&mut self, _address: u64, _bytes: u64) {}
    /// Lanes of a wavefront arrive at a barrier; `waits` unless they go on at once.
    fn arrive(&mut self, _kernel: &Kernel, _wavefront: &Wavefront, _arrival: Arrival) {}
    /// Barriers of a work-group, by bit, open.
    fn release(&mut self, _kernel: &Kernel, _group: u32, _barriers: u32) {}
    /// All wavefronts of a work-group have ended.
    fn group_ends(&mut self, _group: u32) {}
}

/// Both sides of a call.
pub(super) struct Frames<'s> {
    /// Instruction of the call.
    pub(super) pc: u32,
    pub(super) site: &'s CallSite,
    pub(super) caller: &'s Activation,
    pub(super) callee: &'s Activation,
}

/// An arrival at a barrier.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) pc: u32,
    pub(super) number: u32,
    /// Whether the instruction says how many threads take part.
    pub(super) counted: bool,
    pub(super) mask: u32,
    pub(super) waits: bool,
}

/// Nobody, but for a count of the work-groups that have ended, if one is kept, and whoever simulates them already.
pub(super) struct Unobserved<'c> {
    pub(super) ended: Option<&'c AtomicU64>,
    pub(super) foreseen: Option<&'c KernelTrace>,
}

impl Observer for Unobserved<'_> {
    const WATCHES: bool = false;

    fn foreseen(&self) -> Option<&KernelTrace> {
        self.foreseen
    }

    fn group_ends(&mut self, _group: u32) {
        if let Some(ended) = self.ended {
            ended.fetch_add(1, Ordering::Relaxed);
        }
    }
}
