//! A complete program: allocations, host commands in order, and kernels.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::launches::{LaunchGraph, check_parents};
use crate::{KernelTrace, TraceError};

/// Trace of a program's host commands and kernels.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Display name of the program in reports.
    pub name: String,
    /// Device memory that the program allocated.
    pub allocations: Vec<Allocation>,
    /// Host commands in the order of the program.
    pub commands: Vec<HostCommand>,
    /// Kernel launches, to which commands refer by index.
    pub kernels: Vec<Arc<KernelTrace>>,
    /// Front end that produced the trace, with its settings.
    pub front_end: FrontEnd,
}

/// Program without its kernels, which a streaming writer receives at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramHead {
    /// Display name of the program in reports.
    pub name: String,
    /// Device memory that the program allocated.
    pub allocations: Vec<Allocation>,
    /// Host commands in the order of the program.
    pub commands: Vec<HostCommand>,
    /// Front end that produced the trace, with its settings.
    pub front_end: FrontEnd,
}

/// Contiguous range of device memory that the program allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Name of the variable or buffer.
    pub name: String,
    /// Device address of the first byte.
    pub base: u64,
    /// Size of the allocation in bytes.
    pub bytes: u64,
}

/// Command that the host program executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostCommand {
    /// Copies host memory into an allocation.
    CopyToDevice {
        allocation: u32,
        /// Byte offset of the copy within the allocation.
        offset: u64,
        /// Number of bytes that are copied.
        bytes: u64,
    },
    /// Copies data from an allocation to host memory.
    CopyToHost {
        allocation: u32,
        /// Byte offset of the copy within the allocation.
        offset: u64,
        /// Number of bytes that are copied.
        bytes: u64,
    },
    /// Launches a kernel. Launches into one stream run in order.
    Launch {
        kernel: u32,
        /// Number of the stream the kernel is launched into.
        stream: u32,
    },
    /// Waits until all earlier launches have finished.
    Synchronize,
}

/// Front end that produced a trace, and the interleaving it emulated. It is part of the content
/// hash, because a program's records may depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEnd {
    pub name: String,
    pub version: String,
    /// Number of work-groups emulated at the same time.
    pub resident_work_groups: u32,
    /// Number of wavefront instructions a work-group executes per turn.
    pub quantum: u32,
    /// Order in which work-groups become resident.
    pub order: WorkGroupOrder,
    /// Seed of the shuffled order, unused by the others.
    pub seed: u64,
}

/// Order in which a front end starts work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkGroupOrder {
    /// Work-groups start in ascending linear number.
    #[default]
    Linear,
    /// Work-groups start in descending linear number.
    Reversed,
    /// Work-groups start in an order shuffled by the seed.
    Shuffled,
}

/// Identifies a program by its contents: BLAKE3 over everything except the storage layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Program {
    /// Checks that commands refer to existing allocations, ranges and kernels, and that the parents
    /// of kernels exist.
    ///
    /// # Errors
    /// Returns [`TraceError::Command`] for the first invalid command. Returns
    /// [`TraceError::Parent`] for a kernel whose parent cannot have launched it.
    pub fn check(&self) -> Result<(), TraceError> {
        check_parents(&self.kernels).map_err(TraceError::Parent)?;
        check_commands(&self.head(), self.kernels.len())
    }

    /// Returns the program's head, without its kernels.
    pub fn head(&self) -> ProgramHead {
        ProgramHead {
            name: self.name.clone(),
            allocations: self.allocations.clone(),
            commands: self.commands.clone(),
            front_end: self.front_end.clone(),
        }
    }

    /// Builds the graph of its device-side launches.
    pub fn launch_graph(&self) -> LaunchGraph {
        LaunchGraph::of(self.kernels.iter().map(|kernel| kernel.parent))
    }
}

/// Checks the commands of a program with this many kernels.
pub(crate) fn check_commands(head: &ProgramHead, kernels: usize) -> Result<(), TraceError> {
    for (position, command) in head.commands.iter().enumerate() {
        check_command(command, &head.allocations, kernels).map_err(|problem| {
            TraceError::Command {
                program: head.name.clone(),
                command: position,
                problem,
            }
        })?;
    }
    Ok(())
}

fn check_command(
    command: &HostCommand,
    allocations: &[Allocation],
    kernels: usize,
) -> Result<(), String> {
    match *command {
        HostCommand::CopyToDevice {
            allocation,
            offset,
            bytes,
        }
        | HostCommand::CopyToHost {
            allocation,
            offset,
            bytes,
        } => {
            let Some(range) = allocations.get(allocation as usize) else {
                return Err(format!(
                    "copies allocation {allocation}, but the program has only {} allocations",
                    allocations.len()
                ));
            };
            if offset
                .checked_add(bytes)
                .is_none_or(|end| end > range.bytes)
            {
                return Err(format!(
                    "copies {bytes} bytes at offset {offset} of {}, which has {} bytes",
                    range.name, range.bytes
                ));
            }
            Ok(())
        }
        HostCommand::Launch { kernel, .. } if kernel as usize >= kernels => Err(format!(
            "launches kernel {kernel}, but the program has only {kernels} kernels"
        )),
        HostCommand::Launch { .. } | HostCommand::Synchronize => Ok(()),
    }
}
