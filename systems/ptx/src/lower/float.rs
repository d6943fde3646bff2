//! Encoding of floating-point arithmetic (PTX ISA, "Floating Point Instructions").
//!
//! Results follow IEEE 754. Singles and doubles rounded to nearest even have lane functions; other
//! roundings and half precision are computed one lane at a time. Approximate instructions return
//! the correctly rounded result, which is within every error bound of the ISA. NaN results are the
//! ISA's canonical NaN, so no bit depends on the host.

#![allow(clippy::float_cmp)] // Minimum and maximum compare exactly.

use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::float_bits::{bits32, f, format_of};
use crate::lower::packed;
use crate::ops::{
    Binary32, Binary64, Op, Ternary32, Ternary64, Unary32, Unary64, compare, flush, lanes,
};
use crate::ops::{FloatFormat, FloatOp, FloatSpec, Logic, Outcome, Pred, Rounding, ScalarKind};
use crate::types::ScalarType;

const NAN64: u64 = 0x7ff8_0000_0000_0000;

#[inline(always)]
fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        NAN64
    } else {
        value.to_bits()
    }
}

/// Implements `.ftz` for doubles, which only approximate instructions have.
fn flush64(bits: u64) -> u64 {
    if bits & 0x7ff0_0000_0000_0000 == 0 {
        bits & 1 << 63
    } else {
        bits
    }
}

