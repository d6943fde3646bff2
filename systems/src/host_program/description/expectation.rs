//! What a buffer must hold when a program has ended.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected};
use warpweave_inputs::Name;
use warpweave_inputs::reference::{Answer, Claim};
use warpweave_params::Placed;

/// What a buffer must hold on the host when the program has ended.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The buffer, or `buffer.field` of one of structures; it must have been copied to the host.
    pub buffer: Name,
    /// What it must be.
    pub demand: Demand,
}

/// What a buffer must be.
#[derive(Clone, Debug)]
pub enum Demand {
    /// Equal to the right answer, as near as the tolerance says.
    Equals(Placed<Answer>, Tolerance),
    /// Of a property.
    Holds(Placed<Claim>),
}

impl Demand {
    /// The name of the reference or property.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Equals(answer, _) => answer.value.name(),
            Self::Holds(claim) => claim.value.name(),
        }
    }
}

/// How near an answer must come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub enum Tolerance {
    /// Bit for bit.
    #[default]
    Exact,
    /// Within this fraction of the expected value.
    Relative(#[serde(deserialize_with = "distance")] f64),
    /// Within this distance of the expected value.
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
