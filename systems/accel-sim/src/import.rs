//! Import of a kernel list, or of a single kernel trace, into a trace file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use warpweave_files::Ledger;
use warpweave_params::Diagnostic;
use warpweave_trace::{ContentHash, FrontEnd, HostCommand, ProgramHead, Storage, TraceWriter};

use crate::body::{Sink, walk};
use crate::kernel::{Functions, KernelScan, ScannedKernel, Streams};
use crate::list::{self, Entry};
use crate::packed::open_text;
use crate::text::Lines;
use crate::{AccelSimError, Quirks, indexed};

/// Result of an import: the program's hash and its unmodelled instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Content hash of the program that was written.
    pub hash: ContentHash,
    /// Opcodes that no instruction class models, or models only in part.
    pub unmodelled: Vec<Unmodelled>,
}

/// Instructions, or commands of a list, that are counted but not fully modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmodelled {
    /// First part of the opcode, before any dot, or name of the command.
    pub name: String,
    /// Description of the behavior that is not modelled.
    pub what: &'static str,
    /// Number of warp instructions with this opcode, or of these commands.
    pub count: u64,
    /// Unit of the count.
    pub unit: &'static str,
}

impl fmt::Display for Unmodelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            what,
            count,
            unit,
        } = self;
        write!(f, "{name}: {count} {unit}; not modelled: {what}")
    }
}

/// True if the file at `path` starts like a kernel list or a kernel trace.
pub fn is_accel_sim(path: &Path) -> bool {
    if indexed::is_indexed(path) {
        return true;
    }
    let Ok(text) = open_text(path) else {
        return false;
    };
    let mut lines = Lines::of(text, path);
    let Ok(Some(line)) = lines.next_filled() else {
        return false;
    };
    let commands = list::COMMANDS.iter().map(|command| command.name);
    commands
        .chain(["-", "kernel"])
        .any(|start| line.text.starts_with(start))
}

