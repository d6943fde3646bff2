//! Calls of device functions.

use super::Src;

/// What a call copies, in lanes of the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSite {
    /// Index of the callee in the kernel's function table.
    pub(crate) callee: usize,
    pub(crate) arguments: Vec<Transfer>,
    pub(crate) results: Vec<Transfer>,
}

/// A call through a register.
#[derive(Clone, Debug)]
pub(crate) struct IndirectCall {
    /// Where the address of the function is.
    pub(crate) pointer: Src,
    /// It is a 64-bit register.
    pub(crate) wide: bool,
    /// Address of each function that may be called, and its call site.
    pub(crate) sites: Vec<(u64, u32)>,
}

/// A branch by number.
#[derive(Clone, Debug)]
pub(crate) struct Jump {
    pub(crate) index: Src,
    /// Instructions.
    pub(crate) targets: Vec<u32>,
    /// The reconvergence point.
    pub(crate) meet: u32,
}

/// One value between caller and callee.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Transfer {
    /// Bytes between frames: (caller's offset, callee's offset, bytes).
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
