//! Fetch granularity of a sectored cache: a miss fetches every sector of the aligned group that it
//! touches (as the adjustable second-level fetch granularity of 32, 64 or 128 bytes).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

use super::{CachePolicy, Field, LookUp, MissDecision};
use crate::memory::{check_line_bytes, full_line};

/// Misses fetch aligned groups of this many bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchGranularity {
    /// Bytes of a group: a power of two from 4 to 128.
    pub bytes: u32,
}

impl FetchGranularity {
    pub(super) fn build(&self, _lines: usize) -> Result<Box<dyn CachePolicy>, SpecError> {
        check_line_bytes("bytes", self.bytes)?;
        Ok(Box::new(self.clone()))
    }
}

impl CachePolicy for FetchGranularity {
    fn name(&self) -> &'static str {
        "FetchGranularity"
    }

    fn owns(&self) -> &'static [Field] {
        &[Field::Fetch]
    }

    fn decide_miss(&self, miss: &LookUp<'_>, decision: &mut MissDecision) {
        let group = full_line(self.bytes);
        for first in (0..32).step_by(self.bytes as usize / 4) {
            if miss.words & group << first != 0 {
                decision.fetch |= group << first;
            }
        }
    }
}
