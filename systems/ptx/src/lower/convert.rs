//! Encoding of conversion and data movement: `cvt`, `cvta`, `mov`, `isspacep`.

use crate::address_space::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::{Operand, Value};
use crate::ops::{
    Constant, Convert, Eighth, FloatFormat, FloatOp, FloatSpec, Logic, NO_REGISTER, Op, Parts,
    Region, Rounding, ScalarKind, Src, Unary32, VectorMove, Widen, lanes,
};
use crate::site::Symbol;
use crate::types::{ScalarType, StateSpace};

pub(crate) fn convert(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let rounding = form.take_one(|name| {
        Some(match name {
            "rn" => (Rounding::Nearest, false),
            "rz" => (Rounding::Zero, false),
            "rm" => (Rounding::Down, false),
            "rp" => (Rounding::Up, false),
            "rni" => (Rounding::Nearest, true),
            "rzi" => (Rounding::Zero, true),
            "rmi" => (Rounding::Down, true),
            "rpi" => (Rounding::Up, true),
            _ => return None,
        })
    });
    let (flush, saturate) = (form.take("ftz"), form.take("sat"));
    let (relu, finite) = (form.take("relu"), form.take("satfinite"));
    if form.take("pack") {
        return pack_integers(encoder, form, saturate);
    }
    let eighth = form.take_one(|name| match name {
        "e4m3x2" => Some(Eighth::E4M3),
        "e5m2x2" => Some(Eighth::E5M2),
        _ => None,
    });
    refuse_formats(form)?;
    if let Some(format) = eighth {
        let is_nearest = matches!(rounding, Some((Rounding::Nearest, false)));
        return eighths(
            encoder,
            form,
            format,
            is_nearest && !flush && !saturate,
            (relu, finite),
        );
    }
    let (to, from) = (form.take_type()?, form.take_type()?);
    let is_half = matches!(to, ScalarType::F16 | ScalarType::BF16) || to.is_pair();
    if (relu || finite) && !is_half {
        return Err(form.unsupported("`.relu` and `.satfinite` require a 16-bit result"));
    }
    if to.is_pair() || from.is_pair() {
        let rounding = rounding.map(|(rounding, _)| rounding);
        return pack_pair(encoder, form, (to, from), rounding, (relu, finite));
    }
    form.count(2)?;
    if to == ScalarType::Pred || from == ScalarType::Pred {
        return Err(form.unsupported("predicates cannot be converted"));
    }
    let (rounding, integral) = rounding.unwrap_or((Rounding::Nearest, false));
    let (d, to_bits) = encoder.wide_destination(&form.operands[0], to)?;
    let (a, from_wide) = convert_source(encoder, &form.operands[1], from)?;
    if !saturate
        && !flush
        && let Some(op) = fast(to, from, (to_bits, from_wide, d, a))
    {
        return Ok(op);
    }
    encoder.tables.converts.push(Convert {
        to,
        from,
        rounding,
        integral,
        saturate,
        flush,
        relu,
        finite,
        from_wide,
        to_bits,
        d,
        a,
    });
    Ok(Op::Convert(encoder.tables.converts.len() as u32 - 1))
}

/// Rejects number formats that only tensor cores support.
fn refuse_formats(form: &Form<'_>) -> Encoded<()> {
    let formats = [
        "tf32", "e2m1x2", "e2m3x2", "e3m2x2", "ue8m0x2", "e4m3x4", "e5m2x4", "e2m1x4", "e2m3x4",
        "e3m2x4",
    ];
    match formats.into_iter().find(|name| form.has(name)) {
        Some(name) => {
            let why = format!("numbers of type .{name} are not supported");
            Err(form.unsupported(&why))
        }
        None => Ok(()),
    }
}

/// Encodes `cvt.pack` of two integers, with the low bits of a third above them.
fn pack_integers(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    saturate: bool,
) -> Encoded<Op> {
    let to = form.take_one(|name| {
        Some(match name {
            "u2" => (2, false),
            "s2" => (2, true),
            "u4" => (4, false),
            "s4" => (4, true),
            "u8" => (8, false),
            "s8" => (8, true),
            "u16" => (16, false),
            "s16" => (16, true),
            _ => return None,
        })
    });
    let Some((bits, signed)) = to.filter(|_| saturate && form.take("s32")) else {
        return Err(form.unsupported("expected `.sat`, a packed type and `.s32`"));
    };
    if bits < 16 && !form.take("b32") {
        return Err(form.unsupported("parts of less than 16 bits require a third source, `.b32`"));
    }
    form.count(if bits < 16 { 4 } else { 3 })?;
    let word = ScalarType::B32;
    let kind = ScalarKind::PackIntegers { bits, signed };
    encoder.scalar(form, kind, (word, word))
}

