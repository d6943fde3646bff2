//! Random accesses of kernels, drawn and written as PTX.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Global accesses of one load: coefficients of bx, by, tx, ty and a loop counter, and a constant.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) factors: [i32; 5],
    /// Coefficient of bz, the plane of the work-group.
    pub(crate) plane: i32,
    pub(crate) constant: i32,
    /// Guard: a comparison of a sum with a number, and the way it is computed.
    pub(crate) guard: Option<(u8, i32)>,
    /// Operation on the index: none, mask, division, remainder, minimum.
    pub(crate) twist: u8,
    pub(crate) trips: u32,
    pub(crate) is_store: bool,
}

pub(crate) fn access() -> impl Strategy<Value = Access> {
    let factor = || prop_oneof![Just(0), Just(1), Just(16), Just(33), -5..40_i32];
    let factors = [factor(), factor(), factor(), factor(), factor()];
    let plane = factor();
    let guard = proptest::option::of((0..8_u8, -3..40_i32));
    (
        (factors, plane),
        0..300_i32,
        guard,
        0..7_u8,
        1..5_u32,
        proptest::bool::ANY,
    )
        .prop_map(
            |((factors, plane), constant, guard, twist, trips, is_store)| Access {
                factors,
                plane,
                constant,
                guard,
                twist,
                trips,
                is_store,
            },
        )
}

/// Writes the index of an access to %r1, for iteration %r2 of its loop.
pub(crate) fn index(access: &Access) -> String {
    let [bx, by, tx, ty, k] = access.factors;
    // Far enough from 0 that no index is negative.
    let constant = access.constant + 4000;
    let mut body = format!(
        "mad.lo.s32 %r1, %bx, {bx}, {constant}; mad.lo.s32 %r1, %by, {by}, %r1; mad.lo.s32 %r1, %tx, {tx}, %r1;
         mad.lo.s32 %r1, %ty, {ty}, %r1; mad.lo.s32 %r1, %r2, {k}, %r1; mad.lo.s32 %r1, %bz, {}, %r1;\n",
        access.plane
    );
    match access.twist {
        1 => body += "and.b32 %r1, %r1, 1023;\n",
        2 => body += "div.u32 %r1, %r1, 3;\n",
        3 => body += "rem.u32 %r1, %r1, 100;\n",
        4 => body += "min.s32 %r1, %r1, 4100;\n",
        5 => body += "setp.lt.s32 %p2, %r1, 4050; selp.b32 %r1, 17, %r1, %p2;\n",
        6 => body += "and.b32 %r3, %r1, -8; and.b32 %r4, %tx, 7; or.b32 %r1, %r3, %r4;\n",
        _ => {}
    }
    body
}

/// Writes one access as PTX; `number` makes its labels unique.
pub(crate) fn text(access: &Access, number: usize) -> String {
    let mut body = format!("mov.u32 %r2, 0; loop{number}:\n");
    body += &index(access);
    let sum = "mad.lo.u32 %r5, %bx, 8, %tx;";
    let end = format!("skip{number}");
    match access.guard {
        None => {}
        Some((0, n)) => {
            let _ = writeln!(body, "{sum} setp.ge.s32 %p1, %r5, {n}; @%p1 bra {end};");
        }
        Some((1, n)) => {
            let _ = writeln!(body, "{sum} setp.ne.u32 %p1, %r5, {n}; @!%p1 bra {end};");
        }
        Some((2, n)) => {
            let _ = writeln!(body, "setp.eq.u32 %p1, %ty, {n}; @%p1 bra {end};");
        }
        Some((3, n)) => {
            // Inside a range by one unsigned comparison.
            let _ = writeln!(
                body,
                "{sum} sub.u32 %r6, %r5, 5; setp.gt.u32 %p1, %r6, {}; @%p1 bra {end};",
                n.abs()
            );
        }
        Some((4, n)) => {
            let _ = writeln!(
                body,
                "sub.s32 %r6, %tx, 3; sub.s32 %r7, %ty, 1; or.b32 %r6, %r6, %r7; setp.lt.s32 %p1, %r6, 0; @%p1 bra {end};
                 setp.gt.s32 %p1, %bx, {n}; @%p1 bra {end};"
            );
        }
        Some((5, n)) => {
            let _ = writeln!(
                body,
                "{sum} setp.lt.u32 %p1, %tx, %ty; setp.gt.or.s32 %p1, %r5, {n}, %p1; @%p1 bra {end};"
            );
        }
        Some((6, n)) => {
            let _ = writeln!(
                body,
                "sub.s32 %r6, %tx, {n}; or.b32 %r6, %r6, %ty; or.b32 %r6, %r6, %bx; setp.eq.s32 %p1, %r6, 0; @%p1 bra {end};"
            );
        }
        Some((_, n)) => {
            let _ = writeln!(
                body,
                "max.u32 %r6, %tx, %r2; setp.lt.and.u32 %p1|%p3, %r6, {}, %p0; @!%p1 bra {end};",
                n.abs()
            );
        }
    }
    let action = if access.is_store {
        "st.global.u32 [%rd1], %r2;"
    } else {
        "ld.global.u32 %r9, [%rd1];"
    };
    let _ = writeln!(
        body,
        "mul.wide.u32 %rd1, %r1, 4; add.s64 %rd1, %in, %rd1; {action}
         {end}: add.u32 %r2, %r2, 1; setp.ne.s32 %p1, %r2, {}; @%p1 bra loop{number};",
        access.trips
    );
    body
}
