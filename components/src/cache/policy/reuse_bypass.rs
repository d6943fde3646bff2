//! Bypass based on observed reuse, per load instruction.
//!
//! Each hashed instruction has a counter. It rises when a line fetched by the instruction is
//! reused, and falls when such a line is evicted without reuse. While it is below the threshold,
//! the instruction's lines are not kept, except one of `sample` so that reuse can be observed
//! again. Every period moves all counters one step back towards the start value.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{
    CachePolicies, CachePolicy, Cause, EventContext, Eviction, Field, Fill, MissDecision, TagLookup,
};

/// Specification of the [`ReuseBypass`] policy and its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReuseBypassSpec {
    /// Number of counters in the table; a power of two.
    pub entries: u32,
    /// Largest value of a counter; counters start at half of it.
    pub counter_max: u32,
    /// Lines of instructions whose counter is below this value are not kept.
    pub threshold: u32,
    /// One in this many bypassed lines is kept anyway.
    pub sample: u32,
    /// Accepted requests between two steps of all counters towards the middle.
    pub period_requests: u64,
}

const ENTRIES_MAX: u32 = 1 << 20;

/// Policy that does not keep lines of instructions without observed reuse.
#[derive(State, Statistics)]
pub struct ReuseBypass {
    #[state(skip)]
    settings: ReuseBypassSpec,
    #[statistic(flatten)]
    learned: Learned,
}

impl PolicyKind for ReuseBypass {
    type Role = CachePolicies;
    const NAME: &'static str = "ReuseBypass";
    const SUMMARY: &'static str =
        "Bypasses misses of instructions whose lines were evicted without reuse";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "ReuseBypass(entries: 1, counter_max: 1, threshold: 0, sample: 1, period_requests: 1000)",
        like: "",
    });
    type Spec = ReuseBypassSpec;

    fn build(
        settings: ReuseBypassSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let entries = settings.entries;
        let power = entries.is_power_of_two() && entries <= ENTRIES_MAX;
        SpecError::require(power, "entries", || {
            format!("{entries} must be a power of two, at most {ENTRIES_MAX}")
        })?;
        SpecError::in_range("counter_max", settings.counter_max, 1..)?;
        SpecError::in_range("sample", settings.sample, 1..)?;
        SpecError::in_range("period_requests", settings.period_requests, 1..)?;
        let learned = Learned {
            counters: vec![settings.counter_max / 2; entries as usize],
            lines: vec![None; context.site.lines as usize],
            misses: 0,
            bypassed: 0,
        };
        Ok(Box::new(Self { settings, learned }))
    }
}

#[derive(Serialize, Deserialize, Statistics)]
struct Learned {
    counters: Vec<u32>,
    /// For each place: counter of the instruction that fetched the line, until the line is reused.
    lines: Vec<Option<u32>>,
    misses: u64,
    /// lines that the reuse predictor bypassed
    #[statistic(name = "reuse_bypass_lines", unit = "lines")]
    bypassed: u64,
}

impl ReuseBypass {
    fn counter(&self, pc: u32) -> u32 {
        let hash = pc.wrapping_mul(0x9e37_79b1);
        let bits = self.settings.entries.trailing_zeros();
        hash.checked_shr(u32::BITS - bits).unwrap_or(0)
    }
}

impl CachePolicy for ReuseBypass {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let counter = self.counter(miss.request.source.pc);
        let reused = self.learned.counters[counter as usize] >= self.settings.threshold;
        let sampled = self
            .learned
            .misses
            .is_multiple_of(u64::from(self.settings.sample));
        decision.insert = reused || sampled;
    }

    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _context: &mut EventContext<'_>) {
        if let (true, Some(slot)) = (hit, access.slot)
            && let Some(counter) = self.learned.lines[slot.index()].take()
        {
            let counter = &mut self.learned.counters[counter as usize];
            *counter = self.settings.counter_max.min(*counter + 1);
        }
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        if miss.slot.is_none() {
            self.learned.misses += 1;
            self.learned.bypassed += u64::from(!decision.insert);
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if let (true, Some(slot)) = (fill.first, fill.slot) {
            self.learned.lines[slot.index()] = Some(self.counter(fill.source.pc));
        }
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        let unused = self.learned.lines[eviction.slot.index()].take();
        if let (Some(counter), Cause::Replaced) = (unused, eviction.cause) {
            let counter = &mut self.learned.counters[counter as usize];
            *counter = counter.saturating_sub(1);
        }
    }

    fn period(&self) -> Option<u64> {
        Some(self.settings.period_requests)
    }

    fn on_period(&mut self, _context: &mut EventContext<'_>) {
        let middle = self.settings.counter_max / 2;
        for counter in &mut self.learned.counters {
            *counter = match (*counter).cmp(&middle) {
                std::cmp::Ordering::Less => *counter + 1,
                std::cmp::Ordering::Equal => middle,
                std::cmp::Ordering::Greater => *counter - 1,
            };
        }
    }
}
