//! Bit fields, bit counts, permutations and funnel shifts (PTX ISA, "Integer Arithmetic").

use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::Value;
use crate::ops::{
    Binary32, Extract64, Insert32, Insert64, Logic, Narrow, Op, Ternary32, Unary32, lanes,
};
use crate::types::ScalarType;

/// Encodes `popc`, `clz` and the like; results are 32 bits wide for any source type.
pub(crate) fn bit_count(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let shift_amount = form.take("shiftamt");
    let ty = form.take_type()?;
    form.count(2)?;
    let d = encoder.destination(&form.operands[0], ScalarType::U32)?;
    let a = encoder.source(&form.operands[1], ty)?;
    if ty.bits() == 64 {
        let f: Narrow = match (form.base, ty.is_signed(), shift_amount) {
            ("clz", ..) => lanes!(|a: u64| -> u32 { a.leading_zeros() }),
            ("popc", ..) => lanes!(|a: u64| -> u32 { a.count_ones() }),
            (_, false, false) => lanes!(|a: u64| -> u32 { top_bit64(a) }),
            (_, false, true) => lanes!(|a: u64| -> u32 { to_shift(top_bit64(a), 63) }),
            (_, true, false) => lanes!(|a: u64| -> u32 { top_bit64(positive64(a)) }),
            _ => lanes!(|a: u64| -> u32 { to_shift(top_bit64(positive64(a)), 63) }),
        };
        return Ok(Op::Narrow { f, d, a });
    }
    if ty.bits() != 32 {
        return Err(form.unsupported("the instruction does not support this type"));
    }
    let f: Unary32 = match (form.base, ty.is_signed(), shift_amount) {
        ("clz", ..) => lanes!(|a: u32| -> u32 { a.leading_zeros() }),
        ("popc", ..) => lanes!(|a: u32| -> u32 { a.count_ones() }),
        (_, false, false) => lanes!(|a: u32| -> u32 { top_bit32(a) }),
        (_, false, true) => lanes!(|a: u32| -> u32 { to_shift(top_bit32(a), 31) }),
        (_, true, false) => lanes!(|a: u32| -> u32 { top_bit32(positive32(a)) }),
        _ => lanes!(|a: u32| -> u32 { to_shift(top_bit32(positive32(a)), 31) }),
    };
    Ok(Op::Unary32 { f, d, a })
}

pub(crate) fn bit_field(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let wrap = form.base == "bmsk" && (form.take("wrap") || !form.take("clamp"));
    let ty = form.take_type()?;
    let wide = ty.bits() == 64;
    if !wide && ty.bits() != 32 {
        return Err(form.unsupported("the instruction does not support this type"));
    }
    let word = ScalarType::U32;
    let operands = form.operands;
    match form.base {
        "bmsk" => {
            form.count(3)?;
            let d = encoder.destination(&operands[0], ty)?;
            let (a, b) = (
                encoder.word(&operands[1], word)?,
                encoder.word(&operands[2], word)?,
            );
            let f: Binary32 = if wrap {
                lanes!(|a: u32, b: u32| -> u32 { bit_mask(a & 31, b & 31) })
            } else {
                lanes!(|a: u32, b: u32| -> u32 { bit_mask(a, b) })
            };
            Ok(Op::Binary32 { f, d, a, b })
        }
        "bfe" => {
            form.count(4)?;
            let d = encoder.destination(&operands[0], ty)?;
            let a = encoder.source(&operands[1], ty)?;
            let (b, c) = (
                encoder.word(&operands[2], word)?,
                encoder.word(&operands[3], word)?,
            );
            if wide {
                let f: Extract64 = if ty.is_signed() {
                    lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, b, c, 64, true) })
                } else {
                    lanes!(|a: u64, b: u32, c: u32| -> u64 { extract(a, b, c, 64, false) })
                };
                return Ok(Op::Extract64 { f, d, a, b, c });
            }
            let f: Ternary32 = if ty.is_signed() {
                lanes!(|a: u32, b: u32, c: u32| -> u32 {
                    extract(u64::from(a), b, c, 32, true) as u32
                })
            } else {
                lanes!(|a: u32, b: u32, c: u32| -> u32 {
                    extract(u64::from(a), b, c, 32, false) as u32
                })
            };
            Ok(Op::Ternary32 { f, d, a, b, c })
        }
        "bfi" => {
            form.count(5)?;
            let d = encoder.destination(&operands[0], ty)?;
            let (a, b) = (
                encoder.source(&operands[1], ty)?,
                encoder.source(&operands[2], ty)?,
            );
            let (c, e) = (
                encoder.word(&operands[3], word)?,
                encoder.word(&operands[4], word)?,
            );
            if wide {
                let f: Insert64 =
                    lanes!(|a: u64, b: u64, c: u32, e: u32| -> u64 { insert(a, b, c, e, 64) });
                return Ok(Op::Insert64 { f, d, a, b, c, e });
            }
            let f: Insert32 = lanes!(|a: u32, b: u32, c: u32, e: u32| -> u32 {
                insert(u64::from(a), u64::from(b), c, e, 32) as u32
            });
            Ok(Op::Insert32 { f, d, a, b, c, e })
        }
        _ => {
            let logic = form.take_one(|name| match name {
                "and" => Some(Logic::And),
                "or" => Some(Logic::Or),
                _ => None,
            });
            form.count(if logic.is_some() { 6 } else { 5 })?;
            let Value::Integer(table @ 0..=255) = operands[4].value else {
                return Err(form.unsupported("the table must be a constant from 0 to 255"));
            };
            let (a, b) = (
                encoder.word(&operands[1], ty)?,
                encoder.word(&operands[2], ty)?,
            );
            let c = encoder.word(&operands[3], ty)?;
            let table = table as u8;
            if let Some(logic) = logic {
                let Value::Pair(..) = operands[0].value else {
                    return Err(form.unsupported("expected a destination `d|p`"));
                };
                let (d, p) = encoder.word_and_predicate(&operands[0])?;
                let q = encoder.predicate(&operands[5])?;
                return Ok(Op::Lop3Test {
                    table,
                    logic,
                    d,
                    p,
                    a,
                    b,
                    c,
                    q,
                });
            }
            let d = encoder.destination(&operands[0], ty)?;
            Ok(Op::Lop3 { table, d, a, b, c })
        }
    }
}

