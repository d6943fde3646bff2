//! Execution: launches a kernel, interleaves its work-groups and writes the trace.

mod access;
mod atomic;
mod barrier;
mod checker;
mod compute;
pub(crate) mod convert;
mod error;
mod exchange;
mod external;
mod family;
mod full_wavefront;
mod gather;
mod heap;
mod observe;
mod print;
mod registers;
mod run;
mod sample;
mod scalar;
mod schedule;
mod soft;
mod spin;
mod stack;
mod texture;
mod wavefront;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use warpweave_files::Charge;
use warpweave_trace::{Ahead, KernelTrace, KernelWriter, Parent, Places};

use crate::exec::family::{Pending, Runtime};
use crate::exec::full_wavefront::Numbering;
use crate::exec::gather::Addressing;
use crate::exec::observe::{Observer, Start, Unobserved};
use crate::exec::registers::{Blend, Register, Registers};
use crate::exec::schedule::schedule;
use crate::exec::spin::WatchedWord;
use crate::exec::wavefront::Wavefront;
use crate::memory::{DeviceMemory, SHARED_WINDOW};
use crate::module::{Kernel, Module, Parameter};
use crate::ops::{Constant, Lanes32, Lanes64};

pub use crate::exec::checker::{
    AccessSite, Finding, FindingKind, ProgramChecker, SourcePlace, Verdict,
};
pub use crate::exec::error::{EmulationError, Place, Wait};
pub use crate::exec::family::{Family, Numbers};
pub use crate::exec::print::Printed;
pub(crate) use crate::exec::texture::RECORDED_BYTES;

/// Threads a work-group may have (CUDA C++ Programming Guide, compute capability 2.0 and up).
const THREADS_MAX: u64 = 1024;

/// Shape and arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchConfig<'a> {
    /// Work-groups per axis.
    pub grid: [u32; 3],
    /// Threads per axis of a work-group.
    pub block: [u32; 3],
    /// Bytes behind `extern .shared` arrays.
    pub dynamic_local_bytes: u32,
    /// One argument per parameter.
    pub args: &'a [KernelArgument],
}

/// One kernel argument; its size must be that of the parameter.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The variants name their types.
pub enum KernelArgument {
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    S32(i32),
    S64(i64),
    F32(f32),
    F64(f64),
    /// A device address; fills a 32- or 64-bit parameter.
    Pointer(u64),
    /// A structure passed by value.
    Bytes(Vec<u8>),
}

impl KernelArgument {
    /// The address, of a pointer.
    fn pointer(&self) -> Option<u64> {
        match self {
            Self::Pointer(address) => Some(*address),
            _ => None,
        }
    }

    /// As it lies in the argument block; a pointer takes the `wanted` bytes of its parameter.
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

/// In which order work-groups start, and wavefronts take turns within a work-group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Ascending.
    #[default]
    Linear,
    /// Descending.
    Reversed,
    /// A permutation that follows from the seed.
    Shuffled(u64),
}

/// How emulation interleaves work and when it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmulationOptions {
    /// Work-groups in flight at a time.
    pub resident_work_groups: u32,
    /// Instructions a wavefront executes before the next one's turn.
    pub quantum: u32,
    /// Order of work-groups and wavefronts.
    pub order: Order,
    /// Wavefront instructions a launch may execute.
    pub step_limit: u64,
    /// Wavefront instructions without any change to memory, barrier or exit before the launch
    /// counts as stuck in a spin loop.
    pub stall_limit: u64,
    /// Nested calls of device functions a thread may have open.
    pub call_depth: u32,
    /// Bytes the records of a launch may take.
    pub stream_bytes: u64,
    /// Bytes of the heap from which kernels take memory.
    pub heap_bytes: u64,
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
        }
    }
}

/// Executes a kernel over `memory` and returns what every wavefront did.
///
/// # Errors
/// See [`EmulationError`]. Memory keeps what was written before the error.
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
                "it launched {more} kernels from the device, which `launch_family` gives"
            ),
        }),
    }
}

/// Who looks at a launch while it is emulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchWatch<'w> {
    /// Gets one for every work-group that has ended.
    pub ended: Option<&'w AtomicU64>,
    /// The launch as [`foresee`] gave it, whose streams may be simulated already; only for one that launches nothing
    /// from the device.
    pub foreseen: Option<&'w KernelTrace>,
}

