//! Emulated device, which records the actions of the host for the program's trace.

use std::sync::Arc;

use warpweave_params::Diagnostic;
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, LaunchConfig, LaunchWatch, Module, ProgramChecker, Texture,
    foresee, launch_family,
};
use warpweave_trace::{Allocation, HostCommand};

use super::EmulationProgress;
use super::device::{Device, DeviceAllocation, DeviceError, DeviceLaunch};
use super::foresight::Foresight;
use super::recorded::Recorded;
use crate::host_program::modules::ProgramModule;
use crate::host_program::{EmulationSpec, HostProgram};

/// Emulator with its memory, and the trace of what it has done.
pub(in crate::host_program) struct Emulated<'p> {
    /// Modules in the form of code that is emulated.
    modules: Vec<Arc<Module>>,
    options: EmulationOptions,
    pub(super) memory: DeviceMemory,
    pub(in crate::host_program) recorded: Recorded,
    /// Progress counters, updated for other threads.
    progress: &'p EmulationProgress,
    /// Checker of kernel behaviour, if enabled.
    pub(in crate::host_program) checker: Option<ProgramChecker>,
    /// Knowledge about launches before their emulation.
    pub(super) foresight: Foresight<'p>,
}

impl<'p> Emulated<'p> {
    /// Creates a device with empty memory, after bringing the modules into the form to emulate.
    pub(in crate::host_program) fn new(
        program: &'p HostProgram,
        emulation: &EmulationSpec,
        progress: &'p EmulationProgress,
    ) -> Result<Self, Diagnostic> {
        let ledger = program.reading.ledger();
        let form = emulation.code.form();
        let modules = program.modules.iter();
        let modules = modules.map(|module| module.in_form(form, ledger).cloned());
        let memory = DeviceMemory::beginning_at(emulation.allocation_offset_bytes.get());
        Ok(Self {
            modules: modules.collect::<Result<_, _>>()?,
            options: emulation.options(),
            memory: memory.charged_to(ledger),
            recorded: Recorded::default(),
            progress,
            checker: None,
            foresight: Foresight::None,
        })
    }

    /// Returns the allocations: buffers first, then variables of the modules.
    pub(super) fn allocations(&self) -> Vec<Allocation> {
        let convert = |allocation: &warpweave_ptx::Allocation| Allocation {
            name: allocation.name.clone(),
            base: allocation.base,
            bytes: allocation.bytes,
        };
        self.memory.allocations().iter().map(convert).collect()
    }

    /// Emulates a launch that the checker or a known list of launches may watch.
    fn emulate(&mut self, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let DeviceLaunch { kernel, grid, .. } = *launch;
        let module = self.modules[launch.module_number].as_ref();
        let config = config(launch);
        let options = EmulationOptions {
            is_cooperative: launch.cooperative,
            place: launch.place,
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
        let mut family = result.map_err(Box::new)?;
        if let Some(kernel) = family.kernels.first_mut() {
            kernel.attributes.extend_from_slice(launch.attributes);
        }
        for kernel in family.kernels.into_iter().map(Arc::new) {
            self.foresight.ended(&kernel);
            self.recorded.kernels.push(kernel);
        }
        self.recorded.printed.append(&family.printed);
        self.recorded.refused_launches += family.refused;
        self.recorded.launch(number, launch.stream);
        Ok(())
    }
}

fn config<'l>(launch: &DeviceLaunch<'l>) -> LaunchConfig<'l> {
    LaunchConfig {
        grid: launch.grid,
        block: launch.block,
        dynamic_local_bytes: launch.dynamic_local_bytes,
        args: launch.arguments,
    }
}

fn refused(error: impl ToString) -> DeviceError {
    DeviceError::Refused(error.to_string())
}

impl Device for Emulated<'_> {
    fn allocate(&mut self, name: &str, bytes: u64) -> Result<DeviceAllocation, DeviceError> {
        let number = self.memory.allocations().len();
        let address = self.memory.allocate(name, bytes);
        Ok(DeviceAllocation {
            number,
            address,
            bytes,
        })
    }

    /// Allocates and initialises variables in module order. An `.extern` variable refers to that of
    /// an earlier module.
    fn load(&mut self, _modules: &[ProgramModule]) -> Result<(), DeviceError> {
        for module in &self.modules {
            let loaded = self.memory.load(module);
            loaded.map_err(|variable| DeviceError::Undefined {
                file: module.file().to_owned(),
                variable,
            })?;
        }
        Ok(())
    }

    fn variable(&mut self, module: usize, name: &str) -> Result<DeviceAllocation, DeviceError> {
        let base = self.memory.variable(&self.modules[module], name);
        let mut allocations = self.memory.allocations().iter().enumerate();
        let allocation = allocations.find(|(_, it)| Some(it.base) == base);
        let missing = || refused(format!("variable `{name}` has no memory of its own"));
        let (number, allocation) = allocation.ok_or_else(missing)?;
        Ok(DeviceAllocation {
            number,
            address: allocation.base,
            bytes: allocation.bytes,
        })
    }

    fn write(
        &mut self,
        to: DeviceAllocation,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        self.recorded.wait();
        let address = to.address + offset;
        if !self.foresight.is_all() {
            self.memory.write(address, bytes).map_err(refused)?;
        }
        if let Some(checker) = &mut self.checker {
            checker.host_wrote(address, bytes.len() as u64);
        }
        self.recorded.commands.push(HostCommand::CopyToDevice {
            allocation: to.number as u32,
            offset,
            bytes: bytes.len() as u64,
        });
        Ok(())
    }

    fn read(
        &mut self,
        from: DeviceAllocation,
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<(), DeviceError> {
        self.recorded.wait();
        let size = bytes.len() as u64;
        let found = self.memory.read(from.address + offset, size);
        bytes.copy_from_slice(found.map_err(refused)?);
        self.recorded.commands.push(HostCommand::CopyToHost {
            allocation: from.number as u32,
            offset,
            bytes: size,
        });
        Ok(())
    }

    fn create_texture(&mut self, name: &str, texture: Texture) -> Result<u64, DeviceError> {
        self.memory.create_texture(name, texture).map_err(refused)
    }

    fn bind_texture(
        &mut self,
        module: usize,
        reference: &str,
        handle: u64,
    ) -> Result<(), DeviceError> {
        let module = &self.modules[module];
        let bound = self.memory.bind_texture(module, reference, handle);
        bound.map_err(refused)
    }

    fn launch(&mut self, launch: &DeviceLaunch<'_>) -> Result<(), DeviceError> {
        let Foresight::All(ahead) = &self.foresight else {
            return self.emulate(launch);
        };
        let (module, config) = (&self.modules[launch.module_number], config(launch));
        let foreseen = foresee(module, launch.kernel, config, &self.options, ahead);
        let number = self.recorded.kernels.len() as u32;
        self.recorded
            .kernels
            .push(Arc::new(foreseen.map_err(refused)?));
        self.recorded.launch(number, launch.stream);
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.recorded.synchronize();
        Ok(())
    }

    fn discards_contents(&self) -> bool {
        self.foresight.is_all()
    }
}
