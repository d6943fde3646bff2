//! Checks of kernel launches and their arguments.

use warpweave_inputs::Value;
use warpweave_ptx::{NoKernel, Parameter, RefusedKernel, ScalarType};

use super::Checker;
use crate::host_program::description::{Argument, Launch};
use crate::host_program::execute::{
    check_declared, check_place, checked_offset, fields, kernel_argument, scalar, shape,
    size_and_alignment,
};
use crate::host_program::modules::{ProgramModule, SymbolKind, in_module};
use crate::host_program::structures;

impl Checker<'_> {
    pub(super) fn launch(&mut self, launch: &Launch) {
        let shape_values: Vec<&Value> = launch
            .grid
            .iter()
            .chain(&launch.block)
            .chain([&launch.dynamic_local_bytes, &launch.stream])
            .chain(&launch.registers_per_thread)
            .chain(
                launch
                    .place
                    .iter()
                    .flat_map(|place| [&place.units, &place.contexts]),
            )
            .chain(launch.attributes.iter().map(|(_, value)| value))
            .collect();
        let mut known = None;
        self.now_or_later(&shape_values, |env| {
            known = Some(shape(launch, env)?);
            Ok(())
        });
        for argument in &launch.arguments {
            self.argument(&argument.value);
        }
        let module = self.module(launch.module.as_ref(), SymbolKind::Kernel, &launch.kernel);
        let Some(module) = module.map(|number| &self.program.modules[number]) else {
            return;
        };
        let kernel = match module.module().kernel(&launch.kernel.value) {
            Ok(kernel) => kernel,
            Err(NoKernel::Refused(refused)) => return self.refused(launch, module, refused),
            Err(NoKernel::Unknown(_)) => unreachable!("a module that has it was found"),
        };
        if let Err(refused) = kernel.check_questions(launch.place.is_some()) {
            return self.refused(launch, module, refused);
        }
        if let Some(shape) = known {
            let file = module.module().file();
            self.problems
                .take(check_declared(launch, kernel, file, shape.block));
            self.problems.take(check_place(launch, kernel, &shape));
        }
        let parameters = kernel.parameters();
        if parameters.len() != launch.arguments.len() {
            let types: Vec<String> = parameters.iter().map(|p| p.ty.to_string()).collect();
            let message = format!(
                "kernel `{}` takes {} arguments, but {} are given",
                kernel.name(),
                parameters.len(),
                launch.arguments.len()
            );
            let hint = format!("the parameter types in order: {}", types.join(", "));
            return self.problems.push(launch.kernel.error(message).hint(hint));
        }
        self.passed.note(self.program, launch, parameters);
        for (index, (argument, parameter)) in launch.arguments.iter().zip(parameters).enumerate() {
            if !fits(&argument.value, parameter) {
                let given = match &argument.value {
                    Argument::Texture(_) => "a texture object".to_owned(),
                    Argument::Struct(_) | Argument::Record(_) => {
                        let (bytes, _) = size_and_alignment(&argument.value);
                        format!("a structure of {bytes} bytes")
                    }
                    other => match scalar(other) {
                        Some((ty, _)) => format!("of type {ty:?}"),
                        None => "the address of a buffer".to_owned(),
                    },
                };
                let wanted = if is_structure(parameter) {
                    format!("a structure of {} bytes", parameter.bytes)
                } else {
                    format!("of type {}", parameter.ty)
                };
                let message = format!(
                    "argument {} of kernel `{}` is {given}, but the parameter is {wanted}",
                    index + 1,
                    kernel.name(),
                );
                let mut problem = argument.error(message);
                if let Argument::Record(record) = &argument.value
                    && let Ok(structure) =
                        structures::find(&self.program.structures, &record.structure)
                {
                    problem = problem.hint(structure.places());
                }
                self.problems.push(problem);
            }
        }
    }

    /// Checks the buffers that hold addresses.
    pub(super) fn pointers(&mut self) {
        for buffer in &self.program.buffers {
            for pointer in buffer.pointers().unwrap_or_default() {
                self.argument(&pointer.value);
                if !matches!(
                    pointer.value,
                    Argument::Buffer(_) | Argument::BufferAt { .. }
                ) {
                    let message = "expected an address: Buffer(\"name\") or BufferAt(buffer: \"name\", offset_bytes: n)";
                    self.problems.push(pointer.error(message));
                }
            }
        }
    }

    /// Checks the names and numbers of an argument.
    pub(super) fn argument(&mut self, argument: &Argument) {
        match argument {
            Argument::Buffer(name) => drop(self.buffer(name)),
            Argument::BufferAt {
                buffer,
                offset_bytes,
            } => {
                let Some(index) = self.buffer(buffer) else {
                    return;
                };
                let bytes = self.program.buffers[index].bytes();
                self.now_or_later(&[offset_bytes], |env| {
                    checked_offset(buffer, bytes, offset_bytes, env)
                });
            }
            Argument::Texture(name) => self.texture(name),
            Argument::Struct(_) | Argument::Record(_) => {
                for field in fields(argument).unwrap_or_default() {
                    self.argument(&field.value);
                }
            }
            _ => {}
        }
        if let Some((_, value)) = scalar(argument) {
            self.now_or_later(&[value], |env| {
                kernel_argument(argument, env, &mut |_| Ok(0))
            });
        }
    }

    /// Reports a launch of a kernel that reaches unsupported code.
    fn refused(&mut self, launch: &Launch, module: &ProgramModule, refused: RefusedKernel) {
        let message = format!("kernel `{}` uses this and is launched here", refused.name);
        let (file, text) = (module.module().file(), module.text());
        for diagnostic in in_module(file, text, refused.reasons) {
            self.problems.push(match &launch.kernel.place {
                Some(place) => diagnostic.related(&message, place),
                None => diagnostic,
            });
        }
    }
}

/// True if a parameter is an array or structure, which PTX declares as an array of bytes.
fn is_structure(parameter: &Parameter) -> bool {
    parameter.bytes > parameter.ty.bytes()
}

/// True if an argument is valid for a parameter.
fn fits(argument: &Argument, parameter: &Parameter) -> bool {
    if fields(argument).is_some() {
        return size_and_alignment(argument).0 == parameter.bytes as usize;
    }
    let ty = parameter.ty;
    let given = scalar(argument).map_or(ScalarType::U64, |(ty, _)| ty);
    // Untyped parameters take anything of their size.
    let untyped = matches!(
        ty,
        ScalarType::B8 | ScalarType::B16 | ScalarType::B32 | ScalarType::B64
    );
    let same_size = parameter.bytes == given.bytes() && ty.bits() == given.bits();
    same_size && (untyped || ty.is_float() == given.is_float())
}