/// A launch without its streams, which come while they are simulated ([`LaunchWatch::foreseen`]).
///
/// # Errors
/// Those of [`launch`] that are known before anything is executed.
pub fn foresee(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    options: &EmulationOptions,
    ahead: &Arc<Ahead>,
) -> Result<KernelTrace, EmulationError> {
    let kernel = module.kernel(kernel)?;
    let arguments = arguments(kernel, config.args)?;
    check_shape(kernel, &config, options)?;
    let code = Arc::clone(kernel.code());
    let local = config.dynamic_local_bytes;
    let (grid, block) = (config.grid, config.block);
    Ok(KernelTrace::arriving(
        code, grid, block, local, arguments, ahead,
    )?)
}

/// As [`launch`], with all that the kernel launches from the device, numbered from `numbers` on, and told to whoever
/// watches.
///
/// # Errors
/// As [`launch`].
pub fn launch_family(
    module: &Module,
    kernel: &str,
    config: LaunchConfig<'_>,
    memory: &mut DeviceMemory,
    options: &EmulationOptions,
    numbers: &mut Numbers,
    watch: LaunchWatch<'_>,
) -> Result<Family, EmulationError> {
    let LaunchWatch { ended, foreseen } = watch;
    let mut observer = Unobserved { ended, foreseen };
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

/// A kernel and its descendants, one after the other.
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
        left.step_limit = left.step_limit.saturating_sub(steps);
        left.stream_bytes = left.stream_bytes.saturating_sub(trace.stream_bytes());
        kernels.push(trace);
        graph.push(depth);
        pending.extend(runtime.pending.drain(..).rev());
        let Some(next) = pending.pop() else {
            break;
        };
        let child = module.kernel_at(next.function);
        let child = child.expect("the kernel was there when it was launched");
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

/// An argument block cut into the arguments. What is an address inside an allocation is taken for a pointer.
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

/// One kernel of a family.
struct Grid<'g> {
    kernel: &'g Kernel,
    config: LaunchConfig<'g>,
    parent: Option<Parent>,
}

/// Emulates one kernel; its trace, and its wavefront instructions.
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
    check_shape(kernel, &config, options)?;
    let mut writer = KernelWriter::new(
        Arc::clone(kernel.code()),
        config.grid,
        config.block,
        config.dynamic_local_bytes,
        arguments.clone(),
    )?
    .charged_to(memory.ledger());
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
    observer.launch_starts(&Start {
        module,
        kernel,
        config: &config,
        memory,
    });
    let addresses = memory.variables(module);
    let value = |constant: &Constant| match *constant {
        Constant::Value(value) => value,
        Constant::Variable { index, offset } => addresses[index].wrapping_add(offset as u64),
    };
    let constants32 = kernel
        .tables
        .constants32
        .iter()
        .map(|c| [value(c) as u32; 32])
        .collect();
    let constants64 = kernel
        .tables
        .constants64
        .iter()
        .map(|c| [value(c); 32])
        .collect();
    let mut machine = Machine {
        observer,
        module,
        kernel,
        constants32,
        constants64,
        arguments,
        grid: config.grid,
        block: config.block,
        dynamic_local_bytes: config.dynamic_local_bytes,
        memory,
        cached: (0, 0),
        addressing: Addressing::new(),
        numbering: Numbering::new(),
        blend: Blend::new(),
        options: *options,
        steps: 0,
        last_progress: 0,
        watches: Vec::new(),
        stream_bytes: 0,
        word: Box::new(Register::new()),
        double: Box::new(Register::new()),
        numbers: Box::new([0; 33]),
        spare: Vec::new(),
        runtime,
        charge,
        records: 0,
        records_charged: 0,
    };
    let trace = schedule(&mut machine, writer)?;
    let steps = machine.steps;
    machine.observer.launch_ends();
    Ok((trace, steps))
}

fn arguments(kernel: &Kernel, given: &[KernelArgument]) -> Result<Vec<u8>, EmulationError> {
    let parameters = kernel.parameters();
    if given.len() != parameters.len() {
        return Err(EmulationError::ArgumentCount {
            kernel: kernel.name().to_owned(),
            wanted: parameters.len(),
            found: given.len(),
        });
    }
    let mut block = vec![0; kernel.argument_bytes() as usize];
    for (index, (parameter, argument)) in parameters.iter().zip(given).enumerate() {
        let bytes = argument.bytes(parameter.bytes);
        if bytes.len() != parameter.bytes as usize {
            return Err(EmulationError::ArgumentSize {
                kernel: kernel.name().to_owned(),
                index,
                parameter: parameter.name.clone(),
                ty: parameter.ty,
                wanted: parameter.bytes,
                found: bytes.len(),
            });
        }
        let start = parameter.offset as usize;
        block[start..start + bytes.len()].copy_from_slice(&bytes);
    }
    Ok(block)
}

