//! Models of comparisons: the order of two values, and the orders for which each name is true (PTX
//! ISA, "Comparison and Selection").

use std::cmp::Ordering;

use super::cases::{Case, Kind, Model, PREDICATE, Row, Type, all_forms, has, types};

const SETP: &str = "
    setp.{eq,ne}{,.and,.or,.xor}.{b16,b32,b64}
    setp.{eq,ne,lt,le,gt,ge}{,.and,.or,.xor}.{u16,s16,u32,s32,u64,s64}
    setp.{lo,ls,hi,hs}{,.and,.or,.xor}.{u16,u32,u64}
    setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}{,.ftz}.{f32,f16,f16x2}
    setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}.{f64,bf16,bf16x2}
";

const SET: &str = "
    set.{eq,ne}{,.and,.or,.xor}.{u32,s32,f32}.{b16,b32,b64}
    set.{eq,ne,lt,le,gt,ge}{,.and,.or,.xor}.{u32,s32,f32}.{u16,s16,u32,s32,u64,s64}
    set.{lo,ls,hi,hs}{,.and,.or,.xor}.{u32,s32,f32}.{u16,u32,u64}
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}{,.ftz}.{u32,s32,f32}.f32
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}.{u32,s32,f32}.f64
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}{,.ftz}.{f16.f16,f16x2.f16x2}
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.and,.or,.xor}.{bf16.bf16,bf16x2.bf16x2}
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.{u32,s32}.{f16,f16x2}
    set.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{u32,s32}.{bf16,bf16x2}
    set.{lt,geu}{,.and}{,.ftz}.{u16,s16}.f16 set.{lt,geu}{,.and}.{u16,s16}.bf16
    set.{lt,geu}{,.xor}{,.ftz}.{f16,bf16}.f32 set.{lt,geu}{,.xor}.{f16,bf16}.f64
    set.{eq,ne}{,.or}.{f16,bf16}.{b16,b32,b64} set.{lt,ge}{,.or}.{f16,bf16}.{u16,s16,u32,s32,u64,s64}
";

/// True if the comparison is true for this order; `None` stands for NaN.
fn holds(name: &str, order: Option<Ordering>) -> bool {
    let Some(order) = order else {
        return name == "nan" || name != "num" && name.len() == 3;
    };
    match &name[..2] {
        "eq" => order == Ordering::Equal,
        "ne" => order != Ordering::Equal,
        "lt" | "lo" => order == Ordering::Less,
        "le" | "ls" => order != Ordering::Greater,
        "gt" | "hi" => order == Ordering::Greater,
        "ge" | "hs" => order != Ordering::Less,
        "nu" => true,
        _ => false,
    }
}

fn compared(form: &str, ty: Type, a: u64, b: u64) -> bool {
    let name = form.split('.').nth(1).unwrap_or_default();
    let order = match ty.kind {
        Kind::Float(format) | Kind::Floats(format) => {
            let read = |bits| {
                if has(form, "ftz") {
                    format.flush(bits)
                } else {
                    bits
                }
            };
            format.compare(read(a), read(b))
        }
        _ => Some(ty.read(a).cmp(&ty.read(b))),
    };
    holds(name, order)
}

fn combined(form: &str, held: bool, with: bool) -> bool {
    if has(form, "and") {
        held && with
    } else if has(form, "or") {
        held || with
    } else if has(form, "xor") {
        held != with
    } else {
        held
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let combines = |form: &str| has(form, "and") || has(form, "or") || has(form, "xor");
    for form in all_forms(SETP) {
        let ty = types(&form)[0];
        let mut sources = vec![ty, ty];
        if combines(&form) {
            sources.push(PREDICATE);
        }
        let name = form.clone();
        // The second result combines the inverse of the comparison or, for pairs, the comparison of
        // the upper halves.
        let model = move |row: Row| {
            let held = if ty.is_pair() {
                [0, 16].map(|at| {
                    let [a, b] = [row[0], row[1]].map(|pair| pair >> at & 0xffff);
                    compared(&name, ty, a, b)
                })
            } else {
                let held = compared(&name, ty, row[0], row[1]);
                [held, !held]
            };
            let [p, q] = held.map(|held| combined(&name, held, row[2] == 1));
            [u64::from(p), u64::from(q), 0, 0]
        };
        let mut case = Case::new(&form, PREDICATE, &sources, Model::Lane(Box::new(model)));
        case.instruction = case.instruction.replacen("%p4", "%p4|%p5", 1);
        case.results = vec![PREDICATE, PREDICATE];
        cases.push(case);
    }
    for form in all_forms(SET) {
        let [to, ty] = types(&form)[..] else {
            panic!("{form}")
        };
        let mut sources = vec![ty, ty];
        if combines(&form) {
            sources.push(PREDICATE);
        }
        let name = form.clone();
        let model = move |row: Row| {
            let one = match to.kind {
                Kind::Float(format) | Kind::Floats(format) => format.one(),
                _ if ty.is_pair() => 0xffff,
                _ => to.write(-1),
            };
            let with = row[2] == 1;
            super::floats::each(ty, row, |[a, b, _]| {
                let held = compared(&name, ty, a, b);
                if combined(&name, held, with) { one } else { 0 }
            })
        };
        cases.push(Case::lane(&form, to, &sources, model));
    }
    cases
}
