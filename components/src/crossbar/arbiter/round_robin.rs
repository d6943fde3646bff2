//! Round-robin arbiter with a single pass per matching.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyArbiter, Arbiter, BuiltInArbiter};

/// One pass, inputs first: each input requests the next output for which it has a flit, and each
/// output accepts the next requesting input. Both pointers advance only when the match is made.
/// Source: own choice, the simplest without starvation.
pub struct RoundRobin;

impl PolicyKind for RoundRobin {
    type Role = Arbiter;
    const NAME: &'static str = "RoundRobin";
    const SUMMARY: &'static str = "Single-pass, input-first, round robin per port; pointers advance only when the match is made";
    type Spec = NoFields;

    fn build(_: NoFields, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::BuiltIn(BuiltInArbiter::RoundRobin))
    }
}
