//! Name resolution: meaning of names, and functions whose operands refer to registers, labels and
//! variables by index.
//!
//! This file has the names and the resolved form of a function; `resolve.rs` and `operand.rs` build
//! it from the syntax tree. Encoding (`../encode.rs` and its neighbours) starts from here.

mod operand;
mod resolve;

use std::collections::BTreeMap;

use warpweave_trace::Class;

use crate::alloc::{Effects, File};
use crate::ast::{Linkage, Location, Variable};
use crate::cfg::Flow;
use crate::diagnostics::Span;
use crate::lower::opcodes;
use crate::ops::Special;
use crate::site::Symbol;
use crate::types::{ScalarType, StateSpace};

pub(crate) use self::resolve::{effects_of, resolve};

/// Letters of the elements of a vector register, in order.
const ELEMENTS: [[&str; 2]; 4] = [["x", "r"], ["y", "g"], ["z", "b"], ["w", "a"]];

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
    /// Prototype of an indirect call, by index in the function.
    Prototype(usize),
    /// Targets of an indexed branch, by index in the function.
    Targets(usize),
    Address(Base, i64),
    /// A texture operand with its coordinates.
    Texture(Base, Box<Operand>),
    Vector(Vec<Operand>),
    Pair(Box<Operand>, Box<Operand>),
    List(Vec<Operand>),
    /// Discarded destination, written as `_` in the text.
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

/// An instruction whose operands are resolved to indices.
#[derive(Clone, Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) span: Span,
    pub(crate) opcode: &'a str,
    pub(crate) opcode_span: Span,
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) operands: Vec<Operand>,
    pub(crate) location: Option<Location>,
    /// True for the implicit return added where control reaches the end of a function.
    pub(crate) is_implied: bool,
    /// Resource that the instruction needs, where its opcode does not tell.
    pub(crate) class: Option<Class>,
}

impl Resolved<'_> {
    /// True if the operand at an index is written.
    pub(crate) fn writes(&self, at: usize) -> bool {
        if at > 0 {
            return false;
        }
        if opcodes::base(self.opcode) == "call" {
            let is_list = matches!(self.operands[0].value, Value::List(_));
            return is_list && self.operands.len() > 1;
        }
        opcodes::writes_first(self.opcode)
    }
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
    /// True for a `.local` variable, false for a parameter.
    pub(crate) is_local: bool,
    /// Frame offset in bytes, assigned once all variables are known: locals first, then parameters.
    pub(crate) offset: u32,
}

/// A formal parameter of a device function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Formal {
    Register(u32),
    /// Parameter in memory, by index of the frame variable.
    Memory(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct SharedVariable {
    pub(crate) name: String,
    pub(crate) bytes: u32,
    pub(crate) align: u32,
    /// True for `extern .shared x[]`, which begins after the static part.
    pub(crate) is_open: bool,
}

/// Parameter and result sizes of an indirect call, and its possible targets.
#[derive(Clone, Debug)]
pub(crate) struct Prototype {
    /// Size in bytes of each returned value.
    pub(crate) returns: Vec<u32>,
    /// Size in bytes of each parameter.
    pub(crate) parameters: Vec<u32>,
    /// Functions of the module that may be called through this prototype. Until all functions are
    /// known, only those listed by `.calltargets`.
    pub(crate) targets: Option<Vec<usize>>,
}

/// A function with all names resolved to indices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body<'a> {
    pub(crate) instructions: Vec<Resolved<'a>>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) effects: Vec<Effects>,
    pub(crate) registers: Vec<Register>,
    /// Register declarations: first index, name, and true if numbers follow the name.
    pub(crate) register_names: Vec<(u32, String, bool)>,
    pub(crate) frame: Vec<FrameVariable>,
    pub(crate) frame_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) parameters: Vec<Formal>,
    pub(crate) returns: Vec<Formal>,
    /// Shared variables that the function declares or uses, by index.
    pub(crate) shared: Vec<usize>,
    /// Called functions, by index in the module.
    pub(crate) calls: Vec<usize>,
    /// Functions whose address is taken, by index.
    pub(crate) addresses_taken: Vec<usize>,
    pub(crate) prototypes: Vec<Prototype>,
    /// Targets of indexed branches, as instruction indices.
    pub(crate) targets: Vec<Vec<usize>>,
}

impl Body<'_> {
    /// Gives back the memory that was reserved for further instructions.
    pub(crate) fn shrink(&mut self) {
        self.instructions.shrink_to_fit();
        self.flows.shrink_to_fit();
        self.effects.shrink_to_fit();
        self.registers.shrink_to_fit();
    }

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

/// Names at module level: functions, variables and files.
#[derive(Debug, Default)]
pub(crate) struct ModuleNames<'a> {
    pub(crate) functions: BTreeMap<&'a str, usize>,
    pub(crate) symbols: BTreeMap<&'a str, Symbol>,
    pub(crate) shared: Vec<SharedVariable>,
    /// Variables in global and constant memory, including those declared in functions.
    pub(crate) variables: Vec<Variable<'a>>,
    /// Size in bytes of the per-thread module variables, placed before the frames.
    pub(crate) private_bytes: u32,
}

impl<'a> ModuleNames<'a> {
    /// Adds a module variable, or a function's `.shared`, `.global` or `.const` variable.
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

/// Returns the offsets of kernel parameters in the argument block.
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

/// True if a variable with this linkage has storage in this module.
pub(crate) fn has_storage(variable: &Variable<'_>) -> bool {
    variable.linkage != Linkage::Extern || variable.space == StateSpace::Shared
}