/// Encodes conversions to and from pairs of 8-bit floating-point numbers.
fn eighths(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    format: Eighth,
    is_nearest: bool,
    (relu, finite): (bool, bool),
) -> Encoded<Op> {
    let other = form.take_type()?;
    // The written order tells the direction: the result comes first.
    let is_result = form.names_first(&["e4m3x2", "e5m2x2"], other);
    if !is_nearest || finite != is_result {
        return Err(form.unsupported(
            "expected `.rn`, with `.satfinite` if the result has 8 bits and without otherwise",
        ));
    }
    let pair = ScalarType::B16;
    match other {
        ScalarType::F32 if is_result => form.count(3)?,
        ScalarType::F16X2 => form.count(2)?,
        _ => return Err(form.unsupported("the other type must be .f16x2, or two .f32")),
    }
    let from_pair = other == ScalarType::F16X2;
    let (kind, types) = if is_result {
        let kind = ScalarKind::ToEighths {
            format,
            relu,
            from_pair,
        };
        (kind, (pair, other))
    } else {
        (ScalarKind::FromEighths { format, relu }, (other, pair))
    };
    encoder.scalar(form, kind, types)
}

/// Encodes the conversion of two singles to a pair, the first in the upper half.
fn pack_pair(
    encoder: &mut Encoder<'_, '_>,
    form: &mut Form<'_>,
    (to, from): (ScalarType, ScalarType),
    rounding: Option<Rounding>,
    (relu, finite): (bool, bool),
) -> Encoded<Op> {
    let format = match to {
        ScalarType::F16X2 => FloatFormat::Half,
        ScalarType::BF16X2 => FloatFormat::Brain,
        _ => return Err(form.unsupported("packed pairs can only be converted from two .f32")),
    };
    let (ScalarType::F32, Some(rounding @ (Rounding::Nearest | Rounding::Zero))) = (from, rounding)
    else {
        return Err(form.unsupported("a packed pair requires two .f32 and `.rn` or `.rz`"));
    };
    form.count(3)?;
    let kind = ScalarKind::Pack(FloatSpec {
        relu,
        finite,
        ..FloatSpec::new(FloatOp::Add, format, rounding)
    });
    encoder.scalar(form, kind, (to, from))
}

/// Returns the source of a conversion, which may be in a wider register.
fn convert_source(
    encoder: &mut Encoder<'_, '_>,
    operand: &Operand,
    from: ScalarType,
) -> Encoded<(Src, bool)> {
    match operand.value {
        Value::Register(register) => {
            let bits = encoder.ty(register).bits();
            if bits < from.bits() || matches!(bits, 1 | 128) {
                return Ok((encoder.source(operand, from)?, false));
            }
            Ok((Src(encoder.number(register)), bits == 64))
        }
        _ if from.bits() == 64 => Ok((encoder.double(operand, from)?, true)),
        _ => Ok((encoder.any_word(operand, from)?, false)),
    }
}

/// Encodes `cvta`. Global and constant addresses are generic addresses already. Local and
/// private memory and the kernel arguments have windows.
pub(crate) fn convert_address(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let to_space = form.take("to");
    let space = form
        .take_one(StateSpace::from_name)
        .ok_or_else(|| form.unsupported("missing state space"))?;
    let ty = form.take_type()?;
    form.count(2)?;
    let source = &form.operands[1];
    let is_private = matches!(
        source.value,
        Value::Symbol(Symbol::Frame(_) | Symbol::Private(_), _)
    );
    let window = match space {
        StateSpace::Global | StateSpace::Const => 0,
        // A parameter of a function, or outside functions, is in private memory.
        StateSpace::Param if !is_private => PARAM_WINDOW.start,
        StateSpace::Argument => PARAM_WINDOW.start,
        StateSpace::Shared => SHARED_WINDOW.start,
        StateSpace::Local | StateSpace::Param => LOCAL_WINDOW.start,
        _ => return Err(form.unsupported("unsupported state space")),
    };
    let d = encoder.destination(&form.operands[0], ty)?;
    if let Value::Symbol(Symbol::Frame(index), offset) = source.value {
        let at = i64::from(encoder.function.body.frame[index].offset).wrapping_add(offset);
        let offset = (at as u64).wrapping_add(window) as u32;
        return Ok(Op::FrameAddress {
            d,
            offset,
            wide: ty.bits() == 64,
        });
    }
    let a = encoder.source(source, ty)?;
    let delta = if to_space {
        window.wrapping_neg()
    } else {
        window
    };
    Ok(match (ty.bits(), window) {
        (64, 0) => Op::Move64 { d, a },
        (64, _) => {
            let b = encoder.constant64(Constant::Value(delta));
            Op::Binary64 {
                f: lanes!(|a: u64, b: u64| -> u64 { a.wrapping_add(b) }),
                d,
                a,
                b,
            }
        }
        (32, 0) => Op::Move32 { d, a },
        (32, _) => {
            let b = encoder.constant32(Constant::Value(delta & 0xffff_ffff));
            Op::Binary32 {
                f: lanes!(|a: u32, b: u32| -> u32 { a.wrapping_add(b) }),
                d,
                a,
                b,
            }
        }
        _ => return Err(form.unsupported("addresses are .u32 or .u64")),
    })
}

