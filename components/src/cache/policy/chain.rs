//! Ordered chain of a cache's policies.

use warpweave_framework::{Cycle, Instrumented, SpecError, State, Stateful, Statistics};

use super::decisions::FIELDS;
use super::event_context::{Outbox, PUBLISHERS_MAX, PublishedValues};
use super::{
    CachePolicy, EventContext, EvictDecision, Eviction, Field, Fill, FillDecision, MissDecision,
    ResponseDecision, Swap, TagLookup,
};
use crate::memory::MemRequest;

/// The policies of one cache, in order.
#[derive(Default)]
pub(in crate::cache) struct PolicyChain {
    policies: Vec<Box<dyn CachePolicy>>,
    owners: [Option<usize>; FIELDS],
    accesses: u64,
    pub(in crate::cache) outbox: Outbox,
    /// Latest sums of published values delivered to the policies.
    received: [i64; PUBLISHERS_MAX],
}

impl PolicyChain {
    /// Creates a chain of these policies, with their names for messages.
    pub(in crate::cache) fn of(
        policies: Vec<Box<dyn CachePolicy>>,
        names: &[&str],
    ) -> Result<Self, SpecError> {
        let mut owners = [None::<usize>; FIELDS];
        for (i, policy) in policies.iter().enumerate() {
            for &field in policy.owns() {
                let owner = &mut owners[field as usize];
                if let Some(other) = *owner {
                    let why = format!(
                        "{} and {} both decide {field:?}; remove one of them",
                        names[other], names[i]
                    );
                    return Err(SpecError::at(format!("policies[{i}]"), why));
                }
                *owner = Some(i);
            }
        }
        Ok(Self {
            policies,
            owners,
            ..Self::default()
        })
    }

    #[inline]
    pub(in crate::cache) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// True if clean victims may be sent to the next level.
    pub(in crate::cache) fn hands_down(&self) -> bool {
        self.owners[Field::HandDown as usize].is_some()
    }

    fn owner(&self, field: Field) -> Option<&dyn CachePolicy> {
        Some(&*self.policies[self.owners[field as usize]?])
    }

    pub(in crate::cache) fn decide_miss(&self, miss: &TagLookup<'_>) -> MissDecision {
        let mut decision = MissDecision::default();
        let ask = |field| {
            let mut own = MissDecision::default();
            self.owner(field).map(|policy| {
                policy.decide_miss(miss, &mut own);
                own
            })
        };
        if let Some(own) = ask(Field::Insert) {
            decision.insert = own.insert;
        }
        if let Some(own) = ask(Field::Fetch) {
            decision.fetch = own.fetch;
        }
        if let Some(own) = ask(Field::RequestFlags) {
            decision.flags = own.flags;
        }
        decision
    }

    pub(in crate::cache) fn keeps(&self, fill: &Fill) -> bool {
        let mut decision = FillDecision::default();
        if let Some(policy) = self.owner(Field::Keep) {
            policy.decide_fill(fill, &mut decision);
        }
        decision.keep
    }

    pub(in crate::cache) fn decide_evict(&self, eviction: &Eviction) -> EvictDecision {
        let mut decision = EvictDecision::default();
        if let Some(policy) = self.owner(Field::HandDown) {
            policy.decide_evict(eviction, &mut decision);
        }
        decision
    }

    pub(in crate::cache) fn decide_response(&self, hit: &TagLookup<'_>) -> ResponseDecision {
        let ask = |field| {
            let mut own = ResponseDecision::default();
            if let Some(policy) = self.owner(field) {
                policy.decide_response(hit, &mut own);
            }
            own
        };
        ResponseDecision {
            drop: ask(Field::Drop).drop,
            flags: ask(Field::ResponseFlags).flags,
        }
    }

    /// Delivers an event to every policy in order.
    fn notify(&mut self, now: Cycle, event: impl Fn(&mut dyn CachePolicy, &mut EventContext<'_>)) {
        for (number, policy) in self.policies.iter_mut().enumerate() {
            event(&mut **policy, &mut self.outbox.context_of(number, now));
        }
    }

    pub(in crate::cache) fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, now: Cycle) {
        self.accesses += 1;
        let accesses = self.accesses;
        self.notify(now, |policy, context| {
            policy.on_access(access, hit, context);
            if policy.period().is_some_and(|p| accesses.is_multiple_of(p)) {
                policy.on_period(context);
            }
        });
    }

    pub(in crate::cache) fn on_miss(
        &mut self,
        miss: &TagLookup<'_>,
        did: MissDecision,
        now: Cycle,
    ) {
        self.notify(now, |policy, context| policy.on_miss(miss, did, context));
    }

    pub(in crate::cache) fn on_pass(&mut self, pass: &TagLookup<'_>, now: Cycle) {
        self.notify(now, |policy, context| policy.on_pass(pass, context));
    }

    pub(in crate::cache) fn on_ignored(&mut self, copy_back: &TagLookup<'_>, now: Cycle) {
        self.notify(now, |policy, context| policy.on_ignored(copy_back, context));
    }

    pub(in crate::cache) fn on_new_line(&mut self, store: &TagLookup<'_>, now: Cycle) {
        self.notify(now, |policy, context| policy.on_new_line(store, context));
    }

    pub(in crate::cache) fn on_fill(&mut self, fill: &Fill, now: Cycle) {
        self.notify(now, |policy, context| policy.on_fill(fill, context));
    }

    pub(in crate::cache) fn on_evict(&mut self, eviction: &Eviction, now: Cycle) {
        self.notify(now, |policy, context| policy.on_evict(eviction, context));
    }

    pub(in crate::cache) fn on_swap(&mut self, swap: &Swap, now: Cycle) {
        self.notify(now, |policy, context| policy.on_swap(swap, context));
    }

    pub(in crate::cache) fn on_response(&mut self, request: &MemRequest, now: Cycle) {
        self.notify(now, |policy, context| policy.on_response(request, context));
    }

    /// Delivers new sums of published values from the peer caches to each policy. Returns true if
    /// any sum changed.
    pub(in crate::cache) fn receive(&mut self, sums: PublishedValues) -> bool {
        let mut any = false;
        let policies = self.policies.iter_mut().zip(&mut self.received);
        for ((policy, received), sum) in policies.zip(sums.0) {
            if *received != sum {
                *received = sum;
                policy.on_published(sum);
                any = true;
            }
        }
        any
    }
}

impl Stateful for PolicyChain {
    fn state(&mut self, state: &mut State<'_>) {
        if self.is_empty() {
            return;
        }
        state.field("accesses", &mut self.accesses);
        state.field("heard", &mut self.received);
        state.field("published", &mut self.outbox.published);
        state.field("events", &mut self.outbox.events);
        state.field("events_dropped", &mut self.outbox.events_dropped);
        state.field("copy_backs_dropped", &mut self.outbox.copy_backs_dropped);
        for (i, policy) in self.policies.iter_mut().enumerate() {
            state.part(&i.to_string(), |state| policy.state(state));
        }
    }
}

impl Instrumented for PolicyChain {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        if self.is_empty() {
            return;
        }
        let meaning = "events for the compute unit that were dropped for lack of room";
        let dropped = self.outbox.events_dropped;
        statistics.counter("events_dropped", "events", meaning, dropped);
        let meaning = "copy-backs requested by a policy that were dropped";
        let dropped = self.outbox.copy_backs_dropped;
        statistics.counter("policy_copy_backs_dropped", "lines", meaning, dropped);
        self.policies.iter().for_each(|p| p.statistics(statistics));
    }
}
