//! Floating-point numbers as bits, and their formats.

use crate::ops::FloatFormat;
use crate::types::ScalarType;

const NAN32: u32 = 0x7fff_ffff;

#[inline(always)]
pub(super) fn bits32(value: f32) -> u32 {
    if value.is_nan() {
        NAN32
    } else {
        value.to_bits()
    }
}

#[inline(always)]
pub(super) fn f(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Returns the floating-point format of a type.
pub(crate) fn format_of(ty: ScalarType) -> FloatFormat {
    match ty {
        ScalarType::F16 | ScalarType::F16X2 => FloatFormat::Half,
        ScalarType::BF16 | ScalarType::BF16X2 => FloatFormat::Brain,
        ScalarType::F32 => FloatFormat::Single,
        _ => FloatFormat::Double,
    }
}
