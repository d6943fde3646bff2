//! Static checks of a host program: names and sizes here, arguments in `launches.rs`, results in
//! `outcome.rs`.

mod launches;
mod outcome;

use std::path::PathBuf;

use warpweave_inputs::{Name, Value};
use warpweave_params::{Condition, Diagnostic, Diagnostics, Env, Placed};

use crate::host_program::HostProgram;
use crate::host_program::buffer_use::BufferUse;
use crate::host_program::description::{Argument, Command};
use crate::host_program::execute::{
    checked_index, checked_part, checked_variable_offset, size_of_fields,
};
use crate::host_program::modules::{self, SymbolKind};
use crate::host_program::structures::Column;
use crate::host_program::textures;

/// Results of a check besides the mistakes.
pub(super) struct Checked {
    /// Files that the program's references read.
    pub(super) files: Vec<PathBuf>,
    /// Warnings about copies that may have been forgotten.
    pub(super) forgotten: Diagnostics,
}

/// Checks a host program before it runs, without emulation.
pub(super) fn program(program: &HostProgram) -> Result<Checked, Diagnostics> {
    let mut checker = Checker {
        program,
        problems: Diagnostics::new(),
        rounds: [program.env.clone(), program.env.clone()],
        counters: Vec::new(),
        names_read: Vec::new(),
        copied: Vec::new(),
        files: Vec::new(),
        passed: BufferUse::default(),
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
    /// Names visible in a first and in a second iteration of all enclosing loops.
    rounds: [Env; 2],
    /// Names that change at run time: counters of enclosing loops, and numbers read from the
    /// device.
    counters: Vec<String>,
    /// Names of numbers that are read from the device.
    names_read: Vec<String>,
    /// Indices of buffers that some command copies to the host.
    copied: Vec<usize>,
    /// Files that the program's references read.
    files: Vec<PathBuf>,
    passed: BufferUse,
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
                module,
                offset_bytes,
                values,
            } => self.write_variable(module.as_ref(), variable, offset_bytes, values),
            Command::CopyToVariable {
                buffer,
                variable,
                module,
            } => self.copy_to_variable(buffer, module.as_ref(), variable),
            Command::Write {
                buffer,
                index,
                value,
            } => self.write(buffer, index, value),
            Command::Swap(one, other) => self.swap(one, other),
            Command::BindTexture {
                reference,
                texture,
                module,
            } => {
                self.module(module.as_ref(), SymbolKind::TextureReference, reference);
                self.texture(texture);
            }
            Command::Launch(launch) => self.launch(launch),
            Command::Synchronize => {}
            Command::If {
                condition,
                body,
                otherwise,
            } => self.branch(condition, body, otherwise),
            Command::Repeat {
                times,
                counter,
                body,
            } => {
                self.whole(times, "the number of iterations");
                self.body(counter.as_ref(), body);
            }
            Command::RepeatUntilZero {
                flag,
                counter,
                at_most,
                body,
            } => {
                if let Some(column) = self.column(flag)
                    && column.length == 0
                {
                    let message = format!("flag `{}` has no elements", flag.value);
                    self.problems.push(flag.error(message));
                }
                self.whole(at_most, "the iteration limit");
                self.body(counter.as_ref(), body);
            }
        }
    }

    /// Checks the commands that a condition selects, or both lists if it may change at run time.
    fn branch(
        &mut self,
        condition: &Placed<Condition>,
        body: &[Placed<Command>],
        otherwise: &[Placed<Command>],
    ) {
        match condition.holds(&self.program.env) {
            Ok(true) => return self.commands(body),
            Ok(false) => return self.commands(otherwise),
            Err(_) => {}
        }
        // As for numbers, a value in one of the rounds is enough.
        if let [Err(problem), Err(_)] = self.rounds.each_ref().map(|env| condition.holds(env)) {
            self.problems.push(problem);
        }
        self.commands(body);
        self.commands(otherwise);
    }

    fn body(&mut self, counter: Option<&Name>, body: &[Placed<Command>]) {
        let Some(counter) = counter else {
            return self.commands(body);
        };
        if self.rounds[0].contains(&counter.value) {
            let message = format!(
                "counter `{}` shadows another value of that name",
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
        let Some(target) = self.column(buffer) else {
            return;
        };
        if target.element.range().is_none() {
            let message = format!(
                "`{}` has elements of type {:?}, but expressions require integers",
                buffer.value, target.element
            );
            self.problems.push(buffer.error(message));
        }
        self.now_or_later(&[index], |env| {
            checked_index(buffer, target.length, index, env)
        });
        if self.rounds[0].contains(&name.value) && !self.names_read.contains(&name.value) {
            let message = format!("`{}` shadows another value of that name", name.value);
            let problem = name.error(message).hint("choose another name");
            return self.problems.push(problem);
        }
        // Any two numbers represent a value known only at run time, as for the iterations of a
        // loop.
        for (value, env) in (1..).zip(&mut self.rounds) {
            env.set(&name.value, value);
        }
        self.names_read.push(name.value.clone());
        self.counters.push(name.value.clone());
    }

    /// Returns the index of the module that defines a kernel, variable or texture reference.
    fn module(&mut self, chosen: Option<&Name>, thing: SymbolKind, name: &Name) -> Option<usize> {
        let found = modules::find(&self.program.modules, chosen, thing, name);
        self.problems.take(found)
    }

    /// Returns the size of a variable in bytes.
    fn variable(&mut self, module: Option<&Name>, variable: &Name) -> Option<u64> {
        let number = self.module(module, SymbolKind::Variable, variable)?;
        let module = self.program.modules[number].module();
        module.variable_bytes(&variable.value)
    }

    fn copy_to_variable(&mut self, buffer: &Name, module: Option<&Name>, variable: &Name) {
        let (sent, bytes) = (self.buffer(buffer), self.variable(module, variable));
        let (Some(sent), Some(bytes)) = (sent, bytes) else {
            return;
        };
        let size = self.program.buffers[sent].bytes();
        let fits = checked_variable_offset(variable, bytes, &0.into(), size, &self.program.env);
        self.problems.take(fits);
    }

    fn write_variable(
        &mut self,
        module: Option<&Name>,
        variable: &Name,
        offset: &Value,
        values: &[Placed<Argument>],
    ) {
        for value in values {
            self.argument(&value.value);
        }
        let Some(bytes) = self.variable(module, variable) else {
            return;
        };
        let written = size_of_fields(values);
        self.now_or_later(&[offset], |env| {
            checked_variable_offset(variable, bytes, offset, written, env)
        });
    }

    pub(super) fn buffer(&mut self, name: &Name) -> Option<usize> {
        self.problems.take(self.program.buffer(name))
    }

    /// Returns the column of numbers that a name refers to.
    pub(super) fn column(&mut self, name: &Name) -> Option<Column> {
        self.problems.take(self.program.column(name))
    }

    pub(super) fn texture(&mut self, name: &Name) {
        self.problems
            .take(textures::find(&self.program.textures, name));
    }

    /// Checks numbers now if no loop changes them. Otherwise only checks that they will have
    /// values.
    pub(super) fn now_or_later<T>(
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
        let Some(target) = self.column(buffer) else {
            return;
        };
        if target.length == 1 {
            self.passed.filled.push(target.buffer);
        }
        self.now_or_later(&[index, value], |env| {
            checked_index(buffer, target.length, index, env)?;
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
}

/// Fails unless the expression has a value in a first or second iteration of the enclosing loops.
fn check_in_loops(value: &Value, rounds: &[Env; 2]) -> Result<(), Diagnostic> {
    let first = value.evaluate(&rounds[0]);
    if first.is_err() && value.evaluate(&rounds[1]).is_ok() {
        return Ok(());
    }
    first.map(drop)
}
