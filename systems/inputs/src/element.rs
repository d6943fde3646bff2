//! Types of array elements: their bit patterns, and the packing of arrays into words.
//!
//! Arrays are passed as the little-endian words of their memory. Elements of less than four bytes
//! share a word, and those of eight take two. Unused bytes of the last word are zero.

use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeInclusive;

use rustc_apfloat::ieee::{BFloat, Double, Half};
use rustc_apfloat::{Float, FloatConvert};
use serde::{Deserialize, Serialize};
use warpweave_params::{Diagnostic, Env};

use crate::Value;

/// Number of bytes in a word of an array.
const WORD_BYTES: usize = 4;

/// Element type of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ElementType {
    /// Unsigned integers of 8 bits, one byte each.
    U8,
    /// Signed integers of 8 bits, one byte each.
    S8,
    /// Unsigned integers of 16 bits, two bytes each.
    U16,
    /// Signed integers of 16 bits, two bytes each.
    S16,
    /// Unsigned integers of 32 bits, one word each.
    U32,
    /// Signed integers of 32 bits, one word each.
    S32,
    /// Unsigned integers of 64 bits, two words each.
    U64,
    /// Signed integers of 64 bits, two words each.
    S64,
    /// IEEE 754 half precision, two bytes each.
    F16,
    /// bfloat16: the upper half of a single-precision number.
    BF16,
    /// IEEE 754 single precision, one word each.
    F32,
    /// IEEE 754 double precision, two words each.
    F64,
}

impl ElementType {
    /// Returns the size of an element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 | Self::BF16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// Returns the smallest and the largest number of an integer type; `None` for a floating-point
    /// type.
    pub fn range(self) -> Option<RangeInclusive<i128>> {
        Some(match self {
            Self::U8 => 0..=u8::MAX.into(),
            Self::S8 => i8::MIN.into()..=i8::MAX.into(),
            Self::U16 => 0..=u16::MAX.into(),
            Self::S16 => i16::MIN.into()..=i16::MAX.into(),
            Self::U32 => 0..=u32::MAX.into(),
            Self::S32 => i32::MIN.into()..=i32::MAX.into(),
            Self::U64 => 0..=u64::MAX.into(),
            Self::S64 => i64::MIN.into()..=i64::MAX.into(),
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 => return None,
        })
    }

    /// Returns the bit pattern of an element. `what` is the beginning of error messages.
    ///
    /// # Errors
    /// Returns an error if the value is not a number of this type.
    pub fn bits(self, value: &Value, env: &Env, what: &str) -> Result<u64, Diagnostic> {
        if let Some(range) = self.range() {
            return Ok(self.cut(value.integer(env, what, range)?));
        }
        if self == Self::F32 {
            return Ok(value.single(env, what)?.to_bits().into());
        }
        let number = value.float(env)?;
        self.of_float(number).ok_or_else(|| {
            value.error(format!(
                "{what} is {number:e}, which is beyond the range of {self}"
            ))
        })
    }

    /// Returns the bit pattern of a whole number; `None` if out of range.
    pub fn of_whole(self, number: i128) -> Option<u64> {
        match self.range() {
            Some(range) => range.contains(&number).then(|| self.cut(number)),
            None => self.of_float(number as f64),
        }
    }

    /// Returns the bit pattern of a number, rounded to nearest for a floating-point type. An
    /// integer type needs a whole number. Returns `None` if out of range.
    pub fn of_float(self, number: f64) -> Option<u64> {
        let pattern = match self {
            Self::F16 => narrowed::<Half>(number),
            Self::BF16 => narrowed::<BFloat>(number),
            Self::F32 => (number as f32).to_bits().into(),
            Self::F64 => number.to_bits(),
            _ => {
                // Beyond 2^65 all types end.
                let is_whole = number.fract() == 0.0 && number.abs() < 2_f64.powi(65);
                return is_whole.then(|| self.of_whole(number as i128)).flatten();
            }
        };
        let stays_finite = !number.is_finite() || self.number(pattern).is_finite();
        stays_finite.then_some(pattern)
    }

