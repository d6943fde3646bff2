//! Execution state of the host within a program.

use std::sync::Arc;

use warpweave_files::Ledger;
use warpweave_inputs::{Name, words_of_bytes};
use warpweave_params::{Diagnostic, Env, Placed};
use warpweave_ptx::{DeviceMemory, EmulationOptions, Module, ProgramChecker};
use warpweave_trace::Allocation;

use super::device_buffers::DeviceBuffers;
use super::foresight::Foresight;
use super::parts::{bytes_of, checked_part};
use super::recorded::Recorded;
use super::{CheckResult, DeviceAction, EmulationProgress, ExecuteError, Listener};
use crate::host_program::answers;
use crate::host_program::description::{Command, Expectation};
use crate::host_program::inputs::Buffer;
use crate::host_program::modules::{self, SymbolKind};
use crate::host_program::textures::{self, Bound};
use crate::host_program::{EmulationSpec, HostProgram};

/// Maximum number of commands and loop iterations of a program; more is a runaway loop.
const STEPS_MAX: u64 = 1 << 22;

/// Number of copies of a buffer that exist during execution. One is on the device; those on the
/// host are its initial contents, the copied data and the compared data.
const BUFFER_COPIES: u64 = 4;

/// Host with its emulated device, during execution.
pub(in crate::host_program) struct Host<'p, 'l> {
    pub(super) program: &'p HostProgram,
    /// Modules in the form of code that is emulated.
    pub(super) modules: Vec<Arc<Module>>,
    pub(super) options: EmulationOptions,
    pub(super) memory: DeviceMemory,
    /// Parameters and counters of the enclosing loops.
    pub(super) env: Env,
    pub(super) buffers: DeviceBuffers,
    pub(super) textures: Bound,
    pub(in crate::host_program) recorded: Recorded,
    /// Progress counters, updated for other threads.
    pub(super) progress: &'p EmulationProgress,
    /// Checker of kernel behaviour, if enabled.
    pub(in crate::host_program) checker: Option<ProgramChecker>,
    /// Knowledge about launches before their emulation.
    pub(super) foresight: Foresight<'p>,
    /// Listener that gets every device action, if any.
    pub(super) listener: Option<Listener<'l>>,
    /// True once the variables of the modules have memory.
    pub(super) has_variables: bool,
    pub(super) steps: u64,
}

impl<'p, 'l> Host<'p, 'l> {
    /// Allocates the buffers on an emulated device, after charging all their copies.
    pub(in crate::host_program) fn new(
        program: &'p HostProgram,
        emulation: &EmulationSpec,
        progress: &'p EmulationProgress,
    ) -> Result<Self, Diagnostic> {
        let charged = Ledger::new(&program.reading.ledger().budget());
        for buffer in &program.buffers {
            let what = format!("buffer `{}`", buffer.name.value);
            let bytes = buffer.bytes().saturating_mul(BUFFER_COPIES);
            let paid = charged.charge(&what, bytes);
            paid.map_err(|error| buffer.name.blame(error))?;
        }
        let ledger = program.reading.ledger();
        let form = emulation.code.form();
        let modules = program.modules.iter();
        let modules = modules.map(|module| module.in_form(form, ledger).cloned());
        let modules = modules.collect::<Result<Vec<_>, _>>()?;
        let memory = DeviceMemory::beginning_at(emulation.allocation_offset_bytes.get());
        let mut memory = memory.charged_to(ledger);
        let allocate = |buffer: &Buffer| memory.allocate(buffer.name.value.clone(), buffer.bytes());
        let bases: Vec<u64> = program.buffers.iter().map(allocate).collect();
        Ok(Self {
            program,
            modules,
            options: emulation.options(),
            memory,
            env: program.env.clone(),
            buffers: DeviceBuffers::new(charged, bases),
            textures: Bound::by_name(&program.modules, &program.textures),
            recorded: Recorded::default(),
            progress,
            checker: None,
            foresight: Foresight::None,
            listener: None,
            has_variables: false,
            steps: 0,
        })
    }

    /// Sets the listener for device actions and reports the buffers to it first.
    pub(super) fn listen(&mut self, listener: Option<Listener<'l>>) {
        self.listener = listener;
        for (buffer, &address) in self.program.buffers.iter().zip(&self.buffers.bases) {
            if let Some(listener) = &mut self.listener {
                listener(DeviceAction::Allocate {
                    name: buffer.name.value.clone(),
                    address,
                    bytes: buffer.bytes(),
                });
            }
        }
    }

