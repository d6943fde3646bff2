//! Tests of integer instructions against Rust's integer arithmetic.

use proptest::prelude::*;

use crate::harness::{check, evaluate};

type Reference = fn(u64, u64, u64) -> u64;

fn w(f: impl Fn(u32, u32, u32) -> u32) -> impl Fn(u64, u64, u64) -> u64 {
    move |a, b, c| u64::from(f(a as u32, b as u32, c as u32))
}

#[test]
fn words_add_subtract_multiply_and_divide_like_rust() {
    let table: [(&str, fn(u32, u32, u32) -> u32); 24] = [
        ("add.u32", |a, b, _| a.wrapping_add(b)),
        ("add.sat.s32", |a, b, _| {
            (a as i32).saturating_add(b as i32) as u32
        }),
        ("sub.s32", |a, b, _| a.wrapping_sub(b)),
        ("sub.sat.s32", |a, b, _| {
            (a as i32).saturating_sub(b as i32) as u32
        }),
        ("mul.lo.s32", |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u32", |a, b, _| {
            ((u64::from(a) * u64::from(b)) >> 32) as u32
        }),
        ("mul.hi.s32", |a, b, _| {
            ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
        }),
        ("mul24.lo.u32", |a, b, _| {
            (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff)
        }),
        ("mul24.lo.s32", |a, b, _| {
            let s = |v: u32| ((v << 8) as i32) >> 8;
            s(a).wrapping_mul(s(b)) as u32
        }),
        ("mul24.hi.u32", |a, b, _| {
            ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 16) as u32
        }),
        ("div.u32", |a, b, _| if b == 0 { u32::MAX } else { a / b }),
        ("div.s32", |a, b, _| {
            if b == 0 {
                u32::MAX
            } else {
                (a as i32).wrapping_div(b as i32) as u32
            }
        }),
        ("rem.u32", |a, b, _| if b == 0 { a } else { a % b }),
        ("rem.s32", |a, b, _| {
            if b == 0 {
                a
            } else {
                (a as i32).wrapping_rem(b as i32) as u32
            }
        }),
        ("min.u32", |a, b, _| a.min(b)),
        ("min.s32", |a, b, _| (a as i32).min(b as i32) as u32),
        ("max.u32", |a, b, _| a.max(b)),
        ("max.s32", |a, b, _| (a as i32).max(b as i32) as u32),
        ("and.b32", |a, b, _| a & b),
        ("or.b32", |a, b, _| a | b),
        ("xor.b32", |a, b, _| a ^ b),
        ("shl.b32", |a, b, _| if b > 31 { 0 } else { a << b }),
        ("shr.u32", |a, b, _| if b > 31 { 0 } else { a >> b }),
        ("shr.s32", |a, b, _| (a as i32 >> b.min(31)) as u32),
    ];
    for (opcode, reference) in table {
        check(&format!("{opcode} %r4, %r1, %r2;"), "%r4", w(reference));
    }
}

#[test]
fn double_words_add_subtract_multiply_and_divide_like_rust() {
    let table: [(&str, Reference); 16] = [
        ("add.s64", |a, b, _| a.wrapping_add(b)),
        ("sub.u64", |a, b, _| a.wrapping_sub(b)),
        ("mul.lo.s64", |a, b, _| a.wrapping_mul(b)),
        ("mul.hi.u64", |a, b, _| {
            ((u128::from(a) * u128::from(b)) >> 64) as u64
        }),
        ("mul.hi.s64", |a, b, _| {
            ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
        }),
        ("div.u64", |a, b, _| if b == 0 { u64::MAX } else { a / b }),
        ("div.s64", |a, b, _| {
            if b == 0 {
                u64::MAX
            } else {
                (a as i64).wrapping_div(b as i64) as u64
            }
        }),
        ("rem.u64", |a, b, _| if b == 0 { a } else { a % b }),
        ("rem.s64", |a, b, _| {
            if b == 0 {
                a
            } else {
                (a as i64).wrapping_rem(b as i64) as u64
            }
        }),
        ("min.s64", |a, b, _| (a as i64).min(b as i64) as u64),
        ("max.u64", |a, b, _| a.max(b)),
        ("min.u64", |a, b, _| a.min(b)),
        ("max.s64", |a, b, _| (a as i64).max(b as i64) as u64),
        ("and.b64", |a, b, _| a & b),
        ("or.b64", |a, b, _| a | b),
        ("xor.b64", |a, b, _| a ^ b),
    ];
    for (opcode, reference) in table {
        check(&format!("{opcode} %rd4, %rd1, %rd2;"), "%rd4", reference);
    }
    check("shl.b64 %rd4, %rd1, %r2;", "%rd4", |a, b, _| {
        a.checked_shl(b as u32).unwrap_or(0)
    });
    check("shr.u64 %rd4, %rd1, %r2;", "%rd4", |a, b, _| {
        a.checked_shr(b as u32).unwrap_or(0)
    });
    check("shr.s64 %rd4, %rd1, %r2;", "%rd4", |a, b, _| {
        (a as i64 >> (b as u32).min(63)) as u64
    });
}

