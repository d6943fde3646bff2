//! Tests of races in memory and of barriers.

use warpweave_ptx::FindingKind::{GlobalRace, LocalRace, PartialBarrier};
use warpweave_ptx::Verdict::{Error, Note};

use super::{ONE, Shape, TWO_GROUPS, TWO_WAVEFRONTS, clean, examine, found_in, neighbours, only};
use crate::harness::kernel;

#[test]
fn threads_that_meet_in_local_memory_without_a_barrier_race() {
    let found = found_in(&neighbours(32, ""), TWO_WAVEFRONTS);
    let race = found.iter().find(|f| f.kind == LocalRace).expect("a race");
    assert_eq!(
        (race.verdict, race.spot.opcode.as_str()),
        (Error, "ld.shared.u32")
    );
    let other = race.other.as_ref().expect("both accesses are shown");
    assert_eq!(other.opcode, "st.shared.u32");
    assert_eq!(race.spot.thread[0].abs_diff(other.thread[0]), 32);
    assert_eq!(race.buffer.as_deref(), Some("pool"));
    clean(&neighbours(32, "bar.sync 0;"), TWO_WAVEFRONTS);
}

#[test]
fn lanes_of_a_wavefront_race_unless_they_meet() {
    let found = only(LocalRace, Error, &neighbours(1, ""), ONE);
    assert_eq!(found.count, 32);
    clean(&neighbours(1, "bar.warp.sync 0xffffffff;"), ONE);
    // That orders the lanes of one wavefront only.
    let found = found_in(&neighbours(32, "bar.warp.sync 0xffffffff;"), TWO_WAVEFRONTS);
    assert!(
        found.iter().any(|finding| finding.kind == LocalRace),
        "{found:#?}"
    );
}

#[test]
fn a_barrier_of_some_wavefronts_orders_only_those() {
    let shape = Shape {
        grid: 1,
        threads: 96,
    };
    let body = |number: &str| {
        neighbours(32, &format!("bar.sync 0; st.shared.u32 [%r2], 9; {number}"))
            .replace("pool[64]", "pool[96]")
    };
    clean(&body("bar.sync 1, 96;"), shape);
    // The third wavefront conflicts with no other wavefront.
    let found = found_in(
        &body(
            "setp.lt.u32 %p1, %r0, 64; @%p1 bra pair; bar.sync 2, 32; bra on; pair: bar.sync 1, 64; on:",
        ),
        shape,
    );
    assert!(
        found.iter().all(|f| f.kind == LocalRace) && !found.is_empty(),
        "{found:#?}"
    );
}

#[test]
fn atomics_meet_atomics_without_a_race_but_not_plain_accesses() {
    let body = |last: &str| {
        format!(
            ".shared .b32 sum; setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.u32 [sum], 0; bar.sync 0;
             red.shared.add.u32 [sum], 1; {last}"
        )
    };
    clean(
        &body("atom.shared.max.u32 %r1, [sum], 3; st.global.u32 [%rd0], %r1;"),
        TWO_WAVEFRONTS,
    );
    clean(
        &body("bar.sync 0; ld.shared.u32 %r1, [sum]; st.global.u32 [%rd0], %r1;"),
        TWO_WAVEFRONTS,
    );
    let found = found_in(
        &body("ld.shared.u32 %r1, [sum]; st.global.u32 [%rd0], %r1;"),
        TWO_WAVEFRONTS,
    );
    assert!(
        found
            .iter()
            .any(|f| (f.kind, f.verdict) == (LocalRace, Error)),
        "{found:#?}"
    );
}

#[test]
fn writes_of_one_value_by_several_threads_are_a_note() {
    let body = |value: &str| format!(".shared .b32 flag; st.shared.u32 [flag], {value};");
    only(LocalRace, Note, &body("1"), ONE);
    only(LocalRace, Error, &body("%r0"), ONE);
}

#[test]
fn work_groups_that_meet_in_global_memory_race() {
    let body = |instruction: &str| {
        format!(
            "ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r0, 0;
             @%p1 {instruction};"
        )
    };
    let race = only(
        GlobalRace,
        Error,
        &body("st.global.u32 [%rd1], %r1"),
        TWO_GROUPS,
    );
    let other = race.other.as_ref().expect("both accesses are shown");
    assert_eq!((race.spot.work_group[0], other.work_group[0]), (1, 0));
    only(
        GlobalRace,
        Note,
        &body("st.global.u32 [%rd1], 5"),
        TWO_GROUPS,
    );
    clean(&body("st.volatile.global.u32 [%rd1], %r1"), TWO_GROUPS);
}

