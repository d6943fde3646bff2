//! The host in the middle of a program.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use warpweave_inputs::{Name, Value, words_of_bytes};
use warpweave_params::{Diagnostic, Env, Placed};
use warpweave_ptx::{
    DeviceMemory, EmulationOptions, LaunchConfig, Numbers, Printed, ProgramChecker, launch_family,
};
use warpweave_trace::{Allocation, HostCommand, KernelTrace};

use super::launch::{
    Shape, checked_offset, checked_variable_offset, kernel_argument, shape, size_of_fields,
};
use super::{CheckResult, DeviceAction, EmulationProgress, ExecuteError, Listener};
use crate::host_program::answers;
use crate::host_program::description::{Argument, Command, Expectation, Launch};
use crate::host_program::inputs::Buffer;
use crate::host_program::textures::{self, Bound};
use crate::host_program::{EmulationSpec, HostProgram};

/// Commands and rounds of loops a program may execute: more is a runaway loop.
const STEPS_MAX: u64 = 1 << 22;

/// A host and its device.
pub(in crate::host_program) struct Host<'p, 'l> {
    program: &'p HostProgram,
    options: EmulationOptions,
    memory: DeviceMemory,
    /// Parameters and counters of the loops around.
    env: Env,
    /// The allocation each buffer points to.
    pointers: Vec<usize>,
    textures: Bound,
    /// Device address of each allocation made for a buffer.
    bases: Vec<u64>,
    /// What was copied back, by buffer.
    pub(super) images: BTreeMap<usize, Vec<u32>>,
    pub(super) trace: Vec<HostCommand>,
    pub(super) kernels: Vec<Arc<KernelTrace>>,
    /// Launches of the host begun.
    pub(in crate::host_program) launches: u32,
    /// Of the kernels and streams to come.
    numbers: Numbers,
    pub(super) printed: Printed,
    /// Launches from the device that were refused.
    pub(super) refused_launches: u64,
    /// Tells how far it has come.
    progress: &'p EmulationProgress,
    /// Watches what kernels do, if anybody does.
    pub(in crate::host_program) checker: Option<ProgramChecker>,
    /// Hears what is asked of the device, if anybody does.
    listener: Option<Listener<'l>>,
    /// Whether something was launched since the host last waited.
    running: bool,
    steps: u64,
}

impl<'p, 'l> Host<'p, 'l> {
    pub(in crate::host_program) fn new(
        program: &'p HostProgram,
        emulation: &EmulationSpec,
        progress: &'p EmulationProgress,
    ) -> Self {
        let memory = DeviceMemory::beginning_at(emulation.allocation_offset_bytes.get());
        let mut memory = memory.charged_to(program.reading.ledger());
        let allocate = |buffer: &Buffer| memory.allocate(buffer.name.value.clone(), buffer.bytes());
        let bases: Vec<u64> = program.buffers.iter().map(allocate).collect();
        Self {
            program,
            options: emulation.options(),
            memory,
            env: program.env.clone(),
            pointers: (0..bases.len()).collect(),
            textures: Bound::by_name(&program.module, &program.textures),
            bases,
            images: BTreeMap::new(),
            trace: Vec::new(),
            kernels: Vec::new(),
            launches: 0,
            numbers: Numbers::default(),
            printed: Printed::default(),
            refused_launches: 0,
            progress,
            checker: None,
            listener: None,
            running: false,
            steps: 0,
        }
    }

    /// Tells somebody from now on, who hears of the buffers first.
    pub(super) fn listen(&mut self, listener: Option<Listener<'l>>) {
        self.listener = listener;
        for (buffer, &address) in self.program.buffers.iter().zip(&self.bases) {
            if let Some(listener) = &mut self.listener {
                listener(DeviceAction::Allocate {
                    name: buffer.name.value.clone(),
                    address,
                    bytes: buffer.bytes(),
                });
            }
        }
    }

    /// Goes through the whole program.
    pub(in crate::host_program) fn run(&mut self) -> Result<(), ExecuteError> {
        self.commands(&self.program.commands)?;
        self.wait();
        Ok(())
    }

    /// Buffers first, then variables of the module.
    pub(super) fn allocations(&self) -> Vec<Allocation> {
        let convert = |allocation: &warpweave_ptx::Allocation| Allocation {
            name: allocation.name.clone(),
            base: allocation.base,
            bytes: allocation.bytes,
        };
        self.memory.allocations().iter().map(convert).collect()
    }

    fn commands(&mut self, commands: &[Placed<Command>]) -> Result<(), ExecuteError> {
        for command in commands {
            self.step(command)?;
            self.command(command)?;
        }
        Ok(())
    }

