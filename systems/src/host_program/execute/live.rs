//! Runs of a host program on a device other than the emulator, in stages that can be repeated.

use std::collections::BTreeMap;

use warpweave_params::{Diagnostic, Env, Placed};
use warpweave_trace::Allocation;

use super::device::{Device, DeviceAllocation, DeviceError};
use super::host::{HOST_COPIES, Host};
use super::{CheckResult, ExecuteError};
use crate::host_program::HostProgram;
use crate::host_program::description::Command;
use crate::host_program::textures::Bound;

/// Run of a host program on a device, in three stages. They are the commands before the first
/// launch, those up to the last launch, and those after it. A loop or condition with a launch is
/// not divided.
pub struct LiveRun<'p, 'd> {
    host: Host<'p, 'd>,
    before: &'p [Placed<Command>],
    /// Commands from the first launch to the last one.
    launching: &'p [Placed<Command>],
    after: &'p [Placed<Command>],
    /// State after the first stage, if it is kept.
    kept: Option<Kept<'p>>,
}

/// State of host and device after the first stage of a run.
struct Kept<'p> {
    env: Env,
    pointers: Vec<usize>,
    images: BTreeMap<usize, Vec<u32>>,
    textures: Bound,
    /// Name, memory and copy of each buffer and variable.
    pristine: Vec<(&'p str, DeviceAllocation, DeviceAllocation)>,
}

/// True if a command launches a kernel, itself or in its body.
fn launches(command: &Placed<Command>) -> bool {
    match &command.value {
        Command::Launch(_) => true,
        Command::Repeat { body, .. } | Command::RepeatUntilZero { body, .. } => {
            body.iter().any(launches)
        }
        Command::If {
            body, otherwise, ..
        } => body.iter().chain(otherwise).any(launches),
        _ => false,
    }
}

impl<'p, 'd> LiveRun<'p, 'd> {
    /// Allocates the buffers of a program on a device, and prepares to execute it there.
    ///
    /// # Errors
    /// Returns an error if the device or this machine has too little memory.
    pub fn new(program: &'p HostProgram, device: &'d mut dyn Device) -> Result<Self, ExecuteError> {
        let commands = &program.commands;
        let first = commands.iter().position(launches);
        let (before, rest) = commands.split_at(first.unwrap_or(commands.len()));
        let last = rest.iter().rposition(launches).map_or(0, |last| last + 1);
        let (launching, after) = rest.split_at(last);
        Ok(Self {
            host: Host::new(program, device, HOST_COPIES)?,
            before,
            launching,
            after,
            kept: None,
        })
    }

    /// Loads the modules and executes the commands before the first launch.
    ///
    /// # Errors
    /// Returns the reason why the program or the device cannot do it.
    pub fn set_up(&mut self) -> Result<(), ExecuteError> {
        if let Some(first) = self.host.program.commands.first() {
            self.host.load_modules(first)?;
        }
        self.host.commands(self.before)
    }

    /// Copies all buffers and variables to other memory of the device, for
    /// [`restore`](Self::restore). Variables that the device does not know are left out.
    ///
    /// # Errors
    /// Returns an error if the device has too little memory.
    pub fn keep(&mut self) -> Result<(), ExecuteError> {
        let mut originals = Vec::new();
        let host = &mut self.host;
        for (buffer, &memory) in host.program.buffers.iter().zip(&host.buffers.allocations) {
            originals.push((buffer.name.value.as_str(), memory));
        }
        for (number, module) in host.program.modules.iter().enumerate() {
            for name in module.module().variable_names() {
                if let Ok(memory) = host.device.variable(number, name) {
                    originals.push((name, memory));
                }
            }
        }
        let mut pristine = Vec::new();
        for (name, original) in originals {
            let copied = host.device.allocate(name, original.bytes).and_then(|copy| {
                host.device.copy(original, copy)?;
                Ok(copy)
            });
            let copy = copied.map_err(|error| not_copied(name, &error))?;
            pristine.push((name, original, copy));
        }
        self.kept = Some(Kept {
            env: host.env.clone(),
            pointers: host.buffers.pointers.clone(),
            images: host.buffers.images.clone(),
            textures: host.textures.clone(),
            pristine,
        });
        Ok(())
    }

    /// Restores what [`keep`](Self::keep) copied. Without a kept state it does nothing.
    ///
    /// # Errors
    /// Returns an error if the device cannot copy.
    pub fn restore(&mut self) -> Result<(), ExecuteError> {
        let Some(kept) = &self.kept else {
            return Ok(());
        };
        let host = &mut self.host;
        for &(name, original, copy) in &kept.pristine {
            let copied = host.device.copy(copy, original);
            copied.map_err(|error| not_copied(name, &error))?;
        }
        host.env = kept.env.clone();
        host.buffers.pointers.clone_from(&kept.pointers);
        host.buffers.images.clone_from(&kept.images);
        host.textures.clone_from(&kept.textures);
        (host.launches, host.rounds, host.steps) = (0, 0, 0);
        Ok(())
    }

    /// Executes the commands from the first launch to the last one. Launches may still be running
    /// afterwards.
    ///
    /// # Errors
    /// Returns the reason why the program or the device cannot do it.
    pub fn launch(&mut self) -> Result<(), ExecuteError> {
        self.host.commands(self.launching)
    }

    /// Executes the commands after the last launch.
    ///
    /// # Errors
    /// Returns the reason why the program or the device cannot do it.
    pub fn copy_back(&mut self) -> Result<(), ExecuteError> {
        self.host.commands(self.after)
    }

    /// Returns the memory words of the buffers copied to the host so far, by name, as of the last
    /// copy.
    pub fn outputs(&self) -> BTreeMap<String, Vec<u32>> {
        self.host.outputs()
    }

    /// Compares buffers copied to the host with what is expected.
    ///
    /// # Errors
    /// Returns an error if an expected value cannot be determined.
    pub fn check(&self) -> Result<Vec<CheckResult>, ExecuteError> {
        let expectations = self.host.program.expectations.iter();
        let checks = expectations.map(|expectation| self.host.check(expectation));
        Ok(checks.collect::<Result<_, _>>()?)
    }

    /// Returns the memory of the buffers on the device, in their order.
    pub fn allocations(&self) -> Vec<Allocation> {
        let (buffers, memory) = (&self.host.program.buffers, &self.host.buffers.allocations);
        let allocations = buffers
            .iter()
            .zip(memory)
            .map(|(buffer, memory)| Allocation {
                name: buffer.name.value.clone(),
                base: memory.address,
                bytes: memory.bytes,
            });
        allocations.collect()
    }

    /// Returns the number of launches since the beginning or the last
    /// [`restore`](Self::restore).
    pub fn launches(&self) -> u64 {
        self.host.launches
    }

    /// Returns the number of iterations of loops that the device ends, over the same time.
    pub fn rounds(&self) -> u64 {
        self.host.rounds
    }
}

/// Returns the error for a copy of a buffer or variable that was not made.
fn not_copied(name: &str, error: &DeviceError) -> Diagnostic {
    let message =
        format!("`{name}` cannot be copied on the device, to repeat the program: {error}");
    Diagnostic::error(message)
}
