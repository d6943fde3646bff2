//! Tests of hits and misses: waiting conditions and engine cost.

use super::*;

#[test]
fn a_miss_pays_miss_latency_down_and_fill_latency_up_and_a_hit_its_own() {
    let mut rig = Rig::new(l1());
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23, 1, Level::DRAM);
    rig.read_at(40, 2, 0);
    rig.above_at(45, 2, Level::L1);
    rig.bench.expect_nothing(&rig.below.clone(), 20);
    assert_eq!(
        (rig.count("hits"), rig.count("misses"), rig.count("fills")),
        (1, 1, 1)
    );
    // In use from acceptance to the last answer.
    assert_eq!(rig.count("mshr_cycles"), 23 - 10);
}

#[test]
fn a_cache_of_another_level_answers_by_its_name() {
    let level = CacheLevel::Named("L1.5".to_owned());
    let mut rig = Rig::new(CacheSpec { level, ..l1() });
    let start = rig.warm(0);
    rig.read_at(start, 1, 0);
    rig.above_at(start + 5, 1, Level::named("L1.5"));
}

#[test]
fn hits_follow_each_other_every_cycle() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    for i in 0..20 {
        rig.read_at(start + u64::from(i), i, 0);
    }
    for i in 0..20 {
        rig.above_at(start + u64::from(i) + 5, i, Level::L1);
    }
}

#[test]
fn zero_latencies_answer_in_the_cycle_of_arrival() {
    let mut rig = Rig::new(CacheSpec {
        hit_latency_cycles: 0,
        miss_latency_cycles: 0,
        fill_latency_cycles: 0,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(10, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(20, 1, Level::DRAM);
    rig.read_at(30, 2, 0);
    rig.above_at(30, 2, Level::L1);
}

#[test]
fn requests_for_a_line_in_flight_merge_and_are_answered_in_order() {
    let mut rig = Rig::new(l1());
    for (cycle, id) in [(10, 1), (11, 2), (30, 3)] {
        rig.read_at(cycle, id, 0);
    }
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(40, &fetch);
    for (cycle, id) in [(43, 1), (44, 2), (45, 3)] {
        rig.above_at(cycle, id, Level::DRAM);
    }
    assert_eq!((rig.count("misses"), rig.count("hits_reserved")), (1, 2));
    let statistics = rig.bench.statistics("cache");
    let Some(Value::Histogram(latency)) = statistics.get("read_miss_latency") else {
        panic!("the latency is a histogram");
    };
    assert_eq!((latency.count(), latency.max()), (1, Some(33)));
}

#[test]
fn a_full_mshr_entry_blocks_the_head_request_for_counted_cycles() {
    let mut rig = Rig::new(CacheSpec {
        mshr_merges: 2,
        ..l1()
    });
    for (cycle, id) in [(10, 1), (11, 2), (12, 3)] {
        rig.read_at(cycle, id, 0);
    }
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(40, &fetch);
    // Request 3 finds room in cycle 44, when request 1 has left, and joins the line being
    // answered.
    for (cycle, id) in [(43, 1), (44, 2), (45, 3)] {
        rig.above_at(cycle, id, Level::DRAM);
    }
    assert_eq!(rig.count("blocked_merges_full"), 44 - 12);
}

#[test]
fn mshrs_and_ways_run_out_one_by_one() {
    let mut rig = Rig::new(CacheSpec {
        mshr_entries: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 128);
    let first = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &first);
    rig.above_at(23, 1, Level::DRAM);
    rig.below_at(26, RequestKind::Read, 128, ALL);
    assert_eq!(rig.count("blocked_mshrs_full"), 24 - 11);

    // Three lines of one set with two ways, reserved on miss.
    let mut rig = Rig::new(l1());
    for (cycle, line) in [(10, 0), (11, 256), (12, 512)] {
        rig.read_at(cycle, 0, line);
    }
    let first = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.below_at(13, RequestKind::Read, 256, ALL);
    rig.answer_at(20, &first);
    rig.below_at(26, RequestKind::Read, 512, ALL);
    assert_eq!(rig.count("blocked_no_way"), 24 - 12);

    // On fill nothing is reserved.
    let mut rig = Rig::new(CacheSpec {
        allocate: AllocatePolicy::OnFill,
        ..l1()
    });
    for (cycle, line) in [(10, 0), (11, 256), (12, 512)] {
        rig.read_at(cycle, 0, line);
    }
    for (cycle, line) in [(12, 0), (13, 256), (14, 512)] {
        rig.below_at(cycle, RequestKind::Read, line, ALL);
    }
}

#[test]
fn answers_from_below_never_leave_before_a_hit_of_the_same_cycle_would() {
    let slow_hits = CacheSpec {
        hit_latency_cycles: 40,
        ..l1()
    };
    let mut rig = Rig::new(slow_hits.clone());
    rig.read_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(10 + 40, 1, Level::DRAM);

    let mut rig = Rig::new(slow_hits);
    rig.write_at(10, 1, 0, 1);
    let write = rig.below_at(12, RequestKind::Write, 0, 1);
    rig.answer_at(20, &write);
    rig.above_at(10 + 40, 1, Level::DRAM);
}

#[test]
fn shorter_lines_above_share_a_line_here() {
    let mut rig = Rig::new(l1());
    rig.request.send_at(10, MemRequest::read(1, 32, 0xff));
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    let answer = rig.above_at(23, 1, Level::DRAM);
    assert_eq!((answer.line, answer.words), (32, 0xff));
    rig.request.send_at(30, MemRequest::read(2, 96, 0xff));
    rig.above_at(35, 2, Level::L1);
}

#[test]
#[should_panic(expected = "lines of the upper level must not be longer")]
fn longer_lines_above_end_the_run() {
    let mut rig = Rig::new(CacheSpec {
        line_bytes: 32,
        ..l1()
    });
    rig.request.send_at(10, MemRequest::read(1, 0, 0x100));
    rig.bench.step(20);
}

#[test]
#[should_panic(expected = "matches no outstanding request")]
fn an_answer_to_nothing_ends_the_run() {
    let rig = &mut Rig::new(l1());
    rig.answer
        .send_at(10, MemRequest::read(1, 0, 1).answer(Level::L2));
    rig.bench.step(20);
}

#[test]
fn invalidation_waits_for_what_is_in_flight_and_drops_clean_lines() {
    let mut rig = Rig::new(l1());
    let command = rig.bench.source::<CacheCommand>("cache.control.command");
    let done = rig.bench.sink::<CacheCommandDone>("cache.control.done");
    let start = rig.warm(0);
    // Idle: answered at once.
    command.send_at(start, CacheCommand::Invalidate);
    rig.bench.expect_at(&done, start, &CacheCommandDone);
    let at = start + 10;
    rig.read_at(at, 1, 0);
    command.send_at(at + 1, CacheCommand::Invalidate);
    rig.read_at(at + 2, 2, 128);
    let fetch = rig.below_at(at + 2, RequestKind::Read, 0, ALL);
    rig.answer_at(at + 20, &fetch);
    rig.above_at(at + 23, 1, Level::DRAM);
    rig.bench.expect_at(&done, at + 23, &CacheCommandDone);
    rig.below_at(at + 26, RequestKind::Read, 128, ALL);
    let names = ["invalidations", "lines_invalidated", "blocked_invalidation"];
    assert_eq!(names.map(|name| rig.count(name)), [2, 2, 22]);
}

#[test]
fn a_loop_of_one_line_more_than_a_set_holds_misses_always() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let mut rig = Rig::new(CacheSpec { allocate, ..l1() });
        for _ in 0..4 {
            for line in [0, 256, 512] {
                rig.warm(line);
            }
        }
        assert_eq!((rig.count("misses"), rig.count("evictions")), (12, 10));
    }
}

#[test]
fn latencies_of_two_levels_and_their_wires_add_up() {
    let mut bench = TestBench::new();
    let second = CacheSpec {
        hit_latency_cycles: 9,
        miss_latency_cycles: 4,
        fill_latency_cycles: 6,
        ..l2(PartialWrite::Fetch)
    };
    bench.add("first", Cache::new(l1()).unwrap());
    bench.add("second", Cache::new(second).unwrap());
    let wire = Link::latency(11);
    bench.builder().connect("first.down", "second.up", wire);
    let request = bench.source::<MemRequest>("first.up.request");
    let response = bench.sink::<MemResponse>("first.up.response");
    let below = bench.sink::<MemRequest>("second.down.request");
    let answer = bench.source::<MemResponse>("second.down.response");
    request.send_at(10, MemRequest::read(1, 0, 1));
    let (sent, fetch) = bench.receive(&below);
    assert_eq!(sent, 10 + 2 + 11 + 4);
    answer.send_at(50, fetch.answer(Level::DRAM));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (50 + 6 + 11 + 3, Level::DRAM));
    // Displaced from the first level by its write, the line is still in the second.
    request.send_at(100, MemRequest::write(2, 0, 1));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (100 + 2 + 11 + 9 + 11 + 3, Level::L2));
    request.send_at(200, MemRequest::read(3, 0, 1));
    let (cycle, got) = bench.receive(&response);
    assert_eq!((cycle, got.level), (200 + 2 + 11 + 9 + 11 + 3, Level::L2));
}

