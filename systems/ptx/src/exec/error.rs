//! Errors that can occur while a kernel runs.

use std::fmt;

use warpweave_files::OverBudget;

use crate::address_space::LOCAL_WINDOW;
use crate::exec::EmulationOptions;
use crate::kernel::RefusedKernel;
use crate::launch_limits::WORK_GROUPS_MAX;
use crate::memory::DeviceMemory;
use crate::module::NoKernel;
use crate::ops::Region;
use crate::types::ScalarType;

/// Instruction and thread at which an error occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub kernel: String,
    pub file: String,
    /// Line of the instruction in the PTX file, counted from one.
    pub line: u32,
    pub opcode: String,
    pub work_group: [u32; 3],
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

/// Party whose progress could end a wait in a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// Lanes of the same wavefront, which are waiting for the loop to end.
    LockStep {
        /// Number of lanes that wait for the loop to end.
        lanes: u32,
    },
    /// Work-groups that cannot start until a waiting work-group ends.
    NotStarted {
        /// Number of work-groups that have not started.
        work_groups: usize,
    },
    /// A work-group that started later than the waiting one, and did end the wait.
    Later {
        /// Grid coordinates of the work-group that ended the wait.
        work_group: [u32; 3],
    },
    /// No party can end it: all running wavefronts wait.
    Nobody,
}

/// Advice on grid-wide barriers for the error message.
const GRID_BARRIER: &str = "such a grid-wide barrier passes only if all work-groups are resident; launch the kernel with `cooperative: true`, or end it there and launch another";

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LockStep { lanes } => write!(
                f,
                "while {lanes} lanes of its wavefront wait for the loop to end: lanes run in lock step, so a lock held by one of them is never released"
            ),
            Self::NotStarted { work_groups } => write!(
                f,
                "and {work_groups} work-groups can start only after a waiting one ends: {GRID_BARRIER}"
            ),
            Self::Later {
                work_group: [x, y, z],
            } => write!(
                f,
                "which was changed by work-group ({x}, {y}, {z}), which started later: {GRID_BARRIER}"
            ),
            Self::Nobody => f.write_str("and all running wavefronts wait in the same way"),
        }
    }
}

