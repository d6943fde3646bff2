//! Operations on registers alone: arithmetic, comparisons and conversions.
//!
//! Each function executes one class of operations. It is inlined into the interpreter loop where
//! the operation is known, and only what executes that operation remains.

use crate::exec::compute::{
    carry, halves, in_region, lanes_where, lop3, move_vector, numbers, pack, select32, select64,
    unpack,
};
use crate::exec::constants::Constants;
use crate::exec::convert::convert;
use crate::exec::registers::{Register, Registers, lanes};
use crate::exec::scalar::scalar;
use crate::exec::wavefront::Wavefront;
use crate::kernel::Tables;
use crate::ops::{NO_REGISTER, Op, Src};

/// Operands and results of the instructions of a launch, apart from the wavefronts' registers.
pub(super) struct Datapath {
    pub(super) constants: Constants,
    /// Scratch registers in which results are computed before they are swapped in.
    pub(super) word: Box<Register<u32>>,
    pub(super) double: Box<Register<u64>>,
}

impl Datapath {
    pub(super) fn new(constants: Constants) -> Self {
        Self {
            constants,
            word: Box::new(Register::new()),
            double: Box::new(Register::new()),
        }
    }

    /// Executes arithmetic by a function over all lanes.
    #[inline(always)]
    pub(super) fn compute(&mut self, op: &Op, registers: &mut Registers, mask: u32) {
        let word = |source| registers.get32(&self.constants, source);
        let double = |source| registers.get64(&self.constants, source);
        match *op {
            Op::Move32 { d, a } => {
                **self.word = *word(a);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Move64 { d, a } => {
                **self.double = *double(a);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Unary32 { f, d, a } => {
                f(word(a), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Unary64 { f, d, a } => {
                f(double(a), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Widen { f, d, a } => {
                f(word(a), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Narrow { f, d, a } => {
                f(double(a), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Binary32 { f, d, a, b } => {
                f(word(a), word(b), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Binary64 { f, d, a, b } => {
                f(double(a), double(b), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::BinaryWide { f, d, a, b } => {
                f(word(a), word(b), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Shift64 { f, d, a, b } => {
                f(double(a), word(b), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::ShiftBy32 { f, d, a, by } => {
                f(word(a), by, &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::ShiftBy64 { f, d, a, by } => {
                f(double(a), by, &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Ternary32 { f, d, a, b, c } => {
                f(word(a), word(b), word(c), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Ternary64 { f, d, a, b, c } => {
                f(double(a), double(b), double(c), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::TernaryWide { f, d, a, b, c } => {
                f(word(a), word(b), double(c), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Extract64 { f, d, a, b, c } => {
                f(double(a), word(b), word(c), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Insert32 { f, d, a, b, c, e } => {
                f(word(a), word(b), word(c), word(e), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Insert64 { f, d, a, b, c, e } => {
                f(double(a), double(b), word(c), word(e), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Lop3 { table, d, a, b, c } => {
                lop3(table, [word(a), word(b), word(c)], &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            _ => unreachable!("of another class"),
        }
    }

    /// Executes comparisons, tests, and what selects by their outcome.
    #[inline(always)]
    pub(super) fn compare(&mut self, op: &Op, registers: &mut Registers, mask: u32) {
        let word = |source| registers.get32(&self.constants, source);
        let double = |source| registers.get64(&self.constants, source);
        match *op {
            Op::Compare32 { f, a, b, outcome } => {
                let bits = f(word(a), word(b));
                registers.put_outcome(outcome, mask, [bits, !bits]);
            }
            Op::Compare64 { f, a, b, outcome } => {
                let bits = f(double(a), double(b));
                registers.put_outcome(outcome, mask, [bits, !bits]);
            }
            Op::ComparePair { f, a, b, outcome } => {
                let bits = halves(f, word(a), word(b));
                registers.put_outcome(outcome, mask, bits);
            }
            Op::Set32 {
                f,
                d,
                a,
                b,
                one,
                logic,
                with,
            } => {
                let bits = logic.apply(f(word(a), word(b)), registers.predicate(with));
                registers.put32(d, mask, &numbers(bits, one));
            }
            Op::Set64 {
                f,
                d,
                a,
                b,
                one,
                logic,
                with,
            } => {
                let bits = logic.apply(f(double(a), double(b)), registers.predicate(with));
                registers.put32(d, mask, &numbers(bits, one));
            }
            Op::SetPair {
                f,
                d,
                a,
                b,
                one,
                logic,
                with,
            } => {
                let with = registers.predicate(with);
                let [low, high] =
                    halves(f, word(a), word(b)).map(|bits| numbers(logic.apply(bits, with), one));
                let both = std::array::from_fn(|lane| high[lane] << 16 | low[lane]);
                registers.put32(d, mask, &both);
            }
            Op::Select32 { d, a, b, p } => {
                let bits = registers.predicate(p);
                select32(bits, word(a), word(b), &mut self.word);
                registers.swap32(d, mask, &mut self.word);
            }
            Op::Select64 { d, a, b, p } => {
                let bits = registers.predicate(p);
                select64(bits, double(a), double(b), &mut self.double);
                registers.swap64(d, mask, &mut self.double);
            }
            Op::Lop3Test { .. } => self.lop3_test(op, registers, mask),
            Op::Predicate { logic, d, a, b } => {
                let bits = logic.apply(registers.predicate(a), registers.predicate(b));
                registers.put_predicate(d, mask, bits);
            }
            Op::IsSpace { region, d, a, wide } => {
                let bits = if wide {
                    lanes_where(double(a), |address| in_region(region, address))
                } else {
                    lanes_where(word(a), |address| in_region(region, u64::from(address)))
                };
                registers.put_predicate(d, mask, bits);
            }
            _ => unreachable!("of another class"),
        }
    }

    /// Executes a `lop3` with a predicate, out of line because it is seldom.
    #[inline(never)]
    fn lop3_test(&mut self, op: &Op, registers: &mut Registers, mask: u32) {
        let Op::Lop3Test {
            table,
            logic,
            d,
            p,
            a,
            b,
            c,
            q,
        } = *op
        else {
            unreachable!("the caller names the operation");
        };
        let word = |source| registers.get32(&self.constants, source);
        lop3(table, [word(a), word(b), word(c)], &mut self.word);
        let bits = lanes_where(&self.word, |value| value != 0);
        let bits = logic.apply(bits, registers.predicate(q));
        registers.put32_unless_discarded(d, mask, &self.word);
        registers.put_predicate(p, mask, bits);
    }

    /// Executes arithmetic lane by lane, conversions and packing.
    #[inline(always)]
    pub(super) fn convert(
        &mut self,
        op: &Op,
        tables: &Tables,
        wavefront: &mut Wavefront,
        mask: u32,
    ) {
        let registers = &mut wavefront.registers;
        match *op {
            Op::Join { d, low, high } => {
                // Both are read before either half is written.
                let halves = [low, high].map(|half| *registers.get64(&self.constants, half));
                registers.put64(d, mask, &halves[0]);
                registers.put64(d + 1, mask, &halves[1]);
            }
            Op::Part { low, high, a } => {
                let halves = [a, Src(a.0 + 1)].map(|half| *registers.get64(&self.constants, half));
                for (d, half) in [low, high].into_iter().zip(halves) {
                    if d != NO_REGISTER {
                        registers.put64(d, mask, &half);
                    }
                }
            }
            Op::MoveVector(at) => {
                let vector = &tables.vector_moves[at as usize];
                move_vector(registers, &self.constants, vector, mask);
            }
            Op::Carry(at) => {
                let spec = &tables.carries[at as usize];
                carry(wavefront, &self.constants, spec, mask);
            }
            Op::Pack(at) => {
                let parts = &tables.parts[at as usize];
                pack(registers, &self.constants, parts, mask);
            }
            Op::Unpack(at) => {
                let parts = &tables.parts[at as usize];
                unpack(registers, &self.constants, parts, mask);
            }
            Op::Scalar(at) => {
                let spec = &tables.scalars[at as usize];
                for lane in lanes(mask) {
                    let read = |source| registers.get(&self.constants, source, spec.wide, lane);
                    let value = scalar(spec, spec.sources.map(read));
                    self.put_lane(lane, value);
                }
                self.write_back(registers, spec.d, spec.wide, mask);
            }
            Op::Convert(at) => {
                let spec = &tables.converts[at as usize];
                for lane in lanes(mask) {
                    let raw = registers.get(&self.constants, spec.a, spec.from_wide, lane);
                    self.put_lane(lane, convert(spec, raw));
                }
                self.write_back(registers, spec.d, spec.to_bits == 64, mask);
            }
            _ => unreachable!("of another class"),
        }
    }

    /// Stores a lane's result, of which `write_back` takes the width of the destination.
    #[inline(always)]
    fn put_lane(&mut self, lane: usize, value: u64) {
        self.double[lane] = value;
        self.word[lane] = value as u32;
    }

    #[inline(always)]
    fn write_back(&mut self, registers: &mut Registers, d: u16, wide: bool, mask: u32) {
        if wide {
            registers.swap64(d, mask, &mut self.double);
        } else {
            registers.swap32(d, mask, &mut self.word);
        }
    }
}
