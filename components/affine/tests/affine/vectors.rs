//! Reuse distances of small kernels, computed beforehand by brute force.

use std::fmt::Write as _;

use warpweave_affine::{Cause, Direction};

use crate::harness::{Case, case};

/// Loads the element of `in` whose index is in %r1.
pub(crate) const LOAD: &str =
    "mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %in, %rd1; ld.global.u32 %r9, [%rd1];";

/// Asserts the farthest reuse along x and y, and that the analysis agrees with the emulator.
fn assert_reuse(case: &Case, line_bytes: u32, [x, y]: [u32; 2]) {
    case.assert_exact();
    let found = case.directions(line_bytes, false);
    let distance = |reuse: &Option<warpweave_affine::Reuse>| {
        let Some(reuse) = reuse else { return 0 };
        let witness = reuse.witness.as_deref().expect("a witness");
        for toucher in witness {
            let line = toucher.address.div_euclid(line_bytes.into());
            let last = (toucher.address + 3).div_euclid(line_bytes.into());
            assert!((line..=last).contains(&reuse.line), "{toucher:?}");
        }
        let [from, to] = witness;
        let apart: u32 = (0..3)
            .map(|axis| from.work_group[axis].abs_diff(to.work_group[axis]))
            .sum();
        assert_eq!(apart, reuse.distance);
        reuse.distance
    };
    assert!(found.is_exact);
    assert_eq!([distance(&found.along_x), distance(&found.along_y)], [x, y]);
    let direction = match (x, y) {
        (0, 0) => Direction::RoundRobin,
        _ if y > x => Direction::AlongY,
        _ => Direction::AlongX,
    };
    assert_eq!((found.direction, found.distance), (direction, x.max(y)));
}

#[test]
fn elements_of_one_work_group_are_not_reused_but_lines_may_be() {
    let body = |threads: u32| format!("mad.lo.u32 %r1, %bx, {threads}, %tx; {LOAD}");
    assert_reuse(&case(&body(32), [8, 1, 1], [32, 1, 1], [0; 2]), 128, [0, 0]);
    assert_reuse(&case(&body(16), [8, 1, 1], [16, 1, 1], [0; 2]), 128, [1, 0]);
}

#[test]
fn a_sum_of_neighbouring_blocks_reuses_along_x() {
    let body = format!("mad.lo.u32 %r1, %bx, 32, %tx; {LOAD} add.u32 %r1, %r1, 32; {LOAD}");
    assert_reuse(&case(&body, [8, 1, 1], [32, 1, 1], [0; 2]), 128, [1, 0]);
    let body = format!(
        "mov.u32 %r8, %nctaid.x; mad.lo.u32 %r1, %by, %r8, %bx; mad.lo.u32 %r1, %r1, 256, %tx; {LOAD}
         add.u32 %r1, %by, 1; mad.lo.u32 %r1, %r1, %r8, %bx; shl.b32 %r1, %r1, 8; add.u32 %r1, %r1, %tx; {LOAD}"
    );
    assert_reuse(&case(&body, [4, 16, 1], [256, 1, 1], [0; 2]), 128, [0, 1]);
}

/// Product of matrices of n columns, in work-groups of `tile` × `tile`.
pub(crate) fn product(tile: u32) -> String {
    format!(
        "mad.lo.u32 %r2, %by, {tile}, %ty; mul.lo.u32 %r2, %r2, %n; mad.lo.u32 %r3, %bx, {tile}, %tx;
         mov.u32 %r4, 0; loop:
         add.u32 %r1, %r2, %r4; {LOAD}
         mad.lo.u32 %r1, %r4, %n, %r3; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd2, %out, %rd2; ld.global.u32 %r9, [%rd2];
         add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, %n; @%p1 bra loop;"
    )
}

