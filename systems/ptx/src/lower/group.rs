//! Encoding of instructions that combine values across lanes (PTX ISA, "Parallel Synchronization"):
//! `match`, `redux`, `elect`.

use crate::lower::encode::{Encoded, Encoder, Form};
use crate::ops::{AtomicKind, Constant, Op, Pred};
use crate::types::ScalarType;

pub(crate) fn match_value(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    form.take("sync");
    let all = form.take("all");
    if !all && !form.take("any") {
        return Err(form.unsupported("expected `.any` or `.all`"));
    }
    let ty = form.take_type()?;
    if !matches!(ty.bits(), 32 | 64) {
        return Err(form.unsupported("the compared values must have 32 or 64 bits"));
    }
    form.count(3)?;
    let (d, p) = encoder.word_and_predicate(&form.operands[0])?;
    if !all && p != Pred::NONE {
        return Err(form.unsupported("only match.all has a destination predicate"));
    }
    let a = encoder.source(&form.operands[1], ty)?;
    let members = encoder.word(&form.operands[2], ScalarType::B32)?;
    let wide = ty.bits() == 64;
    Ok(if all {
        Op::MatchAll {
            d,
            p,
            a,
            wide,
            members,
        }
    } else {
        Op::Match {
            d,
            a,
            wide,
            members,
        }
    })
}

pub(crate) fn reduce(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    form.take("sync");
    let names = ["add", "min", "max", "and", "or", "xor"];
    let name = form
        .take_one(|name| names.into_iter().find(|&known| known == name))
        .ok_or_else(|| form.unsupported("the reduction must be add, min, max, and, or, xor"))?;
    let ty = form.take_type()?;
    let (abs, nan) = (form.take("abs"), form.take("NaN"));
    if ty != ScalarType::F32 && (abs || nan) {
        return Err(form.unsupported("`.abs` and `.NaN` need .f32"));
    }
    let kind = match (name, ty) {
        ("min", ScalarType::F32) => AtomicKind::MinF32 { abs, nan },
        ("max", ScalarType::F32) => AtomicKind::MaxF32 { abs, nan },
        ("add", ScalarType::U32 | ScalarType::S32) => AtomicKind::Add,
        ("min", ScalarType::U32) => AtomicKind::MinU,
        ("min", ScalarType::S32) => AtomicKind::MinS,
        ("max", ScalarType::U32) => AtomicKind::MaxU,
        ("max", ScalarType::S32) => AtomicKind::MaxS,
        ("and", ScalarType::B32) => AtomicKind::And,
        ("or", ScalarType::B32) => AtomicKind::Or,
        ("xor", ScalarType::B32) => AtomicKind::Xor,
        _ => {
            let why = "add, min and max require .u32 or .s32, min and max also accept .f32, and, or and xor require .b32";
            return Err(form.unsupported(why));
        }
    };
    form.count(3)?;
    Ok(Op::Reduce {
        kind,
        d: encoder.destination(&form.operands[0], ty)?,
        a: encoder.word(&form.operands[1], ty)?,
        members: encoder.word(&form.operands[2], ScalarType::B32)?,
    })
}

pub(crate) fn elect(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    form.take("sync");
    form.count(2)?;
    let (d, p) = encoder.word_and_predicate(&form.operands[0])?;
    let members = encoder.word(&form.operands[1], ScalarType::B32)?;
    Ok(Op::Elect { d, p, members })
}

/// Encodes `createpolicy`; a policy is only a hint, so any value is correct.
pub(crate) fn create_policy(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let words = [
        "fractional",
        "range",
        "cvt",
        "global",
        "L2",
        "L2::evict_last",
        "L2::evict_normal",
        "L2::evict_first",
        "L2::evict_unchanged",
    ];
    while form
        .take_one(|name| words.contains(&name).then_some(()))
        .is_some()
    {}
    let ty = form.take_type()?;
    if ty != ScalarType::B64 || form.operands.is_empty() {
        return Err(form.unsupported("the policy must have type .b64"));
    }
    let d = encoder.destination(&form.operands[0], ty)?;
    let a = encoder.constant64(Constant::Value(0));
    Ok(Op::Move64 { d, a })
}
