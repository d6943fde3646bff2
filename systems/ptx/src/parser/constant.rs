//! Parser for constant expressions of integers (PTX ISA, "Constant Expressions").

use super::{Parsed, Parser};
use crate::diagnostics::SpannedError;
use crate::lexer::Kind;

/// Binary operators, those that bind most loosely first. Longer ones precede their beginnings.
const OPERATORS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

/// Level of multiplication, which binds more tightly than a sum.
const PRODUCTS: usize = 9;

impl Parser<'_> {
    /// Parses a constant expression and returns its value as 64 bits.
    pub(super) fn expression(&mut self) -> Parsed<u64> {
        let value = self.level(0)?;
        if !self.eat('?') {
            return Ok(value as u64);
        }
        let yes = self.deeper(Self::expression)?;
        self.expect(':', "in the conditional expression")?;
        let no = self.deeper(Self::expression)?;
        Ok(if value == 0 { no } else { yes })
    }

    /// Parses an optional sum of offsets that begins with `+` or `-`.
    pub(super) fn signed_offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        loop {
            let negative = match self.peek().kind {
                Kind::Punct('+') => false,
                Kind::Punct('-') => true,
                _ => return Ok(sum),
            };
            self.next();
            let value = self.level(PRODUCTS)?;
            sum = if negative {
                sum.wrapping_sub(value)
            } else {
                sum.wrapping_add(value)
            };
        }
    }

    fn level(&mut self, level: usize) -> Parsed<i64> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.deeper(Self::unary);
        };
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.operator(operators) {
            let span = self.peek().span;
            for _ in 0..operator.len() {
                self.next();
            }
            let right = self.level(level + 1)?;
            left = apply(operator, left, right)
                .ok_or_else(|| SpannedError::new(span, "division by zero"))?;
        }
        Ok(left)
    }

    /// Returns the operator of `operators` that follows, if the text there is not a longer one.
    fn operator(&self, operators: &[&'static str]) -> Option<&'static str> {
        let Kind::Punct(_) = self.peek().kind else {
            return None;
        };
        let rest = &self.text[self.peek().span.start as usize..];
        let all = OPERATORS.iter().copied().flatten();
        let found = all.filter(|operator| rest.starts_with(**operator));
        let longest = found.copied().max_by_key(|operator| operator.len())?;
        operators.contains(&longest).then_some(longest)
    }

    fn unary(&mut self) -> Parsed<i64> {
        match self.peek().kind {
            Kind::Integer(value) => {
                self.next();
                Ok(value as i64)
            }
            Kind::Word if self.slice(self.peek().span) == "WARP_SZ" => {
                self.next();
                Ok(32)
            }
            Kind::Punct('-') => {
                self.next();
                Ok(self.deeper(Self::unary)?.wrapping_neg())
            }
            Kind::Punct('+') => {
                self.next();
                self.deeper(Self::unary)
            }
            Kind::Punct('~') => {
                self.next();
                Ok(!self.deeper(Self::unary)?)
            }
            Kind::Punct('!') => {
                self.next();
                Ok(i64::from(self.deeper(Self::unary)? == 0))
            }
            Kind::Punct('(') => {
                self.next();
                // A cast keeps all bits.
                let is_cast = matches!(self.dot(), Some("s64" | "u64"));
                if is_cast {
                    self.next();
                    self.expect(')', "after the type")?;
                    return self.deeper(Self::unary);
                }
                let value = self.expression()?;
                self.expect(')', "after the expression")?;
                Ok(value as i64)
            }
            _ => Err(self.expected("a number")),
        }
    }
}

fn apply(operator: &str, left: i64, right: i64) -> Option<i64> {
    Some(match operator {
        "||" => i64::from(left != 0 || right != 0),
        "&&" => i64::from(left != 0 && right != 0),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<<" => left.checked_shl(right as u32).unwrap_or(0),
        ">>" => left >> right.clamp(0, 63),
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" if right != 0 => left.wrapping_div(right),
        "%" if right != 0 => left.wrapping_rem(right),
        _ => return None,
    })
}
