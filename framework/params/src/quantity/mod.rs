//! Quantities with units, exact: sizes, frequencies, bandwidths and durations.
//!
//! Written as a string of a number and a unit: `"48 KiB"`, `"1.4 GHz"`, `"28/15 GHz"`, `"716.8 GB/s"`,
//! `"2 ns"`. The number may have a fraction or be a quotient; nothing is ever rounded. Sizes know only
//! powers of 1024, so that "kB" cannot mean two things; rates and times use the SI prefixes.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::suggest::nearest;

/// A positive or zero rational number in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// `numerator / denominator` in lowest terms; `None` for a zero denominator.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Self::reduce(numerator.into(), denominator.into())
    }

    /// Part above the line.
    pub const fn numerator(self) -> u64 {
        self.numerator
    }

    /// Part below the line; never zero.
    pub const fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest floating-point number, for display and estimates.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }

    fn reduce(numerator: u128, denominator: u128) -> Option<Self> {
        let divisor = gcd(numerator, denominator);
        let shrink = |value: u128| u64::try_from(value.checked_div(divisor)?).ok();
        let (numerator, denominator) = (shrink(numerator)?, shrink(denominator)?);
        (denominator != 0).then_some(Self {
            numerator,
            denominator,
        })
    }

    fn times(self, (numerator, denominator): (u64, u64)) -> Option<Self> {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        Self::reduce(
            product(self.numerator, numerator),
            product(self.denominator, denominator),
        )
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let cross = |a: &Self, b: &Self| u128::from(a.numerator) * u128::from(b.denominator);
        cross(self, other).cmp(&cross(other, self))
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Why a text is no quantity of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}\nhint: {hint}")]
pub struct QuantityError {
    /// What is wrong.
    pub message: String,
    /// What to write.
    pub hint: String,
}

/// One kind of quantity: its name, an example, and its units as factors of the base unit.
struct Dimension {
    name: &'static str,
    article: &'static str,
    example: &'static str,
    /// Ascending; the base unit of the stored number has the factor 1/1.
    units: &'static [(&'static str, (u64, u64))],
    zero_allowed: bool,
}

static SIZE: Dimension = Dimension {
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

static FREQUENCY: Dimension = Dimension {
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

static BANDWIDTH: Dimension = Dimension {
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

static DURATION: Dimension = Dimension {
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

    fn error(&self, message: String) -> QuantityError {
        let hint = format!(
            "write {} {} such as \"{}\"; units: {}",
            self.article,
            self.name,
            self.example,
            self.unit_list()
        );
        QuantityError { message, hint }
    }

    /// Message for a number without a unit.
    fn bare(&self, number: &dyn fmt::Display) -> QuantityError {
        self.error(format!(
            "{} {} needs a unit, found `{number}`",
            self.article, self.name
        ))
    }

    /// Reads a number and a unit of this kind, in the base unit.
    fn parse(&self, text: &str) -> Result<Ratio, QuantityError> {
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
        let too_large = || self.error(format!("{text:?} is beyond what can be held exactly"));
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
        // "kB" is as near to "B" as to "KiB"; whoever wrote two letters more meant a prefix.
        let near = nearest(
            unit,
            self.unit_names().filter(|name| name.len() >= unit.len()),
        );
        if let Some(near) = near.or_else(|| nearest(unit, self.unit_names())) {
            error.hint = format!("did you mean `{near}`? units: {}", self.unit_list());
        }
        Err(error)
    }

    /// Writes a value in the largest unit that leaves a number of at least one.
    fn write(&self, value: Ratio, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_unit = |(_, (numerator, denominator)): &(&str, (u64, u64))| {
            value.times((*denominator, *numerator))
        };
        let fits = |unit: &&(&str, (u64, u64))| {
            in_unit(unit).is_some_and(|v| v.numerator >= v.denominator && reads_well(unit.0, v))
        };
        let unit = self.units.iter().rev().find(fits).unwrap_or(&self.units[0]);
        match in_unit(unit) {
            Some(number) => write!(f, "{} {}", Number(number), unit.0),
            // The base unit has the factor one, and so always fits; durations fall back to seconds.
            None => write!(f, "{} {}", Number(value), self.base_unit()),
        }
    }

    fn base_unit(&self) -> &'static str {
        self.units
            .iter()
            .find(|(_, factor)| *factor == (1, 1))
            .map_or("", |(name, _)| name)
    }
}

/// Binary units are only used for whole numbers of them: "1536 B", not "1.5 KiB".
fn reads_well(unit: &str, value: Ratio) -> bool {
    value.denominator == 1 || !unit.contains("iB")
}

/// Reads `12`, `1.4` or `28/15`: `Err` when it is no number, `Ok(None)` when it is too large.
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
struct Number(Ratio);

impl fmt::Display for Number {
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

/// A size in bytes, written `"48 KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// A number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A clock frequency in hertz, exact and above zero, written `"1.4 GHz"` or `"28/15 GHz"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(Ratio);

impl Frequency {
    /// `numerator / denominator` hertz; `None` when either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator)
            .filter(|hertz| hertz.numerator > 0)
            .map(Self)
    }

    /// The frequency in hertz.
    pub const fn hertz(self) -> Ratio {
        self.0
    }

    /// The length of one cycle.
    pub fn period(self) -> Duration {
        Duration(Ratio {
            numerator: self.0.denominator,
            denominator: self.0.numerator,
        })
    }
}

/// A bandwidth in bytes per second, exact and above zero, written `"716.8 GB/s"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bandwidth(Ratio);

impl Bandwidth {
    /// `numerator / denominator` bytes per second; `None` when either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator)
            .filter(|rate| rate.numerator > 0)
            .map(Self)
    }

    /// The rate in bytes per second.
    pub const fn bytes_per_second(self) -> Ratio {
        self.0
    }
}

/// A length of time in seconds, exact, written `"2 ns"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Ratio);

impl Duration {
    /// `numerator / denominator` seconds; `None` for a zero denominator.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator).map(Self)
    }

    /// The time in seconds.
    pub const fn seconds(self) -> Ratio {
        self.0
    }
}

