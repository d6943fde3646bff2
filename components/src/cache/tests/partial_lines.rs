//! Tests of partly present lines with other parts in flight: order and freshness of responses.

use super::*;

/// Second level over lines of half the length: each miss causes two downstream reads.
fn over_halves(partial: PartialWrite) -> CacheSpec {
    CacheSpec {
        level: CacheLevel::L2,
        below_line_bytes: Some(64),
        write: WritePolicy::WriteBack { partial },
        atomics: AtomicPolicy::Execute { latency_cycles: 20 },
        ..l1()
    }
}

const LOW: u32 = 0xffff;
const HIGH: u32 = 0xffff_0000;

impl Rig {
    /// Reads line 0. Its lower half arrives and answers the read; the request for the other half is
    /// returned.
    fn lower_half(&mut self) -> MemRequest {
        self.read_at(10, 1, 0);
        let low = self.below_at(12, RequestKind::Read, 0, LOW);
        let high = self.below_at(13, RequestKind::Read, 64, LOW);
        self.answer_at(20, &low);
        self.above_at(23, 1, Level::DRAM);
        high
    }

    fn answer_with(&self, cycle: Cycle, request: &MemRequest, level: Level, write_sequence: u32) {
        let answer = MemResponse {
            write_sequence,
            ..request.answer(level)
        };
        self.answer.send_at(cycle, answer);
    }

    fn write_with(&self, cycle: Cycle, id: u32, write_sequence: u32) {
        let write = MemRequest {
            write_sequence,
            ..MemRequest::write(id, 0, 1)
        };
        self.request.send_at(cycle, write);
    }
}

#[test]
fn a_write_that_joins_a_line_does_not_overtake_an_atomic_that_hit_it() {
    let mut rig = Rig::new(over_halves(PartialWrite::Fetch));
    rig.lower_half();
    rig.atomic_at(30, 2, 0);
    // It does not cover its line, whose upper half is under way, but needs nothing of it.
    rig.write_at(31, 3, 0, 1);
    rig.above_at(30 + 5 + 20, 2, Level::L2);
    rig.above_at(56, 3, Level::L2);
}

#[test]
fn a_fill_is_not_answered_before_an_atomic_that_hit_its_line() {
    let mut rig = Rig::new(over_halves(PartialWrite::Fetch));
    let high = rig.lower_half();
    rig.atomic_at(30, 2, 0);
    rig.request.send_at(31, MemRequest::read(3, 0, HIGH));
    rig.answer_at(40, &high);
    rig.above_at(30 + 5 + 20, 2, Level::L2);
    rig.above_at(56, 3, Level::DRAM);
}

#[test]
fn a_read_of_the_rest_of_a_line_is_as_fresh_as_a_write_that_hit_it_before() {
    let mut rig = Rig::new(over_halves(PartialWrite::WordMask));
    let high = rig.lower_half();
    rig.write_with(30, 2, 7);
    rig.above_at(35, 2, Level::L2);
    rig.request.send_at(40, MemRequest::read(3, 0, HIGH | 1));
    rig.answer_at(50, &high);
    assert_eq!(rig.above_at(53, 3, Level::DRAM).write_sequence, 7);
}

#[test]
fn an_answer_tells_of_no_fill_that_came_after_its_own() {
    let mut rig = Rig::new(CacheSpec {
        sector_bytes: Some(32),
        write: WritePolicy::WriteThrough,
        ..l1()
    });
    rig.read_at(10, 1, 0);
    rig.write_with(11, 2, 7);
    rig.request.send_at(12, MemRequest::read(3, 0, 0x100));
    let first = rig.below_at(12, RequestKind::Read, 0, 0xff);
    let write = rig.below_at(13, RequestKind::Write, 0, 1);
    let second = rig.below_at(14, RequestKind::Read, 0, 0xff00);
    // All three come while the first is not answered.
    rig.answer_with(20, &first, Level::DRAM, 0);
    rig.answer_with(21, &write, Level::L2, 7);
    rig.answer_with(22, &second, Level::L2, 7);
    let sequences = [(23, 1, Level::DRAM), (24, 2, Level::L2), (25, 3, Level::L2)]
        .map(|(cycle, id, level)| rig.above_at(cycle, id, level).write_sequence);
    assert_eq!(sequences, [0, 7, 7]);
}

#[test]
fn a_read_that_joins_late_is_answered_from_the_fill_that_brought_its_words() {
    let mut rig = Rig::new(CacheSpec {
        responses_per_cycle: 2,
        fill_latency_cycles: 8,
        ..over_halves(PartialWrite::Fetch)
    });
    rig.read_at(10, 1, 0);
    let low = rig.below_at(12, RequestKind::Read, 0, LOW);
    let high = rig.below_at(13, RequestKind::Read, 64, LOW);
    rig.answer_with(20, &low, Level::L2, 0);
    rig.answer_with(22, &high, Level::DRAM, 5);
    rig.request.send_at(24, MemRequest::read(2, 0, HIGH));
    assert_eq!(rig.above_at(28, 1, Level::L2).write_sequence, 0);
    assert_eq!(rig.above_at(30, 2, Level::DRAM).write_sequence, 5);
}

#[test]
fn atomics_of_one_part_pass_one_after_the_other_and_requests_for_others_wait_for_them() {
    let mut rig = Rig::new(CacheSpec {
        below_line_bytes: Some(64),
        ..l1()
    });
    rig.atomic_at(10, 1, 0);
    rig.atomic_at(11, 2, 0);
    rig.request.send_at(
        12,
        MemRequest {
            flags: flags::BYPASS_L1,
            ..MemRequest::read(3, 0, ALL)
        },
    );
    let first = rig.below_at(12, RequestKind::Atomic, 0, 1);
    let second = rig.below_at(13, RequestKind::Atomic, 0, 1);
    rig.answer_at(20, &first);
    rig.answer_at(21, &second);
    rig.above_at(23, 1, Level::DRAM);
    rig.above_at(24, 2, Level::DRAM);
    rig.below_at(27, RequestKind::Read, 0, LOW);
    rig.below_at(28, RequestKind::Read, 64, LOW);
    assert_eq!(rig.count("blocked_line_busy"), 25 - 12);
}
