//! Greedy-then-oldest scheduling that waits out short stalls.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{BuiltIn, WavefrontPolicy, WavefrontScheduling};

/// Like [`Gto`](super::Gto), but only a long stall ends the greedy run: a wait for load data, a
/// full load/store queue, a fence or a barrier. During waits for execution units, local and
/// constant memory, branches and initiation intervals, nothing issues.
///
/// Source: the LASER paper, section 3.2.
pub struct GtoLongLatency;

impl PolicyKind for GtoLongLatency {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "GtoLongLatency";
    const SUMMARY: &'static str =
        "As Gto, but only a long stall ends the turn, such as waiting for load data";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::BuiltIn(BuiltIn::GtoLongLatency))
    }
}
