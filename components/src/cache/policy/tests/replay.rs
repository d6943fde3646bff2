//! Random traffic through a cache with a policy. A naive model of the policy, a map and a list,
//! sees the events of the run and must come to the same decisions.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proptest::prelude::*;
use warpweave_framework::{InstanceStatistics, Link, NoFields, Outcome as RunOutcome};

use super::given::words;
use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::cache::{AtomicPolicy, CacheLevel};
use crate::memory::Source;

/// A request as a policy sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) kind: RequestKind,
    pub(super) line: u64,
    pub(super) words: u32,
    pub(super) is_placed: bool,
    pub(super) set: u32,
    pub(super) source: Source,
}

/// An event that a run reported.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    Access(Asked, bool),
    Miss(Asked, MissDecision),
    Pass(Asked),
    NewLine(Asked),
    /// A fill, and whether its line must be kept because of words stored into it.
    Fill(Fill, bool),
    Evict(Eviction),
}

thread_local! {
    static SEEN: RefCell<Vec<Seen>> = const { RefCell::new(Vec::new()) };
}

fn note(seen: Seen) {
    SEEN.with_borrow_mut(|all| all.push(seen));
}

/// Policy that records every event of a run.
#[derive(State, Statistics)]
struct Recorder;

impl PolicyKind for Recorder {
    type Role = CachePolicies;
    const NAME: &'static str = "Recorder";
    const SUMMARY: &'static str = "Records events";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self))
    }
}

fn asked(look_up: &TagLookup<'_>) -> Asked {
    Asked {
        kind: look_up.request.kind,
        line: look_up.line,
        words: look_up.words,
        is_placed: look_up.slot.is_some(),
        set: look_up.set,
        source: look_up.request.source,
    }
}

impl CachePolicy for Recorder {
    fn on_access(&mut self, access: &TagLookup<'_>, hit: bool, _: &mut EventContext<'_>) {
        note(Seen::Access(asked(access), hit));
    }

    fn on_miss(&mut self, miss: &TagLookup<'_>, did: MissDecision, _: &mut EventContext<'_>) {
        note(Seen::Miss(asked(miss), did));
    }

    fn on_pass(&mut self, pass: &TagLookup<'_>, _: &mut EventContext<'_>) {
        note(Seen::Pass(asked(pass)));
    }

    fn on_new_line(&mut self, store: &TagLookup<'_>, _: &mut EventContext<'_>) {
        note(Seen::NewLine(asked(store)));
    }

    fn on_fill(&mut self, fill: &Fill, _: &mut EventContext<'_>) {
        note(Seen::Fill(*fill, false));
    }

    fn on_evict(&mut self, eviction: &Eviction, _: &mut EventContext<'_>) {
        note(Seen::Evict(*eviction));
    }
}

/// A model of a policy that sees the events of a run in order.
pub(super) trait Model {
    /// Checks what was decided, and learns.
    fn see(&mut self, seen: &Seen);

    /// Statistics that the run must report.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

/// Number of sets and ways of the cache.
pub(super) const SETS: u32 = 2;
pub(super) const WAYS: u32 = 3;

#[derive(Clone, Debug)]
pub(super) struct Traffic {
    is_first_level: bool,
    pub(super) has_sectors: bool,
    memory: EchoMemorySpec,
    requests: Vec<(u64, MemRequest)>,
}

/// Any traffic of a cache of the first or the second level.
pub(super) fn traffic() -> impl Strategy<Value = Traffic> {
    let kind = prop_oneof![
        12 => Just(RequestKind::Read),
        1 => Just(RequestKind::Write),
        1 => Just(RequestKind::Atomic),
        1 => Just(RequestKind::CopyBack),
    ];
    let gap = prop_oneof![3 => 0u64..3, 1 => 20u64..60];
    let request = (gap, kind, 0u64..14, 1u32..16, 0u32..5);
    let memory = (1u32..30, 0u32..12, any::<u64>());
    let requests = prop::collection::vec(request, 50..400);
    (any::<[bool; 2]>(), memory, requests).prop_map(|(is, memory, requests)| {
        let many = requests.len() as u32;
        let numbered = (0..).zip(requests);
        let requests = numbered.map(|(id, (gap, kind, line, sectors, pc))| {
            let mut request = MemRequest {
                kind,
                ..MemRequest::read(id, line * 128, words(sectors))
            };
            if kind == RequestKind::CopyBack {
                request.flags = flags::CLEAN;
            }
            request.source.pc = pc;
            // Two launches.
            request.source.kernel = id * 2 / many;
            (gap, request)
        });
        Traffic {
            is_first_level: is[0],
            has_sectors: is[1],
            memory: EchoMemorySpec {
                stalls: memory.1,
                seed: memory.2,
                ..EchoMemorySpec::latency(memory.0)
            },
            requests: requests.collect(),
        }
    })
}

fn run(policy: Policy<CachePolicies>, traffic: &Traffic) -> (Vec<Seen>, InstanceStatistics) {
    let mut spec = CacheSpec {
        size_bytes: SETS * WAYS * 128,
        ways: WAYS,
        allocate: AllocatePolicy::OnFill,
        sector_bytes: traffic.has_sectors.then_some(32),
        policies: vec![policy, Policy::plain::<Recorder>()],
        ..l1()
    };
    if !traffic.is_first_level {
        spec.level = CacheLevel::L2;
        spec.write = WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        };
        spec.atomics = AtomicPolicy::Execute { latency_cycles: 2 };
    }
    SEEN.take();
    let mut bench = TestBench::new();
    bench.add("cache", Cache::new(spec).unwrap());
    bench.add("memory", EchoMemory::new(&traffic.memory).unwrap());
    bench
        .builder()
        .connect("cache.down", "memory.up", Link::latency(1));
    let source = bench.source("cache.up.request");
    let _responses = bench.sink::<MemResponse>("cache.up.response");
    let mut cycle = 1;
    for (gap, request) in &traffic.requests {
        cycle += gap;
        source.send_at(cycle, *request);
    }
    assert_eq!(bench.run_until_quiet(), RunOutcome::Done);
    let mut seen = SEEN.take();
    let mut stored = BTreeSet::new();
    for seen in &mut seen {
        match seen {
            Seen::Access(asked, false)
                if matches!(asked.kind, RequestKind::Write | RequestKind::Atomic) =>
            {
                stored.insert(asked.line);
            }
            Seen::Miss(asked, _) if asked.kind == RequestKind::Read => {
                stored.remove(&asked.line);
            }
            Seen::Fill(fill, bound) => *bound = stored.contains(&fill.line),
            _ => {}
        }
    }
    (seen, bench.statistics("cache"))
}

/// Runs the traffic with the policy and has the model look at it.
pub(super) fn agrees(policy: Policy<CachePolicies>, traffic: &Traffic, mut model: impl Model) {
    let (seen, statistics) = run(policy, traffic);
    for seen in &seen {
        model.see(seen);
    }
    for (name, count) in model.counts() {
        assert_eq!(statistics.counter(name), Some(count), "{name}");
    }
}

/// Checks a decision about a line that came for the place of another.
pub(super) fn check_keep(fill: &Fill, bound: bool, keeps: bool) {
    assert_eq!(fill.slot.is_some(), keeps || bound, "{fill:?}");
}
