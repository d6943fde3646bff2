//! Exact cycles of sectors, pieces, banks, victim cache, parts and write policies.

use super::*;

fn sectored() -> CacheSpec {
    CacheSpec {
        sector_bytes: Some(32),
        ..l1()
    }
}

fn read(id: u32, line: u64, words: u32) -> MemRequest {
    MemRequest::read(id, line, words)
}

#[test]
fn a_miss_fetches_its_sectors_and_others_later_into_the_same_way() {
    let mut rig = Rig::new(sectored());
    rig.request.send_at(10, read(1, 0, 1));
    let first = rig.below_at(12, RequestKind::Read, 0, 0xff);
    rig.answer_at(20, &first);
    rig.above_at(23, 1, Level::DRAM);
    rig.request.send_at(30, read(2, 0, 2));
    rig.above_at(35, 2, Level::L1);
    rig.request.send_at(40, read(3, 0, 0x1_0000));
    let second = rig.below_at(42, RequestKind::Read, 0, 0xff_0000);
    rig.answer_at(50, &second);
    rig.above_at(53, 3, Level::DRAM);
    assert_eq!((rig.count("misses"), rig.count("partial_misses")), (2, 1));
    assert_eq!(rig.count("evictions"), 0);
    // One request for several sectors.
    rig.request.send_at(60, read(4, 128, 0x10_1001));
    rig.below_at(62, RequestKind::Read, 128, 0xff_ffff);
    let sectors = ["read_sectors", "read_sector_hits", "sectors_fetched"];
    assert_eq!(sectors.map(|name| rig.count(name)), [6, 1, 5]);
}

#[test]
fn a_request_that_joins_asks_for_its_other_sectors_and_waits_for_its_own_only() {
    let mut rig = Rig::new(sectored());
    rig.request.send_at(10, read(1, 0, 1));
    rig.request.send_at(11, read(2, 0, 0x101));
    rig.request.send_at(12, read(3, 0, 2));
    let first = rig.below_at(12, RequestKind::Read, 0, 0xff);
    let second = rig.below_at(13, RequestKind::Read, 0, 0xff00);
    rig.answer_at(20, &first);
    rig.above_at(23, 1, Level::DRAM);
    rig.answer_at(30, &second);
    rig.above_at(33, 2, Level::DRAM);
    // The third has its words, but leaves in its turn.
    rig.above_at(34, 3, Level::DRAM);
    assert_eq!(
        (rig.count("hits_reserved"), rig.count("sector_merges")),
        (2, 1)
    );
    assert_eq!(rig.count("mshr_cycles"), 34 - 10);
    let sectors = ["read_sectors", "read_sector_hits", "sectors_fetched"];
    assert_eq!(sectors.map(|name| rig.count(name)), [4, 0, 2]);
}

#[test]
fn a_read_counts_the_sectors_that_it_finds_and_stores_those_that_they_touch() {
    let mut rig = Rig::new(sectored());
    rig.request.send_at(10, read(1, 0, 1));
    let first = rig.below_at(12, RequestKind::Read, 0, 0xff);
    rig.answer_at(20, &first);
    rig.above_at(23, 1, Level::DRAM);
    // Its first sector is present, its second is not.
    rig.request.send_at(30, read(2, 0, 0x180));
    rig.below_at(32, RequestKind::Read, 0, 0xff00);
    rig.request.send_at(40, MemRequest::write(3, 256, 0x101));
    rig.bench.step(50);
    let sectors = ["read_sectors", "read_sector_hits", "write_sectors"];
    assert_eq!(sectors.map(|name| rig.count(name)), [3, 1, 2]);
}