    /// Parses a number from text into its bit pattern; `None` if it is not a number of this type.
    pub fn parse(self, text: &str) -> Option<u64> {
        if self.range().is_some() {
            return self.of_whole(text.parse().ok()?);
        }
        // Rounded once: from the digits.
        let number: f64 = text.parse().ok()?;
        let pattern = match self {
            Self::F32 => text.parse::<f32>().ok()?.to_bits().into(),
            _ => self.of_float(number)?,
        };
        let is_infinite = self.number(pattern).is_infinite();
        let says_so = !text.bytes().any(|byte| byte.is_ascii_digit());
        (!is_infinite || says_so).then_some(pattern)
    }

    /// Describes the input that [`parse`](Self::parse) accepts, for messages.
    pub fn expected(self) -> String {
        match self.range() {
            Some(range) => format!("a whole number from {} to {}", range.start(), range.end()),
            None => format!("a number in the range of {self}"),
        }
    }

    /// Returns the number of a bit pattern, rounded to the nearest in double precision.
    pub fn number(self, pattern: u64) -> f64 {
        match self {
            Self::F16 => widened(Half::from_bits(pattern.into())),
            Self::BF16 => f32::from_bits((pattern as u32) << 16).into(),
            Self::F32 => f32::from_bits(pattern as u32).into(),
            Self::F64 => f64::from_bits(pattern),
            _ => self.whole(pattern) as f64,
        }
    }

    /// Formats the number of a bit pattern, with the fewest digits that identify it.
    pub fn text(self, pattern: u64) -> String {
        match self {
            Self::F16 | Self::BF16 => format!("{:?}", self.number(pattern)),
            Self::F32 => format!("{:?}", f32::from_bits(pattern as u32)),
            Self::F64 => format!("{:?}", f64::from_bits(pattern)),
            _ => self.whole(pattern).to_string(),
        }
    }

    /// Compares the numbers of two bit patterns; `None` if one is NaN.
    pub fn compare(self, one: u64, other: u64) -> Option<Ordering> {
        match self.range() {
            Some(_) => Some(self.whole(one).cmp(&self.whole(other))),
            None => self.number(one).partial_cmp(&self.number(other)),
        }
    }

    /// Returns the number of a bit pattern of an integer type; `None` for a floating-point type.
    pub fn integer(self, pattern: u64) -> Option<i128> {
        self.range().map(|_| self.whole(pattern))
    }

    /// Returns the number of words that an array takes.
    pub fn words_of(self, length: usize) -> usize {
        (length * self.bytes()).div_ceil(WORD_BYTES)
    }

    /// Packs bit patterns into the words of an array.
    pub fn pack(self, patterns: impl IntoIterator<Item = u64>) -> Vec<u32> {
        let patterns = patterns.into_iter();
        match self.bytes() {
            8 => patterns
                .flat_map(|pattern| [pattern as u32, (pattern >> 32) as u32])
                .collect(),
            4 => patterns.map(|pattern| pattern as u32).collect(),
            bytes => {
                let mut words = Vec::with_capacity(self.words_of(patterns.size_hint().0));
                let of_a_word = WORD_BYTES / bytes;
                for (at, pattern) in patterns.enumerate() {
                    let within = at % of_a_word;
                    if within == 0 {
                        words.push(0);
                    }
                    let last = words.len() - 1;
                    words[last] |= (pattern as u32) << (within * bytes * 8);
                }
                words
            }
        }
    }

    /// Returns the bit pattern of one element of an array, given as words.
    ///
    /// # Panics
    /// Panics if the array is shorter.
    pub fn pattern(self, words: &[u32], index: usize) -> u64 {
        match self.bytes() {
            8 => u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32,
            4 => words[index].into(),
            bytes => {
                let of_a_word = WORD_BYTES / bytes;
                let word = words[index / of_a_word] >> (index % of_a_word * bytes * 8);
                self.cut(word.into())
            }
        }
    }

    /// Returns the lowest bits of a number, as many as the type has.
    fn cut(self, number: i128) -> u64 {
        number as u64 & u64::MAX >> (64 - 8 * self.bytes())
    }

