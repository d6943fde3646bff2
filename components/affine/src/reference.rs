//! References: instructions that access global or local memory, with the addresses they take.

use warpweave_trace::{Class, Instruction, ReadPath, Space};

use crate::cause::Cause;
use crate::domain;
use crate::form::Form;
use crate::launch::LaunchHead;
use crate::loop_body::Loop;
use crate::symbol::Symbols;

/// Accesses of a launch to global and local memory.
#[derive(Clone, Debug)]
pub struct LaunchAnalysis {
    /// Loads, stores and atomics of global memory in the order of the code.
    pub references: Vec<Reference>,
    /// Loads, stores and atomics of local memory in the order of the code. Their addresses are
    /// counted from the place of a variable, if they name one.
    pub local: Vec<Reference>,
    /// Symbols that the forms use, with their ranges.
    pub symbols: Symbols,
    /// Loops that the analysis has evaluated, outer ones first.
    pub loops: Vec<Loop>,
}

/// Kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Load,
    Store,
    Atomic,
}

impl AccessKind {
    /// Returns the name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }
}

impl Exactness {
    /// Returns the name used in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::May(_) => "may",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// Extent to which the addresses of an instruction are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// Exactly the bytes of the pieces are accessed.
    Exact,
    /// Bytes of the pieces may be accessed, and no others.
    May(Cause),
    /// Any byte of memory may be accessed.
    Unknown(Cause),
}

/// Set of addresses: a form over all integers that satisfy the constraints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Address of the first byte that a lane accesses.
    pub form: Form,
    /// Forms that are all at least 0 where the piece is accessed.
    pub when: Vec<Form>,
}

/// Instruction that accesses global or local memory, with its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Index of the instruction in the kernel's code.
    pub pc: u32,
    /// Source line number, 0 if it is unknown.
    pub line: u32,
    /// Kind of the access: load, store or atomic.
    pub kind: AccessKind,
    /// True if the access goes through the first-level cache as a plain load or store does.
    pub is_cached: bool,
    /// Number of bytes accessed by each lane.
    pub bytes: u32,
    /// Addresses, empty if they are unknown or the instruction is never executed.
    pub pieces: Vec<Piece>,
    /// Extent to which the addresses are known.
    pub exactness: Exactness,
}

impl Piece {
    /// Returns the index of the allocation that holds all accesses of this many bytes.
    pub(crate) fn allocation(
        &self,
        head: &LaunchHead<'_>,
        symbols: &Symbols,
        bytes: u32,
    ) -> Option<usize> {
        let bound = |form| domain::upper_bound(symbols, form, &self.when);
        let (high, low) = (bound(&self.form)?, -bound(&self.form.times(-1)?)?);
        head.allocation(low, high + i128::from(bytes))
    }
}

impl Reference {
    /// Creates a reference of which nothing is known.
    pub(crate) fn unknown(pc: usize, instruction: &Instruction, cause: Cause) -> Option<Self> {
        let kind = match instruction.class {
            Class::Load => AccessKind::Load,
            Class::Store => AccessKind::Store,
            Class::Atomic => AccessKind::Atomic,
            _ => return None,
        };
        if !matches!(instruction.space, Space::Global | Space::Shared) {
            return None;
        }
        let is_global = instruction.space == Space::Global;
        let path = instruction.hints.path;
        Some(Self {
            pc: pc as u32,
            line: instruction.line,
            kind,
            is_cached: is_global && kind != AccessKind::Atomic && path == ReadPath::Coherent,
            bytes: instruction.access_bytes.into(),
            pieces: Vec::new(),
            exactness: Exactness::Unknown(cause),
        })
    }

    /// Returns the reason why the addresses are not exact.
    pub fn cause(&self) -> Option<&Cause> {
        match &self.exactness {
            Exactness::Exact => None,
            Exactness::May(cause) | Exactness::Unknown(cause) => Some(cause),
        }
    }

    /// True if exactly the bytes of the pieces are accessed.
    pub fn is_exact(&self) -> bool {
        self.exactness == Exactness::Exact
    }

    /// True if the addresses are unknown.
    pub fn is_unknown(&self) -> bool {
        matches!(self.exactness, Exactness::Unknown(_))
    }
}
