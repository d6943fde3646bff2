//! Hooks for policies of bypass, inclusion and granularity. One policy per file; a new one is its
//! file and its line in the list below.
//!
//! A cache asks its chain of policies before it acts and tells all of them what it did. Questions
//! (`decide_…`) change nothing, because a blocked request asks again; events (`on_…`) train. Every
//! field of a decision has at most one owner in a chain: what a policy writes into a field of another
//! is ignored, and two owners of one field are refused when the cache is built.
//!
//! | field | question | default |
//! |---|---|---|
//! | [`Field::Insert`] | does a line that missed get a place here? | yes |
//! | [`Field::Fetch`] | which words are fetched beyond the sectors asked for? | none |
//! | [`Field::RequestFlags`] | which flags go down with the fetch? | none |
//! | [`Field::Keep`] | does a line that arrived get, or keep, its place? | yes |
//! | [`Field::HandDown`] | is a clean victim sent to the level below? | no |
//! | [`Field::Drop`] | does a clean line leave when it has answered a read? | no |
//! | [`Field::ResponseFlags`] | which flags go up with the answer of a hit? | none |

mod fetch_granularity;
mod reuse_bypass;
mod static_bypass;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{SpecError, State, Statistics};

pub use self::fetch_granularity::FetchGranularity;
pub use self::reuse_bypass::ReuseBypass;
pub use self::static_bypass::StaticBypass;
use super::tag_array::{LineState, Slot};
use crate::memory::{MemRequest, Source};

/// A field of a decision; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Of [`MissDecision`].
    Insert,
    /// Of [`MissDecision`].
    Fetch,
    /// Of [`MissDecision`].
    RequestFlags,
    /// Of [`FillDecision`].
    Keep,
    /// Of [`EvictDecision`].
    HandDown,
    /// Of [`ResponseDecision`].
    Drop,
    /// Of [`ResponseDecision`].
    ResponseFlags,
}

const FIELDS: usize = 7;

/// A request that is looked up.
#[derive(Clone, Copy, Debug)]
pub struct LookUp<'a> {
    /// The request, as received.
    pub request: &'a MemRequest,
    /// Line of this cache.
    pub line: u64,
    /// Words of that line.
    pub words: u32,
    /// Where the line is, if it is present.
    pub slot: Option<Slot>,
}

/// What becomes of a miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissDecision {
    /// The line gets a place here.
    pub insert: bool,
    /// Words to fetch beyond the sectors asked for; whole sectors are fetched.
    pub fetch: u32,
    /// Flags added to the fetch.
    pub flags: u16,
}

impl Default for MissDecision {
    fn default() -> Self {
        Self {
            insert: true,
            fetch: 0,
            flags: 0,
        }
    }
}

/// A line, or a part of it, that came from below.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    /// Line of this cache.
    pub line: u64,
    /// Words that came.
    pub words: u32,
    /// Whether nothing of the line was present before.
    pub first: bool,
    /// Who caused the fetch.
    pub source: Source,
    /// Flags of the response.
    pub flags: u16,
    /// Its place, reserved or to be taken; none if it has none.
    pub slot: Option<Slot>,
    /// The line that leaves that place for it, if it is full and was not reserved.
    pub victim: Option<u64>,
}

/// What becomes of a line that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FillDecision {
    /// It gets, or keeps, its place. A line that has words newer than below keeps it anyhow.
    pub keep: bool,
}

impl Default for FillDecision {
    fn default() -> Self {
        Self { keep: true }
    }
}

/// Why a line leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Another line takes its place.
    Replaced,
    /// A request for it was handed down.
    Passed,
    /// It answered a read and a policy dropped it.
    Dropped,
    /// An invalidation.
    Invalidated,
}

/// A line that leaves its place.
#[derive(Clone, Copy, Debug)]
pub struct Eviction {
    /// The line.
    pub line: u64,
    /// Its place.
    pub slot: Slot,
    /// What was in it.
    pub state: LineState,
    /// Why it leaves.
    pub cause: Cause,
}

/// What becomes of a clean victim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictDecision {
    /// It is sent down as a copy-back flagged [`flags::CLEAN`](crate::memory::flags::CLEAN). The
    /// level below must be a cache.
    pub hand_down: bool,
}

/// What goes with the answer of a hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResponseDecision {
    /// A line that is clean leaves.
    pub drop: bool,
    /// Flags added to the response.
    pub flags: u16,
}

/// A policy in a chain; see the module.
pub trait CachePolicy: Send {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// The fields that it decides.
    fn owns(&self) -> &'static [Field];

