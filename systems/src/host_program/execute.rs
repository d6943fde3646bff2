//! Executes a host program on the emulator and records what it did.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_params::{Diagnostic, Env, Span};
use warpweave_ptx::{DeviceMemory, EmulationError, EmulationOptions, KernelArgument, LaunchConfig};
use warpweave_trace::{Allocation, HostCommand, KernelTrace, Program, TraceError};

use super::answers;
use super::compare::compare;
use super::description::{Argument, Command, Expectation, Launch, Name, Placed, Value};
use super::emulation::EmulationSpec;
use super::inputs::{Buffer, ELEMENT_BYTES};
use super::number::{self, error_at, integer};
use super::{HostProgram, Tolerance};

/// Commands and rounds of loops a program may execute: more is a runaway loop.
const STEPS_MAX: u64 = 1 << 22;
/// Work-groups a launch may have.
const WORK_GROUPS_MAX: u64 = 1 << 24;
/// Threads a work-group may have, along an axis and altogether.
const THREADS_MAX: i128 = 1024;

/// What executing a host program gave.
#[derive(Clone, Debug)]
pub struct Executed {
    /// What the program did.
    pub program: Arc<Program>,
    /// Each expectation in order.
    pub checks: Vec<CheckResult>,
    /// Whether all expectations were met; `None` if there are none.
    pub verified: Option<bool>,
    /// Names of the kernels launched, each once, in the order of their first launch.
    pub kernels: Vec<String>,
    /// Bit patterns of the buffers copied to the host, by name, as last copied.
    pub outputs: BTreeMap<String, Vec<u32>>,
}

/// How a buffer compares with a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckResult {
    /// The buffer.
    pub buffer: String,
    /// Name of the reference.
    pub reference: String,
    /// Whether the buffer is as expected.
    pub passed: bool,
    /// How well it compares, or the first differences.
    pub detail: String,
}

/// Why a host program could not be executed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The description asks for something impossible.
    #[error("{0}")]
    Description(Box<Diagnostic>),
    /// A launch failed; the message names the place of the launch and of the instruction.
    #[error("{message}")]
    Launch {
        /// The message.
        message: Box<Diagnostic>,
        /// What the emulator said.
        source: Box<EmulationError>,
    },
    /// The trace contradicts itself.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl From<Diagnostic> for ExecuteError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Description(Box::new(diagnostic))
    }
}

impl HostProgram {
    /// Executes the program from freshly initialised memory.
    ///
    /// # Errors
    /// [`ExecuteError`]; an expectation that is not met is no error but a result.
    pub fn execute(&self, emulation: &EmulationSpec) -> Result<Executed, ExecuteError> {
        let mut host = Host::new(self, emulation.options());
        host.commands(&self.commands)?;
        host.wait();
        let checks = self
            .expectations
            .iter()
            .map(|expectation| host.check(expectation))
            .collect::<Result<Vec<_>, _>>()?;
        let mut kernels: Vec<String> = Vec::new();
        for kernel in &host.kernels {
            if !kernels.contains(&kernel.code.name) {
                kernels.push(kernel.code.name.clone());
            }
        }
        let allocations = host.allocations();
        let outputs = host.images.into_iter();
        let outputs = outputs
            .map(|(at, words)| (self.buffers[at].name.clone(), words))
            .collect();
        let program = Program {
            name: self.name.clone(),
            allocations,
            commands: host.trace,
            kernels: host.kernels,
            front_end: emulation.front_end(),
        };
        program.check()?;
        let verified = (!checks.is_empty()).then(|| checks.iter().all(|check| check.passed));
        Ok(Executed {
            program: Arc::new(program),
            checks,
            verified,
            kernels,
            outputs,
        })
    }
}

/// The host in the middle of a program.
struct Host<'p> {
    program: &'p HostProgram,
    options: EmulationOptions,
    memory: DeviceMemory,
    /// Parameters and counters of the loops around.
    env: Env,
    /// The allocation each buffer points to.
    pointers: Vec<usize>,
    /// Device address of each allocation made for a buffer.
    bases: Vec<u64>,
    /// What was copied back, by buffer.
    images: BTreeMap<usize, Vec<u32>>,
    trace: Vec<HostCommand>,
    kernels: Vec<Arc<KernelTrace>>,
    /// Whether something was launched since the host last waited.
    running: bool,
    steps: u64,
}

impl<'p> Host<'p> {
    fn new(program: &'p HostProgram, options: EmulationOptions) -> Self {
        let mut memory = DeviceMemory::new();
        let allocate = |buffer: &Buffer| memory.allocate(buffer.name.clone(), buffer.bytes());
        let bases: Vec<u64> = program.buffers.iter().map(allocate).collect();
        Self {
            program,
            options,
            memory,
            env: program.env.clone(),
            pointers: (0..bases.len()).collect(),
            bases,
            images: BTreeMap::new(),
            trace: Vec::new(),
            kernels: Vec::new(),
            running: false,
            steps: 0,
        }
    }

