//! Encoding of integer instructions (PTX ISA, "Integer Arithmetic", "Logic and Shift"). This file
//! chooses the operation; `functions.rs` computes it.

mod functions;

use self::functions::{
    binary16, binary32, binary64, mad16, mad24, mad32, mul_wide16, mul_wide32, s16_wide, s32_wide,
    s64_high, shift_by16, shift_by32, shift_by64, shift16, shift32, shift64, u32_wide, u64_high,
};
use crate::lower::bits;
use crate::lower::bits::{dot_product, funnel, permute};
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::Value;
use crate::ops::{
    Carry, CarryKind, Constant, Logic, Op, PairOp, Pred, ScalarKind, Ternary32, Ternary64,
    TernaryWide, Unary32, Unary64, lanes,
};
use crate::types::ScalarType;

pub(crate) fn integer(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    match form.base {
        "dp2a" | "fns" | "szext" => integer_scalar(encoder, form),
        "add" | "min" | "max" if form.has("u16x2") || form.has("s16x2") => {
            integer_pair(encoder, form)
        }
        "mad" if form.has("hi") && form.has("sat") => integer_scalar(encoder, form),
        "vshl" | "vshr" => video_shift(encoder, form),
        "shl" | "shr" => shift(encoder, form),
        "and" | "or" | "xor" | "not" if form.has("pred") => predicate_logic(encoder, form),
        "abs" | "neg" | "not" | "cnot" | "brev" => integer_unary(encoder, form),
        "clz" | "popc" | "bfind" => bits::bit_count(encoder, form),
        "mad" | "mad24" | "sad" | "prmt" | "shf" | "dp4a" => integer_ternary(encoder, form),
        "bfe" | "bfi" | "lop3" | "bmsk" => bits::bit_field(encoder, form),
        _ => integer_binary(encoder, form),
    }
}

fn integer_binary(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let part = multiply_part(form);
    let saturate = form.take("sat");
    let relu = matches!(form.base, "min" | "max") && form.take("relu");
    let ty = form.take_type()?;
    form.count(3)?;
    let [d, a, b] = [&form.operands[0], &form.operands[1], &form.operands[2]];
    if saturate && ty != ScalarType::S32 {
        return Err(form.unsupported("`.sat` needs .s32"));
    }
    if relu && ty != ScalarType::S32 {
        return Err(form.unsupported("`.relu` needs .s32 or .s16x2"));
    }
    if form.base == "mul" && part == "wide" {
        let (a, b) = (encoder.word(a, ty)?, encoder.word(b, ty)?);
        return match ty.bits() {
            16 => {
                let d = encoder.destination(d, ScalarType::B32)?;
                let f = mul_wide16(ty.is_signed());
                Ok(Op::Binary32 { f, d, a, b })
            }
            32 => {
                let d = encoder.destination(d, ScalarType::B64)?;
                let f = mul_wide32(ty.is_signed());
                Ok(Op::BinaryWide { f, d, a, b })
            }
            _ => Err(form.unsupported("`.wide` requires a 16- or 32-bit type")),
        };
    }
    let name = match (form.base, part, saturate) {
        ("mul", "hi", _) => "mul.hi",
        ("mul24", "hi", _) => "mul24.hi",
        ("min", _, _) if relu => "min.relu",
        ("max", _, _) if relu => "max.relu",
        ("add", _, true) => "add.sat",
        ("sub", _, true) => "sub.sat",
        (base, _, _) => base,
    };
    let (d, a, b) = (
        encoder.destination(d, ty)?,
        encoder.source(a, ty)?,
        encoder.source(b, ty)?,
    );
    let none = || form.unsupported("the instruction does not support this type");
    Ok(match ty.bits() {
        64 => Op::Binary64 {
            f: binary64(name, ty.is_signed()).ok_or_else(none)?,
            d,
            a,
            b,
        },
        32 => Op::Binary32 {
            f: binary32(name, ty.is_signed()).ok_or_else(none)?,
            d,
            a,
            b,
        },
        16 => Op::Binary32 {
            f: binary16(name, ty.is_signed()).ok_or_else(none)?,
            d,
            a,
            b,
        },
        _ => return Err(none()),
    })
}

/// Encodes `add`, `min` and `max` of two packed 16-bit integers.
fn integer_pair(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let op = match form.base {
        "add" => PairOp::Add,
        "min" => PairOp::Min,
        _ => PairOp::Max,
    };
    let ty = form.take_type()?;
    let signed = ty == ScalarType::S16X2;
    let relu = signed && op != PairOp::Add && form.take("relu");
    form.count(3)?;
    let kind = ScalarKind::Pair { op, signed, relu };
    encoder.scalar(form, kind, (ScalarType::B32, ScalarType::B32))
}

