//! What can go wrong while a kernel runs.

use std::fmt;

use warpweave_files::OverBudget;

use crate::exec::Machine;
use crate::exec::observe::Observer;
use crate::module::{NoKernel, RefusedKernel};
use crate::ops::Region;
use crate::types::ScalarType;

/// Where in the program, and which thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Kernel launched.
    pub kernel: String,
    /// PTX file.
    pub file: String,
    /// Line of the instruction.
    pub line: u32,
    /// Full opcode of the instruction.
    pub opcode: String,
    /// Work-group coordinates.
    pub work_group: [u32; 3],
    /// Thread coordinates in the work-group.
    pub thread: [u32; 3],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([gx, gy, gz], [x, y, z]) = (self.work_group, self.thread);
        write!(
            f,
            "{}:{}: `{}` in kernel `{}`, work-group ({gx}, {gy}, {gz}), thread ({x}, {y}, {z})",
            self.file, self.line, self.opcode, self.kernel
        )
    }
}

/// Who could end a wait in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Lanes of the same wavefront, which wait for the loop to end.
    LockStep {
        /// How many.
        lanes: u32,
    },
    /// Work-groups that start when one of those ends that wait.
    NotStarted {
        /// How many.
        work_groups: usize,
    },
    /// A work-group did that started after the one that waits.
    Later {
        /// Its coordinates.
        work_group: [u32; 3],
    },
    /// Nobody: all wavefronts that run wait.
    Nobody,
}

/// What to do about a barrier of the whole grid.
const GRID_BARRIER: &str = "such a barrier of the whole grid passes only where all work-groups are resident, \
                            which no system promises; end the kernel there and launch another";

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LockStep { lanes } => write!(
                f,
                "while {lanes} lanes of its wavefront wait for the loop to end: lanes run in lock step, so that a \
                 lock which one of them holds never opens"
            ),
            Self::NotStarted { work_groups } => write!(
                f,
                "and {work_groups} work-groups start only when one that waits ends: {GRID_BARRIER}"
            ),
            Self::Later {
                work_group: [x, y, z],
            } => write!(
                f,
                "which work-group ({x}, {y}, {z}) changed that started later: {GRID_BARRIER}"
            ),
            Self::Nobody => f.write_str("and all wavefronts that run wait like this"),
        }
    }
}

