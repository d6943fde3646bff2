//! Reference numbers together with the precision in which they were written.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::Tolerance;

/// Number of a table with its count of decimals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) value: f64,
    decimals: u32,
}

/// Maximum number of decimals; more exceed the precision of binary numbers.
const DECIMALS_MAX: i64 = 15;

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value: f64 = text.parse().map_err(D::Error::custom)?;
        if !value.is_finite() {
            return Err(D::Error::custom("expected a finite number"));
        }
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let after_point = digits.split_once('.').map_or(0, |(_, after)| after.len());
        let exponent: i64 = exponent.parse().unwrap_or(0);
        let decimals = i64::try_from(after_point).unwrap_or(DECIMALS_MAX) - exponent;
        Ok(Self {
            value,
            decimals: decimals.clamp(0, DECIMALS_MAX) as u32,
        })
    }
}

/// Tolerance for equality as written: to the largest number of decimals in the column, since
/// trailing zeros are often dropped.
pub(crate) fn as_written(column: impl IntoIterator<Item = Written>) -> Tolerance {
    let decimals = column.into_iter().map(|number| number.decimals).max();
    Tolerance::Rounded(decimals.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> Option<(f64, u32)> {
        let text = serde_json::Value::from(text);
        let number: Option<Written> = serde_json::from_value(text).ok();
        number.map(|n| (n.value, n.decimals))
    }

    #[test]
    fn decimals_are_those_of_the_text() {
        assert_eq!(written("26.839"), Some((26.839, 3)));
        assert_eq!(written("5e-05"), Some((5e-5, 5)));
        assert_eq!(written("1.5e3"), Some((1500.0, 0)));
        assert_eq!(written("7"), Some((7.0, 0)));
    }

    #[test]
    fn what_is_no_finite_number_is_refused() {
        for text in ["nan", "inf", "1e999", "", "1.2.3", "0x10"] {
            assert_eq!(written(text), None, "{text}");
        }
        assert_eq!(written("1e-99999999999999999999"), Some((0.0, 0)));
    }
}