    /// Buffers first, then variables of the module.
    fn allocations(&self) -> Vec<Allocation> {
        let convert = |allocation: &warpweave_ptx::Allocation| Allocation {
            name: allocation.name.clone(),
            base: allocation.base,
            bytes: allocation.bytes,
        };
        self.memory.allocations().iter().map(convert).collect()
    }

    fn commands(&mut self, commands: &[Placed<Command>]) -> Result<(), ExecuteError> {
        for command in commands {
            self.step(command.place.as_ref())?;
            self.command(command)?;
        }
        Ok(())
    }

    /// Counts a command or round, so that no loop runs forever.
    fn step(&mut self, place: Option<&Span>) -> Result<(), Diagnostic> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            let message = format!("stopped after {STEPS_MAX} host commands and rounds of loops");
            return Err(error_at(place, message).hint("let the loops run fewer rounds"));
        }
        Ok(())
    }

    fn command(&mut self, command: &Placed<Command>) -> Result<(), ExecuteError> {
        let place = command.place.as_ref();
        match &command.value {
            Command::CopyToDevice(name) => self.copy_to_device(name)?,
            Command::CopyToHost(name) => {
                let buffer = self.program.buffer(name)?;
                let length = self.program.buffers[buffer].length;
                let words = self.read(buffer, length as u64 * ELEMENT_BYTES);
                self.images.insert(buffer, words);
            }
            Command::Write {
                buffer,
                index,
                value,
            } => self.write(buffer, index, value)?,
            Command::Swap(one, other) => {
                let (one, other) = (self.program.buffer(one)?, self.program.buffer(other)?);
                self.pointers.swap(one, other);
            }
            Command::Launch(launch) => self.launch(launch, place)?,
            Command::Synchronize => {
                self.trace.push(HostCommand::Synchronize);
                self.running = false;
            }
            Command::Repeat {
                times,
                counter,
                body,
            } => {
                let range = (0, i64::MAX.into());
                let times = integer(times, &self.env, "the number of rounds", range)?;
                for round in 0..times as i64 {
                    self.round(counter.as_ref(), round, place)?;
                    self.commands(body)?;
                }
            }
            Command::RepeatUntilZero {
                flag,
                counter,
                at_most,
                body,
            } => {
                let range = (0, i64::MAX.into());
                let at_most = integer(at_most, &self.env, "the limit of rounds", range)?;
                let buffer = self.program.buffer(flag)?;
                let mut rounds = 0..at_most as i64;
                loop {
                    let Some(round) = rounds.next() else {
                        let message = format!(
                            "`{}` is still not zero after {at_most} rounds, the limit of this loop",
                            flag.value
                        );
                        return Err(error_at(place, message)
                            .hint("raise `at_most`, or look for what keeps the flag set")
                            .into());
                    };
                    self.round(counter.as_ref(), round, place)?;
                    self.commands(body)?;
                    if self.read(buffer, ELEMENT_BYTES) == [0] {
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
        place: Option<&Span>,
    ) -> Result<(), Diagnostic> {
        if let Some(counter) = counter {
            self.env.set(&counter.value, round);
        }
        self.step(place)
    }

    /// Waits if anything may still run.
    fn wait(&mut self) {
        if std::mem::take(&mut self.running) {
            self.trace.push(HostCommand::Synchronize);
        }
    }

    fn copy_to_device(&mut self, name: &Name) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        if let Some(words) = self.images.remove(&buffer) {
            self.store(buffer, 0, &words);
            self.images.insert(buffer, words);
        } else {
            let words = self.program.buffers[buffer].initial(&self.program.graphs)?;
            self.store(buffer, 0, &words);
        }
        Ok(())
    }

    fn write(&mut self, name: &Name, index: &Value, value: &Value) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let target = &self.program.buffers[buffer];
        let index = checked_index(target, index, &self.env)?;
        let word = number::element(value, &self.env, "the value", target.element)?;
        self.store(buffer, index as u64 * ELEMENT_BYTES, &[word]);
        Ok(())
    }

    /// Copies words to where a buffer points, after all that was launched.
    fn store(&mut self, buffer: usize, offset: u64, words: &[u32]) {
        self.wait();
        let allocation = self.pointers[buffer];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.memory
            .write(self.bases[allocation] + offset, &bytes)
            .expect("buffers that swap have equal sizes and indices are checked");
        self.trace.push(HostCommand::CopyToDevice {
            allocation: allocation as u32,
            offset,
            bytes: bytes.len() as u64,
        });
    }

    /// Copies the first bytes from where a buffer points, after all that was launched.
    fn read(&mut self, buffer: usize, bytes: u64) -> Vec<u32> {
        self.wait();
        let allocation = self.pointers[buffer];
        let data = self
            .memory
            .read(self.bases[allocation], bytes)
            .expect("buffers that swap have equal sizes");
        let (words, _) = data.as_chunks::<4>();
        let words = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let allocation = allocation as u32;
        self.trace.push(HostCommand::CopyToHost {
            allocation,
            offset: 0,
            bytes,
        });
        words
    }

    fn launch(&mut self, launch: &Launch, place: Option<&Span>) -> Result<(), ExecuteError> {
        let Shape {
            grid,
            block,
            dynamic_local_bytes,
            stream,
        } = shape(launch, &self.env)?;
        let arguments = launch
            .arguments
            .iter()
            .map(|argument| match &argument.value {
                Argument::Buffer(name) => {
                    let pointer = self.pointers[self.program.buffer(name)?];
                    Ok(KernelArgument::Pointer(self.bases[pointer]))
                }
                Argument::Scalar(kind, value) => number::scalar(*kind, value, &self.env),
            })
            .collect::<Result<Vec<_>, Diagnostic>>()?;
        let config = LaunchConfig {
            grid,
            block,
            dynamic_local_bytes,
            args: &arguments,
        };
        let module = &self.program.module;
        let result = warpweave_ptx::launch(
            module,
            &launch.kernel.value,
            config,
            &mut self.memory,
            &self.options,
        );
        let trace = result.map_err(|source| {
            let number = self.kernels.len();
            let message = error_at(place, format!("launch {number} failed: {source}"));
            ExecuteError::Launch {
                message: Box::new(message),
                source: Box::new(source),
            }
        })?;
        let kernel = self.kernels.len() as u32;
        self.kernels.push(Arc::new(trace));
        self.trace.push(HostCommand::Launch { kernel, stream });
        self.running = true;
        Ok(())
    }

    fn check(&self, expectation: &Expectation) -> Result<CheckResult, Diagnostic> {
        let Expectation {
            buffer,
            equals,
            tolerance: Placed {
                value: tolerance, ..
            },
        } = expectation;
        let index = self.program.buffer(buffer)?;
        let target = &self.program.buffers[index];
        let expected = answers::words(self.program, expectation)?;
        let tolerance: Tolerance = *tolerance;
        let (passed, detail) = match self.images.get(&index) {
            Some(found) => compare(target.element, found, &expected, tolerance),
            None => (
                false,
                "never copied to the host: its copy is in a loop of no rounds".to_owned(),
            ),
        };
        Ok(CheckResult {
            buffer: target.name.clone(),
            reference: equals.value.name().to_owned(),
            passed,
            detail,
        })
    }
}

/// The number of an element inside a buffer.
pub(super) fn checked_index(
    buffer: &Buffer,
    index: &Value,
    env: &Env,
) -> Result<usize, Diagnostic> {
    let what = format!(
        "the index into buffer `{}` of {} elements",
        buffer.name, buffer.length
    );
    Ok(integer(index, env, &what, (0, buffer.length as i128 - 1))? as usize)
}

/// The numbers of a launch.
pub(super) struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_local_bytes: u32,
    stream: u32,
}

