//! Quantities with units, exact: sizes, frequencies, bandwidths and durations.
//!
//! Written as a string of a number and a unit: `"48 KiB"`, `"1.4 GHz"`, `"28/15 GHz"`,
//! `"716.8 GB/s"`, `"2 ns"`. The number may have a fraction or be a quotient; nothing is ever
//! rounded. Sizes use only powers of 1024, so that "kB" is not ambiguous; rates and times use SI
//! prefixes.
//!
//! `ratio.rs` holds the exact number; `units.rs` reads and writes it with a unit.

mod ratio;
mod units;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

pub use self::ratio::Ratio;
pub use self::units::QuantityError;
use self::units::{BANDWIDTH, DURATION, Decimal, Dimension, FREQUENCY, SIZE};

/// A size in bytes, written `"48 KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Creates a size from a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the size as a number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A clock frequency in hertz, exact and above zero, written `"1.4 GHz"` or `"28/15 GHz"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frequency(Ratio);

impl Frequency {
    /// Creates a frequency of `numerator / denominator` hertz; `None` if either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator)
            .filter(|hertz| hertz.numerator > 0)
            .map(Self)
    }

    /// Returns the exact frequency in hertz.
    pub const fn hertz(self) -> Ratio {
        self.0
    }

    /// Returns the exact length of one cycle.
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
    /// Creates a bandwidth of `numerator / denominator` bytes per second; `None` if either is zero.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator)
            .filter(|rate| rate.numerator > 0)
            .map(Self)
    }

    /// Returns the exact bandwidth in bytes per second.
    pub const fn bytes_per_second(self) -> Ratio {
        self.0
    }
}

/// A length of time in seconds, exact, written `"2 ns"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Ratio);

impl Duration {
    /// Creates a duration of `numerator / denominator` seconds; `None` for a zero denominator.
    pub fn new(numerator: u64, denominator: u64) -> Option<Self> {
        Ratio::new(numerator, denominator).map(Self)
    }

    /// Returns the exact duration in seconds.
    pub const fn seconds(self) -> Ratio {
        self.0
    }
}

/// Common behavior of the four quantities: conversion to and from text, and a field description.
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
                Decimal(value)
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

/// Implements the serde, schema and text forms of a quantity; Rust's coherence rules forbid one
/// generic impl.
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
