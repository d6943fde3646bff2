//! Tests of half precision, packed small integers and directed rounding against models in wider
//! arithmetic.

use crate::harness::{evaluate, run};

/// Returns the value of a half-precision number (IEEE 754 binary16).
fn half(bits: u64) -> f64 {
    let bits = bits as u16;
    let (exponent, fraction) = (bits >> 10 & 31, f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(i32::from(exponent) - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

/// Rounds to the nearest half, ties to even; NaN becomes canonical.
fn to_half(value: f64) -> u64 {
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = u64::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    // The spacing of halves of this size.
    let exponent = if size < 2f64.powi(-14) {
        -24
    } else {
        ((size.to_bits() >> 52) as i32 - 1023).min(16) - 10
    };
    let steps = (size / 2f64.powi(exponent)).round_ties_even();
    let rounded = steps * 2f64.powi(exponent);
    if rounded >= 65520.0 {
        return sign | 0x7c00;
    }
    let bits = if rounded < 2f64.powi(-14) {
        (rounded / 2f64.powi(-24)) as u64
    } else {
        let exponent = (rounded.to_bits() >> 52) as i64 - 1023;
        let fraction = (rounded.to_bits() >> 42) & 0x3ff;
        ((exponent + 15) as u64) << 10 | fraction
    };
    sign | bits
}

const HALVES: [u64; 18] = [
    0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3c01, 0x3555, 0x4248, 0xc900, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x1400,
];

fn rows() -> Vec<[u64; 3]> {
    let mut rows = Vec::new();
    for (i, &a) in HALVES.iter().enumerate() {
        for (j, &b) in HALVES.iter().enumerate() {
            rows.push([a, b, HALVES[(5 * i + 7 * j + 3) % HALVES.len()]]);
        }
    }
    rows
}

/// Checks an instruction on `rows` against a model.
fn holds(instruction: &str, result: &str, rows: &[[u64; 3]], model: impl Fn([u64; 3]) -> u64) {
    for (row, got) in rows.iter().zip(evaluate(instruction, result, rows)) {
        let expected = model(*row);
        assert_eq!(
            got, expected,
            "{instruction} of {row:x?}: {got:#x}, expected {expected:#x}"
        );
    }
}

#[test]
fn the_model_of_halves_gives_every_half_back() {
    for bits in 0..0x7c00 {
        assert_eq!(to_half(half(bits)), bits);
        assert_eq!(to_half(half(bits | 0x8000)), bits | 0x8000);
    }
    assert_eq!(to_half(half(1) * 1.5), 2, "ties go to even");
    assert_eq!(to_half(65519.0), 0x7bff);
    assert_eq!(to_half(65520.0), 0x7c00);
}

#[test]
fn halves_are_added_and_multiplied_with_one_rounding() {
    let rows = rows();
    holds("add.f16 %rs4, %rs1, %rs2;", "%rs4", &rows, |[a, b, _]| {
        to_half(half(a) + half(b))
    });
    holds("sub.f16 %rs4, %rs1, %rs2;", "%rs4", &rows, |[a, b, _]| {
        to_half(half(a) - half(b))
    });
    holds("mul.f16 %rs4, %rs1, %rs2;", "%rs4", &rows, |[a, b, _]| {
        to_half(half(a) * half(b))
    });
    holds(
        "fma.rn.f16 %rs4, %rs1, %rs2, %rs3;",
        "%rs4",
        &rows,
        |[a, b, c]| to_half(half(a).mul_add(half(b), half(c))),
    );
    holds(
        "fma.rn.relu.f16 %rs4, %rs1, %rs2, %rs3;",
        "%rs4",
        &rows,
        |[a, b, c]| {
            let value = half(a).mul_add(half(b), half(c));
            to_half(if value < 0.0 || (value == 0.0) {
                0.0
            } else {
                value
            })
        },
    );
}

/// Returns the smaller number; -0 is smaller than 0, and a number wins over NaN.
fn least(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => a.min(b),
    }
}

#[test]
fn halves_are_compared_as_numbers() {
    let rows = rows();
    holds("min.f16 %rs4, %rs1, %rs2;", "%rs4", &rows, |[a, b, _]| {
        to_half(least(half(a), half(b)))
    });
    holds("max.f16 %rs4, %rs1, %rs2;", "%rs4", &rows, |[a, b, _]| {
        to_half(-least(-half(a), -half(b)))
    });
    holds(
        "min.NaN.f16 %rs4, %rs1, %rs2;",
        "%rs4",
        &rows,
        |[a, b, _]| {
            let either = half(a).is_nan() || half(b).is_nan();
            to_half(if either {
                f64::NAN
            } else {
                least(half(a), half(b))
            })
        },
    );
    holds("setp.lt.f16 %p1, %rs1, %rs2;", "%p1", &rows, |[a, b, _]| {
        u64::from(half(a) < half(b))
    });
    holds(
        "setp.neu.f16 %p1, %rs1, %rs2;",
        "%p1",
        &rows,
        |[a, b, _]| {
            let (a, b) = (half(a), half(b));
            u64::from(a != b)
        },
    );
    holds(
        "setp.ge.bf16 %p1, %rs1, %rs2;",
        "%p1",
        &rows,
        |[a, b, _]| {
            let wide = |bits: u64| f32::from_bits((bits as u32 & 0xffff) << 16);
            u64::from(wide(a) >= wide(b))
        },
    );
}

#[test]
fn functions_of_halves_are_rounded_from_the_exact_value() {
    let rows: Vec<[u64; 3]> = (0..0x10000).step_by(37).map(|bits| [bits, 0, 0]).collect();
    holds("tanh.approx.f16 %rs4, %rs1;", "%rs4", &rows, |[a, ..]| {
        to_half(half(a).tanh())
    });
    holds("ex2.approx.f16 %rs4, %rs1;", "%rs4", &rows, |[a, ..]| {
        to_half(half(a).exp2())
    });
}

#[test]
fn pairs_work_half_by_half() {
    let rows: Vec<[u64; 3]> = rows()
        .windows(2)
        .map(|pair| {
            [
                pair[0][0] | pair[1][1] << 16,
                pair[0][1] | pair[1][2] << 16,
                0,
            ]
        })
        .collect();
    let both = |f: &dyn Fn(u64, u64) -> u64, a: u64, b: u64| {
        f(a & 0xffff, b & 0xffff) | f(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16
    };
    holds("add.f16x2 %r4, %r1, %r2;", "%r4", &rows, |[a, b, _]| {
        both(&|a, b| to_half(half(a) + half(b)), a, b)
    });
    holds("max.f16x2 %r4, %r1, %r2;", "%r4", &rows, |[a, b, _]| {
        both(&|a, b| to_half(-least(-half(a), -half(b))), a, b)
    });
    holds("add.u16x2 %r4, %r1, %r2;", "%r4", &rows, |[a, b, _]| {
        both(&|a, b| (a + b) & 0xffff, a, b)
    });
    holds("min.u16x2 %r4, %r1, %r2;", "%r4", &rows, |[a, b, _]| {
        both(&|a, b| a.min(b), a, b)
    });
    let signed = |bits: u64| i64::from(bits as u16 as i16);
    holds("max.s16x2 %r4, %r1, %r2;", "%r4", &rows, |[a, b, _]| {
        both(&|a, b| if signed(a) > signed(b) { a } else { b }, a, b)
    });
}

#[test]
fn two_singles_become_a_pair_of_halves() {
    let values = [
        0.0_f32,
        -0.0,
        1.0,
        -1.5,
        65519.0,
        65520.0,
        1e9,
        -1e9,
        6e-8,
        f32::INFINITY,
        f32::NAN,
        0.333_333,
    ];
    let bits = |value: f32| u64::from(value.to_bits());
    let pairs = values
        .iter()
        .flat_map(|a| values.iter().map(move |b| [bits(*a), bits(*b), 0]));
    let rows: Vec<[u64; 3]> = pairs.collect();
    let wide = |bits: u64| f64::from(f32::from_bits(bits as u32));
    holds(
        "cvt.rn.f16x2.f32 %r4, %f1, %f2;",
        "%r4",
        &rows,
        |[a, b, _]| to_half(wide(a)) << 16 | to_half(wide(b)),
    );
    holds(
        "cvt.rn.satfinite.f16x2.f32 %r4, %f1, %f2;",
        "%r4",
        &rows,
        |[a, b, _]| {
            let clamped = |bits: u64| to_half(wide(bits).clamp(-65504.0, 65504.0));
            clamped(a) << 16 | clamped(b)
        },
    );
}

/// Rounds in a direction: down, up, or towards zero.
fn directed(nearest: f32, exact_is: std::cmp::Ordering, mode: &str) -> u64 {
    use std::cmp::Ordering::{Greater, Less};
    if nearest.is_nan() {
        return 0x7fff_ffff;
    }
    let down =
        mode == "rm" || mode == "rz" && (nearest > 0.0 || nearest == 0.0 && exact_is == Greater);
    let rounded = match (exact_is, down) {
        (Less, true) => nearest.next_down(),
        (Greater, false) => nearest.next_up(),
        _ => nearest,
    };
    u64::from(rounded.to_bits())
}

const SINGLES: [f32; 17] = [
    1.0,
    -1.0,
    3.0,
    -7.0,
    0.1,
    1e-30,
    -1e-38,
    1e-45,
    3.4e38,
    -3.4e38,
    2.5e-20,
    1_234_567.9,
    -0.333_333_34,
    1.000_000_1,
    9.999_999,
    1e20,
    -6.5e-39,
];

fn singles() -> Vec<[u64; 3]> {
    let bits = |value: f32| u64::from(value.to_bits());
    let mut rows = Vec::new();
    for (i, &a) in SINGLES.iter().enumerate() {
        for (j, &b) in SINGLES.iter().enumerate() {
            rows.push([
                bits(a),
                bits(b),
                bits(SINGLES[(3 * i + 5 * j + 1) % SINGLES.len()]),
            ]);
        }
    }
    rows
}

#[test]
fn quotients_and_fused_sums_are_rounded_in_the_direction_asked_for() {
    let single = |bits: u64| f32::from_bits(bits as u32);
    let rows = singles();
    for mode in ["rz", "rm", "rp"] {
        let quotient = |a: f32, b: f32| {
            let nearest = a / b;
            // Products of singles are exact in double precision.
            let left = f64::from(a) - f64::from(nearest) * f64::from(b);
            let left = if nearest.is_infinite() {
                -f64::from(nearest)
            } else {
                left * f64::from(b.signum())
            };
            directed(nearest, left.total_cmp(&0.0_f64.copysign(left)), mode)
        };
        holds(
            &format!("div.{mode}.f32 %f4, %f1, %f2;"),
            "%f4",
            &rows,
            |[a, b, _]| quotient(single(a), single(b)),
        );
        holds(
            &format!("rcp.{mode}.f32 %f4, %f1;"),
            "%f4",
            &rows,
            |[a, ..]| quotient(1.0, single(a)),
        );
        holds(
            &format!("fma.{mode}.f32 %f4, %f1, %f2, %f3;"),
            "%f4",
            &rows,
            |[a, b, c]| {
                let (product, c) = (
                    f64::from(single(a)) * f64::from(single(b)),
                    f64::from(single(c)),
                );
                let sum = product + c;
                // What the sum lost (Knuth's two-sum).
                let part = sum - product;
                let lost = (product - (sum - part)) + (c - part);
                // The nearest single to an exact value close to `sum`; any single near enough is
                // sufficient.
                let nearest = sum as f32;
                let left = (sum - f64::from(nearest)) + lost;
                let left = if nearest.is_infinite() {
                    -f64::from(nearest)
                } else {
                    left
                };
                if sum == 0.0 && lost == 0.0 {
                    // An exact zero is negative only when rounding down.
                    let sign = u64::from(mode == "rm") << 31;
                    let both = (product.is_sign_negative(), c.is_sign_negative());
                    return if both.0 == both.1 {
                        u64::from(both.0) << 31
                    } else {
                        sign
                    };
                }
                directed(nearest, left.total_cmp(&0.0_f64.copysign(left)), mode)
            },
        );
    }
}

#[test]
fn small_integer_instructions_do_what_the_manual_says() {
    let rows: Vec<[u64; 3]> = vec![
        [0x8000_0000, 0, 0],
        [0x7fff, 16, 0],
        [0xffff_8000, 15, 1],
        [0x1234_5678, 32, 2],
        [0xdead_beef, 40, 3],
        [0x7fff_ffff, 1, 0x7fff_ffff],
    ];
    holds(
        "szext.clamp.s32 %r4, %r1, %r2;",
        "%r4",
        &rows,
        |[a, n, _]| match n {
            0 => 0,
            n if n >= 32 => a & 0xffff_ffff,
            n => u64::from((((a as u32) << (32 - n)) as i32 >> (32 - n)) as u32),
        },
    );
    holds(
        "mad.hi.sat.s32 %r4, %r1, %r1, %r3;",
        "%r4",
        &rows,
        |[a, _, c]| {
            let product = (i64::from(a as u32 as i32) * i64::from(a as u32 as i32)) >> 32;
            let sum = product + i64::from(c as u32 as i32);
            sum.clamp(i32::MIN.into(), i32::MAX.into()) as u64 & 0xffff_ffff
        },
    );
    holds(
        "dp2a.lo.u32.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        &rows,
        |[a, b, c]| {
            let sum = (a & 0xffff) * (b & 0xff) + (a >> 16 & 0xffff) * (b >> 8 & 0xff) + c;
            sum & 0xffff_ffff
        },
    );
}

#[test]
fn atomic_sums_of_halves_are_those_of_one_lane_after_the_other() {
    // Every lane adds 1.5 to the first half of a pair and 2 to the second.
    let got = run(
        "ld.param.u64 %rd1, [out]; mov.b32 %r1, 0x40003e00; add.u64 %rd1, %rd1, 4;
  atom.global.add.noftz.f16x2 %r2, [%rd1], %r1; bar.warp.sync 0xffffffff; ld.global.u32 %r3, [%rd1];
  st.global.u32 [%rd0+8], %r3;",
    );
    let sum = |each: f64| to_half(32.0 * each);
    assert_eq!(u64::from(got.u32(2)), sum(1.5) | sum(2.0) << 16);
}
