//! Bypass by annotation: the program says which of its loads have no reuse.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::{CachePolicy, Field, LookUp, MissDecision};

/// Lines missed by these instructions are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StaticBypass {
    /// Indices of instructions in their kernel's code.
    pub pcs: Vec<u32>,
}

impl StaticBypass {
    #[expect(clippy::unnecessary_wraps, reason = "policies with knobs can refuse")]
    pub(super) fn build(&self, _lines: usize) -> Result<Box<dyn CachePolicy>, SpecError> {
        let mut policy = self.clone();
        policy.pcs.sort_unstable();
        Ok(Box::new(policy))
    }
}

impl CachePolicy for StaticBypass {
    fn name(&self) -> &'static str {
        "StaticBypass"
    }

    fn owns(&self) -> &'static [Field] {
        &[Field::Insert]
    }

    fn decide_miss(&self, miss: &LookUp<'_>, decision: &mut MissDecision) {
        decision.insert = self.pcs.binary_search(&miss.request.source.pc).is_err();
    }
}
