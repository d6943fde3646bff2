//! Export of a trace file as a kernel list and one trace per kernel.

mod kernel;
mod losses;
mod opcode;

use std::fmt::Write as _;
use std::path::Path;

use warpweave_files::{Ledger, OutputFolder};
use warpweave_trace::{HostCommand, TraceFile};

pub use losses::Loss;

use crate::AccelSimError;
use losses::Losses;

/// Exports the trace file at `from` to a new folder at `to`: `kernelslist.g`, and `kernel-N.traceg`
/// for the N-th host launch. Returns what the export could not preserve. Holds the text of one
/// kernel at a time, charged to `ledger`.
///
/// # Errors
/// Returns [`AccelSimError::Trace`] if the trace cannot be read, and [`AccelSimError::Output`] if
/// the folder exists or cannot be written. Returns [`AccelSimError::Input`] for a kernel that the
/// Accel-Sim format cannot hold.
pub fn export(from: &Path, to: &Path, ledger: &Ledger) -> Result<Vec<Loss>, AccelSimError> {
    let mut file = TraceFile::open_within(from, ledger)?;
    let folder = OutputFolder::create(to)?;
    let head = file.head().clone();
    let mut losses = Losses::default();
    let children = file.parents().flatten().count();
    losses.add("kernels launched from the device", children as u64);
    let (mut list, mut number) = (String::new(), 0);
    for (position, command) in head.commands.iter().enumerate() {
        let written = match *command {
            HostCommand::CopyToDevice {
                allocation,
                offset,
                bytes,
            } => {
                let base = head.allocations[allocation as usize]
                    .base
                    .wrapping_add(offset);
                writeln!(list, "MemcpyHtoD,0x{base:016x},{bytes}")
            }
            HostCommand::CopyToHost {
                allocation,
                offset,
                bytes,
            } => {
                let base = head.allocations[allocation as usize]
                    .base
                    .wrapping_add(offset);
                writeln!(list, "MemcpyDtoH,0x{base:016x},{bytes}")
            }
            HostCommand::Launch { kernel, stream } => {
                number += 1;
                let ledger = Ledger::new(&ledger.budget());
                let kernel = file.kernel(kernel)?;
                let is_placed = u64::from(kernel.place().is_some());
                losses.add("launches placed on declared units", is_placed);
                let text = kernel::text(&kernel, (number, stream), &mut losses, &ledger)?;
                let name = format!("kernel-{number}.traceg");
                folder.file(&name, text.as_bytes())?;
                writeln!(list, "{name}")
            }
            HostCommand::Synchronize => {
                // Copies wait for all launches themselves, and so does the end.
                let next = head.commands.get(position + 1);
                let is_lost = matches!(next, Some(HostCommand::Launch { .. }));
                losses.add("host synchronizations between launches", u64::from(is_lost));
                Ok(())
            }
        };
        written.expect("writing to a string succeeds");
    }
    folder.file("kernelslist.g", list.as_bytes())?;
    folder.finish()?;
    Ok(losses.into_list())
}