#[test]
fn a_cache_that_waits_for_a_fill_sleeps_even_with_a_blocked_request() {
    let mut rig = Rig::new(CacheSpec {
        mshr_merges: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 0);
    rig.bench.step(30);
    let before = rig.bench.simulation().evaluations();
    rig.bench.step(1000);
    // The bench wakes its two sources at every step.
    assert_eq!(rig.bench.simulation().evaluations() - before, 2);
    assert_eq!(rig.count("blocked_merges_full"), rig.bench.cycle() + 1 - 11);
}

#[test]
fn a_stream_of_hits_costs_one_evaluation_each() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    let before = rig.bench.simulation().evaluations();
    for i in 0..1000 {
        rig.read_at(start + u64::from(i), i, 0);
    }
    rig.bench.step(1200);
    let evaluations = rig.bench.simulation().evaluations() - before;
    // Source, cache and sink once per request, and the pipeline's length more at the end.
    assert!(evaluations <= 3 * 1000 + 30, "{evaluations} evaluations");
    assert_eq!(rig.count("hits"), 1000);
}

#[test]
fn a_cache_without_answers_tells_what_it_waits_for() {
    let mut rig = Rig::new(CacheSpec {
        mshr_entries: 1,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.read_at(11, 2, 128);
    let RunOutcome::Deadlock(report) = rig.bench.run_until_quiet() else {
        panic!("nobody answers the fetch");
    };
    let text = report.to_string();
    assert!(text.contains("1 MSHRs wait for fills"), "{text}");
    assert!(
        text.contains("head request waited for a free MSHR"),
        "{text}"
    );
}
