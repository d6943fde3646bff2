//! The decoded form of an instruction: operands are slot numbers, the arithmetic is a function
//! over all 32 lanes chosen once, when the kernel is lowered.
//!
//! Lane functions compute all lanes whatever the mask says; the result is blended into the
//! destination afterwards. They are therefore total: no input makes them panic.

/// One 32-bit value per lane. Narrower values are kept zero-extended.
pub(crate) type Lanes32 = [u32; 32];
/// One 64-bit value per lane.
pub(crate) type Lanes64 = [u64; 32];

pub(crate) type Unary32 = fn(&Lanes32, &mut Lanes32);
pub(crate) type Unary64 = fn(&Lanes64, &mut Lanes64);
pub(crate) type Widen = fn(&Lanes32, &mut Lanes64);
pub(crate) type Narrow = fn(&Lanes64, &mut Lanes32);
pub(crate) type Binary32 = fn(&Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Binary64 = fn(&Lanes64, &Lanes64, &mut Lanes64);
pub(crate) type BinaryWide = fn(&Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Shift64 = fn(&Lanes64, &Lanes32, &mut Lanes64);
pub(crate) type ShiftBy32 = fn(&Lanes32, u32, &mut Lanes32);
pub(crate) type ShiftBy64 = fn(&Lanes64, u32, &mut Lanes64);
pub(crate) type Ternary32 = fn(&Lanes32, &Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Ternary64 = fn(&Lanes64, &Lanes64, &Lanes64, &mut Lanes64);
pub(crate) type TernaryWide = fn(&Lanes32, &Lanes32, &Lanes64, &mut Lanes64);
pub(crate) type Extract64 = fn(&Lanes64, &Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Insert32 = fn(&Lanes32, &Lanes32, &Lanes32, &Lanes32, &mut Lanes32);
pub(crate) type Insert64 = fn(&Lanes64, &Lanes64, &Lanes32, &Lanes32, &mut Lanes64);
pub(crate) type Compare32 = fn(&Lanes32, &Lanes32) -> u32;
pub(crate) type Compare64 = fn(&Lanes64, &Lanes64) -> u32;

/// Builds a function over lanes from an expression over one lane.
macro_rules! lanes {
    (|$a:ident: $ta:ty| -> $r:ty $body:block) => {{
        #[allow(clippy::needless_range_loop)] // One index runs over all arrays.
        fn run(x: &[$ta; 32], out: &mut [$r; 32]) {
            for i in 0..32 {
                let $a = x[i];
                out[i] = $body;
            }
        }
        run as fn(&[$ta; 32], &mut [$r; 32])
    }};
    (|$a:ident: $ta:ty, $b:ident: $tb:ty| -> $r:ty $body:block) => {{
        fn run(x: &[$ta; 32], y: &[$tb; 32], out: &mut [$r; 32]) {
            for i in 0..32 {
                let ($a, $b) = (x[i], y[i]);
                out[i] = $body;
            }
        }
        run as fn(&[$ta; 32], &[$tb; 32], &mut [$r; 32])
    }};
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty| -> $r:ty $body:block) => {{
        fn run(x: &[$ta; 32], y: &[$tb; 32], z: &[$tc; 32], out: &mut [$r; 32]) {
            for i in 0..32 {
                let ($a, $b, $c) = (x[i], y[i], z[i]);
                out[i] = $body;
            }
        }
        run as fn(&[$ta; 32], &[$tb; 32], &[$tc; 32], &mut [$r; 32])
    }};
    (|$a:ident: $ta:ty, $b:ident: $tb:ty, $c:ident: $tc:ty, $d:ident: $td:ty|
     -> $r:ty $body:block) => {{
        fn run(x: &[$ta; 32], y: &[$tb; 32], z: &[$tc; 32], w: &[$td; 32], out: &mut [$r; 32]) {
            for i in 0..32 {
                let ($a, $b, $c, $d) = (x[i], y[i], z[i], w[i]);
                out[i] = $body;
            }
        }
        run as fn(&[$ta; 32], &[$tb; 32], &[$tc; 32], &[$td; 32], &mut [$r; 32])
    }};
}
pub(crate) use lanes;

/// Builds a comparison: bit `i` of the result is the outcome of lane `i`.
macro_rules! compare {
    (|$a:ident, $b:ident: $t:ty| $body:expr) => {{
        fn run(x: &[$t; 32], y: &[$t; 32]) -> u32 {
            let mut mask = 0;
            for i in 0..32 {
                let ($a, $b) = (x[i], y[i]);
                mask |= if $body { 1u32 << i } else { 0 };
            }
            mask
        }
        run as fn(&[$t; 32], &[$t; 32]) -> u32
    }};
}
pub(crate) use compare;

/// A value operand: a register of the frame, a constant of the kernel or a special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Src(pub(crate) u16);

impl Src {
    /// First number of the kernel's constants.
    pub(crate) const CONSTANT: u16 = 0x4000;
    /// First number of the wavefront's special registers.
    pub(crate) const SPECIAL: u16 = 0x8000;
}

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

/// Extended-precision arithmetic on the carry flag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    /// 64-bit operands.
    pub(crate) wide: bool,
    pub(crate) signed: bool,
    pub(crate) takes: bool,
    pub(crate) gives: bool,
    pub(crate) d: u16,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    MadLo,
    MadHi,
}

/// A pack or unpack `mov` between a register and a vector of parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Bits of one part: 8, 16 or 32.
    pub(crate) bits: u32,
    pub(crate) count: usize,
    /// Register of each part when unpacking; [`NO_REGISTER`] throws it away.
    pub(crate) registers: [u16; 4],
    /// Source of each part when packing.
    pub(crate) sources: [Src; 4],
    /// The whole value.
    pub(crate) whole: Src,
    /// The whole value is 64 bits wide.
    pub(crate) wide: bool,
}

/// Destination that is thrown away (`_`).
pub(crate) const NO_REGISTER: u16 = u16::MAX;

/// Which way a value's lanes are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShuffleMode {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Shuffle {
    pub(crate) mode: ShuffleMode,
    pub(crate) d: u16,
    pub(crate) p: u16,
    pub(crate) a: Src,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VoteMode {
    All,
    Any,
    Uniform,
    Ballot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Vote {
    pub(crate) mode: VoteMode,
    /// Predicate register, or general register for a ballot.
    pub(crate) d: u16,
    pub(crate) a: Pred,
    /// Lanes named by `.sync`; `None` for the old form.
    pub(crate) members: Option<Src>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    /// Wait for the others.
    Wait,
    /// Announce arrival and go on.
    Arrive,
    /// Wait, then receive how many threads' predicates held.
    Count,
    /// Wait, then receive whether all did.
    All,
    /// Wait, then receive whether any did.
    Any,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) id: Src,
    /// Threads that take part; `None` for all of the work-group.
    pub(crate) threads: Option<Src>,
    /// Register of the count, or predicate.
    pub(crate) d: u16,
    pub(crate) p: Pred,
}

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
    /// Parameter passing between functions: hardware does it in registers, so the trace shows a
    /// step without addresses.
    pub(crate) silent: bool,
}

