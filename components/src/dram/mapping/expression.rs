//! Parser for bit expressions, which turns text into one parity mask per bit.
//!
//! ```text
//! xor     := part { '^' part }
//! part    := ( 'a' | '{' xor { ',' xor } '}' | '(' xor ')' | 'poly' '(' xor ',' degree ')' )
//!            { '[' bit [ ':' bit ] ']' }
//! ```

use warpweave_framework::SpecError;
use warpweave_params::{NESTING_MAX, nested_too_deep};

/// Primitive polynomials of degree 2 to 8 without their highest term. Those of degree 4 to 6 are
/// GPGPU-Sim's for 16, 32 and 64 banks.
const POLYNOMIALS: [u64; 7] = [0b11, 0b11, 0b11, 0b101, 0b11, 0b11, 0b1_1101];

/// Parses an expression into its bits, least significant first. Each bit is the parity of a mask
/// over the `bits` bits of the access number.
pub(super) fn parse(text: &str, bits: u32) -> Result<Vec<u64>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let mut parser = Parser {
        text,
        at: 0,
        bits,
        depth: 0,
    };
    let value = parser.xor()?;
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.expected("`^`, `[` or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    bits: u32,
    /// Nesting depth of the brackets open at this point.
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text[self.at..].trim_start()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at = self.text.len() - self.rest().len() + token.len();
        }
        found
    }

    fn need(&mut self, token: &str) -> Result<(), String> {
        if self.take(token) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{token}`")))
        }
    }

    fn expected(&self, what: &str) -> String {
        let rest = self.rest();
        if rest.is_empty() {
            format!("`{}` ends where {what} was expected", self.text)
        } else {
            format!("`{}`: expected {what} before `{rest}`", self.text)
        }
    }

    fn number(&mut self) -> Result<u32, String> {
        let rest = self.rest();
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(number) = rest[..digits].parse() else {
            return Err(self.expected("a number"));
        };
        self.at = self.text.len() - rest.len() + digits;
        Ok(number)
    }

    fn xor(&mut self) -> Result<Vec<u64>, String> {
        let mut value = self.part()?;
        while self.take("^") {
            let other = self.part()?;
            if value.len() != other.len() {
                return Err(format!(
                    "`{}`: the operands of ^ have {} and {} bits",
                    self.text,
                    value.len(),
                    other.len()
                ));
            }
            for (mine, theirs) in value.iter_mut().zip(other) {
                *mine ^= theirs;
            }
        }
        Ok(value)
    }

    fn part(&mut self) -> Result<Vec<u64>, String> {
        if self.depth == NESTING_MAX {
            return Err(format!("`{}`: {}", self.text, nested_too_deep()));
        }
        self.depth += 1;
        let value = self.part_within();
        self.depth -= 1;
        value
    }

    fn part_within(&mut self) -> Result<Vec<u64>, String> {
        let mut value = if self.take("poly") {
            self.need("(")?;
            let dividend = self.xor()?;
            self.need(",")?;
            let degree = self.number()?;
            self.need(")")?;
            SpecError::in_range("degree", degree, 2..=8)
                .map_err(|e| format!("`{}`: {} {e}", self.text, e.field))?;
            remainder(&dividend, degree)
        } else if self.take("{") {
            let mut pieces = vec![self.xor()?];
            while self.take(",") {
                pieces.push(self.xor()?);
            }
            self.need("}")?;
            pieces.into_iter().rev().flatten().collect()
        } else if self.take("(") {
            let inner = self.xor()?;
            self.need(")")?;
            inner
        } else if self.take("a") {
            (0..self.bits).map(|bit| 1 << bit).collect()
        } else {
            return Err(self.expected("`a`, `{`, `(` or `poly`"));
        };
        while self.take("[") {
            value = self.slice(&value)?;
        }
        Ok(value)
    }

    fn slice(&mut self, value: &[u64]) -> Result<Vec<u64>, String> {
        let high = self.number()?;
        let low = if self.take(":") { self.number()? } else { high };
        self.need("]")?;
        if low > high || high as usize >= value.len() {
            return Err(format!(
                "`{}`: [{high}:{low}] is outside the range of {} bits",
                self.text,
                value.len()
            ));
        }
        Ok(value[low as usize..=high as usize].to_vec())
    }
}

/// Returns `dividend` modulo the polynomial of this degree, 2 to 8, by bitwise division from the
/// top.
fn remainder(dividend: &[u64], degree: u32) -> Vec<u64> {
    let polynomial = POLYNOMIALS[degree as usize - 2];
    let mut left = vec![0; degree as usize];
    for &bit in dividend.iter().rev() {
        // Multiply what is left by x, reduce, add the bit.
        let carry = left.pop().expect("a degree of at least 2");
        left.insert(0, bit);
        for (power, term) in left.iter_mut().enumerate() {
            if polynomial >> power & 1 != 0 {
                *term ^= carry;
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_slices_and_concatenations_name_what_they_say() {
        assert_eq!(parse("a[3]", 8), Ok(vec![8]));
        assert_eq!(parse(" a[2:1] ", 8), Ok(vec![2, 4]));
        assert_eq!(parse("{a[0], a[7:6]}", 8), Ok(vec![64, 128, 1]));
        assert_eq!(parse("(a[3:0] ^ a[7:4])[2:1]", 8), Ok(vec![0x22, 0x44]));
        assert_eq!(parse("", 8), Ok(vec![]));
    }

    #[test]
    fn the_remainder_is_that_of_long_division() {
        let rows = parse("poly(a[15:0], 4)", 16).expect("well formed");
        for a in 0..1u64 << 16 {
            let mut left = a;
            for bit in (4..16).rev() {
                if left >> bit & 1 != 0 {
                    left ^= 0b1_0011 << (bit - 4);
                }
            }
            let ours: u64 = (0..4)
                .map(|i| u64::from((a & rows[i]).count_ones() & 1) << i)
                .sum();
            assert_eq!(ours, left, "{a:#x}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |open: &str, close: &str, depth: usize| {
            parse(
                &format!("{}a{}", open.repeat(depth), close.repeat(depth)),
                8,
            )
        };
        for (open, close) in [("(", ")"), ("{", "}"), ("poly(", ", 8)")] {
            assert!(nested(open, close, 127).is_ok(), "{open}");
            for depth in [128, 100_000] {
                let error = nested(open, close, depth).expect_err("too deep");
                assert!(
                    error.ends_with("nested more than 128 levels deep"),
                    "{open}"
                );
            }
        }
    }

    #[test]
    fn every_polynomial_is_primitive() {
        for (i, low) in POLYNOMIALS.into_iter().enumerate() {
            let degree = i + 2;
            let (mut power, mut order) = (1u64, 0);
            loop {
                power <<= 1;
                if power >> degree & 1 != 0 {
                    power ^= 1 << degree | low;
                }
                order += 1;
                if power == 1 {
                    break;
                }
            }
            assert_eq!(order, (1 << degree) - 1, "degree {degree}");
        }
    }

    #[test]
    fn mistakes_are_named_with_what_was_expected() {
        for (text, said) in [
            (
                "b[3]",
                "`b[3]`: expected `a`, `{`, `(` or `poly` before `b[3]`",
            ),
            ("a[3", "`a[3` ends where `]` was expected"),
            ("a[9]", "`a[9]`: [9:9] is outside the range of 8 bits"),
            ("a[1:2]", "`a[1:2]`: [1:2] is outside the range of 8 bits"),
            (
                "a[1:0] ^ a[2]",
                "`a[1:0] ^ a[2]`: the operands of ^ have 2 and 1 bits",
            ),
            ("poly(a, 9)", "`poly(a, 9)`: degree 9, expected 2 to 8"),
            (
                "a[1] a[2]",
                "`a[1] a[2]`: expected `^`, `[` or the end before `a[2]`",
            ),
        ] {
            assert_eq!(parse(text, 8), Err(said.to_owned()));
        }
    }
}
