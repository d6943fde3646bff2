//! Tests of directed rounding, half precision and reductions against independent models.

use crate::harness::{evaluate, run};

const SINGLES: [u32; 12] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x807f_ffff,
    0x0080_0000,
    0x3f80_0000,
    0xbf80_0001,
    0x3eaa_aaab,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0x7fc0_0000,
];

fn rows(values: &[u32]) -> Vec<[u64; 3]> {
    let pairs = values
        .iter()
        .flat_map(|&a| values.iter().map(move |&b| (a, b)));
    pairs
        .map(|(a, b)| [u64::from(a), u64::from(b), 0])
        .collect()
}

/// Returns the neighbour of a value in the rounding direction; the exact value has a wider format.
fn directed(exact: f64, mode: &str) -> u32 {
    let nearest = exact as f32;
    if exact.is_nan() {
        return 0x7fff_ffff;
    }
    let down = mode == "rm" || mode == "rz" && exact > 0.0;
    let up = mode == "rp" || mode == "rz" && exact < 0.0;
    let value = if down && f64::from(nearest) > exact {
        nearest.next_down()
    } else if up && f64::from(nearest) < exact {
        nearest.next_up()
    } else {
        nearest
    };
    value.to_bits()
}

#[test]
fn products_and_roots_of_singles_round_in_every_direction() {
    let rows = rows(&SINGLES);
    for mode in ["rz", "rm", "rp"] {
        let products = evaluate(&format!("mul.{mode}.f32 %f4, %f1, %f2;"), "%f4", &rows);
        let roots = evaluate(&format!("sqrt.{mode}.f32 %f4, %f1;"), "%f4", &rows);
        for ((row, product), root) in rows.iter().zip(products).zip(roots) {
            let [a, b] = [row[0], row[1]].map(|bits| f64::from(f32::from_bits(bits as u32)));
            let expected = u64::from(directed(a * b, mode));
            assert_eq!(product, expected, "mul.{mode} of {row:x?}");
            let single = f32::from_bits(root as u32);
            let square = f64::from(single) * f64::from(single);
            if a > 0.0 && a.is_finite() {
                let above = f64::from(single.next_up()).powi(2);
                let below = f64::from(single.next_down()).powi(2);
                let fits = if mode == "rp" {
                    square >= a && below < a
                } else {
                    square <= a && above > a
                };
                assert!(fits, "sqrt.{mode} of {row:x?}: {root:#x}");
            }
        }
    }
}

#[test]
fn sums_and_roots_of_doubles_round_in_every_direction() {
    let tiny = 2f64.powi(-80);
    let row = [[1f64.to_bits(), tiny.to_bits(), 0]];
    let zero = [[1f64.to_bits(), (-1f64).to_bits(), 0]];
    let two = [[2f64.to_bits(), 0, 0], [1, 0, 0]];
    for (mode, sum, nothing) in [
        ("rz", 1f64, 0u64),
        ("rm", 1f64, 1 << 63),
        ("rp", 1f64.next_up(), 0),
    ] {
        let add = format!("add.{mode}.f64 %fd4, %fd1, %fd2;");
        assert_eq!(evaluate(&add, "%fd4", &row), [sum.to_bits()], "{add}");
        assert_eq!(evaluate(&add, "%fd4", &zero), [nothing], "{add}");
        let root = evaluate(&format!("sqrt.{mode}.f64 %fd4, %fd1;"), "%fd4", &two);
        let nearest = std::f64::consts::SQRT_2;
        // The root to nearest of two is above it.
        let expected = if mode == "rp" {
            nearest
        } else {
            nearest.next_down()
        };
        assert_eq!(
            root,
            [expected.to_bits(), 2f64.powi(-537).to_bits()],
            "{mode}"
        );
    }
}

/// Returns a half-precision number in the normal range.
fn half(bits: u64) -> f64 {
    let magnitude =
        (1.0 + (bits & 0x3ff) as f64 / 1024.0) * 2f64.powi((bits >> 10 & 31) as i32 - 15);
    if bits & 0x8000 == 0 {
        magnitude
    } else {
        -magnitude
    }
}

#[test]
fn halves_are_computed_exactly_and_rounded_once() {
    let values = [0x3c00, 0xbc01, 0x4455, 0xc7ff, 0x5001, 0x3555];
    let rows = rows(&values);
    let sums = evaluate("add.rn.f16 %rs4, %rs1, %rs2;", "%rs4", &rows);
    let pairs = evaluate(
        "prmt.b32 %r5, %r1, %r2, 0x5410; prmt.b32 %r6, %r2, %r1, 0x5410;
         mul.rn.f16x2 %r4, %r5, %r6;",
        "%r4",
        &rows,
    );
    for ((row, sum), pair) in rows.iter().zip(sums).zip(pairs) {
        let (a, b) = (half(row[0]), half(row[1]));
        for (exact, got) in [(a + b, sum), (a * b, pair & 0xffff), (a * b, pair >> 16)] {
            if exact == 0.0 {
                assert_eq!(got, 0);
                continue;
            }
            let unit = 2f64.powi(exact.abs().log2().floor() as i32 - 10);
            let expected = (exact / unit).round_ties_even() * unit;
            assert!(
                (half(got) - expected).abs() < unit / 2.0,
                "{row:x?}: {got:#x}"
            );
        }
    }
    let specials = [
        [0x7bff, 0x7bff, 0],
        [0x7c00, 0xfc00, 0],
        [0x0001, 0x0001, 0],
    ];
    let got = evaluate("add.f16 %rs4, %rs1, %rs2;", "%rs4", &specials);
    assert_eq!(got, [0x7c00, 0x7fff, 0x0002]);
    let got = evaluate(
        "fma.rn.relu.bf16 %rs4, %rs1, %rs2, %rs3;",
        "%rs4",
        &[[0x3f80, 0xbf80, 0]],
    );
    assert_eq!(got, [0]);
    let got = evaluate(
        "cvt.rn.bf16x2.f32 %r4, %f1, %f2;",
        "%r4",
        &[[0x3f80_8000, 0x4000_0000, 0]],
    );
    assert_eq!(got, [0x3f80_4000]);
}

#[test]
fn reductions_matches_and_elections_take_the_lanes_named() {
    let sum = run("redux.sync.add.u32 %r1, %r0, -1; st.global.u32 [%rd0], %r1;");
    assert_eq!(sum.words(), [496; 32]);
    let least =
        run("sub.s32 %r1, %r0, 9; redux.sync.min.s32 %r1, %r1, -1; st.global.u32 [%rd0], %r1;");
    assert_eq!(least.words(), [-9i32 as u32; 32]);
    let all = run("mov.u32 %r1, 7; match.all.sync.b32 %r2|%p1, %r1, -1;
        selp.u32 %r3, 1, 0, %p1; and.b32 %r2, %r2, %r3; st.global.u32 [%rd0], %r3;");
    assert_eq!(all.words(), [1; 32]);
    let none = run(
        "match.all.sync.b32 %r2|%p1, %r0, -1; selp.u32 %r3, 1, 0, %p1;
        or.b32 %r2, %r2, %r3; st.global.u32 [%rd0], %r2;",
    );
    assert_eq!(none.words(), [0; 32]);
    let leader = run("elect.sync %r2|%p1, -1; selp.u32 %r3, 1, 0, %p1; st.global.u32 [%rd0], %r3;");
    assert_eq!(
        leader.words(),
        std::array::from_fn(|lane| u32::from(lane == 0))
    );
}
