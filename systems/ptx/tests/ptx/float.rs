//! Tests of floating-point instructions, comparisons and conversions against Rust.

use crate::harness::{evaluate, run};

const SINGLES: [f32; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    3.0e-39,
    -1.0e-45,
    16777217.0,
    -2.5,
    3.4e38,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    0.75,
];

fn rows32() -> Vec<[u64; 3]> {
    let bits = |at: usize| u64::from(SINGLES[at % SINGLES.len()].to_bits());
    (0..SINGLES.len() * SINGLES.len())
        .map(|n| [bits(n), bits(n / SINGLES.len()), bits(n + n / 5 + 3)])
        .collect()
}

fn rows64() -> Vec<[u64; 3]> {
    let widen = |bits: u64| (f64::from(f32::from_bits(bits as u32)) * 1.000_000_1).to_bits();
    rows32().into_iter().map(|row| row.map(widen)).collect()
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// Returns the bits of a single, with NaN made canonical.
fn bits32(value: f32) -> u64 {
    u64::from(if value.is_nan() {
        0x7fff_ffff
    } else {
        value.to_bits()
    })
}

fn bits64(value: f64) -> u64 {
    if value.is_nan() {
        0x7ff8_0000_0000_0000
    } else {
        value.to_bits()
    }
}

fn check32(instruction: &str, reference: impl Fn(f32, f32, f32) -> f32) {
    let rows = rows32();
    for (row, got) in rows.iter().zip(evaluate(instruction, "%f4", &rows)) {
        let [a, b, c] = row.map(single);
        let expected = bits32(reference(a, b, c));
        assert_eq!(
            got,
            expected,
            "{instruction} of {a}, {b}, {c}: {}",
            single(got)
        );
    }
}

fn check64(instruction: &str, reference: impl Fn(f64, f64, f64) -> f64) {
    let rows = rows64();
    for (row, got) in rows.iter().zip(evaluate(instruction, "%fd4", &rows)) {
        let [a, b, c] = row.map(f64::from_bits);
        assert_eq!(
            got,
            bits64(reference(a, b, c)),
            "{instruction} of {a}, {b}, {c}"
        );
    }
}

fn flushed(value: f32) -> f32 {
    if value.is_subnormal() {
        0.0f32.copysign(value)
    } else {
        value
    }
}

#[test]
fn singles_follow_ieee_754() {
    check32("add.f32 %f4, %f1, %f2;", |a, b, _| a + b);
    check32("sub.rn.f32 %f4, %f1, %f2;", |a, b, _| a - b);
    check32("mul.f32 %f4, %f1, %f2;", |a, b, _| a * b);
    check32("div.rn.f32 %f4, %f1, %f2;", |a, b, _| a / b);
    check32("fma.rn.f32 %f4, %f1, %f2, %f3;", f32::mul_add);
    check32("sqrt.rn.f32 %f4, %f1;", |a, _, _| a.sqrt());
    check32("rcp.rn.f32 %f4, %f1;", |a, _, _| 1.0 / a);
    check32(
        "neg.f32 %f4, %f1;\n@!%p1 add.f32 %f4, %f4, 0f00000000;",
        |a, _, _| -a + 0.0,
    );
}

#[test]
fn flushing_treats_subnormals_as_zero_on_both_sides() {
    check32("add.ftz.f32 %f4, %f1, %f2;", |a, b, _| {
        flushed(flushed(a) + flushed(b))
    });
    check32("mul.ftz.f32 %f4, %f1, %f2;", |a, b, _| {
        flushed(flushed(a) * flushed(b))
    });
    check32("mul.ftz.sat.f32 %f4, %f1, %f2;", |a, b, _| {
        let product = flushed(a) * flushed(b);
        flushed(if product.is_nan() {
            0.0
        } else {
            product.clamp(0.0, 1.0) + 0.0
        })
    });
    check32("add.sat.f32 %f4, %f1, %f2;", |a, b, _| {
        let sum = a + b;
        if sum.is_nan() {
            0.0
        } else {
            sum.clamp(0.0, 1.0) + 0.0
        }
    });
}

#[test]
fn minimum_and_maximum_prefer_numbers_to_nan() {
    let zeros = |a: f32, b: f32| a == 0.0 && b == 0.0;
    check32("min.f32 %f4, %f1, %f2;", |a, b, _| {
        if zeros(a, b) {
            if a.is_sign_negative() { a } else { b }
        } else {
            a.min(b)
        }
    });
    check32("max.f32 %f4, %f1, %f2;", |a, b, _| {
        if zeros(a, b) {
            if a.is_sign_negative() { b } else { a }
        } else {
            a.max(b)
        }
    });
    check32("min.NaN.f32 %f4, %f1, %f2;", |a, b, _| {
        if a.is_nan() || b.is_nan() {
            f32::NAN
        } else if zeros(a, b) {
            if a.is_sign_negative() { a } else { b }
        } else {
            a.min(b)
        }
    });
}

#[test]
fn approximate_instructions_are_correctly_rounded_up_to_double_rounding() {
    let near = |got: f32, exact: f64| {
        let wanted = exact as f32;
        got == wanted
            || got.is_nan() && wanted.is_nan()
            || got == wanted.next_up()
            || got == wanted.next_down()
    };
    let table: [(&str, fn(f64) -> f64); 5] = [
        ("sin.approx.f32", f64::sin),
        ("cos.approx.f32", f64::cos),
        ("ex2.approx.f32", f64::exp2),
        ("lg2.approx.f32", f64::log2),
        ("rsqrt.approx.f32", |a| 1.0 / a.sqrt()),
    ];
    for (opcode, reference) in table {
        let rows = rows32();
        for (row, got) in rows
            .iter()
            .zip(evaluate(&format!("{opcode} %f4, %f1;"), "%f4", &rows))
        {
            let a = single(row[0]);
            assert!(
                near(single(got), reference(f64::from(a))),
                "{opcode} of {a}: {}",
                single(got)
            );
        }
    }
}

#[test]
fn doubles_follow_ieee_754() {
    check64("add.f64 %fd4, %fd1, %fd2;", |a, b, _| a + b);
    check64("sub.f64 %fd4, %fd1, %fd2;", |a, b, _| a - b);
    check64("mul.rn.f64 %fd4, %fd1, %fd2;", |a, b, _| a * b);
    check64("div.rn.f64 %fd4, %fd1, %fd2;", |a, b, _| a / b);
    check64("fma.rn.f64 %fd4, %fd1, %fd2, %fd3;", f64::mul_add);
    check64("sqrt.rn.f64 %fd4, %fd1;", |a, _, _| a.sqrt());
    check64("rcp.rn.f64 %fd4, %fd1;", |a, _, _| 1.0 / a);
}

#[test]
fn sign_instructions_touch_only_the_sign() {
    let rows = rows32();
    for (row, got) in rows
        .iter()
        .zip(evaluate("copysign.f32 %f4, %f1, %f2;", "%f4", &rows))
    {
        assert_eq!(got, (row[0] & 0x8000_0000) | (row[1] & 0x7fff_ffff));
    }
    for (row, got) in rows.iter().zip(evaluate("abs.f32 %f4, %f1;", "%f4", &rows)) {
        assert_eq!(got, row[0] & 0x7fff_ffff);
    }
}

#[test]
fn comparisons_are_ordered_unless_they_say_unordered() {
    let table: [(&str, fn(f32, f32) -> bool); 14] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a < b || a > b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
        ("equ", |a, b| a == b || a.is_nan() || b.is_nan()),
        ("neu", |a, b| a != b),
        ("ltu", |a, b| a < b || a.is_nan() || b.is_nan()),
        ("leu", |a, b| a <= b || a.is_nan() || b.is_nan()),
        ("gtu", |a, b| a > b || a.is_nan() || b.is_nan()),
        ("geu", |a, b| a >= b || a.is_nan() || b.is_nan()),
        ("num", |a, b| !a.is_nan() && !b.is_nan()),
        ("nan", |a, b| a.is_nan() || b.is_nan()),
    ];
    let rows = rows32();
    for (name, reference) in table {
        let got = evaluate(&format!("setp.{name}.f32 %p4, %f1, %f2;"), "%p4", &rows);
        for (row, got) in rows.iter().zip(got) {
            let [a, b, _] = row.map(single);
            assert_eq!(got != 0, reference(a, b), "setp.{name} of {a}, {b}");
        }
        let doubles = format!(
            "cvt.f64.f32 %fd1, %f1; cvt.f64.f32 %fd2, %f2; setp.{name}.f64 %p4, %fd1, %fd2;"
        );
        for (row, got) in rows.iter().zip(evaluate(&doubles, "%p4", &rows)) {
            let [a, b, _] = row.map(single);
            assert_eq!(got != 0, reference(a, b), "setp.{name}.f64 of {a}, {b}");
        }
    }
}

