//! A whole program: allocations, host commands in order, kernels.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::launches::check_parents;
use crate::{KernelTrace, TraceError};

/// What a program did on the host and on the device.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// Name for people.
    pub name: String,
    /// Device memory the program asked for.
    pub allocations: Vec<Allocation>,
    /// Host commands in program order.
    pub commands: Vec<HostCommand>,
    /// Kernel launches that commands refer to.
    pub kernels: Vec<Arc<KernelTrace>>,
    /// What produced the trace.
    pub front_end: FrontEnd,
}

/// A program without its kernels: what a streaming writer is told at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramHead {
    /// Name for people.
    pub name: String,
    /// Device memory the program asked for.
    pub allocations: Vec<Allocation>,
    /// Host commands in program order.
    pub commands: Vec<HostCommand>,
    /// What produced the trace.
    pub front_end: FrontEnd,
}

/// A range of device memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// Name of the variable or buffer.
    pub name: String,
    /// Device address of the first byte.
    pub base: u64,
    /// Size.
    pub bytes: u64,
}

/// Something the host did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostCommand {
    /// Copies host memory into an allocation.
    CopyToDevice {
        /// Index into [`Program::allocations`].
        allocation: u32,
        /// First byte inside the allocation.
        offset: u64,
        /// Bytes copied.
        bytes: u64,
    },
    /// Copies from an allocation to host memory.
    CopyToHost {
        /// Index into [`Program::allocations`].
        allocation: u32,
        /// First byte inside the allocation.
        offset: u64,
        /// Bytes copied.
        bytes: u64,
    },
    /// Launches a kernel; launches of one stream run in order.
    Launch {
        /// Index into [`Program::kernels`].
        kernel: u32,
        /// Stream number.
        stream: u32,
    },
    /// Waits for everything launched so far.
    Synchronize,
}

/// The front end that produced a trace and the interleaving it emulated. It is part of the
/// content hash, because a program's records may depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontEnd {
    /// Name, such as `ptx`.
    pub name: String,
    /// Version.
    pub version: String,
    /// Work-groups emulated side by side.
    pub resident_work_groups: u32,
    /// Wavefront instructions a work-group advances per turn.
    pub quantum: u32,
    /// Order in which work-groups become resident.
    pub order: WorkGroupOrder,
    /// Seed of the shuffled order.
    pub seed: u64,
}

/// Order in which a front end starts work-groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkGroupOrder {
    /// By linear number.
    #[default]
    Linear,
    /// By linear number, last first.
    Reversed,
    /// Shuffled by the seed.
    Shuffled,
}

/// Names a program by what it does: BLAKE3 over everything but the way it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ContentHash(pub [u8; 32]);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Program {
    /// Checks that commands name allocations, ranges and kernels that exist, and kernels parents that do.
    ///
    /// # Errors
    /// [`TraceError::Command`] for the first command that does not; [`TraceError::Parent`] for a kernel whose
    /// parent cannot have launched it.
    pub fn check(&self) -> Result<(), TraceError> {
        check_parents(&self.kernels).map_err(TraceError::Parent)?;
        check_commands(&self.head(), self.kernels.len())
    }

    /// The program without its kernels.
    pub fn head(&self) -> ProgramHead {
        ProgramHead {
            name: self.name.clone(),
            allocations: self.allocations.clone(),
            commands: self.commands.clone(),
            front_end: self.front_end.clone(),
        }
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
                    "copies allocation {allocation}, but the program has {}",
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
            "launches kernel {kernel}, but the program has {kernels}"
        )),
        HostCommand::Launch { .. } | HostCommand::Synchronize => Ok(()),
    }
}