/// A launch that could not be started or finished.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulationError {
    /// Another thread ended the emulation because its results are no longer needed.
    #[error("the emulation was ended before the program")]
    Abandoned,
    /// The module has no such kernel, or the kernel needs unsupported features.
    #[error(transparent)]
    NoKernel(#[from] NoKernel),
    /// A kernel launched another kernel that needs unsupported features.
    #[error("{place}: {refused}")]
    LaunchRefused {
        /// Instruction and thread that performed the launch.
        place: Box<Place>,
        /// Kernel whose launch was refused, with the reason.
        refused: Box<RefusedKernel>,
    },
    /// The number of arguments differs from the number of parameters.
    #[error("kernel `{kernel}` takes {wanted} arguments, but {found} were given")]
    ArgumentCount {
        kernel: String,
        /// Number of parameters that the kernel declares.
        wanted: usize,
        /// Number of arguments that the launch passed.
        found: usize,
    },
    /// The size of an argument does not match its parameter.
    #[error(
        "kernel `{kernel}`: argument {index} (`{parameter}`, {ty}) takes {wanted} bytes, but {found} were given"
    )]
    ArgumentSize {
        kernel: String,
        /// Position of the argument, counted from zero.
        index: usize,
        parameter: String,
        /// Element type of the parameter as declared.
        ty: ScalarType,
        /// Size of the parameter in bytes.
        wanted: u32,
        /// Size of the argument passed, in bytes.
        found: usize,
    },
    /// The launch has a grid or work-group shape that is not allowed.
    #[error("kernel `{kernel}`: {problem}")]
    Launch {
        kernel: String,
        /// Description of the limit that the launch violates.
        problem: String,
    },
    /// An `.extern` variable has no definition in any module.
    #[error("kernel `{kernel}`: no module defines the external variable `{variable}`")]
    UndefinedVariable { kernel: String, variable: String },
    /// A memory access is outside its memory, misaligned, or uses an invalid texture; or a call or
    /// branch has no valid target.
    #[error("{place}: {problem}")]
    Memory {
        place: Box<Place>,
        /// Address, or texture number, as computed by the instruction.
        address: u64,
        /// Description of the fault and of nearby allocations.
        problem: String,
    },
    /// The program executed a `trap` instruction.
    #[error("{place}: the program trapped")]
    Trap { place: Box<Place> },
    /// An assertion in the program failed.
    #[error("{place}: assertion failed: {said}")]
    Assertion {
        place: Box<Place>,
        /// File, line, function and expression, as reported by the program.
        said: String,
    },
    /// The program called a function that the module declares and does not define.
    #[error("{place}: the function `{name}` has no body in this module{}", .nearest.map_or(String::new(), |n| format!("\nhint: did you mean `{n}`?")))]
    NoBody {
        place: Box<Place>,
        /// Name of the called function.
        name: String,
        /// Similar name of a runtime function, if there is one.
        nearest: Option<&'static str>,
    },
    /// Kernels launched more kernels than the limit allows.
    #[error(
        "{place}: the program has launched {kernels} kernels, which is the limit; a kernel may launch itself without end"
    )]
    Launches {
        place: Box<Place>,
        /// Maximum number of kernels of a program.
        kernels: u32,
    },
    /// The call depth of a thread exceeds the limit.
    #[error("{place}: more than {depth} nested calls; raise `call_depth` if this is intended")]
    CallDepth {
        place: Box<Place>,
        /// Maximum number of nested calls allowed.
        depth: u32,
    },
    /// All resident wavefronts wait at a barrier that others do not reach.
    #[error("{file}: kernel `{kernel}` is stuck at barriers: {}", .waiting.join("; "))]
    Deadlock {
        file: String,
        kernel: String,
        /// Description of each waiting wavefront, one line each.
        waiting: Vec<String>,
    },
    /// A wavefront spins for a change that never occurs, or that depends on work-group residency.
    #[error("{place}: waits in a loop for memory to change ({word}), {wait}")]
    Spin {
        /// An instruction of the loop, and a thread that waits.
        place: Box<Place>,
        /// Description of the word read, relative to its allocation.
        word: String,
        /// Party that could end the wait.
        wait: Wait,
    },
    /// Wavefronts execute instructions, but no state changes.
    #[error(
        "{place}: no store, successful atomic, barrier or exit in {steps} wavefront instructions; possibly a spin loop whose partner cannot run (lanes of a wavefront run in lock step, and only resident work-groups run)"
    )]
    NoProgress {
        /// Position of one of the spinning wavefronts.
        place: Box<Place>,
        /// Number of wavefront instructions executed without effect.
        steps: u64,
    },
    /// The launch exceeds the instruction limit.
    #[error(
        "{place}: stopped after {steps} wavefront instructions; raise `step_limit` to continue"
    )]
    StepLimit {
        /// Position of one of the running wavefronts.
        place: Box<Place>,
        /// Number of wavefront instructions executed so far.
        steps: u64,
    },
    /// The trace records of the launch exceed the size limit.
    #[error(
        "{file}: kernel `{kernel}` has written {written} bytes of records, more than the {limit} \
         allowed; raise `emulation.stream_bytes` if this is intended"
    )]
    StreamBytes {
        kernel: String,
        file: String,
        /// Bytes of records written when the launch was stopped.
        written: u64,
        /// Maximum size of the records, in bytes.
        limit: u64,
    },
    /// The launch exceeds the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// The temporary file for a launch with many records cannot be written.
    #[error("cannot write the records of a launch to a temporary file: {0}")]
    Disk(String),
    /// The trace writer rejected the records.
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

