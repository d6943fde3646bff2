//! The decoded form of an instruction: operands are slot numbers, the arithmetic is a function
//! over all 32 lanes chosen once, when the kernel is lowered.
//!
//! [`Op`] is here; `lanes.rs` are the functions, the other files the operands of instructions that
//! need more than a few words. Lowering makes them, `exec/` runs them.

mod arithmetic;
mod call;
mod external;
mod groups;
mod lanes;
mod memory;
mod operands;
mod scalar;
mod texture;

pub(crate) use self::arithmetic::{Carry, CarryKind, Convert, Parts, Rounding};
pub(crate) use self::call::{CallSite, IndirectCall, Jump, Transfer};
pub(crate) use self::external::{External, ExternalSite, WAITING};
pub(crate) use self::groups::{Barrier, BarrierKind, Shuffle, ShuffleMode, Vote, VoteMode};
pub(crate) use self::lanes::{
    Binary32, Binary64, BinaryWide, Compare32, Compare64, Extract64, Insert32, Insert64, Lanes32,
    Lanes64, Narrow, Shift64, ShiftBy32, ShiftBy64, Ternary32, Ternary64, TernaryWide, Unary32,
    Unary64, Widen, compare, for_this_machine, lanes,
};
pub(crate) use self::memory::{Access, Address, Atomic, AtomicKind, Region};
pub(crate) use self::operands::{Logic, NO_REGISTER, Outcome, Pred, Src};
pub(crate) use self::scalar::{FloatFormat, FloatOp, FloatSpec, PairOp, Scalar, ScalarKind};
pub(crate) use self::texture::{TextureQuery, TextureRead};

/// What an instruction does.
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
    /// `set`: like a comparison, the outcome as a number.
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
    /// `setp` of two pairs: `f` compares lower halves; `q` of the outcome is that of the upper ones.
    ComparePair {
        f: Compare32,
        a: Src,
        b: Src,
        outcome: Outcome,
    },
    /// `set` of two pairs: each half of the result is `one` or zero.
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
    /// A register of 128 bits from two of 64, the lower one first.
    Join {
        d: u16,
        low: Src,
        high: Src,
    },
    /// Two registers of 64 bits from one of 128; [`NO_REGISTER`] throws one away.
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
    /// Address of a variable in the frame; `window` is added for a generic address.
    FrameAddress {
        d: u16,
        offset: u32,
        wide: bool,
    },
    /// `alloca`: takes private memory to the end of the call.
    Allocate {
        d: u16,
        bytes: Src,
        align: u32,
        wide: bool,
    },
    /// `stacksave`
    SaveStack {
        d: u16,
        wide: bool,
    },
    /// `stackrestore`
    RestoreStack {
        a: Src,
        wide: bool,
    },
    /// `isspacep`
    IsSpace {
        region: Region,
        d: u16,
        a: Src,
        wide: bool,
    },
    Carry(u32),
    Pack(u32),
    Unpack(u32),
    Convert(u32),
    Scalar(u32),
    Load(u32),
    /// Of an access of one byte.
    Prefetch(u32),
    Store(u32),
    Atomic(u32),
    Texture(u32),
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
    /// `match.all`: the members and a predicate where all have one value.
    MatchAll {
        d: u16,
        p: u16,
        a: Src,
        wide: bool,
        members: Src,
    },
    /// `redux.sync`
    Reduce {
        kind: AtomicKind,
        d: u16,
        a: Src,
        members: Src,
    },
    /// `elect.sync`: the lowest of the members.
    Elect {
        d: u16,
        p: u16,
        members: Src,
    },
    ActiveMask {
        d: u16,
    },
    Barrier(u32),
    /// `uniform` is `.uni`; `meet` is the reconvergence point, [`NO_PC`] at the function's end.
    Branch {
        target: u32,
        meet: u32,
    },
    /// `brx.idx`
    BranchIndexed(u32),
    Call(u32),
    /// Call through a register.
    CallIndirect(u32),
    /// Call of a function of the runtime.
    External(u32),
    Return,
    Exit,
    Trap,
    /// Fences, wavefront barriers, sleeps: nothing to do functionally.
    Nothing,
}

/// No instruction.
pub(crate) const NO_PC: u32 = u32::MAX;

/// An instruction ready to run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) op: Op,
    pub(crate) guard: Pred,
}

/// Special registers whose value follows from the launch alone.
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
}

/// A constant of the kernel; those that depend on the launch are filled in then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Constant {
    Value(u64),
    /// Address of a module variable plus an offset.
    Variable {
        index: usize,
        offset: i64,
    },
}
