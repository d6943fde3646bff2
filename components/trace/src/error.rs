//! Errors in building, writing and reading traces.

use std::path::PathBuf;

use warpweave_files::{ChunkedError, OutputError, OverBudget};

/// Error from building, writing or reading a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// Launch without threads, or with more than a trace can number.
    #[error(
        "kernel {kernel}: a grid of {grid:?} work-groups of {block:?} threads has {problem}; \
         check the launch configuration"
    )]
    Launch {
        kernel: String,
        /// Number of work-groups along x, y, z.
        grid: [u32; 3],
        /// Number of threads per work-group along x, y, z.
        block: [u32; 3],
        /// Description of what is wrong with the total size.
        problem: &'static str,
    },
    /// Inconsistent instruction table of a kernel.
    #[error("kernel {kernel}: instruction {instruction} ({opcode}): {problem}")]
    Code {
        kernel: String,
        instruction: u32,
        opcode: String,
        /// Description of what is wrong with the instruction.
        problem: String,
    },
    /// Stream of a wavefront that does not fit the kernel.
    #[error("kernel {kernel}: work-group {work_group}, wavefront {wavefront}: {problem}")]
    Stream {
        kernel: String,
        /// Linear work-group number with x varying fastest.
        work_group: u32,
        /// Index of the wavefront within the work-group.
        wavefront: u32,
        /// Description of what is wrong with the stream.
        problem: String,
    },
    /// Kernel whose parent cannot have launched it.
    #[error("{0}")]
    Parent(String),
    /// Host command that refers to something the program does not have.
    #[error("program {program}: host command {command}: {problem}")]
    Command {
        program: String,
        /// Position of the command in the command list.
        command: usize,
        /// Description of what is wrong with the command.
        problem: String,
    },
    /// The records exceed the memory budget.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// Trace file with invalid contents.
    #[error("{}: offset {offset}: {problem}", file.display())]
    File {
        file: PathBuf,
        /// Byte offset of the error in the file.
        offset: u64,
        /// Description of the error and what to do about it.
        problem: String,
    },
    /// Error of the operating system on writing.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// Error of the operating system on reading.
    #[error("{}: {source}", file.display())]
    Io {
        file: PathBuf,
        source: std::io::Error,
    },
}

impl From<ChunkedError> for TraceError {
    fn from(error: ChunkedError) -> Self {
        match error {
            ChunkedError::File {
                file,
                offset,
                problem,
            } => Self::File {
                file,
                offset,
                problem,
            },
            ChunkedError::Io { file, source } => Self::Io { file, source },
            ChunkedError::OverBudget(error) => Self::OverBudget(error),
        }
    }
}