#[test]
fn a_product_of_matrices_reuses_rows_along_x_and_columns_along_y() {
    let small = product(4);
    assert_reuse(&case(&small, [4, 4, 1], [4, 4, 1], [16, 0]), 16, [3, 3]);
    assert_reuse(&case(&small, [4, 6, 1], [4, 4, 1], [16, 0]), 16, [3, 5]);
    assert_reuse(&case(&small, [6, 4, 1], [4, 4, 1], [24, 0]), 16, [5, 3]);
    let tall = product(16);
    assert_reuse(&case(&tall, [4, 6, 1], [16, 16, 1], [64, 0]), 128, [3, 5]);
}

#[test]
fn a_transposition_reuses_lines_of_what_it_writes_if_stores_count() {
    let body = format!(
        "mad.lo.u32 %r2, %by, 16, %ty; mad.lo.u32 %r3, %bx, 16, %tx; mad.lo.u32 %r1, %r2, 64, %r3; {LOAD}
         mad.lo.u32 %r4, %bx, 16, %tx; shl.b32 %r4, %r4, 6; mad.lo.u32 %r5, %by, 16, %ty; add.u32 %r4, %r4, %r5;
         mul.wide.u32 %rd2, %r4, 4; add.s64 %rd2, %out, %rd2; st.global.u32 [%rd2], %r9;"
    );
    let transposed = case(&body, [4, 4, 1], [16, 16, 1], [0; 2]);
    assert_reuse(&transposed, 128, [1, 0]);
    let with_stores = transposed.directions(128, true);
    let distance = |reuse: Option<warpweave_affine::Reuse>| reuse.map_or(0, |reuse| reuse.distance);
    assert_eq!(with_stores.direction, Direction::AlongX);
    assert_eq!(distance(with_stores.along_x), 1);
    assert_eq!(distance(with_stores.along_y), 1);
}

/// Window of (2r + 1) × (2r + 1) over an image of n × m, whose border is left out.
fn window(radius: i32, [width, height]: [u32; 2]) -> String {
    let mut body = format!(
        "mad.lo.u32 %r2, %bx, {width}, %tx; mad.lo.u32 %r3, %by, {height}, %ty;
         sub.u32 %r4, %n, {radius}; sub.u32 %r5, %m, {radius};
         setp.lt.u32 %p1, %r2, {radius}; @%p1 bra end; setp.ge.u32 %p2, %r2, %r4; @%p2 bra end;
         setp.lt.u32 %p3, %r3, {radius}; @%p3 bra end; setp.ge.u32 %p4, %r3, %r5; @%p4 bra end;\n"
    );
    for dy in -radius..=radius {
        for dx in -radius..=radius {
            let _ = writeln!(
                body,
                "add.s32 %r6, %r3, {dy}; mul.lo.u32 %r6, %r6, %n; add.s32 %r7, %r2, {dx}; add.u32 %r1, %r6, %r7; {LOAD}"
            );
        }
    }
    body + "end:"
}

#[test]
fn windows_reuse_their_borders_and_the_lines_around() {
    let small = window(1, [8, 8]);
    assert_reuse(&case(&small, [4, 4, 1], [8, 8, 1], [32, 32]), 32, [2, 1]);
    assert_reuse(&case(&small, [4, 4, 1], [8, 8, 1], [32, 32]), 128, [3, 1]);
    let wide = window(1, [32, 8]);
    assert_reuse(&case(&wide, [4, 8, 1], [32, 8, 1], [128, 64]), 128, [2, 1]);
    let square = window(2, [16, 16]);
    assert_reuse(
        &case(&square, [8, 8, 1], [16, 16, 1], [128, 128]),
        128,
        [3, 1],
    );
    let maximum = window(1, [16, 16]);
    assert_reuse(
        &case(&maximum, [8, 8, 1], [16, 16, 1], [128, 128]),
        128,
        [3, 1],
    );
}

