//! Resource demands of a program, where known before it runs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use warpweave_framework::{Facts, Origin, Stated, Unfit};
use warpweave_trace::{KernelTrace, Place};

use crate::memory::AtomicService;
use crate::occupancy::WorkGroupNeeds;

/// Resource demands of a program; a resource of the environment. Compute units and their
/// work-group schedulers reject demands that they cannot meet.
#[derive(Clone, Debug, Default)]
pub struct Demands {
    /// Per-thread demands of the program's kernels.
    pub kernels: Vec<KernelDemand>,
    /// Launches that will run and differ in the resources of their work-groups.
    pub launches: Vec<LaunchDemand>,
    /// Locations of the program's data in global memory.
    pub buffers: Vec<BufferDemand>,
}

/// Launch that the machine must be able to hold.
#[derive(Clone, Debug)]
pub struct LaunchDemand {
    /// The launch; its streams are not read.
    pub launch: Arc<KernelTrace>,
    /// Location in the source where the kernel is launched.
    pub origin: Option<Origin>,
}

/// Selection of launches that differ in the resources of their work-groups.
#[derive(Debug, Default)]
pub struct DistinctLaunches(BTreeSet<(String, [u64; 4], Option<Place>)>);

impl DistinctLaunches {
    /// Returns true if no earlier launch has this kernel, these resources and this placement. A
    /// cooperative or placed launch also needs room for its whole grid.
    pub fn is_new(&mut self, launch: &KernelTrace) -> bool {
        let WorkGroupNeeds {
            wavefronts,
            registers_per_thread,
            local_bytes,
        } = WorkGroupNeeds::of(launch);
        let place = launch.place();
        let together = if launch.is_cooperative() || place.is_some() {
            launch.work_groups()
        } else {
            0
        };
        let name = launch.code.name.clone();
        let numbers = [
            wavefronts.into(),
            registers_per_thread.into(),
            local_bytes,
            together.into(),
        ];
        (self.0).insert((name, numbers, place))
    }
}

/// Resources that one thread of a kernel needs.
#[derive(Clone, Debug)]
pub struct KernelDemand {
    /// Name of the kernel in the program.
    pub name: String,
    /// Bytes of private (PTX `.local`) memory per thread.
    pub private_bytes: u32,
    /// True if its code has atomics on global memory and it is not known yet if they execute.
    pub may_execute_atomics: bool,
    /// Location in the source where the kernel is launched.
    pub origin: Option<Origin>,
}

/// Buffer of the program in global memory.
#[derive(Clone, Debug)]
pub struct BufferDemand {
    /// Name of the buffer in the program.
    pub name: String,
    /// Address of the buffer's first byte in global memory.
    pub base: u64,
    /// Size of the buffer in bytes.
    pub bytes: u64,
    /// Location in the source where the buffer is described.
    pub origin: Option<Origin>,
}

/// Fate of a compute unit's atomics, as the components below it publish.
#[derive(Debug, Default)]
pub(crate) struct AtomicsBelow {
    are_executed: bool,
    refused: Option<Stated>,
}

impl AtomicsBelow {
    pub(crate) fn learn(&mut self, facts: &Facts) {
        match facts.get() {
            Some(AtomicService::Executed) => self.are_executed = true,
            Some(AtomicService::Refused) => self.refused = facts.stated::<AtomicService>(),
            None => {}
        }
    }
}

impl Demands {
    /// Fails if a kernel has atomics and all that is known below the unit refuses them.
    pub(crate) fn fit_atomics(&self, below: &AtomicsBelow) -> Result<(), Unfit> {
        let kernel = self.kernels.iter().find(|k| k.may_execute_atomics);
        let (Some(kernel), Some(refused), false) = (kernel, &below.refused, below.are_executed)
        else {
            return Ok(());
        };
        let name = &kernel.name;
        let message = format!(
            "kernel `{name}` has atomics on global memory, but nothing below the compute unit executes them; place a cache with `atomics: Execute(latency_cycles: n)` above `{}`",
            refused.path()
        );
        Err(Unfit::at("", message)
            .beside("an atomic here ends the run", Some(refused.clone()))
            .beside_origin(format!("`{name}` is launched here"), kernel.origin))
    }

    /// Fails if a unit that offers `offered` bytes of private memory per thread, at the addresses
    /// `private`, cannot meet the demands.
    pub(crate) fn fit(&self, offered: u32, private: &Range<u64>) -> Result<(), Unfit> {
        let neediest = self
            .kernels
            .iter()
            .max_by_key(|kernel| kernel.private_bytes);
        if let Some(kernel) = neediest
            && kernel.private_bytes > offered
        {
            let (name, needed) = (&kernel.name, kernel.private_bytes);
            let message = format!(
                "{offered} bytes, but a thread of kernel `{name}` needs {needed}; raise it to that value, rounded up to a multiple of 4"
            );
            return Err(Unfit::at("private_memory.bytes_per_thread", message)
                .beside_origin(format!("`{name}` is launched here"), kernel.origin));
        }
        let overlaps = |buffer: &&BufferDemand| {
            buffer.base < private.end && private.start < buffer.base.saturating_add(buffer.bytes)
        };
        if let Some(buffer) = self.buffers.iter().find(overlaps) {
            let message = format!(
                "private memory of the unit, {:#x} to {:#x}, overlaps buffer `{}` at {:#x} in global memory",
                private.start, private.end, buffer.name, buffer.base
            );
            let there = format!("`{}` has {} bytes", buffer.name, buffer.bytes);
            return Err(
                Unfit::at("private_memory.base", message).beside_origin(there, buffer.origin)
            );
        }
        Ok(())
    }
}