#[test]
fn shifts_by_constants_clamp_at_the_width() {
    for by in [0u32, 1, 7, 15, 16, 31, 32, 40, 63, 64, 99] {
        check(
            &format!("shl.b32 %r4, %r1, {by};"),
            "%r4",
            w(|a, _, _| a.checked_shl(by).unwrap_or(0)),
        );
        check(
            &format!("shr.u32 %r4, %r1, {by};"),
            "%r4",
            w(|a, _, _| a.checked_shr(by).unwrap_or(0)),
        );
        check(
            &format!("shr.s32 %r4, %r1, {by};"),
            "%r4",
            w(|a, _, _| (a as i32 >> by.min(31)) as u32),
        );
        check(&format!("shl.b64 %rd4, %rd1, {by};"), "%rd4", |a, _, _| {
            a.checked_shl(by).unwrap_or(0)
        });
        check(&format!("shr.u64 %rd4, %rd1, {by};"), "%rd4", |a, _, _| {
            a.checked_shr(by).unwrap_or(0)
        });
        check(&format!("shr.s64 %rd4, %rd1, {by};"), "%rd4", |a, _, _| {
            (a as i64 >> by.min(63)) as u64
        });
        check(&format!("shr.s16 %rs4, %rs1, {by};"), "%rs4", |a, _, _| {
            u64::from((a as i16 >> by.min(15)) as u16)
        });
        check(&format!("shl.b16 %rs4, %rs1, {by};"), "%rs4", |a, _, _| {
            u64::from((a as u16).checked_shl(by).unwrap_or(0))
        });
    }
}

#[test]
fn halves_wrap_at_sixteen_bits() {
    let table: [(&str, fn(u16, u16) -> u16); 13] = [
        ("add.s16", u16::wrapping_add),
        ("sub.u16", u16::wrapping_sub),
        ("mul.lo.s16", u16::wrapping_mul),
        ("mul.hi.u16", |a, b| {
            ((u32::from(a) * u32::from(b)) >> 16) as u16
        }),
        ("mul.hi.s16", |a, b| {
            ((i32::from(a as i16) * i32::from(b as i16)) >> 16) as u16
        }),
        ("div.u16", |a, b| if b == 0 { u16::MAX } else { a / b }),
        ("rem.s16", |a, b| {
            if b == 0 {
                a
            } else {
                (a as i16).wrapping_rem(b as i16) as u16
            }
        }),
        ("min.s16", |a, b| (a as i16).min(b as i16) as u16),
        ("max.u16", u16::max),
        ("and.b16", |a, b| a & b),
        ("or.b16", |a, b| a | b),
        ("xor.b16", |a, b| a ^ b),
        ("max.s16", |a, b| (a as i16).max(b as i16) as u16),
    ];
    for (opcode, reference) in table {
        check(&format!("{opcode} %rs4, %rs1, %rs2;"), "%rs4", |a, b, _| {
            u64::from(reference(a as u16, b as u16))
        });
    }
    check("mul.wide.s16 %r4, %rs1, %rs2;", "%r4", |a, b, _| {
        u64::from((i32::from(a as i16) * i32::from(b as i16)) as u32)
    });
    check("mul.wide.u16 %r4, %rs1, %rs2;", "%r4", |a, b, _| {
        u64::from(u32::from(a as u16) * u32::from(b as u16))
    });
    check("mad.lo.s16 %rs4, %rs1, %rs2, %rs3;", "%rs4", |a, b, c| {
        u64::from((a as u16).wrapping_mul(b as u16).wrapping_add(c as u16))
    });
}