#[test]
fn rows_of_different_steps_are_compared_row_by_row() {
    let body = format!(
        "add.u32 %r1, %bx, %by; mad.lo.u32 %r1, %r1, 32, %tx; {LOAD}
         shl.b32 %r2, %by, 1; add.u32 %r1, %bx, %r2; mad.lo.u32 %r1, %r1, 32, %tx; {LOAD}"
    );
    assert_reuse(&case(&body, [4, 3, 1], [32, 1, 1], [0; 2]), 128, [2, 1]);
}

#[test]
fn a_guard_leaves_out_the_work_groups_that_do_not_pass_it() {
    let second = "mul.lo.u32 %r1, %bx, 96; add.u32 %r1, %r1, %tx;";
    let first = format!("mad.lo.u32 %r1, %bx, 32, %tx; {LOAD}");
    let guarded = format!("{first} setp.ge.u32 %p1, %bx, 2; @%p1 bra end; {second} {LOAD} end:");
    assert_reuse(&case(&guarded, [8, 1, 1], [32, 1, 1], [0; 2]), 128, [2, 0]);
    let open = format!("{first} {second} {LOAD}");
    assert_reuse(&case(&open, [8, 1, 1], [32, 1, 1], [0; 2]), 128, [4, 0]);
}

#[test]
fn reuse_between_planes_is_no_reuse_along_x_or_y() {
    let index =
        "mad.lo.u32 %r1, %r2, 2, %by; mad.lo.u32 %r1, %r1, 4, %bx; mad.lo.u32 %r1, %r1, 32, %tx;";
    let body = format!("mov.u32 %r2, %bz; {index} {LOAD} add.u32 %r2, %bz, 1; {index} {LOAD}");
    let planes = case(&body, [4, 2, 3], [32, 1, 1], [0; 2]);
    assert_reuse(&planes, 128, [0, 0]);
    let found = planes.directions(128, false);
    assert_eq!(found.direction, Direction::RoundRobin);
    let along_z = found.along_z.expect("reuse by the plane before");
    let [from, to] = along_z.witness.as_deref().expect("a witness");
    assert_eq!(
        (along_z.distance, from.work_group, to.work_group),
        (1, [0; 3], [0, 0, 1])
    );
}

#[test]
fn a_kernel_with_other_addresses_goes_round_robin_and_says_why() {
    let body = format!("mov.u32 %r1, %tx; {LOAD} and.b32 %r1, %r9, 255; {LOAD}");
    let walk = case(&body, [4, 1, 1], [32, 1, 1], [0; 2]);
    walk.assert_agrees();
    let found = walk.directions(128, false);
    assert_eq!(found.causes, [Cause::Loaded { line: 12 }]);
    assert_eq!(found.distance, 3, "the first load is the same in all");
}

#[test]
fn a_comparison_joined_with_a_predicate_guards_exactly() {
    let body = format!(
        "setp.lt.u32 %p1, %tx, %ty; setp.gt.or.s32 %p1, %tx, 5, %p1; @%p1 bra end;
         mad.lo.u32 %r1, %bx, 32, %tx; {LOAD} end:"
    );
    case(&body, [2, 1, 1], [8, 2, 1], [0; 2]).assert_exact();
    let body = format!(
        "mov.u32 %r2, 0; loop: setp.lt.u32 %p1, %tx, %ty; setp.gt.or.s32 %p1, %tx, 0, %p1; @%p1 bra end;
         mad.lo.u32 %r1, %bx, 32, %tx; {LOAD} end: add.u32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, 3; @%p1 bra loop;"
    );
    case(&body, [2, 1, 1], [8, 2, 1], [0; 2]).assert_exact();
    case(&body, [2, 1, 1], [8, 1, 1], [0; 2]).assert_exact();
}

