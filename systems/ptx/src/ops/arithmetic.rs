//! Operands of arithmetic without dedicated lane functions: carries, conversions, packing.

use super::Src;
use crate::types::ScalarType;

/// Extended-precision arithmetic that uses the carry flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    /// True if the operands are 64 bits wide.
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

/// A packing or unpacking `mov` between a register and a vector of parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Width of one part in bits: 8, 16 or 32.
    pub(crate) bits: u32,
    pub(crate) count: usize,
    /// Register of each part for unpacking; [`NO_REGISTER`](super::NO_REGISTER) discards it.
    pub(crate) registers: [u16; 4],
    /// Source of each part for packing.
    pub(crate) sources: [Src; 4],
    /// Source of the whole value for unpacking.
    pub(crate) whole: Src,
    /// True if the whole value is 64 bits wide.
    pub(crate) wide: bool,
}

/// A `mov` of up to eight elements, all of which are read before the first is written.
#[derive(Clone, Debug)]
pub(crate) struct VectorMove {
    /// True if the elements are 64 bits wide.
    pub(crate) wide: bool,
    /// Destination and source of each element.
    pub(crate) elements: Vec<(u16, Src)>,
}

/// A conversion without a dedicated lane function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convert {
    pub(crate) to: ScalarType,
    pub(crate) from: ScalarType,
    pub(crate) rounding: Rounding,
    /// True for float to float, rounded to an integral value.
    pub(crate) integral: bool,
    pub(crate) saturate: bool,
    pub(crate) flush: bool,
    /// True for `.relu`: negative results become zero.
    pub(crate) relu: bool,
    /// True for `.satfinite`: infinite results become the largest finite number.
    pub(crate) finite: bool,
    pub(crate) from_wide: bool,
    /// Width of the destination register in bits.
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
