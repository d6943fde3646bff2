//! Prediction of the neighbours of the sub-block that missed, by instruction (the neighbour access
//! predictor, GRN-M4).
//!
//! Each instruction has one counter for each distance between two sub-blocks of a line. Distances
//! are measured from the lowest sub-block that the miss asked for. When a line leaves, the counters
//! of touched sub-blocks rise, those of the others fall. A miss fetches the neighbours whose
//! counter is above the threshold, in the same request. In a cache without sectors nothing is
//! predicted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::instructions::Instructions;
use super::{
    CachePolicies, CachePolicy, EventContext, Eviction, Field, Fill, MissDecision, SubBlocks,
    TagLookup, Touched,
};

/// Specification of the [`NeighbourAccess`] policy: its table of counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NeighbourAccessSpec {
    /// Number of instructions with counters, 1 to 4096; the one that missed longest ago is
    /// replaced. Source: 32 in the graph thesis.
    pub entries: u32,
    /// Largest value of a counter, 1 to 255. Source: 15 (4 bits) in the graph thesis.
    pub counter_max: u8,
    /// Value at which counters start. Source: own choice.
    pub start: u8,
    /// A neighbour is fetched while its counter is above this value. Source: own choice.
    pub threshold: u8,
    /// True if each instruction is given the counters of the next one in the table: a control that
    /// must not gain. Source: own choice.
    pub dealt: bool,
}

impl Default for NeighbourAccessSpec {
    fn default() -> Self {
        Self {
            entries: 32,
            counter_max: 15,
            start: 7,
            threshold: 7,
            dealt: false,
        }
    }
}

/// Note of a line: the instruction of its miss, and the lowest sub-block that it asked for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct NeighbourNote {
    instruction: u64,
    first: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct KnownInstruction {
    key: u64,
    /// Number of the last miss of the instruction.
    used: u64,
}

/// Policy that fetches neighbours of the missing sub-block.
#[derive(State, Statistics)]
pub struct NeighbourAccess {
    #[state(skip)]
    spec: NeighbourAccessSpec,
    #[state(skip)]
    sub_blocks: SubBlocks,
    #[state(skip)]
    instructions: Instructions,
    #[state(array)]
    known: Vec<Option<KnownInstruction>>,
    /// Counters, those of one entry after the other; each has one for every distance.
    #[state(array)]
    counters: Vec<u8>,
    #[state(part)]
    touched: Touched<NeighbourNote>,
    misses: u64,
    /// neighbours that the neighbour access predictor fetched
    #[statistic(name = "neighbour_blocks", unit = "sectors")]
    predicted: u64,
}

impl PolicyKind for NeighbourAccess {
    type Role = CachePolicies;
    const NAME: &'static str = "NeighbourAccess";
    const SUMMARY: &'static str =
        "Misses fetch the neighbouring sectors that lines of their instruction have used";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "NeighbourAccess(threshold: 15)",
        like: "",
    });
    type Spec = NeighbourAccessSpec;

    fn build(
        spec: NeighbourAccessSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("entries", spec.entries, 1..=4096)?;
        SpecError::in_range("counter_max", spec.counter_max, 1..)?;
        SpecError::in_range("start", spec.start, 0..=spec.counter_max)?;
        SpecError::in_range("threshold", spec.threshold, 0..=spec.counter_max)?;
        let sub_blocks = SubBlocks::of(context.site);
        let counters = spec.entries * distances(sub_blocks);
        Ok(Box::new(Self {
            sub_blocks,
            instructions: Instructions::of(context.environment),
            known: vec![None; spec.entries as usize],
            counters: vec![spec.start; counters as usize],
            touched: Touched::new(context.site),
            misses: 0,
            predicted: 0,
            spec,
        }))
    }
}

/// Number of distances between two sub-blocks of a line, 0 included.
fn distances(sub_blocks: SubBlocks) -> u32 {
    2 * sub_blocks.count() - 1
}

impl NeighbourAccess {
    /// Counter of an entry for a sub-block, by its distance to the first.
    fn counter(&self, entry: u32, first: u32, block: u32) -> usize {
        let distance = block + self.sub_blocks.count() - 1 - first;
        (entry * distances(self.sub_blocks) + distance) as usize
    }

    fn first_block(&self, words: u32) -> u32 {
        self.sub_blocks.of_words(words).trailing_zeros()
    }

    fn find(&self, key: u64) -> Option<u32> {
        let same = |known: &Option<KnownInstruction>| known.is_some_and(|known| known.key == key);
        self.known.iter().position(same).map(|entry| entry as u32)
    }

    /// Entry whose counters an instruction is given.
    fn dealt(&self, own: u32) -> u32 {
        let known = self.known.iter().flatten().count() as u32;
        if self.spec.dealt {
            (own + 1) % known
        } else {
            own
        }
    }

    /// Notes a miss of an instruction, which replaces another if it has no entry.
    fn enter(&mut self, key: u64) {
        let entry = self.find(key).unwrap_or_else(|| {
            let used = |entry: &u32| self.known[*entry as usize].map_or(0, |known| known.used);
            let entry = (0..self.spec.entries).min_by_key(used).unwrap_or(0);
            let each = distances(self.sub_blocks);
            let counters = (entry * each) as usize..((entry + 1) * each) as usize;
            self.counters[counters].fill(self.spec.start);
            entry
        });
        let used = self.misses;
        self.known[entry as usize] = Some(KnownInstruction { key, used });
    }
}

impl CachePolicy for NeighbourAccess {
    fn owns(&self) -> &'static [Field] {
        &[Field::Fetch]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let key = self.instructions.key(&miss.request.source);
        if let (None, Some(entry)) = (miss.slot, self.find(key)) {
            let (entry, first) = (self.dealt(entry), self.first_block(miss.words));
            let is_used = |block: &u32| {
                let counter = self.counters[self.counter(entry, first, *block)];
                *block != first && counter > self.spec.threshold
            };
            let blocks = (0..self.sub_blocks.count())
                .filter(is_used)
                .fold(0, |mask, block| mask | 1 << block);
            decision.fetch = self.sub_blocks.words(blocks);
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
        if miss.slot.is_none() {
            self.misses += 1;
            let instruction = self.instructions.key(&miss.request.source);
            self.enter(instruction);
            let first = self.first_block(miss.words);
            self.touched
                .missed(miss, NeighbourNote { instruction, first });
        }
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.touched.passed(pass);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        self.touched.filled(fill);
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        let Some(line) = self.touched.take(eviction) else {
            return;
        };
        let Some(NeighbourNote { instruction, first }) = line.note else {
            return;
        };
        let Some(entry) = self.find(instruction) else {
            return;
        };
        for block in (0..self.sub_blocks.count()).filter(|block| *block != first) {
            let counter = self.counter(entry, first, block);
            let counter = &mut self.counters[counter];
            *counter = if line.touched >> block & 1 != 0 {
                self.spec.counter_max.min(counter.saturating_add(1))
            } else {
                counter.saturating_sub(1)
            };
        }
    }
}
