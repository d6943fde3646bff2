//! Arithmetic that has no lane function of its own: carries, conversions, packing.

use super::Src;
use crate::types::ScalarType;

/// Extended-precision arithmetic on the carry flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    /// 64-bit operands.
    pub(crate) wide: bool,
    pub(crate) signed: bool,
    pub(crate) takes: bool,
    pub(crate) gives: bool,
    pub(crate) d: u16,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    MadLo,
    MadHi,
}

/// A pack or unpack `mov` between a register and a vector of parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Bits of one part: 8, 16 or 32.
    pub(crate) bits: u32,
    pub(crate) count: usize,
    /// Register of each part when unpacking; [`NO_REGISTER`](super::NO_REGISTER) throws it away.
    pub(crate) registers: [u16; 4],
    /// Source of each part when packing.
    pub(crate) sources: [Src; 4],
    /// The whole value.
    pub(crate) whole: Src,
    /// The whole value is 64 bits wide.
    pub(crate) wide: bool,
}

/// A conversion that has no lane function of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convert {
    pub(crate) to: ScalarType,
    pub(crate) from: ScalarType,
    pub(crate) rounding: Rounding,
    /// Float to float, rounded to an integral value.
    pub(crate) integral: bool,
    pub(crate) saturate: bool,
    pub(crate) flush: bool,
    /// `.relu`: negative results become zero.
    pub(crate) relu: bool,
    /// `.satfinite`: infinite results become the largest finite number.
    pub(crate) finite: bool,
    pub(crate) from_wide: bool,
    /// Bits of the destination register.
    pub(crate) to_bits: u32,
    pub(crate) d: u16,
    pub(crate) a: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}