/// What the four kinds share: text both ways and a field description.
trait Quantity: Sized {
    const NAME: &'static str;
    const DOC: &'static str;

    fn dimension() -> &'static Dimension;
    fn from_ratio(value: Ratio) -> Result<Self, QuantityError>;
    fn to_ratio(&self) -> Ratio;
}

impl Quantity for Bytes {
    const NAME: &'static str = "Bytes";
    const DOC: &'static str = "size with a unit, such as \"48 KiB\"";

    fn dimension() -> &'static Dimension {
        &SIZE
    }

    fn from_ratio(value: Ratio) -> Result<Self, QuantityError> {
        if value.denominator == 1 {
            Ok(Self(value.numerator))
        } else {
            Err(SIZE.error(format!(
                "a size must be whole bytes, found {} B",
                Number(value)
            )))
        }
    }

    fn to_ratio(&self) -> Ratio {
        Ratio {
            numerator: self.0,
            denominator: 1,
        }
    }
}

impl Quantity for Frequency {
    const NAME: &'static str = "Frequency";
    const DOC: &'static str = "frequency with a unit, such as \"1.4 GHz\" or \"28/15 GHz\"";

    fn dimension() -> &'static Dimension {
        &FREQUENCY
    }

    fn from_ratio(value: Ratio) -> Result<Self, QuantityError> {
        Ok(Self(value))
    }

    fn to_ratio(&self) -> Ratio {
        self.0
    }
}

impl Quantity for Bandwidth {
    const NAME: &'static str = "Bandwidth";
    const DOC: &'static str = "bandwidth with a unit, such as \"716.8 GB/s\"";

    fn dimension() -> &'static Dimension {
        &BANDWIDTH
    }

    fn from_ratio(value: Ratio) -> Result<Self, QuantityError> {
        Ok(Self(value))
    }

    fn to_ratio(&self) -> Ratio {
        self.0
    }
}

impl Quantity for Duration {
    const NAME: &'static str = "Duration";
    const DOC: &'static str = "time with a unit, such as \"2 ns\" or \"714 ps\"";

    fn dimension() -> &'static Dimension {
        &DURATION
    }

    fn from_ratio(value: Ratio) -> Result<Self, QuantityError> {
        Ok(Self(value))
    }

    fn to_ratio(&self) -> Ratio {
        self.0
    }
}

struct QuantityVisitor<Q>(std::marker::PhantomData<Q>);

impl<Q: Quantity> Visitor<'_> for QuantityVisitor<Q> {
    type Value = Q;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Dimension {
            article,
            name,
            example,
            ..
        } = Q::dimension();
        write!(f, "{article} {name} such as \"{example}\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Q, E> {
        Q::dimension()
            .parse(text)
            .and_then(Q::from_ratio)
            .map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Q, E> {
        Err(E::custom(Q::dimension().bare(&number)))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Q, E> {
        Err(E::custom(Q::dimension().bare(&number)))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Q, E> {
        Err(E::custom(Q::dimension().bare(&number)))
    }
}

/// The serde, schema and text forms of a quantity; Rust's coherence rules forbid one generic impl.
macro_rules! text_form {
    ($($name:ident),*) => {$(
        impl FromStr for $name {
            type Err = QuantityError;

            fn from_str(text: &str) -> Result<Self, QuantityError> {
                Self::dimension().parse(text).and_then(Self::from_ratio)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                Self::dimension().write(self.to_ratio(), f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let visitor = QuantityVisitor(std::marker::PhantomData);
                if deserializer.is_human_readable() {
                    // Not `deserialize_str`: a bare number deserves its own message.
                    deserializer.deserialize_any(visitor)
                } else {
                    deserializer.deserialize_str(visitor)
                }
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let dimension = Self::dimension();
                json_schema!({
                    "type": "string",
                    "title": Self::NAME,
                    "description": Self::DOC,
                    "examples": [dimension.example],
                })
            }
        }
    )*};
}

text_form!(Bytes, Frequency, Bandwidth, Duration);

#[cfg(test)]
mod tests {
    use super::*;

    fn same_text<Q: FromStr<Err = QuantityError> + fmt::Display>(text: &str) {
        let value = text.parse::<Q>().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(value.to_string(), text);
    }

    #[test]
    fn canonical_texts_come_back_unchanged() {
        for text in ["48 KiB", "128 B", "2 MiB", "0 B", "1536 B", "16777215 TiB"] {
            same_text::<Bytes>(text);
        }
        for text in [
            "1.4 GHz",
            "924 MHz",
            "28/15 GHz",
            "700 kHz",
            "1 Hz",
            "1/3 Hz",
            "0.5 Hz",
        ] {
            same_text::<Frequency>(text);
        }
        for text in ["716.8 GB/s", "1 GiB/s", "177.4 GB/s", "1 B/s", "5/3 MB/s"] {
            same_text::<Bandwidth>(text);
        }
        for text in [
            "2 ns", "714 ps", "0 fs", "1.5 us", "10 s", "1/3 fs", "10/3 ns",
        ] {
            same_text::<Duration>(text);
        }
    }
}
