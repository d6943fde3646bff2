//! Tests of writes, atomics, bypassing requests and copy-backs under every policy.

use super::*;

#[test]
fn write_evict_sends_writes_down_and_drops_the_copy() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    rig.write_at(start, 1, 0, 0b110);
    let write = rig.below_at(start + 2, RequestKind::Write, 0, 0b110);
    rig.answer_at(start + 30, &write);
    rig.above_at(start + 33, 1, Level::DRAM);
    rig.read_at(start + 40, 2, 0);
    rig.below_at(start + 42, RequestKind::Read, 0, ALL);
    assert_eq!((rig.count("write_evictions"), rig.count("misses")), (1, 2));
}

#[test]
fn a_write_miss_allocates_nothing_under_write_evict() {
    let mut rig = Rig::new(l1());
    rig.write_at(10, 1, 0, ALL);
    let write = rig.below_at(12, RequestKind::Write, 0, ALL);
    rig.answer_at(20, &write);
    rig.above_at(23, 1, Level::DRAM);
    rig.read_at(30, 2, 0);
    rig.below_at(32, RequestKind::Read, 0, ALL);
}

#[test]
fn a_store_to_a_line_in_flight_keeps_it_from_being_installed() {
    for allocate in [AllocatePolicy::OnMiss, AllocatePolicy::OnFill] {
        let mut rig = Rig::new(CacheSpec { allocate, ..l1() });
        rig.read_at(10, 1, 0);
        rig.write_at(11, 2, 0, 1);
        rig.read_at(12, 3, 0);
        let old = rig.below_at(12, RequestKind::Read, 0, ALL);
        let write = rig.below_at(13, RequestKind::Write, 0, 1);
        let new = rig.below_at(14, RequestKind::Read, 0, ALL);
        rig.answer_at(20, &old);
        rig.answer_at(21, &write);
        rig.above_at(23, 1, Level::DRAM);
        rig.above_at(24, 2, Level::DRAM);
        // Still in flight for the second MSHR: a read joins that one.
        rig.read_at(30, 4, 0);
        rig.answer_at(40, &new);
        rig.above_at(43, 3, Level::DRAM);
        rig.above_at(44, 4, Level::DRAM);
        rig.read_at(50, 5, 0);
        rig.above_at(55, 5, Level::L1);
        assert_eq!(rig.count("fills_not_installed"), 1);
    }
}

#[test]
fn write_back_keeps_words_and_copies_back_the_dirty_ones() {
    let mut rig = Rig::new(l2(PartialWrite::WordMask));
    rig.write_at(10, 1, 0, 0b11);
    rig.above_at(15, 1, Level::L2);
    // Words present: a hit. Others: the rest of the line is fetched.
    rig.read_at(20, 2, 0);
    rig.above_at(25, 2, Level::L2);
    rig.request.send_at(30, MemRequest::read(3, 0, 0b100));
    let rest = rig.below_at(32, RequestKind::Read, 0, !0b11);
    rig.answer_at(40, &rest);
    rig.above_at(43, 3, Level::DRAM);
    // Two more lines of the set displace it; the copy-back goes ahead of the miss.
    rig.read_at(50, 4, 256);
    let fetch = rig.below_at(52, RequestKind::Read, 256, ALL);
    rig.answer_at(60, &fetch);
    rig.above_at(63, 4, Level::DRAM);
    rig.read_at(70, 5, 512);
    rig.below_at(72, RequestKind::CopyBack, 0, 0b11);
    rig.below_at(73, RequestKind::Read, 512, ALL);
    let counts = ["partial_misses", "evictions", "copy_backs"].map(|name| rig.count(name));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn fetch_on_write_fetches_for_partial_writes_only() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.write_at(10, 1, 0, ALL);
    rig.above_at(15, 1, Level::L2);
    rig.write_at(20, 2, 128, 1);
    let fetch = rig.below_at(22, RequestKind::Read, 128, ALL);
    rig.answer_at(30, &fetch);
    rig.above_at(33, 2, Level::L2);
    rig.read_at(40, 3, 128);
    rig.above_at(45, 3, Level::L2);
    for (at, line) in [(50, 384), (60, 640)] {
        rig.write_at(at, 4, line, ALL);
        rig.above_at(at + 5, 4, Level::L2);
    }
    rig.below_at(62, RequestKind::CopyBack, 128, 1);
}

#[test]
fn atomics_execute_at_one_per_cycle_and_leave_the_line_dirty() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.atomic_at(10, 1, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23 + 4, 1, Level::DRAM);
    rig.atomic_at(40, 2, 0);
    rig.atomic_at(41, 3, 0);
    rig.read_at(42, 4, 0);
    rig.above_at(40 + 5 + 4, 2, Level::L2);
    rig.above_at(41 + 5 + 4, 3, Level::L2);
    // The hit behind atomics leaves after them.
    rig.above_at(51, 4, Level::L2);
    for (at, line) in [(60, 256), (70, 512)] {
        rig.write_at(at, 5, line, ALL);
        rig.above_at(at + 5, 5, Level::L2);
    }
    rig.below_at(72, RequestKind::CopyBack, 0, 1);
}

