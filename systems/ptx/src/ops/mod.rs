//! Decoded form of an instruction. Operands are slot numbers; the arithmetic is a function over all
//! 32 lanes, chosen once when the kernel is lowered.
//!
//! [`Op`] is defined here, and the lane functions in `lanes.rs`. The other files hold operands of
//! instructions that need more than a few words. Lowering creates them, and `exec/` executes them.

mod arithmetic;
mod call;
mod external;
mod groups;
mod lanes;
mod memory;
mod operands;
mod scalar;
mod texture;

pub(crate) use self::arithmetic::{Carry, CarryKind, Convert, Parts, Rounding, VectorMove};
pub(crate) use self::call::{CallSite, IndirectCall, Jump, Transfer};
pub(crate) use self::external::{External, ExternalSite, WAITING};
pub(crate) use self::groups::{Barrier, BarrierKind, Shuffle, ShuffleMode, Vote, VoteMode};
pub(crate) use self::lanes::{
    Binary32, Binary64, BinaryWide, Compare32, Compare64, Extract64, Insert32, Insert64, Lanes32,
    Lanes64, Narrow, Shift64, ShiftBy32, ShiftBy64, Ternary32, Ternary64, TernaryWide, Unary32,
    Unary64, Widen, compare, for_this_machine, lanes,
};
pub(crate) use self::memory::{Access, Address, Atomic, AtomicKind, MatrixLoad, Region};
pub(crate) use self::operands::{Logic, NO_REGISTER, Outcome, Pred, Src};
pub(crate) use self::scalar::{
    Eighth, FloatFormat, FloatOp, FloatSpec, PairOp, Scalar, ScalarKind, flush,
};
pub(crate) use self::texture::{TextureQuery, TextureRead};

