//! What a check found.

use std::collections::BTreeMap;
use std::fmt;

/// Different findings that are kept; more help nobody.
pub(super) const FINDINGS_MAX: usize = 200;

/// A sort of mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// A register is used before anything was written to it.
    UninitialisedRegister,
    /// Private, local or global memory is read before anything was written to it.
    UninitialisedMemory,
    /// Threads of a work-group meet in local memory without a barrier between them.
    LocalRace,
    /// Threads of different work-groups meet in global memory.
    GlobalRace,
    /// A barrier is reached by a part of the work-group.
    PartialBarrier,
    /// An access leaves the allocation that its pointer came from.
    OutsideAllocation,
    /// Control runs off the end of a function.
    MissingReturn,
    /// An integer is divided by zero.
    DivisionByZero,
}

impl FindingKind {
    /// All of them.
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

    /// Its name in reports and workload files.
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

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// A mistake.
    Error,
    /// Nothing tells whether it is one.
    Undecided,
    /// Not clean, but without effect on values.
    Note,
}

/// A place in the source that was compiled to PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePlace {
    /// File, as `.file` names it.
    pub file: String,
    /// Line, from one.
    pub line: u32,
    /// Column, from one; 0 where the compiler gives none.
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
    /// Line in the PTX file, from one.
    pub line: u32,
    /// Column in the PTX file, from one.
    pub column: u32,
    /// Full opcode of the instruction.
    pub opcode: String,
    /// Where the instruction comes from, if `.loc` says so.
    pub source: Option<SourcePlace>,
    /// Work-group coordinates.
    pub work_group: [u32; 3],
    /// Thread coordinates in the work-group.
    pub thread: [u32; 3],
}

/// One mistake at one instruction, as it happened first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What sort of mistake.
    pub kind: FindingKind,
    /// How bad it is.
    pub verdict: Verdict,
    /// PTX file.
    pub file: String,
    /// Kernel launched.
    pub kernel: String,
    /// Number of the launch in the program, from zero.
    pub launch: u32,
    /// Instruction and thread.
    pub spot: AccessSite,
    /// Address in its memory.
    pub address: Option<u64>,
    /// The nearest buffer or variable, described.
    pub near: Option<String>,
    /// Name of the buffer or variable at the address.
    pub buffer: Option<String>,
    /// What happened.
    pub detail: String,
    /// The other access of a race.
    pub other: Option<AccessSite>,
    /// How often it happened, lane by lane.
    pub count: u64,
}

/// What tells findings apart: one is kept for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: FindingKind,
    pub(super) verdict: Verdict,
    pub(super) kernel: String,
    pub(super) pc: u32,
    /// Instruction of the other access.
    pub(super) other: u32,
    /// Start of the buffer, where it matters which.
    pub(super) place: u64,
}

/// Findings in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) list: Vec<Finding>,
    by_key: BTreeMap<Key, usize>,
    /// Occurrences of findings that were not kept.
    pub(super) dropped: u64,
}

impl Findings {
    /// Counts an occurrence; the first of its key is described.
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
