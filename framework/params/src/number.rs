//! Numbers in a description that are evaluated later: integers, fractions or expressions.

use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{self, Deserialize, Deserializer, EnumAccess, Visitor};

use crate::expression::{Env, eval_at};
use crate::node::Kind;
use crate::placed::Placed;
use crate::{Diagnostic, out_of_range};

/// A number as it is given in a description.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// Integer, written without a fraction or exponent.
    Int(i128),
    /// Number with a fraction or an exponent.
    Float(f64),
    /// An expression, without the `=` that marks it in files.
    Expression(String),
}

impl Placed<Number> {
    /// Evaluates the number, replacing an expression by its value.
    ///
    /// # Errors
    /// Returns an error, at the part at fault, if the expression has no value.
    pub fn evaluate(&self, env: &Env) -> Result<Number, Diagnostic> {
        let Number::Expression(text) = &self.value else {
            return Ok(self.value.clone());
        };
        match eval_at(text, self.place.as_ref(), env)? {
            Kind::Int(value) => Ok(Number::Int(value)),
            Kind::Float(value) => Ok(Number::Float(value)),
            other => Err(self.error(format!("expected a number, found {}", other.describe()))),
        }
    }

    /// Evaluates to an integer within a range; `what` begins the message.
    ///
    /// # Errors
    /// Returns an error for an expression without a value, a fraction, or a number outside the
    /// range.
    pub fn integer(
        &self,
        env: &Env,
        what: &str,
        range: RangeInclusive<i128>,
    ) -> Result<i128, Diagnostic> {
        match self.evaluate(env)? {
            Number::Int(number) => match out_of_range(&number, &range) {
                Some(words) => Err(self.error(format!("{what} is {words}"))),
                None => Ok(number),
            },
            Number::Float(number) => {
                Err(self.error(format!("{what} is {number:?}, expected a whole number")))
            }
            Number::Expression(_) => unreachable!("evaluation replaces all expressions"),
        }
    }

    /// Evaluates to a double-precision number without any range check.
    ///
    /// # Errors
    /// Returns an error if the expression has no value.
    pub fn float(&self, env: &Env) -> Result<f64, Diagnostic> {
        Ok(match self.evaluate(env)? {
            Number::Int(number) => number as f64,
            Number::Float(number) => number,
            Number::Expression(_) => unreachable!("evaluation replaces all expressions"),
        })
    }

    /// Evaluates to a single-precision number, rounded to nearest; `what` begins the message.
    ///
    /// # Errors
    /// Returns an error for an expression without a value, or a number beyond the range.
    pub fn single(&self, env: &Env, what: &str) -> Result<f32, Diagnostic> {
        let number = self.float(env)?;
        if number.is_finite() && !(number as f32).is_finite() {
            let message = format!("{what} is {number:e}, which is out of range for f32");
            return Err(self.error(message));
        }
        Ok(number as f32)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number or an expression such as \"=n\"")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
                Ok(Number::Int(number.into()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
                Ok(Number::Int(number.into()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
                Ok(Number::Float(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                match text.strip_prefix('=') {
                    Some(expression) => Ok(Number::Expression(expression.to_owned())),
                    None => Err(E::custom(format_args!(
                        "expected a number or an expression, found string {text:?}\n\
                         hint: write \"={text}\""
                    ))),
                }
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Number, A::Error> {
                let (name, _) = data.variant::<String>()?;
                Err(de::Error::custom(format_args!(
                    "expected a number or an expression, found `{name}`\n\
                     hint: write \"={name}\""
                )))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

/// Creates an expression, with or without a leading `=`.
impl From<&str> for Placed<Number> {
    fn from(text: &str) -> Self {
        let expression = text.strip_prefix('=').unwrap_or(text);
        Number::Expression(expression.to_owned()).into()
    }
}

impl From<u32> for Placed<Number> {
    fn from(value: u32) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<u64> for Placed<Number> {
    fn from(value: u64) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<i32> for Placed<Number> {
    fn from(value: i32) -> Self {
        Number::Int(value.into()).into()
    }
}

impl From<f32> for Placed<Number> {
    fn from(value: f32) -> Self {
        Number::Float(value.into()).into()
    }
}

impl From<f64> for Placed<Number> {
    fn from(value: f64) -> Self {
        Number::Float(value).into()
    }
}
