//! Syntax tree of a module with source positions; names are not yet resolved.

use std::collections::BTreeMap;

use crate::diagnostics::{Span, SpannedError};
use crate::types::{ScalarType, StateSpace};

#[derive(Debug, Default)]
pub(crate) struct Tree<'a> {
    pub(crate) version: String,
    pub(crate) target: Vec<&'a str>,
    /// Address size, 32 or 64; the PTX default is 32, but current compilers always state it.
    pub(crate) address_bits: u32,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// Second names of functions: the new one, its place, and the defined one (`.alias`).
    pub(crate) aliases: Vec<(&'a str, Span, &'a str)>,
    /// Source files, keyed by the number used in `.loc`.
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
    /// Unsupported features that the head asks for.
    pub(crate) unsupported: Vec<SpannedError>,
    pub(crate) directives: FunctionDirectives,
    /// Statements of the body; `None` for a declaration.
    pub(crate) body: Option<Vec<Statement<'a>>>,
}

/// Directives between head and body that limit launches, each with its position.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FunctionDirectives {
    /// `.reqntid`: threads of a work-group along x, y and z.
    pub(crate) required_threads: Option<(Span, [u32; 3])>,
    /// `.maxntid`: extents whose product is the most threads of a work-group.
    pub(crate) most_threads: Option<(Span, [u32; 3])>,
}

impl FunctionDirectives {
    /// Returns the most threads of a work-group, if they are declared.
    pub(crate) fn threads(&self) -> Option<u64> {
        let (_, axes) = self.required_threads.or(self.most_threads)?;
        let axes = axes.into_iter().map(u64::from);
        Some(axes.fold(1, u64::saturating_mul))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) span: Span,
    pub(crate) linkage: Linkage,
    pub(crate) space: StateSpace,
    pub(crate) ty: ScalarType,
    /// True for a texture reference (`.texref`), which is an opaque handle and not a number.
    pub(crate) is_texture: bool,
    /// Number of vector elements; 1 for a scalar.
    pub(crate) vector: u32,
    pub(crate) align: Option<u32>,
    /// Array extents; `None` is an open extent (`[]`).
    pub(crate) extents: Vec<Option<u64>>,
    /// Count of a range `<n>`, which declares `name0 .. name(n-1)`.
    pub(crate) range: Option<u64>,
    pub(crate) initialiser: Option<Initialiser<'a>>,
    /// Reason for which no supported instruction can use an opaque object such as a surface.
    pub(crate) unsupported: Option<&'static str>,
}

impl Variable<'_> {
    pub(crate) fn alignment(&self) -> u32 {
        self.align.unwrap_or(self.ty.bytes() * self.vector).max(1)
    }

    pub(crate) fn element_bytes(&self) -> u64 {
        u64::from(self.ty.bytes() * self.vector)
    }

    /// Returns the size in bytes, with open extents counted as `open` elements.
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
    /// Call prototype: `name: .callprototype (returns) _ (parameters);`
    Prototype {
        name: &'a str,
        span: Span,
        returns: Vec<Variable<'a>>,
        parameters: Vec<Variable<'a>>,
    },
    /// Target list: `name: .branchtargets a, b;` or `name: .calltargets f, g;`
    Targets {
        name: &'a str,
        span: Span,
        list: Vec<(&'a str, Span)>,
        is_call: bool,
    },
    /// Source location of the statements that follow.
    Location(Location),
}

/// A position in the source that was compiled to PTX (`.loc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Number of the file in its `.file` directive.
    pub(crate) file: u64,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

#[derive(Debug)]
pub(crate) struct Instruction<'a> {
    /// Position of the whole statement in the text.
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
    /// A variable plus a constant offset in bytes.
    Offset(&'a str, i64),
    Integer(u64),
    Single(u32),
    Double(u64),
    /// Negated predicate operand, as in `!p`.
    Not(&'a str),
    /// `[base + offset]`; `base` is `None` for an absolute address.
    Address {
        base: Option<&'a str>,
        offset: i64,
        /// Texture operands after the base: coordinates, preceded by a sampler if there is one.
        coordinates: Vec<Operand<'a>>,
    },
    /// Vector of operands, as in `{a, b}`.
    Vector(Vec<Operand<'a>>),
    /// Pair of destination operands, as in `p|q`.
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// Arguments of a call, as in `(a, b)`.
    List(Vec<Operand<'a>>),
}
