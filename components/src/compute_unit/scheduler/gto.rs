//! Greedy-then-oldest (GTO) wavefront scheduler of the built-in policies.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{BuiltIn, WavefrontPolicy, WavefrontScheduling};

/// Greedy-then-oldest: the wavefront that issued last, as long as it can, then the one resident
/// longest (ties: lowest slot). Any stall ends the greedy run.
///
/// Source: the CCWS paper, as in GPGPU-Sim.
pub struct Gto;

impl PolicyKind for Gto {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Gto";
    const SUMMARY: &'static str = "Greedy then oldest: keeps issuing the same wavefront while it is ready, then the oldest; any stall ends the turn";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::BuiltIn(BuiltIn::Gto))
    }
}