/// Encodes instructions that are executed one lane at a time.
fn integer_scalar(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let word = ScalarType::B32;
    let kind = match form.base {
        "dp2a" => {
            let high = form.take("hi");
            if !high && !form.take("lo") {
                return Err(form.unsupported("expected `.lo` or `.hi`"));
            }
            let (a, b) = (form.take_type()?, form.take_type()?);
            if a.bits() != 32 || b.bits() != 32 {
                return Err(form.unsupported("the types must be .u32 or .s32"));
            }
            form.count(4)?;
            let signed = [a.is_signed(), b.is_signed()];
            ScalarKind::Dot2 { signed, high }
        }
        "fns" => {
            form.take("b32");
            form.count(4)?;
            ScalarKind::FindNth
        }
        "szext" => {
            let wrap = form.take("wrap") || !form.take("clamp");
            let signed = form.take_type()?.is_signed();
            form.count(3)?;
            ScalarKind::Extend { signed, wrap }
        }
        _ => {
            let _ = (form.take("hi"), form.take("sat"));
            if form.take_type()? != ScalarType::S32 {
                return Err(form.unsupported("`.sat` needs .s32"));
            }
            form.count(4)?;
            ScalarKind::MadHighSaturated
        }
    };
    encoder.scalar(form, kind, (word, word))
}

/// Encodes `vshl` and `vshr` of whole registers.
fn video_shift(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let wrap = form.take("wrap");
    if !wrap && !form.take("clamp") {
        return Err(form.unsupported("expected `.clamp` or `.wrap`"));
    }
    let then = form.take_one(|name| match name {
        "add" => Some(PairOp::Add),
        "min" => Some(PairOp::Min),
        "max" => Some(PairOp::Max),
        _ => None,
    });
    let (to, from, amount) = (form.take_type()?, form.take_type()?, form.take_type()?);
    if to.bits() != 32 || from.bits() != 32 || amount != ScalarType::U32 {
        return Err(form.unsupported("the types must be .u32 or .s32, and .u32 at last"));
    }
    form.count(if then.is_some() { 4 } else { 3 })?;
    let kind = ScalarKind::VideoShift {
        left: form.base == "vshl",
        wrap,
        signed: from.is_signed(),
        then,
        signed_result: to.is_signed(),
    };
    encoder.scalar(form, kind, (to, from))
}

fn shift(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let ty = form.take_type()?;
    form.count(3)?;
    let left = form.base == "shl";
    let signed = ty.is_signed();
    let d = encoder.destination(&form.operands[0], ty)?;
    let a = encoder.source(&form.operands[1], ty)?;
    let amount = &form.operands[2];
    if let Value::Integer(by) = amount.value {
        // Amounts beyond the width clamp to it.
        let by = by.min(64) as u32;
        return Ok(match ty.bits() {
            64 => Op::ShiftBy64 {
                f: shift_by64(left, signed),
                d,
                a,
                by: by.min(64),
            },
            32 => Op::ShiftBy32 {
                f: shift_by32(left, signed),
                d,
                a,
                by: by.min(32),
            },
            16 => Op::ShiftBy32 {
                f: shift_by16(left, signed),
                d,
                a,
                by: by.min(16),
            },
            _ => return Err(form.unsupported("a shift does not support this type")),
        });
    }
    let b = encoder.word(amount, ScalarType::U32)?;
    Ok(match ty.bits() {
        64 => Op::Shift64 {
            f: shift64(left, signed),
            d,
            a,
            b,
        },
        32 => Op::Binary32 {
            f: shift32(left, signed),
            d,
            a,
            b,
        },
        16 => Op::Binary32 {
            f: shift16(left, signed),
            d,
            a,
            b,
        },
        _ => return Err(form.unsupported("a shift does not support this type")),
    })
}

fn predicate_logic(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    form.take("pred");
    form.count(if form.base == "not" { 2 } else { 3 })?;
    let d = encoder.predicate_destination(&form.operands[0])?;
    if form.base == "not" {
        let a = encoder.predicate(&form.operands[1])?;
        let a = Pred(a.0 ^ Pred::NEGATED);
        return Ok(Op::Predicate {
            logic: Logic::First,
            d,
            a,
            b: a,
        });
    }
    let logic = match form.base {
        "and" => Logic::And,
        "or" => Logic::Or,
        _ => Logic::Xor,
    };
    let (a, b) = (
        encoder.predicate(&form.operands[1])?,
        encoder.predicate(&form.operands[2])?,
    );
    Ok(Op::Predicate { logic, d, a, b })
}

