//! Operands, and what comparisons write.

/// A value operand: a register of the frame, a constant of the kernel or a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src(pub(crate) u16);

impl Src {
    /// First number of the kernel's constants.
    pub(crate) const CONSTANT: u16 = 0x4000;
    /// First number of the wavefront's special registers.
    pub(crate) const SPECIAL: u16 = 0x8000;
}

/// Destination that is thrown away (`_`).
pub(crate) const NO_REGISTER: u16 = u16::MAX;

/// A predicate operand, possibly negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pred(pub(crate) u16);

impl Pred {
    pub(crate) const NEGATED: u16 = 0x8000;
    /// The constant true (negated: false).
    pub(crate) const TRUE: u16 = 0x7fff;
    /// Not a predicate: the instruction has no guard, or the result is thrown away.
    pub(crate) const NONE: u16 = 0x7ffe;

    pub(crate) fn is_always(self) -> bool {
        self.0 == Self::TRUE
    }
}

/// Combination of a comparison with a third operand, and logic on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
    /// The first operand alone.
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

/// What a comparison writes besides the comparison itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// Predicate register or [`Pred::NONE`].
    pub(crate) p: u16,
    /// Receives the combination of the inverse outcome.
    pub(crate) q: u16,
    pub(crate) logic: Logic,
    pub(crate) with: Pred,
}
