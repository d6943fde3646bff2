//! A launch with all kernels that it launches from the device.
//!
//! A kernel is emulated to its end before those it launched, which follow in the order of their launches,
//! each with all of its own descendants before the next: work-groups and wavefronts in the order in which the
//! emulation comes to them, then records, then lanes. A stream of the device runs kernel after kernel with
//! all their descendants, so this order is one that the program's streams allow.

use std::collections::BTreeMap;

use warpweave_trace::{KernelTrace, Parent};

use crate::exec::heap::Heap;
use crate::exec::print::Printed;

/// Levels of launches below the host's (CUDA C++ Programming Guide, "Nesting Depth").
pub(super) const DEPTH_MAX: u32 = 24;

/// What a launch led to.
#[derive(Debug)]
pub struct Family {
    /// The kernel launched, and its descendants in the order of their emulation. Each says who launched it.
    pub kernels: Vec<KernelTrace>,
    /// What the kernels printed.
    pub printed: Printed,
    /// Launches from the device that were refused, with an error code for the program: too deep, or of an
    /// impossible shape.
    pub refused: u64,
}

/// Numbers of a program that are given next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Of a kernel.
    pub kernel: u32,
    /// Of a stream made on the device.
    pub stream: u32,
}

impl Default for Numbers {
    /// Nothing was launched. Streams of the device have numbers that no host gives.
    fn default() -> Self {
        Self {
            kernel: 0,
            stream: 1 << 31,
        }
    }
}

/// A kernel launched from the device that was not emulated yet.
#[derive(Debug)]
pub(super) struct Pending {
    /// Address of the kernel, as data.
    pub(super) function: u64,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_local_bytes: u32,
    pub(super) arguments: Vec<u8>,
    pub(super) parent: Parent,
}

/// Memory for the arguments of a launch to come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ArgumentBuffer {
    pub(super) bytes: u64,
    /// Function, grid, block and dynamic local bytes, where they were told.
    pub(super) shape: Option<(u64, [u32; 3], [u32; 3], u32)>,
}

/// What kernels of a family leave to one another, beside device memory.
#[derive(Debug)]
pub(super) struct Runtime {
    /// Number of the next stream.
    pub(super) next_stream: u32,
    /// Number of the kernel that runs, and how many launches lie above it.
    pub(super) kernel: u32,
    pub(super) depth: u32,
    /// Default stream of each work-group of the kernel that runs.
    pub(super) default_streams: BTreeMap<u32, u32>,
    /// Launch records so far, by work-group and wavefront.
    pub(super) records: BTreeMap<(u32, u32), u32>,
    /// Last error of threads that have one, by work-group and thread.
    pub(super) errors: BTreeMap<(u32, u32), u32>,
    /// What the kernel that runs has launched, in order.
    pub(super) pending: Vec<Pending>,
    /// Memory for arguments that is taken, by address.
    pub(super) buffers: BTreeMap<u64, ArgumentBuffer>,
    /// Memory for arguments that is not, by size.
    pub(super) spare_buffers: BTreeMap<u64, Vec<u64>>,
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
            pending: Vec::new(),
            buffers: BTreeMap::new(),
            spare_buffers: BTreeMap::new(),
            heap: Heap::new(heap_bytes),
            printed: Printed::default(),
            refused: 0,
        }
    }

    /// Another kernel begins.
    pub(super) fn kernel_begins(&mut self, kernel: u32, depth: u32) {
        (self.kernel, self.depth) = (kernel, depth);
        self.default_streams.clear();
        self.records.clear();
        self.errors.clear();
    }

    pub(super) fn new_stream(&mut self) -> u32 {
        let stream = self.next_stream;
        self.next_stream = stream.wrapping_add(1);
        stream
    }
}