#[test]
fn threads_of_a_work_group_that_meet_in_global_memory_race() {
    // Each thread writes a word of `out` and reads that of another thread.
    let body = |distance: u32, store: &str, between: &str, load: &str| {
        format!(
            "ld.param.u64 %rd1, [out]; mad.wide.u32 %rd2, %r0, 4, %rd1; {store} [%rd2], %r0;
             {between} mov.u32 %r5, %ntid.x; add.u32 %r3, %r0, {distance}; rem.u32 %r3, %r3, %r5;
             mad.wide.u32 %rd3, %r3, 4, %rd1; {load} %r4, [%rd3];"
        )
    };
    let (store, load) = ("st.global.u32", "ld.global.u32");
    let race = |body: &str, shape| {
        let found = found_in(body, shape);
        let race = found.iter().find(|f| f.kind == GlobalRace).expect(body);
        assert!(
            race.detail.contains("another thread of the work-group"),
            "{}",
            race.detail
        );
        assert_eq!((race.verdict, race.buffer.as_deref()), (Error, Some("out")));
        assert!(race.other.is_some());
    };
    race(&body(32, store, "", load), TWO_WAVEFRONTS);
    race(&body(1, store, "", load), ONE);
    race(&body(32, store, "membar.gl;", load), TWO_WAVEFRONTS);
    race(&body(32, store, "bar.warp.sync -1;", load), TWO_WAVEFRONTS);
    race(
        &body(32, store, "", "ld.volatile.global.u32"),
        TWO_WAVEFRONTS,
    );
    race(&body(32, "red.global.add.u32", "", load), TWO_WAVEFRONTS);
    for between in ["bar.sync 0;", "barrier.cta.sync 3;", "bar.sync 1, 64;"] {
        clean(&body(32, store, between, load), TWO_WAVEFRONTS);
    }
    clean(&body(1, store, "bar.warp.sync -1;", load), ONE);
    clean(&body(0, store, "", load), TWO_WAVEFRONTS);
    clean(
        &body(32, "st.volatile.global.u32", "", "ld.volatile.global.u32"),
        TWO_WAVEFRONTS,
    );
    clean(
        &body(
            32,
            "st.relaxed.cta.global.u32",
            "",
            "ld.relaxed.cta.global.u32",
        ),
        TWO_WAVEFRONTS,
    );
    // Bytes of one word are apart.
    clean(
        "ld.param.u64 %rd1, [out]; cvt.u64.u32 %rd2, %r0; add.u64 %rd1, %rd1, %rd2;
         st.global.u8 [%rd1], %r0; ld.global.u8 %r1, [%rd1];",
        ONE,
    );
    only(
        GlobalRace,
        Note,
        "ld.param.u64 %rd1, [out]; st.global.u32 [%rd1], 1;",
        TWO_WAVEFRONTS,
    );
}

#[test]
fn a_flag_behind_a_fence_orders_threads_of_a_work_group() {
    // The second wavefront writes and raises a flag; the first waits for it and reads.
    let body = |fence: &str| {
        format!(
            "ld.param.u64 %rd2, [out]; setp.eq.u32 %p1, %r0, 32; setp.eq.u32 %p3, %r0, 0;
             @%p3 st.volatile.global.u32 [%rd2+64], 0; bar.sync 0;
             @%p1 bra give; @%p3 bra wait; bra done;
             give: st.global.u32 [%rd2], 42; {fence} st.volatile.global.u32 [%rd2+64], 2; bra done;
             wait: ld.volatile.global.u32 %r2, [%rd2+64]; setp.ne.u32 %p2, %r2, 2; @%p2 bra wait;
             ld.global.u32 %r3, [%rd2];
             done:"
        )
    };
    for fence in ["membar.gl;", "membar.cta;", "fence.acq_rel.gpu;"] {
        clean(&body(fence), TWO_WAVEFRONTS);
    }
    only(GlobalRace, Error, &body(""), TWO_WAVEFRONTS);
}