#[test]
fn integer_comparisons_know_signs_and_widths() {
    let rows = crate::harness::edge_rows();
    let table: [(&str, fn(u64, u64) -> bool); 16] = [
        ("setp.eq.b32 %p4, %r1, %r2;", |a, b| a as u32 == b as u32),
        ("setp.ne.s32 %p4, %r1, %r2;", |a, b| a as u32 != b as u32),
        ("setp.lt.s32 %p4, %r1, %r2;", |a, b| (a as i32) < b as i32),
        ("setp.le.u32 %p4, %r1, %r2;", |a, b| a as u32 <= b as u32),
        ("setp.gt.s32 %p4, %r1, %r2;", |a, b| a as i32 > b as i32),
        ("setp.ge.u32 %p4, %r1, %r2;", |a, b| a as u32 >= b as u32),
        ("setp.hi.u32 %p4, %r1, %r2;", |a, b| a as u32 > b as u32),
        ("setp.ls.u32 %p4, %r1, %r2;", |a, b| a as u32 <= b as u32),
        ("setp.lt.s64 %p4, %rd1, %rd2;", |a, b| (a as i64) < b as i64),
        ("setp.gt.u64 %p4, %rd1, %rd2;", |a, b| a > b),
        ("setp.eq.b64 %p4, %rd1, %rd2;", |a, b| a == b),
        ("setp.ge.s64 %p4, %rd1, %rd2;", |a, b| a as i64 >= b as i64),
        ("setp.lt.s16 %p4, %rs1, %rs2;", |a, b| (a as i16) < b as i16),
        ("setp.ge.u16 %p4, %rs1, %rs2;", |a, b| a as u16 >= b as u16),
        ("setp.lt.and.u32 %p4|%p5, %r1, %r2, 1;", |a, b| {
            (a as u32) < b as u32
        }),
        ("setp.lt.u32 %p6|%p4, %r1, %r2;", |a, b| {
            a as u32 >= b as u32
        }),
    ];
    for (instruction, reference) in table {
        for (row, got) in rows.iter().zip(evaluate(instruction, "%p4", &rows)) {
            assert_eq!(
                got != 0,
                reference(row[0], row[1]),
                "{instruction} of {row:x?}"
            );
        }
    }
}

