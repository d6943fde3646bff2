//! Region-based exclusion (R-EX): exclusive for the allocations whose lines only one compute unit
//! comes back for (INC-M4 to INC-M7).
//!
//! The policy stands at both levels. The level below says with each hit whether the line was reused
//! by its own compute unit or by others ([`TagExtension`]). A first level counts these for each
//! allocation of the program ([`Tracking`]). Misses of an allocation known for private and not
//! for shared reuse carry the flag [`EXCLUSIVE`]. The level below does not insert such a line, and
//! the first level copies it back when it is evicted. Everything else is as usual.
//!
//! A line that returns from a victim cache is not copied back later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_trace::Program;

use super::exclusive::reads;
use super::regions::{Assigned, Regions};
use super::request_bits::{EXCLUSIVE, PRIVATE_REUSE, SHARED_REUSE};
use super::tag_extension::TagExtension;
use super::tracking::{Event, Tracking, TrackingSettings};
use super::written_lines::{ENTRIES, ENTRIES_MAX, WrittenLines};
use super::{
    CachePolicies, CachePolicy, EventContext, EvictDecision, Eviction, Field, Fill, MissDecision,
    ResponseDecision, Swap, TagLookup,
};
use crate::memory::Level;

/// Specification of the [`RegionExclusive`] policy: its table of regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RegionExclusiveSpec {
    /// Number of regions that are tracked, 0 to 1024; the first allocations of the program come
    /// first. With 0 nothing is exclusive. Source: 31 in the graph thesis, 4.4.3.
    pub regions: u32,
    /// Number of fills of a first level in a period, after which its table is updated. Source: own
    /// choice; the graph thesis leaves it out.
    pub period_fills: u32,
    /// One fill in this many must show reuse of a kind for its flag. Source: 64 in the graph
    /// thesis, 4.4.3.
    pub share: u32,
    /// Keeps a flag until the next launch. Source: `true`, the listing of the graph thesis, 4.4.3.
    pub sticky: bool,
    /// Assignment of lines to regions. Source: allocations in the graph thesis, 4.4.3.
    pub assigned: Assigned,
    /// Entries of a table of written lines in the level below. It refuses victims whose line may
    /// have been written since they were fetched; with 0 it takes stale ones. Source: own choice;
    /// the graph thesis does not treat them.
    pub written_entries: u32,
}

impl Default for RegionExclusiveSpec {
    fn default() -> Self {
        Self {
            regions: 31,
            period_fills: 1024,
            share: 64,
            sticky: true,
            assigned: Assigned::Allocated,
            written_entries: ENTRIES,
        }
    }
}

const REGIONS_MAX: u32 = 1024;

/// Policy by which regions with private reuse alone are exclusive.
pub struct RegionExclusive;

impl PolicyKind for RegionExclusive {
    type Role = CachePolicies;
    const NAME: &'static str = "RegionExclusive";
    const SUMMARY: &'static str =
        "Exclusion for the allocations whose lines only one compute unit reuses";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "RegionExclusive(regions: 0, written_entries: 0)",
        like: "",
    });
    type Spec = RegionExclusiveSpec;

    fn build(
        spec: RegionExclusiveSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("regions", spec.regions, 0..=REGIONS_MAX)?;
        SpecError::in_range("period_fills", spec.period_fills, 1..)?;
        SpecError::in_range("share", spec.share, 1..)?;
        SpecError::in_range("written_entries", spec.written_entries, 0..=ENTRIES_MAX)?;
        let site = context.site;
        if site.level != Level::L1 {
            return Ok(Box::new(Below {
                learns: spec.regions > 0,
                tags: TagExtension::new(site.lines),
                exclusive_misses: 0,
                written: WrittenLines::new(spec.written_entries),
                stale_victims: 0,
            }));
        }
        let program = context.environment.resource::<Program>();
        let regions = Regions::new(program.as_deref(), spec.assigned, site.line_bytes);
        let mut tracking = Tracking::new(TrackingSettings {
            entries: spec.regions,
            untracked: 1,
            share: spec.share,
            sticky: spec.sticky,
        });
        tracking.hold_first(regions.count());
        Ok(Box::new(Above {
            period_fills: spec.period_fills,
            regions,
            tracking,
            fills: 0,
            copies_back: vec![false; site.lines as usize],
            exclusive_requests: 0,
            region_updates: 0,
        }))
    }
}

