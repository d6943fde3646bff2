//! What a statistic stands for, and how its values of several instances become one.

use std::fmt;

/// What a statistic stands for beyond its component, such as the instructions that any kind of
/// compute unit issued. The names are open: two roles are the same if their names are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(&'static str);

impl Role {
    /// The role of this name.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// How the values of one statistic of several instances become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Combination {
    /// They are added up.
    Sum,
    /// Their mean, each weighted with how many of these it is the mean of, such as `cycles`.
    WeightedMean {
        /// What the weight counts.
        by: &'static str,
    },
    /// The largest.
    Maximum,
    /// The smallest.
    Minimum,
    /// None: each stands for its instance alone, as a code does.
    None,
}

impl Combination {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::WeightedMean { .. } => "weighted mean",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::None => "none",
        }
    }

    /// What the weight of a mean counts.
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
