//! Atomic read-modify-write operations, executed lane by lane in ascending order.

use crate::exec::constants::Constants;
use crate::exec::memory_path::{read_bytes, write_bytes};
use crate::exec::registers::Registers;
use crate::exec::soft;
use crate::ops::{
    Atomic, AtomicKind, FloatFormat, FloatOp, FloatSpec, NO_REGISTER, Rounding, Src, flush,
};

/// Executes an atomic in one lane on its `bytes` of memory; true if they changed.
#[inline(always)]
pub(super) fn execute(
    atomic: &Atomic,
    kind: AtomicKind,
    registers: &mut Registers,
    constants: &Constants,
    lane: usize,
    bytes: &mut [u8],
) -> bool {
    if let Ok(bytes) = <&mut [u8; 16]>::try_from(&mut *bytes) {
        let old = u128::from_le_bytes(*bytes);
        let new = swapped(registers, constants, atomic, lane, old);
        if new != old {
            *bytes = new.to_le_bytes();
        }
        if atomic.d != NO_REGISTER {
            let low = registers.double + usize::from(atomic.d);
            registers.doubles[low][lane] = old as u64;
            registers.doubles[low + 1][lane] = (old >> 64) as u64;
        }
        return new != old;
    }
    let wide = atomic.bytes == 8;
    let (b, c) = operands(registers, constants, atomic, lane);
    let old = read_bytes(bytes);
    let new = apply(kind, wide, old, b, c);
    if new != old {
        write_bytes(bytes, new);
    }
    if atomic.d != NO_REGISTER {
        let d = usize::from(atomic.d);
        if wide {
            registers.doubles[registers.double + d][lane] = old;
        } else {
            registers.words[registers.word + d][lane] = old as u32;
        }
    }
    new != old
}

/// Reads the operands of an atomic in one lane.
pub(super) fn operands(
    registers: &Registers,
    constants: &Constants,
    atomic: &Atomic,
    lane: usize,
) -> (u64, u64) {
    let read = |source| registers.get(constants, source, atomic.bytes == 8, lane);
    (read(atomic.b), read(atomic.c))
}

/// Returns the new value of a 16-byte atomic with register operands, given the value `old`.
pub(super) fn swapped(
    registers: &Registers,
    constants: &Constants,
    atomic: &Atomic,
    lane: usize,
    old: u128,
) -> u128 {
    let read = |Src(low): Src| {
        let half = |at: u16| u128::from(registers.get64(constants, Src(at))[lane]);
        half(low + 1) << 64 | half(low)
    };
    match atomic.kind {
        AtomicKind::CompareSwap if old == read(atomic.b) => read(atomic.c),
        AtomicKind::CompareSwap => old,
        _ => read(atomic.b),
    }
}

fn add_singles(a: u32, b: u32) -> u32 {
    let sum = f32::from_bits(a) + f32::from_bits(b);
    if sum.is_nan() {
        0x7fff_ffff
    } else {
        sum.to_bits()
    }
}

fn single_extreme(op: FloatOp, (abs, nan): (bool, bool), a: u64, b: u64) -> u64 {
    let spec = FloatSpec {
        nan,
        ..FloatSpec::new(op, FloatFormat::Single, Rounding::Nearest)
    };
    let size = |bits: u64| if abs { bits & 0x7fff_ffff } else { bits };
    soft::evaluate(&spec, [size(a), size(b), 0])
}

pub(super) fn apply(kind: AtomicKind, wide: bool, old: u64, b: u64, c: u64) -> u64 {
    let signed = |value: u64| {
        if wide {
            value as i64
        } else {
            i64::from(value as i32)
        }
    };
    let new = match kind {
        AtomicKind::Add => old.wrapping_add(b),
        AtomicKind::AddF32 => u64::from(add_singles(old as u32, b as u32)),
        AtomicKind::AddF32Flushed => {
            u64::from(flush(add_singles(flush(old as u32), flush(b as u32))))
        }
        AtomicKind::AddF64 => {
            let sum = f64::from_bits(old) + f64::from_bits(b);
            if sum.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                sum.to_bits()
            }
        }
        // The upper half of a lone number is zero and stays so.
        AtomicKind::Half { op, format } => {
            let spec = FloatSpec {
                pair: true,
                ..FloatSpec::new(op, format, Rounding::Nearest)
            };
            soft::evaluate(&spec, [old, b, 0])
        }
        AtomicKind::MinU => old.min(b),
        AtomicKind::MaxU => old.max(b),
        AtomicKind::MinS => signed(old).min(signed(b)) as u64,
        AtomicKind::MaxS => signed(old).max(signed(b)) as u64,
        AtomicKind::MinF32 { abs, nan } => single_extreme(FloatOp::Min, (abs, nan), old, b),
        AtomicKind::MaxF32 { abs, nan } => single_extreme(FloatOp::Max, (abs, nan), old, b),
        AtomicKind::And => old & b,
        AtomicKind::Or => old | b,
        AtomicKind::Xor => old ^ b,
        AtomicKind::Exchange => b,
        AtomicKind::CompareSwap => {
            if old == b {
                c
            } else {
                old
            }
        }
        AtomicKind::Increment => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicKind::Decrement => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
    };
    if wide { new } else { new & 0xffff_ffff }
}
