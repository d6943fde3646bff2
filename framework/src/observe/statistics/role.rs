//! Roles of statistics, and combination of a statistic over several instances.

use std::fmt;

/// Role of a statistic beyond its component, such as the instructions issued by any kind of compute
/// unit. The set of names is open: two roles are equal if their names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(&'static str);

impl Role {
    /// Creates the role with this name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name of the role.
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// Method of combining the values of one statistic over several instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Combination {
    /// Adds the values of all instances.
    Sum,
    /// Weighted mean; the weight is the number of units that each value is the mean of, such as
    /// `cycles`.
    WeightedMean {
        /// Unit of the weight, such as `cycles`.
        by: &'static str,
    },
    /// Takes the largest value of all instances.
    Maximum,
    /// Takes the smallest value of all instances.
    Minimum,
    /// Not combined: each value is valid for its instance only, as a code is.
    None,
}

impl Combination {
    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::WeightedMean { .. } => "weighted mean",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::None => "none",
        }
    }

    /// Returns the unit of the weight of a mean.
    pub fn weight(self) -> Option<&'static str> {
        match self {
            Self::WeightedMean { by } => Some(by),
            _ => None,
        }
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weight() {
            Some(by) => write!(f, "mean by {by}"),
            None => f.write_str(self.name()),
        }
    }
}