/// A launch that could not be started or finished.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// The module has no such kernel, or it reaches what is not supported.
    #[error(transparent)]
    NoKernel(#[from] NoKernel),
    /// A kernel launched one that reaches what is not supported.
    #[error("{place}: {refused}")]
    LaunchRefused {
        /// Instruction and thread that launched it.
        place: Box<Place>,
        /// What was launched.
        refused: Box<RefusedKernel>,
    },
    /// Too few or too many arguments.
    #[error("kernel `{kernel}` takes {wanted} arguments, {found} were given")]
    ArgumentCount {
        /// Kernel launched.
        kernel: String,
        /// Parameters of the kernel.
        wanted: usize,
        /// Arguments given.
        found: usize,
    },
    /// An argument of the wrong size.
    #[error(
        "kernel `{kernel}`: argument {index} (`{parameter}`, {ty}) takes {wanted} bytes, {found} \
         were given"
    )]
    ArgumentSize {
        /// Kernel launched.
        kernel: String,
        /// Position of the argument, from zero.
        index: usize,
        /// Name of the parameter.
        parameter: String,
        /// Its element type.
        ty: ScalarType,
        /// Its size in bytes.
        wanted: u32,
        /// Bytes of the argument given.
        found: usize,
    },
    /// An impossible shape.
    #[error("kernel `{kernel}`: {problem}")]
    Launch {
        /// Kernel launched.
        kernel: String,
        /// What is impossible about it.
        problem: String,
    },
    /// An `.extern` variable that nobody defined.
    #[error("kernel `{kernel}`: no module defines the external variable `{variable}`")]
    UndefinedVariable {
        /// Kernel launched.
        kernel: String,
        /// Name of the variable.
        variable: String,
    },
    /// An access outside memory, or misaligned, or through what is no texture for it; a call or branch
    /// to where nothing is.
    #[error("{place}: {problem}")]
    Memory {
        /// Instruction and thread.
        place: Box<Place>,
        /// Address, or number of a texture, as the instruction computed it.
        address: u64,
        /// What is wrong with the address, and what lies near it.
        problem: String,
    },
    /// The program executed `trap`.
    #[error("{place}: the program trapped")]
    Trap {
        /// Instruction and thread.
        place: Box<Place>,
    },
    /// An assertion of the program does not hold.
    #[error("{place}: assertion failed: {said}")]
    Assertion {
        /// Instruction and thread.
        place: Box<Place>,
        /// File, line, function and expression, as the program says.
        said: String,
    },
    /// Recursion deeper than allowed.
    #[error("{place}: more than {depth} nested calls; raise `call_depth` if this is intended")]
    CallDepth {
        /// Instruction and thread.
        place: Box<Place>,
        /// The limit.
        depth: u32,
    },
    /// Every resident wavefront waits at a barrier that others do not reach.
    #[error("{file}: kernel `{kernel}` is stuck at barriers: {}", .waiting.join("; "))]
    Deadlock {
        /// PTX file.
        file: String,
        /// Kernel launched.
        kernel: String,
        /// One line per waiting wavefront.
        waiting: Vec<String>,
    },
    /// A wavefront waits in a loop for what does not come, or comes only as residency has it.
    #[error("{place}: waits in a loop for memory to change ({word}), {wait}")]
    Spin {
        /// An instruction of the loop, and a thread that waits.
        place: Box<Place>,
        /// What it reads, by the allocation.
        word: String,
        /// Who could end the wait.
        wait: Wait,
    },
    /// Wavefronts run but nothing changes.
    #[error(
        "{place}: no store, successful atomic, barrier or exit in {steps} wavefront instructions; \
         a spin loop whose partner cannot run? (lanes of a wavefront run in lock step, and only \
         resident work-groups run)"
    )]
    NoProgress {
        /// Where one of the spinning wavefronts is.
        place: Box<Place>,
        /// Instructions executed without effect.
        steps: u64,
    },
    /// The launch is longer than allowed.
    #[error("{place}: stopped after {steps} wavefront instructions; raise `step_limit` to go on")]
    StepLimit {
        /// Where one of the wavefronts is.
        place: Box<Place>,
        /// Instructions executed.
        steps: u64,
    },
    /// The records of the launch take more room than allowed.
    #[error(
        "{file}: kernel `{kernel}` has written {written} bytes of records, more than the {limit} \
         allowed; raise `emulation.stream_bytes` if this is intended"
    )]
    StreamBytes {
        /// Kernel launched.
        kernel: String,
        /// PTX file.
        file: String,
        /// Bytes written when it was stopped.
        written: u64,
        /// The limit.
        limit: u64,
    },
    /// The launch takes more memory than there may be.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The temporary file of a launch with many records cannot be written.
    #[error("the records of a launch go to a temporary file: {0}")]
    Disk(String),
    /// The trace refused what was written.
    #[error("trace of a launch: {0}")]
    Trace(String),
}

impl From<warpweave_trace::TraceError> for EmulationError {
    fn from(error: warpweave_trace::TraceError) -> Self {
        match error {
            warpweave_trace::TraceError::OverBudget(error) => error.into(),
            warpweave_trace::TraceError::Write(error) => Self::Disk(error.to_string()),
            error => Self::Trace(error.to_string()),
        }
    }
}

