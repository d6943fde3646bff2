//! Tests of the unit between scripted neighbours.

use warpweave_framework::{Source, Value};

use super::*;
use crate::launch::{CacheCommand, CacheCommandDone};

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

    /// Sends a request from `port` and runs until it settles. Returns the request sent downstream,
    /// if any.
    fn send(&mut self, port: usize, request: MemRequest) -> Option<MemRequest> {
        self.above[port].0.send(request);
        self.bench.step(8);
        let sent = self.requests.take_all();
        assert!(sent.len() <= 1);
        sent.first().map(|(_, request)| *request)
    }

    /// Answers a downstream request. Returns the ports that received a response.
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

/// Provides a negative control: the full latency without the effect.
#[test]
fn a_table_of_no_entries_looks_reads_up_and_merges_none() {
    let mut rig = Rig::new(IccSpec {
        table_entries: 0,
        ..spec()
    });
    let reads: Vec<MemRequest> = (0..3)
        .map(|port| rig.send(port, read(0, A)).expect("nothing is merged"))
        .collect();
    for (port, request) in reads.iter().enumerate() {
        assert!(!tracked(Some(*request)));
        assert_eq!(rig.answer(request), [port]);
    }
    assert_eq!(rig.counter("table_lookups"), 3);
    assert_eq!(rig.counter("reads_merged"), 0);
    assert_eq!(rig.counter("cache_fills"), 0);
    let waits = IccSpec {
        table_entries: 0,
        table_full: TableFull::Wait,
        ..spec()
    };
    assert!(waits.check().is_err(), "a read would wait for ever");
}

/// Follows the scenario of the specification step by step.
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
    let hit = read(9, A).answer(Level::COALESCED);
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
    assert!(rig.counter("blocked_cycles") >= 25);
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

/// The line is on the bus for one cycle; the second response to unit 0 follows from its own copy.
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
    assert!(rig.counter("blocked_cycles") > 20);
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
    // Another size of the caches above or below is no matter of its own lines.
    let resize = CacheCommand::Resize { bytes: 4096 };
    command.send_at(30, resize);
    bench.expect_at(&passed, 30, &resize);
    carried_out.send_at(33, CacheCommandDone);
    bench.expect_at(&done, 33, &CacheCommandDone);
    command.send_at(36, CacheCommand::Invalidate);
    bench.expect_at(&passed, 36, &CacheCommand::Invalidate);
    carried_out.send_at(39, CacheCommandDone);
    bench.expect_at(&done, 39, &CacheCommandDone);
    // A was kept and is not there any more; B is under way, read before the invalidation.
    above.send_at(42, read(3, A));
    assert_eq!(bench.receive(&below).1.line, A);
    above.send_at(50, read(4, B));
    assert_eq!(bench.receive(&below).1.flags & flags::TRACKED, 0);
    answers.send_at(60, b.answer(Level::L2));
    bench.step(20);
    let statistics = bench.statistics("icc");
    let counts = ["cache_dropped", "entries_at_invalidation", "cache_fills"];
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
#[should_panic(expected = "down sent a response that matches no outstanding request")]
fn a_tracked_answer_to_no_entry_is_reported() {
    let mut rig = Rig::new(spec());
    let stray = MemRequest {
        flags: flags::TRACKED,
        ..read(0, A)
    };
    rig.responses.send_at(3, stray.answer(Level::L2));
    rig.bench.step(10);
}