    /// What becomes of this miss.
    fn decide_miss(&self, _miss: &LookUp<'_>, _decision: &mut MissDecision) {}

    /// What becomes of a line that came.
    fn decide_fill(&self, _fill: &Fill, _decision: &mut FillDecision) {}

    /// What becomes of a clean victim.
    fn decide_evict(&self, _eviction: &Eviction, _decision: &mut EvictDecision) {}

    /// What goes with the answer of a hit.
    fn decide_response(&self, _hit: &LookUp<'_>, _decision: &mut ResponseDecision) {}

    /// A request was accepted and looked up; `hit` if its words are present.
    fn on_access(&mut self, _access: &LookUp<'_>, _hit: bool) {}

    /// A line is fetched, or missing words of one that is present.
    fn on_miss(&mut self, _miss: &LookUp<'_>, _decision: MissDecision) {}

    /// A line, or a part of it, came and is in `slot` of the event, or nowhere.
    fn on_fill(&mut self, _fill: &Fill) {}

    /// A line leaves.
    fn on_evict(&mut self, _eviction: &Eviction) {}

    /// A request is answered from its line, without or after a fetch.
    fn on_response(&mut self, _request: &MemRequest) {}

    /// Accepted requests between two calls of [`CachePolicy::on_period`]; none for no calls.
    fn period(&self) -> Option<u64> {
        None
    }

    /// Another period is over.
    fn on_period(&mut self) {}

    /// Names the state for checkpoints.
    fn state(&mut self, _state: &mut State<'_>) {}

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        /// A policy by its settings.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum PolicySpec {
            $($(#[$doc])* $name($name),)*
        }

        impl PolicySpec {
            fn build(&self, lines: usize) -> Result<Box<dyn CachePolicy>, SpecError> {
                match self {
                    $(Self::$name(settings) => settings.build(lines),)*
                }
            }
        }
    };
}

policies! {
    /// Lines missed by the instructions listed are not kept.
    StaticBypass;
    /// Lines missed by instructions whose lines left without being used again are not kept.
    ReuseBypass;
    /// Misses fetch aligned groups of sectors.
    FetchGranularity;
}

/// The policies of one cache, in order.
#[derive(Default)]
pub(super) struct PolicyChain {
    policies: Vec<Box<dyn CachePolicy>>,
    owners: [Option<usize>; FIELDS],
    accesses: u64,
}

impl PolicyChain {
    pub(super) fn new(specs: &[PolicySpec], lines: usize) -> Result<Self, SpecError> {
        let built = specs.iter().enumerate().map(|(i, spec)| {
            let inside = |e: SpecError| SpecError::at(format!("policies[{i}]"), e.to_string());
            spec.build(lines).map_err(inside)
        });
        Self::of(built.collect::<Result<_, _>>()?)
    }

    pub(super) fn of(policies: Vec<Box<dyn CachePolicy>>) -> Result<Self, SpecError> {
        let mut owners = [None::<usize>; FIELDS];
        for (i, policy) in policies.iter().enumerate() {
            for &field in policy.owns() {
                let owner = &mut owners[field as usize];
                if let Some(other) = *owner {
                    let other = &*policies[other];
                    let why = format!(
                        "{} and {} both decide {field:?}; one of them must go",
                        other.name(),
                        policy.name()
                    );
                    return Err(SpecError::at(format!("policies[{i}]"), why));
                }
                *owner = Some(i);
            }
        }
        Ok(Self {
            policies,
            owners,
            accesses: 0,
        })
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }

    /// Whether clean victims may be sent down.
    pub(super) fn hands_down(&self) -> bool {
        self.owners[Field::HandDown as usize].is_some()
    }

    fn owner(&self, field: Field) -> Option<&dyn CachePolicy> {
        Some(&*self.policies[self.owners[field as usize]?])
    }

    pub(super) fn decide_miss(&self, miss: &LookUp<'_>) -> MissDecision {
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

    pub(super) fn keeps(&self, fill: &Fill) -> bool {
        let mut decision = FillDecision::default();
        if let Some(policy) = self.owner(Field::Keep) {
            policy.decide_fill(fill, &mut decision);
        }
        decision.keep
    }

    pub(super) fn hand_down(&self, eviction: &Eviction) -> bool {
        let mut decision = EvictDecision::default();
        if let Some(policy) = self.owner(Field::HandDown) {
            policy.decide_evict(eviction, &mut decision);
        }
        decision.hand_down
    }

    pub(super) fn decide_response(&self, hit: &LookUp<'_>) -> ResponseDecision {
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

    pub(super) fn on_access(&mut self, access: &LookUp<'_>, hit: bool) {
        self.accesses += 1;
        for policy in &mut self.policies {
            policy.on_access(access, hit);
            if policy
                .period()
                .is_some_and(|p| self.accesses.is_multiple_of(p))
            {
                policy.on_period();
            }
        }
    }

    pub(super) fn on_miss(&mut self, miss: &LookUp<'_>, decision: MissDecision) {
        self.policies
            .iter_mut()
            .for_each(|p| p.on_miss(miss, decision));
    }

    pub(super) fn on_fill(&mut self, fill: &Fill) {
        self.policies.iter_mut().for_each(|p| p.on_fill(fill));
    }

    pub(super) fn on_evict(&mut self, eviction: &Eviction) {
        self.policies.iter_mut().for_each(|p| p.on_evict(eviction));
    }

    pub(super) fn on_response(&mut self, request: &MemRequest) {
        self.policies
            .iter_mut()
            .for_each(|p| p.on_response(request));
    }

    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("accesses", &mut self.accesses);
        for (i, policy) in self.policies.iter_mut().enumerate() {
            state.part(&i.to_string(), |state| policy.state(state));
        }
    }

    pub(super) fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policies.iter().for_each(|p| p.statistics(statistics));
    }
}

#[cfg(test)]
mod tests;
