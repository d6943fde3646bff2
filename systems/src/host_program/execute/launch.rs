//! Launch parameters: grid shape, argument values and their sizes.

use warpweave_inputs::{ElementType, Name, Value};
use warpweave_params::{Diagnostic, Env, Placed};
use warpweave_ptx::{
    BLOCK_MAX, GRID_MAX, Kernel, KernelArgument, ScalarType, THREADS_MAX, WORK_GROUPS_MAX,
};
use warpweave_trace::{Attribute, Place};

use crate::host_program::description::{Argument, Launch, LaunchPlace};

/// Most registers of a thread (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
const REGISTERS_MAX: u32 = 255;

/// Shape, stream, registers, placement and attributes of a launch.
pub(in crate::host_program) struct Shape {
    pub(in crate::host_program) grid: [u32; 3],
    pub(in crate::host_program) block: [u32; 3],
    pub(in crate::host_program) dynamic_local_bytes: u32,
    pub(super) stream: u32,
    /// Registers per thread, if the launch states them.
    pub(in crate::host_program) registers_per_thread: Option<u32>,
    /// Placement that the launch declares.
    pub(in crate::host_program) place: Option<Place>,
    /// Attributes that the launch states by name, in the order written.
    pub(in crate::host_program) attributes: Vec<Attribute>,
}

/// Evaluates the shape of a launch and checks it against hardware limits.
pub(in crate::host_program) fn shape(launch: &Launch, env: &Env) -> Result<Shape, Diagnostic> {
    let axes = |values: &[Value], what: &str, most: [u32; 3]| -> Result<[u32; 3], Diagnostic> {
        let mut axes = [1; 3];
        if values.len() > 3 {
            let message = format!("{what} has {} axes, at most 3 are allowed", values.len());
            return Err(launch.kernel.error(message));
        }
        let letters = ["x", "y", "z"];
        for (((axis, value), letter), most) in axes.iter_mut().zip(values).zip(letters).zip(most) {
            let range = 1..=most.into();
            *axis = value.integer(env, &format!("{what} along {letter}"), range)? as u32;
        }
        Ok(axes)
    };
    let grid = axes(&launch.grid, "the grid", GRID_MAX)?;
    let groups = grid
        .iter()
        .try_fold(1_u64, |product, &axis| product.checked_mul(axis.into()));
    if groups.is_none_or(|groups| groups > WORK_GROUPS_MAX) {
        let message = format!(
            "a grid of {grid:?} has more than {WORK_GROUPS_MAX} work-groups, which is the most that is emulated"
        );
        return Err(at_first(&launch.grid, message).hint("give each work-group more work"));
    }
    let block = axes(&launch.block, "the block", BLOCK_MAX)?;
    let threads: u64 = block.iter().map(|&axis| u64::from(axis)).product();
    if threads > THREADS_MAX {
        let message = format!(
            "a block of {block:?} has {threads} threads; a GPU allows at most {THREADS_MAX}"
        );
        return Err(at_first(&launch.block, message));
    }
    let count = |value: &Value, what| value.integer(env, what, 0..=u32::MAX.into());
    let registers = |value: &Value| {
        let what = "the number of registers per thread";
        value.integer(env, what, 1..=REGISTERS_MAX.into())
    };
    let registers = launch.registers_per_thread.as_ref().map(registers);
    Ok(Shape {
        grid,
        block,
        dynamic_local_bytes: count(&launch.dynamic_local_bytes, "the local memory in bytes")?
            as u32,
        stream: count(&launch.stream, "the stream")? as u32,
        registers_per_thread: registers.transpose()?.map(|registers| registers as u32),
        place: place(launch, env)?,
        attributes: attributes(launch, env)?,
    })
}

/// Evaluates the placement that a launch declares.
fn place(launch: &Launch, env: &Env) -> Result<Option<Place>, Diagnostic> {
    let Some(LaunchPlace {
        units,
        contexts,
        by,
    }) = launch.place.as_deref()
    else {
        return Ok(None);
    };
    let count = |value: &Value, what| value.integer(env, what, 1..=WORK_GROUPS_MAX.into());
    Ok(Some(Place {
        units: count(units, "the number of units of `place`")? as u32,
        contexts: count(contexts, "the number of contexts of `place`")? as u32,
        by: *by,
    }))
}

/// Returns the placement of a launch if its kernel asks for it.
pub(in crate::host_program) fn asked_place(kernel: &Kernel, shape: &Shape) -> Option<Place> {
    shape.place.filter(|_| kernel.asks_place())
}

