//! Registers of a wavefront: values of 32 lanes and the cached shape of those values.

use std::ops::{Deref, DerefMut};

use warpweave_trace::Shape;

use crate::exec::constants::Constants;
use crate::kernel::Frame;
use crate::ops::{Lanes32, Lanes64, NO_REGISTER, Outcome, Pred, Src, for_this_machine};

/// Iterates over the lanes in `mask` in ascending order.
#[inline(always)]
pub(super) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// Pattern of a register's values across lanes.
#[derive(Clone, Copy, Debug)]
pub(super) enum LanePattern {
    /// Not analysed since the register was last written.
    Unknown,
    Grid(Grid),
    /// The values follow no regular pattern.
    Scattered,
    /// Regular pattern whose steps are too large for safe arithmetic.
    Wide,
}

/// Values that form rows of `2^row_bits` lanes, `step` apart within a row, with rows `pitch` apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    /// Value of lane 0 in the grid.
    pub(super) base: u64,
    pub(super) step: i64,
    pub(super) pitch: i64,
    /// Differences from lane 0 to the lowest and to the highest value.
    pub(super) below: i64,
    pub(super) above: i64,
    /// Binary logarithm of the row length; `ALL_BITS` if all lanes form one row.
    pub(super) row_bits: u8,
}

impl Grid {
    /// Binary logarithm of the number of lanes, 32.
    pub(super) const ALL_BITS: u8 = 5;
    /// Maximum step in either direction; sums of such steps do not overflow.
    const MOST_STEP: u64 = 1 << 40;

    /// Returns the shape for values whose lane 0 has the value `base`.
    #[inline(always)]
    pub(super) fn shape(&self, base: u64) -> Shape {
        let Self {
            step,
            pitch,
            row_bits,
            ..
        } = *self;
        if row_bits != Self::ALL_BITS {
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            }
        } else if step != 0 {
            Shape::Stride { base, step }
        } else {
            Shape::Uniform(base)
        }
    }
}

impl LanePattern {
    /// Analyses the pattern of 64-bit lane values.
    #[inline(never)]
    pub(super) fn of(lanes: &Lanes64) -> Self {
        let (base, step, pitch, row_bits) = match Shape::of(u32::MAX, lanes) {
            Shape::Uniform(base) => (base, 0, 0, Grid::ALL_BITS),
            Shape::Stride { base, step } => (base, step, 0, Grid::ALL_BITS),
            Shape::Rows {
                base,
                step,
                pitch,
                row_bits,
            } => (base, step, pitch, row_bits),
            Shape::List | Shape::None => return Self::Scattered,
        };
        if step.unsigned_abs().max(pitch.unsigned_abs()) > Grid::MOST_STEP {
            return Self::Wide;
        }
        let across = step * ((1 << row_bits) - 1);
        let down = pitch * ((32 >> row_bits) - 1);
        Self::Grid(Grid {
            base,
            step,
            pitch,
            below: across.min(0) + down.min(0),
            above: across.max(0) + down.max(0),
            row_bits,
        })
    }

    /// Same as [`Self::of`] for 32-bit words, which are unsigned.
    pub(super) fn of_words(lanes: &Lanes32) -> Self {
        Self::of(&lanes.map(u64::from))
    }
}

/// A register with its cached value pattern, computed on demand since many addresses of a kernel
/// share a base. Any lane write invalidates the pattern.
#[derive(Clone, Debug)]
pub(super) struct Register<T> {
    lanes: [T; 32],
    pattern: LanePattern,
}

impl<T: Copy + Default> Register<T> {
    pub(super) fn new() -> Self {
        Self {
            lanes: [T::default(); 32],
            pattern: LanePattern::Unknown,
        }
    }

    /// Writes the lanes in `mask` and leaves the others unchanged.
    #[inline(always)]
    fn put(&mut self, blend: BlendLanes<T>, mask: u32, value: &[T; 32]) {
        if mask == u32::MAX {
            **self = *value;
        } else {
            blend(self, mask, value);
        }
    }
}

/// Writes some lanes of a register; `value` is left undefined.
#[inline(always)]
#[allow(clippy::borrowed_box)] // All lanes are written by exchanging the boxes.
fn swap<T: Copy>(
    register: &mut Box<Register<T>>,
    blend: BlendLanes<T>,
    mask: u32,
    value: &mut Box<Register<T>>,
) {
    if mask == u32::MAX {
        std::mem::swap(register, value);
    } else {
        blend(register, mask, value);
    }
}

impl<T> Deref for Register<T> {
    type Target = [T; 32];

    #[inline(always)]
    fn deref(&self) -> &[T; 32] {
        &self.lanes
    }
}