    /// Returns the number of a pattern of an integer type.
    fn whole(self, pattern: u64) -> i128 {
        match self {
            Self::S8 => (pattern as i8).into(),
            Self::S16 => (pattern as i16).into(),
            Self::S32 => (pattern as i32).into(),
            Self::S64 => (pattern as i64).into(),
            _ => pattern.into(),
        }
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

/// Converts the bytes of a memory to words. Unused bytes of the last word are zero.
pub fn words_of_bytes(bytes: &[u8]) -> Vec<u32> {
    let (whole, rest) = bytes.as_chunks::<WORD_BYTES>();
    let mut words: Vec<u32> = whole.iter().map(|word| u32::from_le_bytes(*word)).collect();
    if !rest.is_empty() {
        let mut last = [0; WORD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        words.push(u32::from_le_bytes(last));
    }
    words
}

fn narrowed<F: Float>(number: f64) -> u64
where
    Double: FloatConvert<F>,
{
    let double = Double::from_bits(number.to_bits().into());
    let nearest: F = double.convert(&mut false).value;
    nearest.to_bits() as u64
}

fn widened(half: Half) -> f64 {
    let double: Double = half.convert(&mut false).value;
    f64::from_bits(double.to_bits() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::ElementType::*;
    use super::*;

    const ALL: [ElementType; 12] = [U8, S8, U16, S16, U32, S32, U64, S64, F16, BF16, F32, F64];

    #[test]
    fn every_type_knows_its_patterns() {
        assert_eq!(U8.of_whole(255), Some(255));
        assert_eq!(U8.of_whole(256), None);
        assert_eq!(S8.of_whole(-1), Some(0xff));
        assert_eq!(S64.of_whole(-1), Some(u64::MAX));
        assert_eq!(F16.of_float(1.0), Some(0x3c00));
        assert_eq!(F16.of_float(65504.0), Some(0x7bff));
        assert_eq!(F16.of_float(65520.0), None);
        assert_eq!(BF16.of_float(-2.0), Some(0xc000));
        assert_eq!(F64.of_float(0.1), Some(0.1_f64.to_bits()));
        assert_eq!(U64.of_float(1.5), None);
        assert_eq!(S16.of_float(-32768.0), Some(0x8000));
    }

    #[test]
    fn numbers_of_a_text_are_of_the_type_or_none() {
        assert_eq!(U16.parse("65535"), Some(65535));
        for (element, text) in [
            (U16, "65536"),
            (U8, "-1"),
            (S32, "1.0"),
            (F32, "1e39"),
            (F16, "x"),
        ] {
            assert_eq!(element.parse(text), None, "{text}");
        }
        assert_eq!(F32.parse("inf"), Some(0x7f80_0000));
        assert_eq!(F32.parse("-0.0"), Some(0x8000_0000));
        assert_eq!(U64.parse("18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn half_a_number_in_between_goes_to_the_even_one() {
        // 2049 is between 2048 and 2050.
        assert_eq!(F16.number(F16.of_float(2049.0).unwrap()), 2048.0);
        assert_eq!(F16.number(F16.of_float(2051.0).unwrap()), 2052.0);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_found_again(
            element in prop::sample::select(&ALL[..]),
            patterns in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            let patterns: Vec<u64> = patterns.iter().map(|p| element.cut(i128::from(*p))).collect();
            let words = element.pack(patterns.iter().copied());
            prop_assert_eq!(words.len(), element.words_of(patterns.len()));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            for (at, pattern) in patterns.iter().enumerate() {
                prop_assert_eq!(element.pattern(&words, at), *pattern);
                let place = at * element.bytes();
                let naive = &pattern.to_le_bytes()[..element.bytes()];
                prop_assert_eq!(&bytes[place..place + element.bytes()], naive);
            }
        }

        #[test]
        fn what_is_written_as_text_is_read_again(
            element in prop::sample::select(&ALL[..]), pattern: u64,
        ) {
            let pattern = element.cut(pattern.into());
            let is_nan = element.range().is_none() && element.number(pattern).is_nan();
            let read = element.parse(&element.text(pattern));
            prop_assert!(is_nan || read == Some(pattern));
        }
    }
}
