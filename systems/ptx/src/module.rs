//! Parsed PTX module with its kernels and variables.

use std::collections::BTreeMap;

use warpweave_random::{FNV_START, fnv1a};

use crate::diagnostics::{Diagnostics, Source, nearest_name};
use crate::kernel::{Kernel, RefusedKernel, Storage};
use crate::lower::{self, CodeForm};
use crate::parser;

/// PTX module that has been checked and decoded; its kernels can be launched.
#[derive(Debug)]
pub struct Module {
    file: String,
    kernels: Vec<Kernel>,
    refused: Vec<RefusedKernel>,
    pub(crate) variables: Vec<Storage>,
    /// Source files, keyed by the number used in `.loc`.
    pub(crate) files: BTreeMap<u64, String>,
    /// Hash that identifies the module in a device memory.
    pub(crate) fingerprint: u64,
}

impl Module {
    /// Parses, checks and decodes PTX text. `file_name` is used in messages only.
    ///
    /// # Errors
    /// Returns all problems found, each with line, column and an excerpt. Instructions that the
    /// emulator does not support are no error here. They cause the kernels that reach them by calls
    /// to be refused at launch ([`Module::refused`]).
    pub fn parse(file_name: &str, text: &str) -> Result<Self, Diagnostics> {
        Self::parse_as(file_name, text, CodeForm::AsWritten)
    }

    /// Like [`Module::parse`], in a given form of code.
    ///
    /// # Errors
    /// The same as those of [`Module::parse`].
    pub fn parse_as(file_name: &str, text: &str, form: CodeForm) -> Result<Self, Diagnostics> {
        let source = Source::new(file_name, text);
        let lowered = parser::parse(&source);
        let lowered = lowered.and_then(|tree| lower::lower(&tree, &source, form));
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

    /// Returns an upper estimate in bytes of the memory that [`Module::parse`] takes for a text.
    /// The figures are measured: statements, operands, labels, functions and kernels have entries
    /// in tables.
    pub fn parse_bytes(text: &str) -> u64 {
        let (mut bytes, mut opened) = (0, false);
        for byte in text.bytes() {
            bytes += match byte {
                b';' => 1500,
                // An empty body has a return of its own.
                b'}' if opened => 1300,
                b'(' => 500,
                b'{' | b':' => 300,
                b',' => 100,
                _ => 8,
            };
            opened = byte == b'{' || opened && byte.is_ascii_whitespace();
        }
        bytes + text.matches(".entry").count() as u64 * 3000
    }

    /// Returns the file name passed to [`Module::parse`].
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the names of the variables in global and constant memory that the module defines.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.defined().map(|storage| storage.name.as_str())
    }

    /// Returns the size in bytes of a variable in global or constant memory that the module
    /// defines.
    pub fn variable_bytes(&self, name: &str) -> Option<u64> {
        let mut all = self.defined();
        let found = all.find(|storage| storage.name == name)?;
        Some(found.bytes.len() as u64)
    }

    /// Returns the names of variables declared `.extern` that the module does not define.
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

    /// Returns the names of the texture references (`.texref`), in text order.
    pub fn texture_references(&self) -> impl Iterator<Item = &str> + Clone {
        let references = self.variables.iter().filter(|storage| storage.is_texture);
        references.map(|storage| storage.name.as_str())
    }

    /// Returns the kernels that can be launched, in text order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Returns the kernels that need unsupported features, in text order.
    pub fn refused(&self) -> &[RefusedKernel] {
        &self.refused
    }

    /// Returns the refusal of the kernel with this address as data, if the device may not launch
    /// it.
    pub(crate) fn refused_at(&self, address: u64) -> Option<RefusedKernel> {
        if let Some(kernel) = self.kernel_at(address) {
            return kernel.check_questions(false).err();
        }
        let mut refused = self.refused.iter();
        refused.find(|kernel| kernel.address == address).cloned()
    }

    /// Returns the kernel with this address as data.
    pub(crate) fn kernel_at(&self, address: u64) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.address == address)
    }

    /// Returns the kernel with this name.
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

/// Returns the FNV-1a hash of file name and text.
fn fingerprint(file_name: &str, text: &str) -> u64 {
    fnv1a(FNV_START, file_name.bytes().chain([0]).chain(text.bytes()))
}

/// Reason why a kernel cannot be launched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoKernel {
    /// The module has no kernel with this name.
    #[error(transparent)]
    Unknown(#[from] UnknownKernel),
    /// The kernel needs features that are not supported.
    #[error(transparent)]
    Refused(#[from] RefusedKernel),
}

/// Error for a kernel name that the module does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: no kernel `{name}`{}", .nearest.as_ref().map_or(String::new(), |n| format!("\nhint: did you mean `{n}`?")))]
pub struct UnknownKernel {
    /// File name of the module, as passed to the parser.
    pub file: String,
    /// Requested kernel name that the module does not have.
    pub name: String,
    /// Most similar kernel name in the module, if any.
    pub nearest: Option<String>,
}
