//! The unit cycle by cycle, and under traffic that is out to break it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpweave_framework::{
    EngineOptions, InstanceStatistics, Link, Order, Sink, Source, TestBench, Value,
};

use super::checker::{CoalescingChecker, CoalescingCheckerSpec};
use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};

const A: u64 = 0x1000;
const B: u64 = 0x2000;
const C: u64 = 0x3000;

pub(super) fn cache() -> CoalescedCacheSpec {
    CoalescedCacheSpec {
        lines: 24,
        access_cycles: 1,
        replacement: CoalescedReplacement::Lru,
        fill: FillRule::Coalesced,
        hit_queue: 4,
        priority: BusPriority::Replies,
        serve_bypassing: false,
        invalidate_at_kernel_end: false,
    }
}

pub(super) fn spec() -> IccSpec {
    IccSpec {
        up_ports: 5,
        line_bytes: 128,
        table_entries: 2,
        table_cycles: 1,
        reply_cycles: 1,
        delivery: Delivery::Broadcast,
        outstanding: 32,
        global_end: None,
        table_full: TableFull::Untracked,
        on_write: OnWrite::Close,
        coalesced_cache: Some(cache()),
    }
}

pub(super) fn unit(spec: IccSpec) -> IccUnit {
    IccUnit::build(spec, &Environment::default()).expect("a valid specification")
}

fn read(id: u32, line: u64) -> MemRequest {
    MemRequest::read(id, line, u32::MAX)
}

/// A unit with scripted neighbours.
struct Rig {
    bench: TestBench,
    above: Vec<(Source<MemRequest>, Sink<MemResponse>)>,
    requests: Sink<MemRequest>,
    responses: Source<MemResponse>,
}

impl Rig {
    fn new(spec: IccSpec) -> Self {
        let ports = spec.up_ports;
        let mut bench = TestBench::new();
        bench.add("icc", unit(spec));
        let above = (0..ports)
            .map(|port| {
                let source = bench.source(&format!("icc.up[{port}].request"));
                (source, bench.sink(&format!("icc.up[{port}].response")))
            })
            .collect();
        let requests = bench.sink("icc.down.request");
        let responses = bench.source("icc.down.response");
        Self {
            bench,
            above,
            requests,
            responses,
        }
    }

    /// Sends a request from `port` now and lets it settle; what was sent down, if anything.
    fn send(&mut self, port: usize, request: MemRequest) -> Option<MemRequest> {
        self.above[port].0.send(request);
        self.bench.step(8);
        let sent = self.requests.take_all();
        assert!(sent.len() <= 1);
        sent.first().map(|(_, request)| *request)
    }

    /// Answers a request that was sent down; the ports that got a response.
    fn answer(&mut self, request: &MemRequest) -> Vec<usize> {
        self.responses.send(request.answer(Level::L2));
        self.bench.step(8);
        let got = |(_, sink): &(_, Sink<MemResponse>)| sink.take_all().len();
        let got: Vec<_> = self.above.iter().map(got).collect();
        got.iter()
            .enumerate()
            .flat_map(|(port, n)| std::iter::repeat_n(port, *n))
            .collect()
    }

    fn counter(&mut self, name: &str) -> u64 {
        let statistics = self.bench.statistics("icc");
        statistics.counter(name).expect("a counter of the unit")
    }
}

fn tracked(request: Option<MemRequest>) -> bool {
    request.expect("sent down").flags & flags::TRACKED != 0
}