/// Checks that the placement of a launch has a context for each of its work-groups.
pub(in crate::host_program) fn check_place(
    launch: &Launch,
    kernel: &Kernel,
    shape: &Shape,
) -> Result<(), Diagnostic> {
    let Some(place) = asked_place(kernel, shape) else {
        return Ok(());
    };
    warpweave_ptx::check_place(place, shape.grid).map_err(|problem| {
        let message = format!("kernel `{}`: {problem}", kernel.name());
        let hint = "launch as many work-groups as the units hold at once: `units` times `contexts`";
        at_first(&launch.grid, message).hint(hint)
    })
}

/// Evaluates the attributes that a launch states by name.
fn attributes(launch: &Launch, env: &Env) -> Result<Vec<Attribute>, Diagnostic> {
    let stated = launch.attributes.iter().map(|(name, value)| {
        let fields = [
            (Attribute::COOPERATIVE, "cooperative"),
            (Attribute::REGISTERS, "registers_per_thread"),
            (Attribute::PLACE_UNITS, "place"),
            (Attribute::PLACE_CONTEXTS, "place"),
            (Attribute::PLACE_BY_ARRIVAL, "place"),
        ];
        let field = fields
            .iter()
            .find(|(attribute, _)| *attribute == name.value);
        if let Some((attribute, field)) = field {
            let message = format!("`{attribute}` cannot be stated as an attribute");
            return Err(name.error(message).hint(format!("use the field `{field}`")));
        }
        let what = format!("the attribute `{}`", name.value);
        let value = value.integer(env, &what, 0..=u64::MAX.into())?;
        Ok(Attribute::new(&name.value, value as u64))
    });
    stated.collect()
}

/// Checks the block of a launch against what its kernel declares in `file`.
pub(in crate::host_program) fn check_declared(
    launch: &Launch,
    kernel: &Kernel,
    file: &str,
    block: [u32; 3],
) -> Result<(), Diagnostic> {
    kernel.check_declared(block).map_err(|problem| {
        let line = problem.directive.map_or(0, |directive| directive.line);
        let message = format!("kernel `{}`: {}", kernel.name(), problem.message);
        let hint = format!("the directive is at {file}:{line}");
        at_first(&launch.block, message).hint(hint)
    })
}

fn at_first(axes: &[Value], message: String) -> Diagnostic {
    match axes.first() {
        Some(axis) => axis.error(message),
        None => Diagnostic::error(message),
    }
}

/// Returns the type and value of a numeric argument.
pub(in crate::host_program) fn scalar(argument: &Argument) -> Option<(ScalarType, &Value)> {
    Some(match argument {
        Argument::Buffer(_)
        | Argument::BufferAt { .. }
        | Argument::Texture(_)
        | Argument::Struct(_)
        | Argument::Record(_) => return None,
        Argument::U8(value) => (ScalarType::U8, value),
        Argument::U16(value) => (ScalarType::U16, value),
        Argument::U32(value) => (ScalarType::U32, value),
        Argument::U64(value) => (ScalarType::U64, value),
        Argument::S8(value) => (ScalarType::S8, value),
        Argument::S16(value) => (ScalarType::S16, value),
        Argument::S32(value) => (ScalarType::S32, value),
        Argument::S64(value) => (ScalarType::S64, value),
        Argument::F16(value) => (ScalarType::F16, value),
        Argument::BF16(value) => (ScalarType::BF16, value),
        Argument::F32(value) | Argument::F32Bits(value) => (ScalarType::F32, value),
        Argument::F64(value) | Argument::F64Bits(value) => (ScalarType::F64, value),
    })
}

/// Returns the fields of a structure argument.
pub(in crate::host_program) fn fields(argument: &Argument) -> Option<&[Placed<Argument>]> {
    match argument {
        Argument::Struct(fields) => Some(fields),
        Argument::Record(record) => Some(&record.laid_out),
        _ => None,
    }
}

/// Returns the size of an argument in bytes, and its alignment within a structure.
pub(in crate::host_program) fn size_and_alignment(argument: &Argument) -> (usize, usize) {
    if let Some(fields) = fields(argument) {
        let (end, alignment) = end_and_alignment(fields);
        return (end.next_multiple_of(alignment), alignment);
    }
    let ty = scalar(argument).map_or(ScalarType::U64, |(ty, _)| ty);
    (ty.bytes() as usize, ty.bytes() as usize)
}

/// Returns the size in bytes of fields in order, without padding after the last.
pub(in crate::host_program) fn size_of_fields(fields: &[Placed<Argument>]) -> u64 {
    end_and_alignment(fields).0 as u64
}

