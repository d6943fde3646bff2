//! The syntax tree: what was written, with places, names not yet resolved.

use std::collections::BTreeMap;

use crate::diagnostics::Span;
use crate::types::{ScalarType, StateSpace};

#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    pub(crate) version: String,
    pub(crate) target: Vec<&'a str>,
    /// 32 or 64; PTX's default is 32, every current compiler states it.
    pub(crate) address_bits: u32,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// Source files by the number that `.loc` names them by.
    pub(crate) files: BTreeMap<u64, &'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    Internal,
    Visible,
    Extern,
    Weak,
}

#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    pub(crate) is_entry: bool,
    pub(crate) returns: Vec<Variable<'a>>,
    pub(crate) parameters: Vec<Variable<'a>>,
    /// `None` for a declaration.
    pub(crate) body: Option<Vec<Statement<'a>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    pub(crate) linkage: Linkage,
    pub(crate) space: StateSpace,
    pub(crate) ty: ScalarType,
    /// A texture reference (`.texref`): a place that stands for a texture, which is no number.
    pub(crate) is_texture: bool,
    /// Elements of a vector type; 1 for a scalar.
    pub(crate) vector: u32,
    pub(crate) align: Option<u32>,
    /// Array extents; `None` is an open extent (`[]`).
    pub(crate) extents: Vec<Option<u64>>,
    /// `<n>`: declares `name0 .. name(n-1)`.
    pub(crate) range: Option<u64>,
    pub(crate) initialiser: Option<Initialiser<'a>>,
}

impl Variable<'_> {
    pub(crate) fn alignment(&self) -> u32 {
        self.align.unwrap_or(self.ty.bytes() * self.vector).max(1)
    }

    pub(crate) fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bytes() * self.vector)
    }

    /// Bytes, with open extents counted as `open` elements.
    pub(crate) fn bytes(&self, open: u64) -> u64 {
        let elements: u64 = self
            .extents
            .iter()
            .map(|extent| extent.unwrap_or(open))
            .product();
        self.element_bytes() * elements
    }

    pub(crate) fn is_open(&self) -> bool {
        self.extents.contains(&None)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Initialiser<'a> {
    List(Vec<Initialiser<'a>>),
    Integer(u64),
    Single(u32),
    Double(u64),
    Address {
        name: &'a str,
        span: Span,
        offset: i64,
    },
}

#[derive(Debug)]
pub(crate) enum Statement<'a> {
    Variable(Variable<'a>),
    Label {
        name: &'a str,
        span: Span,
    },
    Instruction(Instruction<'a>),
    Block(Vec<Statement<'a>>),
    /// `name: .callprototype (returns) _ (parameters);`
    Prototype {
        name: &'a str,
        span: Span,
        returns: Vec<Variable<'a>>,
        parameters: Vec<Variable<'a>>,
    },
    /// `name: .branchtargets a, b;` or `name: .calltargets f, g;`
    Targets {
        name: &'a str,
        span: Span,
        list: Vec<(&'a str, Span)>,
        is_call: bool,
    },
    /// Where what follows comes from.
    Location(Location),
}

/// A place in the source that was compiled to PTX (`.loc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Number of a `.file`.
    pub(crate) file: u64,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// The whole statement.
    pub(crate) span: Span,
    pub(crate) guard: Option<Guard<'a>>,
    /// Opcode with modifiers as written, e.g. `ld.global.u32`.
    pub(crate) opcode: &'a str,
    pub(crate) opcode_span: Span,
    pub(crate) operands: Vec<Operand<'a>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    pub(crate) negated: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    pub(crate) span: Span,
    pub(crate) kind: OperandKind<'a>,
}

#[derive(Clone, Debug)]
pub(crate) enum OperandKind<'a> {
    /// Register, special register (with `.x`), label, function, variable or `_`.
    Name(&'a str),
    /// A variable plus a constant.
    Offset(&'a str, i64),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// `!p`
    Not(&'a str),
    /// `[base + offset]`; `base` is `None` for an absolute address.
    Address {
        base: Option<&'a str>,
        offset: i64,
        /// What follows the base of a texture: coordinates, behind a sampler where there is one.
        coordinates: Vec<Operand<'a>>,
    },
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `p|q`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `(a, b)`: arguments of a call.
    List(Vec<Operand<'a>>),
}
