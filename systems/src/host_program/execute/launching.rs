//! Execution of launches, with the addresses and handles of their arguments.

use warpweave_params::{Diagnostic, Placed};
use warpweave_ptx::EmulationError;
use warpweave_trace::Attribute;

use super::ExecuteError;
use super::device::{DeviceError, DeviceLaunch};
use super::host::{Host, refusal};
use super::launch::{Shape, checked_offset, kernel_argument, shape};
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
        let modules = &self.program.modules;
        let module_number = modules::find(
            modules,
            launch.module.as_ref(),
            SymbolKind::Kernel,
            &launch.kernel,
        )?;
        self.load_modules(command)?;
        self.bind_textures(module_number, command)?;
        let env = self.env.clone();
        let mut arguments = Vec::new();
        for argument in &launch.arguments {
            let place = &mut |argument: &Argument| self.place(argument);
            arguments.push(kernel_argument(&argument.value, &env, place)?);
        }
        let registers =
            registers_per_thread.map(|r| Attribute::new(Attribute::REGISTERS, r.into()));
        let attributes: Vec<_> = registers.into_iter().chain(attributes).collect();
        let number = self.launches;
        self.launches += 1;
        let launched = self.device.launch(&DeviceLaunch {
            module_number,
            module: &modules[module_number],
            kernel: &launch.kernel.value,
            grid,
            block,
            dynamic_local_bytes,
            stream,
            cooperative: launch.cooperative,
            place,
            attributes: &attributes,
            arguments: &arguments,
        });
        launched.map_err(|error| failed_launch(number, command, error))
    }

    /// Loads the modules before the first use of one.
    pub(super) fn load_modules<T>(&mut self, blamed: &Placed<T>) -> Result<(), Diagnostic> {
        if self.has_modules {
            return Ok(());
        }
        let loaded = self.device.load(&self.program.modules);
        loaded.map_err(|error| {
            let problem = refusal(blamed, &error);
            match error {
                DeviceError::Undefined { .. } => {
                    let hint = "list the module that defines it before those that declare it: modules: { \"one\": \"one.ptx\", \"other\": \"other.ptx\" }";
                    problem.hint(hint)
                }
                _ => problem,
            }
        })?;
        self.has_modules = true;
        Ok(())
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
        for (reference, texture) in self.textures.references(number) {
            let handle = self.texture(texture)?;
            let bound = self.device.bind_texture(number, &reference, handle);
            bound.map_err(|error| refusal(command, &error))?;
        }
        Ok(())
    }

    /// Returns the handle of a texture at its buffer's current address.
    fn texture(&mut self, number: usize) -> Result<u64, Diagnostic> {
        let texture = &self.program.textures[number];
        let address = self.buffers.address(texture.buffer);
        if let Some(handle) = self.textures.handle(number, address) {
            return Ok(handle);
        }
        let name = &texture.name;
        let handle = self.device.create_texture(&name.value, texture.at(address));
        let handle = handle.map_err(|error| refusal(name, &error))?;
        self.textures.keep(number, address, handle);
        Ok(handle)
    }
}

/// Returns the error of launch `number`, at the place of its command.
fn failed_launch(number: u64, command: &Placed<Command>, error: DeviceError) -> ExecuteError {
    let said = error.to_string();
    let (problem, hint) = match said.split_once("\nhint: ") {
        Some((problem, hint)) => (problem, Some(hint.to_owned())),
        None => (said.as_str(), None),
    };
    let message = Diagnostic {
        hint,
        ..command.error(format!("launch {number} failed: {problem}"))
    };
    match error {
        DeviceError::Emulation(source) if matches!(*source, EmulationError::Abandoned) => {
            ExecuteError::Abandoned
        }
        DeviceError::Emulation(source) => ExecuteError::Launch {
            message: Box::new(message),
            source,
        },
        _ => message.into(),
    }
}