#[test]
fn wide_products_and_multiply_add_keep_all_bits() {
    check("mul.wide.u32 %rd4, %r1, %r2;", "%rd4", |a, b, _| {
        u64::from(a as u32) * u64::from(b as u32)
    });
    check("mul.wide.s32 %rd4, %r1, %r2;", "%rd4", |a, b, _| {
        (i64::from(a as i32) * i64::from(b as i32)) as u64
    });
    check("mad.wide.s32 %rd4, %r1, %r2, %rd3;", "%rd4", |a, b, c| {
        ((i64::from(a as i32) * i64::from(b as i32)) as u64).wrapping_add(c)
    });
    check("mad.wide.u32 %rd4, %r1, %r2, %rd3;", "%rd4", |a, b, c| {
        (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)
    });
    check(
        "mad.lo.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
    );
    check(
        "mad.hi.s32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| (((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32).wrapping_add(c)),
    );
    check(
        "mad.hi.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| (((u64::from(a) * u64::from(b)) >> 32) as u32).wrapping_add(c)),
    );
    check("mad.lo.s64 %rd4, %rd1, %rd2, %rd3;", "%rd4", |a, b, c| {
        a.wrapping_mul(b).wrapping_add(c)
    });
    check(
        "mad24.lo.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)),
    );
    check(
        "sad.s32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c)),
    );
    check(
        "sad.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| a.abs_diff(b).wrapping_add(c)),
    );
}

#[test]
fn single_operand_instructions_match_rust() {
    let table: [(&str, &str, Reference); 22] = [
        ("neg.s32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from((a as u32).wrapping_neg())
        }),
        ("abs.s32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from((a as i32).wrapping_abs() as u32)
        }),
        ("not.b32 %r4, %r1;", "%r4", |a, _, _| u64::from(!a as u32)),
        ("cnot.b32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from(a as u32 == 0)
        }),
        ("brev.b32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from((a as u32).reverse_bits())
        }),
        ("clz.b32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from((a as u32).leading_zeros())
        }),
        ("popc.b32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from((a as u32).count_ones())
        }),
        ("neg.s64 %rd4, %rd1;", "%rd4", |a, _, _| a.wrapping_neg()),
        ("abs.s64 %rd4, %rd1;", "%rd4", |a, _, _| {
            (a as i64).wrapping_abs() as u64
        }),
        ("not.b64 %rd4, %rd1;", "%rd4", |a, _, _| !a),
        ("brev.b64 %rd4, %rd1;", "%rd4", |a, _, _| a.reverse_bits()),
        ("clz.b64 %r4, %rd1;", "%r4", |a, _, _| {
            u64::from(a.leading_zeros())
        }),
        ("popc.b64 %r4, %rd1;", "%r4", |a, _, _| {
            u64::from(a.count_ones())
        }),
        ("neg.s16 %rs4, %rs1;", "%rs4", |a, _, _| {
            u64::from((a as u16).wrapping_neg())
        }),
        ("abs.s16 %rs4, %rs1;", "%rs4", |a, _, _| {
            u64::from((a as i16).wrapping_abs() as u16)
        }),
        ("not.b16 %rs4, %rs1;", "%rs4", |a, _, _| {
            u64::from(!a as u16)
        }),
        ("bfind.u32 %r4, %r1;", "%r4", |a, _, _| {
            u64::from(31u32.wrapping_sub((a as u32).leading_zeros()))
        }),
        ("bfind.s32 %r4, %r1;", "%r4", |a, _, _| {
            let a = a as i32;
            u64::from(31u32.wrapping_sub((if a < 0 { !a } else { a }).leading_zeros()))
        }),
        ("bfind.u64 %r4, %rd1;", "%r4", |a, _, _| {
            u64::from(63u32.wrapping_sub(a.leading_zeros()))
        }),
        ("bfind.s64 %r4, %rd1;", "%r4", |a, _, _| {
            let a = a as i64;
            u64::from(63u32.wrapping_sub((if a < 0 { !a } else { a }).leading_zeros()))
        }),
        ("bfind.shiftamt.u32 %r4, %r1;", "%r4", |a, _, _| {
            match a as u32 {
                0 => u64::from(u32::MAX),
                a => u64::from(a.leading_zeros()),
            }
        }),
        ("bfind.shiftamt.u64 %r4, %rd1;", "%r4", |a, _, _| match a {
            0 => u64::from(u32::MAX),
            a => u64::from(a.leading_zeros()),
        }),
    ];
    for (instruction, result, reference) in table {
        check(instruction, result, reference);
    }
}

