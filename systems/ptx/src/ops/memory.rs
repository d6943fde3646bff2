//! Operands of memory accesses: regions, loads, stores and atomics.

use warpweave_trace::Space;

use super::{FloatFormat, FloatOp, NO_REGISTER, Src};

/// Memory region of an access, to the extent that the opcode gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Global,
    Const,
    Shared,
    /// Private memory and function parameters. Offsets are relative to the frame or, for a register
    /// base, to the thread's private memory.
    Local,
    /// Argument block of the kernel, in parameter space.
    Param,
    Generic,
}

impl Region {
    /// Returns the space for trace records; a generic access counts as global until it is resolved.
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
    /// True if the base is in a 64-bit slot, false for a 32-bit slot.
    pub(crate) wide: bool,
    pub(crate) base: Src,
    pub(crate) offset: i64,
    /// True if the start of the current frame is added.
    pub(crate) in_frame: bool,
}

/// A load or store of up to eight elements per lane.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) address: Address,
    /// Address space of the address's region, for trace records.
    pub(crate) space: Space,
    /// Size of one element in bytes.
    pub(crate) bytes: u32,
    pub(crate) signed: bool,
    pub(crate) count: usize,
    /// True if the registers are 64 bits wide.
    pub(crate) wide: bool,
    /// True if the registers are 16 bits wide.
    pub(crate) short: bool,
    pub(crate) registers: [u16; 8],
    pub(crate) sources: [Src; 8],
    /// True if the access synchronises: `.volatile`, `.relaxed`, `.acquire`, `.mmio`.
    pub(crate) strong: bool,
    /// True for function parameters, which hardware passes in registers. The trace records a step
    /// without addresses.
    pub(crate) silent: bool,
    /// True if one element fills its register, the common case that has fast paths.
    pub(crate) plain: bool,
    /// True if the whole-wavefront path is tried first: [`Access::suits_full_wavefront`], and not a
    /// strong load.
    pub(crate) whole: bool,
}

impl Access {
    /// Returns the load with the flags for its fast paths set.
    pub(crate) fn load(self) -> Self {
        let mut access = self.classified();
        access.whole =
            access.suits_full_wavefront() && access.registers[0] != NO_REGISTER && !access.strong;
        access
    }

    /// Returns the store with the flags for its fast paths set, like [`Self::load`].
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

    /// True for a plain access with recorded addresses that do not depend on the frame.
    pub(crate) fn suits_full_wavefront(&self) -> bool {
        self.plain && !self.silent && !self.address.in_frame
    }
}

/// A load of up to four matrices of eight rows, whose addresses are in consecutive lanes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatrixLoad {
    /// Load of one row, by index in the table.
    pub(crate) row: u32,
    /// True if lanes receive columns instead of rows.
    pub(crate) transposed: bool,
    /// Number of matrices.
    pub(crate) count: usize,
    /// Destination of each matrix.
    pub(crate) registers: [u16; 4],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    Add,
    AddF32,
    /// Adds singles in global memory, where subnormal operands and results become zero.
    AddF32Flushed,
    AddF64,
    /// Adds, or returns the minimum or maximum of, 16-bit numbers or pairs of them.
    Half {
        op: FloatOp,
        format: FloatFormat,
    },
    MinU,
    MinS,
    MaxU,
    MaxS,
    /// Minimum of two singles, compared by magnitude with `abs`; a NaN loses unless `nan` is set.
    MinF32 {
        abs: bool,
        nan: bool,
    },
    /// Maximum of two singles, with the same flags as `MinF32`.
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

impl AtomicKind {
    /// Returns the operation in a region, which the opcode of a generic atomic does not tell.
    #[inline(always)]
    pub(crate) fn in_region(self, region: Region) -> Self {
        match (self, region) {
            (Self::AddF32, Region::Global | Region::Generic) => Self::AddF32Flushed,
            _ => self,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) kind: AtomicKind,
    pub(crate) address: Address,
    /// Operand size in bytes: 2, 4, 8 or 16.
    pub(crate) bytes: u32,
    /// Destination or [`NO_REGISTER`](super::NO_REGISTER). For 16 bytes, destination and sources
    /// are the slots of the lower halves.
    pub(crate) d: u16,
    pub(crate) b: Src,
    pub(crate) c: Src,
}