/// Operation of a decoded instruction, with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Move32 {
        d: u16,
        a: Src,
    },
    Move64 {
        d: u16,
        a: Src,
    },
    Unary32 {
        f: Unary32,
        d: u16,
        a: Src,
    },
    Unary64 {
        f: Unary64,
        d: u16,
        a: Src,
    },
    Widen {
        f: Widen,
        d: u16,
        a: Src,
    },
    Narrow {
        f: Narrow,
        d: u16,
        a: Src,
    },
    Binary32 {
        f: Binary32,
        d: u16,
        a: Src,
        b: Src,
    },
    Binary64 {
        f: Binary64,
        d: u16,
        a: Src,
        b: Src,
    },
    BinaryWide {
        f: BinaryWide,
        d: u16,
        a: Src,
        b: Src,
    },
    Shift64 {
        f: Shift64,
        d: u16,
        a: Src,
        b: Src,
    },
    ShiftBy32 {
        f: ShiftBy32,
        d: u16,
        a: Src,
        by: u32,
    },
    ShiftBy64 {
        f: ShiftBy64,
        d: u16,
        a: Src,
        by: u32,
    },
    Ternary32 {
        f: Ternary32,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
    },
    Ternary64 {
        f: Ternary64,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
    },
    TernaryWide {
        f: TernaryWide,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
    },
    Extract64 {
        f: Extract64,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
    },
    Insert32 {
        f: Insert32,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
        e: Src,
    },
    Insert64 {
        f: Insert64,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
        e: Src,
    },
    Lop3 {
        table: u8,
        d: u16,
        a: Src,
        b: Src,
        c: Src,
    },
    /// Executes `lop3` with a predicate: `p` is `d != 0`, combined with `q`.
    Lop3Test {
        table: u8,
        logic: Logic,
        d: u16,
        p: u16,
        a: Src,
        b: Src,
        c: Src,
        q: Pred,
    },
    Compare32 {
        f: Compare32,
        a: Src,
        b: Src,
        outcome: Outcome,
    },
    Compare64 {
        f: Compare64,
        a: Src,
        b: Src,
        outcome: Outcome,
    },
    /// Executes `set`: like a comparison, but returns the outcome as a number.
    Set32 {
        f: Compare32,
        d: u16,
        a: Src,
        b: Src,
        one: u32,
        logic: Logic,
        with: Pred,
    },
    Set64 {
        f: Compare64,
        d: u16,
        a: Src,
        b: Src,
        one: u32,
        logic: Logic,
        with: Pred,
    },
    /// Executes `setp` on two pairs: `f` compares the lower halves for `p` and the upper halves for
    /// `q` of the outcome.
    ComparePair {
        f: Compare32,
        a: Src,
        b: Src,
        outcome: Outcome,
    },
    /// Executes `set` on two pairs: each half of the result is `one` or zero.
    SetPair {
        f: Compare32,
        d: u16,
        a: Src,
        b: Src,
        one: u32,
        logic: Logic,
        with: Pred,
    },
    Select32 {
        d: u16,
        a: Src,
        b: Src,
        p: Pred,
    },
    Select64 {
        d: u16,
        a: Src,
        b: Src,
        p: Pred,
    },
    /// Joins two 64-bit registers to one of 128 bits, the lower half first.
    Join {
        d: u16,
        low: Src,
        high: Src,
    },
    /// Splits a 128-bit register into two of 64 bits; [`NO_REGISTER`] discards a half.
    Part {
        low: u16,
        high: u16,
        a: Src,
    },
    Predicate {
        logic: Logic,
        d: u16,
        a: Pred,
        b: Pred,
    },
    /// Computes the address of a frame variable; `window` is added for a generic address.
    FrameAddress {
        d: u16,
        offset: u32,
        wide: bool,
    },
    /// Executes `alloca`: allocates private memory until the end of the call.
    Allocate {
        d: u16,
        bytes: Src,
        align: u32,
        wide: bool,
    },
    /// Executes `stacksave`: returns the end of private memory.
    SaveStack {
        d: u16,
        wide: bool,
    },
    /// Executes `stackrestore`: frees private memory from an address on.
    RestoreStack {
        a: Src,
        wide: bool,
    },
    /// Executes `isspacep`: tests if an address is in a space.
    IsSpace {
        region: Region,
        d: u16,
        a: Src,
        wide: bool,
    },
    Carry(u32),
    Pack(u32),
    Unpack(u32),
    /// Executes `mov` of a vector, by index of its elements.
    MoveVector(u32),
    Convert(u32),
    Scalar(u32),
    Load(u32),
    /// Executes a prefetch, as an access of one byte.
    Prefetch(u32),
    Store(u32),
    Atomic(u32),
    /// Executes atomics on consecutive elements, which are consecutive in the table.
    AtomicVector {
        first: u32,
        count: u32,
    },
    Texture(u32),
    /// Executes `ldmatrix`, by index of the load.
    LoadMatrix(u32),
    TextureQuery {
        query: TextureQuery,
        d: u16,
        texture: Src,
    },
    Shuffle(u32),
    Vote(u32),
    Match {
        d: u16,
        a: Src,
        wide: bool,
        members: Src,
    },
    /// Executes `match.all`: returns the members and a true predicate if all have the same value.
    MatchAll {
        d: u16,
        p: u16,
        a: Src,
        wide: bool,
        members: Src,
    },
    /// Executes `redux.sync`: reduces a value over the members.
    Reduce {
        kind: AtomicKind,
        d: u16,
        a: Src,
        members: Src,
    },
    /// Executes `elect.sync`: elects the lowest member.
    Elect {
        d: u16,
        p: u16,
        members: Src,
    },
    ActiveMask {
        d: u16,
    },
    Barrier(u32),
    /// Branches to a target. `uniform` is set for `.uni`; `meet` is the reconvergence point,
    /// [`NO_PC`] at the end of the function.
    Branch {
        target: u32,
        meet: u32,
    },
    /// Executes `brx.idx`, with the index of its target table.
    BranchIndexed(u32),
    Call(u32),
    /// Calls a function through a register, with the index of the indirect call.
    CallIndirect(u32),
    /// Calls a function of the device runtime.
    External(u32),
    /// Calls a function that the module declares and does not define, with the index of its name.
    Missing(u32),
    Return,
    Exit,
    Trap,
    /// Fences, wavefront barriers and sleeps, which have no functional effect.
    Nothing,
}

/// Instruction index that refers to no instruction.
pub(crate) const NO_PC: u32 = u32::MAX;

/// A decoded instruction with its guard, ready to execute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) op: Op,
    pub(crate) guard: Pred,
}

/// Special registers whose value depends only on the launch and its declared placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    ThreadId(usize),
    BlockSize(usize),
    GroupId(usize),
    GridSize(usize),
    LaneId,
    MaskEq,
    MaskLe,
    MaskLt,
    MaskGe,
    MaskGt,
    DynamicSharedBytes,
    TotalSharedBytes,
    /// Number of the unit that runs the work-group, in placed launches.
    Unit,
    /// Number of units that share a placed launch.
    Units,
    /// Number of the wavefront among those of its unit, in placed launches.
    WavefrontSlot,
    /// Number of wavefronts that a unit runs of a placed launch.
    WavefrontSlots,
    /// Bits of the address of the workspace of a cooperative launch, from this one on; 0 in other
    /// launches.
    GridWorkspace {
        first_bit: u32,
    },
}

impl Special {
    /// True if the value depends on the unit and context of the work-group.
    pub(crate) fn is_place(self) -> bool {
        matches!(
            self,
            Self::Unit | Self::Units | Self::WavefrontSlot | Self::WavefrontSlots
        )
    }
}

/// A constant of the kernel; launch-dependent constants are filled in at launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Constant {
    Value(u64),
    /// Address of a module variable plus a byte offset.
    Variable {
        index: usize,
        offset: i64,
    },
}