impl<T> DerefMut for Register<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T; 32] {
        self.pattern = LanePattern::Unknown;
        &mut self.lanes
    }
}

impl<T: PartialEq> PartialEq for Register<T> {
    fn eq(&self, other: &Self) -> bool {
        self.lanes == other.lanes
    }
}

impl Register<u64> {
    /// Returns the pattern of the values, analysing it on first use.
    #[inline(always)]
    pub(super) fn pattern(&mut self) -> &LanePattern {
        if let LanePattern::Unknown = self.pattern {
            self.pattern = LanePattern::of(&self.lanes);
        }
        &self.pattern
    }
}

impl Register<u32> {
    /// Returns the pattern of the values, analysing it on first use.
    #[inline(always)]
    pub(super) fn pattern(&mut self) -> &LanePattern {
        if let LanePattern::Unknown = self.pattern {
            self.pattern = LanePattern::of_words(&self.lanes);
        }
        &self.pattern
    }
}

/// Value of a lane, with its representation in memory.
pub(super) trait Element<const BYTES: usize>: Copy {
    fn from_bytes(bytes: [u8; BYTES]) -> Self;
    fn to_bytes(self) -> [u8; BYTES];
}

impl Element<4> for u32 {
    #[inline(always)]
    fn from_bytes(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }

    #[inline(always)]
    fn to_bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }
}

impl Element<8> for u64 {
    #[inline(always)]
    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }

    #[inline(always)]
    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }
}

/// Registers of all open calls, one after another. Each is boxed separately, so that a result
/// computed elsewhere becomes the register without a copy.
#[allow(clippy::vec_box)] // See above.
pub(super) struct Registers {
    pub(super) words: Vec<Box<Register<u32>>>,
    pub(super) doubles: Vec<Box<Register<u64>>>,
    pub(super) predicates: Vec<u32>,
    specials: Vec<Lanes32>,
    blend: Blend,
    /// Index of the first register of the current function.
    pub(super) word: usize,
    pub(super) double: usize,
    pub(super) predicate: usize,
}

/// Returns the size in bytes of 32-bit and 64-bit registers of a wavefront.
pub(super) fn register_bytes(words: usize, doubles: usize) -> u64 {
    (words * size_of::<Register<u32>>() + doubles * size_of::<Register<u64>>()) as u64
}

impl Registers {
    /// Creates an empty register file without any frame.
    fn new(blend: Blend) -> Self {
        Self {
            words: Vec::new(),
            doubles: Vec::new(),
            predicates: Vec::new(),
            specials: Vec::new(),
            blend,
            word: 0,
            double: 0,
            predicate: 0,
        }
    }

    /// Reuses the storage for a new frame: clears all registers and sets the special ones.
    pub(super) fn renew(&mut self, frame: Frame, specials: impl Iterator<Item = Lanes32>) {
        self.words.truncate(frame.words);
        self.words.iter_mut().for_each(|word| ***word = [0; 32]);
        self.words
            .resize_with(frame.words, || Box::new(Register::new()));
        self.doubles.truncate(frame.doubles);
        self.doubles
            .iter_mut()
            .for_each(|double| ***double = [0; 32]);
        self.doubles
            .resize_with(frame.doubles, || Box::new(Register::new()));
        self.predicates.clear();
        self.predicates.resize(frame.predicates, 0);
        self.specials.clear();
        self.specials.extend(specials);
        (self.word, self.double, self.predicate) = (0, 0, 0);
    }

    /// Returns the size of the general registers in bytes.
    pub(super) fn bytes(&self) -> u64 {
        register_bytes(self.words.len(), self.doubles.len())
    }

