//! Bypass with copy-back (B+C): regions decide about the second level, instructions about the first
//! (BYP-M4, BYP-M5).
//!
//! The policy stands at both levels. A first level learns of each allocation of the program whether
//! one unit or several reuse its lines, as with region-based exclusion. Of each load instruction it
//! learns whether the lines that it fetched are hit. Decisions begin after a period of fills. A
//! line gets no place in the first level if lines of its instruction are not hit. It gets none in
//! the second if its region is not reused. A line of a region with private reuse alone is not
//! inserted below. It is copied back when it is evicted above, and leaves with the next read of its
//! unit. A sample of the bypassed lines is inserted, so that reuse can be seen again.
//!
//! A line that returns from a victim cache is not copied back later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_trace::Program;

use super::bypass_table::{BypassDecision, decide};
use super::chance::Chance;
use super::exclusive::reads;
use super::instructions::Instructions;
use super::regions::{Assigned, Regions};
use super::request_bits::{BYPASS_L2, EXCLUSIVE, PRIVATE_REUSE, SAMPLED, SHARED_REUSE};
use super::tag_extension::TagExtension;
use super::tracking::{Event, Tracking, TrackingSettings};
use super::written_lines::{ENTRIES, ENTRIES_MAX as WRITTEN_MAX, WrittenLines};
use super::{
    CachePolicies, CachePolicy, EventContext, EvictDecision, Eviction, Field, Fill, MissDecision,
    ResponseDecision, Swap, TagLookup,
};
use crate::memory::{Level, Source};

/// Specification of the [`BypassCopyBack`] policy: its tables and periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BypassCopyBackSpec {
    /// Number of regions that are tracked, 0 to 1024; the first allocations of the program come
    /// first. Source: 31 in the graph thesis.
    pub regions: u32,
    /// Number of fills of a first level in a period, after which its tables are updated. Source:
    /// own choice; the graph thesis leaves it out.
    pub period_fills: u32,
    /// One access in this many must show reuse for its flag. Source: 64 in the graph thesis.
    pub share: u32,
    /// Keeps a flag until the next launch. Source: `true`, the listing of the graph thesis.
    pub sticky: bool,
    /// Assignment of the lines of allocations to regions. Source: allocations in the graph thesis.
    pub assigned: Assigned,
    /// Number of load instructions that are tracked, 0 to 1024. Source: 15 in the graph thesis.
    pub instructions: u32,
    /// Number of counters of other instructions, 0 to 1024. Source: own choice.
    pub untracked: u32,
    /// About one in this many bypassed lines is inserted as a sample; none with 0. Source: own
    /// choice.
    pub sample: u32,
    /// Entries of a table of written lines in the level below, which refuses victims that may be
    /// stale; with 0 it takes them. Source: own choice.
    pub written_entries: u32,
}

impl Default for BypassCopyBackSpec {
    fn default() -> Self {
        Self {
            regions: 31,
            period_fills: 1024,
            share: 64,
            sticky: true,
            assigned: Assigned::Allocated,
            instructions: 15,
            untracked: 16,
            sample: 32,
            written_entries: ENTRIES,
        }
    }
}

const ENTRIES_MAX: u32 = 1024;

/// Policy by which reuse of regions and instructions decides on bypass.
pub struct BypassCopyBack;

