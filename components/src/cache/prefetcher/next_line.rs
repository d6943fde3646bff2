//! Next-line prefetcher: fetches the lines that follow one that misses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{PrefetchContext, Prefetcher, Prefetching};
use crate::cache::policy::{CacheSite, MissDecision, TagLookup};

/// Specification of the [`NextLine`] prefetcher: the prefetch degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NextLineSpec {
    /// Lines prefetched after each miss, 0 to 64. Source: 1, Smith, "Sequential program prefetching
    /// in memory hierarchies", Computer 1978.
    pub degree: u32,
}

impl Default for NextLineSpec {
    fn default() -> Self {
        Self { degree: 1 }
    }
}

/// Prefetches the lines that follow one that misses, in address order; in a slice, only lines of
/// the slice.
#[derive(State, Statistics)]
pub struct NextLine {
    #[state(skip)]
    degree: u64,
    #[state(skip)]
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
    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        context: &mut PrefetchContext<'_>,
    ) {
        for distance in 1..=self.degree {
            if let Some(line) = self.site.line_after(miss.line, distance) {
                context.fetch(line);
            }
        }
    }
}