#[test]
fn a_miss_over_shorter_lines_is_one_read_for_each_of_them() {
    let mut rig = Rig::new(CacheSpec {
        below_line_bytes: Some(32),
        miss_queue_entries: 8,
        ..l1()
    });
    rig.request.send_at(10, read(1, 128, 0x100));
    rig.request.send_at(11, read(2, 128, ALL));
    let pieces: Vec<_> = (0..4)
        .map(|n| rig.below_at(12 + n, RequestKind::Read, 128 + 32 * n, 0xff))
        .collect();
    for (n, piece) in [(0, 3), (1, 1), (2, 0), (3, 2)] {
        rig.answer_at(30 + 10 * n, &pieces[piece]);
    }
    // The piece of the first came second, the last piece of the second fourth.
    rig.above_at(43, 1, Level::DRAM);
    rig.above_at(63, 2, Level::DRAM);
    assert_eq!((rig.count("fills"), rig.count("misses")), (4, 1));
}

#[test]
fn a_miss_that_the_level_below_takes_apart_is_one_read_with_answers_in_any_order() {
    for (wait_for, first_at) in [(WaitFor::Words, 43), (WaitFor::Line, 63)] {
        let mut rig = Rig::new(CacheSpec {
            below_line_bytes: Some(32),
            cut: Cut::Below,
            wait_for,
            ..l1()
        });
        rig.request.send_at(10, read(1, 128, 0x100));
        rig.request.send_at(11, read(2, 128, ALL));
        let fetch = rig.below_at(12, RequestKind::Read, 128, ALL);
        for (n, part) in [(0, 3), (1, 1), (2, 0), (3, 2)] {
            let answer = MemResponse {
                words: 0xff << (8 * part),
                ..fetch.answer(Level::DRAM)
            };
            rig.answer.send_at(30 + 10 * n, answer);
        }
        rig.above_at(first_at, 1, Level::DRAM);
        rig.above_at(first_at.max(62) + 1, 2, Level::DRAM);
        assert_eq!((rig.count("fills"), rig.count("misses")), (4, 1));
    }
}

#[test]
fn a_request_for_a_longer_line_is_taken_apart_one_line_in_a_cycle() {
    let mut rig = Rig::new(CacheSpec {
        level: CacheLevel::L2,
        line_bytes: 32,
        above_line_bytes: Some(128),
        write: WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        },
        ..l1()
    });
    // Its first and third line; then a write, which nothing is fetched for.
    rig.request.send_at(10, read(7, 256, 0x00ff_0001));
    rig.request.send_at(11, MemRequest::write(8, 128, 0xf0f0));
    let first = rig.below_at(12, RequestKind::Read, 256, 0xff);
    let third = rig.below_at(13, RequestKind::Read, 320, 0xff);
    rig.answer_at(20, &third);
    rig.answer_at(30, &first);
    for (at, id, line, words) in [
        (12 + 5, 8, 128, 0xf0),
        (13 + 5, 8, 128, 0xf000),
        (23, 7, 256, 0x00ff_0000),
        (33, 7, 256, 1),
    ] {
        let (cycle, answer) = rig.bench.receive(&rig.response);
        assert_eq!(
            (cycle, answer.id, answer.line, answer.words),
            (at, id, line, words)
        );
    }
    assert_eq!((rig.count("reads"), rig.count("writes")), (2, 2));
}

#[test]
#[should_panic(expected = "touches words outside one line")]
fn a_request_that_leaves_a_longer_line_ends_the_run() {
    let mut rig = Rig::new(CacheSpec {
        line_bytes: 32,
        above_line_bytes: Some(64),
        ..l1()
    });
    rig.request.send_at(10, read(1, 64, 0x1_0000));
    rig.bench.run_until_quiet();
}

#[test]
fn a_write_that_the_level_below_takes_apart_is_acknowledged_with_its_last_part() {
    let mut rig = Rig::new(CacheSpec {
        below_line_bytes: Some(64),
        cut: Cut::Below,
        ..l1()
    });
    rig.write_at(10, 1, 0, 0x3_c000);
    let write = rig.below_at(12, RequestKind::Write, 0, 0x3_c000);
    for (at, words) in [(20, 0x3_0000), (30, 0xc000)] {
        let answer = MemResponse {
            words,
            ..write.answer(Level::DRAM)
        };
        rig.answer.send_at(at, answer);
    }
    rig.above_at(33, 1, Level::DRAM);
}

