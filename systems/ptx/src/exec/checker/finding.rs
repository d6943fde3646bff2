//! Findings of the checker and their deduplication.

use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of different findings kept; more would not be useful.
pub(super) const FINDINGS_MAX: usize = 200;

/// Kind of error that the checker can find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Something depends on a register that was used before it was written.
    UninitialisedRegister,
    /// Something depends on private, local or global memory that was not written.
    UninitialisedMemory,
    /// Threads of a work-group race in local memory, with no barrier in between.
    LocalRace,
    /// Threads race in global memory within one launch.
    GlobalRace,
    /// Only part of the work-group reaches a barrier.
    PartialBarrier,
    /// An access is outside the allocation from which its pointer was derived.
    OutsideAllocation,
    /// Control reaches the end of a function without a return.
    MissingReturn,
    /// An integer division has a zero divisor.
    DivisionByZero,
}

impl FindingKind {
    /// All kinds, in the order of their definition.
    pub const ALL: [Self; 8] = [
        Self::UninitialisedRegister,
        Self::UninitialisedMemory,
        Self::LocalRace,
        Self::GlobalRace,
        Self::PartialBarrier,
        Self::OutsideAllocation,
        Self::MissingReturn,
        Self::DivisionByZero,
    ];

    /// Returns the kind's name used in reports and workload files.
    pub fn name(self) -> &'static str {
        match self {
            Self::UninitialisedRegister => "UninitialisedRegister",
            Self::UninitialisedMemory => "UninitialisedMemory",
            Self::LocalRace => "LocalRace",
            Self::GlobalRace => "GlobalRace",
            Self::PartialBarrier => "PartialBarrier",
            Self::OutsideAllocation => "OutsideAllocation",
            Self::MissingReturn => "MissingReturn",
            Self::DivisionByZero => "DivisionByZero",
        }
    }
}

/// Severity of a finding, from error to note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The finding is definitely an error.
    Error,
    /// The checker cannot decide if it is an error.
    Undecided,
    /// Unclean code that does not affect values.
    Note,
}

/// A position in the source that was compiled to PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// File name as given in the `.file` directive.
    pub file: String,
    /// Line in the source file, counted from one.
    pub line: u32,
    /// Column, counted from one; 0 if the compiler gives none.
    pub column: u32,
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// An instruction and a thread that executed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Line in the PTX file, counted from one.
    pub line: u32,
    /// Column in the PTX file, counted from one.
    pub column: u32,
    pub opcode: String,
    /// Source position of the instruction, if a `.loc` directive gives one.
    pub source: Option<SourcePlace>,
    pub work_group: [u32; 3],
    pub thread: [u32; 3],
}

/// One error at one instruction, described by its first occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub kind: FindingKind,
    pub verdict: Verdict,
    /// Name of the PTX file that contains the kernel.
    pub file: String,
    /// Name of the kernel that was launched.
    pub kernel: String,
    /// Index of the launch in the program, counted from zero.
    pub launch: u32,
    /// Instruction and thread of the first occurrence.
    pub spot: AccessSite,
    /// Address within its memory, if the finding concerns an access.
    pub address: Option<u64>,
    /// Description of the nearest buffer or variable.
    pub near: Option<String>,
    /// Name of the buffer or variable at the address.
    pub buffer: Option<String>,
    /// Description of the error in one sentence.
    pub detail: String,
    /// Other access of a race, if the finding is one.
    pub other: Option<AccessSite>,
    /// Number of occurrences, counted per lane.
    pub count: u64,
}

/// Deduplication key: one finding is kept for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: FindingKind,
    pub(super) verdict: Verdict,
    pub(super) kernel: String,
    pub(super) pc: u32,
    /// Instruction of the other access of a race.
    pub(super) other: u32,
    /// Start of the buffer, for kinds that distinguish buffers.
    pub(super) place: u64,
}

/// Findings in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    by_key: BTreeMap<Key, usize>,
    /// Number of occurrences of findings that were not kept.
    pub(super) dropped: u64,
}

impl Findings {
    /// Counts an occurrence; only the first one of its key is described.
    pub(super) fn add(&mut self, key: Key, describe: impl FnOnce() -> Finding) {
        if let Some(&at) = self.by_key.get(&key) {
            self.list[at].count += 1;
        } else if self.list.len() == FINDINGS_MAX {
            self.dropped += 1;
        } else {
            self.by_key.insert(key, self.list.len());
            self.list.push(describe());
        }
    }
}