fn integer_unary(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let ty = form.take_type()?;
    form.count(2)?;
    let d = encoder.destination(&form.operands[0], ty)?;
    let a = encoder.source(&form.operands[1], ty)?;
    let none = || form.unsupported("the instruction does not support this type");
    if ty.bits() == 64 {
        let f: Unary64 = match form.base {
            "abs" => lanes!(|a: u64| -> u64 { (a as i64).wrapping_abs() as u64 }),
            "neg" => lanes!(|a: u64| -> u64 { a.wrapping_neg() }),
            "not" => lanes!(|a: u64| -> u64 { !a }),
            "cnot" => lanes!(|a: u64| -> u64 { u64::from(a == 0) }),
            _ => lanes!(|a: u64| -> u64 { a.reverse_bits() }),
        };
        return Ok(Op::Unary64 { f, d, a });
    }
    let f: Unary32 = match (form.base, ty.bits()) {
        ("abs", 32) => lanes!(|a: u32| -> u32 { (a as i32).wrapping_abs() as u32 }),
        ("neg", 32) => lanes!(|a: u32| -> u32 { a.wrapping_neg() }),
        ("not", 32) => lanes!(|a: u32| -> u32 { !a }),
        ("brev", 32) => lanes!(|a: u32| -> u32 { a.reverse_bits() }),
        ("cnot", 16 | 32) => lanes!(|a: u32| -> u32 { u32::from(a == 0) }),
        ("abs", 16) => {
            lanes!(|a: u32| -> u32 { u32::from((a as i16).wrapping_abs() as u16) })
        }
        ("neg", 16) => lanes!(|a: u32| -> u32 { a.wrapping_neg() & 0xffff }),
        ("not", 16) => lanes!(|a: u32| -> u32 { !a & 0xffff }),
        _ => return Err(none()),
    };
    Ok(Op::Unary32 { f, d, a })
}