pub(super) fn shape(launch: &Launch, env: &Env) -> Result<Shape, Diagnostic> {
    let axes = |values: &[Value], what: &str, most: i128| -> Result<[u32; 3], Diagnostic> {
        let mut axes = [1; 3];
        if values.len() > 3 {
            let message = format!("{what} has {} axes, at most 3 are possible", values.len());
            return Err(error_at(launch.kernel.place.as_ref(), message));
        }
        for ((axis, value), letter) in axes.iter_mut().zip(values).zip(["x", "y", "z"]) {
            *axis = integer(value, env, &format!("{what} along {letter}"), (1, most))? as u32;
        }
        Ok(axes)
    };
    let grid = axes(&launch.grid, "the grid", u32::MAX.into())?;
    let groups = grid
        .iter()
        .try_fold(1_u64, |product, &axis| product.checked_mul(axis.into()));
    if groups.is_none_or(|groups| groups > WORK_GROUPS_MAX) {
        let message = format!("a grid of {grid:?} has more than {WORK_GROUPS_MAX} work-groups");
        let place = launch.grid.first().and_then(|value| value.place.as_ref());
        return Err(error_at(place, message).hint("let each work-group do more"));
    }
    let block = axes(&launch.block, "the block", THREADS_MAX)?;
    let threads: u64 = block.iter().map(|&axis| u64::from(axis)).product();
    if i128::from(threads) > THREADS_MAX {
        let message = format!("a block of {block:?} has {threads} threads, at most {THREADS_MAX}");
        let place = launch.block.first().and_then(|value| value.place.as_ref());
        return Err(error_at(place, format!("{message} are possible")));
    }
    let range = (0, u32::MAX.into());
    let local = integer(
        &launch.dynamic_local_bytes,
        env,
        "the local memory in bytes",
        range,
    )?;
    let stream = integer(&launch.stream, env, "the stream", range)?;
    Ok(Shape {
        grid,
        block,
        dynamic_local_bytes: local as u32,
        stream: stream as u32,
    })
}
