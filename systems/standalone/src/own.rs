//! Options for comparing with a user's own reference data.

use warpweave_framework::Environment;

use crate::Tolerance;

/// Description to compare with a user's own reference data, and the tolerance.
#[derive(Clone, Copy)]
pub struct Own<'a> {
    /// Name of a preset or of a description file, as for `warpweave bench`.
    pub preset: &'a str,
    /// Relative tolerance for times and counts. If absent, they must be equal.
    pub within: Option<f64>,
    /// Environment used to look up policy names.
    pub environment: &'a Environment,
}

impl Own<'_> {
    /// Tolerance for a quantity; `equal` if the user gave none.
    pub(crate) fn tolerance(&self, equal: Tolerance) -> Tolerance {
        self.within.map_or(equal, Tolerance::Relative)
    }

    /// Tolerance for the number of single items (requests, packets, accesses) that match.
    pub(crate) fn one_by_one(&self) -> Tolerance {
        match self.within {
            None => Tolerance::Exact,
            Some(_) => Tolerance::Information(
                "individual results are checked only without --within".to_owned(),
            ),
        }
    }
}
