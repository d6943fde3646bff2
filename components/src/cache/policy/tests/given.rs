//! A policy without a cache: events as a test gives them, and the decisions that they lead to.

use serde_json::Value;
use warpweave_framework::{Environment, PolicyContext, PolicyKind, State};

use super::*;
use crate::cache::tag_array::{LineState, Slot};

/// A policy that hears what the test tells it.
pub(super) struct Given {
    policy: Box<dyn CachePolicy>,
    site: CacheSite,
    outbox: Outbox,
    /// Launch that the requests belong to.
    pub(super) kernel: u32,
    /// Flags that lines arrive with.
    pub(super) flags: u16,
}

/// Cache of one set with this many ways, in lines of 128 bytes with four sectors.
pub(super) fn one_set(ways: u32) -> CacheSite {
    CacheSite {
        level: Level::L1,
        lines: ways,
        sets: 1,
        ways,
        partitions: 1,
        line_bytes: 128,
        sector_bytes: 32,
        interleave: None,
    }
}

/// Words that a request for these sectors asks for: the first of each.
pub(super) fn words(sectors: u32) -> u32 {
    (0..4).fold(0, |words, sector| {
        words | (sectors >> sector & 1) << (8 * sector)
    })
}

/// Sectors of a mask of words.
pub(super) fn sectors(words: u32) -> u32 {
    (0..4).fold(0, |mask, sector| {
        mask | u32::from(words >> (8 * sector) & 0xff != 0) << sector
    })
}

impl Given {
    pub(super) fn new<P: PolicyKind<Role = CachePolicies>>(spec: P::Spec, site: CacheSite) -> Self {
        Self::in_run::<P>(spec, site, &Environment::default())
    }

    pub(super) fn in_run<P: PolicyKind<Role = CachePolicies>>(
        spec: P::Spec,
        site: CacheSite,
        environment: &Environment,
    ) -> Self {
        let context = PolicyContext {
            environment,
            site: &site,
            number: 0,
        };
        Self {
            policy: P::build(spec, &context).unwrap_or_else(|e| panic!("{e:?}")),
            site,
            outbox: Outbox::new(),
            kernel: 0,
            flags: 0,
        }
    }

    fn read(&self, line: u64, pc: u32, asked: u32) -> MemRequest {
        let mut request = MemRequest::read(0, line, words(asked));
        request.source.pc = pc;
        request.source.kernel = self.kernel;
        request
    }

    fn look_up<'a>(&self, request: &'a MemRequest, slot: Option<u32>) -> TagLookup<'a> {
        TagLookup {
            request,
            line: request.line,
            words: request.words,
            slot: slot.map(Slot::at),
            set: (request.line / 128) as u32 % self.site.sets,
            global_set: 0,
        }
    }

    /// Tells of an access by instruction `pc` to these sectors.
    pub(super) fn access(&mut self, line: u64, pc: u32, asked: u32, slot: Option<u32>, hit: bool) {
        let request = self.read(line, pc, asked);
        let access = self.look_up(&request, slot);
        let context = &mut self.outbox.context(0);
        self.policy.on_access(&access, hit, context);
    }

    /// Tells of a request that is forwarded.
    pub(super) fn pass(&mut self, line: u64, kind: RequestKind) {
        let request = MemRequest {
            kind,
            ..self.read(line, 0, 1)
        };
        let pass = self.look_up(&request, None);
        self.policy.on_pass(&pass, &mut self.outbox.context(0));
    }

    /// Tells of a miss and returns the decision about it, which comes first.
    pub(super) fn miss(
        &mut self,
        line: u64,
        pc: u32,
        asked: u32,
        slot: Option<u32>,
    ) -> MissDecision {
        let request = self.read(line, pc, asked);
        let miss = self.look_up(&request, slot);
        let mut decision = MissDecision::default();
        self.policy.decide_miss(&miss, &mut decision);
        self.access(line, pc, asked, slot, false);
        self.policy
            .on_miss(&miss, decision, &mut self.outbox.context(0));
        decision
    }

    /// Tells that sectors of a line arrive for `slot`, from which they displace `victim`. Returns
    /// whether the line is kept.
    pub(super) fn fill(
        &mut self,
        (line, pc, came): (u64, u32, u32),
        slot: u32,
        victim: Option<u64>,
    ) -> bool {
        let mut fill = Fill {
            line,
            words: words(came) * 0xff,
            first: true,
            prefetched: false,
            closed: false,
            source: self.read(line, pc, 1).source,
            flags: self.flags,
            slot: Some(Slot::at(slot)),
            victim,
            set: slot / self.site.ways,
            global_set: 0,
        };
        let mut decision = FillDecision::default();
        self.policy.decide_fill(&fill, &mut decision);
        if !decision.keep {
            fill.slot = None;
        } else if let Some(victim) = victim {
            self.evict(victim, slot);
        }
        self.policy.on_fill(&fill, &mut self.outbox.context(0));
        decision.keep
    }

    fn eviction(&self, line: u64, slot: u32) -> Eviction {
        Eviction {
            line,
            slot: Slot::at(slot),
            state: LineState::default(),
            cause: Cause::Replaced,
            owner: self.read(line, 0, 1).source,
            set: slot / self.site.ways,
            global_set: 0,
        }
    }

    /// Tells that a line is replaced.
    pub(super) fn evict(&mut self, line: u64, slot: u32) {
        let eviction = self.eviction(line, slot);
        self.policy.on_evict(&eviction, &mut self.outbox.context(0));
    }

    /// Returns whether a clean line would be sent down when it is replaced.
    pub(super) fn hands_down(&self, line: u64, slot: u32) -> bool {
        let mut decision = EvictDecision::default();
        let eviction = self.eviction(line, slot);
        self.policy.decide_evict(&eviction, &mut decision);
        decision.hand_down
    }

    /// Returns a field of the policy's state.
    pub(super) fn state(&mut self, name: &str) -> Value {
        let fields = State::list(|state| self.policy.state(state)).expect("policies are saved");
        let named = fields.into_iter().find(|(field, _)| field == name);
        named.unwrap_or_else(|| panic!("no field {name}")).1
    }
}