/// The scenario of the specification, step by step.
#[test]
fn the_scenario_vector_is_followed() {
    let mut rig = Rig::new(spec());
    let a1 = rig.send(0, read(10, A));
    assert!(tracked(a1), "1: inject, tracked");
    let b2 = rig.send(1, read(11, B));
    assert!(tracked(b2), "2: inject, tracked");
    assert_eq!(rig.send(2, read(12, A)), None, "3: merged");
    let c4 = rig.send(3, read(13, C));
    assert!(!tracked(c4), "4: table full, inject untracked");
    assert_eq!(rig.answer(&a1.unwrap()), [0, 2], "5: deliver {{0, 2}}");
    assert_eq!(rig.counter("cache_fills"), 1, "5: the line is kept");
    let c6 = rig.send(4, read(14, C));
    assert!(tracked(c6), "6: the entry of A is free");
    assert_eq!(rig.answer(&c4.unwrap()), [3], "7: to its reader only");
    assert_eq!(rig.send(0, read(15, C)), None, "8: merged");
    assert_eq!(rig.answer(&c6.unwrap()), [0, 4], "9: deliver {{0, 4}}");
    assert_eq!(rig.counter("cache_fills"), 2, "9: the line is kept");
    assert_eq!(rig.send(2, read(16, B)), None, "10: merged");
    let write = rig.send(1, MemRequest::write(17, B, 1));
    assert_eq!(write.unwrap().kind, RequestKind::Write, "11: injected");
    assert_eq!(rig.counter("entries_closed"), 1, "11: entry closed");
    assert_eq!(rig.counter("cache_invalidated"), 0, "11: no copy of B");
    let b12 = rig.send(3, read(18, B));
    assert!(!tracked(b12), "12: closed, inject untracked");
    assert_eq!(rig.answer(&b2.unwrap()), [1, 2], "13: deliver {{1, 2}}");
    assert_eq!(rig.counter("cache_fills"), 2, "13: not kept");
    assert_eq!(rig.answer(&b12.unwrap()), [3], "14: to its reader only");

    assert_eq!(rig.counter("reads"), 8);
    assert_eq!(rig.counter("reads_injected"), 5);
    assert_eq!(rig.counter("reads_merged"), 3);
    assert_eq!(rig.counter("reads_untracked_full"), 1);
    assert_eq!(rig.counter("reads_untracked_closed"), 1);
    let saved = rig.bench.statistics("icc");
    let share = Value::Ratio { part: 3, whole: 8 };
    assert_eq!(saved.get("merge_rate"), Some(&share));
    // C was kept in step 9: a unit that had no part in it gets it without the network.
    assert_eq!(rig.send(2, read(19, C)), None);
    assert_eq!(rig.counter("cache_hits"), 1);
}

#[test]
fn every_stage_takes_the_documented_cycles() {
    let mut rig = Rig::new(spec());
    // Probe in 10, look-up in 11, which the wire to the port makes cycle 12.
    rig.above[0].0.send_at(10, read(7, A));
    let down = MemRequest {
        id: 0,
        flags: flags::TRACKED,
        ..read(0, A)
    };
    rig.bench.expect_at(&rig.requests, 11, &down);
    rig.above[1].0.send_at(14, read(8, A));
    rig.responses.send_at(20, down.answer(Level::L2));
    for (port, id) in [(0, 7), (1, 8)] {
        let response = read(id, A).answer(Level::L2);
        rig.bench.expect_at(&rig.above[port].1, 20, &response);
    }
    // A hit is at the unit 2 cycles after it was readable: one here, one on the wire.
    rig.above[4].0.send_at(30, read(9, A));
    let hit = read(9, A).answer(Level::Coalesced);
    rig.bench.expect_at(&rig.above[4].1, 31, &hit);
}

#[test]
fn longer_look_ups_delay_as_much_as_they_say() {
    let mut rig = Rig::new(IccSpec {
        table_cycles: 4,
        reply_cycles: 3,
        coalesced_cache: Some(CoalescedCacheSpec {
            access_cycles: 2,
            ..cache()
        }),
        ..spec()
    });
    rig.above[0].0.send_at(10, read(7, A));
    let (cycle, down) = rig.bench.receive(&rig.requests);
    assert_eq!(cycle, 10 + 2 + 4 - 1);
    rig.responses.send_at(30, down.answer(Level::L2));
    let response = read(7, A).answer(Level::L2);
    rig.bench.expect_at(&rig.above[0].1, 32, &response);

    let mut rig = Rig::new(IccSpec {
        table_cycles: 0,
        coalesced_cache: None,
        ..spec()
    });
    rig.above[0].0.send_at(10, read(7, A));
    assert_eq!(rig.bench.receive(&rig.requests).0, 10);
}

