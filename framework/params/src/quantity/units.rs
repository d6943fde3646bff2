//! Dimensions with their units, and parsing and formatting of numbers.

use std::fmt;

use super::ratio::Ratio;
use crate::suggest::nearest;

/// Reason for which a text is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}\nhint: {hint}")]
pub struct QuantityError {
    /// Describes the problem, for the message.
    pub message: String,
    /// Suggests a text to write instead.
    pub hint: String,
}

/// One kind of quantity: its name, an example, and its units as factors of the base unit.
pub(super) struct Dimension {
    pub(super) name: &'static str,
    pub(super) article: &'static str,
    pub(super) example: &'static str,
    /// Units in ascending order; the base unit of the stored number has the factor 1/1.
    units: &'static [(&'static str, (u64, u64))],
    zero_allowed: bool,
}

pub(super) static SIZE: Dimension = Dimension {
    name: "size",
    article: "a",
    example: "48 KiB",
    units: &[
        ("B", (1, 1)),
        ("KiB", (1 << 10, 1)),
        ("MiB", (1 << 20, 1)),
        ("GiB", (1 << 30, 1)),
        ("TiB", (1 << 40, 1)),
    ],
    zero_allowed: true,
};

pub(super) static FREQUENCY: Dimension = Dimension {
    name: "frequency",
    article: "a",
    example: "1.4 GHz",
    units: &[
        ("Hz", (1, 1)),
        ("kHz", (1_000, 1)),
        ("MHz", (1_000_000, 1)),
        ("GHz", (1_000_000_000, 1)),
    ],
    zero_allowed: false,
};

pub(super) static BANDWIDTH: Dimension = Dimension {
    name: "bandwidth",
    article: "a",
    example: "716.8 GB/s",
    units: &[
        ("B/s", (1, 1)),
        ("kB/s", (1_000, 1)),
        ("KiB/s", (1 << 10, 1)),
        ("MB/s", (1_000_000, 1)),
        ("MiB/s", (1 << 20, 1)),
        ("GB/s", (1_000_000_000, 1)),
        ("GiB/s", (1 << 30, 1)),
        ("TB/s", (1_000_000_000_000, 1)),
        ("TiB/s", (1 << 40, 1)),
    ],
    zero_allowed: false,
};

pub(super) static DURATION: Dimension = Dimension {
    name: "duration",
    article: "a",
    example: "2 ns",
    units: &[
        ("fs", (1, 1_000_000_000_000_000)),
        ("ps", (1, 1_000_000_000_000)),
        ("ns", (1, 1_000_000_000)),
        ("us", (1, 1_000_000)),
        ("ms", (1, 1_000)),
        ("s", (1, 1)),
    ],
    zero_allowed: true,
};

static DIMENSIONS: [&Dimension; 4] = [&SIZE, &FREQUENCY, &BANDWIDTH, &DURATION];

