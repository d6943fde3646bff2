//! Traces and option files of Accel-Sim and GPGPU-Sim, read into program traces and system files.
//!
//! `docs/option-files.md` has the option files, [`system_of`] reads them. `docs/accel-sim-traces.md` has the
//! formats of traces. [`export`] writes them, [`import`] reads a list of kernels, or the trace of one, and
//! writes a trace file, block by block: what is held at once does not grow with the trace.
//!
//! ```text
//!   list.rs ──► import.rs ──► kernel.rs (twice) ──► warpweave_trace::TraceWriter
//!                                 │
//!        packed.rs, text.rs ──► body.rs ──► instruction.rs, opcodes.rs
//!               indexed.rs ────────┘
//! ```

mod body;
mod error;
mod export;
mod header;
mod import;
mod indexed;
mod instruction;
mod kernel;
mod list;
mod opcodes;
mod options;
mod packed;
mod space;
mod text;

pub use error::AccelSimError;
pub use export::{Loss, export};
pub use import::{Imported, Unmodelled, import, inputs, is_accel_sim};
pub use opcodes::Architecture;
pub use options::system_of;

/// What the reader of Accel-Sim does otherwise than its format says, and may be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// The n-th block of the file is work-group n, whatever its number says.
    pub file_order: bool,
    /// Bytes of each lane follow from the opcode.
    pub opcode_width: bool,
    /// Where a window has address 0, all generic accesses are to local memory.
    pub generic_shared: bool,
}
