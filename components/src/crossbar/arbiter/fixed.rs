//! Fixed-priority arbiter, in which the lowest port wins.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{AnyArbiter, Arbiter, BuiltInArbiter};

/// One pass, outputs first: the lowest port always wins. Starves the others under load. Source: own
/// choice, to show what fairness is worth.
pub struct Fixed;

impl PolicyKind for Fixed {
    type Role = Arbiter;
    const NAME: &'static str = "Fixed";
    const SUMMARY: &'static str =
        "Single-pass, output-first: the lowest port always wins and starves the others under load";
    type Spec = NoFields;

    fn build(_: NoFields, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        Ok(AnyArbiter::BuiltIn(BuiltInArbiter::Fixed))
    }
}
