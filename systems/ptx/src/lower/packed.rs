//! Encoding of singles in other shapes: two in one register, three at once, and beside halves.
//!
//! Sources: PTX ISA, "Floating Point Instructions", "Mixed Precision".

use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::float_bits::{bits32, f, format_of};
use crate::ops::{
    FloatFormat, FloatOp, FloatSpec, Op, Rounding, Scalar, ScalarKind, Src, flush, lanes,
};
use crate::types::ScalarType;

/// Applies a function to the lower and to the upper halves of double words.
#[inline(always)]
fn halves<const N: usize>(words: [u64; N], f: impl Fn([u32; N]) -> u32) -> u64 {
    let low = f(words.map(|word| word as u32));
    let high = f(words.map(|word| (word >> 32) as u32));
    u64::from(high) << 32 | u64::from(low)
}

/// Builds an operation on pairs of singles, with and without `.ftz`.
macro_rules! pair {
    ($ftz:expr, |$a:ident, $b:ident| $e:expr) => {
        if $ftz {
            lanes!(|x: u64, y: u64| -> u64 {
                halves([x, y], |both| {
                    let [$a, $b] = both.map(|bits| f(flush(bits)));
                    flush(bits32($e))
                })
            })
        } else {
            lanes!(|x: u64, y: u64| -> u64 {
                halves([x, y], |both| {
                    let [$a, $b] = both.map(f);
                    bits32($e)
                })
            })
        }
    };
    ($ftz:expr, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        if $ftz {
            lanes!(|x: u64, y: u64, z: u64| -> u64 {
                halves([x, y, z], |all| {
                    let [$a, $b, $c] = all.map(|bits| f(flush(bits)));
                    flush(bits32($e))
                })
            })
        } else {
            lanes!(|x: u64, y: u64, z: u64| -> u64 {
                halves([x, y, z], |all| {
                    let [$a, $b, $c] = all.map(f);
                    bits32($e)
                })
            })
        }
    };
}

/// Encodes `min` and `max` of three singles.
pub(super) fn extreme_of_three(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    ty: ScalarType,
    flush: bool,
    nan: bool,
) -> Encoded<Op> {
    if ty != ScalarType::F32 {
        return Err(form.unsupported("the instruction takes three numbers of type .f32 only"));
    }
    let op = if form.base == "min" {
        FloatOp::MinOfThree
    } else {
        FloatOp::MaxOfThree
    };
    let kind = ScalarKind::Float(FloatSpec {
        flush,
        nan,
        magnitudes: form.take("abs"),
        ..FloatSpec::new(op, FloatFormat::Single, Rounding::Nearest)
    });
    encoder.scalar(form, kind, (ty, ty))
}

/// Encodes arithmetic on two singles in one register.
pub(super) fn pair_of_singles(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    rounding: Rounding,
    ftz: bool,
) -> Encoded<Op> {
    let ty = ScalarType::F32X2;
    let op = match form.base {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        "fma" => FloatOp::Fma,
        _ => return Err(form.unsupported("the instruction does not support pairs of .f32")),
    };
    form.count(if op == FloatOp::Fma { 4 } else { 3 })?;
    if rounding != Rounding::Nearest {
        let kind = ScalarKind::Float(FloatSpec {
            flush: ftz,
            pair: true,
            ..FloatSpec::new(op, FloatFormat::Single, rounding)
        });
        return encoder.scalar(form, kind, (ty, ty));
    }
    let d = encoder.destination(&form.operands[0], ty)?;
    let a = encoder.source(&form.operands[1], ty)?;
    let b = encoder.source(&form.operands[2], ty)?;
    let f = match op {
        FloatOp::Add => pair!(ftz, |a, b| a + b),
        FloatOp::Sub => pair!(ftz, |a, b| a - b),
        FloatOp::Mul => pair!(ftz, |a, b| a * b),
        _ => {
            let c = encoder.source(&form.operands[3], ty)?;
            let f = pair!(ftz, |a, b, c| a.mul_add(b, c));
            return Ok(Op::Ternary64 { f, d, a, b, c });
        }
    };
    Ok(Op::Binary64 { f, d, a, b })
}

/// Encodes arithmetic on singles whose factors, or first summand, are 16-bit numbers.
pub(super) fn mixed(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    (ty, narrow): (ScalarType, ScalarType),
    rounding: Rounding,
    saturate: bool,
) -> Encoded<Op> {
    let op = match form.base {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "fma" => FloatOp::Fma,
        _ => return Err(form.unsupported("the instruction does not support two types")),
    };
    if ty != ScalarType::F32 || !matches!(narrow, ScalarType::F16 | ScalarType::BF16) {
        return Err(form.unsupported("the types must be .f32, and .f16 or .bf16"));
    }
    let factors = if op == FloatOp::Fma { 2 } else { 1 };
    form.count(factors + 2)?;
    let d = encoder.destination(&form.operands[0], ty)?;
    let mut sources = [Src(0); 3];
    for (at, operand) in form.operands[1..].iter().enumerate() {
        sources[at] = encoder.source(operand, if at < factors { narrow } else { ty })?;
    }
    let spec = FloatSpec {
        saturate,
        ..FloatSpec::new(op, FloatFormat::Single, rounding)
    };
    encoder.tables.scalars.push(Scalar {
        kind: ScalarKind::Mixed(spec, format_of(narrow)),
        wide: false,
        d,
        sources,
    });
    Ok(Op::Scalar(encoder.tables.scalars.len() as u32 - 1))
}
