//! Software floating point for any format and rounding mode, one number at a time.
//!
//! Every result is the exact one, rounded once. NaN results are the canonical NaN of the format
//! (PTX ISA, "Floating Point Instructions"). Approximate functions are computed in double
//! precision.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloat, Double, Half, Single};
use rustc_apfloat::{Float, FloatConvert, Round};

use crate::half::half_to_single;
use crate::ops::{Eighth, FloatFormat, FloatOp, FloatSpec, Rounding};

fn direction(rounding: Rounding) -> Round {
    match rounding {
        Rounding::Nearest => Round::NearestTiesToEven,
        Rounding::Zero => Round::TowardZero,
        Rounding::Down => Round::TowardNegative,
        Rounding::Up => Round::TowardPositive,
    }
}

fn canonical(format: FloatFormat) -> u64 {
    match format {
        FloatFormat::Half | FloatFormat::Brain => 0x7fff,
        FloatFormat::Single => 0x7fff_ffff,
        FloatFormat::Double => 0x7ff8_0000_0000_0000,
    }
}

/// Returns the result of an instruction; both halves for a packed pair.
pub(super) fn evaluate(spec: &FloatSpec, operands: [u64; 3]) -> u64 {
    if spec.pair {
        let width = if spec.format == FloatFormat::Single {
            32
        } else {
            16
        };
        let ones = (1 << width) - 1;
        let low = one(spec, operands.map(|bits| bits & ones));
        let high = one(spec, operands.map(|bits| bits >> width & ones));
        return high << width | low;
    }
    one(spec, operands)
}

fn one(spec: &FloatSpec, operands: [u64; 3]) -> u64 {
    match spec.format {
        FloatFormat::Half => compute::<Half>(spec, operands),
        FloatFormat::Brain => compute::<BFloat>(spec, operands),
        FloatFormat::Single => compute::<Single>(spec, operands),
        FloatFormat::Double => compute::<Double>(spec, operands),
    }
}

/// Rounds a double to another format and returns its bits.
pub(super) fn narrow(format: FloatFormat, value: f64, rounding: Rounding) -> u64 {
    let value = Double::from_bits(u128::from(value.to_bits()));
    match format {
        FloatFormat::Half => narrowed::<Half>(format, value, rounding),
        FloatFormat::Brain => narrowed::<BFloat>(format, value, rounding),
        FloatFormat::Single => narrowed::<Single>(format, value, rounding),
        FloatFormat::Double => narrowed::<Double>(format, value, rounding),
    }
}

fn narrowed<F: Float>(format: FloatFormat, value: Double, rounding: Rounding) -> u64
where
    Double: FloatConvert<F>,
{
    if value.is_nan() {
        return canonical(format);
    }
    let result: F = value.convert_r(direction(rounding), &mut false).value;
    result.to_bits() as u64
}

/// Returns the exact value of a 16-bit number.
pub(super) fn widen(format: FloatFormat, bits: u64) -> f32 {
    match format {
        FloatFormat::Half => half_to_single(bits as u16),
        _ => f32::from_bits((bits as u32) << 16),
    }
}

/// Rounds a number to an 8-bit format, whose greatest number stands for all that are greater.
pub(super) fn to_eighth(format: Eighth, value: f32, relu: bool) -> u64 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    let (exponent, fraction, greatest) = match format {
        Eighth::E4M3 => (4, 3, 0x7e),
        Eighth::E5M2 => (5, 2, 0x7b),
    };
    let sign = u64::from(value.is_sign_negative()) << 7;
    let size = f64::from(value.abs());
    // Exponent of the unit in the last place; the least one is that of subnormal numbers.
    let least = 2 - (1 << (exponent - 1));
    let unit = (f64::to_bits(size) >> 52) as i32 - 1023;
    let unit = unit.max(least) - fraction;
    let kept = (size * 2f64.powi(-unit)).round_ties_even();
    let biased = f64::from(unit + fraction - least);
    // A hidden bit, and a carry out of the fraction, count up the exponent.
    let bits = kept + biased * 2f64.powi(fraction);
    sign | (bits as u64).min(greatest)
}

/// Returns the exact value of a number of 8 bits.
pub(super) fn from_eighth(format: Eighth, bits: u64) -> f32 {
    match format {
        Eighth::E5M2 => half_to_single((bits as u16) << 8),
        Eighth::E4M3 if bits & 0x7f == 0x7f => f32::NAN,
        Eighth::E4M3 => {
            let (exponent, fraction) = (bits >> 3 & 15, bits & 7);
            let size = match exponent {
                0 => fraction as f32 * 2f32.powi(-9),
                _ => (fraction | 8) as f32 * 2f32.powi(exponent as i32 - 10),
            };
            if bits & 0x80 == 0 { size } else { -size }
        }
    }
}

/// Rounds an integer to a floating-point format and returns its bits.
pub(super) fn from_integer(format: FloatFormat, value: i128, rounding: Rounding) -> u64 {
    let round = direction(rounding);
    let bits = match format {
        FloatFormat::Half => Half::from_i128_r(value, round).value.to_bits(),
        FloatFormat::Brain => BFloat::from_i128_r(value, round).value.to_bits(),
        FloatFormat::Single => Single::from_i128_r(value, round).value.to_bits(),
        FloatFormat::Double => Double::from_i128_r(value, round).value.to_bits(),
    };
    bits as u64
}

