//! Functional execution: launches a kernel, interleaves its work-groups and writes the trace.

mod access;
mod addressing;
mod atomic;
mod barrier;
mod checker;
mod compute;
mod constants;
pub(crate) mod convert;
mod datapath;
mod error;
mod events;
mod exchange;
mod external;
mod family;
mod frame;
mod full_wavefront;
mod gather;
mod heap;
mod memory_path;
mod nested;
mod observe;
mod preparation;
mod print;
mod registers;
mod run;
mod sample;
mod scalar;
mod schedule;
mod soft;
mod spin;
mod stack;
mod streams;
mod texture;
mod watch;
mod wavefront;

use std::sync::Arc;

use warpweave_files::Budget;
use warpweave_trace::{Ahead, Attribute, KernelTrace, KernelWriter, Parent};

use crate::exec::constants::Constants;
use crate::exec::datapath::Datapath;
use crate::exec::family::{Pending, Runtime};
use crate::exec::memory_path::MemoryPath;
use crate::exec::observe::{Observer, Start, Unobserved};
use crate::exec::preparation::{
    WORKSPACE_BYTES, answers, arguments, check_launch, place, resident_bytes,
};
use crate::exec::registers::SpareRegisters;
use crate::exec::schedule::{Records, schedule};
use crate::exec::watch::WatchedWord;
use crate::exec::wavefront::{Answers, Wavefront};
use crate::kernel::{Kernel, Parameter};
use crate::memory::DeviceMemory;
use crate::module::Module;

pub use crate::exec::checker::{
    AccessSite, Finding, FindingKind, ProgramChecker, SourcePlace, Verdict,
};
pub use crate::exec::error::{EmulationError, Place, Wait};
pub use crate::exec::family::{Family, Numbers};
pub use crate::exec::observe::LaunchCounts;
pub use crate::exec::print::Printed;

/// Shape and arguments of a kernel launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig<'a> {
    /// Number of work-groups along each axis.
    pub grid: [u32; 3],
    /// Number of threads of a work-group along each axis.
    pub block: [u32; 3],
    /// Dynamic local memory in bytes, used by `extern .shared` arrays.
    pub dynamic_local_bytes: u32,
    /// Kernel arguments, one for each parameter in order.
    pub args: &'a [KernelArgument],
}

impl LaunchConfig<'_> {
    fn wavefronts_per_group(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(32)
    }

    /// Returns the coordinates of a work-group, given its linear number.
    fn group_id(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.grid;
        [number % x, number / x % y, number / x / y]
    }
}

/// One kernel argument; its size must match the parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum KernelArgument {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    S32(i32),
    S64(i64),
    F32(f32),
    F64(f64),
    /// Device address; fills a 32- or 64-bit parameter.
    Pointer(u64),
    /// Bytes of a value or of a structure passed by value.
    Bytes(Vec<u8>),
}

impl KernelArgument {
    /// Returns the address if the argument is a pointer.
    fn pointer(&self) -> Option<u64> {
        match self {
            Self::Pointer(address) => Some(*address),
            _ => None,
        }
    }