/// Kind of fault in the current instruction.
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
    /// Access outside a memory of `size` bytes that starts at zero.
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
    /// Barrier of a number of threads that cannot take part.
    BarrierThreads {
        threads: u32,
        /// Threads of the work-group in whole wavefronts.
        counted: u64,
    },
    /// Invalid use of the texture with number `value`.
    Texture {
        value: u64,
        problem: String,
    },
    Trap,
    Assertion {
        said: String,
    },
    /// A `free` of memory that is not allocated from the heap.
    NotTaken {
        address: u64,
    },
    CallDepth,
    /// `alloca` exceeds the stack of a thread.
    StackFull {
        bytes: u64,
    },
    /// Call whose frame exceeds the private memory that a thread can address.
    FrameTooLarge {
        bytes: u64,
    },
    /// Indirect call through a register that holds no function of the prototype.
    CallTarget {
        address: u64,
    },
    /// Branch index outside the `.branchtargets` list.
    BranchIndex {
        index: u32,
        targets: usize,
    },
    /// Call of a function that the module declares and does not define.
    Missing {
        name: String,
        /// Similar name of a runtime function, if there is one.
        nearest: Option<&'static str>,
    },
    /// Launch from the device of more work-groups than are emulated.
    TooManyWorkGroups {
        work_groups: u64,
    },
    /// Launch into a stream that only graphs have.
    GraphStream {
        name: &'static str,
    },
    /// Wait of a stream for kernels of another stream.
    EventAcrossStreams,
    /// Launch from the device beyond the limit of kernels.
    TooManyLaunches {
        kernels: u32,
    },
    /// Memory that the launch needs exceeds the budget.
    OverBudget(OverBudget),
    /// Launch of a kernel that needs unsupported features.
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

    pub(super) fn into_error(
        self,
        place: Box<Place>,
        memory: &DeviceMemory,
        options: &EmulationOptions,
    ) -> EmulationError {
        let nearest = |address| memory.nearest(address);
        let (address, problem) = match self.kind {
            FaultKind::Trap => return EmulationError::Trap { place },
            FaultKind::LaunchRefused(refused) => {
                return EmulationError::LaunchRefused { place, refused };
            }
            FaultKind::Missing { name, nearest } => {
                return EmulationError::NoBody {
                    place,
                    name,
                    nearest,
                };
            }
            FaultKind::Assertion { said } => return EmulationError::Assertion { place, said },
            FaultKind::OverBudget(error) => {
                let what = format!(
                    "{} ({}:{}, kernel `{}`)",
                    error.what, place.file, place.line, place.kernel
                );
                return EmulationError::OverBudget(OverBudget { what, ..error });
            }
            FaultKind::TooManyLaunches { kernels } => {
                return EmulationError::Launches { place, kernels };
            }
            FaultKind::CallDepth => {
                return EmulationError::CallDepth {
                    place,
                    depth: options.call_depth,
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
            FaultKind::BarrierThreads { threads, counted } => (
                u64::from(threads),
                format!(
                    "a barrier of {threads} threads; the number must be a multiple of 32, from 32 to \
                     the {counted} of the work-group"
                ),
            ),
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
                    "`free` of address {address:#x}, which was not returned by `malloc` or was freed before"
                ),
            ),
            FaultKind::StackFull { bytes } => (
                bytes,
                format!("`alloca` of {bytes} bytes exceeds the remaining private memory"),
            ),
            FaultKind::FrameTooLarge { bytes } => (
                bytes,
                format!(
                    "with this call a thread needs {bytes} bytes of private memory; at most {} can be addressed",
                    LOCAL_WINDOW.end - LOCAL_WINDOW.start
                ),
            ),
            FaultKind::CallTarget { address } => (
                address,
                format!(
                    "a call to address {address:#x}, which is not a function whose address is taken and whose prototype matches the call"
                ),
            ),
            FaultKind::BranchIndex { index, targets } => (
                u64::from(index),
                format!("a branch to target {index}, but there are {targets} targets"),
            ),
            FaultKind::TooManyWorkGroups { work_groups } => (
                work_groups,
                format!(
                    "a launch of {work_groups} work-groups; at most {WORK_GROUPS_MAX} are emulated"
                ),
            ),
            FaultKind::GraphStream { name } => (
                0,
                format!("a launch into stream `{name}`, but launches of graphs are not supported"),
            ),
            FaultKind::EventAcrossStreams => (
                0,
                "`cudaStreamWaitEvent` makes a stream wait for kernels of another stream, which is not supported: kernels launched from the device are ordered within one stream".to_owned(),
            ),
            FaultKind::ReadOnly { address } => (
                address,
                format!("write to read-only parameter offset {address:#x}"),
            ),
            FaultKind::NoSuchSpace { address } => (
                address,
                format!(
                    "generic address {address:#x} is in no state space; nearest allocation is {}",
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