#[test]
fn threads_that_end_early_access_nothing_afterwards() {
    let body = format!(
        "setp.ge.u32 %p1, %tx, 5; @%p1 ret; setp.eq.u32 %p2, %bx, 1; @!%p2 exit;
         mad.lo.u32 %r1, %bx, 32, %tx; {LOAD}"
    );
    case(&body, [3, 1, 1], [8, 2, 1], [0; 2]).assert_exact();
    // In a loop they end in some iteration, which is not followed.
    let body = format!(
        "mov.u32 %r2, 0; loop: setp.ge.u32 %p1, %r2, %tx; @%p1 ret; mad.lo.u32 %r1, %r2, 64, %tx; {LOAD}
         add.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r2, 4; @%p1 bra loop; {LOAD}"
    );
    let ends = case(&body, [3, 1, 1], [8, 2, 1], [0; 2]);
    ends.assert_agrees();
    assert!(
        ends.analysis
            .references
            .iter()
            .all(|reference| !reference.is_unknown())
    );
    assert!(!ends.directions(128, false).is_exact);
}

#[test]
fn nested_loops_whose_bounds_depend_on_threads_and_each_other_are_exact() {
    let body = format!(
        "mov.u32 %r2, 0; outer: mov.u32 %r3, %r2; inner:
         mad.lo.u32 %r1, %r2, 33, %r3; mad.lo.u32 %r1, %r1, 8, %tx; {LOAD}
         add.u32 %r3, %r3, 1; setp.le.u32 %p1, %r3, %tx; @%p1 bra inner;
         add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 6; @%p1 bra outer;"
    );
    case(&body, [2, 1, 1], [8, 1, 1], [0; 2]).assert_exact();
}

/// Returns a body that loads from the tile where tx exceeds ty, and from the input elsewhere.
/// `rd4` is the offset in the tile.
fn local_or_global(offset: &str) -> String {
    format!(
        ".shared .align 4 .b8 tile[4096];
         setp.gt.u32 %p1, %tx, %ty; @%p1 bra here;
         mad.lo.u32 %r1, %bx, 32, %tx; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd2, %in, %rd1; bra read;
         here: mov.u64 %rd3, tile; {offset} add.u64 %rd5, %rd3, %rd4; cvta.shared.u64 %rd2, %rd5;
         read: ld.f32 %f1, [%rd2];"
    )
}

#[test]
fn a_generic_load_from_local_or_global_memory_is_exact_where_it_is_global() {
    let body = local_or_global("mul.wide.u32 %rd4, %tx, 4;");
    let chosen = case(&body, [2, 1, 1], [16, 4, 1], [0; 2]);
    chosen.assert_exact();
    let [load] = &chosen.analysis.references[..] else {
        panic!("{:?}", chosen.analysis.references)
    };
    assert!(!load.pieces.is_empty());
    // Loads from local memory alone access no global memory at all.
    let body = ".shared .align 4 .b8 tile[4096]; mov.u64 %rd3, tile; cvta.shared.u64 %rd2, %rd3; ld.f32 %f1, [%rd2];";
    let local = case(body, [2, 1, 1], [16, 4, 1], [0; 2]);
    local.assert_exact();
    assert!(local.analysis.references[0].pieces.is_empty());
}

#[test]
fn a_generic_load_that_may_leave_local_memory_is_unknown_and_says_so() {
    // The input holds zeros, so the way with the far address is never taken.
    let body = ".shared .align 4 .b8 tile[4096];
         ld.global.u32 %r1, [%in]; mov.u64 %rd2, %in; setp.eq.u32 %p1, %r1, 0; @%p1 bra read;
         mov.u64 %rd3, tile; mul.wide.u32 %rd4, %tx, 16777216; add.u64 %rd5, %rd3, %rd4;
         cvta.shared.u64 %rd2, %rd5;
         read: ld.f32 %f1, [%rd2];";
    let far = case(body, [2, 1, 1], [4, 4, 1], [0; 2]);
    let reason = far.analysis.references[1].cause();
    let reason = reason.map(ToString::to_string).unwrap_or_default();
    assert!(
        reason.starts_with("address may leave local memory"),
        "{reason}"
    );
}