/// Returns the index of the most significant one bit, or all ones if there is none.
fn top_bit32(a: u32) -> u32 {
    31u32.wrapping_sub(a.leading_zeros())
}

fn top_bit64(a: u64) -> u32 {
    63u32.wrapping_sub(a.leading_zeros())
}

/// Complements negative values, since signed `bfind` finds the most significant bit that differs
/// from the sign.
fn positive32(a: u32) -> u32 {
    if (a as i32) < 0 { !a } else { a }
}

fn positive64(a: u64) -> u64 {
    if (a as i64) < 0 { !a } else { a }
}

/// Implements `.shiftamt`: left shift distance that moves the bit to the top.
fn to_shift(bit: u32, top: u32) -> u32 {
    if bit == u32::MAX { bit } else { top - bit }
}

fn bit_mask(start: u32, width: u32) -> u32 {
    let ones = if width >= 32 {
        u32::MAX
    } else {
        (1 << width) - 1
    };
    ones.checked_shl(start).unwrap_or(0)
}

/// Implements `bfe` as in the pseudo-code of the PTX ISA.
fn extract(a: u64, position: u32, length: u32, bits: u32, signed: bool) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    let top = bits - 1;
    let sign = if !signed || length == 0 {
        0
    } else {
        a >> (position + length - 1).min(top) & 1
    };
    let field = a.checked_shr(position).unwrap_or(0);
    let kept = length.min(bits.saturating_sub(position));
    let mask = if kept >= 64 {
        u64::MAX
    } else {
        (1 << kept) - 1
    };
    if sign == 1 {
        field & mask | !mask
    } else {
        field & mask
    }
}

fn insert(a: u64, b: u64, position: u32, length: u32, bits: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if position >= bits || length == 0 {
        return b;
    }
    let ones = if length >= 64 {
        u64::MAX
    } else {
        (1 << length) - 1
    };
    let mask = ones << position;
    (b & !mask) | ((a << position) & mask)
}

pub(crate) fn funnel(left: bool, wrap: bool) -> Ternary32 {
    match (left, wrap) {
        (true, true) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { ((join(a, b) << (c & 31)) >> 32) as u32 })
        }
        (true, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { ((join(a, b) << c.min(32)) >> 32) as u32 })
        }
        (false, true) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> (c & 31)) as u32 })
        }
        (false, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { (join(a, b) >> c.min(32)) as u32 })
        }
    }
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// Selects byte `n` of eight; bit 3 of the selector replicates its sign bit.
fn select_byte(both: u64, selector: u32) -> u32 {
    let byte = (both >> (8 * (selector & 7))) as u32 & 0xff;
    if selector & 8 == 0 {
        byte
    } else {
        u32::from(byte & 0x80 != 0) * 0xff
    }
}

fn gather(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
    let both = join(a, b);
    selectors
        .iter()
        .rev()
        .fold(0, |word, &selector| word << 8 | select_byte(both, selector))
}

pub(crate) fn permute(mode: &str) -> Ternary32 {
    match mode {
        "f4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            gather(a, b, [n, n + 1, n + 2, n + 3])
        }),
        "b4e" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            gather(a, b, [n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7])
        }),
        "rc8" => lanes!(|a: u32, b: u32, c: u32| -> u32 { gather(a, b, [c & 3; 4]) }),
        "ecl" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            gather(a, b, [n, n.max(1), n.max(2), 3])
        }),
        "ecr" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = c & 3;
            gather(a, b, [0, n.min(1), n.min(2), n])
        }),
        "rc16" => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            let n = 2 * (c & 1);
            gather(a, b, [n, n + 1, n, n + 1])
        }),
        _ => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            gather(a, b, [c & 15, c >> 4 & 15, c >> 8 & 15, c >> 12 & 15])
        }),
    }
}

fn dot(a: u32, b: u32, c: u32, signed_a: bool, signed_b: bool) -> u32 {
    let part = |word: u32, at: u32, signed: bool| {
        let byte = (word >> (8 * at)) as u8;
        if signed {
            i32::from(byte as i8)
        } else {
            i32::from(byte)
        }
    };
    (0..4).fold(c, |sum, at| {
        sum.wrapping_add((part(a, at, signed_a) * part(b, at, signed_b)) as u32)
    })
}

pub(crate) fn dot_product(signed_a: bool, signed_b: bool) -> Ternary32 {
    match (signed_a, signed_b) {
        (false, false) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(a, b, c, false, false) }),
        (false, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(a, b, c, false, true) }),
        (true, false) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(a, b, c, true, false) }),
        (true, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 { dot(a, b, c, true, true) }),
    }
}