#[test]
fn a_request_is_looked_up_in_every_cycle() {
    let mut rig = Rig::new(IccSpec {
        table_entries: 32,
        ..spec()
    });
    for port in 0..5u32 {
        for n in 0..4 {
            let line = u64::from(port * 4 + n) * 128;
            rig.above[port as usize].0.send_at(10, read(n, line));
        }
    }
    rig.bench.step(60);
    let left: Vec<_> = rig.requests.take_all().iter().map(|(c, _)| *c).collect();
    assert_eq!(left, (11..31).collect::<Vec<_>>());
}

#[test]
fn serial_delivery_takes_a_cycle_per_unit() {
    let mut rig = Rig::new(IccSpec {
        delivery: Delivery::Serial,
        ..spec()
    });
    let down = rig.send(0, read(1, A)).expect("sent");
    for port in 1..4 {
        assert_eq!(rig.send(port, read(1, A)), None);
    }
    rig.responses.send_at(50, down.answer(Level::L2));
    for port in 0..4 {
        let response = read(1, A).answer(Level::L2);
        let cycle = 50 + port as Cycle;
        rig.bench.expect_at(&rig.above[port].1, cycle, &response);
    }
}

#[test]
fn a_unit_that_takes_nothing_holds_only_its_own_copy() {
    let mut rig = Rig::new(spec());
    rig.above[1].1.stall_until(100);
    let mut lines = Vec::new();
    for line in [A, B, C] {
        lines.push(rig.send(1, read(line as u32, line)).expect("sent"));
        assert_eq!(rig.send(0, read(line as u32, line)).is_some(), line == C);
    }
    for request in &lines {
        rig.responses.send(request.answer(Level::L2));
    }
    // The wire to the stalled unit holds 2; with the third the line stays on the bus.
    rig.bench.step(20);
    assert_eq!(rig.above[0].1.count(), 2);
    rig.bench.step(60);
    assert_eq!(rig.above[1].1.count(), 3);
}

#[test]
fn a_held_injection_takes_no_entry() {
    let mut rig = Rig::new(spec());
    // The wire below holds 2.
    rig.requests.stall_until(60);
    for (n, line) in [A, B, C].into_iter().enumerate() {
        rig.above[n].0.send_at(10, read(0, line));
    }
    rig.bench.step(40);
    assert_eq!(rig.counter("table_occupancy_max"), 2);
    assert_eq!(rig.counter("reads_injected"), 2, "the third is held");
    assert!(rig.counter("held_cycles") >= 25);
    rig.bench.step(40);
    assert_eq!(rig.requests.count(), 3);
}

#[test]
fn replies_or_hits_go_first_as_described() {
    let first = |priority| {
        let mut rig = Rig::new(IccSpec {
            coalesced_cache: Some(CoalescedCacheSpec {
                priority,
                fill: FillRule::All,
                ..cache()
            }),
            ..spec()
        });
        let a = rig.send(0, read(1, A)).expect("sent");
        rig.answer(&a);
        let b = rig.send(0, read(2, B)).expect("sent");
        // The hit is ready in the cycle of the response.
        rig.above[0].0.send_at(100, read(3, A));
        rig.responses.send_at(101, b.answer(Level::L2));
        rig.bench.step(100);
        let got = rig.above[0].1.take_all();
        let got: Vec<_> = got.iter().map(|(cycle, r)| (*cycle, r.id)).collect();
        got
    };
    assert_eq!(first(BusPriority::Replies), [(101, 2), (102, 3)]);
    assert_eq!(first(BusPriority::Hits), [(101, 3), (102, 2)]);
}

#[test]
fn prefetches_private_memory_and_other_words_pass_untracked() {
    let mut rig = Rig::new(IccSpec {
        global_end: Some(C),
        ..spec()
    });
    let prefetch = MemRequest {
        kind: RequestKind::Prefetch,
        ..read(1, A)
    };
    assert!(!tracked(rig.send(0, prefetch)));
    assert!(!tracked(rig.send(0, read(2, C))), "beyond global memory");
    assert!(tracked(rig.send(1, MemRequest::read(3, A, 0xff))));
    assert_eq!(rig.send(2, MemRequest::read(4, A, 0xf)), None, "under way");
    assert!(!tracked(rig.send(3, read(5, A))), "more than is under way");
    assert_eq!(rig.counter("reads_untracked_partial"), 1);
    assert_eq!(rig.counter("reads"), 3);
}

