//! Conversion for `cvt` forms without a dedicated lane function, one lane at a time.

use super::soft;
use crate::half::half_to_single;
use crate::ops::{Convert, FloatFormat, Rounding};
use crate::types::ScalarType;

/// Converts source register bits to destination register bits.
pub(super) fn convert(spec: &Convert, raw: u64) -> u64 {
    let bits = match (spec.from.is_float(), spec.to.is_float()) {
        (false, false) => from_integer(spec, integer(spec.from, raw)),
        (false, true) => float_from_integer(spec, integer(spec.from, raw)),
        (true, false) => integer_from_float(spec, read_float(spec, raw)),
        (true, true) => float_from_float(spec, read_float(spec, raw)),
    };
    fill_register(spec, bits)
}

/// Extends a result that is narrower than its register, according to its sign.
fn fill_register(spec: &Convert, bits: u64) -> u64 {
    let width = spec.to.bits();
    let extended = if spec.to.is_signed() && width < spec.to_bits {
        let unused = 64 - width;
        ((bits << unused) as i64 >> unused) as u64
    } else {
        bits
    };
    if spec.to_bits == 64 {
        extended
    } else {
        extended & ((1 << spec.to_bits) - 1)
    }
}

fn integer(ty: ScalarType, raw: u64) -> i128 {
    let unused = 64 - ty.bits();
    if ty.is_signed() {
        i128::from((raw << unused) as i64 >> unused)
    } else {
        i128::from((raw << unused) >> unused)
    }
}

fn limits(ty: ScalarType) -> (i128, i128) {
    let bits = ty.bits();
    if ty.is_signed() {
        (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    } else {
        (0, (1 << bits) - 1)
    }
}

fn from_integer(spec: &Convert, value: i128) -> u64 {
    let (low, high) = limits(spec.to);
    let value = if spec.saturate {
        value.clamp(low, high)
    } else {
        value
    };
    truncate(spec.to, value as u64)
}

fn truncate(ty: ScalarType, value: u64) -> u64 {
    if ty.bits() == 64 {
        value
    } else {
        value & ((1 << ty.bits()) - 1)
    }
}

fn read_float(spec: &Convert, raw: u64) -> f64 {
    match spec.from {
        ScalarType::F64 => f64::from_bits(raw),
        ScalarType::F32 => {
            let value = f32::from_bits(raw as u32);
            f64::from(if spec.flush && value.is_subnormal() {
                0.0f32.copysign(value)
            } else {
                value
            })
        }
        ScalarType::BF16 => f64::from(f32::from_bits((raw as u32) << 16)),
        _ => f64::from(half_to_single(raw as u16)),
    }
}

fn round_to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Converts float to integer, always clamping. NaN becomes zero, except that conversions from or to
/// 64 bits give the most negative number (PTX ISA, "cvt").
fn integer_from_float(spec: &Convert, value: f64) -> u64 {
    if value.is_nan() {
        let wide = spec.from == ScalarType::F64 || spec.to.bits() == 64;
        return if wide { 1 << (spec.to.bits() - 1) } else { 0 };
    }
    let (low, high) = limits(spec.to);
    let rounded = round_to_integral(value, spec.rounding);
    truncate(spec.to, (rounded as i128).clamp(low, high) as u64)
}

fn float_from_integer(spec: &Convert, value: i128) -> u64 {
    // `.sat` clamps to 0..1, which the integers 0 and 1 survive.
    let value = if spec.saturate {
        value.clamp(0, 1)
    } else {
        value
    };
    match spec.to {
        ScalarType::F64 => soft::from_integer(FloatFormat::Double, value, spec.rounding),
        ScalarType::F32 => {
            let nearest = value as f32;
            let order = (nearest as i128).cmp(&value);
            let single = steer(nearest, order, value < 0, spec.rounding);
            u64::from(single.to_bits())
        }
        _ => soft::from_integer(half_format(spec.to), value, spec.rounding),
    }
}

/// Adjusts a value rounded to nearest for another rounding mode; `order` compares it with the exact
/// value.
fn steer(nearest: f32, order: std::cmp::Ordering, negative: bool, rounding: Rounding) -> f32 {
    let down = match rounding {
        Rounding::Nearest => return nearest,
        Rounding::Down => true,
        Rounding::Up => false,
        Rounding::Zero => !negative,
    };
    match order {
        std::cmp::Ordering::Greater if down => nearest.next_down(),
        std::cmp::Ordering::Less if !down => nearest.next_up(),
        _ => nearest,
    }
}

fn float_from_float(spec: &Convert, value: f64) -> u64 {
    let mut value = value;
    if spec.integral {
        value = round_to_integral(value, spec.rounding);
    }
    if spec.saturate {
        // NaN becomes zero.
        value = if value > 0.0 { value.min(1.0) } else { 0.0 };
    }
    match spec.to {
        ScalarType::F64 if value.is_nan() => 0x7ff8_0000_0000_0000,
        ScalarType::F64 => value.to_bits(),
        ScalarType::F32 if value.is_nan() => 0x7fff_ffff,
        ScalarType::F32 => {
            let nearest = value as f32;
            let order = f64::from(nearest).total_cmp(&value);
            let rounding = if spec.integral {
                Rounding::Nearest
            } else {
                spec.rounding
            };
            let single = steer(nearest, order, value < 0.0, rounding);
            let single = if spec.flush && single.is_subnormal() {
                0.0f32.copysign(single)
            } else {
                single
            };
            u64::from(single.to_bits())
        }
        _ => {
            let format = half_format(spec.to);
            let bits = soft::narrow(format, value, spec.rounding);
            soft::restrict(format, bits, spec.relu, spec.finite)
        }
    }
}

fn half_format(ty: ScalarType) -> FloatFormat {
    if ty == ScalarType::BF16 {
        FloatFormat::Brain
    } else {
        FloatFormat::Half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(value: f64) -> u64 {
        soft::narrow(FloatFormat::Half, value, Rounding::Nearest)
    }

    #[test]
    fn every_half_survives_the_way_to_single_and_back() {
        for bits in 0..=u16::MAX {
            let single = half_to_single(bits);
            if !single.is_nan() {
                assert_eq!(half(f64::from(single)), u64::from(bits), "{bits:#06x}");
            }
        }
    }

    #[test]
    fn halves_round_to_nearest_even_and_overflow_to_infinity() {
        assert_eq!(half(2049.0), half(2048.0));
        assert_eq!(half(2051.0), half(2052.0));
        assert_eq!(half(65519.9), 0x7bff);
        assert_eq!(half(65520.0), 0x7c00);
    }
}
