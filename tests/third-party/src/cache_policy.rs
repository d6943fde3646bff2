//! Cache policy that allocates a line only when a second wavefront misses on it, which shows that
//! it is shared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave::components::cache::policy::{
    CachePolicies, CachePolicy, EventContext, Field, MissDecision, TagLookup,
};
use warpweave::framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Parameters of the policy, as set in descriptions.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SharedOnlySpec {
    /// Number of lines whose last wavefront is remembered, 0 to 65536; with 0 every line is
    /// allocated. Source: own choice.
    #[serde(default = "entries")]
    entries: u32,
}

fn entries() -> u32 {
    256
}

/// Cache policy described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct SharedOnly {
    /// Line and last wavefront to miss on it, indexed by hash of the line.
    #[state(array)]
    last: Vec<Option<(u64, u8)>>,
}

impl PolicyKind for SharedOnly {
    type Role = CachePolicies;
    const NAME: &'static str = "SharedOnly";
    const SUMMARY: &'static str = "Only lines that two wavefronts missed on get a place";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "SharedOnly(entries: 0)",
        like: "",
    });
    type Spec = SharedOnlySpec;

    fn build(
        spec: SharedOnlySpec,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("entries", spec.entries, 0..=1 << 16)?;
        let last = vec![None; spec.entries as usize];
        Ok(Box::new(Self { last }))
    }
}

impl CachePolicy for SharedOnly {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let (line, wavefront) = (miss.line, miss.request.source.wavefront_slot);
        let entry = self.last.get((line / 32) as usize % self.last.len().max(1));
        let is_shared =
            |last: &Option<(u64, u8)>| last.is_some_and(|l| l.0 == line && l.1 != wavefront);
        decision.insert = entry.is_none_or(is_shared);
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        let entries = self.last.len().max(1);
        if let Some(entry) = self.last.get_mut((miss.line / 32) as usize % entries) {
            *entry = Some((miss.line, miss.request.source.wavefront_slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use warpweave::components::memory::MemRequest;

    use super::*;

    #[test]
    fn a_line_gets_a_place_when_a_second_wavefront_misses_on_it() {
        let mut policy = SharedOnly {
            last: vec![None; 8],
        };
        let mut request = MemRequest::read(0, 256, 1);
        let mut kept = |wavefront, entries: usize| {
            policy.last.resize(entries, None);
            request.source.wavefront_slot = wavefront;
            let miss = TagLookup {
                request: &request,
                line: 256,
                words: 1,
                slot: None,
                set: 0,
                global_set: 0,
            };
            let mut decision = MissDecision::default();
            policy.decide_miss(&miss, &mut decision);
            if let Some(entry) = policy.last.get_mut(0) {
                *entry = Some((256, wavefront));
            }
            decision.insert
        };
        assert_eq!([kept(1, 8), kept(1, 8), kept(2, 8)], [false, false, true]);
        assert!(kept(2, 0), "without memory every line gets a place");
    }
}
