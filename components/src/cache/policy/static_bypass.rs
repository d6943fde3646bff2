//! Bypass by annotation: the program states which of its loads have no reuse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{CachePolicies, CachePolicy, Field, MissDecision, TagLookup};

/// Specification of the [`StaticBypass`] policy: the annotated loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticBypassSpec {
    /// Instruction indices in the code of their kernel.
    pub pcs: Vec<u32>,
}

/// Policy that does not keep lines missed by the listed instructions.
#[derive(State, Statistics)]
pub struct StaticBypass {
    /// Instruction indices, sorted for binary search.
    #[state(skip)]
    pcs: Vec<u32>,
}

impl PolicyKind for StaticBypass {
    type Role = CachePolicies;
    const NAME: &'static str = "StaticBypass";
    const SUMMARY: &'static str = "Bypasses misses of the listed instructions";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "StaticBypass(pcs: [])",
        like: "",
    });
    type Spec = StaticBypassSpec;

    fn build(
        mut spec: StaticBypassSpec,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        spec.pcs.sort_unstable();
        Ok(Box::new(Self { pcs: spec.pcs }))
    }
}

impl CachePolicy for StaticBypass {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        decision.insert = self.pcs.binary_search(&miss.request.source.pc).is_err();
    }
}
