//! Round robin.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyArbiter, Arbiter, BuiltInArbiter};

/// One pass, inputs first: each input asks the next output it has a flit for, each output takes the next
/// input that asks; both move on only when the match is made. Source: own choice, the simplest that
/// starves nobody.
pub struct RoundRobin;

impl PolicyKind for RoundRobin {
    type Role = Arbiter;
    const NAME: &'static str = "RoundRobin";
    const SUMMARY: &'static str =
        "One pass, inputs first, each port in turn; turns move on only when the match is made";
    type Spec = NoFields;

    fn build(_: NoFields, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::BuiltIn(BuiltInArbiter::RoundRobin))
    }
}