/// Applies `.relu` and `.satfinite` to a result.
pub(super) fn restrict(format: FloatFormat, bits: u64, relu: bool, finite: bool) -> u64 {
    let (sign, infinity) = match format {
        FloatFormat::Half => (0x8000, 0x7c00),
        FloatFormat::Brain => (0x8000, 0x7f80),
        FloatFormat::Single => (1 << 31, 0x7f80_0000),
        FloatFormat::Double => (1 << 63, 0x7ff0_0000_0000_0000),
    };
    let magnitude = bits & (sign - 1);
    if magnitude > infinity {
        return canonical(format);
    }
    if relu && bits & sign != 0 {
        return 0;
    }
    if finite && magnitude == infinity {
        return bits - 1;
    }
    bits
}

fn flushed<F: Float>(value: F, flush: bool) -> F {
    if flush && value.is_denormal() {
        F::ZERO.copy_sign(value)
    } else {
        value
    }
}

fn compute<F: Float + FloatConvert<Double>>(spec: &FloatSpec, operands: [u64; 3]) -> u64
where
    Double: FloatConvert<F>,
{
    let [a, b, c] = operands.map(|bits| flushed(F::from_bits(u128::from(bits)), spec.flush));
    let round = direction(spec.rounding);
    let value = match spec.op {
        FloatOp::Neg => return (-a).to_bits() as u64,
        FloatOp::Abs => return a.abs().to_bits() as u64,
        FloatOp::Add => a.add_r(b, round).value,
        FloatOp::Sub => a.sub_r(b, round).value,
        FloatOp::Mul => a.mul_r(b, round).value,
        FloatOp::Fma => a.mul_add_r(b, c, round).value,
        FloatOp::Div => a.div_r(b, round).value,
        FloatOp::Rcp => F::from_u128(1).value.div_r(a, round).value,
        FloatOp::Sqrt => square_root(a, round),
        FloatOp::Min => extreme(spec, a, b, Ordering::Less),
        FloatOp::Max => extreme(spec, a, b, Ordering::Greater),
        FloatOp::MinOfThree => {
            let least = extreme(spec, a, b, Ordering::Less);
            extreme(spec, least, c, Ordering::Less)
        }
        FloatOp::MaxOfThree => {
            let greatest = extreme(spec, a, b, Ordering::Greater);
            extreme(spec, greatest, c, Ordering::Greater)
        }
        FloatOp::Tanh => through_double(a, f64::tanh),
        FloatOp::Ex2 => through_double(a, f64::exp2),
    };
    let mut value = flushed(value, spec.flush);
    if spec.saturate {
        let one = F::from_u128(1).value;
        // NaN becomes zero.
        value = if value >= one {
            one
        } else if value > F::ZERO {
            value
        } else {
            F::ZERO
        };
    }
    if value.is_nan() {
        return canonical(spec.format);
    }
    restrict(spec.format, value.to_bits() as u64, spec.relu, spec.finite)
}

fn through_double<F: FloatConvert<Double> + Float>(a: F, f: impl Fn(f64) -> f64) -> F
where
    Double: FloatConvert<F>,
{
    let wide: Double = a.convert(&mut false).value;
    let result = f(f64::from_bits(wide.to_bits() as u64));
    Double::from_bits(u128::from(result.to_bits()))
        .convert(&mut false)
        .value
}

/// Computes the square root of a single or double. Starts from the host's root rounded to nearest,
/// and corrects it if its square is on the wrong side of the operand.
fn square_root<F: Float + FloatConvert<Double>>(a: F, round: Round) -> F
where
    Double: FloatConvert<F>,
{
    let wide: Double = a.convert(&mut false).value;
    let exact = f64::from_bits(wide.to_bits() as u64);
    // A power of four keeps the residue of the smallest operands a normal number.
    let scale = if exact < 2f64.powi(-500) { 268 } else { 0 };
    let exact = exact * 2f64.powi(2 * scale);
    let root: F = Double::from_bits(u128::from(exact.sqrt().to_bits()))
        .convert(&mut false)
        .value;
    if root.is_nan() || root.is_zero() || root.is_infinite() {
        return root;
    }
    let of = |root: F| {
        let wide: Double = root.convert(&mut false).value;
        f64::from_bits(wide.to_bits() as u64)
    };
    let residue = of(root).mul_add(of(root), -exact);
    let bits = root.to_bits();
    let moved = match round {
        Round::TowardZero | Round::TowardNegative if residue > 0.0 => bits - 1,
        Round::TowardPositive if residue < 0.0 => bits + 1,
        _ => bits,
    };
    let root = F::from_bits(moved);
    root.scalbn(-scale)
}

/// Returns the minimum or maximum; -0 is smaller than +0, and a NaN loses unless `.NaN` is set.
fn extreme<F: Float>(spec: &FloatSpec, a: F, b: F, wanted: Ordering) -> F {
    let negative = a.is_negative() != b.is_negative();
    let [a, b] = if spec.xorsign || spec.magnitudes {
        [a.abs(), b.abs()]
    } else {
        [a, b]
    };
    let value = match a.partial_cmp(&b) {
        None if spec.nan || a.is_nan() && b.is_nan() => return F::NAN,
        None => {
            if a.is_nan() {
                b
            } else {
                a
            }
        }
        Some(Ordering::Equal) => {
            if a.is_negative() == (wanted == Ordering::Less) {
                a
            } else {
                b
            }
        }
        Some(order) => {
            if order == wanted {
                a
            } else {
                b
            }
        }
    };
    if spec.xorsign && value.is_negative() != negative {
        -value
    } else {
        value
    }
}
