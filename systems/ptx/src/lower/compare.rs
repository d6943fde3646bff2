//! Comparison and selection (PTX ISA, "Comparison and Selection Instructions").

#![allow(clippy::float_cmp)] // Comparing floats exactly is what these instructions do.

use crate::diagnostics::SpannedError;
use crate::half::half_to_single;
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::Value;
use crate::ops::{
    Compare32, Compare64, Logic, Op, Outcome, Pred, Src, Ternary32, compare, flush, lanes,
};
use crate::types::ScalarType;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
    "geu", "num", "nan",
];

enum Comparison {
    Words(Compare32, Src, Src),
    Doubles(Compare64, Src, Src),
    /// Compares packed pairs; the function handles their lower halves.
    Pairs(Compare32, Src, Src),
}

pub(crate) fn compare(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    match form.base {
        "selp" => select(encoder, form),
        "slct" => select_by_sign(encoder, form),
        "set" => set(encoder, form),
        _ => set_predicate(encoder, form),
    }
}

fn comparison(form: &mut Form<'_>) -> Encoded<(&'static str, Logic, bool)> {
    let comparison = form
        .take_one(|name| COMPARISONS.into_iter().find(|&known| known == name))
        .ok_or_else(|| form.unsupported("missing comparison operator"))?;
    let logic = form.take_one(|name| match name {
        "and" => Some(Logic::And),
        "or" => Some(Logic::Or),
        "xor" => Some(Logic::Xor),
        _ => None,
    });
    Ok((comparison, logic.unwrap_or(Logic::First), form.take("ftz")))
}

fn compared(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    (name, ty, ftz): (&str, ScalarType, bool),
) -> Encoded<Comparison> {
    let a = encoder.source(&form.operands[1], ty)?;
    let b = encoder.source(&form.operands[2], ty)?;
    use ScalarType::{F16, F16X2, F32};
    if ftz && !matches!(ty, F32 | F16 | F16X2) {
        return Err(form.unsupported(&format!("`.ftz` is not supported for {ty}")));
    }
    let none = || form.unsupported("the comparison does not support this type");
    Ok(match (ty, ty.bits()) {
        (ScalarType::F64, _) => Comparison::Doubles(float64(name).ok_or_else(none)?, a, b),
        (ScalarType::F32, _) => Comparison::Words(float32(name, ftz).ok_or_else(none)?, a, b),
        (ScalarType::F16, _) => Comparison::Words(half(name, ftz).ok_or_else(none)?, a, b),
        (ScalarType::BF16, _) => Comparison::Words(brain(name).ok_or_else(none)?, a, b),
        (ScalarType::F16X2, _) => Comparison::Pairs(half(name, ftz).ok_or_else(none)?, a, b),
        (ScalarType::BF16X2, _) => Comparison::Pairs(brain(name).ok_or_else(none)?, a, b),
        (_, 64) => Comparison::Doubles(integer64(name, ty.is_signed()).ok_or_else(none)?, a, b),
        (_, 32) => Comparison::Words(integer32(name, ty.is_signed()).ok_or_else(none)?, a, b),
        (_, 16) if ty.is_signed() => Comparison::Words(short(name).ok_or_else(none)?, a, b),
        (_, 16) => Comparison::Words(integer32(name, false).ok_or_else(none)?, a, b),
        _ => return Err(none()),
    })
}

fn set_predicate(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let (name, logic, ftz) = comparison(form)?;
    let ty = form.take_type()?;
    form.count(if logic == Logic::First { 3 } else { 4 })?;
    let with = match form.operands.get(3) {
        Some(operand) => encoder.predicate(operand)?,
        None => Pred(Pred::TRUE),
    };
    let (p, q) = match &form.operands[0].value {
        Value::Pair(p, q) => (
            encoder.predicate_destination(p)?,
            encoder.predicate_destination(q)?,
        ),
        _ if ty.is_pair() => {
            let message =
                format!("a comparison of {ty} requires two destination predicates: `p|q`");
            return Err(SpannedError::new(form.operands[0].span, message));
        }
        _ => (
            encoder.predicate_destination(&form.operands[0])?,
            Pred::NONE,
        ),
    };
    let outcome = Outcome { p, q, logic, with };
    Ok(match compared(encoder, form, (name, ty, ftz))? {
        Comparison::Words(f, a, b) => Op::Compare32 { f, a, b, outcome },
        Comparison::Doubles(f, a, b) => Op::Compare64 { f, a, b, outcome },
        Comparison::Pairs(f, a, b) => Op::ComparePair { f, a, b, outcome },
    })
}