impl PolicyKind for BypassCopyBack {
    type Role = CachePolicies;
    const NAME: &'static str = "BypassCopyBack";
    const SUMMARY: &'static str =
        "Bypass by reuse of instructions and allocations; private lines are copied back";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "BypassCopyBack(regions: 0, instructions: 0, written_entries: 0)",
        like: "",
    });
    type Spec = BypassCopyBackSpec;

    fn build(
        spec: BypassCopyBackSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("regions", spec.regions, 0..=ENTRIES_MAX)?;
        SpecError::in_range("period_fills", spec.period_fills, 1..)?;
        SpecError::in_range("share", spec.share, 1..)?;
        SpecError::in_range("instructions", spec.instructions, 0..=ENTRIES_MAX)?;
        SpecError::in_range("untracked", spec.untracked, 0..=ENTRIES_MAX)?;
        SpecError::in_range("written_entries", spec.written_entries, 0..=WRITTEN_MAX)?;
        let site = context.site;
        if site.level != Level::L1 {
            return Ok(Box::new(Below {
                learns: spec.regions > 0,
                tags: TagExtension::new(site.lines),
                bypassed: 0,
                written: WrittenLines::new(spec.written_entries),
            }));
        }
        let table = |entries, untracked| {
            Tracking::new(TrackingSettings {
                entries,
                untracked,
                share: spec.share,
                sticky: spec.sticky,
            })
        };
        let program = context.environment.resource::<Program>();
        let regions = Regions::new(program.as_deref(), spec.assigned, site.line_bytes);
        let mut region_table = table(spec.regions, 1);
        region_table.hold_first(regions.count());
        Ok(Box::new(Above {
            spec,
            chance: Chance::new(context.seed()),
            keys: Instructions::of(context.environment),
            regions,
            region_table,
            instruction_table: table(spec.instructions, spec.untracked),
            fills: 0,
            choices: 0,
            places: vec![Place::default(); site.lines as usize],
            counts: Counts::default(),
        }))
    }
}

/// State of a first level about a line in a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    /// Entry of the instruction that fetched the line; `None` if it has none.
    instruction: Option<u16>,
    copies_back: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Statistics)]
struct Counts {
    /// lines that bypass with copy-back kept out of the first level
    #[statistic(name = "reuse_table_bypasses", unit = "lines")]
    bypassed: u64,
    /// misses that asked the second level not to insert their line
    #[statistic(name = "reuse_table_bypasses_below", unit = "requests")]
    bypassed_below: u64,
    /// misses on lines that are copied back when they are evicted
    #[statistic(name = "reuse_table_copy_backs", unit = "requests")]
    copied_back: u64,
    /// lines that were inserted although they would be bypassed
    #[statistic(name = "reuse_table_samples", unit = "lines")]
    sampled: u64,
}

/// The part in a first level.
#[derive(State, Statistics)]
struct Above {
    #[state(skip)]
    spec: BypassCopyBackSpec,
    #[state(skip)]
    chance: Chance,
    #[state(skip)]
    keys: Instructions,
    #[state(skip)]
    regions: Regions,
    #[state(part)]
    region_table: Tracking,
    #[state(part)]
    instruction_table: Tracking,
    /// Fills since the tables were updated.
    fills: u32,
    /// Lines that the table would bypass.
    choices: u64,
    #[state(array)]
    places: Vec<Place>,
    #[statistic(flatten)]
    counts: Counts,
}

impl Above {
    /// Key of an instruction in its table. It is unique among the first 4096 codes of a program and
    /// the first 1048576 instructions of each.
    fn key(&self, source: &Source) -> u32 {
        let key = self.keys.key(source);
        ((key >> 32) as u32).wrapping_mul(1 << 20) ^ key as u32
    }

    /// Decision of the table about a line; none before a period of its launch has ended.
    fn decision(&self, miss: &TagLookup<'_>) -> BypassDecision {
        let source = &miss.request.source;
        let known = reads(miss.request) && !self.region_table.is_new(source.kernel);
        let region = self.regions.of(miss.line).filter(|_| known);
        let region = region.and_then(|region| self.region_table.learned(region));
        let instruction = Some(self.key(source)).filter(|_| known);
        let instruction = instruction.and_then(|key| self.instruction_table.learned(key));
        decide(instruction.map(|learned| learned.a), region)
    }

    fn is_sampled(&self) -> bool {
        let sample = self.spec.sample;
        sample != 0
            && self
                .chance
                .happens(0, self.choices, 1.0 / f64::from(sample))
    }
}