    /// Returns the argument's bytes in the argument block; a pointer takes the `wanted` bytes of
    /// its parameter.
    pub fn bytes(&self, wanted: u32) -> Vec<u8> {
        match self {
            Self::U8(value) => value.to_le_bytes().to_vec(),
            Self::U16(value) => value.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::S32(value) => value.to_le_bytes().to_vec(),
            Self::S64(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
            Self::Pointer(value) if wanted == 4 && u32::try_from(*value).is_ok() => {
                (*value as u32).to_le_bytes().to_vec()
            }
            Self::U64(value) | Self::Pointer(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// Start order of work-groups, and turn order of wavefronts within a work-group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Ascending order of their linear numbers.
    #[default]
    Linear,
    /// Descending order of their linear numbers.
    Reversed,
    /// Pseudo-random permutation derived from the seed.
    Shuffled(u64),
}

/// Interleaving and limits of the emulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationOptions {
    /// Maximum number of work-groups in flight.
    pub resident_work_groups: u32,
    /// Number of instructions that a wavefront executes before the next one runs.
    pub quantum: u32,
    /// Order in which work-groups and wavefronts run.
    pub order: Order,
    /// Maximum number of wavefront instructions in a launch.
    pub step_limit: u64,
    /// Maximum number of wavefront instructions without a memory change, barrier or exit. Beyond
    /// it, the launch counts as stuck in a spin loop.
    pub stall_limit: u64,
    /// Maximum number of nested device function calls of a thread.
    pub call_depth: u32,
    /// Maximum size of the trace records of a launch, in bytes.
    pub stream_bytes: u64,
    /// Size in bytes of the device heap for kernel allocations.
    pub heap_bytes: u64,
    /// True for a cooperative launch: all its work-groups are in flight, so they may wait for each
    /// other. Kernels launched from the device are not cooperative.
    pub is_cooperative: bool,
    /// Placement of a launch whose kernel asks where its work-groups run. Other kernels ignore it,
    /// and kernels launched from the device have none.
    pub place: Option<warpweave_trace::Place>,
}

impl Default for EmulationOptions {
    fn default() -> Self {
        Self {
            resident_work_groups: 60,
            quantum: 32,
            order: Order::Linear,
            step_limit: 1 << 34,
            // Long enough for hundreds of wavefronts that compute for long between stores.
            stall_limit: 1 << 25,
            call_depth: 64,
            stream_bytes: 4 << 30,
            // The runtime's default.
            heap_bytes: 8 << 20,
            is_cooperative: false,
            place: None,
        }
    }
}

impl EmulationOptions {
    /// Returns the maximum number of work-groups in flight, of a launch of `work_groups`.
    fn resident(&self, work_groups: u64) -> u64 {
        if self.is_cooperative {
            work_groups
        } else {
            self.resident_work_groups.into()
        }
    }
}

/// Executes a kernel on `memory` and returns its trace.
///
/// # Errors
/// Fails as described at [`EmulationError`]. Memory keeps everything written before the error.
pub fn launch(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    memory: &mut DeviceMemory,
    options: &EmulationOptions,
) -> Result<KernelTrace, EmulationError> {
    let numbers = &mut Numbers::default();
    let unwatched = LaunchWatch::default();
    let family = launch_family(module, kernel, config, memory, options, numbers, unwatched)?;
    let mut kernels = family.kernels;
    match (kernels.pop(), kernels.len()) {
        (Some(trace), 0) => Ok(trace),
        (_, more) => Err(EmulationError::Launch {
            kernel: kernel.to_owned(),
            problem: format!(
                "it launched {more} kernels from the device; use `launch_family` to get their traces"
            ),
        }),
    }
}

/// Observers of a launch while it is being emulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchWatch<'w> {
    /// Counts that are updated during the launch.
    pub counts: Option<&'w LaunchCounts>,
    /// Trace from [`foresee`] whose streams may already be in simulation; only for kernels that
    /// launch no child kernels.
    pub foreseen: Option<&'w KernelTrace>,
}

/// Returns a launch without its streams, which are filled in during simulation
/// ([`LaunchWatch::foreseen`]).
///
/// # Errors
/// Returns the errors of [`launch`] that can be detected before execution.
pub fn foresee(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    options: &EmulationOptions,
    ahead: &Ahead,
) -> Result<KernelTrace, EmulationError> {
    let kernel = module.kernel(kernel)?;
    let arguments = arguments(kernel, config.args)?;
    check_launch(kernel, &config, options)?;
    let code = Arc::clone(kernel.code());
    let local = config.dynamic_local_bytes;
    let (grid, block) = (config.grid, config.block);
    Ok(ahead.launch(code, grid, block, local, arguments)?)
}

/// Executes a kernel like [`launch`], together with its child kernels, numbered from `numbers` on.
/// Notifies the observers in `watch`.
///
/// # Errors
/// Fails under the same conditions as [`launch`].
pub fn launch_family(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    memory: &mut DeviceMemory,
    options: &EmulationOptions,
    numbers: &mut Numbers,
    watch: LaunchWatch<'_>,
) -> Result<Family, EmulationError> {
    let LaunchWatch { counts, foreseen } = watch;
    let mut observer = Unobserved { counts, foreseen };
    family(
        module,
        kernel,
        config,
        memory,
        options,
        numbers,
        &mut observer,
    )
}

/// Emulates a kernel and then its descendants, one after another.
fn family(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    memory: &mut DeviceMemory,
    options: &EmulationOptions,
    numbers: &mut Numbers,
    observer: &mut impl Observer,
) -> Result<Family, EmulationError> {
    let mut runtime = Runtime::new(*numbers, options.heap_bytes);
    let mut kernels: Vec<KernelTrace> = Vec::new();
    let mut graph: Vec<u32> = Vec::new();
    // The next one last.
    let mut pending: Vec<Pending> = Vec::new();
    let mut left = *options;
    let mut grid = Grid {
        kernel: module.kernel(kernel)?,
        config,
        parent: None,
    };
    let mut arguments;
    loop {
        let number = numbers.kernel.wrapping_add(kernels.len() as u32);
        let depth = grid.parent.map_or(0, |parent: Parent| {
            graph[parent.kernel.wrapping_sub(numbers.kernel) as usize] + 1
        });
        runtime.kernel_begins(number, depth);
        let (trace, steps) = emulate(module, &grid, memory, &left, &mut runtime, observer)?;
        left.is_cooperative = false;
        left.place = None;
        left.step_limit = left.step_limit.saturating_sub(steps);
        left.stream_bytes = left.stream_bytes.saturating_sub(trace.stream_bytes());
        kernels.push(trace);
        graph.push(depth);
        pending.extend(runtime.take_launched().rev());
        let Some(next) = pending.pop() else {
            break;
        };
        observer.child_starts();
        let child = module.kernel_at(next.function);
        let child = child.expect("the kernel existed when it was launched");
        arguments = pieces(child, &next.arguments, memory);
        grid = Grid {
            kernel: child,
            config: LaunchConfig {
                grid: next.grid,
                block: next.block,
                dynamic_local_bytes: next.dynamic_local_bytes,
                args: &arguments,
            },
            parent: Some(next.parent),
        };
    }
    numbers.kernel = numbers.kernel.wrapping_add(kernels.len() as u32);
    numbers.stream = runtime.next_stream;
    Ok(Family {
        kernels,
        printed: runtime.printed,
        refused: runtime.refused,
    })
}

/// Splits an argument block into arguments. A value that is an address inside an allocation is
/// assumed to be a pointer.
fn pieces(kernel: &Kernel, block: &[u8], memory: &DeviceMemory) -> Vec<KernelArgument> {
    let piece = |parameter: &Parameter| {
        let start = parameter.offset as usize;
        let bytes = &block[start..start + parameter.bytes as usize];
        let pointer = <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes).ok();
        match pointer.filter(|address| memory.read(*address, 0).is_ok()) {
            Some(address) => KernelArgument::Pointer(address),
            None => KernelArgument::Bytes(bytes.to_vec()),
        }
    };
    kernel.parameters().iter().map(piece).collect()
}

/// Launch of one kernel of a family.
struct Grid<'g> {
    kernel: &'g Kernel,
    config: LaunchConfig<'g>,
    parent: Option<Parent>,
}