fn integer_ternary(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let part = match multiply_part(form) {
        "hi" if form.base == "mad24" && form.take("sat") => "hi.sat",
        part => part,
    };
    let prmt_mode = if form.base == "prmt" {
        prmt_mode(form)
    } else {
        ""
    };
    let (left, wrap) = match form.base {
        "shf" => (
            form.take("l") || !form.take("r"),
            form.take("wrap") || !form.take("clamp"),
        ),
        _ => (false, false),
    };
    let ty = form.take_type()?;
    let second = if form.base == "dp4a" {
        form.take_type()?
    } else {
        ty
    };
    form.count(4)?;
    let [d, a, b, c] = [
        &form.operands[0],
        &form.operands[1],
        &form.operands[2],
        &form.operands[3],
    ];
    if form.base == "mad" && part == "wide" {
        let (a, b) = (encoder.word(a, ty)?, encoder.word(b, ty)?);
        return match ty.bits() {
            16 => {
                let d = encoder.destination(d, ScalarType::B32)?;
                let c = encoder.word(c, ScalarType::B32)?;
                let f: Ternary32 = if ty.is_signed() {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { s16_wide(a, b).wrapping_add(c) })
                } else {
                    lanes!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_mul(b).wrapping_add(c) })
                };
                Ok(Op::Ternary32 { f, d, a, b, c })
            }
            32 => {
                let d = encoder.destination(d, ScalarType::B64)?;
                let c = encoder.double(c, ScalarType::B64)?;
                let f: TernaryWide = if ty.is_signed() {
                    lanes!(|a: u32, b: u32, c: u64| -> u64 { s32_wide(a, b).wrapping_add(c) })
                } else {
                    lanes!(|a: u32, b: u32, c: u64| -> u64 { u32_wide(a, b).wrapping_add(c) })
                };
                Ok(Op::TernaryWide { f, d, a, b, c })
            }
            _ => Err(form.unsupported("`.wide` requires a 16- or 32-bit type")),
        };
    }
    let d = encoder.destination(d, ty)?;
    let (a, b, c) = (
        encoder.source(a, ty)?,
        encoder.source(b, ty)?,
        encoder.source(c, ty)?,
    );
    let signed = ty.is_signed();
    let none = || form.unsupported("the instruction has no such form");
    if ty.bits() == 64 {
        let f: Ternary64 = match (form.base, part, signed) {
            ("mad", "lo", _) => {
                lanes!(|a: u64, b: u64, c: u64| -> u64 { a.wrapping_mul(b).wrapping_add(c) })
            }
            ("mad", "hi", false) => {
                lanes!(|a: u64, b: u64, c: u64| -> u64 { u64_high(a, b).wrapping_add(c) })
            }
            ("mad", "hi", true) => {
                lanes!(|a: u64, b: u64, c: u64| -> u64 { s64_high(a, b).wrapping_add(c) })
            }
            ("sad", _, false) => {
                lanes!(|a: u64, b: u64, c: u64| -> u64 { a.abs_diff(b).wrapping_add(c) })
            }
            ("sad", _, true) => lanes!(|a: u64, b: u64, c: u64| -> u64 {
                (a as i64).abs_diff(b as i64).wrapping_add(c)
            }),
            _ => return Err(none()),
        };
        return Ok(Op::Ternary64 { f, d, a, b, c });
    }
    let f: Ternary32 = match (form.base, ty.bits()) {
        ("prmt", 32) => permute(prmt_mode),
        ("shf", 32) => funnel(left, wrap),
        ("dp4a", 32) => dot_product(signed, second.is_signed()),
        ("mad", 32) => mad32(part, signed).ok_or_else(none)?,
        ("mad24", 32) => mad24(part, signed).ok_or_else(none)?,
        ("sad", 32) if signed => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            (a as i32).abs_diff(b as i32).wrapping_add(c)
        }),
        ("sad", 32) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { a.abs_diff(b).wrapping_add(c) })
        }
        ("mad", 16) => mad16(part, signed).ok_or_else(none)?,
        ("sad", 16) if signed => lanes!(|a: u32, b: u32, c: u32| -> u32 {
            u32::from((a as i16).abs_diff(b as i16)).wrapping_add(c) & 0xffff
        }),
        ("sad", 16) => {
            lanes!(|a: u32, b: u32, c: u32| -> u32 { a.abs_diff(b).wrapping_add(c) & 0xffff })
        }
        _ => return Err(none()),
    };
    Ok(Op::Ternary32 { f, d, a, b, c })
}

/// Encodes `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`.
pub(crate) fn carry(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let gives = form.take("cc");
    let part = multiply_part(form);
    let ty = form.take_type()?;
    let (kind, takes) = match (form.base, part) {
        ("add", _) => (CarryKind::Add, false),
        ("addc", _) => (CarryKind::Add, true),
        ("sub", _) => (CarryKind::Sub, false),
        ("subc", _) => (CarryKind::Sub, true),
        ("mad" | "madc", "lo") => (CarryKind::MadLo, form.base == "madc"),
        ("mad" | "madc", "hi") => (CarryKind::MadHi, form.base == "madc"),
        _ => return Err(form.unsupported("the instruction has no such form with a carry")),
    };
    let is_mad = matches!(kind, CarryKind::MadLo | CarryKind::MadHi);
    form.count(if is_mad { 4 } else { 3 })?;
    if !matches!(ty.bits(), 32 | 64) || ty.is_float() {
        return Err(form.unsupported("carries require a 32- or 64-bit integer type"));
    }
    let d = encoder.destination(&form.operands[0], ty)?;
    let (a, b) = (
        encoder.source(&form.operands[1], ty)?,
        encoder.source(&form.operands[2], ty)?,
    );
    let c = match form.operands.get(3) {
        Some(operand) => encoder.source(operand, ty)?,
        None if ty.bits() == 64 => encoder.constant64(Constant::Value(0)),
        None => encoder.constant32(Constant::Value(0)),
    };
    let (wide, signed) = (ty.bits() == 64, ty.is_signed());
    encoder.tables.carries.push(Carry {
        kind,
        wide,
        signed,
        takes,
        gives,
        d,
        a,
        b,
        c,
    });
    Ok(Op::Carry(encoder.tables.carries.len() as u32 - 1))
}

fn multiply_part(form: &mut Form<'_>) -> &'static str {
    form.take_one(|name| ["lo", "hi", "wide"].into_iter().find(|&part| part == name))
        .unwrap_or("lo")
}

fn prmt_mode(form: &mut Form<'_>) -> &'static str {
    let modes = ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"];
    form.take_one(|name| modes.into_iter().find(|&mode| mode == name))
        .unwrap_or("")
}