#[test]
fn a_unit_may_ask_twice_and_is_answered_twice() {
    let mut rig = Rig::new(spec());
    let bypassing = |id| MemRequest {
        flags: flags::BYPASS_L1,
        ..read(id, A)
    };
    let down = rig.send(0, bypassing(1)).expect("sent");
    assert_eq!(rig.send(0, bypassing(2)), None);
    assert_eq!(rig.answer(&down), [0, 0]);
    // One unit, so the line is not kept.
    assert_eq!(rig.counter("cache_fills"), 0);
}

/// The line is on the bus for one cycle; the second answer to unit 0 follows from its own copy.
#[test]
fn a_unit_that_asked_twice_does_not_hold_the_bus() {
    for delivery in [Delivery::Broadcast, Delivery::Serial] {
        let mut rig = Rig::new(IccSpec { delivery, ..spec() });
        let a = rig.send(0, read(1, A)).expect("sent");
        assert_eq!(rig.send(0, read(2, A)), None);
        let b = rig.send(1, read(3, B)).expect("sent");
        for down in [&a, &b] {
            rig.responses.send_at(100, down.answer(Level::L2));
        }
        for (port, id, line, cycle) in [(0, 1, A, 100), (0, 2, A, 101), (1, 3, B, 101)] {
            let response = read(id, line).answer(Level::L2);
            rig.bench.expect_at(&rig.above[port].1, cycle, &response);
        }
    }
}

#[test]
fn a_read_may_wait_for_an_entry_instead() {
    let mut rig = Rig::new(IccSpec {
        table_full: TableFull::Wait,
        ..spec()
    });
    let a = rig.send(0, read(1, A)).expect("sent");
    rig.send(1, read(2, B)).expect("sent");
    assert_eq!(rig.send(2, read(3, C)), None, "no entry");
    rig.responses.send_at(60, a.answer(Level::L2));
    // The entry of a response is free in the next cycle.
    let (cycle, c) = rig.bench.receive(&rig.requests);
    assert_eq!((cycle, c.line, c.flags), (61, C, flags::TRACKED));
    assert_eq!(rig.counter("reads_untracked_full"), 0);
    assert!(rig.counter("held_cycles") > 20);
}

#[test]
fn reads_that_bypass_caches_do_not_hit_unless_allowed() {
    for serve_bypassing in [false, true] {
        let mut rig = Rig::new(IccSpec {
            coalesced_cache: Some(CoalescedCacheSpec {
                serve_bypassing,
                fill: FillRule::All,
                ..cache()
            }),
            ..spec()
        });
        let down = rig.send(0, read(1, A)).expect("sent");
        rig.answer(&down);
        let bypassing = MemRequest {
            flags: flags::BYPASS_L1,
            ..read(2, A)
        };
        assert_eq!(rig.send(1, bypassing).is_none(), serve_bypassing);
    }
}

#[test]
fn a_write_between_the_look_ups_keeps_a_line_from_being_kept() {
    let mut rig = Rig::new(IccSpec {
        table_cycles: 4,
        ..spec()
    });
    let down = rig.send(0, read(1, A)).expect("sent");
    assert_eq!(rig.send(1, read(1, A)), None);
    // Taken in 102, looked up in 106; the line comes between.
    rig.above[2].0.send_at(102, MemRequest::write(1, A, 1));
    rig.responses.send_at(104, down.answer(Level::L2));
    rig.bench.step(120);
    assert_eq!(rig.counter("entries_closed"), 0);
    assert_eq!(rig.counter("cache_fills"), 0);
}

