//! Accesses to memory.

use warpweave_trace::Space;

use super::{NO_REGISTER, Src};

/// Where an access goes, as far as the opcode says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Global,
    Const,
    Shared,
    /// Private memory and parameters of functions: offsets into the frame or, from a register,
    /// into the thread's private memory.
    Local,
    /// The kernel's arguments.
    Param,
    Generic,
}

impl Region {
    /// As the trace calls it; what a generic access reaches unless it turns out otherwise.
    pub(crate) fn space(self) -> Space {
        match self {
            Self::Global | Self::Generic => Space::Global,
            Self::Const => Space::Const,
            Self::Shared => Space::Shared,
            Self::Local => Space::Local,
            Self::Param => Space::Param,
        }
    }
}

/// Address operand of a memory instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) region: Region,
    /// Base in a 64-bit slot, else in a 32-bit one.
    pub(crate) wide: bool,
    pub(crate) base: Src,
    pub(crate) offset: i64,
    /// Add the start of the current frame.
    pub(crate) in_frame: bool,
}

/// A load or store of up to four elements per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    /// That of the address's region.
    pub(crate) space: Space,
    /// Bytes of one element.
    pub(crate) bytes: u32,
    pub(crate) signed: bool,
    pub(crate) count: usize,
    /// The registers are 64 bits wide.
    pub(crate) wide: bool,
    /// The registers are 16 bits wide.
    pub(crate) short: bool,
    pub(crate) registers: [u16; 4],
    pub(crate) sources: [Src; 4],
    /// It takes part in synchronisation: `.volatile`, `.relaxed`, `.acquire`, `.mmio`.
    pub(crate) strong: bool,
    /// Parameter passing between functions: hardware does it in registers, so the trace shows a
    /// step without addresses.
    pub(crate) silent: bool,
    /// One element that fills its register: the common case, for which there are short loops.
    pub(crate) plain: bool,
    /// One that is tried for all lanes at once before anything else: [`Access::suits_full_wavefront`], and not strong if it is a
    /// load.
    pub(crate) whole: bool,
}

impl Access {
    /// The same load, which says whether there are short loops for it.
    pub(crate) fn load(self) -> Self {
        let mut access = self.classified();
        access.whole =
            access.suits_full_wavefront() && access.registers[0] != NO_REGISTER && !access.strong;
        access
    }

    /// As [`Self::load`], for a store.
    pub(crate) fn store(self) -> Self {
        let mut access = self.classified();
        access.whole = access.suits_full_wavefront();
        access
    }

    fn classified(mut self) -> Self {
        let fills = self.bytes == if self.wide { 8 } else { 4 };
        self.plain = self.count == 1 && !self.short && fills;
        self
    }

    /// A plain one with addresses in the trace, which do not depend on the frame.
    pub(crate) fn suits_full_wavefront(&self) -> bool {
        self.plain && !self.silent && !self.address.in_frame
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    Add,
    AddF32,
    AddF64,
    /// One half-precision number, or a pair of them.
    AddF16,
    /// One number of type bf16, or a pair of them.
    AddBF16,
    MinU,
    MinS,
    MaxU,
    MaxS,
    /// The smaller single, of their sizes with `abs`; a NaN loses unless `nan`.
    MinF32 {
        abs: bool,
        nan: bool,
    },
    /// The larger single.
    MaxF32 {
        abs: bool,
        nan: bool,
    },
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
    Increment,
    Decrement,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) kind: AtomicKind,
    pub(crate) address: Address,
    /// 2, 4, 8 or 16.
    pub(crate) bytes: u32,
    /// Destination or [`NO_REGISTER`](super::NO_REGISTER). Of 16 bytes it is the slot of the lower half, as those of
    /// the sources are.
    pub(crate) d: u16,
    pub(crate) b: Src,
    pub(crate) c: Src,
}
