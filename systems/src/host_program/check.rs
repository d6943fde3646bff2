//! What can be checked of a host program before it runs: names, sizes, arguments.

use std::path::PathBuf;

use warpweave_inputs::{Name, Value};
use warpweave_params::{Diagnostic, Diagnostics, Env, Placed, name_hint};
use warpweave_ptx::{NoKernel, Parameter, RefusedKernel, ScalarType};

use super::answers;
use super::builder::in_module;
use super::description::{Allow, Argument, Command, Launch, Mistake};
use super::execute::{
    checked_index, checked_offset, checked_part, checked_variable_offset, kernel_argument, scalar,
    shape, size_and_alignment, size_of_fields,
};
use super::forgotten::Passed;
use super::textures;
use super::{HostProgram, unknown};

/// What a check of a program gives beside mistakes.
pub(super) struct Checked {
    /// Files that its references read.
    pub(super) files: Vec<PathBuf>,
    /// Copies that may be forgotten: warnings.
    pub(super) forgotten: Diagnostics,
}

/// Checks a program.
pub(super) fn program(program: &HostProgram) -> Result<Checked, Diagnostics> {
    let mut checker = Checker {
        program,
        problems: Diagnostics::new(),
        rounds: [program.env.clone(), program.env.clone()],
        counters: Vec::new(),
        names_read: Vec::new(),
        copied: Vec::new(),
        files: Vec::new(),
        passed: Passed::default(),
    };
    checker.pointers();
    checker.commands(&program.commands);
    checker.expectations();
    checker.results();
    checker.allowed();
    let checked = Checked {
        files: checker.files,
        forgotten: checker.passed.forgotten(program),
    };
    checker.problems.into_result(checked)
}

struct Checker<'p> {
    program: &'p HostProgram,
    problems: Diagnostics,
    /// What expressions see in a first and in a second round of all loops around.
    rounds: [Env; 2],
    /// What changes while the program runs: counters of the loops around, and numbers read from the device.
    counters: Vec<String>,
    /// Names of numbers read from the device.
    names_read: Vec<String>,
    /// Buffers that are copied to the host somewhere.
    copied: Vec<usize>,
    /// Files that references read.
    files: Vec<PathBuf>,
    passed: Passed,
}