#[test]
fn the_end_of_a_kernel_drops_lines_and_lets_nothing_join() {
    let with_cache = CoalescedCacheSpec {
        fill: FillRule::All,
        invalidate_at_kernel_end: true,
        ..cache()
    };
    let mut bench = TestBench::new();
    let spec = IccSpec {
        up_ports: 1,
        coalesced_cache: Some(with_cache),
        ..spec()
    };
    bench.add("icc", unit(spec));
    let above = bench.source::<MemRequest>("icc.up[0].request");
    bench.sink::<MemResponse>("icc.up[0].response");
    let below = bench.sink::<MemRequest>("icc.down.request");
    let answers = bench.source::<MemResponse>("icc.down.response");
    let command = bench.source::<CacheCommand>("icc.control_up[0].command");
    let done = bench.sink::<CacheCommandDone>("icc.control_up[0].done");
    let passed = bench.sink::<CacheCommand>("icc.control_down[0].command");
    let carried_out = bench.source::<CacheCommandDone>("icc.control_down[0].done");
    above.send_at(10, read(1, A));
    let (_, a) = bench.receive(&below);
    answers.send_at(20, a.answer(Level::L2));
    above.send_at(22, read(2, B));
    let (_, b) = bench.receive(&below);
    command.send_at(30, CacheCommand::Invalidate);
    bench.expect_at(&passed, 30, &CacheCommand::Invalidate);
    carried_out.send_at(33, CacheCommandDone);
    bench.expect_at(&done, 33, &CacheCommandDone);
    // A was kept and is not there any more; B is under way, read before the invalidation.
    above.send_at(40, read(3, A));
    assert_eq!(bench.receive(&below).1.line, A);
    above.send_at(42, read(4, B));
    assert_eq!(bench.receive(&below).1.flags & flags::TRACKED, 0);
    answers.send_at(50, b.answer(Level::L2));
    bench.step(20);
    let statistics = bench.statistics("icc");
    let counts = ["cache_dropped", "open_at_invalidation", "cache_fills"];
    let counts = counts.map(|name| statistics.counter(name));
    assert_eq!(counts, [Some(1), Some(1), Some(1)]);
}

#[test]
fn sizes_out_of_range_are_named() {
    let field = |change: &dyn Fn(&mut IccSpec)| {
        let mut spec = spec();
        change(&mut spec);
        IccUnit::build(spec, &Environment::default())
            .err()
            .map(|e| e.field)
    };
    assert_eq!(field(&|_| ()), None);
    assert_eq!(field(&|s| s.up_ports = 65).as_deref(), Some("up_ports"));
    assert_eq!(field(&|s| s.line_bytes = 96).as_deref(), Some("line_bytes"));
    assert_eq!(
        field(&|s| s.reply_cycles = 0).as_deref(),
        Some("reply_cycles")
    );
    let no_lines = |s: &mut IccSpec| {
        s.coalesced_cache = Some(CoalescedCacheSpec {
            lines: 0,
            ..cache()
        });
    };
    assert_eq!(field(&no_lines).as_deref(), Some("coalesced_cache.lines"));
}

#[test]
#[should_panic(expected = "down answered what nothing waits for")]
fn a_tracked_answer_to_no_entry_is_reported() {
    let mut rig = Rig::new(spec());
    let stray = MemRequest {
        flags: flags::TRACKED,
        ..read(0, A)
    };
    rig.responses.send_at(3, stray.answer(Level::L2));
    rig.bench.step(10);
}

/// A memory that orders requests as they come, answers in any order, and numbers lines by the
/// newest write it has seen.
pub(super) struct TaggedMemory {
    up: MemSlave,
    newest: BTreeMap<u64, u32>,
    answers: BTreeMap<(Cycle, u64), MemResponse>,
    count: u64,
    seed: u64,
    /// Of 16 cycles, how many take no request.
    stalls: u64,
    /// Longest time to answer.
    slowest: u64,
    /// Answers know of no write, as those of a memory below a cache that evicts.
    pub(super) forgets: bool,
}

