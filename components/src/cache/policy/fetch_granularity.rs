//! Fetch granularity of a sectored cache: a miss fetches every sector of the aligned group that it
//! touches. It models the adjustable second-level fetch granularity of 32, 64 or 128 bytes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{CachePolicies, CachePolicy, Field, MissDecision, TagLookup};
use crate::memory::{check_line_bytes, full_line};

/// Specification of the [`FetchGranularity`] policy: the group size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchGranularitySpec {
    /// Bytes of an aligned group: a power of two from 4 to 128.
    pub bytes: u32,
}

/// Policy by which misses fetch aligned groups of sectors.
#[derive(State, Statistics)]
pub struct FetchGranularity {
    #[state(skip)]
    bytes: u32,
}

impl PolicyKind for FetchGranularity {
    type Role = CachePolicies;
    const NAME: &'static str = "FetchGranularity";
    const SUMMARY: &'static str = "Misses fetch aligned groups of sectors";
    type Spec = FetchGranularitySpec;

    fn build(
        spec: FetchGranularitySpec,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        check_line_bytes("bytes", spec.bytes)?;
        Ok(Box::new(Self { bytes: spec.bytes }))
    }
}

impl CachePolicy for FetchGranularity {
    fn owns(&self) -> &'static [Field] {
        &[Field::Fetch]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let group = full_line(self.bytes);
        for first in (0..32).step_by(self.bytes as usize / 4) {
            if miss.words & group << first != 0 {
                decision.fetch |= group << first;
            }
        }
    }
}
