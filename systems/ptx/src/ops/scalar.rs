//! Operands of arithmetic executed one lane at a time: directed rounding, half precision, packed
//! pairs and rare integer instructions.

use super::{Rounding, Src};

/// A scalar instruction; operands and result are either all 64 bits wide, or all at most 32.
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
    /// Executes `cvt` of two singles to a pair, the first in the upper half.
    Pack(FloatSpec),
    /// Executes `add`, `min` or `max` of two packed 16-bit integers.
    Pair {
        op: PairOp,
        signed: bool,
        relu: bool,
    },
    /// Executes `dp2a`: two 16-bit parts of the first source times two bytes of the second.
    Dot2 {
        signed: [bool; 2],
        high: bool,
    },
    /// Executes `fns`: position of the n-th one bit.
    FindNth,
    /// Executes `szext`: sign or zero extension from a given width.
    Extend {
        signed: bool,
        wrap: bool,
    },
    /// Executes `mad.hi.sat.s32`: multiply-add of the high half, with saturation.
    MadHighSaturated,
    /// Executes `vshl` or `vshr`, and then an operation with the third source.
    VideoShift {
        left: bool,
        wrap: bool,
        /// True if the shifted value is signed.
        signed: bool,
        then: Option<PairOp>,
        /// True if the last operation is signed.
        signed_result: bool,
    },
    /// Executes `cvt.pack`: two saturated integers of `bits` each, below the third source.
    PackIntegers {
        bits: u32,
        signed: bool,
    },
    /// Executes arithmetic of singles whose factors, or first summand, are 16-bit numbers.
    Mixed(FloatSpec, FloatFormat),
    /// Executes `cvt` of two singles, or of a pair, to a pair of 8-bit numbers.
    ToEighths {
        format: Eighth,
        relu: bool,
        from_pair: bool,
    },
    /// Executes `cvt` of a pair of 8-bit numbers to a pair of half precision.
    FromEighths {
        format: Eighth,
        relu: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairOp {
    Add,
    Min,
    Max,
}

/// A floating-point format of 8 bits, named after its exponent and fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eighth {
    E4M3,
    E5M2,
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
    /// Minimum of three numbers.
    MinOfThree,
    /// Maximum of three numbers.
    MaxOfThree,
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

/// A floating-point operation with all its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatSpec {
    pub(crate) op: FloatOp,
    pub(crate) format: FloatFormat,
    pub(crate) rounding: Rounding,
    /// True for `.ftz`: subnormal numbers are flushed to zero.
    pub(crate) flush: bool,
    /// True for `.sat`: results are clamped to 0..1.
    pub(crate) saturate: bool,
    /// True for `.relu`: negative results become zero.
    pub(crate) relu: bool,
    /// True for `.NaN`: a NaN operand makes the result NaN.
    pub(crate) nan: bool,
    /// True for `.xorsign.abs`: magnitudes are compared, and the signs are combined.
    pub(crate) xorsign: bool,
    /// True for `.satfinite`: infinite results become the largest finite number.
    pub(crate) finite: bool,
    /// True for `.abs`: magnitudes are compared.
    pub(crate) magnitudes: bool,
    /// True if the operands are packed pairs.
    pub(crate) pair: bool,
}

/// Implements `.ftz`: a subnormal single becomes zero with the same sign.
#[inline(always)]
pub(crate) fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

impl FloatSpec {
    /// Creates an operation without any of the modifiers.
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
            magnitudes: false,
            pair: false,
        }
    }
}