fn check_shape(
    kernel: &Kernel,
    config: &LaunchConfig<'_>,
    options: &EmulationOptions,
) -> Result<(), EmulationError> {
    let refuse = |problem: String| {
        Err(EmulationError::Launch {
            kernel: kernel.name().to_owned(),
            problem,
        })
    };
    let threads: u64 = config.block.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > THREADS_MAX {
        return refuse(format!(
            "a work-group of {threads} threads; 1 to {THREADS_MAX} are possible"
        ));
    }
    let shared =
        u64::from(kernel.code().static_local_bytes) + u64::from(config.dynamic_local_bytes);
    if shared > SHARED_WINDOW.end - SHARED_WINDOW.start {
        return refuse(format!(
            "{shared} bytes of work-group memory are more than any hardware has"
        ));
    }
    if options.resident_work_groups == 0 || options.quantum == 0 {
        return refuse("resident work-groups and quantum must be at least 1".to_owned());
    }
    Ok(())
}

/// Bytes that the work-groups take which are emulated side by side, and the list of all.
fn resident_bytes(kernel: &Kernel, config: &LaunchConfig<'_>, options: &EmulationOptions) -> u64 {
    let product = |axes: [u32; 3]| {
        let axes = axes.iter().map(|axis| u64::from(*axis));
        axes.fold(1, u64::saturating_mul)
    };
    let frame = kernel.frames[0];
    let registers =
        frame.words * size_of::<Register<u32>>() + frame.doubles * size_of::<Register<u64>>();
    let wavefront = registers as u64 + u64::from(frame.bytes) * 32 + WAVEFRONT_BYTES;
    let shared = kernel.code().static_local_bytes;
    let shared = u64::from(shared) + u64::from(config.dynamic_local_bytes);
    let group = (wavefront * product(config.block).div_ceil(32)).saturating_add(shared);
    let groups = product(config.grid);
    let resident = groups.min(options.resident_work_groups.into());
    let list = groups.saturating_mul(size_of::<u32>() as u64);
    group.saturating_mul(resident).saturating_add(list)
}

/// Bytes of a wavefront beside its registers and private memory.
const WAVEFRONT_BYTES: u64 = 1 << 10;

/// A launch in progress.
struct Machine<'l, O> {
    observer: &'l mut O,
    module: &'l Module,
    kernel: &'l Kernel,
    constants32: Vec<Lanes32>,
    constants64: Vec<Lanes64>,
    arguments: Vec<u8>,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_local_bytes: u32,
    memory: &'l mut DeviceMemory,
    /// First and last-plus-one address of the allocation accessed last.
    cached: (u64, u64),
    /// Functions over addresses, and those that write some lanes of a register.
    addressing: Addressing,
    numbering: Numbering,
    blend: Blend,
    options: EmulationOptions,
    steps: u64,
    /// Value of `steps` when memory, a barrier or the number of running wavefronts last changed.
    last_progress: u64,
    /// Words for which wavefronts wait in loops.
    watches: Vec<WatchedWord>,
    /// Bytes of all records written.
    stream_bytes: u64,
    /// Where results are computed before they become registers.
    word: Box<Register<u32>>,
    double: Box<Register<u64>>,
    /// Numbers of the elements that the lanes of an access reach.
    numbers: Box<Places>,
    /// Registers of wavefronts that have ended.
    spare: Vec<Registers>,
    /// What the kernels of a family share.
    runtime: &'l mut Runtime,
    /// What the launch needs while it runs.
    charge: Charge,
    /// Bytes of the records of wavefronts that have not ended.
    records: u64,
    /// How many of them are charged.
    records_charged: u64,
}

impl<O: Observer> Machine<'_, O> {
    fn wavefronts_per_group(&self) -> u32 {
        self.block.iter().product::<u32>().div_ceil(32)
    }

    fn place(&self, group: u32, wavefront: &Wavefront, lane: Option<u32>) -> Place {
        let pc = wavefront.pc();
        let line = self.kernel.code().instructions.get(pc as usize);
        let lane = lane.unwrap_or_else(|| wavefront.active().trailing_zeros() & 31);
        let linear = wavefront.index * 32 + lane;
        let [x, y, _] = self.block;
        let [gx, gy, _] = self.grid;
        Place {
            kernel: self.kernel.name().to_owned(),
            file: self.kernel.file.clone(),
            line: line.map_or(0, |instruction| instruction.line),
            opcode: line.map_or(String::new(), |instruction| instruction.opcode.clone()),
            work_group: [group % gx, group / gx % gy, group / gx / gy],
            thread: [linear % x, linear / x % y, linear / x / y],
        }
    }
}