pub(crate) fn is_space(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let space = form
        .take_one(StateSpace::from_name)
        .ok_or_else(|| form.unsupported("missing state space"))?;
    form.count(2)?;
    let region = match space {
        StateSpace::Global => Region::Global,
        StateSpace::Const => Region::Const,
        StateSpace::Shared => Region::Shared,
        StateSpace::Local => Region::Local,
        StateSpace::Param | StateSpace::Argument => Region::Param,
        _ => return Err(form.unsupported("unsupported state space")),
    };
    let d = encoder.predicate_destination(&form.operands[0])?;
    let operand = &form.operands[1];
    let wide = match operand.value {
        Value::Register(register) => encoder.ty(register).bits() == 64,
        _ => true,
    };
    let ty = if wide {
        ScalarType::U64
    } else {
        ScalarType::U32
    };
    let a = encoder.source(operand, ty)?;
    Ok(Op::IsSpace { region, d, a, wide })
}

/// Encodes `mov` of a vector, element by element.
fn mov_vector(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    ty: ScalarType,
    count: usize,
) -> Encoded<Op> {
    let (Value::Vector(to), Value::Vector(from)) =
        (&form.operands[0].value, &form.operands[1].value)
    else {
        return Err(form.unsupported("expected two vectors"));
    };
    if to.len() != count || from.len() != count || matches!(ty.bits(), 1 | 8 | 128) {
        return Err(form.unsupported("the number of registers does not match the vector length"));
    }
    let mut elements = Vec::new();
    for (d, a) in to.iter().zip(from) {
        elements.push((encoder.optional_destination(d, ty)?, encoder.source(a, ty)?));
    }
    let wide = ty.bits() == 64;
    encoder
        .tables
        .vector_moves
        .push(VectorMove { wide, elements });
    Ok(Op::MoveVector(encoder.tables.vector_moves.len() as u32 - 1))
}

pub(crate) fn mov(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let count = form.take_vector();
    let ty = form.take_type()?;
    form.count(2)?;
    if let Some(count) = count {
        return mov_vector(encoder, form, ty, count);
    }
    let [d, a] = [&form.operands[0], &form.operands[1]];
    if ty == ScalarType::Pred {
        let (d, a) = (encoder.predicate_destination(d)?, encoder.predicate(a)?);
        return Ok(Op::Predicate {
            logic: Logic::First,
            d,
            a,
            b: a,
        });
    }
    if ty == ScalarType::B128 {
        return mov_quad(encoder, form, d, a);
    }
    if let Value::Vector(parts) = &d.value {
        return unpack(encoder, form, parts, a, ty);
    }
    if let Value::Vector(parts) = &a.value {
        return pack(encoder, form, d, parts, ty);
    }
    if let Value::Symbol(Symbol::Frame(index), offset) = a.value {
        let d = encoder.destination(d, ty)?;
        let at = i64::from(encoder.function.body.frame[index].offset).wrapping_add(offset);
        return Ok(Op::FrameAddress {
            d,
            offset: at as u32,
            wide: ty.bits() == 64,
        });
    }
    let d = encoder.destination(d, ty)?;
    let is_special = matches!(a.value, Value::Special(_));
    let a = encoder.source(a, ty)?;
    Ok(match ty.bits() {
        64 => Op::Move64 { d, a },
        16 if is_special => Op::Unary32 {
            f: lanes!(|a: u32| -> u32 { a & 0xffff }),
            d,
            a,
        },
        _ => Op::Move32 { d, a },
    })
}

/// Encodes a 128-bit `mov` from or to two registers.
fn mov_quad(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    d: &Operand,
    a: &Operand,
) -> Encoded<Op> {
    let (whole, half) = (ScalarType::B128, ScalarType::B64);
    match (&d.value, &a.value) {
        (Value::Vector(parts), _) if parts.len() == 2 => Ok(Op::Part {
            low: encoder.optional_destination(&parts[0], half)?,
            high: encoder.optional_destination(&parts[1], half)?,
            a: encoder.source(a, whole)?,
        }),
        (_, Value::Vector(parts)) if parts.len() == 2 => Ok(Op::Join {
            d: encoder.destination(d, whole)?,
            low: encoder.source(&parts[0], half)?,
            high: encoder.source(&parts[1], half)?,
        }),
        _ => Err(form.unsupported("expected a 128-bit move to or from two 64-bit registers")),
    }
}

