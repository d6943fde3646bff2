//! Exclusion over two levels: vectors, a naive model, and invariants under hostile timing.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use proptest::prelude::*;
use warpweave_framework::{EngineOptions, Environment, Kind, Link, Order, Outcome};
use warpweave_random::CounterRng;

use super::*;
use crate::building_blocks::{EchoMemory, EchoMemorySpec};
use crate::cache::{AtomicPolicy, CacheLevel, VictimCacheSpec};

/// Lines of each level, as a policy that watches both sees them.
#[derive(Default)]
struct Lines {
    first: BTreeSet<u64>,
    second: BTreeSet<u64>,
    /// Lines that entered one level while the other had them.
    in_both: u64,
}

/// Policy that keeps [`Lines`] up to date.
#[derive(State, Statistics)]
struct Witness {
    #[state(skip)]
    lines: Arc<Mutex<Lines>>,
    #[state(skip)]
    is_first: bool,
}

impl PolicyKind for Witness {
    type Role = CachePolicies;
    const NAME: &'static str = "Witness";
    const SUMMARY: &'static str = "Knows the lines of both levels";
    type Spec = NoFields;
    fn build(
        _spec: NoFields,
        context: &PolicyContext<'_, CachePolicies>,
    ) -> Result<Box<dyn CachePolicy>, SpecError> {
        Ok(Box::new(Self {
            lines: context.environment.resource().expect("the test has them"),
            is_first: context.site.level == Level::L1,
        }))
    }
}

impl Witness {
    fn enters(&self, line: u64) {
        let mut lines = self.lines.lock();
        let Lines {
            first,
            second,
            in_both,
        } = &mut *lines;
        let (own, other) = if self.is_first {
            (first, second)
        } else {
            (second, first)
        };
        own.insert(line);
        *in_both += u64::from(other.contains(&line));
    }
}

impl CachePolicy for Witness {
    fn on_new_line(&mut self, store: &TagLookup<'_>, _context: &mut EventContext<'_>) {
        self.enters(store.line);
    }

    fn on_fill(&mut self, fill: &Fill, _context: &mut EventContext<'_>) {
        if fill.first && fill.slot.is_some() {
            self.enters(fill.line);
        }
    }

    fn on_swap(&mut self, swap: &Swap, _context: &mut EventContext<'_>) {
        self.enters(swap.line);
    }

    fn on_evict(&mut self, eviction: &Eviction, _context: &mut EventContext<'_>) {
        let mut lines = self.lines.lock();
        let Lines { first, second, .. } = &mut *lines;
        let own = if self.is_first { first } else { second };
        own.remove(&eviction.line);
    }
}

/// A first level over a second one over a memory.
struct Two {
    bench: TestBench,
    requests: BenchSource<MemRequest>,
    responses: Sink<MemResponse>,
    lines: Arc<Mutex<Lines>>,
}

/// Shape of the two levels and their queues.
#[derive(Clone, Copy)]
struct Shape {
    policy: ExclusiveSpec,
    first_ways: u32,
    second_ways: u32,
    copy_backs: [u32; 2],
    victims: Option<u32>,
    narrow: bool,
}

const USUAL: Shape = Shape {
    policy: ExclusiveSpec {
        hand_down: true,
        keep_below: false,
        written_entries: 1 << 10,
    },
    first_ways: 2,
    second_ways: 2,
    copy_backs: [8, 8],
    victims: None,
    narrow: false,
};

