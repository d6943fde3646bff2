//! Lane functions of the integer instructions.

use crate::ops::{Binary32, Binary64, BinaryWide, Shift64, ShiftBy32, ShiftBy64, Ternary32, lanes};

pub(super) fn s16_wide(a: u32, b: u32) -> u32 {
    (i32::from(a as i16) * i32::from(b as i16)) as u32
}

#[inline(always)]
pub(super) fn s32_wide(a: u32, b: u32) -> u64 {
    (i64::from(a as i32) * i64::from(b as i32)) as u64
}

#[inline(always)]
pub(super) fn u32_wide(a: u32, b: u32) -> u64 {
    u64::from(a) * u64::from(b)
}

pub(super) fn u64_high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

pub(super) fn s64_high(a: u64, b: u64) -> u64 {
    ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
}

/// Returns the lane function for `mul.wide` of 16-bit operands.
pub(super) fn mul_wide16(signed: bool) -> Binary32 {
    if signed {
        lanes!(|a: u32, b: u32| -> u32 { s16_wide(a, b) })
    } else {
        lanes!(|a: u32, b: u32| -> u32 { (a & 0xffff) * (b & 0xffff) })
    }
}

/// Returns the lane function for `mul.wide` of 32-bit operands.
pub(super) fn mul_wide32(signed: bool) -> BinaryWide {
    if signed {
        lanes!(|a: u32, b: u32| -> u64 { s32_wide(a, b) })
    } else {
        lanes!(|a: u32, b: u32| -> u64 { u32_wide(a, b) })
    }
}

fn s24(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

fn u24(a: u32) -> u64 {
    u64::from(a & 0x00ff_ffff)
}

pub(super) fn binary32(name: &str, signed: bool) -> Option<Binary32> {
    Some(match (name, signed) {
        ("add", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) }),
        ("sub", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) }),
        ("add.sat", _) => {
            lanes!(|a: u32, b: u32| -> u32 { (a as i32).saturating_add(b as i32) as u32 })
        }
        ("sub.sat", _) => {
            lanes!(|a: u32, b: u32| -> u32 { (a as i32).saturating_sub(b as i32) as u32 })
        }
        ("mul", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) }),
        ("mul.hi", false) => lanes!(|a: u32, b: u32| -> u32 { (u32_wide(a, b) >> 32) as u32 }),
        ("mul.hi", true) => lanes!(|a: u32, b: u32| -> u32 { (s32_wide(a, b) >> 32) as u32 }),
        ("mul24", false) => lanes!(|a: u32, b: u32| -> u32 { (u24(a) * u24(b)) as u32 }),
        ("mul24", true) => lanes!(|a: u32, b: u32| -> u32 { (s24(a) * s24(b)) as u32 }),
        ("mul24.hi", false) => {
            lanes!(|a: u32, b: u32| -> u32 { ((u24(a) * u24(b)) >> 16) as u32 })
        }
        ("mul24.hi", true) => lanes!(|a: u32, b: u32| -> u32 { ((s24(a) * s24(b)) >> 16) as u32 }),
        // Division by zero does not trap; hardware gives all ones.
        ("div", false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_div(b).unwrap_or(u32::MAX) }),
        ("div", true) => lanes!(|a: u32, b: u32| -> u32 {
            if b == 0 {
                u32::MAX
            } else {
                (a as i32).wrapping_div(b as i32) as u32
            }
        }),
        ("rem", false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_rem(b).unwrap_or(a) }),
        ("rem", true) => lanes!(|a: u32, b: u32| -> u32 {
            if b == 0 {
                a
            } else {
                (a as i32).wrapping_rem(b as i32) as u32
            }
        }),
        ("min", false) => lanes!(|a: u32, b: u32| -> u32 { a.min(b) }),
        ("min", true) => lanes!(|a: u32, b: u32| -> u32 { (a as i32).min(b as i32) as u32 }),
        ("max", false) => lanes!(|a: u32, b: u32| -> u32 { a.max(b) }),
        ("max", true) => lanes!(|a: u32, b: u32| -> u32 { (a as i32).max(b as i32) as u32 }),
        ("min.relu", true) => {
            lanes!(|a: u32, b: u32| -> u32 { (a as i32).min(b as i32).max(0) as u32 })
        }
        ("max.relu", true) => {
            lanes!(|a: u32, b: u32| -> u32 { (a as i32).max(b as i32).max(0) as u32 })
        }
        ("and", _) => lanes!(|a: u32, b: u32| -> u32 { a & b }),
        ("or", _) => lanes!(|a: u32, b: u32| -> u32 { a | b }),
        ("xor", _) => lanes!(|a: u32, b: u32| -> u32 { a ^ b }),
        _ => return None,
    })
}

