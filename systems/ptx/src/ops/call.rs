//! Operands of calls to device functions, and of indexed branches.

use super::Src;

/// Values that a call copies for the active lanes of the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSite {
    /// Index of the callee in the kernel's function table.
    pub(crate) callee: usize,
    pub(crate) arguments: Vec<Transfer>,
    pub(crate) results: Vec<Transfer>,
}

/// A call through a register, with its possible targets.
#[derive(Clone, Debug)]
pub(crate) struct IndirectCall {
    /// Source of the address of the function.
    pub(crate) pointer: Src,
    /// True if the pointer is a 64-bit register.
    pub(crate) wide: bool,
    /// Address and call site of each possible target.
    pub(crate) sites: Vec<(u64, u32)>,
}

/// A branch that selects its target by index.
#[derive(Clone, Debug)]
pub(crate) struct Jump {
    pub(crate) index: Src,
    /// Target instructions, by index in the kernel.
    pub(crate) targets: Vec<u32>,
    /// Reconvergence point of the branch, as an instruction index.
    pub(crate) meet: u32,
}

/// Transfer of one value between caller and callee.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    /// Copies bytes between frames: (caller's offset, callee's offset, bytes).
    Memory {
        caller: u32,
        callee: u32,
        bytes: u32,
    },
    Word {
        caller: Src,
        callee: Src,
    },
    Double {
        caller: Src,
        callee: Src,
    },
    Predicate {
        caller: u16,
        callee: u16,
    },
}
