//! Bypass by chance: the control of policies that claim to know which lines to bypass.
//!
//! A line that would displace another is bypassed with a fixed probability. An empty way is always
//! filled. The victim is known when a line arrives, so the policy acts in a cache with `allocate:
//! OnFill` only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::chance::{Chance, check_probability};
use super::{CachePolicies, CachePolicy, EventContext, Field, Fill, FillDecision};

/// Specification of the [`RandomBypass`] policy: how often it bypasses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomBypassSpec {
    /// Fraction, 0 to 1, of lines that are bypassed among those that would displace another.
    pub probability: f64,
}

/// Policy that bypasses lines by chance.
#[derive(State, Statistics)]
pub struct RandomBypass {
    #[state(skip)]
    probability: f64,
    #[state(skip)]
    chance: Chance,
    /// Fills that would have displaced a line.
    choices: u64,
    /// lines that were bypassed by chance
    #[statistic(name = "random_bypass_lines", unit = "lines")]
    bypassed: u64,
}

impl PolicyKind for RandomBypass {
    type Role = CachePolicies;
    const NAME: &'static str = "RandomBypass";
    const SUMMARY: &'static str = "Bypasses lines by chance, as a control of other policies";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "RandomBypass(probability: 0)",
        like: "",
    });
    type Spec = RandomBypassSpec;

    fn build(
        spec: RandomBypassSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        check_probability("probability", spec.probability)?;
        Ok(Box::new(Self {
            probability: spec.probability,
            chance: Chance::new(context.seed()),
            choices: 0,
            bypassed: 0,
        }))
    }
}

impl CachePolicy for RandomBypass {
    fn owns(&self) -> &'static [Field] {
        &[Field::Keep]
    }

    fn decide_fill(&self, fill: &Fill, decision: &mut FillDecision) {
        let chosen = || self.chance.happens(0, self.choices, self.probability);
        decision.keep = !(fill.first && fill.victim.is_some() && chosen());
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if fill.first && fill.victim.is_some() {
            self.choices += 1;
            self.bypassed += u64::from(fill.slot.is_none());
        }
    }
}
