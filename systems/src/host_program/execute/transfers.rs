//! Copies between the host and its device.

use std::sync::Arc;

use warpweave_inputs::{Name, Value, words_of_bytes};
use warpweave_params::{Diagnostic, Placed};
use warpweave_trace::HostCommand;

use super::DeviceAction;
use super::host::Host;
use super::launch::{
    checked_variable_offset, fields as fields_of, kernel_argument, size_and_alignment,
    size_of_fields,
};
use super::parts::{bytes_of, checked_index};
use crate::host_program::description::Argument;
use crate::host_program::modules::{self, SymbolKind};

impl Host<'_, '_> {
    pub(super) fn copy_to_device(&mut self, name: &Name) -> Result<(), Diagnostic> {
        let buffer = self.program.buffer(name)?;
        let bytes = self.held(buffer)?;
        self.store(buffer, 0, bytes);
        Ok(())
    }

    /// Returns the host's contents of a buffer: the last copy from the device, or the initial
    /// contents.
    pub(super) fn held(&mut self, buffer: usize) -> Result<Vec<u8>, Diagnostic> {
        let target = &self.program.buffers[buffer];
        if self.foresight.is_all() {
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
        let words = self.read(target.buffer, target.offset(index), bytes);
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
        let pointers = pointers_in(values, 0);
        self.store_in_variable(module, variable, offset, (bytes, pointers))
    }

    /// Copies bytes into a variable of a module, after all earlier launches.
    pub(super) fn store_in_variable(
        &mut self,
        module: Option<&Name>,
        variable: &Name,
        offset: &Value,
        (bytes, pointers): (Vec<u8>, Vec<u64>),
    ) -> Result<(), Diagnostic> {
        let modules = &self.program.modules;
        let number = modules::find(modules, module, SymbolKind::Variable, variable)?;
        let module = Arc::clone(&self.modules[number]);
        self.load_modules(variable)?;
        let capacity = module.variable_bytes(&variable.value).unwrap_or_default();
        let size = bytes.len() as u64;
        let offset = checked_variable_offset(variable, capacity, offset, size, &self.env)?;
        let base = self.memory.variable(&module, &variable.value);
        let allocations = self.memory.allocations();
        let allocation = allocations.iter().position(|it| Some(it.base) == base);
        let (Some(base), Some(allocation)) = (base, allocation) else {
            let message = format!("variable `{}` has no memory of its own", variable.value);
            return Err(variable.error(message));
        };
        self.store_at(allocation, base + offset, offset, (bytes, pointers));
        Ok(())
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
        self.store(target.buffer, target.offset(index), pattern);
        Ok(())
    }

    /// Copies bytes to the memory a buffer points to, after all earlier launches.
    pub(super) fn store(&mut self, buffer: usize, offset: u64, bytes: Vec<u8>) {
        let allocation = self.buffers.pointers[buffer];
        let address = self.buffers.bases[allocation] + offset;
        let pointers = self.pointers_of(buffer, bytes.len() as u64);
        self.store_at(allocation, address, offset, (bytes, pointers));
    }

    /// Returns the offsets of device addresses within `bytes` bytes of a buffer, starting at one of
    /// its elements.
    pub(super) fn pointers_of(&self, buffer: usize, bytes: u64) -> Vec<u64> {
        match self.program.buffers[buffer].pointers() {
            Some(_) => (0..bytes).step_by(8).collect(),
            None => Vec::new(),
        }
    }

    /// Copies bytes that may contain device addresses into an allocation, after all earlier
    /// launches.
    fn store_at(
        &mut self,
        allocation: usize,
        address: u64,
        offset: u64,
        (bytes, pointers): (Vec<u8>, Vec<u64>),
    ) {
        self.recorded.wait();
        if !self.foresight.is_all() {
            let written = self.memory.write(address, &bytes);
            written.expect("buffers that swap have equal sizes and indices are checked");
        }
        if let Some(checker) = &mut self.checker {
            checker.host_wrote(address, bytes.len() as u64);
        }
        self.recorded.commands.push(HostCommand::CopyToDevice {
            allocation: allocation as u32,
            offset,
            bytes: bytes.len() as u64,
        });
        if let Some(listener) = &mut self.listener {
            listener(DeviceAction::Write {
                address,
                bytes,
                pointers,
            });
        }
    }

    /// Copies bytes from the memory a buffer points to, after all earlier launches.
    pub(super) fn read(&mut self, buffer: usize, offset: u64, bytes: u64) -> Vec<u32> {
        self.recorded.wait();
        let allocation = self.buffers.pointers[buffer];
        let pointers = self.pointers_of(buffer, bytes);
        let data = self
            .memory
            .read(self.buffers.bases[allocation] + offset, bytes)
            .expect("buffers that swap have equal sizes");
        let words = words_of_bytes(data);
        if let Some(listener) = &mut self.listener {
            listener(DeviceAction::Read {
                address: self.buffers.bases[allocation] + offset,
                bytes: data.to_vec(),
                pointers,
            });
        }
        let allocation = allocation as u32;
        self.recorded.commands.push(HostCommand::CopyToHost {
            allocation,
            offset,
            bytes,
        });
        words
    }
}

/// Returns the offsets of device addresses in fields that are laid out from `start` on.
fn pointers_in(fields: &[Placed<Argument>], start: u64) -> Vec<u64> {
    let (mut at, mut places) = (start, Vec::new());
    for field in fields {
        let (bytes, alignment) = size_and_alignment(&field.value);
        at = at.next_multiple_of(alignment as u64);
        match &field.value {
            Argument::Buffer(_) | Argument::BufferAt { .. } => places.push(at),
            value => places.extend(pointers_in(fields_of(value).unwrap_or_default(), at)),
        }
        at += bytes as u64;
    }
    places
}
