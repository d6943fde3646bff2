//! Greedy, then oldest, over short stalls.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{BuiltIn, WavefrontPolicy, WavefrontScheduling};

/// As [`Gto`](super::Gto), but only a long stall loses the turn: a wait for load data, a full
/// load/store queue, a fence or a barrier. Waits for execution units, local and constant memory,
/// branches and initiation intervals are sat out, issuing nothing.
///
/// Source: the LASER paper, section 3.2.
pub struct GtoLongLatency;

impl PolicyKind for GtoLongLatency {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "GtoLongLatency";
    const SUMMARY: &'static str =
        "As Gto, but only a long stall loses the turn, such as a wait for load data";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::BuiltIn(BuiltIn::GtoLongLatency))
    }
}