fn end_and_alignment(fields: &[Placed<Argument>]) -> (usize, usize) {
    fields.iter().fold((0_usize, 1), |(end, most), field| {
        let (bytes, alignment) = size_and_alignment(&field.value);
        (end.next_multiple_of(alignment) + bytes, alignment.max(most))
    })
}

/// Returns the checked byte offset at which `written` bytes go into a variable of `bytes` bytes.
pub(in crate::host_program) fn checked_variable_offset(
    variable: &Name,
    bytes: u64,
    offset: &Value,
    written: u64,
    env: &Env,
) -> Result<u64, Diagnostic> {
    let name = &variable.value;
    if written > bytes {
        let message = format!("{written} bytes do not fit into variable `{name}` of {bytes} bytes");
        return Err(variable.error(message));
    }
    let what = format!("the offset for {written} bytes in variable `{name}` of {bytes} bytes");
    Ok(offset.integer(env, &what, 0..=(bytes - written).into())? as u64)
}

/// Returns the value a kernel receives for an argument. `place` supplies the address of a buffer
/// argument, and the handle of a texture argument.
pub(in crate::host_program) fn kernel_argument(
    argument: &Argument,
    env: &Env,
    place: &mut dyn FnMut(&Argument) -> Result<u64, Diagnostic>,
) -> Result<KernelArgument, Diagnostic> {
    let what = || {
        let ty = scalar(argument).map_or(ScalarType::U64, |(ty, _)| ty);
        format!("an argument of type {ty:?}")
    };
    let within = |value: &Value, min: i128, max: i128| value.integer(env, &what(), min..=max);
    let half = |element: ElementType, value: &Value| {
        let pattern = element.bits(value, env, &what())?;
        Ok::<_, Diagnostic>(pattern as u16)
    };
    let bits = |value: &Value, max: u64| {
        let what = format!("the bit pattern of {}", what());
        value.integer(env, &what, 0..=max.into())
    };
    Ok(match argument {
        Argument::Buffer(_) | Argument::BufferAt { .. } => {
            KernelArgument::Pointer(place(argument)?)
        }
        Argument::Texture(_) => KernelArgument::U64(place(argument)?),
        Argument::U8(n) => KernelArgument::U8(within(n, 0, u8::MAX.into())? as u8),
        Argument::U16(n) => KernelArgument::U16(within(n, 0, u16::MAX.into())? as u16),
        Argument::U32(n) => KernelArgument::U32(within(n, 0, u32::MAX.into())? as u32),
        Argument::U64(n) => KernelArgument::U64(within(n, 0, u64::MAX.into())? as u64),
        Argument::S8(n) => KernelArgument::U8(within(n, i8::MIN.into(), i8::MAX.into())? as u8),
        Argument::S16(n) => {
            KernelArgument::U16(within(n, i16::MIN.into(), i16::MAX.into())? as u16)
        }
        Argument::S32(n) => {
            KernelArgument::S32(within(n, i32::MIN.into(), i32::MAX.into())? as i32)
        }
        Argument::S64(n) => {
            KernelArgument::S64(within(n, i64::MIN.into(), i64::MAX.into())? as i64)
        }
        Argument::F16(x) => KernelArgument::U16(half(ElementType::F16, x)?),
        Argument::BF16(x) => KernelArgument::U16(half(ElementType::BF16, x)?),
        Argument::F32(x) => KernelArgument::F32(x.single(env, &what())?),
        Argument::F64(x) => KernelArgument::F64(x.float(env)?),
        // As integers, which no copy of a value changes.
        Argument::F32Bits(n) => KernelArgument::U32(bits(n, u32::MAX.into())? as u32),
        Argument::F64Bits(n) => KernelArgument::U64(bits(n, u64::MAX)? as u64),
        Argument::Struct(_) | Argument::Record(_) => {
            let mut bytes = Vec::new();
            for field in fields(argument).unwrap_or_default() {
                let (size, alignment) = size_and_alignment(&field.value);
                bytes.resize(bytes.len().next_multiple_of(alignment), 0);
                let field = kernel_argument(&field.value, env, place)?;
                bytes.extend(field.bytes(size as u32));
            }
            bytes.resize(size_and_alignment(argument).0, 0);
            KernelArgument::Bytes(bytes)
        }
    })
}

/// Returns the checked byte offset of an argument within a buffer of `bytes` bytes.
pub(in crate::host_program) fn checked_offset(
    buffer: &Name,
    bytes: u64,
    offset: &Value,
    env: &Env,
) -> Result<u64, Diagnostic> {
    let what = format!("the offset into buffer `{}` of {bytes} bytes", buffer.value);
    Ok(offset.integer(env, &what, 0..=bytes.into())? as u64)
}
