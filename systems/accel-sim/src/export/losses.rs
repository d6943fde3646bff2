//! What a trace of Accel-Sim cannot say.

use std::collections::BTreeMap;
use std::fmt;

/// What is lost, and how often.
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

/// Something that an exported trace does not say as ours does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What it is.
    pub what: String,
    /// How often.
    pub times: u64,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not exported: {}: {}", self.what, self.times)
    }
}
