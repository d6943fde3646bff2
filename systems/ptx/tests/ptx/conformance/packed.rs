//! Models of packing (PTX ISA, "cvt.pack", "cvt"), of `lop3` with a predicate, and
//! of the shifts among the video instructions.

use super::cases::{Case, Model, PREDICATE, Row, Type, WORD, all_forms, has, types};
use super::exact::{HALF, Mode};
use super::memory::F32;

/// Adds cases of integers that are saturated and packed below the bits of a third.
fn integers(cases: &mut Vec<Case>) {
    let signed = Type::from_name("s32").expect("a type");
    for name in ["u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"] {
        let bits: u32 = name[1..].parse().expect("a width");
        let small = bits < 16;
        let form = format!("cvt.pack.sat.{name}.s32{}", if small { ".b32" } else { "" });
        let least = if name.starts_with('s') {
            -(1i128 << (bits - 1))
        } else {
            0
        };
        let greatest = least + (1i128 << bits) - 1;
        let model = move |row: Row| {
            let part = |at: usize| {
                let value = signed.read(row[at]).clamp(least, greatest);
                (value & ((1 << bits) - 1)) as u64
            };
            let rest = if small { row[2] << (2 * bits) } else { 0 };
            (rest | part(0) << bits | part(1)) & 0xffff_ffff
        };
        let sources = if small {
            vec![signed, signed, WORD]
        } else {
            vec![signed, signed]
        };
        cases.push(Case::lane(&form, WORD, &sources, model));
    }
}

/// Returns the magnitude of a number of 8 bits without its sign.
fn eighth(format: &str, code: u64) -> f64 {
    let (fraction, bias) = if format == "e4m3x2" { (3, 7) } else { (2, 15) };
    let (exponent, part) = (code >> fraction, code & ((1 << fraction) - 1));
    let part = part as f64 / f64::from(1 << fraction);
    match exponent {
        0 => part * 2f64.powi(1 - bias),
        _ => (1.0 + part) * 2f64.powi(exponent as i32 - bias),
    }
}

/// Returns the nearest number of 8 bits, the even one of two; none is above the greatest.
fn nearest(format: &str, value: f64, relu: bool) -> u64 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value.is_sign_negative() {
        return 0;
    }
    let greatest = if format == "e4m3x2" { 0x7e } else { 0x7b };
    let distance = |code: &u64| (eighth(format, *code) - value.abs()).abs();
    let nearest = (0..=greatest).min_by(|a, b| {
        let order = distance(a).total_cmp(&distance(b));
        order.then((a & 1).cmp(&(b & 1)))
    });
    let found = if value.abs() >= eighth(format, greatest) {
        greatest
    } else {
        nearest.expect("there are numbers")
    };
    found | u64::from(value.is_sign_negative()) << 7
}

/// Adds cases of pairs of 8-bit floating-point numbers.
fn eighths(cases: &mut Vec<Case>) {
    let short = Type::from_name("b16").expect("a type");
    for form in all_forms("cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.{f32,f16x2}") {
        let from = types(&form)[0];
        let format = if has(&form, "e4m3x2") {
            "e4m3x2"
        } else {
            "e5m2x2"
        };
        let relu = has(&form, "relu");
        let model = move |row: Row| {
            let [high, low] = if from.is_pair() {
                [row[0] >> 16, row[0] & 0xffff].map(|bits| HALF.value(bits))
            } else {
                [row[0], row[1]].map(|bits| F32.format().value(bits))
            };
            nearest(format, high, relu) << 8 | nearest(format, low, relu)
        };
        let count = if from.is_pair() { 1 } else { 2 };
        cases.push(Case::lane(&form, short, &vec![from; count], model));
    }
    for form in all_forms("cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}") {
        let to = types(&form)[0];
        let format = if has(&form, "e4m3x2") {
            "e4m3x2"
        } else {
            "e5m2x2"
        };
        let relu = has(&form, "relu");
        let model = move |row: Row| {
            let half = |bits: u64| {
                let (sign, code) = (bits >> 7 & 1, bits & 0x7f);
                let infinite = format == "e5m2x2" && code == 0x7c;
                let is_nan = if format == "e5m2x2" {
                    code > 0x7c
                } else {
                    code == 0x7f
                };
                if is_nan {
                    return HALF.nan();
                }
                if relu && sign == 1 {
                    return 0;
                }
                let value = if infinite {
                    f64::INFINITY
                } else {
                    eighth(format, code)
                };
                let number = super::exact::DOUBLE.read(value.to_bits());
                HALF.round(Mode::Nearest, number) | sign << 15
            };
            half(row[0] >> 8 & 0xff) << 16 | half(row[0] & 0xff)
        };
        cases.push(Case::lane(&form, to, &[short], model));
    }
}

/// Adds cases of `lop3` whose result is tested and combined with a predicate.
fn tests(cases: &mut Vec<Case>) {
    for form in all_forms("lop3.{or,and}.b32") {
        let is_or = has(&form, "or");
        let model = move |row: Row| {
            // Table 0xca selects the second or the third by the first.
            let value = row[0] & row[1] | !row[0] & row[2] & 0xffff_ffff;
            let is_some = u64::from(value != 0);
            let test = if is_or {
                is_some | row[3]
            } else {
                is_some & row[3]
            };
            [value, test, 0, 0]
        };
        let sources = [WORD, WORD, WORD, PREDICATE];
        let mut case = Case::new(&form, WORD, &sources, Model::Lane(Box::new(model)));
        case.instruction = format!("{form} %w4|%p5, %w0, %w1, %w2, 0xca, %p3;");
        case.results = vec![WORD, PREDICATE];
        cases.push(case);
    }
}

/// Adds cases of shifts followed by a sum, a minimum or a maximum.
fn shifts(cases: &mut Vec<Case>) {
    let patterns = "{vshl,vshr}.{u32,s32}.{u32,s32}.u32.{clamp,wrap}{,.add,.min,.max}";
    for form in all_forms(patterns) {
        let [to, from, _] = types(&form)[..] else {
            panic!("{form}")
        };
        let name = form.clone();
        let then = ["add", "min", "max"]
            .into_iter()
            .find(|word| has(&form, word));
        let model = move |row: Row| {
            let by = if has(&name, "wrap") {
                row[1] % 32
            } else {
                row[1].min(32)
            };
            let value = from.read(row[0]);
            let moved = if name.starts_with("vshl") {
                value * (1 << by)
            } else {
                value.div_euclid(1 << by)
            };
            let (first, second) = (to.read(to.write(moved)), to.read(row[2]));
            to.write(match then {
                None => first,
                Some("add") => first + second,
                Some("min") => first.min(second),
                _ => first.max(second),
            })
        };
        let sources = if then.is_some() {
            vec![from, WORD, to]
        } else {
            vec![from, WORD]
        };
        cases.push(Case::lane(&form, to, &sources, model));
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    integers(&mut cases);
    eighths(&mut cases);
    tests(&mut cases);
    shifts(&mut cases);
    cases
}
