//! Tests of values that were never written: they matter where something depends on them.

use warpweave_ptx::FindingKind::{UninitialisedMemory, UninitialisedRegister};
use warpweave_ptx::Verdict::Error;

use super::{ONE, TWO_WAVEFRONTS, clean, examine, only};
use crate::harness::kernel;

/// Sets `%r1` to 7 in lane 0 only.
const FIRST_LANE: &str = "setp.eq.u32 %p1, %r0, 0; @%p1 mov.u32 %r1, 7;";

fn with_first_lane(rest: &str) -> String {
    format!("{FIRST_LANE} {rest}")
}

#[test]
fn a_shuffle_reads_only_the_lanes_from_which_it_takes() {
    for mode in ["idx.b32 %r2, %r1, 0, 31", "idx.b32 %r2|%p2, %r1, 0, 31"] {
        clean(
            &with_first_lane(&format!("shfl.sync.{mode}, -1; st.global.u32 [%rd0], %r2;")),
            ONE,
        );
    }
    // Lane 1 takes from lane 5, which has nothing; the other lanes take from lane 0.
    let from = "setp.eq.u32 %p3, %r0, 1; selp.u32 %r3, 5, 0, %p3;
                shfl.sync.idx.b32 %r2, %r1, %r3, 31, -1;";
    let found = only(
        UninitialisedRegister,
        Error,
        &with_first_lane(&format!("{from} st.global.u32 [%rd0], %r2;")),
        ONE,
    );
    assert_eq!((found.spot.thread, found.count), ([5, 0, 0], 1));
    assert_eq!(found.spot.opcode, "shfl.sync.idx.b32");
    assert!(found.detail.contains("`%r1`"), "{}", found.detail);
    // Lane 1 does nothing with it.
    clean(
        &with_first_lane(&format!("{from} @!%p3 st.global.u32 [%rd0], %r2;")),
        ONE,
    );
}

#[test]
fn steps_of_a_reduction_over_lanes_outside_the_data_are_no_use() {
    // The upper half has no value; only lane 0 stores the sum of the lower half.
    let body = "setp.lt.u32 %p1, %r0, 16; @%p1 mov.u32 %r1, %r0;
        shfl.sync.down.b32 %r2, %r1, 8, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2, %r1, 4, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2, %r1, 2, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2, %r1, 1, 31, -1; add.u32 %r1, %r1, %r2;
        setp.eq.u32 %p2, %r0, 0; @%p2 st.global.u32 [%rd0], %r1;";
    clean(body, ONE);
    let all = body.replace("@%p2 st", "st");
    let found = only_kind(&all);
    assert_eq!(found, [UninitialisedRegister]);
}

