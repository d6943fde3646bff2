//! Flexclusion: sets duel about exclusion, and the others follow the winner (INC-M3).
//!
//! The policy stands at both levels, at the same place in their chains. In the level below, a set
//! acts as a usual one or as one of [`Exclusive`](super::Exclusive). One team of sets is always
//! usual, the other always exclusive, and the rest follows the team with fewer read misses. Misses
//! of atomics and prefetches, and requests that join a line in flight, do not count.
//!
//! A first level hands a victim down if the set of its line in the level below acts exclusively
//! when it is evicted. It reads the count of the duel at its port `peers`, from the port
//! `published` of every slice. With equal wires all caches have the same count in every cycle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::exclusive::{moves_up, reads};
use super::level_sets::{LevelSets, LevelSetsSpec};
use super::set_duel::{DuelSpec, SetDuel, Team};
use super::written_lines::{ENTRIES, ENTRIES_MAX, WrittenLines};
use super::{
    CachePolicies, CachePolicy, EventContext, EvictDecision, Eviction, Field, MissDecision,
    ResponseDecision, TagLookup,
};
use crate::memory::{Level, RequestKind};

/// Team that the other sets follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Followers {
    /// The team that had fewer misses so far.
    #[default]
    Winner,
    /// The team that had more misses so far, a control.
    Loser,
}

/// Specification of the [`Flexclusion`] policy: duel, sets below and control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FlexclusionSpec {
    /// Teams and counter. The first team is usual, the second exclusive. Source: the graph thesis,
    /// 4.4.
    pub duel: DuelSpec,
    /// Slices and sets of the level below; required in a first level, whose lines must be as long.
    pub below: Option<LevelSetsSpec>,
    /// Team that the other sets follow. Source: `Winner` in the graph thesis, 4.4.
    pub followers: Followers,
    /// Entries of a table of written lines in the level below. It refuses victims whose line may
    /// have been written since they were fetched; with 0 it takes stale ones. Source: own choice;
    /// the graph thesis does not treat them.
    pub written_entries: u32,
}

impl Default for FlexclusionSpec {
    fn default() -> Self {
        Self {
            duel: DuelSpec::default(),
            below: None,
            followers: Followers::Winner,
            written_entries: ENTRIES,
        }
    }
}

/// Policy by which sets of the level below are exclusive or not, as fewer misses suggest.
#[derive(State, Statistics)]
pub struct Flexclusion {
    #[state(skip)]
    followers: Followers,
    /// Sets of the level below, in a first level.
    #[state(skip)]
    below: Option<LevelSets>,
    /// True if a set of the level below can act exclusively.
    #[state(skip)]
    can_exclude: bool,
    #[statistic(
        name = "duel_count_max",
        unit = "",
        meaning = "largest count of the duel, which all caches share",
        maximum,
        value = u64::from(self.duel.count())
    )]
    duel: SetDuel,
    /// read misses in sets that acted exclusively
    #[statistic(unit = "requests")]
    exclusive_misses: u64,
    #[state(part)]
    written: WrittenLines,
    /// victims refused because their line may have been written since it was fetched
    #[statistic(unit = "lines")]
    stale_victims: u64,
}

impl PolicyKind for Flexclusion {
    type Role = CachePolicies;
    const NAME: &'static str = "Flexclusion";
    const SUMMARY: &'static str = "Exclusion where it misses less, found by sets that duel";
    // No set is in the exclusive team, and the others cannot leave the usual one.
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Flexclusion(duel: (period: 1073741824, first: 0, second: 1073741823), followers: Loser, below: (sets: 1), written_entries: 0)",
        like: "",
    });
    type Spec = FlexclusionSpec;

    fn build(
        spec: FlexclusionSpec,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        let site = context.site;
        let is_first = site.level == Level::L1;
        SpecError::in_range("written_entries", spec.written_entries, 0..=ENTRIES_MAX)?;
        let below = match &spec.below {
            _ if !is_first => None,
            Some(below) => Some(LevelSets::new(below, site.line_bytes, "below")?),
            None => {
                let why = "a first level needs the slices and sets of the level below";
                return Err(SpecError::at("below", why.to_owned()));
            }
        };
        // Only misses of the second team turn followers of the loser.
        let has_second = |below: &LevelSets| u64::from(spec.duel.second) < below.count();
        let can_exclude =
            spec.followers == Followers::Winner || below.as_ref().is_none_or(has_second);
        Ok(Box::new(Self {
            followers: spec.followers,
            below,
            can_exclude,
            duel: SetDuel::new(spec.duel, "duel")?,
            exclusive_misses: 0,
            written: WrittenLines::new(if is_first { 0 } else { spec.written_entries }),
            stale_victims: 0,
        }))
    }
}

impl Flexclusion {
    /// True if a set of the level below currently acts exclusively.
    fn acts_exclusively(&self, global_set: u64) -> bool {
        let second = self.duel.acts_second(global_set);
        let follows = self.duel.team(global_set) == Team::Followers;
        second != (follows && self.followers == Followers::Loser)
    }
}

impl CachePolicy for Flexclusion {
    fn owns(&self) -> &'static [Field] {
        match (&self.below, self.can_exclude) {
            (Some(_), true) => &[Field::HandDown],
            (Some(_), false) => &[],
            (None, _) => &[Field::Insert, Field::Drop],
        }
    }

    fn decide_miss(&self, miss: &TagLookup<'_>, decision: &mut MissDecision) {
        let takes = !reads(miss.request) || !self.acts_exclusively(miss.global_set);
        decision.insert = takes && !self.written.refuses(miss);
    }

    fn decide_evict(&self, eviction: &Eviction, decision: &mut EvictDecision) {
        if let Some(below) = &self.below {
            decision.hand_down = self.acts_exclusively(below.global_set(eviction.line));
        }
    }

    fn decide_response(&self, hit: &TagLookup<'_>, decision: &mut ResponseDecision) {
        decision.drop = moves_up(hit.request) && self.acts_exclusively(hit.global_set);
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

    fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        _decision: MissDecision,
        context: &mut EventContext<'_>,
    ) {
        let counts = miss.request.kind == RequestKind::Read && miss.slot.is_none();
        if self.below.is_none() && counts {
            self.exclusive_misses += u64::from(self.acts_exclusively(miss.global_set));
            self.duel.missed(miss.global_set, context);
        }
    }

    fn on_published(&mut self, sum: i64) {
        self.duel.receive(sum);
    }
}