#[test]
fn a_fence_and_a_flag_order_work_groups() {
    // Group 0 writes and raises a flag; group 1 waits for it and reads.
    let body = |fence: &str| {
        format!(
            "ld.param.u64 %rd1, [input]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %ctaid.x;
             setp.ne.u32 %p1, %r1, 0; @%p1 bra wait;
             st.global.u32 [%rd2], 42; {fence} st.volatile.global.u32 [%rd1], 2; bra done;
             wait: ld.volatile.global.u32 %r2, [%rd1]; setp.ne.u32 %p2, %r2, 2; @%p2 bra wait;
             ld.global.u32 %r3, [%rd2]; st.global.u32 [%rd2+512], %r3;
             done:"
        )
    };
    let one = |fence| {
        let text =
            kernel(&body(fence)).replace(".param .u64 out)", ".param .u64 out, .param .u64 input)");
        examine(
            &text,
            Shape {
                grid: 2,
                threads: 1,
            },
        )
        .0
    };
    let found = one("");
    assert!(
        found
            .iter()
            .any(|f| (f.kind, f.verdict) == (GlobalRace, Error)),
        "{found:#?}"
    );
    let found = one("membar.gl;");
    assert!(found.iter().all(|f| f.kind != GlobalRace), "{found:#?}");
    let found = one("membar.cta;");
    assert!(found.iter().any(|f| f.kind == GlobalRace), "{found:#?}");
}

#[test]
fn a_barrier_reached_by_some_lanes_is_found_with_a_thread_that_is_missing() {
    let found = only(
        PartialBarrier,
        Error,
        "setp.lt.u32 %p1, %r0, 8; @!%p1 bra on; bar.sync 0; on: st.global.u32 [%rd0], %r0;",
        ONE,
    );
    assert_eq!(
        (found.spot.thread, found.spot.opcode.as_str()),
        ([8, 0, 0], "bar.sync")
    );
    clean("bar.sync 0; st.global.u32 [%rd0], %r0;", ONE);
}

#[test]
fn threads_that_have_ended_count_as_arrived_at_every_barrier() {
    for barrier in [
        "bar.sync 0;",
        "barrier.cta.sync.aligned 3;",
        "bar.red.popc.u32 %r1, 1, %p2;",
        "bar.red.or.pred %p3, 2, %p2;",
    ] {
        // The last lanes of a wavefront, a whole one, and lanes that branch to the end.
        for way in [
            "setp.ge.u32 %p1, %r0, 40; @%p1 exit;",
            "setp.ge.u32 %p1, %r0, 32; @%p1 ret;",
            "setp.ge.u32 %p1, %r0, 40; @%p1 bra end;",
            "setp.lt.u32 %p1, %r0, 40; @!%p1 bra end;",
        ] {
            let body = format!(
                "setp.eq.u32 %p2, %r0, 1; {way} st.global.u32 [%rd0], 1; {barrier}
                 st.global.u32 [%rd0+4], 1; {barrier} end:"
            );
            clean(&body, TWO_WAVEFRONTS);
        }
    }
    // Producers arrive and end.
    clean(
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra consumer; bar.arrive 3, 64; exit;
         consumer: bar.sync 3, 64; st.global.u32 [%rd0], 1;",
        TWO_WAVEFRONTS,
    );
}

#[test]
fn lanes_that_do_something_else_before_they_end_have_missed_the_barrier() {
    let found = only(
        PartialBarrier,
        Error,
        "setp.lt.u32 %p1, %r0, 8; @%p1 bra first; bar.sync 0; bra end;
         first: st.global.u32 [%rd0], %r0; bar.sync 1; end:",
        ONE,
    );
    assert!(
        found.detail.contains("threads of wavefront 0"),
        "{}",
        found.detail
    );
}

#[test]
fn a_barrier_that_never_opens_is_found_and_ends_the_launch() {
    let text = kernel(
        "setp.lt.u32 %p1, %r0, 32; @%p1 bra other; bar.sync 1; bra end; other: bar.sync 2; end:",
    );
    let (found, failed) = examine(&text, TWO_WAVEFRONTS);
    assert!(failed.is_some_and(|text| text.contains("stuck at barriers")));
    assert_eq!(
        found.iter().filter(|f| f.kind == PartialBarrier).count(),
        2,
        "{found:#?}"
    );
}
