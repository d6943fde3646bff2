//! Emulation of a host launch and all of its child kernels.
//!
//! A kernel is emulated to its end before the kernels it launched. These follow in launch order,
//! each with all its descendants before the next, and those of its tail-launch stream come last.
//! Launch order is the order of emulation of work-groups and wavefronts, then of records, then of
//! lanes. A device stream runs kernels in sequence with all their descendants, so the streams of
//! the program allow this order.

use std::collections::BTreeMap;

use warpweave_trace::{KernelTrace, Parent};

use crate::exec::events::Events;
use crate::exec::heap::Heap;
use crate::exec::print::Printed;

/// Maximum nesting depth of device launches below the host launch (CUDA C++ Programming Guide,
/// "Nesting Depth").
pub(super) const DEPTH_MAX: u32 = 24;

/// Number of the first stream that is created on the device; the host never assigns one so high.
pub(super) const DEVICE_STREAMS: u32 = 1 << 31;

/// Maximum number of kernels of a program that launches from the device; the same as that of host
/// commands. More is a runaway recursion.
pub(super) const KERNELS_MAX: u32 = 1 << 22;

/// Memory charged for a launched kernel apart from its records, in bytes. Source: own choice.
pub(super) const KERNEL_BYTES: u64 = 1 << 10;

/// Result of a launch: kernel traces and output.
#[derive(Debug)]
pub struct Family {
    /// Launched kernel followed by its descendants in order of emulation. Each names its parent.
    pub kernels: Vec<KernelTrace>,
    /// Text printed by the kernels of the launch.
    pub printed: Printed,
    /// Number of device launches that were refused with an error code: too deep, or with an invalid
    /// shape.
    pub refused: u64,
}

/// Next kernel and stream numbers to be assigned in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Number of the next kernel to be launched.
    pub kernel: u32,
    /// Number of the next stream created on the device.
    pub stream: u32,
}

impl Default for Numbers {
    /// Starts numbering with no launches. Device streams have numbers that the host never assigns.
    fn default() -> Self {
        Self {
            kernel: 0,
            stream: DEVICE_STREAMS,
        }
    }
}

/// A child kernel that has not been emulated yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// Function address of the kernel, as a data value.
    pub(super) function: u64,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_local_bytes: u32,
    pub(super) arguments: Vec<u8>,
    pub(super) parent: Parent,
}

/// Argument buffer of a launch that has not been made yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArgumentBuffer {
    pub(super) bytes: u64,
    /// Function, grid, block and dynamic local memory bytes, if already given.
    pub(super) shape: Option<(u64, [u32; 3], [u32; 3], u32)>,
}

/// State that the kernels of a family share, apart from device memory.
#[derive(Debug)]
pub(super) struct Runtime {
    /// Number of the next stream created on the device.
    pub(super) next_stream: u32,
    /// Number of the running kernel, and its nesting depth.
    pub(super) kernel: u32,
    pub(super) depth: u32,
    /// Implicit streams of the running kernel: of each work-group, and of each thread.
    pub(super) default_streams: BTreeMap<(u32, Option<u32>), u32>,
    /// Number of launch records so far, by work-group and wavefront.
    pub(super) records: BTreeMap<(u32, u32), u32>,
    /// Last runtime error of each thread that has one, by work-group and thread.
    pub(super) errors: BTreeMap<(u32, u32), u32>,
    /// Number of kernels of the program so far, with those launched but not emulated yet.
    pub(super) kernels: u32,
    /// Child kernels launched by the running kernel, in order.
    pub(super) pending: Vec<Pending>,
    /// Allocated argument buffers, by address.
    pub(super) buffers: BTreeMap<u64, ArgumentBuffer>,
    /// Free argument buffers, by size in bytes.
    pub(super) spare_buffers: BTreeMap<u64, Vec<u64>>,
    pub(super) events: Events,
    pub(super) heap: Heap,
    pub(super) printed: Printed,
    pub(super) refused: u64,
}

impl Runtime {
    pub(super) fn new(numbers: Numbers, heap_bytes: u64) -> Self {
        Self {
            next_stream: numbers.stream,
            kernel: numbers.kernel,
            depth: 0,
            default_streams: BTreeMap::new(),
            records: BTreeMap::new(),
            errors: BTreeMap::new(),
            kernels: numbers.kernel.saturating_add(1),
            pending: Vec::new(),
            buffers: BTreeMap::new(),
            spare_buffers: BTreeMap::new(),
            events: Events::new(),
            heap: Heap::new(heap_bytes),
            printed: Printed::default(),
            refused: 0,
        }
    }

    /// Resets the per-kernel state for the next kernel.
    pub(super) fn kernel_begins(&mut self, kernel: u32, depth: u32) {
        (self.kernel, self.depth) = (kernel, depth);
        self.default_streams.clear();
        self.records.clear();
        self.events.kernel_begins();
        self.errors.clear();
    }

    /// Takes the kernels that the last one launched, in order of emulation: those of its
    /// tail-launch stream follow all others.
    pub(super) fn take_launched(&mut self) -> impl DoubleEndedIterator<Item = Pending> {
        let launched = std::mem::take(&mut self.pending).into_iter();
        let (tail, others): (Vec<_>, Vec<_>) = launched.partition(|it| it.parent.is_tail());
        others.into_iter().chain(tail)
    }
}
