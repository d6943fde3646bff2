//! Copies between the host and its device.

use warpweave_inputs::{Name, Value, words_of_bytes};
use warpweave_params::{Diagnostic, Placed};

use super::host::{Host, refusal};
use super::launch::{checked_variable_offset, kernel_argument, size_of_fields};
use super::parts::{bytes_of, checked_index};
use crate::host_program::description::Argument;
use crate::host_program::modules::{self, SymbolKind};

impl Host<'_, '_> {
    pub(super) fn copy_to_device(&mut self, name: &Name) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let bytes = self.held(buffer)?;
        self.store(buffer, 0, &bytes)
    }

    /// Returns the host's contents of a buffer: the last copy from the device, or the initial
    /// contents.
    pub(super) fn held(&mut self, buffer: usize) -> Result<Vec<u8>, Diagnostic> {
        let target = &self.program.buffers[buffer];
        if self.device.discards_contents() {
            return Ok(vec![0; target.bytes() as usize]);
        }
        if let Some(words) = self.buffers.images.get(&buffer) {
            return Ok(bytes_of(words, target.bytes()));
        }
        let Some(pointers) = target.pointers() else {
            let words = self.program.initial(buffer)?;
            return Ok(bytes_of(&words, target.bytes()));
        };
        let mut bytes = Vec::new();
        for pointer in pointers {
            bytes.extend(self.place(&pointer.value)?.to_le_bytes());
        }
        Ok(bytes)
    }

    pub(super) fn read_into(
        &mut self,
        name: &Name,
        index: &Value,
        into: &Name,
    ) -> Result<(), Diagnostic> {
        let target = self.program.column(name)?;
        let index = checked_index(name, target.length, index, &self.env)?;
        let bytes = target.element.bytes() as u64;
        let words = words_of_bytes(&self.read(target.buffer, target.offset(index), bytes)?);
        let number = target.element.integer(target.element.pattern(&words, 0));
        let number = number.and_then(|number| i64::try_from(number).ok());
        let number = number.ok_or_else(|| {
            let text = target.element.text(target.element.pattern(&words, 0));
            into.error(format!(
                "`{}` is {text}, which cannot be used in expressions",
                into.value
            ))
        })?;
        self.env.set(&into.value, number);
        Ok(())
    }

    pub(super) fn write_variable(
        &mut self,
        module: Option<&Name>,
        variable: &Name,
        offset: &Value,
        values: &[Placed<Argument>],
    ) -> Result<(), Diagnostic> {
        let (env, size) = (self.env.clone(), size_of_fields(values));
        let place = &mut |argument: &Argument| self.place(argument);
        let fields = Argument::Struct(values.to_vec());
        let mut bytes = kernel_argument(&fields, &env, place)?.bytes(size as u32);
        bytes.truncate(size as usize);
        self.store_in_variable(module, variable, offset, &bytes)
    }

    /// Copies bytes into a variable of a module, after all earlier launches.
    pub(super) fn store_in_variable(
        &mut self,
        module: Option<&Name>,
        variable: &Name,
        offset: &Value,
        bytes: &[u8],
    ) -> Result<(), Diagnostic> {
        let modules = &self.program.modules;
        let number = modules::find(modules, module, SymbolKind::Variable, variable)?;
        let module = modules[number].module();
        self.load_modules(variable)?;
        let capacity = module.variable_bytes(&variable.value).unwrap_or_default();
        let size = bytes.len() as u64;
        let offset = checked_variable_offset(variable, capacity, offset, size, &self.env)?;
        let found = self.device.variable(number, &variable.value);
        let stored = found.and_then(|memory| self.device.write(memory, offset, bytes));
        stored.map_err(|error| refusal(variable, &error))
    }

    pub(super) fn write(
        &mut self,
        name: &Name,
        index: &Value,
        value: &Value,
    ) -> Result<(), Diagnostic> {
        let target = self.program.column(name)?;
        let index = checked_index(name, target.length, index, &self.env)?;
        let pattern = target.element.bits(value, &self.env, "the value")?;
        let bytes = target.element.bytes();
        let pattern = pattern.to_le_bytes()[..bytes].to_vec();
        self.store(target.buffer, target.offset(index), &pattern)
    }

    /// Copies bytes to the memory a buffer points to, after all earlier launches.
    pub(super) fn store(
        &mut self,
        buffer: usize,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Diagnostic> {
        let memory = self.buffers.allocation(buffer);
        let written = self.device.write(memory, offset, bytes);
        written.map_err(|error| refusal(&self.program.buffers[buffer].name, &error))
    }

    /// Copies bytes from the memory a buffer points to, after all earlier launches.
    pub(super) fn read(
        &mut self,
        buffer: usize,
        offset: u64,
        bytes: u64,
    ) -> Result<Vec<u8>, Diagnostic> {
        let memory = self.buffers.allocation(buffer);
        let mut data = vec![0; bytes as usize];
        let read = self.device.read(memory, offset, &mut data);
        read.map_err(|error| refusal(&self.program.buffers[buffer].name, &error))?;
        Ok(data)
    }
}
