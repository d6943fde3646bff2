//! Kinds of execution units, used for dual-issue rules and statistics.

use warpweave_trace::Class;

/// Kind of execution unit, as distinguished by [`IssueTogether`](super::IssueTogether).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnitKind {
    Integer,
    /// Single precision, with conversions, shuffles and votes.
    Single,
    Double,
    Special,
    Memory,
    /// Branches, barriers, fences, exits and launches.
    Control,
}

impl UnitKind {
    pub(crate) const COUNT: usize = 6;

    /// Returns the kind of unit that executes an instruction class.
    pub(crate) const fn of(class: Class) -> Self {
        match class {
            Class::IntAdd | Class::IntMul | Class::IntDiv => Self::Integer,
            Class::FpAdd
            | Class::FpMul
            | Class::FpDiv
            | Class::Convert
            | Class::Shuffle
            | Class::Vote => Self::Single,
            Class::DpAdd | Class::DpMul | Class::DpDiv => Self::Double,
            Class::Special => Self::Special,
            Class::Load | Class::Store | Class::Atomic | Class::Prefetch => Self::Memory,
            Class::Branch | Class::Barrier | Class::Fence | Class::Exit | Class::Launch => {
                Self::Control
            }
        }
    }

    /// Returns the bit of this kind in a set of kinds.
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}