/// Emulates one kernel; returns its trace and its number of wavefront instructions.
fn emulate(
    module: &Module,
    grid: &Grid<'_>,
    memory: &mut DeviceMemory,
    options: &EmulationOptions,
    runtime: &mut Runtime,
    observer: &mut impl Observer,
) -> Result<(KernelTrace, u64), EmulationError> {
    let Grid {
        kernel,
        config,
        parent,
    } = *grid;
    memory
        .load(module)
        .map_err(|variable| EmulationError::UndefinedVariable {
            kernel: kernel.name().to_owned(),
            variable,
        })?;
    let arguments = arguments(kernel, config.args)?;
    check_launch(kernel, &config, options)?;
    let mut writer = KernelWriter::new(
        Arc::clone(kernel.code()),
        config.grid,
        config.block,
        config.dynamic_local_bytes,
        arguments.clone(),
    )?
    .charged_to(memory.ledger());
    if options.is_cooperative {
        writer = writer.saying(Attribute::new(Attribute::COOPERATIVE, 1));
    }
    for attribute in place(kernel, options)
        .iter()
        .flat_map(warpweave_trace::Place::attributes)
    {
        writer = writer.saying(attribute);
    }
    if let Some(parent) = parent {
        writer = writer.launched_by(parent);
    } else if let Some(foreseen) = observer.foreseen() {
        writer = writer.ahead_as(foreseen);
    }
    let budget = memory.ledger().budget();
    let charge = budget.charge(
        &format!("emulating kernel `{}`", kernel.name()),
        resident_bytes(kernel, &config, options),
    )?;
    let answers = answers(kernel, options, memory)?;
    observer.launch_starts(&Start {
        module,
        kernel,
        config: &config,
        memory,
    });
    if answers.workspace != 0 {
        observer.runtime_filled(answers.workspace, WORKSPACE_BYTES);
    }
    let addresses = memory.variables(module);
    let constants = Constants::new(kernel, addresses);
    let mut machine = Machine {
        observer,
        module,
        kernel,
        config,
        options: *options,
        data: Datapath::new(constants),
        memory: MemoryPath::new(memory, arguments),
        runtime,
        progress: Progress::default(),
        watches: Vec::new(),
        spare: SpareRegisters::new(),
        budget,
        answers: &answers,
        records: Records::new(charge),
    };
    let trace = schedule(&mut machine, writer)?;
    let steps = machine.progress.steps;
    machine.observer.launch_ends();
    Ok((trace, steps))
}

