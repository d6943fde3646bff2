//! Models of vectors: moves, accesses of 32 bytes, atomics element by element, and matrices of
//! eight rows (PTX ISA, "ld", "red", "ldmatrix").

use super::cases::{Case, DOUBLE_WORD, Model, Row, WORD, all_forms, forms, has, types};
use super::memory::{F32, SPACES, updated};

/// Adds cases of moves that exchange registers.
fn moves(cases: &mut Vec<Case>) {
    let all = |row: Row| row;
    for (form, instruction) in [
        (
            "mov.v2.b32",
            "mov.v2.b32 {%w4, %w5}, {%w0, %w1}; mov.v2.b32 {%w6, %w7}, {%w2, %w3};",
        ),
        (
            "mov.v4.u32",
            "mov.v4.u32 {%w0, %w1, %w2, %w3}, {%w3, %w0, %w1, %w2}; \
            mov.v4.u32 {%w4, %w5, %w6, %w7}, {%w1, %w2, %w3, %w0};",
        ),
        (
            "mov.v8.b32",
            "mov.v8.b32 {%w4, %w5, %w6, %w7, _, _, _, _}, \
            {%w0, %w1, %w2, %w3, 1, 2, 3, 4};",
        ),
    ] {
        let mut case = Case::new(form, WORD, &[WORD; 4], Model::Lane(Box::new(all)));
        case.instruction = String::from(instruction);
        case.results = vec![WORD; 4];
        cases.push(case);
    }
    let mut case = Case::new(
        "mov.v2.b64",
        DOUBLE_WORD,
        &[DOUBLE_WORD; 2],
        Model::Lane(Box::new(|row| [row[1], row[0], 0, 0])),
    );
    case.instruction =
        String::from("mov.v2.b64 {%a0, %a1}, {%a1, %a0}; mov.v2.b64 {%a4, %a5}, {%a0, %a1};");
    case.results = vec![DOUBLE_WORD; 2];
    cases.push(case);
}

/// Adds cases of loads and stores of eight words.
fn accesses(cases: &mut Vec<Case>) {
    for form in all_forms("{ld,st}.global.v8.{b32,u32,s32,f32}") {
        let model = |row: Row| row;
        let mut case = Case::new(
            &form,
            DOUBLE_WORD,
            &[DOUBLE_WORD; 4],
            Model::Lane(Box::new(model)),
        );
        let put: String = (0..4)
            .map(|n| format!(" st.global.b64 [%a10+{}], %a{n};", 8 * n))
            .collect();
        let ty = form.rsplit('.').next().unwrap_or_default().to_owned();
        let list = "{%w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7}";
        case.before = format!("{}{put}", SPACES[0].1);
        let (load, store) = if form.starts_with("ld") {
            (form.clone(), String::from("st.global.v4.b32"))
        } else {
            (format!("ld.global.v8.{ty}"), form.clone())
        };
        case.instruction = format!("{load} {list}, [%a10];");
        let zero: String = (0..4)
            .map(|n| format!(" st.global.b64 [%a10+{}], 0;", 8 * n))
            .collect();
        case.after = if form.starts_with("ld") {
            format!(
                "{zero} {store} [%a10], {{%w0, %w1, %w2, %w3}}; \
                 {store} [%a10+16], {{%w4, %w5, %w6, %w7}};"
            )
        } else {
            format!("{zero} {store} [%a10], {list};")
        };
        case.after +=
            " ld.global.v2.b64 {%a4, %a5}, [%a10]; ld.global.v2.b64 {%a6, %a7}, [%a10+16];";
        case.results = vec![DOUBLE_WORD; 4];
        cases.push(case);
    }
}

const ATOMICS: &str = "
    {atom,red}.global.add.{v2,v4}.f32 {atom,red}.{add,min,max}.noftz.{v2,v4,v8}.{f16,bf16}
    {atom,red}.relaxed.gpu.global.{add,min,max}.noftz.{v2,v4}.{f16x2,bf16x2}
";

