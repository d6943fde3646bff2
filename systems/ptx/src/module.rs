//! A parsed PTX module: its kernels and variables.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpweave_random::{FNV_START, fnv1a};
use warpweave_trace::Code;

use crate::diagnostics::{Diagnostics, Source, nearest_name};
use crate::lower;
use crate::lower::encode::Tables;
use crate::lower::site::{FunctionShape, SharedRange, Site};
use crate::ops::Decoded;
use crate::parser;
use crate::types::ScalarType;

/// A PTX file, checked and decoded, ready to launch kernels from.
#[derive(Debug)]
pub struct Module {
    file: String,
    kernels: Vec<Kernel>,
    refused: Vec<RefusedKernel>,
    pub(crate) variables: Vec<Storage>,
    /// Source files by the number that `.loc` names them by.
    pub(crate) files: BTreeMap<u64, String>,
    /// Tells modules apart in a device memory.
    pub(crate) fingerprint: u64,
}

impl Module {
    /// Parses, checks and decodes PTX text. `file_name` is used in messages only.
    ///
    /// # Errors
    /// All problems found, each with line, column and the text around it. An instruction of PTX that the
    /// emulator does not support is no problem here: it refuses the kernels that reach it by calls, when
    /// they are launched ([`Module::refused`]).
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Diagnostics> {
        let source = Source::new(file_name, text);
        let lowered = parser::parse(&source).and_then(|tree| lower::lower(&tree, &source));
        match lowered {
            Ok(lowered) => Ok(Self {
                file: file_name.to_owned(),
                kernels: lowered.kernels,
                refused: lowered.refused,
                variables: lowered.variables,
                files: lowered.files,
                fingerprint: fingerprint(file_name, text),
            }),
            Err(mut complaints) => {
                complaints.sort_by_key(|complaint| complaint.span.start);
                complaints.truncate(parser::COMPLAINTS_MAX);
                Err(Diagnostics(
                    complaints
                        .into_iter()
                        .map(|c| source.diagnostic(c))
                        .collect(),
                ))
            }
        }
    }

    /// The file name given to [`Module::parse`].
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Names of the variables in global and constant memory that the module defines.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.defined().map(|storage| storage.name.as_str())
    }

    /// The size of a variable in global or constant memory that the module defines.
    pub fn variable_bytes(&self, name: &str) -> Option<u64> {
        let mut all = self.defined();
        let found = all.find(|storage| storage.name == name)?;
        Some(found.bytes.len() as u64)
    }

    /// Names of the variables that the module declares `.extern` and does not define.
    pub fn undefined_variables(&self) -> impl Iterator<Item = &str> {
        let declared = self.variables.iter().filter(|storage| storage.is_external);
        let is_defined = |name: &str| self.defined().any(|storage| storage.name == name);
        let names = declared.map(|storage| storage.name.as_str());
        names.filter(move |name| !is_defined(name))
    }

    fn defined(&self) -> impl Iterator<Item = &Storage> + Clone {
        let variables = self.variables.iter();
        variables.filter(|storage| !storage.is_external && !storage.is_texture)
    }

    /// Names of the texture references (`.texref`), in the order of the text.
    pub fn texture_references(&self) -> impl Iterator<Item = &str> + Clone {
        let references = self.variables.iter().filter(|storage| storage.is_texture);
        references.map(|storage| storage.name.as_str())
    }

    /// The kernels that can be launched, in the order of the text.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernels that reach what is not supported, in the order of the text.
    pub fn refused(&self) -> &[RefusedKernel] {
        &self.refused
    }

    /// The refused kernel whose address, as data, this is.
    pub(crate) fn refused_at(&self, address: u64) -> Option<&RefusedKernel> {
        self.refused.iter().find(|kernel| kernel.address == address)
    }

    /// The kernel whose address, as data, this is.
    pub(crate) fn kernel_at(&self, address: u64) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.address == address)
    }

    /// The kernel with this name.
    ///
    /// # Errors
    /// [`NoKernel`]: there is none, or it reaches what is not supported.
    pub fn kernel(&self, name: &str) -> Result<&Kernel, NoKernel> {
        if let Some(kernel) = self.kernels.iter().find(|kernel| kernel.name() == name) {
            return Ok(kernel);
        }
        if let Some(refused) = self.refused.iter().find(|kernel| kernel.name == name) {
            return Err(NoKernel::Refused(refused.clone()));
        }
        let names = self.kernels.iter().map(Kernel::name);
        let names = names.chain(self.refused.iter().map(|kernel| kernel.name.as_str()));
        Err(NoKernel::Unknown(UnknownKernel {
            file: self.file.clone(),
            name: name.to_owned(),
            nearest: nearest_name(name, names).map(str::to_owned),
        }))
    }
}