/// Computes `bfe` bit by bit, as in the pseudo-code of the ISA.
fn slow_extract(a: u64, b: u64, c: u64, bits: u64, signed: bool) -> u64 {
    let (position, length) = (b & 0xff, c & 0xff);
    let sign = if !signed || length == 0 {
        0
    } else {
        a >> (position + length - 1).min(bits - 1) & 1
    };
    (0..bits).fold(0, |out, i| {
        let bit = if i < length && position + i < bits {
            a >> (position + i) & 1
        } else {
            sign
        };
        out | bit << i
    })
}

#[test]
fn bit_fields_follow_the_pseudo_code() {
    check("bfe.u32 %r4, %r1, %r2, %r3;", "%r4", |a, b, c| {
        slow_extract(a, b, c, 32, false)
    });
    check("bfe.s32 %r4, %r1, %r2, %r3;", "%r4", |a, b, c| {
        slow_extract(a, b, c, 32, true)
    });
    check("bfe.u64 %rd4, %rd1, %r2, %r3;", "%rd4", |a, b, c| {
        slow_extract(a, b, c, 64, false)
    });
    check("bfe.s64 %rd4, %rd1, %r2, %r3;", "%rd4", |a, b, c| {
        slow_extract(a, b, c, 64, true)
    });
    let insert = |a: u64, into: u64, position: u64, length: u64, bits: u64| {
        (0..bits).fold(0, |out, i| {
            let inside = i >= position && i < position + length;
            let bit = if inside {
                a >> (i - position) & 1
            } else {
                into >> i & 1
            };
            out | bit << i
        })
    };
    for (position, length) in [(0, 0), (0, 32), (4, 8), (31, 4), (40, 8), (16, 64)] {
        check(
            &format!("bfi.b32 %r4, %r1, %r2, {position}, {length};"),
            "%r4",
            |a, b, _| insert(a, b, position, length, 32),
        );
        check(
            &format!("bfi.b64 %rd4, %rd1, %rd2, {position}, {length};"),
            "%rd4",
            |a, b, _| insert(a, b, position, length, 64),
        );
    }
    check(
        "bmsk.clamp.b32 %r4, %r1, %r2;",
        "%r4",
        w(|a, b, _| {
            (0..32)
                .filter(|i| (u64::from(a)..u64::from(a) + u64::from(b)).contains(i))
                .fold(0, |m, i| m | 1 << i)
        }),
    );
}