/// Adds cases in which lanes contend for four vectors. Elements of even number share their values,
/// and so do those of odd number.
fn atomics(cases: &mut Vec<Case>) {
    for form in all_forms(ATOMICS) {
        let ty = types(&form)[0];
        let count = ["v2", "v4", "v8"].iter().position(|word| has(&form, word));
        let count = 2 << count.expect("a length");
        let operation = ["add", "min", "max"]
            .into_iter()
            .find(|word| has(&form, word));
        let operation = operation.expect("an operation");
        let returns = form.starts_with("atom");
        let model = move |rows: &[Row; 32]| {
            let mut cells: [[u64; 2]; 4] =
                std::array::from_fn(|cell| [rows[cell][0], rows[cell][1]]);
            let mut results = [[0; 4]; 32];
            for (lane, row) in rows.iter().enumerate() {
                for (at, cell) in cells[lane % 4].iter_mut().enumerate() {
                    results[lane][at] = if returns { *cell } else { 0 };
                    *cell = updated(operation, ty, [*cell, row[2 + at], 0], ty == F32);
                }
            }
            for (lane, result) in results.iter_mut().enumerate() {
                (result[2], result[3]) = (cells[lane % 4][0], cells[lane % 4][1]);
            }
            results
        };
        let mut case = Case::new(&form, ty, &[ty; 4], Model::Wave(Box::new(model)));
        let (bits, bytes) = (ty.bits, ty.bits as usize / 8);
        let put: String = (0..count)
            .map(|n| {
                format!(
                    " @%p10 st.global.b{bits} [%a10+{}], {};",
                    n * bytes,
                    ty.register(n % 2)
                )
            })
            .collect();
        case.before = format!(
            "{} and.b32 %w10, %w15, 28; mul.wide.u32 %a11, %w10, 32; sub.u64 %a10, %a10, %a11; \
             setp.lt.u32 %p10, %w15, 4; {put} bar.warp.sync -1;",
            SPACES[0].1
        );
        let list = |from: usize, keeps: usize| {
            let register = |n: usize| {
                if n < keeps {
                    String::from("_")
                } else {
                    ty.register(from + n % 2)
                }
            };
            let list: Vec<String> = (0..count).map(register).collect();
            format!("{{{}}}", list.join(", "))
        };
        let destination = if returns {
            format!("{}, ", list(4, count - 2))
        } else {
            String::new()
        };
        case.instruction = format!("{form} {destination}[%a10], {};", list(2, 0));
        case.after = format!(
            " bar.warp.sync -1; ld.global.b{bits} {}, [%a10+{}]; ld.global.b{bits} {}, [%a10+{}];",
            ty.register(6),
            (count - 2) * bytes,
            ty.register(7),
            (count - 1) * bytes,
        );
        case.results = vec![ty; 4];
        cases.push(case);
    }
}

/// Adds cases in which each lane brings one row and receives two numbers of each matrix.
fn matrices(cases: &mut Vec<Case>) {
    for form in forms("ldmatrix.sync.aligned.m8n8.{x1,x2,x4}{,.trans}{,.shared,.shared::cta}.b16") {
        let count = if has(&form, "x1") {
            1
        } else if has(&form, "x2") {
            2
        } else {
            4
        };
        let transposed = has(&form, "trans");
        let model = move |rows: &[Row; 32]| {
            let number =
                |row: usize, column: usize| rows[row][column / 4] >> (16 * (column % 4)) & 0xffff;
            std::array::from_fn(|lane| {
                std::array::from_fn(|matrix| {
                    if matrix >= count {
                        return 0;
                    }
                    let pair = [0, 1].map(|at| {
                        let (across, along) = (lane / 4, lane % 4 * 2 + at);
                        if transposed {
                            number(8 * matrix + along, across)
                        } else {
                            number(8 * matrix + across, along)
                        }
                    });
                    pair[1] << 16 | pair[0]
                })
            })
        };
        let model = Model::Wave(Box::new(model));
        let mut case = Case::new(&form, WORD, &[DOUBLE_WORD; 2], model);
        let (_, address) = SPACES[2];
        case.before = format!(
            "{address} st.shared.v2.b64 [%a10], {{%a0, %a1}}; bar.warp.sync -1;{}",
            if form.contains("shared") {
                ""
            } else {
                " cvta.shared.u64 %a10, %a10;"
            }
        );
        let list: Vec<String> = (4..4 + count).map(|n| WORD.register(n)).collect();
        case.instruction = format!("{form} {{{}}}, [%a10];", list.join(", "));
        case.results = vec![WORD; count];
        cases.push(case);
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    moves(&mut cases);
    accesses(&mut cases);
    atomics(&mut cases);
    matrices(&mut cases);
    cases
}