impl Checker<'_> {
    fn commands(&mut self, commands: &[Placed<Command>]) {
        for command in commands {
            self.command(command);
        }
    }

    fn command(&mut self, command: &Placed<Command>) {
        match &command.value {
            Command::CopyToDevice(name) => {
                let sent = self.buffer(name);
                self.passed.filled.extend(sent);
            }
            Command::CopyToHost(name) => {
                let copied = self.buffer(name);
                self.copied.extend(copied);
            }
            Command::CopyPartToDevice {
                buffer,
                first,
                length,
            } => {
                let sent = self.part(buffer, first, length);
                self.passed.filled.extend(sent);
            }
            Command::CopyPartToHost {
                buffer,
                first,
                length,
            } => {
                let copied = self.part(buffer, first, length);
                self.copied.extend(copied);
            }
            Command::Read {
                buffer,
                index,
                name,
            } => self.read(buffer, index, name),
            Command::WriteVariable {
                variable,
                offset_bytes,
                values,
            } => self.write_variable(variable, offset_bytes, values),
            Command::Write {
                buffer,
                index,
                value,
            } => self.write(buffer, index, value),
            Command::Swap(one, other) => self.swap(one, other),
            Command::BindTexture { reference, texture } => {
                let module = &self.program.module;
                self.problems
                    .take(textures::check_reference(module, reference));
                self.texture(texture);
            }
            Command::Launch(launch) => self.launch(launch),
            Command::Synchronize => {}
            Command::Repeat {
                times,
                counter,
                body,
            } => {
                self.whole(times, "the number of rounds");
                self.body(counter.as_ref(), body);
            }
            Command::RepeatUntilZero {
                flag,
                counter,
                at_most,
                body,
            } => {
                if let Some(index) = self.buffer(flag)
                    && self.program.buffers[index].length == 0
                {
                    let message = format!("flag `{}` has no elements", flag.value);
                    self.problems.push(flag.error(message));
                }
                self.whole(at_most, "the limit of rounds");
                self.body(counter.as_ref(), body);
            }
        }
    }

    fn body(&mut self, counter: Option<&Name>, body: &[Placed<Command>]) {
        let Some(counter) = counter else {
            return self.commands(body);
        };
        if self.rounds[0].contains(&counter.value) {
            let message = format!(
                "counter `{}` hides another value of that name",
                counter.value
            );
            let problem = counter.error(message).hint("choose another name");
            return self.problems.push(problem);
        }
        let outer = self.rounds.clone();
        for (value, env) in (0..).zip(&mut self.rounds) {
            env.set(&counter.value, value);
        }
        let depth = self.counters.len();
        self.counters.push(counter.value.clone());
        self.commands(body);
        self.counters.truncate(depth);
        self.rounds = outer;
    }

    fn part(&mut self, buffer: &Name, first: &Value, length: &Value) -> Option<usize> {
        let number = self.buffer(buffer)?;
        let target = &self.program.buffers[number];
        self.now_or_later(&[first, length], |env| {
            checked_part(target, first, length, env)
        });
        Some(number)
    }

    fn read(&mut self, buffer: &Name, index: &Value, name: &Name) {
        let Some(number) = self.buffer(buffer) else {
            return;
        };
        let target = &self.program.buffers[number];
        if target.element.range().is_none() {
            let message = format!(
                "`{}` has elements of type {:?}, but expressions compute with integers",
                buffer.value, target.element
            );
            self.problems.push(buffer.error(message));
        }
        self.now_or_later(&[index], |env| checked_index(target, index, env));
        if self.rounds[0].contains(&name.value) && !self.names_read.contains(&name.value) {
            let message = format!("`{}` hides another value of that name", name.value);
            let problem = name.error(message).hint("choose another name");
            return self.problems.push(problem);
        }
        // Any two numbers stand for what is known when the program runs, as the rounds of a loop do.
        for (value, env) in (1..).zip(&mut self.rounds) {
            env.set(&name.value, value);
        }
        self.names_read.push(name.value.clone());
        self.counters.push(name.value.clone());
    }

    fn write_variable(&mut self, variable: &Name, offset: &Value, values: &[Placed<Argument>]) {
        let module = &self.program.module;
        for value in values {
            self.argument(&value.value);
        }
        let Some(bytes) = module.variable_bytes(&variable.value) else {
            let problem = unknown("variable", variable, module.variable_names());
            return self.problems.push(problem);
        };
        let written = size_of_fields(values);
        self.now_or_later(&[offset], |env| {
            checked_variable_offset(variable, bytes, offset, written, env)
        });
    }

    fn buffer(&mut self, name: &Name) -> Option<usize> {
        self.problems.take(self.program.buffer(name))
    }

    fn texture(&mut self, name: &Name) {
        self.problems
            .take(textures::find(&self.program.textures, name));
    }

    /// Checks numbers now if no loop changes them, else only that they will have values.
    fn now_or_later<T>(
        &mut self,
        values: &[&Value],
        now: impl FnOnce(&Env) -> Result<T, Diagnostic>,
    ) {
        if self.counters.is_empty() {
            self.problems.take(now(&self.rounds[0]));
            return;
        }
        for value in values {
            self.problems.take(check_in_loops(value, &self.rounds));
        }
    }

    fn whole(&mut self, value: &Value, what: &str) {
        self.now_or_later(&[value], |env| {
            value.integer(env, what, 0..=i64::MAX.into())
        });
    }

    fn write(&mut self, buffer: &Name, index: &Value, value: &Value) {
        let Some(target) = self.buffer(buffer) else {
            return;
        };
        if self.program.buffers[target].length == 1 {
            self.passed.filled.push(target);
        }
        let target = &self.program.buffers[target];
        self.now_or_later(&[index, value], |env| {
            checked_index(target, index, env)?;
            target.element.bits(value, env, "the value")
        });
    }

    fn swap(&mut self, one: &Name, other: &Name) {
        let (Some(first), Some(second)) = (self.buffer(one), self.buffer(other)) else {
            return;
        };
        let buffers = &self.program.buffers;
        let (first, second) = (&buffers[first], &buffers[second]);
        if first.bytes() != second.bytes() {
            let message = format!(
                "`{}` of {} bytes cannot be swapped with `{}` of {} bytes",
                first.name.value,
                first.bytes(),
                second.name.value,
                second.bytes()
            );
            self.problems.push(other.error(message));
        }
    }

    fn launch(&mut self, launch: &Launch) {
        let module = &self.program.module;
        let shape_values: Vec<&Value> = launch
            .grid
            .iter()
            .chain(&launch.block)
            .chain([&launch.dynamic_local_bytes, &launch.stream])
            .collect();
        self.now_or_later(&shape_values, |env| shape(launch, env));
        for argument in &launch.arguments {
            self.argument(&argument.value);
        }
        let kernel = match module.kernel(&launch.kernel.value) {
            Ok(kernel) => kernel,
            Err(NoKernel::Refused(refused)) => return self.refused(launch, refused),
            Err(NoKernel::Unknown(_)) => {
                let name = &launch.kernel.value;
                let message = format!("{} has no kernel `{name}`", module.file());
                let hint = name_hint(name, "kernels", self.kernel_names());
                return self.problems.push(launch.kernel.error(message).hint(hint));
            }
        };
        let parameters = kernel.parameters();
        if parameters.len() != launch.arguments.len() {
            let types: Vec<String> = parameters.iter().map(|p| p.ty.to_string()).collect();
            let message = format!(
                "kernel `{}` takes {} arguments, {} are given",
                kernel.name(),
                parameters.len(),
                launch.arguments.len()
            );
            let hint = format!("the types in order: {}", types.join(", "));
            return self.problems.push(launch.kernel.error(message).hint(hint));
        }
        self.passed.note(self.program, launch, parameters);
        for (index, (argument, parameter)) in launch.arguments.iter().zip(parameters).enumerate() {
            if !fits(&argument.value, parameter) {
                let given = match &argument.value {
                    Argument::Texture(_) => "a texture object".to_owned(),
                    Argument::Struct(_) => {
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
                self.problems.push(argument.error(message));
            }
        }
    }

    /// Checks the buffers that hold addresses.
    fn pointers(&mut self) {
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
    fn argument(&mut self, argument: &Argument) {
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
            Argument::Struct(fields) => {
                for field in fields {
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

    /// Names of all kernels of the module.
    fn kernel_names(&self) -> Vec<&str> {
        let module = &self.program.module;
        let names = module.kernels().iter().map(warpweave_ptx::Kernel::name);
        let refused = module.refused().iter();
        names
            .chain(refused.map(|kernel| kernel.name.as_str()))
            .collect()
    }

    /// A launch of a kernel that reaches what is not supported.
    fn refused(&mut self, launch: &Launch, refused: RefusedKernel) {
        let message = format!(
            "kernel `{}` reaches this and is launched here",
            refused.name
        );
        let (file, text) = (self.program.module.file(), &self.program.module_text);
        for diagnostic in in_module(file, text, refused.reasons) {
            self.problems.push(match &launch.kernel.place {
                Some(place) => diagnostic.related(&message, place),
                None => diagnostic,
            });
        }
    }

    fn allowed(&mut self) {
        for allow in &self.program.allowed {
            let Allow {
                kernel,
                finding,
                buffer,
                because,
            } = &allow.value;
            if let Err(NoKernel::Unknown(_)) = self.program.module.kernel(&kernel.value) {
                let problem = unknown("kernel", kernel, self.kernel_names());
                self.problems.push(problem);
            }
            if let (Mistake::GlobalRace, Some(buffer)) = (finding, buffer) {
                self.buffer(buffer);
            }
            if because.value.trim().is_empty() {
                let problem = because.error("what is allowed needs a reason");
                self.problems.push(problem.hint("say why it does no harm"));
            }
        }
    }

    fn results(&mut self) {
        for (name, _) in &self.program.results {
            let Some(buffer) = self.buffer(name) else {
                continue;
            };
            if !self.copied.contains(&buffer) {
                let message = format!(
                    "buffer `{}` is a result but never copied to the host",
                    name.value
                );
                let hint = format!("add CopyToHost(\"{}\") to the commands", name.value);
                self.problems.push(name.error(message).hint(hint));
            }
            if name.value.starts_with('.') || name.value.contains(['/', '\\', ':', '\0']) {
                let message = format!("a file cannot be named after buffer `{}`", name.value);
                let hint = "let its name begin with a letter and have no `/`, `\\` and `:`";
                self.problems.push(name.error(message).hint(hint));
            }
        }
    }

    fn expectations(&mut self) {
        for expectation in &self.program.expectations {
            let Some(buffer) = self.buffer(&expectation.buffer) else {
                continue;
            };
            if !self.copied.contains(&buffer) {
                let name = &expectation.buffer.value;
                let message = format!("buffer `{name}` is expected but never copied to the host");
                let hint = format!("add CopyToHost(\"{name}\") to the commands");
                self.problems
                    .push(expectation.buffer.error(message).hint(hint));
            }
            let read = self
                .problems
                .take(answers::check(self.program, expectation));
            self.files.extend(read.unwrap_or_default());
        }
    }
}

/// Whether a parameter is an array or a structure, which PTX declares as an array of bytes.
fn is_structure(parameter: &Parameter) -> bool {
    parameter.bytes > parameter.ty.bytes()
}

/// Whether an argument may be given for a parameter.
fn fits(argument: &Argument, parameter: &Parameter) -> bool {
    if let Argument::Struct(_) = argument {
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

/// Fails unless the expression has a value in a first or in a second round of the loops around.
fn check_in_loops(value: &Value, rounds: &[Env; 2]) -> Result<(), Diagnostic> {
    let first = value.evaluate(&rounds[0]);
    if first.is_err() && value.evaluate(&rounds[1]).is_ok() {
        return Ok(());
    }
    first.map(drop)
}
