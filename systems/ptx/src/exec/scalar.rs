//! Instructions that are executed one lane at a time.

use super::soft;
use crate::ops::{FloatFormat, FloatOp, PairOp, Rounding, Scalar, ScalarKind};

/// Returns the result of an instruction in one lane.
pub(super) fn scalar(spec: &Scalar, operands: [u64; 3]) -> u64 {
    let [a, b, c] = operands;
    match spec.kind {
        ScalarKind::Float(float) => soft::evaluate(&float, operands),
        ScalarKind::Pack(float) => {
            let half = |bits: u64| {
                let value = f64::from(f32::from_bits(bits as u32));
                let bits = soft::narrow(float.format, value, float.rounding);
                soft::restrict(float.format, bits, float.relu, float.finite)
            };
            half(a) << 16 | half(b)
        }
        ScalarKind::Pair { op, signed, relu } => {
            pair(op, signed, relu, a >> 16, b >> 16) << 16 | pair(op, signed, relu, a, b)
        }
        ScalarKind::Dot2 { signed, high } => {
            u64::from(dot2(a as u32, b as u32, c as u32, signed, high))
        }
        ScalarKind::FindNth => u64::from(find_nth(a as u32, b as u32, c as i32)),
        ScalarKind::Extend { signed, wrap } => u64::from(extend(a as u32, b as u32, signed, wrap)),
        ScalarKind::MadHighSaturated => {
            let high = (i64::from(a as i32) * i64::from(b as i32)) >> 32;
            let sum = high + i64::from(c as i32);
            u64::from(sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32)
        }
        ScalarKind::VideoShift {
            left,
            wrap,
            signed,
            then,
            signed_result,
        } => {
            let by = if wrap { b & 31 } else { b.min(32) };
            let value = integer(a, signed);
            let moved = if left { value << by } else { value >> by } as u64;
            let [first, second] = [moved, c].map(|bits| integer(bits, signed_result));
            let result = match then {
                None => first,
                Some(PairOp::Add) => first + second,
                Some(PairOp::Min) => first.min(second),
                Some(PairOp::Max) => first.max(second),
            };
            u64::from(result as u32)
        }
        ScalarKind::PackIntegers { bits, signed } => {
            u64::from(pack_integers(a as i32, b as i32, c as u32, (bits, signed)))
        }
        ScalarKind::Mixed(float, format) => {
            let wide = |bits| u64::from(soft::widen(format, bits).to_bits());
            let second = if float.op == FloatOp::Fma { wide(b) } else { b };
            soft::evaluate(&float, [wide(a), second, c])
        }
        ScalarKind::ToEighths {
            format,
            relu,
            from_pair,
        } => {
            let [high, low] = if from_pair {
                [a >> 16, a].map(|bits| soft::widen(FloatFormat::Half, bits & 0xffff))
            } else {
                [a, b].map(|bits| f32::from_bits(bits as u32))
            };
            let [high, low] = [high, low].map(|value| soft::to_eighth(format, value, relu));
            high << 8 | low
        }
        ScalarKind::FromEighths { format, relu } => {
            let half = |bits: u64| {
                let value = f64::from(soft::from_eighth(format, bits & 0xff));
                let half = FloatFormat::Half;
                let bits = soft::narrow(half, value, Rounding::Nearest);
                soft::restrict(half, bits, relu, false)
            };
            half(a >> 8) << 16 | half(a)
        }
    }
}

/// Returns the low 32 bits as an integer.
fn integer(bits: u64, signed: bool) -> i64 {
    if signed {
        i64::from(bits as i32)
    } else {
        i64::from(bits as u32)
    }
}

/// Saturates two integers to `bits` each and puts them, the second lowest, below `rest`.
fn pack_integers(a: i32, b: i32, rest: u32, (bits, signed): (u32, bool)) -> u32 {
    let (least, greatest) = if signed {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    };
    let part = |value: i32| value.clamp(least, greatest) as u32 & ((1 << bits) - 1);
    let rest = rest.checked_shl(2 * bits).unwrap_or(0);
    rest | part(a) << bits | part(b)
}

fn pair(op: PairOp, signed: bool, relu: bool, a: u64, b: u64) -> u64 {
    let read = |bits: u64| {
        if signed {
            i32::from(bits as i16)
        } else {
            i32::from(bits as u16)
        }
    };
    let (a, b) = (read(a), read(b));
    let value = match op {
        PairOp::Add => a + b,
        PairOp::Min => a.min(b),
        PairOp::Max => a.max(b),
    };
    let value = if relu { value.max(0) } else { value };
    u64::from(value as u16)
}

/// Computes a two-way dot product; `high` selects the upper two bytes of `b`.
fn dot2(a: u32, b: u32, c: u32, signed: [bool; 2], high: bool) -> u32 {
    let start = if high { 2 } else { 0 };
    (0..2).fold(c, |sum, at| {
        let (short, byte) = ((a >> (16 * at)) as u16, (b >> (8 * (start + at))) as u8);
        let short = if signed[0] {
            i32::from(short as i16)
        } else {
            i32::from(short)
        };
        let byte = if signed[1] {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        };
        sum.wrapping_add((short * byte) as u32)
    })
}

/// Implements `fns` as in the pseudo-code of the PTX ISA. Searches from `base`, upwards for a
/// positive `offset` and downwards for a negative one; zero tests the bit at `base`.
fn find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    let Ok(base) = i32::try_from(base & 31) else {
        return u32::MAX;
    };
    let is_one = |at: i32| mask >> at & 1 == 1;
    if offset == 0 {
        return if is_one(base) { base as u32 } else { u32::MAX };
    }
    let (mut left, step) = (offset.unsigned_abs(), offset.signum());
    let mut at = base;
    while (0..32).contains(&at) {
        if is_one(at) {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += step;
    }
    u32::MAX
}

/// Extends a value from `width` bits; a width of 32 or more keeps the value, unless it wraps.
fn extend(a: u32, width: u32, signed: bool, wrap: bool) -> u32 {
    let width = if wrap { width & 31 } else { width.min(32) };
    match (width, signed) {
        (0, _) => 0,
        (32, _) => a,
        (_, false) => a & ((1 << width) - 1),
        (_, true) => ((a << (32 - width)) as i32 >> (32 - width)) as u32,
    }
}