/// Returns the kinds found in a body, each once.
fn only_kind(body: &str) -> Vec<warpweave_ptx::FindingKind> {
    let mut kinds: Vec<_> = super::found_in(body, ONE).iter().map(|f| f.kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn arithmetic_on_an_unset_register_is_no_mistake_while_nothing_depends_on_it() {
    for quiet in [
        "add.u32 %r2, %r1, 1; mul.lo.u32 %r3, %r2, %r2;",
        "add.u32 %r2, %r1, 1; selp.u32 %r3, %r2, 4, %p1; @%p1 st.global.u32 [%rd0], %r3;",
        "add.u32 %r2, %r1, 1; @!%p1 mov.u32 %r2, 4; st.global.u32 [%rd0], %r2;",
        "setp.gt.u32 %p2, %r1, 3; and.pred %p3, %p1, %p2; @%p3 st.global.u32 [%rd0], 1;",
        "setp.gt.and.u32 %p3, %r1, 3, %p1; @%p3 st.global.u32 [%rd0], 1;",
        "cvt.u64.u32 %rd1, %r1; mov.b64 {%r2, %r3}, %rd1; st.global.u32 [%rd0], %r3;",
    ] {
        clean(&with_first_lane(quiet), ONE);
    }
    for (loud, opcode) in [
        ("add.u32 %r2, %r1, 1; st.global.u32 [%rd0], %r2;", "add.u32"),
        ("shl.b32 %r2, %r1, 2; st.global.u32 [%rd0], %r2;", "shl.b32"),
        ("setp.eq.u32 %p2, %r1, 3; @%p2 bra on; on:", "setp.eq.u32"),
        (
            "cvt.u64.u32 %rd1, %r1; and.b64 %rd1, %rd1, 12; add.u64 %rd1, %rd0, %rd1;
             st.global.u32 [%rd1], 1;",
            "cvt.u64.u32",
        ),
        ("red.global.add.u32 [%rd0], %r1;", "red.global.add.u32"),
        (
            "selp.u32 %r2, 1, %r1, %p1; st.global.u32 [%rd0], %r2;",
            "st.global.u32",
        ),
    ] {
        let loud = format!("st.global.u32 [%rd0], 0; {loud}");
        let found = only(UninitialisedRegister, Error, &with_first_lane(&loud), ONE);
        assert_eq!(
            (found.spot.opcode.as_str(), found.count),
            (opcode, 31),
            "{loud}"
        );
        assert!(found.detail.contains("register `%r"), "{}", found.detail);
    }
}

#[test]
fn bits_that_a_mask_clears_do_not_depend_on_an_unset_register() {
    for quiet in [
        "and.b32 %r2, %r1, 0;",
        "or.b32 %r2, %r1, -1;",
        "mul.lo.u32 %r2, %r1, 0;",
        "xor.b32 %r2, %r1, %r1;",
        "sub.u32 %r2, %r1, %r1;",
        "bfi.b32 %r2, %r0, %r1, 0, 32;",
        "bfe.u32 %r2, %r1, 4, 0;",
        "prmt.b32 %r2, %r1, %r0, 0x7654;",
        "lop3.b32 %r2, %r1, %r0, 9, 0x88;",
        "lop3.b32 %r2, %r0, 5, %r1, 0xc0;",
        "shr.u32 %r2, %r1, 32;",
        "min.u32 %r2, %r1, 0;",
        "mov.b32 %r2, {%rs1, %rs2}; and.b32 %r2, %r2, 0;",
    ] {
        clean(&format!("{quiet} st.global.u32 [%rd0], %r2;"), ONE);
    }
    for loud in [
        "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; @%p1 bra on; on:",
        "bfi.b32 %r2, %r0, %r1, 0, 8; mul.lo.u32 %r2, %r2, 3;",
        "prmt.b32 %r2, %r1, %r0, 0x7653; add.u32 %r2, %r2, 1;",
        "lop3.b32 %r2, %r1, %r0, 9, 0x96; add.u32 %r2, %r2, 1;",
    ] {
        only(
            UninitialisedRegister,
            Error,
            &format!("mov.u32 %r2, 0; {loud} st.global.u32 [%rd0], %r2;"),
            ONE,
        );
    }
}

#[test]
fn an_unset_half_travels_in_its_packed_register() {
    let pack = "mov.u16 %rs1, 3; mov.b32 %r1, {%rs1, %rs2};";
    clean(&format!("{pack} st.global.u32 [%rd0], %r1;"), ONE);
    clean(
        &format!("{pack} mov.b32 {{%rs3, %rs4}}, %r1; st.global.u16 [%rd0], %rs3;"),
        ONE,
    );
    only(
        UninitialisedRegister,
        Error,
        &format!("{pack} mov.b32 {{%rs3, %rs4}}, %r1; st.global.u16 [%rd0], %rs4;"),
        ONE,
    );
    clean(
        "mov.f32 %f1, 0f3f800000; st.global.v4.f32 [%rd0], {%f1, %f1, %f1, %f2};",
        ONE,
    );
}

#[test]
fn votes_matches_and_reductions_count_the_lanes_that_take_part() {
    for quiet in [
        "@%p1 redux.sync.add.u32 %r2, %r1, 1; @%p1 st.global.u32 [%rd0], %r2;",
        "@%p1 match.any.sync.b32 %r2, %r1, 1; @%p1 st.global.u32 [%rd0], %r2;",
        "setp.gt.u32 %p2, %r1, 3; vote.sync.ballot.b32 %r2, %p2, -1; and.b32 %r2, %r2, 1;
         st.global.u32 [%rd0], %r2;",
        "setp.eq.u32 %p2, %r1, 7; vote.sync.any.pred %p3, %p2, -1; selp.u32 %r2, 1, 0, %p3;
         st.global.u32 [%rd0], %r2;",
        "@%p1 setp.eq.u32 %p2, %r1, 7; @%p1 vote.sync.all.pred %p3, %p2, 1;
         @%p1 selp.u32 %r2, 1, 0, %p3; @%p1 st.global.u32 [%rd0], %r2;",
    ] {
        clean(&with_first_lane(quiet), ONE);
    }
    for loud in [
        "redux.sync.add.u32 %r2, %r1, -1;",
        "match.any.sync.b32 %r2, %r1, -1;",
        "setp.gt.u32 %p2, %r1, 3; vote.sync.ballot.b32 %r2, %p2, -1;",
        "setp.eq.u32 %p2, %r1, 7; vote.sync.all.pred %p3, %p2, -1; selp.u32 %r2, 1, 0, %p3;",
    ] {
        let body = with_first_lane(&format!("{loud} st.global.u32 [%rd0], %r2;"));
        let found = super::found_in(&body, ONE);
        assert!(
            !found.is_empty() && found.iter().all(|f| f.kind == UninitialisedRegister),
            "{loud}: {found:#?}"
        );
    }
}

#[test]
fn copies_in_a_loop_and_calls_carry_what_is_unset() {
    let text = |used: &str| {
        format!(
            ".func (.reg .b32 %back) same(.reg .b32 %give) {{ mov.u32 %back, %give; ret; }}
             {}",
            kernel(&format!(
                "mov.u32 %r5, 3;
                 again: mov.u32 %r2, %r1; mov.u32 %r3, %r2; call (%r4), same, (%r3);
                 mov.u32 %r1, %r4; sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra again;
                 st.global.u32 [%rd0], {used};"
            ))
        )
    };
    let (found, failed) = examine(&text("%r5"), ONE);
    assert!(found.is_empty() && failed.is_none(), "{found:#?}");
    let (found, _) = examine(&text("%r4"), ONE);
    assert_eq!((found.len(), found[0].count), (1, 32), "{found:#?}");
}

#[test]
fn padding_that_a_wide_access_copies_is_no_mistake() {
    for quiet in [
        // A structure of 8, 4 and 4 bytes of padding.
        ".local .align 8 .b8 mine[16]; st.local.u64 [mine], 1; st.local.u32 [mine+8], 2;
         ld.local.v2.u64 {%rd1, %rd2}, [mine]; st.global.v2.u64 [%rd0], {%rd1, %rd2};",
        ".local .align 8 .b8 mine[16]; st.local.u64 [mine], 1; st.local.u32 [mine+8], 2;
         ld.local.u64 %rd2, [mine+8]; st.global.u64 [%rd0], %rd2;",
        // Its bytes one after another.
        ".local .align 4 .b8 mine[4]; st.local.u16 [mine], 2;
         ld.local.u8 %rs1, [mine+2]; st.global.u8 [%rd0+2], %rs1;",
        // By way of local memory.
        ".shared .align 4 .b8 pool[4096]; mov.u32 %r1, pool; mad.lo.u32 %r1, %r0, 8, %r1;
         st.shared.u32 [%r1], %r0; ld.shared.u64 %rd1, [%r1]; st.global.u64 [%rd0], %rd1;",
        // A halo that is read but not chosen.
        ".local .align 4 .b8 mine[8]; st.local.u32 [mine], 2; setp.lt.u32 %p1, %r0, 99;
         ld.local.u32 %r1, [mine+4]; selp.u32 %r2, %r0, %r1, %p1; st.global.u32 [%rd0], %r2;",
        // A bit field in a word that was never written as a whole.
        ".local .align 4 .b8 mine[4]; ld.local.u32 %r1, [mine]; and.b32 %r1, %r1, -8;
         or.b32 %r1, %r1, 5; st.local.u32 [mine], %r1; ld.local.u32 %r2, [mine];
         and.b32 %r2, %r2, 7; st.global.u32 [%rd0], %r2;",
    ] {
        clean(quiet, ONE);
    }
    let found = only(
        UninitialisedMemory,
        Error,
        ".local .align 8 .b8 mine[16]; st.local.u64 [mine], 1; st.local.u32 [mine+8], 2;
         ld.local.u64 %rd2, [mine+8]; st.local.u64 [mine], %rd2; ld.local.u32 %r1, [mine+4];
         add.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1;",
        ONE,
    );
    assert_eq!((found.address, found.count), (Some(8), 32));
    assert!(found.detail.contains("4 of 8 bytes"), "{}", found.detail);
}

#[test]
fn an_unset_register_kept_in_memory_is_found_where_it_is_stored() {
    let body = |used: &str| {
        format!(
            ".shared .b32 pool[64]; mov.u32 %r2, pool; mad.lo.u32 %r2, %r0, 4, %r2;
             st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r3, [%r2];
             st.global.u32 [%rd0], {used};"
        )
    };
    clean(&body("%r0"), TWO_WAVEFRONTS);
    let found = only(UninitialisedRegister, Error, &body("%r3"), TWO_WAVEFRONTS);
    assert_eq!(
        (found.spot.opcode.as_str(), found.count),
        ("st.shared.u32", 64)
    );
}