#[test]
fn permutes_funnels_and_tables_match_their_definitions() {
    check(
        "prmt.b32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| {
            let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
            let pick = |n: u32| {
                let byte = bytes[(n & 7) as usize];
                if n & 8 == 0 {
                    byte
                } else {
                    ((byte as i8) >> 7) as u8
                }
            };
            u32::from_le_bytes([pick(c), pick(c >> 4), pick(c >> 8), pick(c >> 12)])
        }),
    );
    check(
        "prmt.b32.f4e %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| ((u64::from(b) << 32 | u64::from(a)) >> (8 * (c & 3))) as u32),
    );
    check(
        "shf.l.wrap.b32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| match c & 31 {
            0 => b,
            n => b << n | a >> (32 - n),
        }),
    );
    check(
        "shf.r.wrap.b32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| match c & 31 {
            0 => a,
            n => a >> n | b << (32 - n),
        }),
    );
    check(
        "shf.l.clamp.b32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| match c.min(32) {
            0 => b,
            32 => a,
            n => b << n | a >> (32 - n),
        }),
    );
    check(
        "shf.r.clamp.b32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| match c.min(32) {
            0 => a,
            32 => b,
            n => a >> n | b << (32 - n),
        }),
    );
    check(
        "lop3.b32 %r4, %r1, %r2, %r3, 0xe8;",
        "%r4",
        w(|a, b, c| a & b | a & c | b & c),
    );
    check(
        "lop3.b32 %r4, %r1, %r2, %r3, 0x96;",
        "%r4",
        w(|a, b, c| a ^ b ^ c),
    );
    check(
        "dp4a.u32.u32 %r4, %r1, %r2, %r3;",
        "%r4",
        w(|a, b, c| {
            let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
            products.fold(c, |sum, (a, b)| {
                sum.wrapping_add(u32::from(a) * u32::from(b))
            })
        }),
    );
}

#[test]
fn carry_chains_make_wider_arithmetic() {
    let split = "shr.u64 %rd5, %rd1, 32; cvt.u32.u64 %r5, %rd5; shr.u64 %rd6, %rd2, 32; \
                 cvt.u32.u64 %r6, %rd6;";
    check(
        &format!(
            "{split} add.cc.u32 %r7, %r1, %r2; addc.u32 %r8, %r5, %r6; mov.b64 %rd4, {{%r7, %r8}};"
        ),
        "%rd4",
        |a, b, _| a.wrapping_add(b),
    );
    check(
        &format!(
            "{split} sub.cc.u32 %r7, %r1, %r2; subc.u32 %r8, %r5, %r6; mov.b64 %rd4, {{%r7, %r8}};"
        ),
        "%rd4",
        |a, b, _| a.wrapping_sub(b),
    );
    check(
        "mad.lo.cc.u32 %r7, %r1, %r2, %r3; madc.hi.u32 %r8, %r1, %r2, 0; mov.b64 %rd4, {%r7, %r8};",
        "%rd4",
        |a, b, c| u64::from(a as u32) * u64::from(b as u32) + u64::from(c as u32),
    );
    check(
        "add.cc.u64 %rd5, %rd1, %rd2; addc.u64 %rd4, 0, 0;",
        "%rd4",
        |a, b, _| u64::from(a.checked_add(b).is_none()),
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_words_agree_with_rust(rows in prop::collection::vec(any::<[u64; 3]>(), 1..64)) {
        let table: [(&str, &str, Reference); 6] = [
            ("mad.lo.u32 %r4, %r1, %r2, %r3;", "%r4", |a, b, c| {
                u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))
            }),
            ("sub.u64 %rd4, %rd1, %rd2;", "%rd4", |a, b, _| a.wrapping_sub(b)),
            ("mul.hi.s64 %rd4, %rd1, %rd2;", "%rd4", |a, b, _| {
                ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
            }),
            ("rem.s32 %r4, %r1, %r2;", "%r4", |a, b, _| {
                let (a, b) = (a as i32, b as i32);
                u64::from(if b == 0 { a as u32 } else { a.wrapping_rem(b) as u32 })
            }),
            ("bfe.s64 %rd4, %rd1, %r2, %r3;", "%rd4", |a, b, c| slow_extract(a, b, c, 64, true)),
            ("lop3.b32 %r4, %r1, %r2, %r3, 0xca;", "%r4", |a, b, c| (a & b | !a & c) & 0xffff_ffff),
        ];
        for (instruction, result, reference) in table {
            let got = evaluate(instruction, result, &rows);
            for (row, got) in rows.iter().zip(got) {
                prop_assert_eq!(got, reference(row[0], row[1], row[2]), "{} of {:x?}", instruction, row);
            }
        }
    }
}