fn part_bits(form: &Form<'_>, ty: ScalarType, count: usize) -> Encoded<u32> {
    let bits = ty.bits() / count.max(1) as u32;
    if matches!(count, 2 | 4) && matches!(bits, 8 | 16 | 32) {
        return Ok(bits);
    }
    Err(form.unsupported("the widths of the parts do not add up to the whole"))
}

fn part_type(bits: u32) -> ScalarType {
    match bits {
        8 => ScalarType::B8,
        16 => ScalarType::B16,
        _ => ScalarType::B32,
    }
}

fn unpack(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    list: &[Operand],
    a: &Operand,
    ty: ScalarType,
) -> Encoded<Op> {
    let bits = part_bits(form, ty, list.len())?;
    let mut registers = [NO_REGISTER; 4];
    for (register, part) in registers.iter_mut().zip(list) {
        *register = encoder.optional_destination(part, part_type(bits))?;
    }
    let whole = encoder.source(a, ty)?;
    let wide = ty.bits() == 64;
    let sources = [Src(0); 4];
    let parts = Parts {
        bits,
        count: list.len(),
        registers,
        sources,
        whole,
        wide,
    };
    encoder.tables.parts.push(parts);
    Ok(Op::Unpack(encoder.tables.parts.len() as u32 - 1))
}

fn pack(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    d: &Operand,
    list: &[Operand],
    ty: ScalarType,
) -> Encoded<Op> {
    let bits = part_bits(form, ty, list.len())?;
    let mut sources = [Src(0); 4];
    for (source, part) in sources.iter_mut().zip(list) {
        *source = encoder.word(part, part_type(bits))?;
    }
    let mut registers = [NO_REGISTER; 4];
    registers[0] = encoder.destination(d, ty)?;
    let wide = ty.bits() == 64;
    let parts = Parts {
        bits,
        count: list.len(),
        registers,
        sources,
        whole: Src(0),
        wide,
    };
    encoder.tables.parts.push(parts);
    Ok(Op::Pack(encoder.tables.parts.len() as u32 - 1))
}

/// Returns a dedicated lane function for the most frequent conversions. Sources that are constants
/// or special registers are never wide.
fn fast(
    to: ScalarType,
    from: ScalarType,
    (to_bits, from_wide, d, a): (u32, bool, u16, Src),
) -> Option<Op> {
    use ScalarType::{F32, F64, S8, S16, S32, S64, U8, U16, U32, U64};
    if to_bits != to.bits().max(16) || from_wide != (from.bits() == 64) {
        return None;
    }
    let widen = |f: Widen| Some(Op::Widen { f, d, a });
    let unary = |f: Unary32| Some(Op::Unary32 { f, d, a });
    match (to, from) {
        (U64 | S64, U32) => widen(lanes!(|a: u32| -> u64 { u64::from(a) })),
        (U64 | S64, S32) => widen(lanes!(|a: u32| -> u64 { i64::from(a as i32) as u64 })),
        (U64 | S64, U16) => widen(lanes!(|a: u32| -> u64 { u64::from(a & 0xffff) })),
        (U64 | S64, S16) => widen(lanes!(|a: u32| -> u64 { i64::from(a as i16) as u64 })),
        (U32 | S32, U64 | S64) => Some(Op::Narrow {
            f: lanes!(|a: u64| -> u32 { a as u32 }),
            d,
            a,
        }),
        (U32 | S32, U16) | (U16 | S16, U32 | S32) => unary(lanes!(|a: u32| -> u32 { a & 0xffff })),
        (U32 | S32, S16) => unary(lanes!(|a: u32| -> u32 { i32::from(a as i16) as u32 })),
        (U32 | S32 | U16 | S16, U8) => unary(lanes!(|a: u32| -> u32 { a & 0xff })),
        (U32 | S32, S8) => unary(lanes!(|a: u32| -> u32 { i32::from(a as i8) as u32 })),
        (F64, F32) => widen(lanes!(|a: u32| -> u64 {
            let value = f64::from(f32::from_bits(a));
            if value.is_nan() {
                0x7ff8_0000_0000_0000
            } else {
                value.to_bits()
            }
        })),
        (F64, S32) => widen(lanes!(|a: u32| -> u64 { f64::from(a as i32).to_bits() })),
        (F64, U32) => widen(lanes!(|a: u32| -> u64 { f64::from(a).to_bits() })),
        _ => None,
    }
}