pub(super) fn binary64(name: &str, signed: bool) -> Option<Binary64> {
    Some(match (name, signed) {
        ("add", _) => lanes!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) }),
        ("sub", _) => lanes!(|a: u64, b: u64| -> u64 { a.wrapping_sub(b) }),
        ("mul", _) => lanes!(|a: u64, b: u64| -> u64 { a.wrapping_mul(b) }),
        ("mul.hi", false) => lanes!(|a: u64, b: u64| -> u64 { u64_high(a, b) }),
        ("mul.hi", true) => lanes!(|a: u64, b: u64| -> u64 { s64_high(a, b) }),
        ("div", false) => lanes!(|a: u64, b: u64| -> u64 { a.checked_div(b).unwrap_or(u64::MAX) }),
        ("div", true) => lanes!(|a: u64, b: u64| -> u64 {
            if b == 0 {
                u64::MAX
            } else {
                (a as i64).wrapping_div(b as i64) as u64
            }
        }),
        ("rem", false) => lanes!(|a: u64, b: u64| -> u64 { a.checked_rem(b).unwrap_or(a) }),
        ("rem", true) => lanes!(|a: u64, b: u64| -> u64 {
            if b == 0 {
                a
            } else {
                (a as i64).wrapping_rem(b as i64) as u64
            }
        }),
        ("min", false) => lanes!(|a: u64, b: u64| -> u64 { a.min(b) }),
        ("min", true) => lanes!(|a: u64, b: u64| -> u64 { (a as i64).min(b as i64) as u64 }),
        ("max", false) => lanes!(|a: u64, b: u64| -> u64 { a.max(b) }),
        ("max", true) => lanes!(|a: u64, b: u64| -> u64 { (a as i64).max(b as i64) as u64 }),
        ("and", _) => lanes!(|a: u64, b: u64| -> u64 { a & b }),
        ("or", _) => lanes!(|a: u64, b: u64| -> u64 { a | b }),
        ("xor", _) => lanes!(|a: u64, b: u64| -> u64 { a ^ b }),
        _ => return None,
    })
}

/// Returns the lane function for a 16-bit operation; operands and results are zero-extended.
/// Inactive lanes hold 32 arbitrary bits.
pub(super) fn binary16(name: &str, signed: bool) -> Option<Binary32> {
    Some(match (name, signed) {
        ("add", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) & 0xffff }),
        ("sub", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_sub(b) & 0xffff }),
        ("mul", _) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) & 0xffff }),
        ("mul.hi", false) => lanes!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) >> 16 }),
        ("mul.hi", true) => lanes!(|a: u32, b: u32| -> u32 { s16_wide(a, b) >> 16 }),
        ("div", false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_div(b).unwrap_or(0xffff) }),
        ("div", true) => lanes!(|a: u32, b: u32| -> u32 {
            if b as i16 == 0 {
                0xffff
            } else {
                u32::from((a as i16).wrapping_div(b as i16) as u16)
            }
        }),
        ("rem", false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_rem(b).unwrap_or(a) }),
        ("rem", true) => lanes!(|a: u32, b: u32| -> u32 {
            if b as i16 == 0 {
                a
            } else {
                u32::from((a as i16).wrapping_rem(b as i16) as u16)
            }
        }),
        ("min", false) => lanes!(|a: u32, b: u32| -> u32 { a.min(b) }),
        ("min", true) => {
            lanes!(|a: u32, b: u32| -> u32 { u32::from((a as i16).min(b as i16) as u16) })
        }
        ("max", false) => lanes!(|a: u32, b: u32| -> u32 { a.max(b) }),
        ("max", true) => {
            lanes!(|a: u32, b: u32| -> u32 { u32::from((a as i16).max(b as i16) as u16) })
        }
        ("and", _) => lanes!(|a: u32, b: u32| -> u32 { a & b }),
        ("or", _) => lanes!(|a: u32, b: u32| -> u32 { a | b }),
        ("xor", _) => lanes!(|a: u32, b: u32| -> u32 { a ^ b }),
        _ => return None,
    })
}

pub(super) fn mad32(part: &str, signed: bool) -> Option<Ternary32> {
    Some(match (part, signed) {
        ("lo", _) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) })
        }
        ("hi", false) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((u32_wide(a, b) >> 32) as u32).wrapping_add(c)
        }),
        ("hi", true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            ((s32_wide(a, b) >> 32) as u32).wrapping_add(c)
        }),
        _ => return None,
    })
}

pub(super) fn mad16(part: &str, signed: bool) -> Option<Ternary32> {
    Some(match (part, signed) {
        ("lo", _) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) & 0xffff })
        }
        ("hi", false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 {
                (a.wrapping_mul(b) >> 16).wrapping_add(c) & 0xffff
            })
        }
        ("hi", true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            (s16_wide(a, b) >> 16).wrapping_add(c) & 0xffff
        }),
        _ => return None,
    })
}