/// The part in a first level.
#[derive(State, Statistics)]
struct Above {
    #[state(skip)]
    period_fills: u32,
    #[state(skip)]
    regions: Regions,
    #[state(part)]
    tracking: Tracking,
    /// Fills since the last update of the table.
    fills: u32,
    /// For each place: true if its line is copied back when it is evicted.
    #[state(array)]
    copies_back: Vec<bool>,
    /// misses that asked for an exclusive line
    #[statistic(unit = "requests")]
    exclusive_requests: u64,
    /// updates of the table of regions
    #[statistic(unit = "changes")]
    region_updates: u64,
}

impl CachePolicy for Above {
    fn owns(&self) -> &'static [Field] {
        if self.tracking.is_empty() {
            &[]
        } else {
            &[Field::RequestFlags, Field::HandDown]
        }
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let known = !self.tracking.is_new(miss.request.source.kernel) && reads(miss.request);
        let region = self.regions.of(miss.line).filter(|_| known);
        let learned = region.and_then(|region| self.tracking.learned(region));
        if learned.is_some_and(|reuse| reuse.b && !reuse.a) {
            decision.flags = EXCLUSIVE;
        }
    }

    fn decide_evict(&self, eviction: &Eviction, decision: &mut EvictDecision) {
        decision.hand_down = self.copies_back[eviction.slot.index()];
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        self.tracking.follow(access.request.source.kernel);
    }

    fn on_miss(
        &mut self,
        _miss: &TagLookup<'_>,
        decision: MissDecision,
        _context: &mut EventContext<'_>,
    ) {
        self.exclusive_requests += u64::from(decision.flags & EXCLUSIVE != 0);
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        if let Some(slot) = store.slot {
            self.copies_back[slot.index()] = false;
        }
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if let (true, Some(slot)) = (fill.first, fill.slot) {
            self.copies_back[slot.index()] = fill.flags & EXCLUSIVE != 0;
        }
        if let Some(region) = self.regions.of(fill.line) {
            self.tracking.access(region);
            let reuses = [(SHARED_REUSE, Event::A), (PRIVATE_REUSE, Event::B)];
            for (_, event) in reuses.iter().filter(|(bit, _)| fill.flags & bit != 0) {
                self.tracking.credit(region, *event);
            }
        }
        self.fills += 1;
        if self.fills >= self.period_fills {
            self.fills = 0;
            self.region_updates += 1;
            self.tracking.update();
        }
    }

    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        self.copies_back[swap.slot.index()] = false;
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
    /// misses on lines that were asked for as exclusive
    #[statistic(unit = "requests")]
    exclusive_misses: u64,
    #[state(part)]
    written: WrittenLines,
    /// victims refused because their line may have been written since it was fetched
    #[statistic(unit = "lines")]
    stale_victims: u64,
}

impl CachePolicy for Below {
    fn owns(&self) -> &'static [Field] {
        &[Field::Insert, Field::Drop, Field::ResponseFlags]
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let takes = miss.request.flags & EXCLUSIVE == 0 || !reads(miss.request);
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
        self.exclusive_misses += u64::from(miss.slot.is_none() && !decision.insert);
        self.tags.on_miss(miss);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.written.on_request(pass);
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.tags.on_new_line(store);
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        let refused = copy_back.slot.is_none() && self.written.refuses(copy_back);
        self.stale_victims += u64::from(refused);
        self.tags.on_ignored(copy_back);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        self.tags.on_fill(fill);
    }
}
