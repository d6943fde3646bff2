//! Expectations: required contents of buffers at the end of a program.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};
use warpweave_inputs::Name;
use warpweave_inputs::reference::{Answer, Claim};
use warpweave_params::Placed;

/// Required host contents of a buffer at the end of the program.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// Name of the buffer, or `buffer.field` for a buffer of structures; it must have been copied
    /// to the host.
    pub buffer: Name,
    /// Requirement that the buffer must meet.
    pub demand: Demand,
}

/// Requirement on the contents of a buffer.
#[derive(Clone, Debug)]
pub enum Demand {
    /// Equal to the reference answer, within the tolerance.
    Equals(Placed<Answer>, Tolerance),
    /// Has a property, checked by a claim.
    Holds(Placed<Claim>),
}

impl Demand {
    /// Returns the name of the reference or property.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Equals(answer, _) => answer.value.name(),
            Self::Holds(claim) => claim.value.name(),
        }
    }
}

/// Allowed deviation from the reference answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub enum Tolerance {
    /// Requires equality bit for bit, without deviation.
    #[default]
    Exact,
    /// Allows a deviation of this fraction of the expected value.
    Relative(#[serde(deserialize_with = "distance")] f64),
    /// Allows this absolute deviation from the expected value.
    Absolute(#[serde(deserialize_with = "distance")] f64),
}

fn distance<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    let found = Unexpected::Float(number);
    Err(D::Error::invalid_value(found, &"a tolerance of at least 0"))
}