fn set(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let (name, logic, ftz) = comparison(form)?;
    let (to, ty) = (form.take_type()?, form.take_type()?);
    let one =
        one(to, ty).ok_or_else(|| form.unsupported("unsupported result type of a comparison"))?;
    form.count(if logic == Logic::First { 3 } else { 4 })?;
    let with = match form.operands.get(3) {
        Some(operand) => encoder.predicate(operand)?,
        None => Pred(Pred::TRUE),
    };
    let d = encoder.destination(&form.operands[0], to)?;
    Ok(match compared(encoder, form, (name, ty, ftz))? {
        Comparison::Words(f, a, b) => Op::Set32 {
            f,
            d,
            a,
            b,
            one,
            logic,
            with,
        },
        Comparison::Doubles(f, a, b) => Op::Set64 {
            f,
            d,
            a,
            b,
            one,
            logic,
            with,
        },
        Comparison::Pairs(f, a, b) => Op::SetPair {
            f,
            d,
            a,
            b,
            one,
            logic,
            with,
        },
    })
}

fn select(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let ty = form.take_type()?;
    form.count(4)?;
    let d = encoder.destination(&form.operands[0], ty)?;
    let (a, b) = (
        encoder.source(&form.operands[1], ty)?,
        encoder.source(&form.operands[2], ty)?,
    );
    let p = encoder.predicate(&form.operands[3])?;
    Ok(if ty.bits() == 64 {
        Op::Select64 { d, a, b, p }
    } else {
        Op::Select32 { d, a, b, p }
    })
}

/// Encodes `slct`, which selects the first value if the third operand is not negative.
fn select_by_sign(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let ftz = form.take("ftz");
    let (ty, by) = (form.take_type()?, form.take_type()?);
    form.count(4)?;
    let d = encoder.destination(&form.operands[0], ty)?;
    let (a, b) = (
        encoder.source(&form.operands[1], ty)?,
        encoder.source(&form.operands[2], ty)?,
    );
    let c = encoder.word(&form.operands[3], by)?;
    if !matches!(by, ScalarType::S32 | ScalarType::F32) {
        return Err(form.unsupported("the selector must be .s32 or .f32"));
    }
    let is_float = by == ScalarType::F32;
    if ty.bits() == 64 {
        return Ok(Op::Insert64 {
            f: match (is_float, ftz) {
                (false, _) => lanes!(|a: u64, b: u64, c: u32, _e: u32| -> u64 {
                    if c as i32 >= 0 { a } else { b }
                }),
                (true, false) => lanes!(|a: u64, b: u64, c: u32, _e: u32| -> u64 {
                    if f32::from_bits(c) >= 0.0 { a } else { b }
                }),
                (true, true) => lanes!(|a: u64, b: u64, c: u32, _e: u32| -> u64 {
                    if f32::from_bits(flush(c)) >= 0.0 {
                        a
                    } else {
                        b
                    }
                }),
            },
            d,
            a,
            b,
            c,
            e: c,
        });
    }
    let f: Ternary32 = match (is_float, ftz) {
        (false, _) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { if c as i32 >= 0 { a } else { b } })
        }
        (true, false) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { if f32::from_bits(c) >= 0.0 { a } else { b } })
        }
        (true, true) => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            if f32::from_bits(flush(c)) >= 0.0 {
                a
            } else {
                b
            }
        }),
    };
    Ok(Op::Ternary32 { f, d, a, b, c })
}

/// Returns the `set` result for a true comparison of `ty`, in each half of a pair. Returns `None`
/// if `set` has no result type `to` for `ty`.
fn one(to: ScalarType, ty: ScalarType) -> Option<u32> {
    use ScalarType::{BF16, BF16X2, F16, F16X2, F32, S16, S32, U16, U32};
    let exists = match to {
        F16X2 | BF16X2 => ty == to,
        F16 | BF16 => ty == to || !ty.is_half(),
        U16 | S16 => matches!(ty, F16 | BF16),
        U32 | S32 => true,
        F32 => !ty.is_half(),
        _ => false,
    };
    let value = match to {
        F16 | F16X2 => 0x3c00,
        BF16 | BF16X2 => 0x3f80,
        F32 => 1.0f32.to_bits(),
        U32 | S32 if !ty.is_pair() => u32::MAX,
        _ => 0xffff,
    };
    exists.then_some(value)
}

fn integer32(name: &str, signed: bool) -> Option<Compare32> {
    Some(match (name, signed) {
        ("eq", _) => compare!(|a, b: u32| a == b),
        ("ne", _) => compare!(|a, b: u32| a != b),
        ("lt", false) | ("lo", _) => compare!(|a, b: u32| a < b),
        ("le", false) | ("ls", _) => compare!(|a, b: u32| a <= b),
        ("gt", false) | ("hi", _) => compare!(|a, b: u32| a > b),
        ("ge", false) | ("hs", _) => compare!(|a, b: u32| a >= b),
        ("lt", true) => compare!(|a, b: u32| (a as i32) < (b as i32)),
        ("le", true) => compare!(|a, b: u32| (a as i32) <= (b as i32)),
        ("gt", true) => compare!(|a, b: u32| (a as i32) > (b as i32)),
        ("ge", true) => compare!(|a, b: u32| (a as i32) >= (b as i32)),
        _ => return None,
    })
}