    /// Executes all commands of the program.
    pub(in crate::host_program) fn run(&mut self) -> Result<(), ExecuteError> {
        self.commands(&self.program.commands)?;
        self.recorded.wait();
        Ok(())
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

    fn commands(&mut self, commands: &[Placed<Command>]) -> Result<(), ExecuteError> {
        for command in commands {
            self.step(command)?;
            self.command(command)?;
        }
        Ok(())
    }

    /// Counts a command or iteration and fails at the limit, so that no loop runs forever.
    fn step(&mut self, command: &Placed<Command>) -> Result<(), Diagnostic> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            let message = format!("stopped after {STEPS_MAX} host commands and loop iterations");
            let hint = "reduce the number of loop iterations";
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
                self.buffers.images.insert(buffer, words);
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
                self.buffers.images.insert(buffer, words_of_bytes(&bytes));
            }
            Command::Read {
                buffer,
                index,
                name,
            } => self.read_into(buffer, index, name)?,
            Command::WriteVariable {
                variable,
                module,
                offset_bytes,
                values,
            } => self.write_variable(module.as_ref(), variable, offset_bytes, values)?,
            Command::CopyToVariable {
                buffer,
                variable,
                module,
            } => {
                let buffer = self.program.buffer(buffer)?;
                let bytes = self.held(buffer)?;
                let pointers = self.pointers_of(buffer, bytes.len() as u64);
                let bytes = (bytes, pointers);
                self.store_in_variable(module.as_ref(), variable, &0.into(), bytes)?;
            }
            Command::Write {
                buffer,
                index,
                value,
            } => self.write(buffer, index, value)?,
            Command::Swap(one, other) => {
                let (one, other) = (self.program.buffer(one)?, self.program.buffer(other)?);
                self.buffers.pointers.swap(one, other);
            }
            Command::BindTexture {
                reference,
                texture,
                module,
            } => {
                let modules = &self.program.modules;
                let of = SymbolKind::TextureReference;
                let module = modules::find(modules, module.as_ref(), of, reference)?;
                let texture = textures::find(&self.program.textures, texture)?;
                self.textures.bind(module, &reference.value, texture);
            }
            Command::Launch(launch) => self.launch(launch, command)?,
            Command::Synchronize => self.recorded.synchronize(),
            Command::If {
                condition,
                body,
                otherwise,
            } => {
                let holds = condition.holds(&self.env)?;
                self.commands(if holds { body } else { otherwise })?;
            }
            Command::Repeat {
                times,
                counter,
                body,
            } => {
                let rounds = 0..=i64::MAX.into();
                let times = times.integer(&self.env, "the number of iterations", rounds)?;
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
                let at_most = at_most.integer(&self.env, "the iteration limit", rounds)?;
                let column = self.program.column(flag)?;
                let mut rounds = 0..at_most as i64;
                loop {
                    let Some(round) = rounds.next() else {
                        let message = format!(
                            "`{}` is still not zero after {at_most} iterations, the limit of this loop",
                            flag.value
                        );
                        return Err(command
                            .error(message)
                            .hint("raise `at_most`, or find out why the flag stays set")
                            .into());
                    };
                    self.round(counter.as_ref(), round, command)?;
                    self.commands(body)?;
                    let bytes = column.element.bytes() as u64;
                    let words = self.read(column.buffer, column.offset(0), bytes);
                    if words.iter().all(|word| *word == 0) {
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

    /// Compares the buffer of an expectation with its requirement.
    pub(in crate::host_program) fn check(
        &self,
        expectation: &Expectation,
    ) -> Result<CheckResult, Diagnostic> {
        let column = self.program.column(&expectation.buffer)?;
        let (passed, detail) = match self.buffers.images.get(&column.buffer) {
            Some(found) => answers::judge(self.program, expectation, found, &self.buffers.images)?,
            None => (
                false,
                "never copied to the host: no command that copies it was executed".to_owned(),
            ),
        };
        Ok(CheckResult {
            buffer: expectation.buffer.value.clone(),
            reference: expectation.demand.name().to_owned(),
            passed,
            detail,
        })
    }
}