#[test]
fn forwarded_atomics_drop_the_copy() {
    let mut rig = Rig::new(l1());
    let start = rig.warm(0);
    rig.atomic_at(start, 1, 0);
    let atomic = rig.below_at(start + 2, RequestKind::Atomic, 0, 1);
    rig.answer_at(start + 20, &atomic);
    let answer = rig.above_at(start + 23, 1, Level::DRAM);
    assert_eq!(answer.kind, RequestKind::Atomic);
    rig.read_at(start + 30, 2, 0);
    rig.below_at(start + 32, RequestKind::Read, 0, ALL);
    assert_eq!((rig.count("forwarded"), rig.count("atomics")), (1, 1));
}

#[test]
fn dirty_words_go_down_ahead_of_a_forwarded_atomic() {
    let mut rig = Rig::new(CacheSpec {
        atomics: AtomicPolicy::Forward,
        ..l2(PartialWrite::Fetch)
    });
    rig.write_at(10, 1, 0, 1);
    rig.atomic_at(11, 2, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.above_at(23, 1, Level::L2);
    // Blocked until the write is answered in 23; accepted in 24.
    rig.below_at(26, RequestKind::CopyBack, 0, 1);
    rig.below_at(27, RequestKind::Atomic, 0, 1);
    assert_eq!(rig.count("blocked_line_busy"), 24 - 11);
}

#[test]
fn bypassing_requests_pass_an_l1_but_not_an_l2() {
    let bypass = MemRequest {
        flags: flags::BYPASS_L1,
        ..MemRequest::read(1, 0, 0b1000)
    };
    let mut rig = Rig::new(l1());
    rig.request.send_at(10, bypass);
    let passed = rig.below_at(12, RequestKind::Read, 0, 0b1000);
    rig.answer_at(20, &passed);
    rig.above_at(23, 1, Level::DRAM);
    rig.read_at(30, 2, 0);
    rig.below_at(32, RequestKind::Read, 0, ALL);

    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.request.send_at(10, bypass);
    rig.below_at(12, RequestKind::Read, 0, ALL);
}

#[test]
fn a_write_without_fetch_waits_for_readers_that_a_passing_request_overtook() {
    let mut rig = Rig::new(CacheSpec {
        level: CacheLevel::L1,
        ..l2(PartialWrite::WordMask)
    });
    rig.read_at(10, 1, 0);
    let bypass = MemRequest {
        kind: RequestKind::CopyBack,
        flags: flags::BYPASS_L1,
        ..MemRequest::read(0, 0, 1)
    };
    rig.request.send_at(11, bypass);
    rig.write_at(12, 2, 0, 1);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.below_at(13, RequestKind::CopyBack, 0, 1);
    rig.answer_at(30, &fetch);
    rig.above_at(33, 1, Level::DRAM);
    rig.above_at(34 + 5, 2, Level::L1);
    assert_eq!(rig.count("blocked_line_busy"), 34 - 12);
}

#[test]
fn copy_backs_from_above_stay_in_a_write_back_cache_and_are_not_answered() {
    let copy_back = |line, words| MemRequest {
        kind: RequestKind::CopyBack,
        ..MemRequest::read(0, line, words)
    };
    let mut rig = Rig::new(l2(PartialWrite::WordMask));
    rig.request.send_at(10, copy_back(0, 0b1));
    rig.request.send_at(11, MemRequest::read(1, 0, 0b1));
    rig.above_at(16, 1, Level::L2);
    assert_eq!(rig.count("copy_backs_received"), 1);

    // Where the line must be fetched, its posted waiter is dropped at the fill.
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    rig.request.send_at(10, copy_back(0, 0b1));
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer_at(20, &fetch);
    rig.bench.step(10);
    rig.read_at(40, 1, 0);
    rig.above_at(45, 1, Level::L2);

    let mut rig = Rig::new(l1());
    rig.request.send_at(10, copy_back(0, 0b1));
    rig.below_at(12, RequestKind::CopyBack, 0, 0b1);
    assert_eq!(rig.bench.run_until_quiet(), RunOutcome::Done);
}

#[test]
fn the_write_sequence_of_a_response_is_that_of_its_place_in_order() {
    let mut rig = Rig::new(l2(PartialWrite::Fetch));
    let write = |id, sequence| MemRequest {
        write_sequence: sequence,
        ..MemRequest::write(id, 0, 1)
    };
    rig.read_at(10, 1, 0);
    rig.request.send_at(11, write(2, 7));
    rig.read_at(12, 3, 0);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    rig.answer.send_at(
        20,
        MemResponse {
            write_sequence: 4,
            ..fetch.answer(Level::DRAM)
        },
    );
    let sequences = [
        (23, 1, Level::DRAM),
        (24, 2, Level::L2),
        (25, 3, Level::DRAM),
    ]
    .map(|(cycle, id, level)| rig.above_at(cycle, id, level).write_sequence);
    assert_eq!(sequences, [4, 7, 7]);
    rig.read_at(40, 4, 0);
    assert_eq!(rig.above_at(45, 4, Level::L2).write_sequence, 7);
}