#[test]
fn set_and_selections_pick_by_outcome_predicate_and_sign() {
    let rows = crate::harness::edge_rows();
    let set = evaluate("set.lt.u32.s32 %r4, %r1, %r2;", "%r4", &rows);
    let one = evaluate("set.gt.f32.u32 %f4, %r1, %r2;", "%f4", &rows);
    let select = evaluate("slct.u32.s32 %r4, %r1, %r2, %r3;", "%r4", &rows);
    let wide = evaluate(
        "setp.lt.s32 %p1, %r3, 0; selp.b64 %rd4, %rd1, %rd2, !%p1;",
        "%rd4",
        &rows,
    );
    for (at, row) in rows.iter().enumerate() {
        let [a, b, c] = row.map(|value| value as u32);
        assert_eq!(
            set[at],
            if (a as i32) < b as i32 {
                0xffff_ffff
            } else {
                0
            }
        );
        assert_eq!(one[at], if a > b { u64::from(1f32.to_bits()) } else { 0 });
        assert_eq!(select[at], u64::from(if c as i32 >= 0 { a } else { b }));
        assert_eq!(wide[at], if c as i32 >= 0 { row[0] } else { row[1] });
    }
}

#[test]
fn integer_conversions_truncate_extend_and_saturate() {
    let rows = crate::harness::edge_rows();
    let table: [(&str, &str, fn(u64) -> u64); 16] = [
        ("cvt.u64.u32 %rd4, %r1;", "%rd4", |a| u64::from(a as u32)),
        ("cvt.s64.s32 %rd4, %r1;", "%rd4", |a| {
            i64::from(a as i32) as u64
        }),
        ("cvt.u32.u64 %r4, %rd1;", "%r4", |a| u64::from(a as u32)),
        ("cvt.u16.u32 %rs4, %r1;", "%rs4", |a| u64::from(a as u16)),
        ("cvt.s32.s16 %r4, %rs1;", "%r4", |a| {
            u64::from(i32::from(a as i16) as u32)
        }),
        ("cvt.u32.u16 %r4, %rs1;", "%r4", |a| u64::from(a as u16)),
        ("cvt.s64.s16 %rd4, %rs1;", "%rd4", |a| {
            i64::from(a as i16) as u64
        }),
        ("cvt.u32.u8 %r4, %r1;", "%r4", |a| u64::from(a as u8)),
        ("cvt.s32.s8 %r4, %rs1;", "%r4", |a| {
            u64::from(i32::from(a as i8) as u32)
        }),
        ("cvt.s16.s8 %rs4, %rs1;", "%rs4", |a| {
            u64::from(i16::from(a as i8) as u16)
        }),
        ("cvt.s64.s8 %rd4, %rd1;", "%rd4", |a| {
            i64::from(a as i8) as u64
        }),
        ("cvt.u8.u32 %rs4, %r1;", "%rs4", |a| u64::from(a as u8)),
        ("cvt.s8.s32 %r4, %r1;", "%r4", |a| {
            u64::from(i32::from(a as i8) as u32)
        }),
        ("cvt.sat.u8.s32 %r4, %r1;", "%r4", |a| {
            (a as i32).clamp(0, 255) as u64
        }),
        ("cvt.sat.s16.s32 %rs4, %r1;", "%rs4", |a| {
            u64::from((a as i32).clamp(-32768, 32767) as u16)
        }),
        ("cvt.sat.s32.s64 %r4, %rd1;", "%r4", |a| {
            u64::from((a as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32)
        }),
    ];
    for (instruction, result, reference) in table {
        for (row, got) in rows.iter().zip(evaluate(instruction, result, &rows)) {
            assert_eq!(got, reference(row[0]), "{instruction} of {:x}", row[0]);
        }
    }
}

#[test]
fn conversions_between_integers_and_floats_round_as_asked() {
    let rows = crate::harness::edge_rows();
    let table: [(&str, &str, fn(u64) -> u64); 8] = [
        ("cvt.rn.f32.s32 %f4, %r1;", "%f4", |a| {
            bits32(a as i32 as f32)
        }),
        ("cvt.rn.f32.u32 %f4, %r1;", "%f4", |a| {
            bits32(a as u32 as f32)
        }),
        ("cvt.rn.f32.s64 %f4, %rd1;", "%f4", |a| {
            bits32(a as i64 as f32)
        }),
        ("cvt.rn.f32.u64 %f4, %rd1;", "%f4", |a| bits32(a as f32)),
        ("cvt.rn.f64.s32 %fd4, %r1;", "%fd4", |a| {
            f64::from(a as i32).to_bits()
        }),
        ("cvt.rn.f64.u64 %fd4, %rd1;", "%fd4", |a| {
            (a as f64).to_bits()
        }),
        ("cvt.rn.f32.u16 %f4, %rs1;", "%f4", |a| {
            bits32(f32::from(a as u16))
        }),
        ("cvt.rz.f32.u32 %f4, %r1;", "%f4", |a| {
            let value = a as u32;
            let nearest = value as f32;
            bits32(if nearest as f64 > f64::from(value) {
                nearest.next_down()
            } else {
                nearest
            })
        }),
    ];
    for (instruction, result, reference) in table {
        for (row, got) in rows.iter().zip(evaluate(instruction, result, &rows)) {
            assert_eq!(got, reference(row[0]), "{instruction} of {:x}", row[0]);
        }
    }
    let rows = rows32();
    let table: [(&str, &str, fn(f32) -> u64); 10] = [
        ("cvt.rzi.s32.f32 %r4, %f1;", "%r4", |a| {
            u64::from(a as i32 as u32)
        }),
        ("cvt.rzi.u32.f32 %r4, %f1;", "%r4", |a| u64::from(a as u32)),
        ("cvt.rni.s32.f32 %r4, %f1;", "%r4", |a| {
            u64::from(a.round_ties_even() as i32 as u32)
        }),
        ("cvt.rmi.s32.f32 %r4, %f1;", "%r4", |a| {
            u64::from(a.floor() as i32 as u32)
        }),
        ("cvt.rpi.s32.f32 %r4, %f1;", "%r4", |a| {
            u64::from(a.ceil() as i32 as u32)
        }),
        ("cvt.rzi.s64.f32 %rd4, %f1;", "%rd4", |a| {
            if a.is_nan() { 1 << 63 } else { a as i64 as u64 }
        }),
        ("cvt.rmi.f32.f32 %f4, %f1;", "%f4", |a| bits32(a.floor())),
        ("cvt.sat.f32.f32 %f4, %f1;", "%f4", |a| {
            bits32(if a.is_nan() {
                0.0
            } else {
                a.clamp(0.0, 1.0) + 0.0
            })
        }),
        ("cvt.f64.f32 %fd4, %f1;", "%fd4", |a| bits64(f64::from(a))),
        (
            "cvt.f64.f32 %fd3, %f1; cvt.rn.f32.f64 %f4, %fd3;",
            "%f4",
            bits32,
        ),
    ];
    for (instruction, result, reference) in table {
        for (row, got) in rows.iter().zip(evaluate(instruction, result, &rows)) {
            assert_eq!(
                got,
                reference(single(row[0])),
                "{instruction} of {}",
                single(row[0])
            );
        }
    }
}

#[test]
fn half_precision_goes_through_cvt() {
    let got = run(
        "cvt.rn.f32.u32 %f1, %r0; cvt.rn.f16.f32 %rs1, %f1; cvt.f32.f16 %f2, %rs1;
        mul.f32 %f2, %f2, 0f3F000000; st.global.f32 [%rd0], %f2;",
    )
    .words();
    assert_eq!(got.map(f32::from_bits)[31], 15.5);
}

#[test]
fn number_tests_tell_kinds_apart() {
    let rows = rows32();
    let table: [(&str, fn(f32) -> bool); 6] = [
        ("finite", f32::is_finite),
        ("infinite", f32::is_infinite),
        ("number", |a| !a.is_nan()),
        ("notanumber", f32::is_nan),
        // PTX ISA: "positive and negative zero are considered normal numbers".
        ("normal", |a| a.is_normal() || a == 0.0),
        ("subnormal", f32::is_subnormal),
    ];
    for (name, reference) in table {
        let got = evaluate(&format!("testp.{name}.f32 %p4, %f1;"), "%p4", &rows);
        for (row, got) in rows.iter().zip(got) {
            assert_eq!(
                got != 0,
                reference(single(row[0])),
                "{name} {}",
                single(row[0])
            );
        }
    }
}