impl Two {
    fn new(shape: Shape, memory: EchoMemorySpec, options: EngineOptions) -> Self {
        let lines = Arc::new(Mutex::new(Lines::default()));
        let mut environment = Environment::default();
        environment.provide(Arc::clone(&lines));
        let policies = || {
            vec![
                Policy::of::<Exclusive>(&shape.policy),
                Policy::plain::<Witness>(),
            ]
        };
        let first = CacheSpec {
            size_bytes: shape.first_ways * 256,
            ways: shape.first_ways,
            allocate: AllocatePolicy::OnFill,
            copy_back_entries: Some(shape.copy_backs[0]),
            victim_cache: shape.victims.map(|lines| VictimCacheSpec {
                lines,
                latency_cycles: 0,
            }),
            policies: policies(),
            ..l1()
        };
        let second = CacheSpec {
            level: CacheLevel::L2,
            size_bytes: shape.second_ways * 256,
            ways: shape.second_ways,
            copy_back_entries: Some(shape.copy_backs[1]),
            atomics: AtomicPolicy::Execute { latency_cycles: 3 },
            mshr_entries: if shape.narrow { 2 } else { 4 },
            mshr_merges: 2,
            victim_cache: None,
            policies: policies(),
            ..first.clone()
        };
        let mut bench = TestBench::new();
        bench.set_options(options);
        bench.add("l1", Cache::build(first, &environment).unwrap());
        bench.add("l2", Cache::build(second, &environment).unwrap());
        bench.add("memory", EchoMemory::new(&memory).unwrap());
        let link = if shape.narrow {
            Link::latency(1).capacity(1)
        } else {
            Link::latency(1)
        };
        for (a, b) in [("l1.down", "l2.up"), ("l2.down", "memory.up")] {
            bench.builder().connect(a, b, link);
        }
        Self {
            requests: bench.source("l1.up.request"),
            responses: bench.sink("l1.up.response"),
            bench,
            lines,
        }
    }

    fn alone(shape: Shape) -> Self {
        Self::new(shape, EchoMemorySpec::latency(10), EngineOptions::default())
    }

    /// Sends a request and returns the level that answers, once everything is still.
    fn request(&mut self, kind: RequestKind, number: u64) -> Level {
        let request = MemRequest {
            kind,
            ..MemRequest::read(1, number * 128, 1)
        };
        self.requests.send(request);
        self.bench.step(80);
        let (_, response) = self.responses.take().expect("an answer in time");
        response.level
    }

    fn read(&mut self, number: u64) -> Level {
        self.request(RequestKind::Read, number)
    }

    fn count(&mut self, level: &str, name: &str) -> u64 {
        self.bench.statistics(level).counter(name).unwrap()
    }
}

#[test]
fn inc_m10_1_a_loop_over_both_levels_misses_once_where_they_are_exclusive() {
    // 4 + 4 lines of set 0 in each level.
    let shape = Shape {
        first_ways: 4,
        second_ways: 4,
        ..USUAL
    };
    let mut two = Two::alone(shape);
    for round in 0..4 {
        for line in 0..8 {
            let from = two.read(line * 2);
            assert_eq!(from == Level::DRAM, round == 0, "{round} {line} {from:?}");
        }
    }
    let none = ExclusiveSpec {
        hand_down: false,
        keep_below: true,
        ..USUAL.policy
    };
    let mut two = Two::alone(Shape {
        policy: none,
        ..shape
    });
    for _ in 0..4 {
        for line in 0..8 {
            assert_eq!(two.read(line * 2), Level::DRAM, "usual levels miss always");
        }
    }
}

#[test]
fn inc_m2_a_line_goes_down_when_it_is_evicted_and_leaves_when_it_is_read() {
    let mut two = Two::alone(USUAL);
    // Three lines of one set of two ways.
    for line in [0, 2, 4] {
        assert_eq!(two.read(line), Level::DRAM);
    }
    assert_eq!(two.lines.lock().second, BTreeSet::from([0]));
    assert_eq!(two.count("l2", "lines_installed"), 1, "by the copy-back");
    assert_eq!(two.read(0), Level::L2);
    assert_eq!(two.lines.lock().second, BTreeSet::from([2 * 128]));
    assert_eq!(two.count("l2", "exclusive_hits"), 1);
    assert_eq!(two.count("l1", "clean_victims_sent"), 2);
}