    #[inline(always)]
    pub(super) fn get32<'r>(&'r self, constants: &'r Constants, source: Src) -> &'r Lanes32 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.words[self.word + at]
        } else if source.0 < Src::SPECIAL {
            &constants.words[at - usize::from(Src::CONSTANT)]
        } else {
            &self.specials[at - usize::from(Src::SPECIAL)]
        }
    }

    #[inline(always)]
    pub(super) fn get64<'r>(&'r self, constants: &'r Constants, source: Src) -> &'r Lanes64 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.doubles[self.double + at]
        } else {
            &constants.doubles[at - usize::from(Src::CONSTANT)]
        }
    }

    /// Returns the value of a 64-bit source in one lane, or of a 32-bit source unless `wide`.
    #[inline(always)]
    pub(super) fn get(&self, constants: &Constants, source: Src, wide: bool, lane: usize) -> u64 {
        if wide {
            self.get64(constants, source)[lane]
        } else {
            u64::from(self.get32(constants, source)[lane])
        }
    }

    /// Returns a 32-bit register to be written in all lanes.
    #[inline(always)]
    pub(super) fn word32(&mut self, d: u16) -> &mut Lanes32 {
        &mut self.words[self.word + usize::from(d)]
    }

    /// Returns a 64-bit register to be written in all lanes.
    #[inline(always)]
    pub(super) fn word64(&mut self, d: u16) -> &mut Lanes64 {
        &mut self.doubles[self.double + usize::from(d)]
    }

    #[inline(always)]
    pub(super) fn put32(&mut self, d: u16, mask: u32, value: &Lanes32) {
        let register = &mut self.words[self.word + usize::from(d)];
        register.put(self.blend.words, mask, value);
    }

    #[inline(always)]
    pub(super) fn put64(&mut self, d: u16, mask: u32, value: &Lanes64) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        register.put(self.blend.doubles, mask, value);
    }

    /// Same as [`Self::put32`], but leaves `value` undefined.
    #[inline(always)]
    pub(super) fn swap32(&mut self, d: u16, mask: u32, value: &mut Box<Register<u32>>) {
        let register = &mut self.words[self.word + usize::from(d)];
        swap(register, self.blend.words, mask, value);
    }

    /// Same as [`Self::put64`], but leaves `value` undefined.
    #[inline(always)]
    pub(super) fn swap64(&mut self, d: u16, mask: u32, value: &mut Box<Register<u64>>) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        swap(register, self.blend.doubles, mask, value);
    }

    /// Writes a word unless the destination is the discard register.
    pub(super) fn put32_unless_discarded(&mut self, d: u16, mask: u32, value: &Lanes32) {
        if d != NO_REGISTER {
            self.put32(d, mask, value);
        }
    }

    #[inline(always)]
    pub(super) fn predicate(&self, predicate: Pred) -> u32 {
        let at = predicate.0 & !Pred::NEGATED;
        let bits = if at == Pred::TRUE {
            u32::MAX
        } else {
            self.predicates[self.predicate + usize::from(at)]
        };
        if predicate.0 & Pred::NEGATED == 0 {
            bits
        } else {
            !bits
        }
    }

    #[inline(always)]
    pub(super) fn put_predicate(&mut self, d: u16, mask: u32, bits: u32) {
        if d != Pred::NONE {
            let register = &mut self.predicates[self.predicate + usize::from(d)];
            *register = *register & !mask | bits & mask;
        }
    }

    /// Writes the two results of a comparison to the destinations `p` and `q` of its outcome.
    #[inline(always)]
    pub(super) fn put_outcome(&mut self, outcome: Outcome, mask: u32, results: [u32; 2]) {
        let with = self.predicate(outcome.with);
        for (d, bits) in [outcome.p, outcome.q].into_iter().zip(results) {
            self.put_predicate(d, mask, outcome.logic.apply(bits, with));
        }
    }
}

/// Registers of ended wavefronts, which new ones reuse.
pub(super) struct SpareRegisters {
    blend: Blend,
    spare: Vec<Registers>,
}

impl SpareRegisters {
    pub(super) fn new() -> Self {
        Self {
            blend: Blend::new(),
            spare: Vec::new(),
        }
    }

    /// Returns storage for the registers of a new wavefront.
    pub(super) fn take(&mut self) -> Registers {
        let spare = self.spare.pop();
        spare.unwrap_or_else(|| Registers::new(self.blend))
    }

    pub(super) fn give_back(&mut self, registers: Registers) {
        self.spare.push(registers);
    }
}

/// Function that writes the lanes of a mask into a register.
type BlendLanes<T> = fn(&mut [T; 32], u32, &[T; 32]);

/// Functions that write selected lanes of a register.
#[derive(Clone, Copy)]
struct Blend {
    words: BlendLanes<u32>,
    doubles: BlendLanes<u64>,
}

impl Blend {
    fn new() -> Self {
        Self {
            words: for_this_machine!(
                fn(register: &mut [u32; 32], mask: u32, value: &[u32; 32]) -> () {
                    blend(register, mask, value);
                }
            ),
            doubles: for_this_machine!(
                fn(register: &mut [u64; 32], mask: u32, value: &[u64; 32]) -> () {
                    blend(register, mask, value);
                }
            ),
        }
    }
}

/// Implements [`BlendLanes`]; inlined into functions compiled for the host's vector extensions.
#[inline(always)]
fn blend<T: Copy>(register: &mut [T; 32], mask: u32, value: &[T; 32]) {
    for lane in 0..32 {
        let old = register[lane];
        register[lane] = if mask & 1 << lane == 0 {
            old
        } else {
            value[lane]
        };
    }
}