    /// Counts a command or round, so that no loop runs forever.
    fn step(&mut self, command: &Placed<Command>) -> Result<(), Diagnostic> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            let message = format!("stopped after {STEPS_MAX} host commands and rounds of loops");
            let hint = "let the loops run fewer rounds";
            return Err(command.error(message).hint(hint));
        }
        Ok(())
    }

    fn command(&mut self, command: &Placed<Command>) -> Result<(), ExecuteError> {
        match &command.value {
            Command::CopyToDevice(name) => self.copy_to_device(name)?,
            Command::CopyToHost(name) => {
                let buffer = self.program.buffer(name)?;
                let words = self.read(buffer, 0, self.program.buffers[buffer].bytes());
                self.images.insert(buffer, words);
            }
            Command::CopyPartToDevice {
                buffer,
                first,
                length,
            } => {
                let buffer = self.program.buffer(buffer)?;
                let target = &self.program.buffers[buffer];
                let part = checked_part(target, first, length, &self.env)?;
                let bytes = self.held(buffer)?[part.start as usize..part.end as usize].to_vec();
                self.store(buffer, part.start, bytes);
            }
            Command::CopyPartToHost {
                buffer,
                first,
                length,
            } => {
                let buffer = self.program.buffer(buffer)?;
                let target = &self.program.buffers[buffer];
                let part = checked_part(target, first, length, &self.env)?;
                let mut bytes = self.held(buffer)?;
                let size = part.end - part.start;
                let read = bytes_of(&self.read(buffer, part.start, size), size);
                bytes[part.start as usize..part.end as usize].copy_from_slice(&read);
                self.images.insert(buffer, words_of_bytes(&bytes));
            }
            Command::Read {
                buffer,
                index,
                name,
            } => self.read_into(buffer, index, name)?,
            Command::WriteVariable {
                variable,
                offset_bytes,
                values,
            } => self.write_variable(variable, offset_bytes, values)?,
            Command::Write {
                buffer,
                index,
                value,
            } => self.write(buffer, index, value)?,
            Command::Swap(one, other) => {
                let (one, other) = (self.program.buffer(one)?, self.program.buffer(other)?);
                self.pointers.swap(one, other);
            }
            Command::BindTexture { reference, texture } => {
                let texture = textures::find(&self.program.textures, texture)?;
                self.textures.bind(&reference.value, texture);
            }
            Command::Launch(launch) => self.launch(launch, command)?,
            Command::Synchronize => {
                self.trace.push(HostCommand::Synchronize);
                self.running = false;
            }
            Command::Repeat {
                times,
                counter,
                body,
            } => {
                let rounds = 0..=i64::MAX.into();
                let times = times.integer(&self.env, "the number of rounds", rounds)?;
                for round in 0..times as i64 {
                    self.round(counter.as_ref(), round, command)?;
                    self.commands(body)?;
                }
            }
            Command::RepeatUntilZero {
                flag,
                counter,
                at_most,
                body,
            } => {
                let rounds = 0..=i64::MAX.into();
                let at_most = at_most.integer(&self.env, "the limit of rounds", rounds)?;
                let buffer = self.program.buffer(flag)?;
                let mut rounds = 0..at_most as i64;
                loop {
                    let Some(round) = rounds.next() else {
                        let message = format!(
                            "`{}` is still not zero after {at_most} rounds, the limit of this loop",
                            flag.value
                        );
                        return Err(command
                            .error(message)
                            .hint("raise `at_most`, or look for what keeps the flag set")
                            .into());
                    };
                    self.round(counter.as_ref(), round, command)?;
                    self.commands(body)?;
                    let bytes = self.program.buffers[buffer].element.bytes() as u64;
                    if self.read(buffer, 0, bytes).iter().all(|word| *word == 0) {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    fn round(
        &mut self,
        counter: Option<&Name>,
        round: i64,
        command: &Placed<Command>,
    ) -> Result<(), Diagnostic> {
        if let Some(counter) = counter {
            self.env.set(&counter.value, round);
        }
        self.step(command)
    }

    /// Waits if anything may still run.
    fn wait(&mut self) {
        if std::mem::take(&mut self.running) {
            self.trace.push(HostCommand::Synchronize);
        }
    }

    fn copy_to_device(&mut self, name: &Name) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let bytes = self.held(buffer)?;
        self.store(buffer, 0, bytes);
        Ok(())
    }

    /// What the host holds of a buffer: what was copied back last, or its contents at the start.
    fn held(&mut self, buffer: usize) -> Result<Vec<u8>, Diagnostic> {
        let target = &self.program.buffers[buffer];
        if let Some(words) = self.images.get(&buffer) {
            return Ok(bytes_of(words, target.bytes()));
        }
        let Some(pointers) = target.pointers() else {
            let words = target.initial(&self.program.graphs)?;
            return Ok(bytes_of(&words, target.bytes()));
        };
        let mut bytes = Vec::new();
        for pointer in pointers {
            bytes.extend(self.place(&pointer.value)?.to_le_bytes());
        }
        Ok(bytes)
    }

    fn read_into(&mut self, name: &Name, index: &Value, into: &Name) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let target = &self.program.buffers[buffer];
        let index = checked_index(target, index, &self.env)?;
        let bytes = target.element.bytes();
        let words = self.read(buffer, (index * bytes) as u64, bytes as u64);
        let number = target.element.integer(target.element.pattern(&words, 0));
        let number = number.and_then(|number| i64::try_from(number).ok());
        let number = number.ok_or_else(|| {
            let text = target.element.text(target.element.pattern(&words, 0));
            into.error(format!(
                "`{}` is {text}, with which expressions do not compute",
                into.value
            ))
        })?;
        self.env.set(&into.value, number);
        Ok(())
    }

    fn write_variable(
        &mut self,
        variable: &Name,
        offset: &Value,
        values: &[Placed<Argument>],
    ) -> Result<(), Diagnostic> {
        let program = self.program;
        let loaded = self.memory.load(&program.module);
        loaded.map_err(|name| variable.error(format!("variable `{name}` is defined nowhere")))?;
        let (env, size) = (self.env.clone(), size_of_fields(values));
        let place = &mut |argument: &Argument| self.place(argument);
        let fields = Argument::Struct(values.to_vec());
        let mut bytes = kernel_argument(&fields, &env, place)?.bytes(size as u32);
        bytes.truncate(size as usize);
        let capacity = program
            .module
            .variable_bytes(&variable.value)
            .unwrap_or_default();
        let offset = checked_variable_offset(variable, capacity, offset, size, &env)?;
        let base = self.memory.variable(&program.module, &variable.value);
        let allocations = self.memory.allocations();
        let allocation = allocations.iter().position(|it| Some(it.base) == base);
        let (Some(base), Some(allocation)) = (base, allocation) else {
            let message = format!("variable `{}` has no memory of its own", variable.value);
            return Err(variable.error(message));
        };
        self.store_at(allocation, base, offset, bytes);
        Ok(())
    }

    fn write(&mut self, name: &Name, index: &Value, value: &Value) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let target = &self.program.buffers[buffer];
        let index = checked_index(target, index, &self.env)?;
        let pattern = target.element.bits(value, &self.env, "the value")?;
        let bytes = target.element.bytes();
        let pattern = pattern.to_le_bytes()[..bytes].to_vec();
        self.store(buffer, (index * bytes) as u64, pattern);
        Ok(())
    }

    /// Copies bytes to where a buffer points, after all that was launched.
    fn store(&mut self, buffer: usize, offset: u64, bytes: Vec<u8>) {
        let allocation = self.pointers[buffer];
        self.store_at(allocation, self.bases[allocation], offset, bytes);
    }

    /// Copies bytes into an allocation, after all that was launched.
    fn store_at(&mut self, allocation: usize, base: u64, offset: u64, bytes: Vec<u8>) {
        self.wait();
        self.memory
            .write(base + offset, &bytes)
            .expect("buffers that swap have equal sizes and indices are checked");
        if let Some(checker) = &mut self.checker {
            checker.host_wrote(base + offset, bytes.len() as u64);
        }
        self.trace.push(HostCommand::CopyToDevice {
            allocation: allocation as u32,
            offset,
            bytes: bytes.len() as u64,
        });
        if let Some(listener) = &mut self.listener {
            listener(DeviceAction::Write {
                address: base + offset,
                bytes,
            });
        }
    }

    /// Copies bytes from where a buffer points, after all that was launched.
    fn read(&mut self, buffer: usize, offset: u64, bytes: u64) -> Vec<u32> {
        self.wait();
        let allocation = self.pointers[buffer];
        let data = self
            .memory
            .read(self.bases[allocation] + offset, bytes)
            .expect("buffers that swap have equal sizes");
        let words = words_of_bytes(data);
        if let Some(listener) = &mut self.listener {
            listener(DeviceAction::Read {
                address: self.bases[allocation] + offset,
                bytes: data.to_vec(),
            });
        }
        let allocation = allocation as u32;
        self.trace.push(HostCommand::CopyToHost {
            allocation,
            offset,
            bytes,
        });
        words
    }

    fn launch(&mut self, launch: &Launch, command: &Placed<Command>) -> Result<(), ExecuteError> {
        let Shape {
            grid,
            block,
            dynamic_local_bytes,
            stream,
        } = shape(launch, &self.env)?;
        self.bind_textures(command)?;
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
        let module = &self.program.module;
        let kernel = &launch.kernel.value;
        let (memory, options) = (&mut self.memory, &self.options);
        let numbers = &mut self.numbers;
        let number = numbers.kernel;
        self.launches += 1;
        let result = match &mut self.checker {
            None => {
                let groups = grid.iter().map(|axis| u64::from(*axis)).product();
                let ended = self.progress.launch_begins(groups);
                let ended = Some(ended);
                launch_family(module, kernel, config, memory, options, numbers, ended)
            }
            Some(checker) => checker.launch(module, kernel, config, memory, options, numbers),
        };
        let family = result.map_err(|source| {
            let number = self.launches - 1;
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
                kernel: kernel.clone(),
                grid,
                block,
                dynamic_local_bytes,
                arguments,
            });
        }
        self.kernels
            .extend(family.kernels.into_iter().map(Arc::new));
        self.printed.append(&family.printed);
        self.refused_launches += family.refused;
        self.trace.push(HostCommand::Launch {
            kernel: number,
            stream,
        });
        self.running = true;
        Ok(())
    }

    /// The address or handle that an argument stands for; 0 for one that names neither buffer nor texture.
    fn place(&mut self, argument: &Argument) -> Result<u64, Diagnostic> {
        let program = self.program;
        match argument {
            Argument::Buffer(name) => Ok(self.bases[self.pointers[program.buffer(name)?]]),
            Argument::BufferAt {
                buffer,
                offset_bytes,
            } => {
                let index = program.buffer(buffer)?;
                let bytes = program.buffers[index].bytes();
                let offset = checked_offset(buffer, bytes, offset_bytes, &self.env)?;
                Ok(self.bases[self.pointers[index]] + offset)
            }
            Argument::Texture(name) => self.texture(textures::find(&program.textures, name)?),
            _ => Ok(0),
        }
    }

    /// Lets references stand for the textures they were bound to, where their buffers are now.
    fn bind_textures(&mut self, command: &Placed<Command>) -> Result<(), Diagnostic> {
        for (reference, texture) in self.textures.references() {
            let handle = self.texture(texture)?;
            let module = &self.program.module;
            let bound = self.memory.bind_texture(module, &reference, handle);
            bound.map_err(|error| command.error(error.to_string()))?;
        }
        Ok(())
    }

    /// The handle of a texture where its buffer is now.
    fn texture(&mut self, number: usize) -> Result<u64, Diagnostic> {
        let textures = &self.program.textures;
        let address = self.bases[self.pointers[textures[number].buffer]];
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

    /// How the buffer of an expectation compares.
    pub(in crate::host_program) fn check(
        &self,
        expectation: &Expectation,
    ) -> Result<CheckResult, Diagnostic> {
        let index = self.program.buffer(&expectation.buffer)?;
        let target = &self.program.buffers[index];
        let (passed, detail) = match self.images.get(&index) {
            Some(found) => answers::judge(self.program, expectation, found)?,
            None => (
                false,
                "never copied to the host: its copy is in a loop of no rounds".to_owned(),
            ),
        };
        Ok(CheckResult {
            buffer: target.name.value.clone(),
            reference: expectation.demand.name().to_owned(),
            passed,
            detail,
        })
    }
}

/// The first bytes of words.
fn bytes_of(words: &[u32], bytes: u64) -> Vec<u8> {
    let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    all.truncate(bytes as usize);
    all
}

/// The bytes of some elements of a buffer.
pub(in crate::host_program) fn checked_part(
    buffer: &Buffer,
    first: &Value,
    length: &Value,
    env: &Env,
) -> Result<Range<u64>, Diagnostic> {
    let (name, all) = (&buffer.name.value, buffer.length as i128);
    let what = format!("the first element of a part of buffer `{name}` of {all} elements");
    let first = first.integer(env, &what, 0..=all)?;
    let what = format!("the length of a part of buffer `{name}` from element {first} on");
    let length = length.integer(env, &what, 0..=all - first)?;
    let bytes = buffer.element.bytes() as u64;
    Ok(first as u64 * bytes..(first + length) as u64 * bytes)
}

/// The number of an element inside a buffer.
pub(in crate::host_program) fn checked_index(
    buffer: &Buffer,
    index: &Value,
    env: &Env,
) -> Result<usize, Diagnostic> {
    let what = format!(
        "the index into buffer `{}` of {} elements",
        buffer.name.value, buffer.length
    );
    Ok(index.integer(env, &what, 0..=buffer.length as i128 - 1)? as usize)
}