/// What went wrong in the current instruction.
#[derive(Debug)]
pub(super) enum FaultKind {
    Misaligned {
        address: u64,
        bytes: u32,
    },
    OutsideDevice {
        address: u64,
        bytes: u32,
    },
    /// Of a memory of `size` bytes that starts at zero.
    Outside {
        region: Region,
        address: u64,
        bytes: u32,
        size: u32,
    },
    ReadOnly {
        address: u64,
    },
    NoSuchSpace {
        address: u64,
    },
    BarrierNumber {
        number: u32,
    },
    /// Of the texture that `value` names.
    Texture {
        value: u64,
        problem: String,
    },
    Trap,
    Assertion {
        said: String,
    },
    /// Memory given back to the heap that was not taken from it.
    NotTaken {
        address: u64,
    },
    CallDepth,
    /// `alloca` of more than a thread has.
    StackFull {
        bytes: u64,
    },
    /// A call through a register that holds no function of the prototype.
    CallTarget {
        address: u64,
    },
    /// A number that `.branchtargets` does not have.
    BranchIndex {
        index: u32,
        targets: usize,
    },
    /// A launch of a kernel that reaches what is not supported.
    LaunchRefused(Box<RefusedKernel>),
}

#[derive(Debug)]
pub(super) struct Fault {
    pub(super) lane: Option<u32>,
    pub(super) kind: FaultKind,
}

impl Fault {
    pub(super) fn at(lane: usize, kind: FaultKind) -> Self {
        Self {
            lane: Some(lane as u32),
            kind,
        }
    }

    pub(super) fn into_error<O: Observer>(
        self,
        place: Box<Place>,
        machine: &Machine<'_, O>,
    ) -> EmulationError {
        let nearest = |address| machine.memory.nearest(address);
        let (address, problem) = match self.kind {
            FaultKind::Trap => return EmulationError::Trap { place },
            FaultKind::LaunchRefused(refused) => {
                return EmulationError::LaunchRefused { place, refused };
            }
            FaultKind::Assertion { said } => return EmulationError::Assertion { place, said },
            FaultKind::CallDepth => {
                return EmulationError::CallDepth {
                    place,
                    depth: machine.options.call_depth,
                };
            }
            FaultKind::BarrierNumber { number } => {
                let problem = format!("barrier {number} does not exist; there are 16");
                return EmulationError::Memory {
                    place,
                    address: u64::from(number),
                    problem,
                };
            }
            FaultKind::Texture { value, problem } => (value, problem),
            FaultKind::Misaligned { address, bytes } => (
                address,
                format!("{bytes}-byte access to address {address:#x} is misaligned"),
            ),
            FaultKind::OutsideDevice { address, bytes } => (
                address,
                format!(
                    "{bytes}-byte access to address {address:#x} is outside every allocation; \
                     nearest is {}",
                    nearest(address)
                ),
            ),
            FaultKind::Outside {
                region,
                address,
                bytes,
                size,
            } => {
                let (place, whole) = match region {
                    Region::Shared => ("work-group address", "the work-group"),
                    Region::Param => ("parameter offset", "arguments"),
                    _ => ("private address", "the thread"),
                };
                let problem = format!(
                    "{bytes}-byte access to {place} {address:#x} is outside the {size} bytes of \
                     {whole}"
                );
                (address, problem)
            }
            FaultKind::NotTaken { address } => (
                address,
                format!(
                    "`free` of address {address:#x}, which `malloc` did not return or which was freed before"
                ),
            ),
            FaultKind::StackFull { bytes } => (
                bytes,
                format!("`alloca` of {bytes} bytes, more than the private memory that is left"),
            ),
            FaultKind::CallTarget { address } => (
                address,
                format!(
                    "a call of address {address:#x}, which is no function whose address is taken and that has \
                     the prototype of the call"
                ),
            ),
            FaultKind::BranchIndex { index, targets } => (
                u64::from(index),
                format!("a branch to target {index} of {targets}"),
            ),
            FaultKind::ReadOnly { address } => {
                (address, format!("write to parameter offset {address:#x}"))
            }
            FaultKind::NoSuchSpace { address } => (
                address,
                format!(
                    "generic address {address:#x} is in no memory; nearest allocation is {}",
                    nearest(address)
                ),
            ),
        };
        EmulationError::Memory {
            place,
            address,
            problem,
        }
    }
}
