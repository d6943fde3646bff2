//! Exclusion: a line is in a first level or in the level below, not in both (INC-M2).
//!
//! The policy stands at both levels. A first level hands its clean victims down. The level below
//! inserts what is handed down but not what it fetches, and a line leaves when it has answered a
//! read. Victims that may be stale are refused ([`WrittenLines`]). Atomics insert and keep their
//! lines, and dirty lines stay. Reads that bypass the first level leave a line where it is, as no
//! other cache keeps it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::written_lines::{ENTRIES, ENTRIES_MAX, WrittenLines};
use super::{
    CachePolicies, CachePolicy, Cause, EventContext, EvictDecision, Eviction, Field, MissDecision,
    ResponseDecision, TagLookup,
};
use crate::memory::{Level, MemRequest, RequestKind, flags};

/// Specification of the [`Exclusive`] policy, which both levels share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExclusiveSpec {
    /// Sends the clean victims of a first level down. Without it hits leave and victims are lost, a
    /// control. Source: `true` in the graph thesis, 4.4.
    pub hand_down: bool,
    /// Keeps lines in the level below: it inserts what it fetches, and hits stay. Victims then use
    /// the network without giving space, a control. Source: `false` in the graph thesis, 4.4.
    pub keep_below: bool,
    /// Entries of a table of written lines in the level below. It refuses victims whose line may
    /// have been written since they were fetched; with 0 it takes stale ones. Source: own choice;
    /// the graph thesis does not treat them.
    pub written_entries: u32,
}

impl Default for ExclusiveSpec {
    fn default() -> Self {
        Self {
            hand_down: true,
            keep_below: false,
            written_entries: ENTRIES,
        }
    }
}

/// Policy by which a line is in a first level or in the level below.
#[derive(State, Statistics)]
pub struct Exclusive {
    #[state(skip)]
    settings: ExclusiveSpec,
    /// True if the cache is a first level.
    #[state(skip)]
    is_first: bool,
    /// lines that left when they had answered a read
    #[statistic(unit = "lines")]
    exclusive_hits: u64,
    #[state(part)]
    written: WrittenLines,
    /// victims refused because their line may have been written since it was fetched
    #[statistic(unit = "lines")]
    stale_victims: u64,
}

impl PolicyKind for Exclusive {
    type Role = CachePolicies;
    const NAME: &'static str = "Exclusive";
    const SUMMARY: &'static str =
        "Hits leave the second level and clean victims of the first enter it";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Exclusive(hand_down: false, keep_below: true, written_entries: 0)",
        like: "",
    });
    type Spec = ExclusiveSpec;

    fn build(
        settings: ExclusiveSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        SpecError::in_range("written_entries", settings.written_entries, 0..=ENTRIES_MAX)?;
        let is_first = context.site.level == Level::L1;
        Ok(Box::new(Self {
            settings,
            is_first,
            exclusive_hits: 0,
            written: WrittenLines::new(if is_first {
                0
            } else {
                settings.written_entries
            }),
            stale_victims: 0,
        }))
    }
}

/// True if a request takes a line to the first level that it came from.
pub(super) fn moves_up(request: &MemRequest) -> bool {
    matches!(request.kind, RequestKind::Read | RequestKind::Prefetch)
        && request.flags & flags::BYPASS_L1 == 0
}

/// True if a request only reads its line.
pub(super) fn reads(request: &MemRequest) -> bool {
    matches!(request.kind, RequestKind::Read | RequestKind::Prefetch)
}

impl CachePolicy for Exclusive {
    fn owns(&self) -> &'static [Field] {
        match (self.is_first, self.settings.hand_down) {
            (true, true) => &[Field::HandDown],
            (true, false) => &[],
            (false, _) => &[Field::Insert, Field::Drop],
        }
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let takes = self.settings.keep_below || !reads(miss.request);
        decision.insert = takes && !self.written.refuses(miss);
    }

    fn decide_evict(&self, _eviction: &Eviction, decision: &mut EvictDecision) {
        decision.hand_down = self.settings.hand_down;
    }

    fn decide_response(&self, hit: &TagLookup<'_>, decision: &mut ResponseDecision) {
        decision.drop = !self.settings.keep_below && moves_up(hit.request);
    }

    fn on_access(&mut self, access: &TagLookup<'_>, _hit: bool, _context: &mut EventContext<'_>) {
        self.written.on_request(access);
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.written.on_request(pass);
    }

    fn on_ignored(&mut self, copy_back: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        let refused = copy_back.slot.is_none() && self.written.refuses(copy_back);
        self.stale_victims += u64::from(refused);
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        self.exclusive_hits += u64::from(eviction.cause == Cause::Dropped);
    }
}
