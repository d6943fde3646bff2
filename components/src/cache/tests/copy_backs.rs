//! Exact cycles of the copy-back buffer.

use super::*;

/// Cache with 1 set of 4 ways that allocates on fill.
fn on_fill(copy_back_entries: Option<u32>) -> CacheSpec {
    CacheSpec {
        ways: 4,
        allocate: AllocatePolicy::OnFill,
        copy_back_entries,
        ..l2(PartialWrite::WordMask)
    }
}

/// Runs four dirty lines and two reads that displace two of them. Returns the cycles of the
/// responses and of the copy-backs.
fn displaced(copy_back_entries: Option<u32>) -> (Rig, Vec<Cycle>, Vec<Cycle>) {
    let mut rig = Rig::new(on_fill(copy_back_entries));
    for line in 0..4 {
        rig.write_at(10 + line, line as u32, line * 128, 1);
    }
    rig.read_at(20, 4, 512);
    rig.read_at(21, 5, 640);
    let first = rig.below_at(22, RequestKind::Read, 512, ALL);
    let second = rig.below_at(23, RequestKind::Read, 640, ALL);
    rig.response.take_all();
    rig.answer_at(50, &first);
    rig.answer_at(51, &second);
    rig.bench.step(60);
    let answers = rig.response.take_all().iter().map(|(at, _)| *at).collect();
    let copy_backs = rig.below.take_all();
    assert!(
        copy_backs
            .iter()
            .all(|(_, r)| r.kind == RequestKind::CopyBack)
    );
    let copy_backs = copy_backs.iter().map(|(at, _)| *at).collect();
    (rig, answers, copy_backs)
}

#[test]
fn inc_m2_a_fill_waits_until_the_buffer_has_room_and_goes_on() {
    let (_, answers, copy_backs) = displaced(None);
    assert_eq!((answers, copy_backs), (vec![53, 54], vec![52, 53]));
    let (mut rig, answers, copy_backs) = displaced(Some(2));
    assert_eq!((answers, copy_backs), (vec![53, 54], vec![52, 53]));
    assert_eq!(rig.count("fill_stall_cycles"), 0);
    // The only entry is taken from 50 until its line leaves in 52.
    let (mut rig, answers, copy_backs) = displaced(Some(1));
    assert_eq!((answers, copy_backs), (vec![53, 56], vec![52, 55]));
    assert_eq!(rig.count("fill_stall_cycles"), 2);
}

#[test]
fn a_miss_that_displaces_a_dirty_line_is_blocked_while_the_buffer_is_full() {
    let spec = CacheSpec {
        copy_back_entries: Some(1),
        miss_latency_cycles: 6,
        ..l2(PartialWrite::WordMask)
    };
    let mut rig = Rig::new(spec);
    rig.write_at(10, 0, 0, 1);
    rig.write_at(11, 1, 256, 1);
    rig.read_at(20, 2, 512);
    rig.read_at(21, 3, 768);
    rig.below_at(26, RequestKind::CopyBack, 0, 1);
    rig.below_at(27, RequestKind::Read, 512, ALL);
    rig.below_at(33, RequestKind::CopyBack, 256, 1);
    rig.below_at(34, RequestKind::Read, 768, ALL);
    assert_eq!(rig.count("blocked_copy_backs_full"), 27 - 21);
}
