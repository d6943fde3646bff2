//! Decoded kernels, and the variables of a module.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_trace::Code;

use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::launch_limits::{DeclaredLimits, ShapeProblem};
use crate::ops::{
    Access, Atomic, Barrier, CallSite, Carry, Constant, Convert, Decoded, ExternalSite,
    IndirectCall, Jump, MatrixLoad, Parts, Scalar, Shuffle, Special, TextureRead, VectorMove, Vote,
};
use crate::site::{FunctionShape, SharedRange, Site};
use crate::types::ScalarType;

/// Kernel that cannot be launched because it needs PTX features that the emulator does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{name}` uses unsupported features:\n{reasons}")]
pub struct RefusedKernel {
    /// Name of the entry point in the PTX text.
    pub name: String,
    /// Address of the kernel when used as data.
    pub(crate) address: u64,
    /// Parameters in order; all are assumed to be readable pointers.
    pub parameters: Vec<Parameter>,
    /// Unsupported features that the kernel reaches, in text order.
    pub reasons: Diagnostics,
}

/// A kernel parameter, with its place in the argument block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Parameter name as written in the PTX text.
    pub name: String,
    /// Element type; by-value structures are arrays of `.b8`.
    pub ty: ScalarType,
    /// Size of the parameter in the argument block, in bytes.
    pub bytes: u32,
    /// Required alignment of the parameter in bytes.
    pub align: u32,
    /// Offset in bytes within the argument block.
    pub offset: u32,
    /// True if the kernel may read memory through it; `false` for write-only pointers and for
    /// parameters that are not pointers.
    pub may_be_read: bool,
}

/// A decoded kernel, with all functions it calls.
#[derive(Debug)]
pub struct Kernel {
    /// File name of the module, for messages.
    pub(crate) file: String,
    /// Address of the kernel when used as data.
    pub(crate) address: u64,
    pub(crate) parameters: Vec<Parameter>,
    /// Shapes of work-groups that the kernel declares.
    pub(crate) limits: DeclaredLimits,
    pub(crate) code: Arc<Code>,
    pub(crate) ops: Vec<Decoded>,
    pub(crate) tables: Tables,
    /// Frames of the kernel itself, followed by those of the functions it reaches.
    pub(crate) frames: Vec<Frame>,
    /// Size in bytes of the module variables placed before the frames in private memory.
    pub(crate) private_base: u32,
    /// Checker information for each instruction.
    pub(crate) sites: Vec<Site>,
    /// Function shapes, in the same order as `frames`.
    pub(crate) functions: Vec<FunctionShape>,
    /// Variables in local memory, for the checker.
    pub(crate) shared: Vec<SharedRange>,
    pub(crate) questions: Questions,
}

/// Problems of a launch with what its kernel asks about where its work-groups run.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    /// Registers that have a value only in placed launches; empty if the kernel reads none.
    pub(crate) place: Vec<Diagnostic>,
    /// Registers that have no value in placed launches.
    pub(crate) number: Vec<Diagnostic>,
}

impl Kernel {
    /// Returns the name of the entry point.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// Returns the parameters in order of their declaration.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the static instruction table referenced by traces of this kernel.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// Checks the shape of a work-group against what the kernel declares.
    ///
    /// # Errors
    /// Returns the directive that the shape breaks.
    pub fn check_declared(&self, block: [u32; 3]) -> Result<(), ShapeProblem> {
        self.limits.check(block)
    }

    /// True if its work-groups ask where they run, so that its launches declare it.
    pub fn asks_place(&self) -> bool {
        !self.questions.place.is_empty()
    }

    /// Checks that a launch, placed or not, answers all that the kernel asks.
    ///
    /// # Errors
    /// Returns the questions without an answer, each with its line.
    pub fn check_questions(&self, is_placed: bool) -> Result<(), RefusedKernel> {
        let unanswered = if is_placed {
            &self.questions.number
        } else {
            &self.questions.place
        };
        if unanswered.is_empty() {
            return Ok(());
        }
        Err(RefusedKernel {
            name: self.name().to_owned(),
            address: self.address,
            parameters: self.parameters.clone(),
            reasons: Diagnostics(unanswered.clone()),
        })
    }

    /// Returns the size of the argument block in bytes.
    pub(crate) fn argument_bytes(&self) -> u32 {
        self.parameters
            .last()
            .map_or(0, |last| last.offset + last.bytes)
    }
}

/// Entry point, registers and private memory of one function's activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Index of the function's first instruction in the kernel.
    pub(crate) entry: u32,
    pub(crate) words: usize,
    pub(crate) doubles: usize,
    pub(crate) predicates: usize,
    /// Size of private memory and parameters, in bytes per thread.
    pub(crate) bytes: u32,
}

/// A module variable in global or constant memory.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) name: String,
    pub(crate) align: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) patches: Vec<Patch>,
    /// True if declared `.extern`, so another module defines it.
    pub(crate) is_external: bool,
    /// True if the variable is a texture reference.
    pub(crate) is_texture: bool,
}

/// A symbol address to be filled into an initializer.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) at: usize,
    pub(crate) width: usize,
    pub(crate) variable: usize,
    pub(crate) offset: i64,
}

/// Tables that the operations of a kernel reference by index.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) constants: ConstantPool,
    pub(crate) specials: Vec<Special>,
    pub(crate) carries: Vec<Carry>,
    pub(crate) parts: Vec<Parts>,
    pub(crate) vector_moves: Vec<VectorMove>,
    pub(crate) converts: Vec<Convert>,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) accesses: Vec<Access>,
    pub(crate) atomics: Vec<Atomic>,
    pub(crate) matrices: Vec<MatrixLoad>,
    pub(crate) textures: Vec<TextureRead>,
    pub(crate) shuffles: Vec<Shuffle>,
    pub(crate) votes: Vec<Vote>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) control: ControlTables,
}

/// Constants of a kernel, each once.
#[derive(Debug, Default)]
pub(crate) struct ConstantPool {
    pub(crate) words: Vec<Constant>,
    pub(crate) doubles: Vec<Constant>,
    /// Place of each 32-bit constant in `words`.
    pub(crate) seen32: BTreeMap<Constant, u16>,
    /// Place of each 64-bit constant in `doubles`.
    pub(crate) seen64: BTreeMap<Constant, u16>,
}

/// Jumps and calls of a kernel.
#[derive(Debug, Default)]
pub(crate) struct ControlTables {
    pub(crate) jumps: Vec<Jump>,
    pub(crate) calls: Vec<CallSite>,
    pub(crate) indirect_calls: Vec<IndirectCall>,
    pub(crate) externals: Vec<ExternalSite>,
    /// Names of the called functions that have no body, each with a similar name that is known.
    pub(crate) missing: Vec<(String, Option<&'static str>)>,
}
