//! Hooks: the policies and prefetchers of a cache, and the notifications they receive.

use warpweave_framework::{Cycle, State, Statistics};

use super::access::Access;
use super::policy::{CacheSite, Cause, Eviction, Fill, MissDecision, PolicyChain, TagLookup};
use super::prefetcher::Prefetches;
use super::tag_array::{LineState, Slot};
use crate::memory::{MemRequest, Source};

/// Policies and prefetchers, and the cache as they see it.
#[derive(State, Statistics)]
pub(super) struct Hooks {
    #[state(skip)]
    site: CacheSite,
    #[state(part)]
    #[statistic(flatten)]
    pub(super) policies: PolicyChain,
    #[state(part)]
    #[statistic(flatten)]
    pub(super) prefetches: Prefetches,
    /// True if there is a policy or prefetcher.
    #[state(skip)]
    any: bool,
    /// True if a policy may send clean victims to the next level.
    #[state(skip)]
    hands_down: bool,
}

impl Hooks {
    pub(super) fn new(site: CacheSite, policies: PolicyChain, prefetches: Prefetches) -> Self {
        Self {
            site,
            any: !policies.is_empty() || !prefetches.is_empty(),
            hands_down: policies.hands_down(),
            policies,
            prefetches,
        }
    }

    /// The cache as policies see it.
    pub(super) fn site(&self) -> &CacheSite {
        &self.site
    }

    /// Tells whether there is no policy and no prefetcher.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    #[inline]
    pub(super) fn has_policies(&self) -> bool {
        !self.policies.is_empty()
    }

    #[inline]
    pub(super) fn has_prefetchers(&self) -> bool {
        !self.prefetches.is_empty()
    }

    /// Tells whether events of policies wait for their wire.
    #[inline]
    pub(super) fn has_events(&self) -> bool {
        !self.policies.outbox.events.is_empty()
    }

    /// Tells whether a policy may send clean victims down.
    #[inline]
    pub(super) fn hands_down(&self) -> bool {
        self.hands_down
    }

    /// A request as policies see it.
    #[inline]
    pub(super) fn look_up<'a>(
        &self,
        request: &'a MemRequest,
        access: Access,
        slot: Option<Slot>,
    ) -> TagLookup<'a> {
        let Access { line, set, words } = access;
        TagLookup {
            request,
            line,
            words,
            slot,
            set,
            global_set: self.site.global_set(line, set),
        }
    }

    /// A line that leaves its slot, as policies see it.
    pub(super) fn eviction(
        &self,
        slot: Slot,
        line: u64,
        state: LineState,
        owner: Source,
        cause: Cause,
    ) -> Eviction {
        let set = slot.index() as u32 / self.site.ways;
        Eviction {
            line,
            slot,
            state,
            cause,
            owner,
            set,
            global_set: self.site.global_set(line, set),
        }
    }

    /// Flags with which a clean victim is sent down; none if it is not.
    pub(super) fn decide_evict(&self, eviction: &Eviction) -> Option<u16> {
        let decision = self.policies.decide_evict(eviction);
        decision.hand_down.then_some(decision.flags)
    }

    /// Tells that a request was accepted and looked up.
    pub(super) fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, now: Cycle) {
        self.policies.on_access(access, hit, now);
        if !self.prefetches.is_empty() {
            self.prefetches.on_access(&self.site, access, hit, now);
        }
    }

    /// Tells that a line is fetched.
    pub(super) fn on_miss(&mut self, miss: &TagLookup<'_>, decision: MissDecision, now: Cycle) {
        self.policies.on_miss(miss, decision, now);
        if !self.prefetches.is_empty() {
            self.prefetches.on_miss(&self.site, miss, decision, now);
        }
    }

    /// Tells that a line came.
    pub(super) fn on_fill(&mut self, fill: &Fill, now: Cycle) {
        self.policies.on_fill(fill, now);
        if !self.prefetches.is_empty() {
            self.prefetches.on_fill(&self.site, fill, now);
        }
    }

    /// Tells that a line leaves its slot.
    pub(super) fn on_evict(&mut self, eviction: &Eviction, now: Cycle) {
        self.policies.on_evict(eviction, now);
        self.prefetches.on_evict(&self.site, eviction, now);
    }
}