pub(super) fn scramble(n: u64) -> u64 {
    let n = (n ^ n >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

impl TaggedMemory {
    pub(super) fn new(seed: u64, stalls: u64, slowest: u64) -> Self {
        Self {
            up: MemSlave::default(),
            newest: BTreeMap::new(),
            answers: BTreeMap::new(),
            count: 0,
            seed,
            stalls,
            slowest,
            forgets: false,
        }
    }
}

impl Component for TaggedMemory {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("up", &mut self.up);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        let mut blocked = false;
        if let Some(entry) = self.answers.first_entry().filter(|e| e.key().0 <= now) {
            blocked = self.up.response.try_send(ctx, *entry.get()).is_err();
            if !blocked {
                entry.remove();
            }
        }
        if scramble(now + (self.seed << 20)) & 15 >= self.stalls
            && let Some(request) = self.up.request.pop(ctx)
        {
            let newest = self.newest.entry(request.line).or_default();
            if request.kind.carries_data() {
                *newest = request.write_sequence.max(*newest);
            }
            if request.kind.wants_response() {
                self.count += 1;
                let delay = scramble(self.count ^ self.seed << 32) % self.slowest;
                let write_sequence = if self.forgets { 0 } else { *newest };
                let answer = MemResponse {
                    write_sequence,
                    ..request.answer(Level::L2)
                };
                self.answers.insert((now + 1 + delay, self.count), answer);
            }
        }
        if self.up.request.peek(ctx).is_some() {
            return Next::Busy;
        }
        match self.answers.first_key_value() {
            Some(_) if blocked => Next::Credit,
            Some(((at, _), _)) => Next::Until((*at).max(now + 1)),
            None => Next::Message,
        }
    }
}

/// A unit that is saved and goes on as a new one loaded from that, at every `every`-th cycle in
/// which it is evaluated.
struct Reborn {
    unit: IccUnit,
    every: Cycle,
    last: Cycle,
}

impl Component for Reborn {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.unit.ports(ports);
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if ctx.cycle() >= self.last + self.every {
            self.last = ctx.cycle();
            let bytes = State::save(|s| self.unit.state(s)).expect("plain data");
            let mut new = unit(self.unit.spec.clone());
            State::load(&bytes, |s| new.state(s)).expect("the same fields");
            // The engine keeps channels itself.
            new.up = std::mem::take(&mut self.unit.up);
            new.down = std::mem::take(&mut self.unit.down);
            new.control_up = std::mem::take(&mut self.unit.control_up);
            new.control_down = std::mem::take(&mut self.unit.control_down);
            self.unit = new;
        }
        self.unit.evaluate(ctx)
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.unit.statistics(statistics);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Traffic {
    /// Per port: cycle, line, kind, words, flags.
    pub(super) requests: Vec<Vec<(Cycle, u64, RequestKind, u32, u8)>>,
    pub(super) seed: u64,
    pub(super) memory_stalls: u64,
    unit_stalls: u32,
    pub(super) slowest: u64,
    /// The memory keeps no numbers of writes.
    forgets: bool,
}

type Outcome = (
    Vec<Vec<(Cycle, MemResponse)>>,
    InstanceStatistics,
    InstanceStatistics,
);

fn run(
    spec: &IccSpec,
    traffic: &Traffic,
    options: EngineOptions,
    reborn: Option<Cycle>,
) -> Outcome {
    let mut bench = TestBench::new();
    bench.set_options(options);
    match reborn {
        Some(every) => bench.add(
            "icc",
            Reborn {
                unit: unit(spec.clone()),
                every,
                last: 0,
            },
        ),
        None => bench.add("icc", unit(spec.clone())),
    }
    let up_ports = spec.up_ports;
    let checker = CoalescingCheckerSpec {
        up_ports,
        freshness: !traffic.forgets,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.expect("a valid specification"));
    let mut memory = TaggedMemory::new(traffic.seed, traffic.memory_stalls, traffic.slowest);
    memory.forgets = traffic.forgets;
    bench.add("memory", memory);
    let mut wire = |a: String, b: &str| {
        bench.builder().connect(a, b, Link::latency(1));
    };
    for port in 0..up_ports {
        wire(
            format!("checker.unit_up[{port}]"),
            &format!("icc.up[{port}]"),
        );
    }
    wire("icc.down".to_owned(), "checker.unit_down");
    wire("checker.down".to_owned(), "memory.up");
    let mut sinks = Vec::new();
    for (port, requests) in traffic.requests.iter().enumerate() {
        let source = bench.source(&format!("checker.up[{port}].request"));
        for (id, &(cycle, line, kind, words, flags)) in requests.iter().enumerate() {
            let read = MemRequest::read(id as u32, line * 128, words);
            source.send_at(
                1 + cycle,
                MemRequest {
                    kind,
                    flags,
                    ..read
                },
            );
        }
        let sink = bench.sink::<MemResponse>(&format!("checker.up[{port}].response"));
        sink.stall_randomly(port as u64 + traffic.seed, traffic.unit_stalls);
        sinks.push(sink);
    }
    bench.step(6_000);
    let (mut icc, checker) = (bench.statistics("icc"), bench.statistics("checker"));
    // The same, reborn or not.
    IccUnit::NAME.clone_into(&mut icc.kind);
    (sinks.iter().map(Sink::take_all).collect(), icc, checker)
}

fn specs() -> impl Strategy<Value = IccSpec> {
    let cache = (
        1u32..5,
        1u32..4,
        prop::sample::select(vec![CoalescedReplacement::Lru, CoalescedReplacement::Fifo]),
        prop::sample::select(vec![FillRule::Coalesced, FillRule::All]),
        1u32..4,
        prop::sample::select(vec![BusPriority::Replies, BusPriority::Hits]),
        any::<bool>(),
    );
    let cache = cache.prop_map(
        |(lines, access_cycles, replacement, fill, hit_queue, priority, serve_bypassing)| {
            CoalescedCacheSpec {
                lines,
                access_cycles,
                replacement,
                fill,
                hit_queue,
                priority,
                serve_bypassing,
                invalidate_at_kernel_end: false,
            }
        },
    );
    (
        1u32..6,
        1u32..5,
        0u32..5,
        1u32..4,
        prop::sample::select(vec![Delivery::Broadcast, Delivery::Serial]),
        (
            1u32..20,
            prop::sample::select(vec![TableFull::Untracked, TableFull::Wait]),
        ),
        prop::option::weighted(0.8, cache),
    )
        .prop_map(
            |(
                up_ports,
                table_entries,
                table_cycles,
                reply_cycles,
                delivery,
                (outstanding, table_full),
                cache,
            )| {
                IccSpec {
                    up_ports,
                    table_entries,
                    table_cycles,
                    reply_cycles,
                    delivery,
                    outstanding,
                    table_full,
                    coalesced_cache: cache,
                    ..spec()
                }
            },
        )
}

fn traffic() -> impl Strategy<Value = Traffic> {
    let kinds = [
        RequestKind::ALL.to_vec(),
        // Mostly reads and writes, or nothing would be merged.
        vec![RequestKind::Read; 12],
        vec![RequestKind::Write; 3],
    ];
    let request = (
        0usize..5,
        0u64..120,
        0u64..4,
        prop::sample::select(kinds.concat()),
        prop::sample::select(vec![u32::MAX, u32::MAX, u32::MAX, 0xff, 0xf]),
        prop::sample::select(vec![0, 0, 0, flags::BYPASS_L1]),
    );
    (
        prop::collection::vec(request, 0..120),
        any::<u16>(),
        0u64..13,
        0u32..13,
        1u64..60,
        any::<bool>(),
    )
        .prop_map(
            |(requests, seed, memory_stalls, unit_stalls, slowest, forgets)| {
                let mut ports = vec![Vec::new(); 5];
                for (port, cycle, line, kind, words, flags) in requests {
                    ports[port].push((cycle, line, kind, words, flags));
                }
                for port in &mut ports {
                    port.sort_by_key(|r| r.0);
                }
                Traffic {
                    requests: ports,
                    seed: u64::from(seed),
                    memory_stalls,
                    unit_stalls,
                    slowest,
                    forgets,
                }
            },
        )
}

fn wanted(traffic: &Traffic) -> usize {
    let requests = traffic.requests.iter().flatten();
    requests
        .filter(|(_, _, kind, ..)| kind.wants_response())
        .count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    /// The checker fails the run at the first lost, repeated, mixed up or stale answer and at a
    /// second tracked read of a line.
    #[test]
    fn every_read_is_answered_once_and_fresh_whatever_stalls(
        spec in specs(), traffic in traffic(), every in 1u64..40,
    ) {
        let mut traffic = traffic;
        traffic.requests.truncate(spec.up_ports as usize);
        let outcome = run(&spec, &traffic, EngineOptions::default(), None);
        let (responses, icc, checker) = &outcome;
        let answered: usize = responses.iter().map(Vec::len).sum();
        prop_assert_eq!(answered, wanted(&traffic));
        prop_assert_eq!(checker.counter("unanswered"), Some(0));
        let count = |name| icc.counter(name).expect("a counter of the unit");
        prop_assert_eq!(
            count("reads"),
            count("reads_merged") + count("reads_injected") + count("cache_hits")
        );
        if spec.table_full == TableFull::Wait {
            prop_assert_eq!(count("reads_untracked_full"), 0);
        }
        prop_assert_eq!(count("reads_tracked"), count("table_replies"));
        prop_assert_eq!(count("responses"), answered as u64);
        prop_assert!(count("table_occupancy_max") <= u64::from(spec.table_entries));
        for options in [
            EngineOptions { sleeping: false, ..EngineOptions::default() },
            EngineOptions { order: Order::Shuffled { seed: 3 }, ..EngineOptions::default() },
        ] {
            prop_assert_eq!(&run(&spec, &traffic, options, None), &outcome);
        }
        prop_assert_eq!(&run(&spec, &traffic, EngineOptions::default(), Some(every)), &outcome);
    }
}

/// Many reads and writes of few lines by all units, at once.
pub(super) fn dense() -> Traffic {
    let port = |port: u64| {
        let request = |n: u64| {
            let kind = if scramble(n * 31 + port).is_multiple_of(5) {
                RequestKind::Write
            } else {
                RequestKind::Read
            };
            (n * 2, scramble(n * 7 + port) % 6, kind, u32::MAX, 0)
        };
        (0..200).map(request).collect()
    };
    Traffic {
        requests: (0..5).map(port).collect(),
        seed: 5,
        memory_stalls: 8,
        unit_stalls: 2,
        slowest: 40,
        forgets: false,
    }
}

/// The property above would hold of a unit that merges nothing.
#[test]
fn dense_traffic_merges_hits_closes_and_overflows() {
    let (responses, icc, checker) = run(&spec(), &dense(), EngineOptions::default(), None);
    let answered: usize = responses.iter().map(Vec::len).sum();
    assert_eq!(answered, 1000);
    for name in [
        "reads_merged",
        "reads_untracked_full",
        "reads_untracked_closed",
        "entries_closed",
        "cache_hits",
        "cache_invalidated",
    ] {
        assert!(
            icc.counter(name) > Some(10),
            "{name}: {:?}",
            icc.counter(name)
        );
    }
    assert!(checker.counter("reads_behind_writes") > Some(100));
}

#[test]
#[should_panic(expected = "below answered line")]
fn the_checker_notices_a_memory_that_forgets_if_it_must_not() {
    let mut bench = TestBench::new();
    let checker = CoalescingCheckerSpec {
        up_ports: 1,
        freshness: true,
    };
    let checker = CoalescingChecker::build(checker, &Environment::default());
    bench.add("checker", checker.unwrap());
    let spec = IccSpec {
        up_ports: 1,
        ..spec()
    };
    bench.add("icc", unit(spec));
    let mut memory = TaggedMemory::new(1, 0, 1);
    memory.forgets = true;
    bench.add("memory", memory);
    let wires = [
        ("checker.unit_up[0]", "icc.up[0]"),
        ("icc.down", "checker.unit_down"),
        ("checker.down", "memory.up"),
    ];
    for (a, b) in wires {
        bench.builder().connect(a, b, Link::latency(1));
    }
    let above = bench.source::<MemRequest>("checker.up[0].request");
    bench.sink::<MemResponse>("checker.up[0].response");
    above.send_at(10, MemRequest::write(1, A, 1));
    above.send_at(30, read(2, A));
    bench.step(100);
}
