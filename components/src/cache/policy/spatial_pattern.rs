//! Prediction of the sub-blocks of a line by the pattern that was touched last (the spatial pattern
//! predictor, GRN-M2).
//!
//! A miss is known by its instruction and the lowest sub-block that it asks for. The table holds
//! the sub-blocks touched of the last line that such a miss fetched, from its miss until it left.
//! They are fetched in the same request. A miss that the table does not know fetches what it asks
//! for and enters it. In a cache without sectors nothing is predicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::instructions::Instructions;
use super::{
    CachePolicies, CachePolicy, EventContext, Eviction, Field, Fill, MissDecision, SubBlocks,
    TagLookup, Touched,
};

/// Specification of the [`SpatialPattern`] policy: its table of patterns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpatialPatternSpec {
    /// Number of patterns, 0 to 65536; with 0 nothing is predicted. Source: 256 in the graph
    /// thesis.
    pub entries: u32,
    /// Associativity; must divide `entries`. The least recently missed pattern of a set is
    /// replaced. Source: 8 in the graph thesis.
    pub ways: u32,
    /// True if a miss on a line that is present without the words fetches the pattern too. Source:
    /// own choice.
    pub ask_sector_misses: bool,
}

impl Default for SpatialPatternSpec {
    fn default() -> Self {
        Self {
            entries: 256,
            ways: 8,
            ask_sector_misses: false,
        }
    }
}

const ENTRIES_MAX: u32 = 1 << 16;

/// Instruction, and the lowest sub-block that its miss asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MissKey {
    instruction: u64,
    offset: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pattern {
    key: MissKey,
    blocks: u32,
    /// Number of the last miss that used the pattern.
    used: u64,
}

/// Policy that fetches the sub-blocks touched after the last such miss.
#[derive(State, Statistics)]
pub struct SpatialPattern {
    #[state(skip)]
    spec: SpatialPatternSpec,
    #[state(skip)]
    sub_blocks: SubBlocks,
    #[state(skip)]
    instructions: Instructions,
    /// Patterns of one set after the other.
    #[state(array)]
    patterns: Vec<Option<Pattern>>,
    #[state(part)]
    touched: Touched<MissKey>,
    misses: u64,
    /// sub-blocks that the spatial pattern predictor fetched beyond those asked for
    #[statistic(name = "pattern_blocks", unit = "sectors")]
    predicted: u64,
}

impl PolicyKind for SpatialPattern {
    type Role = CachePolicies;
    const NAME: &'static str = "SpatialPattern";
    const SUMMARY: &'static str =
        "Misses fetch the sectors touched after the last miss of their instruction and offset";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "SpatialPattern(entries: 0)",
        like: "",
    });
    type Spec = SpatialPatternSpec;

    fn build(
        spec: SpatialPatternSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("entries", spec.entries, 0..=ENTRIES_MAX)?;
        SpecError::in_range("ways", spec.ways, 1..=ENTRIES_MAX)?;
        SpecError::require(spec.entries.is_multiple_of(spec.ways), "ways", || {
            format!("{} must divide `entries`, {}", spec.ways, spec.entries)
        })?;
        Ok(Box::new(Self {
            sub_blocks: SubBlocks::of(context.site),
            instructions: Instructions::of(context.environment),
            patterns: vec![None; spec.entries as usize],
            touched: Touched::new(context.site),
            misses: 0,
            predicted: 0,
            spec,
        }))
    }
}

impl SpatialPattern {
    fn key(&self, miss: &TagLookup<'_>) -> MissKey {
        MissKey {
            instruction: self.instructions.key(&miss.request.source),
            offset: self.sub_blocks.of_words(miss.words).trailing_zeros(),
        }
    }

    /// Entries of the set of a key.
    fn set(&self, key: MissKey) -> std::ops::Range<usize> {
        let sets = u64::from(self.spec.entries / self.spec.ways);
        let (code, pc) = (key.instruction >> 32, key.instruction & 0xffff_ffff);
        let number = pc * u64::from(self.sub_blocks.count()) + u64::from(key.offset) + code;
        let first = (number % sets.max(1)) as usize * self.spec.ways as usize;
        first..(first + self.spec.ways as usize).min(self.patterns.len())
    }

    fn find(&self, key: MissKey) -> Option<usize> {
        let same = |entry: &usize| self.patterns[*entry].is_some_and(|p| p.key == key);
        self.set(key).find(same)
    }

    /// Entry that a new key takes: an empty one, or the one used longest ago.
    fn replaced(&self, key: MissKey) -> Option<usize> {
        self.set(key)
            .min_by_key(|entry| self.patterns[*entry].map_or(0, |pattern| pattern.used))
    }
}

impl CachePolicy for SpatialPattern {
    fn owns(&self) -> &'static [Field] {
        &[Field::Fetch]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let is_asked = miss.slot.is_none() || self.spec.ask_sector_misses;
        if is_asked
            && let Some(entry) = self.find(self.key(miss))
            && let Some(pattern) = self.patterns[entry]
        {
            decision.fetch = self.sub_blocks.words(pattern.blocks);
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
        if miss.slot.is_some() {
            return;
        }
        self.misses += 1;
        let key = self.key(miss);
        let known = self.find(key);
        let Some(entry) = known.or_else(|| self.replaced(key)) else {
            return;
        };
        let blocks = match self.patterns[entry] {
            Some(pattern) if known.is_some() => pattern.blocks,
            _ => asked,
        };
        self.patterns[entry] = Some(Pattern {
            key,
            blocks,
            used: self.misses,
        });
        self.touched.missed(miss, key);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.touched.passed(pass);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        self.touched.filled(fill);
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        if let Some(line) = self.touched.take(eviction)
            && let Some(key) = line.note
            && let Some(entry) = self.find(key)
            && let Some(pattern) = &mut self.patterns[entry]
        {
            pattern.blocks = line.touched;
        }
    }
}
