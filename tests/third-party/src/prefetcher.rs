//! Prefetcher for the lines before and after one that misses.

use warpweave::components::cache::policy::{MissDecision, TagLookup};
use warpweave::components::cache::prefetcher::{PrefetchContext, Prefetcher, Prefetching};
use warpweave::framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Prefetcher policy described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct BackAndForth {
    line_bytes: u64,
}

impl PolicyKind for BackAndForth {
    type Role = Prefetching;
    const NAME: &'static str = "BackAndForth";
    const SUMMARY: &'static str = "The line before and the line after one that misses";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, Prefetching>,
    ) -> Result<Box<dyn Prefetcher>, SpecError> {
        Ok(Box::new(Self {
            line_bytes: u64::from(context.site.line_bytes),
        }))
    }
}

impl Prefetcher for BackAndForth {
    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        context: &mut PrefetchContext<'_>,
    ) {
        if let Some(before) = miss.line.checked_sub(self.line_bytes) {
            context.fetch(before);
        }
        context.fetch(miss.line + self.line_bytes);
    }
}
