//! Kernel lists: copies and launches in program order.

use std::path::{Path, PathBuf};

use warpweave_params::{Diagnostic, name_hint};
use warpweave_trace::{Allocation, HostCommand};

use crate::packed::open_text;
use crate::text::{Field, Line, Lines};

/// A line of a kernel list: copy, allocation, launch, or a command that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Copy {
        to_device: bool,
        base: u64,
        bytes: u64,
    },
    Allocation {
        base: u64,
        bytes: u64,
    },
    Kernel(PathBuf),
    Unmodelled(&'static Command),
}

/// A command of a kernel list, by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) name: &'static str,
    effect: Effect,
}

/// Effect of a command on import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    CopyToDevice,
    CopyToHost,
    Allocate,
    /// Nothing is simulated; the text says what is missing.
    None(&'static str),
}

impl Command {
    /// Describes what the command does that is not modelled.
    pub(crate) fn lacks(&self) -> &'static str {
        match self.effect {
            Effect::None(lacks) => lacks,
            _ => "",
        }
    }
}

const INSIDE: &str = "copies and fills within the device";
const FREED: &str = "the end of an allocation";

/// Known commands of a kernel list. The names of allocations are those of the driver's and of the
/// runtime's functions.
pub(crate) static COMMANDS: [Command; 15] = {
    const fn command(name: &'static str, effect: Effect) -> Command {
        Command { name, effect }
    }
    [
        command("MemcpyHtoD", Effect::CopyToDevice),
        command("MemcpyDtoH", Effect::CopyToHost),
        command("MemcpyDtoD", Effect::None(INSIDE)),
        command("Memset", Effect::None(INSIDE)),
        command("cudaMemset", Effect::None(INSIDE)),
        command("cuMemset", Effect::None(INSIDE)),
        command("Malloc", Effect::Allocate),
        command("MemAlloc", Effect::Allocate),
        command("cudaMalloc", Effect::Allocate),
        command("cudaMallocManaged", Effect::Allocate),
        command("cuMemAlloc", Effect::Allocate),
        command("Free", Effect::None(FREED)),
        command("MemFree", Effect::None(FREED)),
        command("cudaFree", Effect::None(FREED)),
        command("cuMemFree", Effect::None(FREED)),
    ]
};

/// Reads the kernel list at `path` and returns its entries.
pub(crate) fn read(path: &Path) -> Result<Vec<Entry>, Diagnostic> {
    let mut lines = Lines::of(open_text(path)?, path);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut entries = Vec::new();
    while let Some(line) = lines.next_filled()? {
        entries.push(entry(&line, folder)?);
    }
    Ok(entries)
}

fn entry(line: &Line<'_>, folder: &Path) -> Result<Entry, Diagnostic> {
    if line.text.starts_with("kernel") {
        let file = Path::new(line.text);
        let known = [
            ".traceg",
            ".traceg.xz",
            ".xz",
            ".traceg.zst",
            ".zst",
            ".tracez",
        ];
        if !known.iter().any(|ending| line.text.ends_with(ending)) {
            let expected = "a file that ends in .traceg, .xz, .zst or .tracez";
            return Err(line.refuse_whole(format!("expected {expected}, found `{}`", line.text)));
        }
        let path = folder.join(file);
        if !path.is_file() {
            let message = format!("no file `{}` in the folder of the list", line.text);
            return Err(line.refuse_whole(message));
        }
        return Ok(Entry::Kernel(path));
    }
    let (name, _) = line.text.split_once([',', ' ']).unwrap_or((line.text, ""));
    let Some(command) = COMMANDS.iter().find(|known| known.name == name) else {
        let valid = COMMANDS.iter().map(|command| command.name);
        let valid = valid.chain(["kernel-1.traceg"]);
        let message = format!("unknown command `{name}` in a kernel list");
        return Err(line
            .refuse(0, name.len(), message)
            .hint(name_hint(name, "commands", valid)));
    };
    if matches!(command.effect, Effect::None(_)) {
        return Ok(Entry::Unmodelled(command));
    }
    let mut start = 0;
    let fields: Vec<Field<'_>> = line
        .text
        .split(',')
        .map(|text| {
            let field = Field { text, start };
            start += text.len() + 1;
            field
        })
        .collect();
    let [_, base, bytes] = fields[..] else {
        return Err(line.refuse_whole(
            "expected a command, a hexadecimal address and a byte count, separated by commas",
        ));
    };
    let base = line.hexadecimal(base, "a hexadecimal address")?;
    let count: u64 = line.number(bytes, "the number of bytes")?;
    if base.checked_add(count).is_none() {
        return Err(line.blame(bytes, "a byte count that stays within the address space"));
    }
    let bytes = count;
    Ok(match command.effect {
        Effect::Allocate => Entry::Allocation { base, bytes },
        effect => Entry::Copy {
            to_device: effect == Effect::CopyToDevice,
            base,
            bytes,
        },
    })
}

/// Returns allocations that cover all copies and those of the list, sorted by address; what
/// overlaps shares one.
pub(crate) fn allocations(entries: &[Entry]) -> Vec<Allocation> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let copies = entries.iter().filter_map(|entry| match entry {
        Entry::Copy { base, bytes, .. } | Entry::Allocation { base, bytes } => {
            Some((*base, base + bytes))
        }
        Entry::Kernel(_) | Entry::Unmodelled(_) => None,
    });
    let mut copies: Vec<_> = copies.collect();
    copies.sort_unstable();
    for (base, end) in copies {
        match ranges.last_mut() {
            Some((first, last)) if base < *last || base == *first => *last = end.max(*last),
            _ => ranges.push((base, end)),
        }
    }
    let named = ranges.into_iter().map(|(base, end)| Allocation {
        name: format!("copied_{base:x}"),
        base,
        bytes: end - base,
    });
    named.collect()
}

/// Returns the host command for a copy in the list.
pub(crate) fn copy(
    allocations: &[Allocation],
    to_device: bool,
    base: u64,
    bytes: u64,
) -> HostCommand {
    let at = allocations.partition_point(|allocation| allocation.base <= base) - 1;
    let (allocation, offset) = (at as u32, base - allocations[at].base);
    if to_device {
        HostCommand::CopyToDevice {
            allocation,
            offset,
            bytes,
        }
    } else {
        HostCommand::CopyToHost {
            allocation,
            offset,
            bytes,
        }
    }
}
