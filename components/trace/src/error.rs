//! What can be wrong with a trace.

use std::path::PathBuf;

use warpweave_files::{ChunkedError, OutputError, OverBudget};

/// Why a trace could not be built, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// A launch without threads, or with more than a trace can number.
    #[error(
        "kernel {kernel}: a grid of {grid:?} work-groups of {block:?} threads has {problem}; \
         check the launch configuration"
    )]
    Launch {
        /// Kernel name.
        kernel: String,
        /// Work-groups along x, y, z.
        grid: [u32; 3],
        /// Threads of a work-group along x, y, z.
        block: [u32; 3],
        /// What is wrong with the product.
        problem: &'static str,
    },
    /// An instruction table that contradicts itself.
    #[error("kernel {kernel}: instruction {instruction} ({opcode}): {problem}")]
    Code {
        /// Kernel name.
        kernel: String,
        /// Index of the instruction.
        instruction: u32,
        /// Its opcode.
        opcode: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A wavefront's stream that does not fit the kernel.
    #[error("kernel {kernel}: work-group {work_group}, wavefront {wavefront}: {problem}")]
    Stream {
        /// Kernel name.
        kernel: String,
        /// Linear work-group number, x fastest.
        work_group: u32,
        /// Wavefront of the work-group.
        wavefront: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// A kernel whose parent cannot have launched it.
    #[error("{0}")]
    Parent(String),
    /// Host commands that name what the program does not have.
    #[error("program {program}: host command {command}: {problem}")]
    Command {
        /// Program name.
        program: String,
        /// Position in the command list.
        command: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// The records take more memory than there may be.
    #[error(transparent)]
    OverBudget(#[from] OverBudget),
    /// A trace file whose bytes are wrong.
    #[error("{}: offset {offset}: {problem}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        offset: u64,
        /// What is wrong there and what to do.
        problem: String,
    },
    /// The operating system refused to write.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// The operating system refused to read.
    #[error("{}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Its reason.
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
