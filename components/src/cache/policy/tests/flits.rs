//! Flits of two compute units with a shared second level, row by row of INC-M9.

use std::sync::Arc;

use warpweave_framework::{Environment, Kind, Link};
use warpweave_trace::{Allocation, Program};

use super::*;
use crate::building_blocks::{Arrivals, EchoMemory, EchoMemorySpec};
use crate::cache::{AtomicPolicy, CacheLevel};
use crate::crossbar::{
    Crossbar, CrossbarSpec, Islip, IslipSpec, NetworkSpec, Queueing, SwitchSpec,
};
use crate::interleave::Interleave;

/// Two first levels of 2 sets of 2 ways, a crossbar, a second level of 2 sets of 8 ways, a memory.
struct Units {
    bench: TestBench,
    requests: Vec<BenchSource<MemRequest>>,
    responses: Vec<Sink<MemResponse>>,
    arrivals: Arrivals,
}

/// Flits between first and second level, and between second level and memory.
#[derive(Debug, PartialEq, Eq)]
struct Flits(u64, u64);

fn crossbar() -> CrossbarSpec {
    let network = NetworkSpec::Switch(SwitchSpec {
        flit_bytes: 32,
        queueing: Queueing::Fifo,
        arbiter: Policy::of::<Islip>(&IslipSpec { iterations: 1 }),
        buffer_flits: 16,
        output_buffer_flits: 16,
        internal_speedup: 1,
        input_cycles: 1,
        output_cycles: 1,
        credit_cycles: 1,
        turnaround_matchings: 0,
    });
    CrossbarSpec {
        up_ports: 2,
        down_ports: 1,
        interleave: Interleave::in_turn(256, 1),
        outstanding: 16,
        control_flit: true,
        request: network.clone(),
        reply: network,
    }
}

impl Units {
    fn new(policies: &dyn Fn() -> Vec<Policy<CachePolicies>>) -> Self {
        let mut environment = Environment::default();
        let allocation = Allocation {
            name: "private".to_owned(),
            base: 0,
            bytes: 1 << 16,
        };
        environment.provide(Arc::new(Program {
            allocations: vec![allocation],
            ..Program::default()
        }));
        let mut bench = TestBench::new();
        for unit in 0..2 {
            let first = CacheSpec {
                allocate: AllocatePolicy::OnFill,
                policies: policies(),
                copy_back_entries: Some(2),
                ..l1()
            };
            let first = Cache::build(first, &environment).unwrap();
            bench.add(&format!("l1[{unit}]"), first);
        }
        let second = CacheSpec {
            level: CacheLevel::L2,
            size_bytes: 2 * 8 * 128,
            ways: 8,
            allocate: AllocatePolicy::OnFill,
            atomics: AtomicPolicy::Execute { latency_cycles: 1 },
            policies: policies(),
            ..l1()
        };
        let second = Cache::build(second, &environment).unwrap();
        bench.add("l2", second);
        let crossbar = Crossbar::build(crossbar(), &environment).unwrap();
        bench.add("crossbar", crossbar);
        let mut memory = EchoMemory::new(&EchoMemorySpec::latency(10)).unwrap();
        let arrivals = memory.arrivals();
        bench.add("memory", memory);
        for (a, b) in [
            ("l1[0].down", "crossbar.up[0]"),
            ("l1[1].down", "crossbar.up[1]"),
            ("crossbar.down[0]", "l2.up"),
            ("l2.down", "memory.up"),
        ] {
            bench.builder().connect(a, b, Link::latency(1));
        }
        let port = |unit| format!("l1[{unit}].up");
        let requests = (0..2).map(|unit| bench.source(&format!("{}.request", port(unit))));
        let requests = requests.collect();
        let responses = (0..2).map(|unit| bench.sink(&format!("{}.response", port(unit))));
        let responses = responses.collect();
        Self {
            bench,
            requests,
            responses,
            arrivals,
        }
    }

    fn count(&mut self, name: &str) -> u64 {
        self.bench.statistics("crossbar").counter(name).unwrap()
    }

