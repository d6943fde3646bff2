//! Choice between whole lines and single sub-blocks by the history of addresses (the bimodal
//! granularity predictor of LAMAR, GRN-M3).
//!
//! A line that left with few sub-blocks touched is fine, others are coarse. Most lines are of the
//! default class; a pair of Bloom filters remembers those of the other class. A miss on a coarse
//! line fetches all of it, one on a fine line what it asks for. The default is coarse at first, and
//! changes when most lines of a window of evictions were of the other class. In a cache without
//! sectors nothing is predicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::chance::check_probability;
use super::twin_bloom::TwinBloom;
use super::{
    CachePolicies, CachePolicy, EventContext, Eviction, Field, Fill, MissDecision, SubBlocks,
    TagLookup, Touched,
};
use crate::bloom::BloomSpec;

/// Specification of the [`BimodalGranularity`] policy: its filters and when it changes its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BimodalGranularitySpec {
    /// Bits of each of the two filters, 1 to 16777216. Source: 2048 in the graph thesis.
    pub bits: u32,
    /// Hashes per line, 1 to 16. Source: own choice.
    pub hashes: u32,
    /// Insertions after which the filters change roles, at least 1. Source: 512 in the graph
    /// thesis.
    pub refresh: u32,
    /// Fraction, 0 to 1, of lines of the other class in a window above which the default changes.
    /// Source: 0.7 in the graph thesis.
    pub skew: f64,
    /// Most touched sub-blocks of a fine line; with 0 every line is coarse. Source: 2 in the graph
    /// thesis.
    pub fine: u32,
    /// Evictions in a window, at least 1. Source: own choice.
    pub window: u32,
}

impl Default for BimodalGranularitySpec {
    fn default() -> Self {
        Self {
            bits: 2048,
            hashes: 2,
            refresh: 512,
            skew: 0.7,
            fine: 2,
            window: 512,
        }
    }
}

/// Policy that fetches whole lines or what is asked for, by class of line.
#[derive(State, Statistics)]
pub struct BimodalGranularity {
    #[state(skip)]
    spec: BimodalGranularitySpec,
    #[state(skip)]
    sub_blocks: SubBlocks,
    /// True if lines that the filters do not know are fine.
    default_is_fine: bool,
    #[state(part)]
    others: TwinBloom,
    /// Evictions in the current window, and those of lines of the other class.
    window: (u32, u32),
    #[state(part)]
    touched: Touched<()>,
    /// changes of the default class of lines
    #[statistic(name = "granularity_flips", unit = "changes")]
    flips: u64,
    /// sub-blocks fetched beyond those asked for because their line is coarse
    #[statistic(name = "coarse_blocks", unit = "sectors")]
    predicted: u64,
}

impl PolicyKind for BimodalGranularity {
    type Role = CachePolicies;
    const NAME: &'static str = "BimodalGranularity";
    const SUMMARY: &'static str =
        "Misses fetch whole lines, or single sectors where few were touched before";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "BimodalGranularity(fine: 0)",
        like: "FetchGranularity(bytes: 128)",
    });
    type Spec = BimodalGranularitySpec;

    fn build(
        spec: BimodalGranularitySpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let filter = BloomSpec {
            bits: spec.bits,
            hashes: spec.hashes,
        };
        // The fields of the filter are fields of this specification.
        SpecError::in_range("bits", spec.bits, 1..=1 << 24)?;
        SpecError::in_range("hashes", spec.hashes, 1..=16)?;
        SpecError::in_range("refresh", spec.refresh, 1..)?;
        check_probability("skew", spec.skew)?;
        SpecError::in_range("fine", spec.fine, 0..=32)?;
        SpecError::in_range("window", spec.window, 1..)?;
        Ok(Box::new(Self {
            sub_blocks: SubBlocks::of(context.site),
            default_is_fine: false,
            others: TwinBloom::new(filter, spec.refresh),
            window: (0, 0),
            touched: Touched::new(context.site),
            flips: 0,
            predicted: 0,
            spec,
        }))
    }
}

impl BimodalGranularity {
    fn is_fine(&self, line: u64) -> bool {
        self.default_is_fine != self.others.contains(line)
    }

    /// Judges a line that left by its touched sub-blocks.
    fn judge(&mut self, line: u64, touched: u32) {
        let fine = touched.count_ones() <= self.spec.fine;
        self.window.0 += 1;
        if fine != self.default_is_fine {
            self.others.insert(line);
            self.window.1 += 1;
        }
        let (all, others) = self.window;
        if all < self.spec.window {
            return;
        }
        self.window = (0, 0);
        if f64::from(others) > self.spec.skew * f64::from(all) {
            self.default_is_fine = !self.default_is_fine;
            self.others.clear();
            self.flips += 1;
        }
    }
}

impl CachePolicy for BimodalGranularity {
    fn owns(&self) -> &'static [Field] {
        &[Field::Fetch]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        if miss.slot.is_none() && !self.is_fine(miss.line) {
            decision.fetch = self.sub_blocks.words(self.sub_blocks.all());
        }
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        self.touched.accessed(access);
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        let asked = self.sub_blocks.of_words(miss.words);
        let predicted = self.sub_blocks.of_words(decision.fetch) & !asked;
        self.predicted += u64::from(predicted.count_ones());
        self.touched.missed(miss, ());
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.touched.passed(pass);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        self.touched.filled(fill);
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        if let Some(line) = self.touched.take(eviction)
            && line.note.is_some()
        {
            self.judge(line.line, line.touched);
        }
    }
}