impl CachePolicy for Above {
    fn owns(&self) -> &'static [Field] {
        if self.spec.regions == 0 && self.spec.instructions == 0 {
            &[]
        } else {
            &[Field::Insert, Field::RequestFlags, Field::HandDown]
        }
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let BypassDecision { insert, flags } = self.decision(miss);
        if let Some(slot) = miss.slot {
            // Further sectors go where those that are here came from.
            let copies_back = self.places[slot.index()].copies_back;
            decision.flags = if copies_back {
                EXCLUSIVE
            } else {
                flags & BYPASS_L2
            };
        } else if (!insert || flags & BYPASS_L2 != 0) && self.is_sampled() {
            decision.flags = flags | SAMPLED;
        } else {
            decision.insert = insert;
            decision.flags = flags;
        }
    }

    fn decide_evict(&self, eviction: &Eviction, decision: &mut EvictDecision) {
        decision.hand_down = self.places[eviction.slot.index()].copies_back;
    }

    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _context: &mut EventContext<'_>) {
        let source = &access.request.source;
        self.region_table.follow(source.kernel);
        self.instruction_table.follow(source.kernel);
        if !reads(access.request) {
            return;
        }
        self.instruction_table.access(self.key(source));
        if let (true, Some(slot)) = (hit, access.slot)
            && let Some(entry) = self.places[slot.index()].instruction
            && let Some(key) = self.instruction_table.key(usize::from(entry))
        {
            self.instruction_table.credit(key, Event::A);
        }
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        let has = |flag| decision.flags & flag != 0;
        if miss.slot.is_none() && (!decision.insert || has(BYPASS_L2 | SAMPLED)) {
            self.choices += 1;
        }
        let below = has(BYPASS_L2) && !has(SAMPLED);
        self.counts.bypassed += u64::from(!decision.insert);
        self.counts.bypassed_below += u64::from(below);
        self.counts.copied_back += u64::from(has(EXCLUSIVE));
        self.counts.sampled += u64::from(has(SAMPLED));
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        if let Some(slot) = store.slot {
            self.places[slot.index()] = Place::default();
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if !fill.first {
            return;
        }
        if let Some(slot) = fill.slot {
            let entry = self.instruction_table.entry(self.key(&fill.source));
            self.places[slot.index()] = Place {
                instruction: entry.map(|entry| entry as u16),
                copies_back: fill.flags & EXCLUSIVE != 0,
            };
        }
        if let Some(region) = self.regions.of(fill.line) {
            self.region_table.access(region);
            let reuses = [(SHARED_REUSE, Event::A), (PRIVATE_REUSE, Event::B)];
            for (_, event) in reuses.iter().filter(|(bit, _)| fill.flags & bit != 0) {
                self.region_table.credit(region, *event);
            }
        }
        self.fills += 1;
        if self.fills >= self.spec.period_fills {
            self.fills = 0;
            self.region_table.update();
            self.instruction_table.update();
        }
    }

    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        self.places[swap.slot.index()] = Place::default();
    }
}

/// The part in the level below.
#[derive(State, Statistics)]
struct Below {
    /// True if first levels use the flags of responses.
    #[state(skip)]
    learns: bool,
    #[state(part)]
    tags: TagExtension,
    /// misses that this level did not insert because of their flags
    #[statistic(name = "reuse_table_bypasses_here", unit = "requests")]
    bypassed: u64,
    #[state(part)]
    written: WrittenLines,
}

impl CachePolicy for Below {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert, Field::Drop, Field::ResponseFlags]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let has = |flag| miss.request.flags & flag != 0;
        let takes = !has(EXCLUSIVE | BYPASS_L2) || has(SAMPLED) || !reads(miss.request);
        decision.insert = takes && !self.written.refuses(miss);
    }

    fn decide_response(&self, hit: &TagLookup<'_>, decision: &mut ResponseDecision) {
        if self.learns {
            *decision = self.tags.response(hit);
        }
    }

    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _context: &mut EventContext<'_>) {
        self.written.on_request(access);
        self.tags.on_access(access, hit);
    }

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        self.bypassed += u64::from(miss.slot.is_none() && !decision.insert);
        self.tags.on_miss(miss);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.written.on_request(pass);
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.tags.on_new_line(store);
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.tags.on_ignored(copy_back);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        self.tags.on_fill(fill);
    }
}