impl Access {
    /// One element that fills its register: the common case, for which there are short loops.
    pub(crate) fn is_plain(&self) -> bool {
        self.count == 1 && !self.short && self.bytes == if self.wide { 8 } else { 4 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicKind {
    Add,
    AddF32,
    AddF64,
    MinU,
    MinS,
    MaxU,
    MaxS,
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
    /// 4 or 8.
    pub(crate) bytes: u32,
    /// Destination or [`NO_REGISTER`].
    pub(crate) d: u16,
    pub(crate) b: Src,
    pub(crate) c: Src,
}

/// A conversion that has no lane function of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Convert {
    pub(crate) to: crate::types::ScalarType,
    pub(crate) from: crate::types::ScalarType,
    pub(crate) rounding: Rounding,
    /// Float to float, rounded to an integral value.
    pub(crate) integral: bool,
    pub(crate) saturate: bool,
    pub(crate) flush: bool,
    pub(crate) from_wide: bool,
    /// Bits of the destination register.
    pub(crate) to_bits: u32,
    pub(crate) d: u16,
    pub(crate) a: Src,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

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
    Load(u32),
    Store(u32),
    Atomic(u32),
    Shuffle(u32),
    Vote(u32),
    Match {
        d: u16,
        a: Src,
        wide: bool,
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
    Call(u32),
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
