//! Tests of calls: parameters and results of every type, in registers and in memory.

use std::fmt::Write as _;

use super::cases::{Case, DOUBLE_WORD, Model, Row, Type};

/// Types of parameters in memory; register parameters exclude the 8-bit types and include
/// predicates.
const TYPES: [&str; 16] = [
    "b8", "u8", "s8", "b16", "u16", "s16", "f16", "b32", "u32", "s32", "f32", "b64", "u64", "s64",
    "f64", "b128",
];

fn in_registers() -> impl Iterator<Item = &'static str> {
    let wide = |ty: &&str| !matches!(*ty, "b8" | "u8" | "s8");
    TYPES.into_iter().filter(wide).chain(["pred"])
}

/// Copies a register; `mov` does not support all types.
fn copy(ty: &str, to: &str, from: &str) -> String {
    match ty {
        "b128" => format!("mov.b128 {{%low, %high}}, {from}; mov.b128 {to}, {{%low, %high}};"),
        "f16" => format!("mov.b16 {to}, {from};"),
        _ => format!("mov.{ty} {to}, {from};"),
    }
}

/// Returns the type used by loads and stores of `ty`.
fn in_memory(ty: &str) -> &str {
    if ty == "f16" { "b16" } else { ty }
}

/// Returns two functions for each type. `turn` swaps two values in registers, and `give` returns
/// the value it finds in memory.
pub(super) fn functions() -> String {
    let mut text = String::new();
    for ty in in_registers() {
        let _ = writeln!(
            text,
            ".func (.reg .{ty} %r0, .reg .{ty} %r1) turn_{ty}(.reg .{ty} %v0, .reg .{ty} %idle, .reg .{ty} %v1) {{
 .reg .b64 %low, %high; {} {} ret;
}}",
            copy(ty, "%r0", "%v1"),
            copy(ty, "%r1", "%v0")
        );
    }
    for ty in TYPES {
        let register = if ty.len() == 2 { "b16" } else { ty };
        let word = in_memory(ty);
        let _ = writeln!(
            text,
            ".func (.param .{ty} r) give_{ty}(.param .{ty} v) {{
 .reg .{register} %v; ld.param.{word} %v, [v]; st.param.{word} [r], %v; ret;
}}"
        );
    }
    text
}

/// Returns a case with values of this type in registers 0 and 1, and results in 4 and 5.
fn case(form: &str, ty: &'static str, instruction: String, values: usize) -> Case {
    let mut case = if ty == "b128" {
        let sources = vec![DOUBLE_WORD; 2 * values];
        let model = move |row: Row| match values {
            1 => row,
            _ => [row[2], row[3], row[0], row[1]],
        };
        let mut case = Case::new(form, DOUBLE_WORD, &sources, Model::Lane(Box::new(model)));
        case.before =
            String::from(" .reg .b128 %q<6>; mov.b128 %q0, {%a0, %a1}; mov.b128 %q1, {%a2, %a3};");
        case.after = String::from(" mov.b128 {%a4, %a5}, %q4;");
        if values == 2 {
            case.after += " mov.b128 {%a6, %a7}, %q5;";
        }
        case.results = sources;
        case
    } else {
        let of = Type::from_name(ty).expect("a type of values");
        // Loads of a byte extend it to the 16 bits of its register.
        let result = Type {
            bits: of.bits.max(16),
            ..of
        };
        let result = if of.bits == 1 { of } else { result };
        let model = move |row: Row| match values {
            1 => [result.write(of.read(row[0])), 0, 0, 0],
            _ => [row[1], row[0], 0, 0],
        };
        let sources = vec![of; values];
        let mut case = Case::new(form, result, &sources, Model::Lane(Box::new(model)));
        case.results = vec![result; values];
        case
    };
    case.instruction = instruction;
    case.types = vec![ty];
    case
}

/// Returns all cases; they call [`functions`].
pub(super) fn cases() -> Vec<Case> {
    let register = |ty: &str, n: usize| match ty {
        "b128" => format!("%q{n}"),
        _ => Type::from_name(ty).expect("a type of values").register(n),
    };
    let mut cases = Vec::new();
    for form in ["call", "call.uni"] {
        for ty in in_registers() {
            let [a, b, c, d] = [0, 1, 4, 5].map(|n| register(ty, n));
            let direct = format!("{form} ({c}, {d}), turn_{ty}, ({a}, {b}, {b});");
            let indirect = format!(
                "mov.u64 %a10, turn_{ty};
 proto: .callprototype (.reg .{ty} _, .reg .{ty} _) _ (.reg .{ty} _, .reg .{ty} _, .reg .{ty} _);
 {form} ({c}, {d}), %a10, ({a}, {b}, {b}), proto;"
            );
            cases.extend([direct, indirect].map(|text| case(form, ty, text, 2)));
            let discards = format!(
                "{form} ({c}, _), turn_{ty}, ({a}, {b}, {b}); {form} (_, {d}), turn_{ty}, ({a}, {a}, {b});"
            );
            cases.push(case(form, ty, discards, 2));
        }
        for ty in TYPES {
            let ([a, c], word) = ([0, 4].map(|n| register(ty, n)), in_memory(ty));
            let around = |call: &str| {
                format!(
                    "{{ .param .{ty} v; .param .{ty} r; st.param.{word} [v], {a}; {call} ld.param.{word} {c}, [r]; }}"
                )
            };
            let direct = around(&format!("{form} (r), give_{ty}, (v);"));
            let indirect = around(&format!(
                "mov.u64 %a10, give_{ty}; proto: .callprototype (.param .{ty} _) _ (.param .{ty} _);
 {form} (r), %a10, (v), proto;"
            ));
            cases.extend([direct, indirect].map(|text| case(form, ty, text, 1)));
        }
    }
    cases
}