pub(super) fn mad24(part: &str, signed: bool) -> Option<Ternary32> {
    Some(match (part, signed) {
        ("lo", false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { ((u24(a) * u24(b)) as u32).wrapping_add(c) })
        }
        ("lo", true) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { ((s24(a) * s24(b)) as u32).wrapping_add(c) })
        }
        ("hi", false) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            (((u24(a) * u24(b)) >> 16) as u32).wrapping_add(c)
        }),
        ("hi.sat", true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let sum = ((s24(a) * s24(b)) >> 16) as i32;
            sum.saturating_add(c as i32) as u32
        }),
        ("hi", true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            (((s24(a) * s24(b)) >> 16) as u32).wrapping_add(c)
        }),
        _ => return None,
    })
}

pub(super) fn shift32(left: bool, signed: bool) -> Binary32 {
    match (left, signed) {
        (true, _) => lanes!(|a: u32, b: u32| -> u32 { a.checked_shl(b).unwrap_or(0) }),
        (_, false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_shr(b).unwrap_or(0) }),
        _ => lanes!(|a: u32, b: u32| -> u32 { (a as i32 >> b.min(31)) as u32 }),
    }
}

pub(super) fn shift16(left: bool, signed: bool) -> Binary32 {
    match (left, signed) {
        (true, _) => lanes!(|a: u32, b: u32| -> u32 { a.checked_shl(b).unwrap_or(0) & 0xffff }),
        (_, false) => lanes!(|a: u32, b: u32| -> u32 { a.checked_shr(b).unwrap_or(0) }),
        _ => lanes!(|a: u32, b: u32| -> u32 { u32::from((a as i16 >> b.min(15)) as u16) }),
    }
}

pub(super) fn shift64(left: bool, signed: bool) -> Shift64 {
    match (left, signed) {
        (true, _) => lanes!(|a: u64, b: u32| -> u64 { a.checked_shl(b).unwrap_or(0) }),
        (_, false) => lanes!(|a: u64, b: u32| -> u64 { a.checked_shr(b).unwrap_or(0) }),
        _ => lanes!(|a: u64, b: u32| -> u64 { (a as i64 >> b.min(63)) as u64 }),
    }
}

/// Returns the lane function for a shift; the amount must not exceed the width.
pub(super) fn shift_by32(left: bool, signed: bool) -> ShiftBy32 {
    match (left, signed) {
        (true, _) => |a, by, out| each32(a, out, |a| ((u64::from(a)) << by) as u32),
        (_, false) => |a, by, out| {
            let (half, rest) = (by / 2, by - by / 2);
            each32(a, out, |a| (a >> half) >> rest);
        },
        _ => |a, by, out| {
            let by = by.min(31);
            each32(a, out, |a| (a as i32 >> by) as u32);
        },
    }
}

pub(super) fn shift_by16(left: bool, signed: bool) -> ShiftBy32 {
    match (left, signed) {
        (true, _) => |a, by, out| each32(a, out, |a| (a << by) & 0xffff),
        (_, false) => |a, by, out| each32(a, out, |a| a >> by),
        _ => |a, by, out| {
            let by = by.min(15);
            each32(a, out, |a| u32::from((a as i16 >> by) as u16));
        },
    }
}

pub(super) fn shift_by64(left: bool, signed: bool) -> ShiftBy64 {
    match (left, signed) {
        (true, _) => |a, by, out| {
            let (half, rest) = (by / 2, by - by / 2);
            each64(a, out, |a| (a << half) << rest);
        },
        (_, false) => |a, by, out| {
            let (half, rest) = (by / 2, by - by / 2);
            each64(a, out, |a| (a >> half) >> rest);
        },
        _ => |a, by, out| {
            let by = by.min(63);
            each64(a, out, |a| (a as i64 >> by) as u64);
        },
    }
}

#[inline(always)]
fn each32(a: &[u32; 32], out: &mut [u32; 32], f: impl Fn(u32) -> u32) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

#[inline(always)]
fn each64(a: &[u64; 32], out: &mut [u64; 32], f: impl Fn(u64) -> u64) {
    for (out, &a) in out.iter_mut().zip(a) {
        *out = f(a);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_short_operands_take_whatever_a_register_holds() {
        let held: [u32; 32] = std::array::from_fn(|lane| 0x8000_0000u32 >> lane);
        let turned: [u32; 32] = std::array::from_fn(|lane| u32::MAX << (31 - lane));
        let mut out = [0; 32];
        for signed in [false, true] {
            for name in ["add", "sub", "mul", "mul.hi", "div", "rem", "min", "max"] {
                let f = binary16(name, signed).unwrap();
                f(&turned, &held, &mut out);
            }
            for part in ["lo", "hi"] {
                mad16(part, signed).unwrap()(&turned, &held, &turned, &mut out);
            }
            for left in [false, true] {
                shift16(left, signed)(&turned, &held, &mut out);
                shift_by16(left, signed)(&turned, 16, &mut out);
            }
        }
    }
}
