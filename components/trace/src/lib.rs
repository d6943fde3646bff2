//! Program traces: the instructions and addresses a GPU program executed, independent of timing.
//!
//! A front end runs a program functionally and writes a [`Program`]: its host commands and one
//! [`KernelTrace`] per launch. A kernel trace pairs the static instruction table ([`Code`]) with
//! one compact stream of records per wavefront. Timing models walk a stream with a [`Cursor`].
//!
//! ```text
//!   front end --> StreamWriter (one per wavefront) --> KernelWriter --> KernelTrace
//!                                                                           |
//!   timing model <-- Record + Lanes <-- Cursor (64 bytes, copy to look ahead)
//! ```
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//! use warpweave_trace::{Class, Code, Instruction, KernelWriter, Lanes, Shape, Space, StreamWriter};
//!
//! let code = Arc::new(Code {
//!     name: "touch".to_owned(),
//!     instructions: vec![
//!         Instruction::new("mov.u32", Class::IntAdd),
//!         Instruction::new("ld.global.u32", Class::Load).accessing(Space::Global, 4),
//!         Instruction::new("exit", Class::Exit),
//!     ],
//!     ..Code::default()
//! });
//! let mut stream = StreamWriter::new();
//! let addresses = std::array::from_fn(|lane| 0x1000 + 4 * lane as u64);
//! stream.step(0, u32::MAX);
//! stream.access(1, u32::MAX, Space::Global, false, &addresses);
//! stream.step(2, u32::MAX);
//!
//! let mut writer = KernelWriter::new(code, [1, 1, 1], [32, 1, 1], 0, Vec::new())?;
//! writer.finish_wavefront(0, 0, stream)?;
//! let kernel = writer.finish()?;
//!
//! let (mut cursor, mut lanes) = (kernel.cursor(0, 0), Lanes::default());
//! cursor.next(&kernel, &mut lanes);
//! let load = cursor.next(&kernel, &mut lanes).expect("three records were written");
//! assert_eq!((load.pc, load.space), (1, Space::Global));
//! assert_eq!(lanes.shape, Shape::Stride { base: 0x1000, step: 4 });
//! # Ok::<(), warpweave_trace::TraceError>(())
//! ```

mod ahead;
mod arrivals;
mod check;
mod code;
mod counts;
mod cursor;
mod encoding;
mod error;
mod file;
mod hash;
mod kernel;
mod launches;
mod list;
mod place;
mod program;
mod record;
mod recorded;
mod replay;
mod shape;
mod spill;
mod stored_streams;
mod stream;
mod summary;
mod vectors;
mod window;
mod writer;

pub use ahead::Ahead;
pub use code::{
    CacheOperator, Class, Code, Guard, Hints, Instruction, Operand, ReadPath, RegisterSet, Space,
};
pub use counts::WavefrontCounts;
pub use cursor::Cursor;
pub use error::TraceError;
pub use file::{KernelFileWriter, KernelHead, Storage, TRACE_MAGIC, TraceFile, TraceWriter};
pub use kernel::{Attribute, KernelTrace, Parent, TAIL_STREAMS};
pub use launches::{Child, LaunchGraph};
pub use list::Places;
pub use place::{Place, PlacedBy};
pub use program::{
    Allocation, ContentHash, FrontEnd, HostCommand, Program, ProgramHead, WorkGroupOrder,
};
pub use record::{LANES, Lanes, Record, Shape};
pub use stream::StreamWriter;
#[cfg(target_arch = "x86_64")]
pub use vectors::has_wide_vectors;
pub use writer::KernelWriter;
