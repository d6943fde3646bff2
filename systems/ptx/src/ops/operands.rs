//! Operands of instructions, and destinations of comparisons.

/// A value operand: a frame register, a kernel constant or a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src(pub(crate) u16);

impl Src {
    /// First operand number of the kernel's constants.
    pub(crate) const CONSTANT: u16 = 0x4000;
    /// First operand number of the wavefront's special registers.
    pub(crate) const SPECIAL: u16 = 0x8000;
}

/// Destination for discarded results (`_`).
pub(crate) const NO_REGISTER: u16 = u16::MAX;

/// A predicate operand, which may be negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pred(pub(crate) u16);

impl Pred {
    pub(crate) const NEGATED: u16 = 0x8000;
    /// Constant predicate that is true; negated, it is false.
    pub(crate) const TRUE: u16 = 0x7fff;
    /// No predicate: the instruction has no guard, or the result is discarded.
    pub(crate) const NONE: u16 = 0x7ffe;

    pub(crate) fn is_always(self) -> bool {
        self.0 == Self::TRUE
    }
}

/// Logic operation that combines a comparison with a third operand, or two predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
    /// Returns the first operand and ignores the second.
    First,
}

impl Logic {
    #[inline]
    pub(crate) fn apply(self, a: u32, b: u32) -> u32 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::First => a,
        }
    }
}

/// Destinations and combining logic of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Destination of the combined outcome, or [`Pred::NONE`].
    pub(crate) p: u16,
    /// Destination of the combined inverse outcome.
    pub(crate) q: u16,
    pub(crate) logic: Logic,
    pub(crate) with: Pred,
}
