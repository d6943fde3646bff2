//! Loose round-robin (LRR) wavefront scheduler of the built-in policies.

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError};

use super::{BuiltIn, WavefrontPolicy, WavefrontScheduling};

/// Loose round robin: picks the first ready wavefront after the one that issued last, in slot
/// order.
pub struct Lrr;

impl PolicyKind for Lrr {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Lrr";
    const SUMMARY: &'static str = "Loose round robin: the first ready wavefront after the one that issued last, in slot order";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        Ok(WavefrontPolicy::BuiltIn(BuiltIn::Lrr))
    }
}
