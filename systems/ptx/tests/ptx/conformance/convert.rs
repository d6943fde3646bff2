//! Models of conversions through exact numbers (PTX ISA, "cvt").

use super::cases::{Case, Kind, Row, Type, all_forms, has, types};
use super::exact::{clamped, integer, whole};
use super::floats::mode;

const FORMS: &str = "
    cvt{,.sat}.{u8,s8,u16,s16,u32,s32,u64,s64}.{u8,s8,u16,s16,u32,s32,u64,s64}
    cvt.{rni,rzi,rmi,rpi}{,.sat}.{u8,s8,u16,s16,u32,s32,u64,s64}.{f16,bf16,f32,f64}
    cvt.{rni,rzi,rmi,rpi}.ftz{,.sat}.{u8,s8,u16,s16,u32,s32,u64,s64}.f32
    cvt.{rn,rz,rm,rp}{,.sat}.{f16,bf16,f32,f64}.{u8,s8,u16,s16,u32,s32,u64,s64}
    cvt{,.ftz}{,.sat}.{f32,f64}.f16 cvt{,.sat}.{f32,f64}.bf16 cvt{,.ftz}{,.sat}.f64.f32
    cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64 cvt.{rn,rz,rm,rp}{,.sat}.{f16,bf16}.f64
    cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f16.f32 cvt.{rn,rz,rm,rp}{,.sat}.bf16.f32
    cvt.{rn,rz}{,.relu}{,.satfinite}.{f16,bf16}.f32
    cvt.{rn,rz,rm,rp}.{bf16.f16,f16.bf16}
    cvt{,.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32 cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}.{f64.f64,f16.f16,bf16.bf16}
    cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32
";

fn converted(form: &str, to: Type, from: Type, bits: u64) -> u64 {
    let mode = mode(form);
    let number = if let Kind::Float(format) = from.kind {
        let flushes = has(form, "ftz") && from.bits == 32;
        format.read(if flushes { format.flush(bits) } else { bits })
    } else {
        let value = from.read(bits);
        if !matches!(to.kind, Kind::Float(_)) {
            return if has(form, "sat") {
                to.clamp(value)
            } else {
                to.write(value)
            };
        }
        integer(value)
    };
    let (Kind::Float(format) | Kind::Floats(format)) = to.kind else {
        let (low, high) = to.limits();
        // A NaN is zero, but with 64 bits on either side the number of the top bit alone.
        let wide = from.bits == 64 || to.bits == 64;
        let nan = if wide { 1 << (to.bits - 1) } else { 0 };
        return clamped(&whole(mode, number), low, high).map_or(nan, |value| to.write(value));
    };
    let integral = ["rni", "rzi", "rmi", "rpi"]
        .iter()
        .any(|mode| has(form, mode));
    let number = if integral {
        whole(mode, number)
    } else {
        number
    };
    let mut bits = format.round(mode, number);
    if has(form, "satfinite") && (bits & (format.sign() - 1)) == format.infinity() {
        bits -= 1;
    }
    if has(form, "sat") {
        bits = format.saturate(bits);
    }
    if has(form, "relu") && !format.is_nan(bits) && bits & format.sign() != 0 {
        bits = 0;
    }
    if has(form, "ftz") && to.bits == 32 {
        format.flush(bits)
    } else {
        bits
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in all_forms(FORMS) {
        let [to, from] = types(&form)[..] else {
            panic!("{form}")
        };
        let name = form.clone();
        if to.is_pair() {
            let model = move |row: Row| {
                let [a, b] = [0, 1].map(|at| converted(&name, to, from, row[at]));
                a << 16 | b
            };
            cases.push(Case::lane(&form, to, &[from, from], model));
            continue;
        }
        // Values of eight bits sit in registers of 16, extended by their own sign.
        let register = Type {
            bits: to.bits.max(16),
            ..to
        };
        let model = move |row: Row| register.write(to.read(converted(&name, to, from, row[0])));
        cases.push(Case::lane(&form, register, &[from], model));
        if to.bits < 64
            && matches!(
                (to.kind, from.kind),
                (Kind::Signed | Kind::Unsigned, Kind::Signed | Kind::Unsigned)
            )
        {
            let wide = Type { bits: 64, ..to };
            let name = form.clone();
            let model = move |row: Row| wide.write(to.read(converted(&name, to, from, row[0])));
            let mut case = Case::lane(&form, wide, &[Type { bits: 64, ..from }], model);
            case.instruction = format!("{form} %a4, %a0;");
            cases.push(case);
        }
    }
    cases
}