#[test]
fn a_write_over_shorter_lines_is_acknowledged_when_all_its_pieces_are() {
    let mut rig = Rig::new(CacheSpec {
        below_line_bytes: Some(64),
        ..l1()
    });
    rig.write_at(10, 1, 0, 0x3_c000);
    let first = rig.below_at(12, RequestKind::Write, 0, 0xc000);
    let second = rig.below_at(13, RequestKind::Write, 64, 0x3);
    assert_ne!(first.id, second.id);
    rig.answer_at(20, &second);
    rig.answer_at(30, &first);
    rig.above_at(33, 1, Level::DRAM);
}

#[test]
fn requests_for_one_bank_follow_each_other_at_its_pace() {
    let mut rig = Rig::new(CacheSpec {
        banks: Some(Banks {
            count: 2,
            busy_cycles: 3,
            requests_per_cycle: 2,
        }),
        responses_per_cycle: 2,
        ..l1()
    });
    rig.warm(0);
    let start = rig.warm(128) + 10;
    rig.read_at(start, 1, 0);
    rig.read_at(start + 1, 2, 0);
    rig.read_at(start + 2, 3, 128);
    rig.above_at(start + 5, 1, Level::L1);
    rig.above_at(start + 3 + 5, 2, Level::L1);
    // Behind the one that waited, and for another bank: accepted in the same cycle.
    rig.above_at(start + 3 + 5, 3, Level::L1);
    assert_eq!(rig.count("blocked_bank_busy"), 2);
}

fn with_victims(write: WritePolicy) -> Rig {
    Rig::new(CacheSpec {
        write,
        victim_cache: Some(VictimCacheSpec {
            lines: 2,
            latency_cycles: 4,
        }),
        ..l1()
    })
}

#[test]
fn a_replaced_line_comes_back_from_the_victim_cache_in_exchange_for_another() {
    let mut rig = with_victims(WritePolicy::WriteEvict);
    for line in [0, 256, 512] {
        rig.warm(line);
    }
    // The set holds 256 and 512. Each swap displaces the line that was used longest ago.
    let start = rig.bench.cycle() + 2;
    for (n, line, extra) in [(0, 0, 4), (20, 256, 4), (40, 0, 0), (60, 512, 4)] {
        rig.read_at(start + n, 1, line);
        rig.above_at(start + n + 5 + extra, 1, Level::L1);
    }
    rig.bench.expect_nothing(&rig.below.clone(), 20);
    assert_eq!((rig.count("misses"), rig.count("victim_hits")), (3, 3));
}

#[test]
fn a_write_drops_the_line_from_the_victim_cache_too() {
    for write in [WritePolicy::WriteEvict, WritePolicy::WriteThrough] {
        let mut rig = with_victims(write);
        for line in [0, 256, 512] {
            rig.warm(line);
        }
        let start = rig.bench.cycle() + 2;
        rig.write_at(start, 1, 0, 1);
        let write = rig.below_at(start + 2, RequestKind::Write, 0, 1);
        rig.answer_at(start + 10, &write);
        rig.above_at(start + 13, 1, Level::DRAM);
        rig.read_at(start + 20, 2, 0);
        rig.below_at(start + 22, RequestKind::Read, 0, ALL);
    }
}

#[test]
fn a_write_that_goes_through_updates_the_line_and_later_reads_wait_for_it() {
    let mut rig = Rig::new(CacheSpec {
        write: WritePolicy::WriteThrough,
        ..l1()
    });
    let start = rig.warm(0);
    rig.write_at(start, 1, 0, 1);
    rig.read_at(start + 1, 2, 0);
    let write = rig.below_at(start + 2, RequestKind::Write, 0, 1);
    rig.answer_at(start + 20, &write);
    rig.above_at(start + 23, 1, Level::DRAM);
    rig.above_at(start + 24, 2, Level::L1);
    rig.read_at(start + 40, 3, 0);
    rig.above_at(start + 45, 3, Level::L1);
    // A miss allocates nothing.
    rig.write_at(start + 60, 4, 128, 1);
    let write = rig.below_at(start + 62, RequestKind::Write, 128, 1);
    rig.answer_at(start + 70, &write);
    rig.above_at(start + 73, 4, Level::DRAM);
    rig.read_at(start + 80, 5, 128);
    rig.below_at(start + 82, RequestKind::Read, 128, ALL);
    assert_eq!(
        (rig.count("copy_backs"), rig.count("write_evictions")),
        (0, 0)
    );
}

