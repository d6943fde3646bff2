//! Energies and powers with units, in the format of coefficient files.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error};

/// Energy in joules, written `"86.1 pJ"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Joules(pub f64);

/// Power in watts, written `"1.59 W"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Watts(pub f64);

/// Closed range of a quantity, written `("20 pJ", "80 pJ")`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range<Q> {
    /// Lower bound of the range, inclusive.
    pub low: Q,
    /// Upper bound of the range, inclusive.
    pub high: Q,
}

impl<Q: PartialOrd> Range<Q> {
    /// True if a quantity is within the range, bounds included.
    pub fn contains(&self, quantity: &Q) -> bool {
        (&self.low..=&self.high).contains(&quantity)
    }
}

/// Unit prefixes with their factors, in the order in which messages list them.
const PREFIXES: [(&str, f64); 6] = [
    ("f", 1e-15),
    ("p", 1e-12),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("", 1.0),
];

impl Joules {
    /// Parses a number with a unit of energy.
    ///
    /// # Errors
    /// Returns a description of the mistake and of the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        read(text, "J", "an energy", "86.1 pJ").map(Self)
    }
}

impl Watts {
    /// Parses a number with a unit of power.
    ///
    /// # Errors
    /// Returns a description of the mistake and of the expected form.
    pub fn parse(text: &str) -> Result<Self, String> {
        read(text, "W", "a power", "1.59 W").map(Self)
    }
}

fn read(text: &str, base: &str, what: &str, example: &str) -> Result<f64, String> {
    let trimmed = text.trim();
    let number = trimmed.trim_end_matches(char::is_alphabetic);
    let unit = &trimmed[number.len()..];
    let factor = PREFIXES
        .iter()
        .find(|(prefix, _)| unit.strip_suffix(base) == Some(prefix));
    let Some((_, factor)) = factor else {
        let units: Vec<_> = PREFIXES.iter().map(|(p, _)| format!("{p}{base}")).collect();
        return Err(format!(
            "`{text}` is not {what}: units are {}, as in \"{example}\"",
            units.join(", ")
        ));
    };
    match number.trim().parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value * factor),
        _ => Err(format!(
            "`{text}` is not {what}: expected a number of at least 0 before the unit, as in \
             \"{example}\""
        )),
    }
}

impl<'de> Deserialize<'de> for Joules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Watts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

impl<'de, Q: Deserialize<'de> + PartialOrd> Deserialize<'de> for Range<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (low, high) = <(Q, Q)>::deserialize(deserializer)?;
        if low > high {
            return Err(D::Error::custom(
                "a range must not end below its start\nhint: write the low end first, as in (\"20 pJ\", \"80 pJ\")",
            ));
        }
        Ok(Self { low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_scale() {
        assert_eq!(Joules::parse("2 J"), Ok(Joules(2.0)));
        assert_eq!(Joules::parse("2.5pJ"), Ok(Joules(2.5e-12)));
        assert_eq!(Watts::parse(" 300 mW "), Ok(Watts(300.0 * 1e-3)));
        assert_eq!(Joules::parse("0 fJ"), Ok(Joules(0.0)));
    }

    #[test]
    fn a_unit_of_something_else_is_refused() {
        for text in ["2 W", "2", "2 kJ", "pJ", "-1 pJ", "NaN pJ", "1e400 J", ""] {
            assert!(Joules::parse(text).is_err(), "{text}");
        }
        let message = Watts::parse("3 pJ").unwrap_err();
        assert!(
            message.contains("units are fW, pW, nW, uW, mW, W"),
            "{message}"
        );
    }
}
