//! Execution of launches, with the addresses and handles of their arguments.

use std::sync::Arc;

use warpweave_params::{Diagnostic, Placed};
use warpweave_ptx::{
    EmulationError, EmulationOptions, LaunchConfig, LaunchWatch, foresee, launch_family,
};
use warpweave_trace::Attribute;

use super::foresight::Foresight;
use super::host::Host;
use super::launch::{Shape, checked_offset, kernel_argument, shape};
use super::{DeviceAction, ExecuteError};
use crate::host_program::description::{Argument, Command, Launch};
use crate::host_program::modules::{self, SymbolKind};
use crate::host_program::textures;

impl Host<'_, '_> {
    pub(super) fn launch(
        &mut self,
        launch: &Launch,
        command: &Placed<Command>,
    ) -> Result<(), ExecuteError> {
        let Shape {
            grid,
            block,
            dynamic_local_bytes,
            stream,
            registers_per_thread,
            place,
            attributes,
        } = shape(launch, &self.env)?;
        let module_number = modules::find(
            &self.program.modules,
            launch.module.as_ref(),
            SymbolKind::Kernel,
            &launch.kernel,
        )?;
        let module = Arc::clone(&self.modules[module_number]);
        let module = module.as_ref();
        self.load_modules(command)?;
        self.bind_textures(module_number, command)?;
        let env = self.env.clone();
        let mut arguments = Vec::new();
        for argument in &launch.arguments {
            let place = &mut |argument: &Argument| self.place(argument);
            arguments.push(kernel_argument(&argument.value, &env, place)?);
        }
        let config = LaunchConfig {
            grid,
            block,
            dynamic_local_bytes,
            args: &arguments,
        };
        let kernel = &launch.kernel.value;
        if let Foresight::All(ahead) = &self.foresight {
            let foreseen = foresee(module, kernel, config, &self.options, ahead);
            let foreseen = foreseen.map_err(|error| command.error(error.to_string()))?;
            let number = self.recorded.kernels.len() as u32;
            self.recorded.kernels.push(Arc::new(foreseen));
            self.recorded.launch(number, stream);
            return Ok(());
        }
        let options = EmulationOptions {
            is_cooperative: launch.cooperative,
            place,
            ..self.options
        };
        let (memory, options) = (&mut self.memory, &options);
        let numbers = &mut self.recorded.numbers;
        let number = numbers.kernel;
        self.recorded.launches += 1;
        let groups = grid.iter().map(|axis| u64::from(*axis)).product();
        let counts = self.progress.launch_begins(groups);
        let result = match &mut self.checker {
            None => {
                let watch = LaunchWatch {
                    counts: Some(counts),
                    foreseen: self.foresight.launch(number),
                };
                launch_family(module, kernel, config, memory, options, numbers, watch)
            }
            Some(checker) => checker.launch(module, kernel, config, memory, options, numbers),
        };
        let mut family = result.map_err(|source| {
            if matches!(source, EmulationError::Abandoned) {
                return ExecuteError::Abandoned;
            }
            let number = self.recorded.launches - 1;
            let said = source.to_string();
            let (problem, hint) = match said.split_once("\nhint: ") {
                Some((problem, hint)) => (problem, Some(hint.to_owned())),
                None => (said.as_str(), None),
            };
            let message = Diagnostic {
                hint,
                ..command.error(format!("launch {number} failed: {problem}"))
            };
            ExecuteError::Launch {
                message: Box::new(message),
                source: Box::new(source),
            }
        })?;
        if let Some(listener) = &mut self.listener {
            listener(DeviceAction::Launch {
                module: module_number,
                kernel: kernel.clone(),
                grid,
                block,
                dynamic_local_bytes,
                arguments,
            });
        }
        if let Some(kernel) = family.kernels.first_mut() {
            let registers =
                registers_per_thread.map(|r| Attribute::new(Attribute::REGISTERS, r.into()));
            kernel.attributes.extend(registers);
            kernel.attributes.extend(attributes);
        }
        for kernel in family.kernels.into_iter().map(Arc::new) {
            self.foresight.ended(&kernel);
            self.recorded.kernels.push(kernel);
        }
        self.recorded.printed.append(&family.printed);
        self.recorded.refused_launches += family.refused;
        self.recorded.launch(number, stream);
        Ok(())
    }

    /// Allocates and initialises the variables of all modules before the first use, in module
    /// order. An `.extern` variable refers to that of an earlier module.
    pub(super) fn load_modules<T>(&mut self, blamed: &Placed<T>) -> Result<(), Diagnostic> {
        for module in &self.modules {
            let loaded = self.memory.load(module);
            loaded.map_err(|variable| {
                let message = format!(
                    "{} declares variable `{variable}`, which no earlier module defines",
                    module.file()
                );
                let hint = "list the module that defines it before those that declare it: modules: { \"one\": \"one.ptx\", \"other\": \"other.ptx\" }";
                blamed.error(message).hint(hint)
            })?;
        }
        if !std::mem::replace(&mut self.has_variables, true) {
            self.tell_variables();
        }
        Ok(())
    }

    /// Reports the variables of all modules to the listener.
    fn tell_variables(&mut self) {
        let Some(listener) = &mut self.listener else {
            return;
        };
        for (number, module) in self.modules.iter().enumerate() {
            for name in module.variable_names() {
                let address = self.memory.variable(module, name);
                let bytes = module.variable_bytes(name);
                if let (Some(address), Some(bytes)) = (address, bytes) {
                    listener(DeviceAction::Variable {
                        module: number,
                        name: name.to_owned(),
                        address,
                        bytes,
                    });
                }
            }
        }
    }

    /// Returns the address or handle of an argument, or 0 if it names neither buffer nor texture.
    pub(super) fn place(&mut self, argument: &Argument) -> Result<u64, Diagnostic> {
        let program = self.program;
        match argument {
            Argument::Buffer(name) => Ok(self.buffers.address(program.buffer(name)?)),
            Argument::BufferAt {
                buffer,
                offset_bytes,
            } => {
                let index = program.buffer(buffer)?;
                let bytes = program.buffers[index].bytes();
                let offset = checked_offset(buffer, bytes, offset_bytes, &self.env)?;
                Ok(self.buffers.address(index) + offset)
            }
            Argument::Texture(name) => self.texture(textures::find(&program.textures, name)?),
            _ => Ok(0),
        }
    }

    /// Resolves texture references to their bound textures, at the current buffer addresses.
    fn bind_textures(
        &mut self,
        number: usize,
        command: &Placed<Command>,
    ) -> Result<(), Diagnostic> {
        let module = Arc::clone(&self.modules[number]);
        for (reference, texture) in self.textures.references(number) {
            let handle = self.texture(texture)?;
            let bound = self.memory.bind_texture(&module, &reference, handle);
            bound.map_err(|error| command.error(error.to_string()))?;
        }
        Ok(())
    }

    /// Returns the handle of a texture at its buffer's current address.
    fn texture(&mut self, number: usize) -> Result<u64, Diagnostic> {
        let textures = &self.program.textures;
        let address = self.buffers.address(textures[number].buffer);
        let (handle, is_new) = self
            .textures
            .handle(textures, number, address, &mut self.memory)?;
        if let (true, Some(listener)) = (is_new, &mut self.listener) {
            listener(DeviceAction::Texture {
                name: textures[number].name.value.clone(),
                handle,
                texture: textures[number].at(address),
            });
        }
        Ok(handle)
    }
}
