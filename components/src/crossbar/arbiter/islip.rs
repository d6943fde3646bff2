//! iSLIP arbiter with a configurable number of iterations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{PolicyContext, PolicyKind, SpecError};

use super::{AnyArbiter, Arbiter, BuiltInArbiter};
use crate::crossbar::PORTS_MAX;

/// Settings of the [`Islip`] arbiter: iterations per matching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IslipSpec {
    /// Iterations per matching, 1 to 128. Source: 1 in GPGPU-Sim's BookSim 2.
    pub iterations: u32,
}

/// iSLIP: request, grant, accept; the pointers move in the first iteration and only on accept.
/// Source: McKeown, "The iSLIP scheduling algorithm for input-queued switches", 1999.
pub struct Islip;

impl PolicyKind for Islip {
    type Role = Arbiter;
    const NAME: &'static str = "Islip";
    const SUMMARY: &'static str =
        "iSLIP: request, grant and accept with round-robin pointers that advance only on accept";
    type Spec = IslipSpec;

    fn build(spec: IslipSpec, _: &PolicyContext<'_, Arbiter>) -> Result<AnyArbiter, SpecError> {
        SpecError::in_range("iterations", spec.iterations, 1..=PORTS_MAX)?;
        Ok(AnyArbiter::BuiltIn(BuiltInArbiter::Islip {
            iterations: spec.iterations,
        }))
    }
}
