//! Arithmetic that is done one lane at a time: roundings other than to nearest, half precision,
//! packed pairs and the rarer integer instructions.

use super::{Rounding, Src};

/// One instruction; its operands and result are all 64 bits wide, or all at most 32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub(crate) kind: ScalarKind,
    pub(crate) wide: bool,
    pub(crate) d: u16,
    pub(crate) sources: [Src; 3],
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ScalarKind {
    Float(FloatSpec),
    /// `cvt` of two singles to a pair, the first in the upper half.
    Pack(FloatSpec),
    /// `add`, `min`, `max` of two 16-bit integers.
    Pair {
        op: PairOp,
        signed: bool,
        relu: bool,
    },
    /// `dp2a`: two 16-bit parts of the first times two bytes of the second.
    Dot2 {
        signed: [bool; 2],
        high: bool,
    },
    /// `fns`: place of the n-th one.
    FindNth,
    /// `szext`: sign or zero extension from a width.
    Extend {
        signed: bool,
        wrap: bool,
    },
    /// `mad.hi.sat.s32`
    MadHighSaturated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairOp {
    Add,
    Min,
    Max,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatOp {
    Add,
    Sub,
    Mul,
    Fma,
    Div,
    Rcp,
    Sqrt,
    Neg,
    Abs,
    Min,
    Max,
    Tanh,
    Ex2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFormat {
    Half,
    Brain,
    Single,
    Double,
}

/// Arithmetic on floats with all its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatSpec {
    pub(crate) op: FloatOp,
    pub(crate) format: FloatFormat,
    pub(crate) rounding: Rounding,
    /// `.ftz`
    pub(crate) flush: bool,
    /// `.sat`
    pub(crate) saturate: bool,
    /// `.relu`
    pub(crate) relu: bool,
    /// `.NaN`
    pub(crate) nan: bool,
    /// `.xorsign.abs`
    pub(crate) xorsign: bool,
    /// `.satfinite`
    pub(crate) finite: bool,
    /// Two numbers of 16 bits.
    pub(crate) pair: bool,
}

impl FloatSpec {
    /// An operation without modifiers.
    pub(crate) fn new(op: FloatOp, format: FloatFormat, rounding: Rounding) -> Self {
        Self {
            op,
            format,
            rounding,
            flush: false,
            saturate: false,
            relu: false,
            nan: false,
            xorsign: false,
            finite: false,
            pair: false,
        }
    }
}
