//! Losses of an export: properties that an Accel-Sim trace cannot express.

use std::collections::BTreeMap;
use std::fmt;

/// Lost properties, with the number of occurrences of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses(BTreeMap<String, u64>);

impl Losses {
    pub(super) fn add(&mut self, what: impl Into<String>, times: u64) {
        if times > 0 {
            *self.0.entry(what.into()).or_default() += times;
        }
    }

    pub(super) fn into_list(self) -> Vec<Loss> {
        let losses = self.0.into_iter();
        losses.map(|(what, times)| Loss { what, times }).collect()
    }
}

/// A property of our trace that the exported trace does not preserve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Description of the property that is lost.
    pub what: String,
    /// Number of occurrences of the loss in the trace.
    pub times: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not exported: {}: {}", self.what, self.times)
    }
}
