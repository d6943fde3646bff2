//! Preparation of a launch: its arguments, the checks of its shape, and the memory that it needs.

use warpweave_trace::Place;

use crate::address_space::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::exec::error::EmulationError;
use crate::exec::registers::register_bytes;
use crate::exec::wavefront::Answers;
use crate::exec::{EmulationOptions, KernelArgument, LaunchConfig};
use crate::kernel::Kernel;
use crate::launch_limits::{self, product};
use crate::memory::DeviceMemory;
use crate::module::NoKernel;
use crate::ops::Special;

/// Size of the workspace of grid-wide barriers in bytes. Source: own choice; compilers use 8.
pub(super) const WORKSPACE_BYTES: u64 = 64;

/// Returns what the wavefronts of a launch can ask for.
pub(super) fn answers(
    kernel: &Kernel,
    options: &EmulationOptions,
    memory: &mut DeviceMemory,
) -> Result<Answers, EmulationError> {
    Ok(Answers {
        workspace: workspace(kernel, options, memory)?,
        place: place(kernel, options),
    })
}

/// Returns the placement of a launch, if its kernel asks for it.
pub(super) fn place(kernel: &Kernel, options: &EmulationOptions) -> Option<Place> {
    options.place.filter(|_| kernel.asks_place())
}

/// Returns the address of the zeroed workspace in which the grid-wide barriers of compiled code
/// count. Returns 0 if the launch is not cooperative, or its kernel does not ask for it.
fn workspace(
    kernel: &Kernel,
    options: &EmulationOptions,
    memory: &mut DeviceMemory,
) -> Result<u64, EmulationError> {
    let mut specials = kernel.tables.specials.iter();
    let asks = specials.any(|special| matches!(special, Special::GridWorkspace { .. }));
    if !options.is_cooperative || !asks {
        return Ok(0);
    }
    let name = "workspace of cooperative launches";
    let address = match memory.find(name) {
        Some(known) => known.base,
        None => memory.allocate_charged(name, WORKSPACE_BYTES)?,
    };
    let zeroed = memory.write(address, &[0; WORKSPACE_BYTES as usize]);
    zeroed.expect("the workspace has its own allocation");
    Ok(address)
}

/// Returns the argument block of a launch.
pub(super) fn arguments(
    kernel: &Kernel,
    given: &[KernelArgument],
) -> Result<Vec<u8>, EmulationError> {
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

/// Checks the shape of a launch, what its kernel asks, and the memory that its threads address.
pub(super) fn check_launch(
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
    if let Err(problem) = launch_limits::check_shape(config.grid, config.block) {
        return refuse(problem.message);
    }
    if let Err(problem) = kernel.check_declared(config.block) {
        let line = problem.directive.map_or(0, |directive| directive.line);
        return refuse(format!("{} ({}:{line})", problem.message, kernel.file));
    }
    let questions = kernel.check_questions(options.place.is_some());
    questions.map_err(NoKernel::from)?;
    if let Some(place) = place(kernel, options)
        && let Err(problem) = launch_limits::check_place(place, config.grid)
    {
        return refuse(problem);
    }
    let shared =
        u64::from(kernel.code().static_local_bytes) + u64::from(config.dynamic_local_bytes);
    if shared > SHARED_WINDOW.end - SHARED_WINDOW.start {
        return refuse(format!(
            "{shared} bytes of local memory for a work-group are more than any hardware has"
        ));
    }
    let private = u64::from(kernel.private_base) + u64::from(kernel.frames[0].bytes);
    if private > LOCAL_WINDOW.end - LOCAL_WINDOW.start {
        return refuse(format!(
            "{private} bytes of private memory for a thread are more than it can address"
        ));
    }
    if options.resident_work_groups == 0 || options.quantum == 0 {
        return refuse("`resident_work_groups` and `quantum` must be at least 1".to_owned());
    }
    Ok(())
}

/// Returns the bytes needed by the resident work-groups and by the list of all work-groups.
pub(super) fn resident_bytes(
    kernel: &Kernel,
    config: &LaunchConfig<'_>,
    options: &EmulationOptions,
) -> u64 {
    let frame = kernel.frames[0];
    let registers = register_bytes(frame.words, frame.doubles);
    let private = u64::from(kernel.private_base) + u64::from(frame.bytes);
    let wavefront = registers + private * 32 + WAVEFRONT_BYTES;
    let shared = kernel.code().static_local_bytes;
    let shared = u64::from(shared) + u64::from(config.dynamic_local_bytes);
    let group = (wavefront * product(config.block).div_ceil(32)).saturating_add(shared);
    let groups = product(config.grid);
    let resident = groups.min(options.resident(groups));
    let list = groups.saturating_mul(size_of::<u32>() as u64);
    group.saturating_mul(resident).saturating_add(list)
}

/// Bytes of a wavefront apart from its registers and private memory.
const WAVEFRONT_BYTES: u64 = 1 << 10;