#[test]
fn inc_m2_a_store_drops_a_line_without_a_copy_back() {
    let mut two = Two::alone(USUAL);
    two.read(0);
    assert_eq!(two.request(RequestKind::Write, 0), Level::DRAM);
    assert_eq!(two.count("l1", "clean_victims_sent"), 0);
    assert_eq!(two.read(0), Level::DRAM);
}

#[test]
fn inc_m2_an_atomic_keeps_its_line_in_the_second_level() {
    let mut two = Two::alone(USUAL);
    assert_eq!(two.request(RequestKind::Atomic, 0), Level::DRAM);
    assert_eq!(two.request(RequestKind::Atomic, 0), Level::L2);
    assert_eq!(two.read(0), Level::L2);
    assert_eq!(two.lines.lock().second, BTreeSet::from([0]), "it is dirty");
}

#[test]
fn inc_m2_victims_pass_the_victim_cache_on_their_way_down() {
    let mut two = Two::alone(Shape {
        victims: Some(1),
        ..USUAL
    });
    for line in [0, 2, 4] {
        two.read(line);
    }
    assert_eq!(two.count("l2", "copy_backs_received"), 0);
    assert_eq!(two.read(0), Level::L1, "from the victim cache");
    assert_eq!(two.count("l2", "copy_backs_received"), 0);
    two.read(6);
    assert_eq!(two.count("l2", "copy_backs_received"), 1);
}

#[test]
fn inc_m2_a_bypassing_read_leaves_the_line_where_it_is() {
    let mut two = Two::alone(USUAL);
    for line in [0, 2, 4] {
        two.read(line);
    }
    for _ in 0..2 {
        two.requests.send(MemRequest {
            flags: flags::BYPASS_L1,
            ..MemRequest::read(1, 0, 1)
        });
        two.bench.step(80);
        let (_, response) = two.responses.take().expect("an answer");
        assert_eq!(response.level, Level::L2);
    }
}

#[test]
fn controls_lose_victims_or_keep_both_copies() {
    let lossy = ExclusiveSpec {
        hand_down: false,
        ..USUAL.policy
    };
    let mut two = Two::alone(Shape {
        policy: lossy,
        ..USUAL
    });
    for line in [0, 2, 4, 0] {
        assert_eq!(two.read(line), Level::DRAM);
    }
    let both = ExclusiveSpec {
        keep_below: true,
        ..USUAL.policy
    };
    let mut two = Two::alone(Shape {
        policy: both,
        ..USUAL
    });
    for line in [0, 2, 4] {
        two.read(line);
    }
    assert_eq!(two.count("l2", "copy_backs_received"), 1);
    assert!(two.lines.lock().in_both > 0);
}

/// A set of two levels as lists of lines, the latest used last, with the dirty ones marked.
#[derive(Default)]
struct Model {
    first: [Vec<u64>; 2],
    second: [Vec<(u64, bool)>; 2],
    written: BTreeSet<u64>,
}

impl Model {
    fn insert_below(&mut self, line: u64, dirty: bool) {
        let set = &mut self.second[(line % 2) as usize];
        let before = set.iter().position(|(l, _)| *l == line);
        if before.is_none() && !dirty && self.written.contains(&line) {
            return;
        }
        let was_dirty = before.is_some_and(|at| set.remove(at).1);
        if set.len() == 2 {
            set.remove(0);
        }
        set.push((line, dirty || was_dirty));
    }

    /// Takes a line out of the first level; true if it was there.
    fn take(&mut self, line: u64) -> bool {
        let set = &mut self.first[(line % 2) as usize];
        let at = set.iter().position(|l| *l == line);
        at.map(|at| set.remove(at)).is_some()
    }