    /// Sends a request of a unit and returns the flits that it causes, without acknowledgements,
    /// and those of them that go down to the second level.
    fn send(&mut self, unit: u16, kind: RequestKind, line: u64, words: u32) -> (Flits, u64) {
        let names = ["request_flits", "reply_flits"];
        let before = names.map(|name| self.count(name));
        let mut request = MemRequest {
            kind,
            ..MemRequest::read(1, line, words)
        };
        request.source.compute_unit = unit;
        self.requests[usize::from(unit)].send(request);
        self.bench.step(150);
        assert_eq!(self.responses[usize::from(unit)].take_all().len(), 1);
        let after = names.map(|name| self.count(name));
        let acknowledgements = u64::from(kind == RequestKind::Write);
        let down = after[0] - before[0];
        let memory = self.arrivals.take_all();
        let memory = memory.iter().map(|(_, request)| match request.kind {
            RequestKind::Read => 1 + 1 + 4,
            _ => 1 + u64::from(request.words.count_ones() * 4).div_ceil(32),
        });
        let network = down + after[1] - before[1] - acknowledgements;
        (Flits(network, memory.sum()), down)
    }

    fn read(&mut self, unit: u16, line: u64) -> Flits {
        self.send(unit, RequestKind::Read, line, u32::MAX).0
    }
}

/// Sends what the rows name, with lines of one set from `base` on. `eviction` is the flits of an
/// eviction, and `leaves` tells whether a line leaves the second level when its unit reads it.
fn check(units: &mut Units, base: u64, eviction: u64, leaves: bool) {
    let line = |number: u64| base + number * 256;
    // Both levels miss: twice without an eviction, once with one.
    assert_eq!(units.read(0, line(0)), Flits(1 + 5, 1 + 5));
    assert_eq!(units.read(0, line(1)), Flits(6, 6));
    assert_eq!(units.read(0, line(2)), Flits(6 + eviction, 6));
    // The second level has the line that was evicted, or had it all the time.
    assert_eq!(units.read(0, line(0)), Flits(6 + eviction, 0));
    let memory = if leaves { 6 } else { 0 };
    assert_eq!(units.read(1, line(0)), Flits(6, memory));
    // Stores of a word and of a line drop both copies.
    let store = |units: &mut Units, words| units.send(0, RequestKind::Write, line(0), words).0;
    assert_eq!(store(units, 1), Flits(2, 2));
    assert_eq!(store(units, u32::MAX), Flits(5, 5));
    assert_eq!(units.read(0, line(0)).1, 6);
    // An atomic goes down with its word, and its line stays.
    let atomic = |units: &mut Units| units.send(0, RequestKind::Atomic, line(6), 1);
    let (flits, down) = atomic(units);
    assert_eq!((flits.1, down), (6, 2));
    let (flits, down) = atomic(units);
    assert_eq!((flits.1, down), (0, 2));
}

#[test]
fn inc_m9_flits_without_inclusion() {
    check(&mut Units::new(&Vec::new), 0, 0, false);
}

#[test]
fn inc_m9_flits_of_exclusive_levels() {
    let policies = || vec![Policy::of::<Exclusive>(&ExclusiveSpec::default())];
    check(&mut Units::new(&policies), 0, 5, true);
}

#[test]
fn inc_m9_flits_of_regions() {
    let policies = || {
        vec![Policy::of::<RegionExclusive>(&RegionExclusiveSpec {
            period_fills: 9,
            ..RegionExclusiveSpec::default()
        })]
    };
    // A region that is not private behaves as without inclusion.
    check(&mut Units::new(&policies), 1 << 20, 0, false);
    // The unit comes back for three lines of one set of two ways until it knows.
    let mut units = Units::new(&policies);
    for count in 0..9 {
        units.read(0, (1 << 12) + count % 3 * 256);
    }
    // What it learned with is evicted without a copy-back.
    for other in 0..2 {
        units.read(0, (1 << 20) + other * 256);
    }
    for other in 0..2 {
        units.send(0, RequestKind::Write, (1 << 20) + other * 256, 1);
    }
    check(&mut units, 1 << 13, 5, true);
}

#[test]
fn inc_m2_a_victim_that_another_unit_wrote_is_not_inserted() {
    let policies = || vec![Policy::of::<Exclusive>(&ExclusiveSpec::default())];
    let mut units = Units::new(&policies);
    units.read(0, 0);
    units.send(1, RequestKind::Write, 0, 1);
    // It leaves the first level of the unit that has the old copy.
    for other in 1..3 {
        units.read(0, other * 256);
    }
    let count = |units: &mut Units, name| units.bench.statistics("l2").counter(name);
    assert_eq!(count(&mut units, "stale_victims"), Some(1));
    assert_eq!(count(&mut units, "lines_installed"), Some(0));
    assert_eq!(units.read(1, 0), Flits(6, 6), "from memory");
}
