//! Lane-by-lane computation for instructions without a lane function chosen by lowering.

use crate::address_space::{DEVICE_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::exec::constants::Constants;
use crate::exec::registers::{Registers, lanes};
use crate::exec::wavefront::Wavefront;
use crate::ops::{
    Carry, CarryKind, Compare32, Lanes32, Lanes64, NO_REGISTER, Parts, Region, Src, VectorMove,
};

/// Returns the largest value of any lane in `mask`.
pub(super) fn most(
    registers: &Registers,
    constants: &Constants,
    source: Src,
    wide: bool,
    mask: u32,
) -> u64 {
    let value = |lane: usize| registers.get(constants, source, wide, lane);
    lanes(mask).map(value).max().unwrap_or(0)
}

pub(super) fn carry(wavefront: &mut Wavefront, constants: &Constants, carry: &Carry, mask: u32) {
    let (mut word, mut double) = ([0; 32], [0; 32]);
    let mut flags = wavefront.carry;
    for lane in lanes(mask) {
        let registers = &wavefront.registers;
        let read = |source| registers.get(constants, source, carry.wide, lane);
        let flag = carry.takes && flags >> lane & 1 != 0;
        let operands = [read(carry.a), read(carry.b), read(carry.c)];
        let (value, out) = add_with_carry(carry, operands, flag);
        word[lane] = value as u32;
        double[lane] = value;
        if carry.gives {
            flags = flags & !(1 << lane) | u32::from(out) << lane;
        }
    }
    wavefront.carry = flags;
    if carry.wide {
        wavefront.registers.put64(carry.d, mask, &double);
    } else {
        wavefront.registers.put32(carry.d, mask, &word);
    }
}

pub(super) fn pack(registers: &mut Registers, constants: &Constants, parts: &Parts, mask: u32) {
    let mut double: Lanes64 = [0; 32];
    for (at, &source) in parts.sources[..parts.count].iter().enumerate() {
        let part = registers.get32(constants, source);
        for (whole, &part) in double.iter_mut().zip(part) {
            *whole |= u64::from(part) << (parts.bits * at as u32);
        }
    }
    let d = parts.registers[0];
    if parts.wide {
        registers.put64(d, mask, &double);
    } else {
        let word = double.map(|value| value as u32);
        registers.put32(d, mask, &word);
    }
}

pub(super) fn unpack(registers: &mut Registers, constants: &Constants, parts: &Parts, mask: u32) {
    let whole: Lanes64 = if parts.wide {
        *registers.get64(constants, parts.whole)
    } else {
        registers.get32(constants, parts.whole).map(u64::from)
    };
    let ones = u32::MAX >> (32 - parts.bits);
    for (at, &register) in parts.registers[..parts.count].iter().enumerate() {
        let part = whole.map(|value| (value >> (parts.bits * at as u32)) as u32 & ones);
        registers.put32_unless_discarded(register, mask, &part);
    }
}

/// Moves the elements of a vector, of which none is written before all are read.
#[inline(never)]
pub(super) fn move_vector(
    registers: &mut Registers,
    constants: &Constants,
    vector: &VectorMove,
    mask: u32,
) {
    if vector.wide {
        let read = |&(_, source): &(u16, Src)| *registers.get64(constants, source);
        let values: Vec<Lanes64> = vector.elements.iter().map(read).collect();
        for (&(d, _), value) in vector.elements.iter().zip(&values) {
            if d != NO_REGISTER {
                registers.put64(d, mask, value);
            }
        }
        return;
    }
    let read = |&(_, source): &(u16, Src)| *registers.get32(constants, source);
    let values: Vec<Lanes32> = vector.elements.iter().map(read).collect();
    for (&(d, _), value) in vector.elements.iter().zip(&values) {
        registers.put32_unless_discarded(d, mask, value);
    }
}

fn add_with_carry(carry: &Carry, [a, b, c]: [u64; 3], flag: bool) -> (u64, bool) {
    let bits = if carry.wide { 64 } else { 32 };
    let ones = u64::MAX >> (64 - bits);
    let signed = |value: u64| {
        if carry.wide {
            i128::from(value as i64)
        } else {
            i128::from(value as i32)
        }
    };
    let product = || {
        if carry.signed {
            (signed(a) * signed(b)) as u128
        } else {
            u128::from(a) * u128::from(b)
        }
    };
    let total = match carry.kind {
        CarryKind::Add => u128::from(a) + u128::from(b) + u128::from(flag),
        // Hardware adds the complement: the flag is set unless the difference borrows.
        CarryKind::Sub => u128::from(a) + u128::from(!b & ones) + u128::from(flag || !carry.takes),
        CarryKind::MadLo => u128::from(product() as u64 & ones) + u128::from(c) + u128::from(flag),
        CarryKind::MadHi => {
            u128::from((product() >> bits) as u64 & ones) + u128::from(c) + u128::from(flag)
        }
    };
    (total as u64 & ones, total >> bits != 0)
}

pub(super) fn lop3(table: u8, [a, b, c]: [&Lanes32; 3], out: &mut Lanes32) {
    *out = [0; 32];
    for row in (0..8u32).filter(|row| table >> row & 1 != 0) {
        let flip = |bit: u32| if row >> bit & 1 == 0 { u32::MAX } else { 0 };
        let (fa, fb, fc) = (flip(2), flip(1), flip(0));
        for lane in 0..32 {
            out[lane] |= (a[lane] ^ fa) & (b[lane] ^ fb) & (c[lane] ^ fc);
        }
    }
}

/// Compares the lower and upper halves of two packed pairs, and returns both results.
pub(super) fn halves(f: Compare32, a: &Lanes32, b: &Lanes32) -> [u32; 2] {
    let high = |pair: &Lanes32| pair.map(|word| word >> 16);
    [f(a, b), f(&high(a), &high(b))]
}

pub(super) fn numbers(bits: u32, one: u32) -> Lanes32 {
    std::array::from_fn(|lane| if bits >> lane & 1 == 0 { 0 } else { one })
}

pub(super) fn select32(bits: u32, a: &Lanes32, b: &Lanes32, out: &mut Lanes32) {
    for lane in 0..32 {
        out[lane] = if bits & 1 << lane == 0 {
            b[lane]
        } else {
            a[lane]
        };
    }
}

pub(super) fn select64(bits: u32, a: &Lanes64, b: &Lanes64, out: &mut Lanes64) {
    for lane in 0..32 {
        out[lane] = if bits & 1 << lane == 0 {
            b[lane]
        } else {
            a[lane]
        };
    }
}

pub(super) fn lanes_where<T: Copy>(values: &[T; 32], test: impl Fn(T) -> bool) -> u32 {
    values.iter().enumerate().fold(0, |bits, (lane, &value)| {
        bits | u32::from(test(value)) << lane
    })
}

/// Evaluates `isspacep`; constants are in device memory, so the two spaces are not distinguished.
pub(super) fn in_region(region: Region, address: u64) -> bool {
    match region {
        Region::Shared => SHARED_WINDOW.contains(&address),
        Region::Local => LOCAL_WINDOW.contains(&address),
        Region::Param => PARAM_WINDOW.contains(&address),
        _ => address >= DEVICE_BASE,
    }
}