    fn request(&mut self, kind: RequestKind, line: u64) -> Level {
        let number = (line % 2) as usize;
        let held = self.take(line);
        if kind != RequestKind::Read {
            self.written.insert(line);
        }
        if kind == RequestKind::Read && held {
            self.first[number].push(line);
            return Level::L1;
        }
        let below = self.second[number].iter().position(|(l, _)| *l == line);
        match kind {
            RequestKind::Write => {
                if let Some(at) = below {
                    self.second[number].remove(at);
                }
                return Level::DRAM;
            }
            RequestKind::Atomic => self.insert_below(line, true),
            _ => {
                if let Some(at) = below {
                    let (_, dirty) = self.second[number].remove(at);
                    if dirty {
                        self.second[number].push((line, true));
                    }
                }
                let set = &mut self.first[number];
                set.push(line);
                if set.len() > 2 {
                    let victim = set.remove(0);
                    self.insert_below(victim, false);
                }
            }
        }
        if below.is_some() {
            Level::L2
        } else {
            Level::DRAM
        }
    }
}

#[test]
fn exclusive_levels_agree_with_a_naive_model() {
    for seed in 0..4 {
        let (mut two, mut model) = (Two::alone(USUAL), Model::default());
        let dice = CounterRng::new(seed, "exclusion");
        for count in 0..300 {
            let line = dice.below(2 * count, 12);
            let kind = match dice.below(2 * count + 1, 12) {
                0 => RequestKind::Atomic,
                1 => RequestKind::Write,
                _ => RequestKind::Read,
            };
            let expected = model.request(kind, line);
            let found = two.request(kind, line);
            assert_eq!(
                found, expected,
                "seed {seed}, request {count}: {kind:?} {line}"
            );
        }
    }
}

proptest! {
    #[test]
    fn inc_m10_5_a_line_of_one_reader_is_never_in_both_levels(
        copy_backs in [1u32..3, 1u32..3],
        (latency_cycles, stalls, seed) in (1u32..20, 0u32..15, any::<u64>()),
        requests in prop::collection::vec((0u64..3, 0u64..24, 0u8..8), 1..120),
        victims in prop::option::of(1u32..3),
    ) {
        let memory = EchoMemorySpec { stalls, seed, ..EchoMemorySpec::latency(latency_cycles) };
        let shape = Shape { copy_backs, narrow: true, victims, ..USUAL };
        let run = |options| {
            let mut two = Two::new(shape, memory, options);
            two.responses.stall_randomly(seed, stalls);
            let mut cycle = 1;
            for (id, &(gap, line, kind)) in (0..).zip(&requests) {
                cycle += gap;
                let request = match kind {
                    0 => MemRequest::write(id, line * 128, 1),
                    _ => MemRequest::read(id, line * 128, 1),
                };
                two.requests.send_at(cycle, request);
            }
            let outcome = two.bench.run_until_quiet();
            let sent = two.count("l1", "clean_victims_sent");
            let received = two.count("l2", "copy_backs_received");
            let ignored = two.count("l2", "copy_backs_ignored");
            let installed = two.count("l2", "lines_installed");
            let in_both = two.lines.lock().in_both;
            let counts = [sent, received, ignored, installed, in_both];
            (outcome, two.responses.take_all(), counts)
        };
        let usual = run(EngineOptions::default());
        prop_assert_eq!(&usual.0, &Outcome::Done);
        prop_assert_eq!(usual.1.len(), requests.len());
        let [sent, received, ignored, installed, in_both] = usual.2;
        prop_assert_eq!(sent, received, "nothing is lost on its way down");
        prop_assert_eq!(received, ignored + installed, "only copy-backs make lines");
        prop_assert_eq!(in_both, 0);
        let awake = EngineOptions { sleeping: false, ..EngineOptions::default() };
        prop_assert_eq!(&run(awake), &usual);
        let shuffled =
            EngineOptions { order: Order::Shuffled { seed }, ..EngineOptions::default() };
        prop_assert_eq!(&run(shuffled), &usual);
    }
}
