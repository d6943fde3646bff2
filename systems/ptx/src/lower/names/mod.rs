//! Name resolution: what names stand for, and functions whose operands name registers, labels and
//! variables by number.
//!
//! This file holds the names and what a function becomes; `resolve.rs` gets there from the syntax
//! tree. Encoding (`../encode.rs` and its neighbours) starts from here.

mod resolve;

use std::collections::BTreeMap;

use crate::alloc::{Effects, File};
use crate::ast::{Linkage, Location, Variable};
use crate::cfg::Flow;
use crate::diagnostics::Span;
use crate::ops::Special;
use crate::types::{ScalarType, StateSpace};

pub(crate) use self::resolve::resolve;

/// What a variable's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Module variable in global or constant memory.
    Module(usize),
    /// Shared variable, by its number in the module.
    Shared(usize),
    /// Variable of the function's frame.
    Frame(usize),
    /// Offset into the kernel's arguments.
    Argument(u32),
    /// Variable of the module that every thread has: its offset in private memory.
    Private(u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Register(u32),
    Special(Special),
    Integer(u64),
    Single(u32),
    Double(u64),
    Not(u32),
    Symbol(Symbol, i64),
    Function(usize),
    Label(usize),
    /// Prototype of an indirect call, by number in the function.
    Prototype(usize),
    /// Targets of an indexed branch, by number in the function.
    Targets(usize),
    Address(Base, i64),
    /// A texture and coordinates.
    Texture(Base, Box<Operand>),
    Vector(Vec<Operand>),
    Pair(Box<Operand>, Box<Operand>),
    List(Vec<Operand>),
    /// `_`
    Nowhere,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    Absolute,
    Register(u32),
    Symbol(Symbol),
}

#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) span: Span,
    pub(crate) value: Value,
}

/// An instruction with resolved operands.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) span: Span,
    pub(crate) opcode: &'a str,
    pub(crate) opcode_span: Span,
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) location: Option<Location>,
    /// Nobody wrote it: control runs off the end here.
    pub(crate) is_implied: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Register {
    pub(crate) ty: ScalarType,
}

#[derive(Clone, Debug)]
pub(crate) struct FrameVariable {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    /// `.local` rather than a parameter.
    pub(crate) is_local: bool,
    /// Set once all variables are known: locals first, then parameters.
    pub(crate) offset: u32,
}

/// A formal parameter of a device function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Formal {
    Register(u32),
    /// Frame variable.
    Memory(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    /// `extern .shared x[]`: begins where the static part ends.
    pub(crate) is_open: bool,
}

/// What an indirect call passes and gets, and whom it may call.
#[derive(Debug)]
pub(crate) struct Prototype {
    /// Bytes of each value returned.
    pub(crate) returns: Vec<u32>,
    /// Bytes of each parameter.
    pub(crate) parameters: Vec<u32>,
    /// Functions of the module that a call with it may reach. Until all functions are known: those that
    /// `.calltargets` lists.
    pub(crate) targets: Option<Vec<usize>>,
}

/// A function with all names resolved.
#[derive(Debug, Default)]
pub(crate) struct Body<'a> {
    pub(crate) instructions: Vec<Resolved<'a>>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) effects: Vec<Effects>,
    pub(crate) registers: Vec<Register>,
    /// Declarations of registers: the first number, the name, and whether numbers follow it.
    pub(crate) register_names: Vec<(u32, String, bool)>,
    pub(crate) frame: Vec<FrameVariable>,
    pub(crate) frame_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) parameters: Vec<Formal>,
    pub(crate) returns: Vec<Formal>,
    /// Shared variables declared or named here.
    pub(crate) shared: Vec<usize>,
    /// Functions called, by number in the module.
    pub(crate) calls: Vec<usize>,
    /// Functions whose address is taken.
    pub(crate) addresses_taken: Vec<usize>,
    pub(crate) prototypes: Vec<Prototype>,
    /// Targets of indexed branches, as instructions.
    pub(crate) targets: Vec<Vec<usize>>,
}

impl Body<'_> {
    pub(crate) fn files(&self) -> Vec<File> {
        self.registers
            .iter()
            .map(|register| file(register.ty))
            .collect()
    }
}

pub(crate) fn file(ty: ScalarType) -> File {
    match ty.bits() {
        1 => File::Predicate,
        64 => File::Double,
        128 => File::Quad,
        _ => File::Word,
    }
}

/// Module-level names.
#[derive(Debug, Default)]
pub(crate) struct ModuleNames<'a> {
    pub(crate) functions: BTreeMap<&'a str, usize>,
    pub(crate) symbols: BTreeMap<&'a str, Symbol>,
    pub(crate) shared: Vec<SharedVariable>,
    /// Variables in global and constant memory, function-scope ones included.
    pub(crate) variables: Vec<Variable<'a>>,
    /// Bytes of the module's variables that every thread has, in front of the frames.
    pub(crate) private_bytes: u32,
}

impl<'a> ModuleNames<'a> {
    /// Adds a variable of the module, or a `.shared`, `.global` or `.const` variable of a function.
    pub(crate) fn declare(&mut self, variable: &Variable<'a>) -> Symbol {
        if variable.space == StateSpace::Shared {
            self.shared.push(SharedVariable {
                name: variable.name.to_owned(),
                bytes: variable.bytes(0) as u32,
                align: variable.alignment(),
                is_open: variable.is_open(),
            });
            return Symbol::Shared(self.shared.len() - 1);
        }
        if matches!(variable.space, StateSpace::Local | StateSpace::Param) {
            let offset = align_up(self.private_bytes, variable.alignment());
            self.private_bytes = offset.saturating_add(variable.bytes(0) as u32);
            return Symbol::Private(offset);
        }
        self.variables.push(variable.clone());
        Symbol::Module(self.variables.len() - 1)
    }
}

pub(crate) fn align_up(value: u32, align: u32) -> u32 {
    value.next_multiple_of(align.max(1))
}

/// Offsets of kernel parameters in the argument block.
pub(crate) fn argument_offsets(parameters: &[Variable<'_>]) -> Vec<u32> {
    let mut at = 0;
    parameters
        .iter()
        .map(|parameter| {
            let offset = align_up(at, parameter.alignment());
            at = offset + parameter.bytes(0) as u32;
            offset
        })
        .collect()
}

/// Whether a variable with this linkage gets storage here.
pub(crate) fn has_storage(variable: &Variable<'_>) -> bool {
    variable.linkage != Linkage::Extern || variable.space == StateSpace::Shared
}
