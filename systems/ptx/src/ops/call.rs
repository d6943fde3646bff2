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