/// State of a launch in progress: memory, limits and records.
struct Machine<'l, O> {
    observer: &'l mut O,
    module: &'l Module,
    kernel: &'l Kernel,
    config: LaunchConfig<'l>,
    options: EmulationOptions,
    data: Datapath,
    memory: MemoryPath<'l>,
    /// Runtime state that the kernels of a family share.
    runtime: &'l mut Runtime,
    progress: Progress,
    /// Memory words on which wavefronts spin.
    watches: Vec<WatchedWord>,
    spare: SpareRegisters,
    /// Budget that nested calls are charged to.
    budget: Budget,
    answers: &'l Answers,
    records: Records,
}

/// Progress of a launch, in wavefront instructions.
#[derive(Default)]
struct Progress {
    steps: u64,
    /// Value of `steps` at the last change of memory, a barrier or the number of running
    /// wavefronts.
    last_effect: u64,
}

impl Progress {
    #[inline(always)]
    fn take_effect(&mut self) {
        self.last_effect = self.steps;
    }
}

impl<O> Machine<'_, O> {
    fn place(&self, group: u32, wavefront: &Wavefront, lane: Option<u32>) -> Place {
        let pc = wavefront.pc();
        let line = self.kernel.code().instructions.get(pc as usize);
        let lane = lane.unwrap_or_else(|| wavefront.active().trailing_zeros() & 31);
        let linear = wavefront.index * 32 + lane;
        let [x, y, _] = self.config.block;
        Place {
            kernel: self.kernel.name().to_owned(),
            file: self.kernel.file.clone(),
            line: line.map_or(0, |instruction| instruction.line),
            opcode: line.map_or(String::new(), |instruction| instruction.opcode.clone()),
            work_group: self.config.group_id(group),
            thread: [linear % x, linear / x % y, linear / x / y],
        }
    }
}
