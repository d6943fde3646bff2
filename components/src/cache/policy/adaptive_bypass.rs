//! Bypass with a probability that each set learns (adaptive bypass, BYP-M2).
//!
//! A set with a bypassed line watches that line and the victim that stayed. A sample of the
//! inserted lines is watched against the victim that left. If the victim is wanted first, bypassing
//! pays and the set's probability doubles. If the new line is wanted first, it halves. If either
//! leaves before, nothing changes. A set watches one pair at a time.
//!
//! An empty way is always filled. The victim is known when a line arrives, so the policy acts in a
//! cache with `allocate: OnFill` only. Copy-backs and forwarded requests want nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::chance::{Chance, check_probability};
use super::{
    CachePolicies, CachePolicy, EventContext, Eviction, Field, Fill, FillDecision, TagLookup,
};
use crate::memory::RequestKind;

/// Specification of the [`AdaptiveBypass`] policy: its probabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveBypassSpec {
    /// Probability with which each set starts to bypass, 0 to 1. Source: 1/64 in the graph thesis.
    pub first: f64,
    /// Fraction, 0 to 1, of inserted lines that are watched. Source: 1/16 in the graph thesis.
    #[serde(rename = "virtual")]
    pub watched: f64,
    /// Least probability of a set, 0 to `first`. Source: 1/256 in the graph thesis.
    pub least: f64,
}

impl Default for AdaptiveBypassSpec {
    fn default() -> Self {
        Self {
            first: 1.0 / 64.0,
            watched: 1.0 / 16.0,
            least: 1.0 / 256.0,
        }
    }
}

/// Pair of lines that competed for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Track {
    incoming: u64,
    competitor: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct BypassSet {
    probability: f64,
    /// Lines that arrived while the set was full.
    draws: u32,
    track: Option<Track>,
}

/// Policy that bypasses with a probability that each set learns.
#[derive(State, Statistics)]
pub struct AdaptiveBypass {
    #[state(skip)]
    spec: AdaptiveBypassSpec,
    #[state(skip)]
    chance: Chance,
    #[state(array)]
    sets: Vec<BypassSet>,
    /// lines that the probability of their set bypassed
    #[statistic(name = "adaptive_bypass_lines", unit = "lines")]
    bypassed: u64,
    /// watched pairs whose victim was wanted before the new line
    #[statistic(name = "adaptive_bypass_effective", unit = "pairs")]
    effective: u64,
    /// watched pairs whose new line was wanted before the victim
    #[statistic(name = "adaptive_bypass_ineffective", unit = "pairs")]
    ineffective: u64,
}

impl PolicyKind for AdaptiveBypass {
    type Role = CachePolicies;
    const NAME: &'static str = "AdaptiveBypass";
    const SUMMARY: &'static str =
        "Bypasses lines with a probability that each set learns from pairs of lines";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "AdaptiveBypass(first: 0, least: 0)",
        like: "",
    });
    type Spec = AdaptiveBypassSpec;

    fn build(
        spec: AdaptiveBypassSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        check_probability("first", spec.first)?;
        check_probability("virtual", spec.watched)?;
        check_probability("least", spec.least)?;
        SpecError::require(spec.least <= spec.first, "least", || {
            format!("{} must be at most `first`, {}", spec.least, spec.first)
        })?;
        let set = BypassSet {
            probability: spec.first,
            draws: 0,
            track: None,
        };
        Ok(Box::new(Self {
            spec,
            chance: Chance::new(context.seed()),
            sets: vec![set; context.site.sets as usize],
            bypassed: 0,
            effective: 0,
            ineffective: 0,
        }))
    }
}

impl AdaptiveBypass {
    /// Draws of a set: an even one decides about a line, the next about watching it.
    fn draw(&self, set: u32, watching: bool, probability: f64) -> bool {
        let draws = u64::from(self.sets[set as usize].draws) * 2;
        let count = draws + u64::from(watching);
        self.chance.happens(set, count, probability)
    }
}

impl CachePolicy for AdaptiveBypass {
    fn owns(&self) -> &'static [Field] {
        &[Field::Keep]
    }

    fn decide_fill(&self, fill: &Fill, decision: &mut FillDecision) {
        if fill.first && fill.victim.is_some() {
            let probability = self.sets[fill.set as usize].probability;
            decision.keep = !self.draw(fill.set, false, probability);
        }
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        let set = &mut self.sets[access.set as usize];
        let Some(track) = set.track else { return };
        if access.request.kind == RequestKind::CopyBack {
        } else if access.line == track.competitor {
            set.probability = (set.probability * 2.0).min(1.0);
            set.track = None;
            self.effective += 1;
        } else if access.line == track.incoming {
            set.probability = (set.probability / 2.0).max(self.spec.least);
            set.track = None;
            self.ineffective += 1;
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        let (true, Some(victim)) = (fill.first, fill.victim) else {
            return;
        };
        let was_bypassed = fill.slot.is_none();
        let is_watched = was_bypassed || self.draw(fill.set, true, self.spec.watched);
        self.bypassed += u64::from(was_bypassed);
        let set = &mut self.sets[fill.set as usize];
        set.draws = set.draws.wrapping_add(1);
        if is_watched && set.track.is_none() {
            set.track = Some(Track {
                incoming: fill.line,
                competitor: victim,
            });
        }
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        let set = &mut self.sets[eviction.set as usize];
        set.track = set
            .track
            .filter(|track| eviction.line != track.incoming && eviction.line != track.competitor);
    }
}
