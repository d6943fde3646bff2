//! Import of Accel-Sim and GPGPU-Sim traces and option files as program traces and system files.
//!
//! [`system_of`] reads option files, described in `docs/option-files.md`. [`import`] reads a kernel
//! list or a kernel trace and writes a trace file. [`export`] writes traces in the formats
//! described in `docs/accel-sim-traces.md`. Import works block by block, so memory use does not
//! grow with the trace.
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
pub use options::{UnknownOptions, system_of};

/// Optional deviations of the Accel-Sim reader from its documented format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Numbers work-groups in file order and ignores the block coordinates.
    pub file_order: bool,
    /// Derives the access width of each lane from the opcode.
    pub opcode_width: bool,
    /// Treats all generic accesses as local memory accesses if a window has address 0.
    pub generic_shared: bool,
}
