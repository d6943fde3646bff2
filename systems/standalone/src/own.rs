//! Reference data of a user's own.

use warpweave_framework::Environment;

use crate::Tolerance;

/// A description that is held against reference data of a user's own, and how closely.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// Name of a preset, or of a description file, as `warpweave bench` takes it.
    pub preset: &'a str,
    /// Fraction by which times and counts may differ; without it they are to be equal.
    pub within: Option<f64>,
    /// Where the names of policies are looked up.
    pub environment: &'a Environment,
}

impl Own<'_> {
    /// How close a quantity is to be that is `equal` without other wishes.
    pub(crate) fn tolerance(&self, equal: Tolerance) -> Tolerance {
        self.within.map_or(equal, Tolerance::Relative)
    }

    /// How close a number of equal single things (requests, packets, accesses) is to be.
    pub(crate) fn one_by_one(&self) -> Tolerance {
        match self.within {
            None => Tolerance::Exact,
            Some(_) => Tolerance::Information("single ones are judged without --within".to_owned()),
        }
    }
}
