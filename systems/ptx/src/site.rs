//! Checker's view of an instruction: its position, its source and result values by program name,
//! and its effect on pointers.
//!
//! Registers are the virtual registers of the text. Values that share an architectural register are
//! distinct here, so an uninitialised value is not mistaken for its predecessor.

use crate::alloc::File;
use crate::ast::Location;

/// Entity to which a variable's name resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Module variable in global or constant memory.
    Module(usize),
    /// Shared variable, by its index in the module.
    Shared(usize),
    /// Variable of the function's frame, by index.
    Frame(usize),
    /// Kernel parameter, by byte offset in the arguments.
    Argument(u32),
    /// Module variable with one instance per thread: its offset in private memory.
    Private(u32),
}

/// An instruction as the checker sees it.
#[derive(Debug)]
pub(crate) struct Site {
    /// Column of the instruction, counted from one.
    pub(crate) column: u32,
    /// Source location given by the last `.loc` directive.
    pub(crate) location: Option<Location>,
    /// Register of the guard predicate, if the instruction has one.
    pub(crate) guard: Option<u32>,
    /// Source values, except for the address of an access.
    pub(crate) sources: Vec<Origin>,
    /// Destination registers, one per element; `None` for `_`.
    pub(crate) results: Vec<Option<u32>>,
    /// Base value of an access's address.
    pub(crate) address: Origin,
    pub(crate) rule: Rule,
    pub(crate) order: Order,
    /// True for the implicit return added where control reaches the end of a function.
    pub(crate) is_implied: bool,
}

/// Origin of a source value in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Register(u32),
    /// Address of a variable, which is a pointer.
    Symbol(Symbol),
    /// A number, which never is a pointer.
    Number,
}

/// Propagation of initialisation and pointer tags from sources to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Copies the value, possibly in parts; this does not count as a use.
    Copy,
    /// Converts the value to another representation.
    Convert,
    /// Selects the second or the third source by a predicate, which is the last source of `selp`.
    Select,
    Add,
    Subtract,
    /// Adds the product of the other sources to the last source.
    MultiplyAdd,
    /// Clears or sets low bits; a pointer remains a pointer.
    Mask,
    /// Returns the smaller or the larger source.
    Either,
    /// Computes a number from which no pointer can be recovered.
    Scramble,
    /// Produces a number that cannot be used as a pointer.
    Plain,
    /// Integer division; otherwise the same as `Scramble`.
    Divide,
    Load,
    Store,
    Atomic,
    Call,
    Return,
    /// Wavefront barrier, written `bar.warp.sync` in PTX.
    WavefrontBarrier,
    Fence,
}

/// Ordering of an access or fence with respect to other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Scope within which the access does not race with others of its kind.
    pub(crate) strength: SyncScope,
    /// True if earlier writes become visible to threads that observe this access.
    pub(crate) releases: bool,
}

/// Scope of an access that takes part in synchronisation (PTX ISA, "Memory Consistency Model",
/// "morally strong").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SyncScope {
    /// No synchronisation: races with any conflicting access.
    #[default]
    Weak,
    /// Synchronises threads of the same work-group only.
    Group,
    /// Synchronises all threads of the device.
    Device,
}

/// Registers and frame variables of a function, by name.
#[derive(Debug)]
pub(crate) struct FunctionShape {
    pub(crate) registers: usize,
    /// File and slot of each register in a decoded operand.
    pub(crate) slots: Vec<(File, u16)>,
    /// Register declarations: first register, name, and true if numbers follow the name.
    pub(crate) names: Vec<(u32, String, bool)>,
    pub(crate) parameters: Vec<Option<u32>>,
    pub(crate) returns: Vec<Option<u32>>,
    pub(crate) frame: Vec<FrameRange>,
}

/// Byte range of a variable in a function's frame.
#[derive(Debug)]
pub(crate) struct FrameRange {
    pub(crate) name: String,
    pub(crate) start: u32,
    pub(crate) bytes: u32,
}

/// Byte range of a variable in local memory.
#[derive(Debug)]
pub(crate) struct SharedRange {
    /// Index of the variable in the module.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) start: u32,
    /// Size in bytes; `None` extends to the end of the memory.
    pub(crate) bytes: Option<u32>,
}

impl FunctionShape {
    /// Returns the name of a register in the text.
    pub(crate) fn register_name(&self, register: u32) -> String {
        let after = self.names.partition_point(|(first, ..)| *first <= register);
        match after.checked_sub(1).map(|at| &self.names[at]) {
            Some((first, name, true)) => format!("{name}{}", register - first),
            Some((_, name, false)) => name.clone(),
            None => "?".to_owned(),
        }
    }
}