fn short(name: &str) -> Option<Compare32> {
    Some(match name {
        "eq" => compare!(|a, b: u32| a == b),
        "ne" => compare!(|a, b: u32| a != b),
        "lt" => compare!(|a, b: u32| (a as i16) < (b as i16)),
        "le" => compare!(|a, b: u32| (a as i16) <= (b as i16)),
        "gt" => compare!(|a, b: u32| (a as i16) > (b as i16)),
        "ge" => compare!(|a, b: u32| (a as i16) >= (b as i16)),
        _ => return None,
    })
}

fn integer64(name: &str, signed: bool) -> Option<Compare64> {
    Some(match (name, signed) {
        ("eq", _) => compare!(|a, b: u64| a == b),
        ("ne", _) => compare!(|a, b: u64| a != b),
        ("lt", false) | ("lo", _) => compare!(|a, b: u64| a < b),
        ("le", false) | ("ls", _) => compare!(|a, b: u64| a <= b),
        ("gt", false) | ("hi", _) => compare!(|a, b: u64| a > b),
        ("ge", false) | ("hs", _) => compare!(|a, b: u64| a >= b),
        ("lt", true) => compare!(|a, b: u64| (a as i64) < (b as i64)),
        ("le", true) => compare!(|a, b: u64| (a as i64) <= (b as i64)),
        ("gt", true) => compare!(|a, b: u64| (a as i64) > (b as i64)),
        ("ge", true) => compare!(|a, b: u64| (a as i64) >= (b as i64)),
        _ => return None,
    })
}

/// Builds float comparisons: ordered ones are false for NaN, and the `u` ones are true.
macro_rules! float_comparison {
    ($name:expr, $t:ty, $read:expr) => {
        match $name {
            "eq" => compare!(|a, b: $t| $read(a) == $read(b)),
            "ne" => compare!(|a, b: $t| $read(a) < $read(b) || $read(a) > $read(b)),
            "lt" => compare!(|a, b: $t| $read(a) < $read(b)),
            "le" => compare!(|a, b: $t| $read(a) <= $read(b)),
            "gt" => compare!(|a, b: $t| $read(a) > $read(b)),
            "ge" => compare!(|a, b: $t| $read(a) >= $read(b)),
            "equ" => compare!(|a, b: $t| !($read(a) < $read(b) || $read(a) > $read(b))),
            "neu" => compare!(|a, b: $t| $read(a) != $read(b)),
            "ltu" => compare!(|a, b: $t| $read(a) < $read(b) || unordered!($read, a, b)),
            "leu" => compare!(|a, b: $t| $read(a) <= $read(b) || unordered!($read, a, b)),
            "gtu" => compare!(|a, b: $t| $read(a) > $read(b) || unordered!($read, a, b)),
            "geu" => compare!(|a, b: $t| $read(a) >= $read(b) || unordered!($read, a, b)),
            "num" => compare!(|a, b: $t| !unordered!($read, a, b)),
            "nan" => compare!(|a, b: $t| unordered!($read, a, b)),
            _ => return None,
        }
    };
}

macro_rules! unordered {
    ($read:expr, $a:expr, $b:expr) => {
        $read($a).is_nan() || $read($b).is_nan()
    };
}

fn float32(name: &str, ftz: bool) -> Option<Compare32> {
    fn flushed(bits: u32) -> f32 {
        f32::from_bits(flush(bits))
    }
    Some(if ftz {
        float_comparison!(name, u32, flushed)
    } else {
        float_comparison!(name, u32, f32::from_bits)
    })
}

fn half(name: &str, ftz: bool) -> Option<Compare32> {
    fn flushed(bits: u32) -> f32 {
        let is_zero = bits & 0x7c00 == 0;
        half_to_single(if is_zero { bits & 0x8000 } else { bits } as u16)
    }
    fn read(bits: u32) -> f32 {
        half_to_single(bits as u16)
    }
    Some(if ftz {
        float_comparison!(name, u32, flushed)
    } else {
        float_comparison!(name, u32, read)
    })
}

fn brain(name: &str) -> Option<Compare32> {
    fn read(bits: u32) -> f32 {
        f32::from_bits(bits << 16)
    }
    Some(float_comparison!(name, u32, read))
}

fn float64(name: &str) -> Option<Compare64> {
    Some(float_comparison!(name, u64, f64::from_bits))
}