/// FNV-1a over name and text.
fn fingerprint(file_name: &str, text: &str) -> u64 {
    fnv1a(FNV_START, file_name.bytes().chain([0]).chain(text.bytes()))
}

/// Why there is no kernel to launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKernel {
    /// The module has none of this name.
    #[error(transparent)]
    Unknown(#[from] UnknownKernel),
    /// The kernel reaches what is not supported.
    #[error(transparent)]
    Refused(#[from] RefusedKernel),
}

/// A kernel that cannot be launched, since it reaches PTX that the emulator does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{name}` reaches what is not supported:\n{reasons}")]
pub struct RefusedKernel {
    /// Name of the entry point.
    pub name: String,
    /// Its address as data.
    pub(crate) address: u64,
    /// Parameters in order; of each it is taken that memory may be read through it.
    pub parameters: Vec<Parameter>,
    /// What is not supported, in the order of the text.
    pub reasons: Diagnostics,
}

/// A module has no kernel of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: no kernel `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("\nhint: did you mean `{n}`?")))]
pub struct UnknownKernel {
    /// The module's file.
    pub file: String,
    /// The name asked for.
    pub name: String,
    /// The most similar kernel of the module.
    pub nearest: Option<String>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in the PTX text.
    pub name: String,
    /// Element type; by-value structures are arrays of `.b8`.
    pub ty: ScalarType,
    /// Size in bytes.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Offset in the argument block.
    pub offset: u32,
    /// Memory may be read through it; `false` for a pointer that is only written through, and for
    /// what is no pointer.
    pub may_be_read: bool,
}

/// A kernel with everything it calls, decoded.
#[derive(Debug)]
pub struct Kernel {
    /// The module's file as it was named, for messages.
    pub(crate) file: String,
    /// Its address as data.
    pub(crate) address: u64,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) code: Arc<Code>,
    pub(crate) ops: Vec<Decoded>,
    pub(crate) tables: Tables,
    /// The kernel itself first, then the functions it reaches.
    pub(crate) frames: Vec<Frame>,
    /// Bytes of variables of the module in front of the frames in private memory.
    pub(crate) private_base: u32,
    /// What checkers want to know of each instruction.
    pub(crate) sites: Vec<Site>,
    /// As `frames`.
    pub(crate) functions: Vec<FunctionShape>,
    /// Variables in work-group memory.
    pub(crate) shared: Vec<SharedRange>,
}

impl Kernel {
    /// Name of the entry point.
    pub fn name(&self) -> &str {
        &self.code.name
    }

    /// Parameters in order.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The static instruction table that traces of this kernel refer to.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }

    /// Bytes of the argument block.
    pub(crate) fn argument_bytes(&self) -> u32 {
        self.parameters
            .last()
            .map_or(0, |last| last.offset + last.bytes)
    }
}

/// Sizes of one function's activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    /// Index of the first instruction.
    pub(crate) entry: u32,
    pub(crate) words: usize,
    pub(crate) doubles: usize,
    pub(crate) predicates: usize,
    /// Private memory and parameters, in bytes per thread.
    pub(crate) bytes: u32,
}

/// A module variable in global or constant memory.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) name: String,
    pub(crate) align: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) patches: Vec<Patch>,
    /// Declared `.extern`: another module defines it.
    pub(crate) is_external: bool,
    /// A texture reference.
    pub(crate) is_texture: bool,
}

/// An address inside an initialiser.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(crate) at: usize,
    pub(crate) width: usize,
    pub(crate) variable: usize,
    pub(crate) offset: i64,
}