#[inline(always)]
fn g(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Implements `.sat`: clamps to 0..1, and NaN becomes 0.
#[inline(always)]
pub(crate) fn saturate(value: f32) -> f32 {
    if value >= 1.0 {
        1.0
    } else if value > 0.0 {
        value
    } else {
        0.0
    }
}

/// Builds the four combinations of `.ftz` and `.sat` for a single-precision operation.
macro_rules! single {
    ($ftz:expr, $sat:expr, |$a:ident| $e:expr) => {
        match ($ftz, $sat) {
            (false, false) => lanes!(|x: u32| -> u32 {
                let $a = f(x);
                bits32($e)
            }),
            (true, false) => lanes!(|x: u32| -> u32 {
                let $a = f(flush(x));
                flush(bits32($e))
            }),
            (false, true) => lanes!(|x: u32| -> u32 {
                let $a = f(x);
                bits32(saturate($e))
            }),
            (true, true) => {
                lanes!(|x: u32| -> u32 {
                    let $a = f(flush(x));
                    flush(bits32(saturate($e)))
                })
            }
        }
    };
    ($ftz:expr, $sat:expr, |$a:ident, $b:ident| $e:expr) => {
        match ($ftz, $sat) {
            (false, false) => lanes!(|x: u32, y: u32| -> u32 {
                let ($a, $b) = (f(x), f(y));
                bits32($e)
            }),
            (true, false) => lanes!(|x: u32, y: u32| -> u32 {
                let ($a, $b) = (f(flush(x)), f(flush(y)));
                flush(bits32($e))
            }),
            (false, true) => lanes!(|x: u32, y: u32| -> u32 {
                let ($a, $b) = (f(x), f(y));
                bits32(saturate($e))
            }),
            (true, true) => lanes!(|x: u32, y: u32| -> u32 {
                let ($a, $b) = (f(flush(x)), f(flush(y)));
                flush(bits32(saturate($e)))
            }),
        }
    };
    ($ftz:expr, $sat:expr, |$a:ident, $b:ident, $c:ident| $e:expr) => {
        match ($ftz, $sat) {
            (false, false) => lanes!(|x: u32, y: u32, z: u32| -> u32 {
                let ($a, $b, $c) = (f(x), f(y), f(z));
                bits32($e)
            }),
            (true, false) => lanes!(|x: u32, y: u32, z: u32| -> u32 {
                let ($a, $b, $c) = (f(flush(x)), f(flush(y)), f(flush(z)));
                flush(bits32($e))
            }),
            (false, true) => lanes!(|x: u32, y: u32, z: u32| -> u32 {
                let ($a, $b, $c) = (f(x), f(y), f(z));
                bits32(saturate($e))
            }),
            (true, true) => lanes!(|x: u32, y: u32, z: u32| -> u32 {
                let ($a, $b, $c) = (f(flush(x)), f(flush(y)), f(flush(z)));
                flush(bits32(saturate($e)))
            }),
        }
    };
}

pub(crate) fn float(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let rounding = form.take_one(|name| match name {
        "rn" => Some(Rounding::Nearest),
        "rz" => Some(Rounding::Zero),
        "rm" => Some(Rounding::Down),
        "rp" => Some(Rounding::Up),
        _ => None,
    });
    let rounding = rounding.unwrap_or(Rounding::Nearest);
    let approximate = form.take("approx") || form.take("full");
    let (ftz, sat, nan) = (form.take("ftz"), form.take("sat"), form.take("NaN"));
    if form.base == "testp" {
        return test_property(encoder, form);
    }
    let ty = form.take_type()?;
    if let Some(narrow) = form.take_one(ScalarType::from_name) {
        if ftz {
            return Err(form.unsupported("two types do not go with `.ftz`"));
        }
        return packed::mixed(encoder, form, (ty, narrow), rounding, sat);
    }
    if matches!(form.base, "min" | "max") && form.operands.len() == 4 {
        return packed::extreme_of_three(encoder, form, ty, ftz, nan);
    }
    if ty == ScalarType::F32X2 && !sat {
        return packed::pair_of_singles(encoder, form, rounding, ftz);
    }
    let none = || form.unsupported("the instruction does not support this type");
    let exact = matches!(format_of(ty), FloatFormat::Brain | FloatFormat::Double);
    let flushes = approximate || !exact;
    if ftz && !flushes || sat && exact {
        return Err(form.unsupported("the type does not support this modifier"));
    }
    if rounding != Rounding::Nearest || ty.is_half() || form.has("xorsign") {
        return float_scalar(encoder, form, ty, (rounding, ftz, sat, nan));
    }
    let operands = form.operands;
    let is_double = ty == ScalarType::F64;
    match form.base {
        "abs" | "neg" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "ex2" | "lg2" | "tanh" => {
            form.count(2)?;
            let (d, a) = (
                encoder.destination(&operands[0], ty)?,
                encoder.source(&operands[1], ty)?,
            );
            if is_double {
                let f = unary64(form.base, ftz).ok_or_else(none)?;
                return Ok(Op::Unary64 { f, d, a });
            }
            Ok(Op::Unary32 {
                f: unary32(form.base, ftz, sat).ok_or_else(none)?,
                d,
                a,
            })
        }
        "fma" | "mad" => {
            form.count(4)?;
            let d = encoder.destination(&operands[0], ty)?;
            let (a, b) = (
                encoder.source(&operands[1], ty)?,
                encoder.source(&operands[2], ty)?,
            );
            let c = encoder.source(&operands[3], ty)?;
            if is_double {
                let f: Ternary64 =
                    lanes!(|a: u64, b: u64, c: u64| -> u64 { bits64(g(a).mul_add(g(b), g(c))) });
                return Ok(Op::Ternary64 { f, d, a, b, c });
            }
            let f: Ternary32 = single!(ftz, sat, |a, b, c| a.mul_add(b, c));
            Ok(Op::Ternary32 { f, d, a, b, c })
        }
        _ => {
            form.count(3)?;
            let d = encoder.destination(&operands[0], ty)?;
            let (a, b) = (
                encoder.source(&operands[1], ty)?,
                encoder.source(&operands[2], ty)?,
            );
            if is_double {
                return Ok(Op::Binary64 {
                    f: double(form.base).ok_or_else(none)?,
                    d,
                    a,
                    b,
                });
            }
            let f = single(form.base, ftz, sat, nan).ok_or_else(none)?;
            Ok(Op::Binary32 { f, d, a, b })
        }
    }
}

/// Encodes arithmetic that is executed one lane at a time.
fn float_scalar(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    ty: ScalarType,
    (rounding, flush, saturate, nan): (Rounding, bool, bool, bool),
) -> Encoded<Op> {
    let op = match form.base {
        "add" => FloatOp::Add,
        "sub" => FloatOp::Sub,
        "mul" => FloatOp::Mul,
        "fma" | "mad" => FloatOp::Fma,
        "div" => FloatOp::Div,
        "rcp" => FloatOp::Rcp,
        "sqrt" => FloatOp::Sqrt,
        "neg" => FloatOp::Neg,
        "abs" => FloatOp::Abs,
        "min" => FloatOp::Min,
        "max" => FloatOp::Max,
        "tanh" => FloatOp::Tanh,
        "ex2" => FloatOp::Ex2,
        _ => {
            return Err(form.unsupported("the instruction does not support this type or rounding"));
        }
    };
    let rounds = matches!(
        op,
        FloatOp::Add
            | FloatOp::Sub
            | FloatOp::Mul
            | FloatOp::Fma
            | FloatOp::Div
            | FloatOp::Rcp
            | FloatOp::Sqrt
    );
    if rounding != Rounding::Nearest && (!rounds || ty.is_half()) {
        return Err(
            form.unsupported("the instruction does not support this rounding for this type")
        );
    }
    if ty.is_half() && matches!(op, FloatOp::Div | FloatOp::Rcp | FloatOp::Sqrt) {
        return Err(form.unsupported("the instruction does not support this type"));
    }
    let is_extreme = matches!(op, FloatOp::Min | FloatOp::Max);
    let xorsign = is_extreme && form.take("xorsign");
    if xorsign && !form.take("abs") {
        return Err(form.unsupported("`.xorsign` needs `.abs`"));
    }
    if nan && !is_extreme {
        return Err(form.unsupported("`.NaN` is only for minimum and maximum"));
    }
    let relu = op == FloatOp::Fma && ty.is_half() && form.take("relu");
    let operands = match op {
        FloatOp::Fma => 3,
        FloatOp::Neg
        | FloatOp::Abs
        | FloatOp::Rcp
        | FloatOp::Sqrt
        | FloatOp::Tanh
        | FloatOp::Ex2 => 1,
        _ => 2,
    };
    form.count(operands + 1)?;
    let kind = ScalarKind::Float(FloatSpec {
        flush,
        saturate,
        relu,
        nan,
        xorsign,
        pair: ty.is_pair(),
        ..FloatSpec::new(op, format_of(ty), rounding)
    });
    encoder.scalar(form, kind, (ty, ty))
}

fn test_property(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let names = [
        "finite",
        "infinite",
        "number",
        "notanumber",
        "normal",
        "subnormal",
    ];
    let property = form
        .take_one(|name| names.into_iter().find(|&known| known == name))
        .ok_or_else(|| form.unsupported("missing or unknown property to test"))?;
    let ty = form.take_type()?;
    form.count(2)?;
    let p = encoder.predicate_destination(&form.operands[0])?;
    let a = encoder.source(&form.operands[1], ty)?;
    let outcome = Outcome {
        p,
        q: Pred::NONE,
        logic: Logic::First,
        with: Pred(Pred::TRUE),
    };
    if ty == ScalarType::F64 {
        let f = match property {
            "finite" => compare!(|a, _b: u64| g(a).is_finite()),
            "infinite" => compare!(|a, _b: u64| g(a).is_infinite()),
            "number" => compare!(|a, _b: u64| !g(a).is_nan()),
            "notanumber" => compare!(|a, _b: u64| g(a).is_nan()),
            "normal" => compare!(|a, _b: u64| g(a).is_normal() || g(a) == 0.0),
            _ => compare!(|a, _b: u64| g(a).is_subnormal()),
        };
        return Ok(Op::Compare64 {
            f,
            a,
            b: a,
            outcome,
        });
    }
    let f = match property {
        "finite" => compare!(|a, _b: u32| f(a).is_finite()),
        "infinite" => compare!(|a, _b: u32| f(a).is_infinite()),
        "number" => compare!(|a, _b: u32| !f(a).is_nan()),
        "notanumber" => compare!(|a, _b: u32| f(a).is_nan()),
        "normal" => compare!(|a, _b: u32| f(a).is_normal() || f(a) == 0.0),
        _ => compare!(|a, _b: u32| f(a).is_subnormal()),
    };
    Ok(Op::Compare32 {
        f,
        a,
        b: a,
        outcome,
    })
}

/// Computes `f` in double precision. Double rounding is harmless at these error bounds, and the
/// result does not depend on the host's single-precision library.
#[inline(always)]
fn through_double(a: f32, f: impl Fn(f64) -> f64) -> f32 {
    f(f64::from(a)) as f32
}

fn unary32(name: &str, ftz: bool, sat: bool) -> Option<Unary32> {
    Some(match name {
        "abs" if ftz => lanes!(|a: u32| -> u32 { flush(a) & 0x7fff_ffff }),
        "abs" => lanes!(|a: u32| -> u32 { a & 0x7fff_ffff }),
        "neg" if ftz => lanes!(|a: u32| -> u32 { flush(a) ^ 0x8000_0000 }),
        "neg" => lanes!(|a: u32| -> u32 { a ^ 0x8000_0000 }),
        "rcp" => single!(ftz, sat, |a| 1.0 / a),
        "sqrt" => single!(ftz, sat, |a| a.sqrt()),
        "rsqrt" => single!(ftz, sat, |a| through_double(a, |a| 1.0 / a.sqrt())),
        "sin" => single!(ftz, sat, |a| through_double(a, f64::sin)),
        "cos" => single!(ftz, sat, |a| through_double(a, f64::cos)),
        "ex2" => single!(ftz, sat, |a| through_double(a, f64::exp2)),
        "lg2" => single!(ftz, sat, |a| through_double(a, f64::log2)),
        "tanh" => single!(ftz, sat, |a| through_double(a, f64::tanh)),
        _ => return None,
    })
}

fn unary64(name: &str, ftz: bool) -> Option<Unary64> {
    Some(match name {
        "rcp" if ftz => lanes!(|a: u64| -> u64 { flush64(bits64(1.0 / g(flush64(a)))) }),
        "rsqrt" if ftz => lanes!(|a: u64| -> u64 { bits64(1.0 / g(flush64(a)).sqrt()) }),
        _ if ftz => return None,
        "abs" => lanes!(|a: u64| -> u64 { a & (u64::MAX >> 1) }),
        "neg" => lanes!(|a: u64| -> u64 { a ^ 1 << 63 }),
        "rcp" => lanes!(|a: u64| -> u64 { bits64(1.0 / g(a)) }),
        "sqrt" => lanes!(|a: u64| -> u64 { bits64(g(a).sqrt()) }),
        "rsqrt" => lanes!(|a: u64| -> u64 { bits64(1.0 / g(a).sqrt()) }),
        _ => return None,
    })
}

fn single(name: &str, ftz: bool, sat: bool, nan: bool) -> Option<Binary32> {
    Some(match name {
        "add" => single!(ftz, sat, |a, b| a + b),
        "sub" => single!(ftz, sat, |a, b| a - b),
        "mul" => single!(ftz, sat, |a, b| a * b),
        "div" => single!(ftz, sat, |a, b| a / b),
        "min" if nan => single!(ftz, false, |a, b| if a.is_nan() || b.is_nan() {
            f32::NAN
        } else {
            least(a, b)
        }),
        "min" => single!(ftz, false, |a, b| least(a, b)),
        "max" if nan => single!(ftz, false, |a, b| if a.is_nan() || b.is_nan() {
            f32::NAN
        } else {
            -least(-a, -b)
        }),
        "max" => single!(ftz, false, |a, b| -least(-a, -b)),
        "copysign" => lanes!(|a: u32, b: u32| -> u32 { a & 0x8000_0000 | b & 0x7fff_ffff }),
        _ => return None,
    })
}

/// Returns the smaller number; -0 is smaller than +0, and a number wins over NaN (`a` against `b`).
#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

#[inline(always)]
fn least64(a: f64, b: f64) -> f64 {
    if a < b || b.is_nan() || (a == b && a.is_sign_negative()) {
        a
    } else {
        b
    }
}

fn double(name: &str) -> Option<Binary64> {
    Some(match name {
        "add" => lanes!(|a: u64, b: u64| -> u64 { bits64(g(a) + g(b)) }),
        "sub" => lanes!(|a: u64, b: u64| -> u64 { bits64(g(a) - g(b)) }),
        "mul" => lanes!(|a: u64, b: u64| -> u64 { bits64(g(a) * g(b)) }),
        "div" => lanes!(|a: u64, b: u64| -> u64 { bits64(g(a) / g(b)) }),
        "min" => lanes!(|a: u64, b: u64| -> u64 { bits64(least64(g(a), g(b))) }),
        "max" => lanes!(|a: u64, b: u64| -> u64 { bits64(-least64(-g(a), -g(b))) }),
        "copysign" => lanes!(|a: u64, b: u64| -> u64 { a & 1 << 63 | b & u64::MAX >> 1 }),
        _ => return None,
    })
}
