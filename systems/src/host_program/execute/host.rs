//! Execution state of the host within a program.

use std::collections::BTreeMap;

use warpweave_files::Ledger;
use warpweave_inputs::{Name, words_of_bytes};
use warpweave_params::{Diagnostic, Env, Placed};

use super::device::{Device, DeviceError};
use super::device_buffers::DeviceBuffers;
use super::parts::checked_part;
use super::{CheckResult, ExecuteError};
use crate::host_program::HostProgram;
use crate::host_program::answers;
use crate::host_program::description::{Command, Expectation};
use crate::host_program::modules::{self, SymbolKind};
use crate::host_program::textures::{self, Bound};

/// Maximum number of commands and loop iterations of a program; more is a runaway loop.
const STEPS_MAX: u64 = 1 << 22;

/// Number of copies of a buffer on the host during execution: its initial contents, the copied data
/// and the compared data.
pub(in crate::host_program) const HOST_COPIES: u64 = 3;

/// Host with its device, during execution.
pub(in crate::host_program) struct Host<'p, 'd> {
    pub(super) program: &'p HostProgram,
    pub(super) device: &'d mut dyn Device,
    /// Parameters and counters of the enclosing loops.
    pub(super) env: Env,
    pub(super) buffers: DeviceBuffers,
    pub(super) textures: Bound,
    /// True once the modules are loaded.
    pub(super) has_modules: bool,
    /// Number of launches of the host so far.
    pub(super) launches: u64,
    /// Number of iterations of loops that the device ends, so far.
    pub(super) rounds: u64,
    pub(super) steps: u64,
}

impl<'p, 'd> Host<'p, 'd> {
    /// Allocates the buffers on a device, after charging `copies` of each.
    pub(in crate::host_program) fn new(
        program: &'p HostProgram,
        device: &'d mut dyn Device,
        copies: u64,
    ) -> Result<Self, Diagnostic> {
        let charged = Ledger::new(&program.reading.ledger().budget());
        for buffer in &program.buffers {
            let what = format!("buffer `{}`", buffer.name.value);
            let bytes = buffer.bytes().saturating_mul(copies);
            let paid = charged.charge(&what, bytes);
            paid.map_err(|error| buffer.name.blame(error))?;
        }
        let mut allocations = Vec::new();
        for buffer in &program.buffers {
            let allocated = device.allocate(&buffer.name.value, buffer.bytes());
            allocations.push(allocated.map_err(|error| refusal(&buffer.name, &error))?);
        }
        Ok(Self {
            program,
            device,
            env: program.env.clone(),
            buffers: DeviceBuffers::new(charged, allocations),
            textures: Bound::by_name(&program.modules, &program.textures),
            has_modules: false,
            launches: 0,
            rounds: 0,
            steps: 0,
        })
    }

    /// Executes all commands of the program.
    pub(in crate::host_program) fn run(&mut self) -> Result<(), ExecuteError> {
        self.commands(&self.program.commands)
    }

    pub(super) fn commands(&mut self, commands: &[Placed<Command>]) -> Result<(), ExecuteError> {
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
                let bytes = self.program.buffers[buffer].bytes();
                let words = words_of_bytes(&self.read(buffer, 0, bytes)?);
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
                self.store(buffer, part.start, &bytes)?;
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
                let read = self.read(buffer, part.start, part.end - part.start)?;
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
                self.store_in_variable(module.as_ref(), variable, &0.into(), &bytes)?;
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
            Command::Synchronize => {
                let ended = self.device.synchronize();
                ended.map_err(|error| refusal(command, &error))?;
            }
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
                    self.rounds += 1;
                    self.commands(body)?;
                    let bytes = column.element.bytes() as u64;
                    let flag = self.read(column.buffer, column.offset(0), bytes)?;
                    if flag.iter().all(|byte| *byte == 0) {
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

    /// Returns the contents last copied back to the host, by name of the buffer.
    pub(super) fn outputs(&self) -> BTreeMap<String, Vec<u32>> {
        self.named(self.buffers.images.clone())
    }

    /// Like [`Host::outputs`], at the end of a run.
    pub(super) fn into_outputs(mut self) -> BTreeMap<String, Vec<u32>> {
        let images = std::mem::take(&mut self.buffers.images);
        self.named(images)
    }

    fn named(&self, images: BTreeMap<usize, Vec<u32>>) -> BTreeMap<String, Vec<u32>> {
        let name = |at: usize| self.program.buffers[at].name.value.clone();
        let images = images.into_iter();
        images.map(|(at, words)| (name(at), words)).collect()
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

/// Returns the diagnostic of a device's error, at the place of what was asked for.
pub(super) fn refusal<T>(asked: &Placed<T>, error: &DeviceError) -> Diagnostic {
    let said = error.to_string();
    match said.split_once("\nhint: ") {
        Some((problem, hint)) => asked.error(problem).hint(hint),
        None => asked.error(said),
    }
}
