//! Age-based arbiter: the oldest packet wins.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyArbiter, Arbiter, BuiltInArbiter};

/// One pass, outputs first: each output grants the request of the oldest packet, and each input
/// accepts likewise. Ties go to the lowest port. Source: age-based arbitration as in BookSim 2,
/// here by the time at which the packet was put before the network.
pub struct AgeBased;

impl PolicyKind for AgeBased {
    type Role = Arbiter;
    const NAME: &'static str = "AgeBased";
    const SUMMARY: &'static str = "Single-pass, output-first: the packet that arrived first wins";
    type Spec = NoFields;

    fn build(_: NoFields, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::BuiltIn(BuiltInArbiter::AgeBased))
    }
}
