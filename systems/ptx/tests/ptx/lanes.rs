//! Tests of exchange between lanes, votes and barriers.

use crate::harness::{kernel, run, run_module};

#[test]
fn shuffles_move_values_in_all_four_modes() {
    let table: [(&str, fn(u32) -> u32); 6] = [
        ("shfl.sync.up.b32 %r1|%p1, %r0, 3, 0, -1;", |lane| {
            if lane >= 3 { lane - 3 } else { lane }
        }),
        ("shfl.sync.down.b32 %r1|%p1, %r0, 3, 31, -1;", |lane| {
            if lane + 3 <= 31 { lane + 3 } else { lane }
        }),
        ("shfl.sync.bfly.b32 %r1|%p1, %r0, 5, 31, -1;", |lane| {
            lane ^ 5
        }),
        ("shfl.sync.idx.b32 %r1|%p1, %r0, 7, 31, -1;", |_| 7),
        // Segments of eight lanes: mask 0x18 in bits 8 to 12, clamp 31.
        ("shfl.sync.down.b32 %r1|%p1, %r0, 3, 6175, -1;", |lane| {
            if lane % 8 + 3 <= 7 { lane + 3 } else { lane }
        }),
        ("shfl.sync.idx.b32 %r1|%p1, %r0, 2, 6175, -1;", |lane| {
            lane / 8 * 8 + 2
        }),
    ];
    for (instruction, reference) in table {
        let got = run(&format!("{instruction} st.global.u32 [%rd0], %r1;")).words();
        for (lane, got) in (0..).zip(got) {
            assert_eq!(got, reference(lane), "{instruction} lane {lane}");
        }
    }
}

#[test]
fn shuffle_predicates_tell_whether_the_source_was_in_range() {
    let got =
        run("shfl.up.b32 %r1|%p1, %r0, 4, 0; selp.u32 %r1, 1, 0, %p1; st.global.u32 [%rd0], %r1;");
    for (lane, got) in (0..).zip(got.words()) {
        assert_eq!(got, u32::from(lane >= 4), "lane {lane}");
    }
}

#[test]
fn votes_agree_in_both_modifier_orders_and_without_sync() {
    let ballots = [
        "vote.sync.ballot.b32 %r1, %p1, 0xffffffff;",
        "vote.ballot.sync.b32 %r1, %p1, -1;",
        "vote.ballot.b32 %r1, %p1;",
    ];
    for ballot in ballots {
        let got = run(&format!(
            "setp.lt.u32 %p1, %r0, 5; {ballot} st.global.u32 [%rd0], %r1;"
        ));
        assert_eq!(got.words(), [0x1f; 32], "{ballot}");
    }
    let table = [("any", 1, 1), ("all", 0, 1), ("uni", 0, 1)];
    for (mode, some, every) in table {
        for (limit, expected) in [(5, some), (32, every)] {
            let got = run(&format!(
                "setp.lt.u32 %p1, %r0, {limit}; vote.sync.{mode}.pred %p2, %p1, -1;
                 selp.u32 %r1, 1, 0, %p2; st.global.u32 [%rd0], %r1;"
            ));
            assert_eq!(got.words(), [expected; 32], "{mode} of {limit}");
        }
    }
}

#[test]
fn match_finds_lanes_with_the_same_value() {
    let got =
        run("and.b32 %r1, %r0, 3; match.any.sync.b32 %r2, %r1, -1; st.global.u32 [%rd0], %r2;");
    for (lane, got) in got.words().into_iter().enumerate() {
        assert_eq!(got, 0x1111_1111 << (lane % 4));
    }
}

#[test]
fn active_mask_and_lane_masks_follow_the_lane() {
    let got = run(
        "setp.ge.u32 %p1, %r0, 8; @%p1 bra skip; activemask.b32 %r1; bra done;
skip: mov.u32 %r1, %lanemask_lt; done: st.global.u32 [%rd0], %r1;",
    );
    for (lane, got) in got.words().into_iter().enumerate() {
        assert_eq!(
            got,
            if lane < 8 { 0xff } else { (1 << lane) - 1 },
            "lane {lane}"
        );
    }
}

#[test]
fn barriers_make_stores_of_other_wavefronts_visible() {
    let text = kernel(
        ".shared .align 4 .b32 data[128];
    mov.u32 %r1, data; mad.lo.u32 %r2, %r0, 4, %r1;
    st.shared.u32 [%r2], %r0;
    bar.sync 0;
    xor.b32 %r3, %r0, 127; mad.lo.u32 %r4, %r3, 4, %r1;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%rd0], %r5;",
    );
    let got = run_module(&text, 128);
    for thread in 0..128 {
        assert_eq!(got.u32(4 * thread), 127 - thread as u32);
    }
}

#[test]
fn barrier_reductions_count_over_the_work_group() {
    let text = kernel(
        "setp.lt.u32 %p1, %r0, 70;
    bar.red.popc.u32 %r1, 0, %p1;
    barrier.red.and.pred %p2, 1, %p1;
    bar.red.or.pred %p3, 2, %p1;
    selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;
    st.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r0};",
    );
    let got = run_module(&text, 96);
    for thread in 0..96 {
        assert_eq!(
            [
                got.u32(4 * thread),
                got.u32(4 * thread + 1),
                got.u32(4 * thread + 2)
            ],
            [70, 0, 1]
        );
    }
}

#[test]
fn wavefronts_that_have_ended_are_not_waited_for() {
    let text = kernel(
        "setp.ge.u32 %p1, %r0, 64; @%p1 exit;
    bar.sync 0;
    st.global.u32 [%rd0], 1;",
    );
    let got = run_module(&text, 128);
    assert_eq!((got.u32(0), got.u32(4 * 63), got.u32(4 * 64)), (1, 1, 0));
}

#[test]
fn producers_arrive_and_consumers_wait() {
    let text = kernel(
        ".shared .b32 flag;
    setp.lt.u32 %p1, %r0, 32; @%p1 bra consumer;
    st.shared.u32 [flag], 9;
    bar.arrive 3, 64; exit;
consumer:
    bar.sync 3, 64;
    ld.shared.u32 %r1, [flag];
    st.global.u32 [%rd0], %r1;",
    );
    assert_eq!(run_module(&text, 64).words(), [9; 32]);
}