impl Dimension {
    fn unit_names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.units.iter().map(|(name, _)| *name)
    }

    fn unit_list(&self) -> String {
        self.unit_names().collect::<Vec<_>>().join(", ")
    }

    pub(super) fn error(&self, message: String) -> QuantityError {
        let hint = format!(
            "write {} {} such as \"{}\"; units: {}",
            self.article,
            self.name,
            self.example,
            self.unit_list()
        );
        QuantityError { message, hint }
    }

    /// Returns the message for a number without a unit.
    pub(super) fn bare(&self, number: &dyn fmt::Display) -> QuantityError {
        self.error(format!(
            "{} {} needs a unit, found `{number}`",
            self.article, self.name
        ))
    }

    /// Parses a number with a unit of this kind and returns it in the base unit.
    pub(super) fn parse(&self, text: &str) -> Result<Ratio, QuantityError> {
        let text = text.trim();
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_' | '/' | '-' | '+');
        let unit_at = text.find(|c| !is_number(c)).unwrap_or(text.len());
        let (digits, unit) = (&text[..unit_at], text[unit_at..].trim());
        if digits.is_empty() {
            return Err(self.error(format!(
                "expected {} {}, found {text:?}",
                self.article, self.name
            )));
        }
        if unit.is_empty() {
            return Err(self.bare(&text));
        }
        let factor = self.factor(unit)?;
        let too_large = || self.error(format!("{text:?} cannot be represented exactly"));
        let number = match number(digits) {
            Ok(number) => number.ok_or_else(too_large)?,
            Err(()) => return Err(self.error(format!("`{digits}` in {text:?} is not a number"))),
        };
        let value = number.times(factor).ok_or_else(too_large)?;
        if value.numerator == 0 && !self.zero_allowed {
            return Err(self.error(format!("{} {} must be above zero", self.article, self.name)));
        }
        Ok(value)
    }

    fn factor(&self, unit: &str) -> Result<(u64, u64), QuantityError> {
        if let Some((_, factor)) = self.units.iter().find(|(name, _)| *name == unit) {
            return Ok(*factor);
        }
        let other = DIMENSIONS
            .iter()
            .find(|kind| kind.unit_names().any(|name| name == unit));
        if let Some(other) = other {
            let message = format!(
                "expected {} {}, found {} {} (`{unit}`)",
                self.article, self.name, other.article, other.name
            );
            return Err(self.error(message));
        }
        let mut error = self.error(format!(
            "unknown unit `{unit}` for {} {}",
            self.article, self.name
        ));
        // "kB" is equally close to "B" and to "KiB"; two more letters suggest that a prefix was
        // meant.
        let near = nearest(
            unit,
            self.unit_names().filter(|name| name.len() >= unit.len()),
        );
        if let Some(near) = near.or_else(|| nearest(unit, self.unit_names())) {
            error.hint = format!("did you mean `{near}`? units: {}", self.unit_list());
        }
        Err(error)
    }

    /// Writes a value in the largest unit that gives a number of at least one.
    pub(super) fn write(&self, value: Ratio, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_unit = |(_, (numerator, denominator)): &(&str, (u64, u64))| {
            value.times((*denominator, *numerator))
        };
        let fits = |unit: &&(&str, (u64, u64))| {
            in_unit(unit).is_some_and(|v| v.numerator >= v.denominator && reads_well(unit.0, v))
        };
        let unit = self.units.iter().rev().find(fits).unwrap_or(&self.units[0]);
        match in_unit(unit) {
            Some(number) => write!(f, "{} {}", Decimal(number), unit.0),
            // The base unit has the factor one, and so always fits; durations fall back to seconds.
            None => write!(f, "{} {}", Decimal(value), self.base_unit()),
        }
    }

    fn base_unit(&self) -> &'static str {
        self.units
            .iter()
            .find(|(_, factor)| *factor == (1, 1))
            .map_or("", |(name, _)| name)
    }
}

/// True if the value reads well in this unit. Binary units are used only for whole numbers: "1536
/// B", not "1.5 KiB".
fn reads_well(unit: &str, value: Ratio) -> bool {
    value.denominator == 1 || !unit.contains("iB")
}

/// Parses `12`, `1.4` or `28/15`. Returns `Err` if it is not a number, `Ok(None)` if it is too
/// large.
fn number(text: &str) -> Result<Option<Ratio>, ()> {
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (decimal(above)?, decimal(below)?);
        let quotient = above
            .zip(below)
            .map(|(a, b)| a.times((b.denominator, b.numerator)));
        return match below {
            Some(Ratio { numerator: 0, .. }) => Err(()),
            _ => Ok(quotient.flatten()),
        };
    }
    decimal(text)
}

fn decimal(text: &str) -> Result<Option<Ratio>, ()> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let starts = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    if !(digits(whole) && digits(fraction) && starts(whole) && starts(fraction)) {
        return Err(());
    }
    let mut value: Option<(u128, u128)> = Some((0, 1));
    let numerals = |part: &str| part.bytes().filter(u8::is_ascii_digit).collect::<Vec<_>>();
    for digit in numerals(whole) {
        let next = |(n, d): (u128, u128)| {
            Some((n.checked_mul(10)?.checked_add((digit - b'0').into())?, d))
        };
        value = value.and_then(next);
    }
    for digit in numerals(fraction) {
        let next = |(n, d): (u128, u128)| {
            Some((
                n.checked_mul(10)?.checked_add((digit - b'0').into())?,
                d.checked_mul(10)?,
            ))
        };
        value = value.and_then(next);
    }
    Ok(value.and_then(|(n, d)| Ratio::reduce(n, d)))
}

/// Shows a ratio as a decimal where that is exact, as a quotient otherwise.
pub(super) struct Decimal(pub(super) Ratio);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ratio {
            numerator,
            denominator,
        } = self.0;
        let whole = numerator / denominator;
        if denominator == 1 {
            return write!(f, "{whole}");
        }
        let mut rest = denominator;
        for factor in [2, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        if rest != 1 {
            return write!(f, "{numerator}/{denominator}");
        }
        let mut remainder = u128::from(numerator % denominator);
        write!(f, "{whole}.")?;
        while remainder != 0 {
            remainder *= 10;
            write!(f, "{}", remainder / u128::from(denominator))?;
            remainder %= u128::from(denominator);
        }
        Ok(())
    }
}
