//! Registers of a wavefront: values of 32 lanes, and what is known of how they lie.

use std::ops::{Deref, DerefMut};

use warpweave_trace::Shape;

use crate::module::Frame;
use crate::ops::{Lanes32, Lanes64, NO_REGISTER, Pred, Src, for_this_machine};

/// A register, and how its values lie from lane to lane once somebody has asked: many addresses of a kernel have one
/// base. What changes a lane forgets it.
#[derive(Clone, Debug)]
pub(super) struct Register<T> {
    lanes: [T; 32],
    shape: Option<Shape>,
}

impl<T: Copy + Default> Register<T> {
    pub(super) fn new() -> Self {
        Self {
            lanes: [T::default(); 32],
            shape: None,
        }
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
        self.shape = None;
        &mut self.lanes
    }
}

impl<T: PartialEq> PartialEq for Register<T> {
    fn eq(&self, other: &Self) -> bool {
        self.lanes == other.lanes
    }
}

impl Register<u64> {
    /// How the values lie.
    #[inline(always)]
    pub(super) fn shape(&mut self) -> Shape {
        match self.shape {
            Some(shape) => shape,
            None => *self.shape.insert(Shape::of(u32::MAX, &self.lanes)),
        }
    }
}

impl Register<u32> {
    /// How the values lie, as numbers without a sign.
    #[inline(always)]
    pub(super) fn shape(&mut self) -> Shape {
        match self.shape {
            Some(shape) => shape,
            None => *self.shape.insert(shape_of_words(&self.lanes)),
        }
    }
}

/// How words lie.
pub(super) fn shape_of_words(lanes: &Lanes32) -> Shape {
    Shape::of(u32::MAX, &lanes.map(u64::from))
}

/// A value of a lane as it lies in memory.
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

/// Registers of all open calls, one after the other. Each is a box of its own, so that a result computed
/// elsewhere becomes the register without a copy.
#[allow(clippy::vec_box)] // See above.
pub(super) struct Registers {
    pub(super) words: Vec<Box<Register<u32>>>,
    pub(super) doubles: Vec<Box<Register<u64>>>,
    pub(super) predicates: Vec<u32>,
    specials: Vec<Lanes32>,
    blend: Blend,
    /// Start of the current function's registers.
    pub(super) word: usize,
    pub(super) double: usize,
    pub(super) predicate: usize,
}

impl Registers {
    /// Registers of a frame, all zero, and the values of special ones.
    pub(super) fn new(frame: Frame, specials: Vec<Lanes32>, blend: Blend) -> Self {
        Self {
            words: vec![Box::new(Register::new()); frame.words],
            doubles: vec![Box::new(Register::new()); frame.doubles],
            predicates: vec![0; frame.predicates],
            specials,
            blend,
            word: 0,
            double: 0,
            predicate: 0,
        }
    }

    #[inline(always)]
    pub(super) fn get32<'r>(&'r self, constants: &'r [Lanes32], source: Src) -> &'r Lanes32 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.words[self.word + at]
        } else if source.0 < Src::SPECIAL {
            &constants[at - usize::from(Src::CONSTANT)]
        } else {
            &self.specials[at - usize::from(Src::SPECIAL)]
        }
    }

    #[inline(always)]
    pub(super) fn get64<'r>(&'r self, constants: &'r [Lanes64], source: Src) -> &'r Lanes64 {
        let at = usize::from(source.0);
        if source.0 < Src::CONSTANT {
            &self.doubles[self.double + at]
        } else {
            &constants[at - usize::from(Src::CONSTANT)]
        }
    }

    /// A register that is written whole.
    #[inline(always)]
    pub(super) fn word32(&mut self, d: u16) -> &mut Lanes32 {
        &mut self.words[self.word + usize::from(d)]
    }

    /// A 64-bit register that is written whole.
    #[inline(always)]
    pub(super) fn word64(&mut self, d: u16) -> &mut Lanes64 {
        &mut self.doubles[self.double + usize::from(d)]
    }

    #[inline(always)]
    pub(super) fn put32(&mut self, d: u16, mask: u32, value: &Lanes32) {
        let register = &mut self.words[self.word + usize::from(d)];
        if mask == u32::MAX {
            ***register = *value;
        } else {
            (self.blend.words)(register, mask, value);
        }
    }

    #[inline(always)]
    pub(super) fn put64(&mut self, d: u16, mask: u32, value: &Lanes64) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        if mask == u32::MAX {
            ***register = *value;
        } else {
            (self.blend.doubles)(register, mask, value);
        }
    }

    /// As [`Self::put32`]; what is left of `value` is not defined.
    #[inline(always)]
    pub(super) fn swap32(&mut self, d: u16, mask: u32, value: &mut Box<Register<u32>>) {
        let register = &mut self.words[self.word + usize::from(d)];
        if mask == u32::MAX {
            std::mem::swap(register, value);
        } else {
            (self.blend.words)(register, mask, value);
        }
    }

    /// As [`Self::put64`]; what is left of `value` is not defined.
    #[inline(always)]
    pub(super) fn swap64(&mut self, d: u16, mask: u32, value: &mut Box<Register<u64>>) {
        let register = &mut self.doubles[self.double + usize::from(d)];
        if mask == u32::MAX {
            std::mem::swap(register, value);
        } else {
            (self.blend.doubles)(register, mask, value);
        }
    }

    /// Writes a word unless the destination is thrown away.
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
}

/// Functions that write some lanes of a register.
#[derive(Clone, Copy)]
pub(super) struct Blend {
    words: fn(&mut Lanes32, u32, &Lanes32),
    doubles: fn(&mut Lanes64, u32, &Lanes64),
}

impl Blend {
    pub(super) fn new() -> Self {
        Self {
            words: for_this_machine!(
                fn(register: &mut [u32; 32], mask: u32, value: &[u32; 32]) -> () {
                    for lane in 0..32 {
                        let old = register[lane];
                        register[lane] = if mask & 1 << lane == 0 {
                            old
                        } else {
                            value[lane]
                        };
                    }
                }
            ),
            doubles: for_this_machine!(
                fn(register: &mut [u64; 32], mask: u32, value: &[u64; 32]) -> () {
                    for lane in 0..32 {
                        let old = register[lane];
                        register[lane] = if mask & 1 << lane == 0 {
                            old
                        } else {
                            value[lane]
                        };
                    }
                }
            ),
        }
    }
}