/// Reads the kernel list or kernel trace at `from` and writes a trace file at `to`. Memory used is
/// charged to `ledger`.
///
/// # Errors
/// Returns a diagnostic with its position if the input is malformed, and [`AccelSimError::Trace`]
/// if the trace cannot be written.
pub fn import(
    from: &Path,
    to: &Path,
    quirks: Quirks,
    ledger: &Ledger,
) -> Result<Imported, AccelSimError> {
    let entries = entries(from)?;
    let mut writer = TraceWriter::create(to, Storage::default())?;
    let allocations = list::allocations(&entries);
    // Kernels of one function share its instructions, so all kernels are read before any is
    // written.
    let ledger = Ledger::new(&ledger.budget());
    let mut functions = Functions::new();
    let kernels = entries.iter().filter_map(|entry| match entry {
        Entry::Kernel(path) => Some(path),
        _ => None,
    });
    let surveyed = kernels.map(|path| {
        let mut survey = KernelScan::new(quirks, path.clone(), &mut functions, &ledger);
        read(path, quirks, &mut survey)?;
        Ok(survey.finish())
    });
    let surveyed: Vec<ScannedKernel> = surveyed.collect::<Result<_, AccelSimError>>()?;
    let mut codes = BTreeMap::new();
    let mut unmodelled: BTreeMap<(String, &'static str), u64> = BTreeMap::new();
    for (key, function) in &mut functions {
        codes.insert(key.clone(), function.code(key)?);
        for (opcode, what, instructions) in function.unmodelled() {
            *unmodelled.entry((opcode.to_owned(), what)).or_default() += instructions;
        }
    }
    let numbers = stream_numbers(surveyed.iter().map(|kernel| kernel.header.stream));
    let mut commands_left_out: BTreeMap<(&str, &'static str), u64> = BTreeMap::new();
    let mut surveyed = surveyed.into_iter();
    let mut commands = Vec::new();
    for entry in &entries {
        match entry {
            Entry::Copy {
                to_device,
                base,
                bytes,
            } => commands.push(list::copy(&allocations, *to_device, *base, *bytes)),
            Entry::Allocation { .. } => {}
            Entry::Unmodelled(command) => {
                let key = (command.name, command.lacks());
                *commands_left_out.entry(key).or_default() += 1;
            }
            Entry::Kernel(path) => {
                let surveyed = surveyed.next().expect("every kernel was surveyed");
                let header = &surveyed.header;
                let key = header.function();
                let (code, function) = (codes[&key].clone(), &functions[&key]);
                let (grid, block) = (header.grid, header.block);
                let kernel = writer.kernel(code, grid, block, header.local_bytes, Vec::new())?;
                let mut streams = Streams::new(&surveyed, function, kernel);
                read(path, quirks, &mut streams)?;
                let kernel = streams.finish()?;
                let stream = numbers[&header.stream];
                commands.push(HostCommand::Launch { kernel, stream });
            }
        }
    }
    commands.push(HostCommand::Synchronize);
    let folder = from.parent().and_then(Path::file_name);
    let name = folder.or(from.file_stem()).unwrap_or_default();
    let hash = writer.finish(ProgramHead {
        name: name.display().to_string(),
        allocations,
        commands,
        front_end: FrontEnd {
            name: "accel-sim".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..FrontEnd::default()
        },
    })?;
    let instructions = unmodelled.into_iter();
    let instructions = instructions.map(|((name, what), count)| Unmodelled {
        name,
        what,
        count,
        unit: "warp instructions",
    });
    let commands = commands_left_out.into_iter();
    let commands = commands.map(|((name, what), count)| Unmodelled {
        name: name.to_owned(),
        what,
        count,
        unit: "commands of the list",
    });
    Ok(Imported {
        hash,
        unmodelled: instructions.chain(commands).collect(),
    })
}

/// Returns a stream number for each handle. Small handles are numbers. Larger ones get the least
/// numbers from 1 on that no kernel has, in order of appearance.
fn stream_numbers(handles: impl Iterator<Item = u64>) -> BTreeMap<u64, u32> {
    let mut numbers = BTreeMap::new();
    let mut large = Vec::new();
    for handle in handles {
        match u32::try_from(handle) {
            Ok(number) => {
                numbers.insert(handle, number);
            }
            Err(_) => large.push(handle),
        }
    }
    let mut next = 1;
    for handle in large {
        while numbers.contains_key(&u64::from(next)) {
            next += 1;
        }
        if let std::collections::btree_map::Entry::Vacant(vacant) = numbers.entry(handle) {
            vacant.insert(next);
            next += 1;
        }
    }
    numbers
}

/// Returns the input files for the kernel list or kernel trace at `path`.
///
/// # Errors
/// Returns an error if the list cannot be read or is malformed.
pub fn inputs(path: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
    let kernels = entries(path)?.into_iter().filter_map(|entry| match entry {
        Entry::Kernel(kernel) if kernel != path => Some(kernel),
        _ => None,
    });
    Ok(std::iter::once(path.to_owned()).chain(kernels).collect())
}

/// Returns the entries of a list; a single kernel trace yields one entry.
fn entries(path: &Path) -> Result<Vec<Entry>, Diagnostic> {
    if indexed::is_indexed(path) || begins_with_header(path)? {
        Ok(vec![Entry::Kernel(path.to_owned())])
    } else {
        list::read(path)
    }
}

fn begins_with_header(path: &Path) -> Result<bool, Diagnostic> {
    let mut lines = Lines::of(open_text(path)?, path);
    match lines.next_filled()? {
        Some(line) => Ok(line.text.starts_with('-')),
        None => Err(lines.ended("a kernel list or a kernel header")),
    }
}

/// Reads a kernel trace in text or indexed form.
fn read(path: &Path, quirks: Quirks, sink: &mut dyn Sink) -> Result<(), AccelSimError> {
    if indexed::is_indexed(path) {
        indexed::walk(path, quirks, sink)
    } else {
        walk(&mut Lines::of(open_text(path)?, path), quirks, sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_64_bits_get_numbers_that_no_kernel_has() {
        let large = 140_669_595_547_776;
        let numbers = stream_numbers([large, 1, 0, large + 8, large, 94_321].into_iter());
        let expected = [(0, 0), (1, 1), (94_321, 94_321), (large, 2), (large + 8, 3)];
        assert_eq!(numbers, BTreeMap::from(expected));
    }
}
