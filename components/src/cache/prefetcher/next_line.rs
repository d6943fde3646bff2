//! Next-line prefetcher: fetches the lines that follow one that misses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State};

use super::{Prefetcher, Prefetching, Wanted};
use crate::cache::policy::{CacheSite, LookUp, MissDecision};

/// Specification of the [`NextLine`] prefetcher: the prefetch degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NextLineSpec {
    /// Lines prefetched after each miss, 0 to 64. Source: 1, Smith, "Sequential program prefetching
    /// in memory hierarchies", Computer 1978.
    #[serde(default = "one")]
    pub degree: u32,
}

fn one() -> u32 {
    1
}

impl Default for NextLineSpec {
    fn default() -> Self {
        Self { degree: one() }
    }
}

/// Prefetches the lines that follow one that misses, in address order; in a slice, only lines of
/// the slice.
pub struct NextLine {
    degree: u64,
    site: CacheSite,
}

impl PolicyKind for NextLine {
    type Role = Prefetching;
    const NAME: &'static str = "NextLine";
    const SUMMARY: &'static str = "Prefetches the lines that follow a missing line";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "NextLine(degree: 0)",
        like: "",
    });
    type Spec = NextLineSpec;

    fn build(
        spec: NextLineSpec,
        context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        SpecError::in_range("degree", spec.degree, 0..=64)?;
        Ok(Box::new(Self {
            degree: u64::from(spec.degree),
            site: *context.site,
        }))
    }
}

impl Prefetcher for NextLine {
    fn on_miss(&mut self, miss: &LookUp<'_>, _decision: MissDecision, wanted: &mut Wanted<'_>) {
        for distance in 1..=self.degree {
            if let Some(line) = self.site.line_after(miss.line, distance) {
                wanted.fetch(line);
            }
        }
    }

    /// Saves nothing: the prefetcher has no state.
    fn state(&mut self, _state: &mut State<'_>) {}
}