#[test]
fn a_write_through_cache_may_bring_in_the_lines_it_writes() {
    let mut rig = Rig::new(CacheSpec {
        write: WritePolicy::WriteThrough,
        write_allocate: Some(true),
        ..l1()
    });
    rig.write_at(10, 1, 0, 1);
    let fetch = rig.below_at(12, RequestKind::Read, 0, ALL);
    let write = rig.below_at(13, RequestKind::Write, 0, 1);
    rig.answer_at(20, &fetch);
    rig.answer_at(30, &write);
    rig.above_at(33, 1, Level::DRAM);
    rig.read_at(40, 2, 0);
    rig.above_at(45, 2, Level::L1);
}

#[test]
fn a_write_back_cache_may_leave_absent_lines_to_the_level_below() {
    let mut rig = Rig::new(CacheSpec {
        write: WritePolicy::WriteBack {
            partial: PartialWrite::WordMask,
        },
        write_allocate: Some(false),
        ..l1()
    });
    rig.write_at(10, 1, 0, 1);
    let write = rig.below_at(12, RequestKind::Write, 0, 1);
    rig.answer_at(20, &write);
    rig.above_at(23, 1, Level::DRAM);
    let start = rig.warm(0);
    rig.write_at(start, 2, 0, 1);
    rig.above_at(start + 5, 2, Level::L1);
}

#[test]
fn ccl_m9_a_line_that_two_work_group_slots_read_is_fetched_once_for_each_half() {
    let mut rig = Rig::new(CacheSpec {
        size_bytes: 1024,
        partitions: Some(Partitions {
            count: 2,
            by: PartitionBy::WorkGroupSlots,
        }),
        ..l1()
    });
    for (number, slot) in (0..).zip([0, 1, 2, 3, 4]) {
        let mut request = read(number, 0, 1);
        request.source.work_group_slot = slot;
        rig.request.send_at(10 + 50 * u64::from(number), request);
    }
    for half in 0..2 {
        let fetch = rig.below_at(12 + 50 * half, RequestKind::Read, 0, ALL);
        rig.answer_at(30 + 50 * half, &fetch);
    }
    rig.bench.step(300);
    assert_eq!((rig.count("read_misses"), rig.count("read_hits")), (2, 3));
    assert_eq!(rig.below.take(), None);
}

#[test]
fn parts_keep_lines_of_their_own_and_a_write_drops_them_all() {
    let mut rig = Rig::new(CacheSpec {
        size_bytes: 1024,
        partitions: Some(Partitions {
            count: 2,
            by: PartitionBy::WorkGroup,
        }),
        ..l1()
    });
    let of = |work_group, request: MemRequest| {
        let mut request = request;
        request.source.work_group = work_group;
        request
    };
    for (n, work_group) in [(0, 4), (1, 7)] {
        let at = 10 + 50 * n;
        rig.request.send_at(at, of(work_group, read(1, 0, 1)));
        let fetch = rig.below_at(at + 2, RequestKind::Read, 0, ALL);
        rig.answer_at(at + 10, &fetch);
        rig.above_at(at + 13, 1, Level::DRAM);
    }
    for (at, work_group) in [(110, 5), (120, 6)] {
        rig.request.send_at(at, of(work_group, read(2, 0, 1)));
        rig.above_at(at + 5, 2, Level::L1);
    }
    rig.request.send_at(130, of(6, MemRequest::write(3, 0, 1)));
    let write = rig.below_at(132, RequestKind::Write, 0, 1);
    rig.answer_at(140, &write);
    rig.above_at(143, 3, Level::DRAM);
    assert_eq!(rig.count("write_evictions"), 2);
    for (at, work_group) in [(150, 5), (160, 6)] {
        rig.request.send_at(at, of(work_group, read(4, 0, 1)));
        rig.below_at(at + 2, RequestKind::Read, 0, ALL);
    }
}
