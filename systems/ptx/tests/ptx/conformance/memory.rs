//! Models of loads, stores and atomics of every type, space and vector length (PTX ISA, "Data
//! Movement", "atom", "red").

use std::cmp::Ordering;

use super::cases::{Case, DOUBLE_WORD, Kind, Model, Row, Type, all_forms, has, types};
use super::exact::{Format, Mode, SINGLE};

/// The type of singles.
pub(super) const F32: Type = Type {
    bits: 32,
    kind: Kind::Float(SINGLE),
};

/// Variables used by these kernels: memory for 16 work-groups in each space.
pub(super) const VARIABLES: &str = "
    .global .align 16 .b8 far[65536];
    .const .align 16 .b8 fixed[64] = {
        0x00, 0x81, 0x7f, 0xff, 0x80, 0x12, 0x34, 0xf6, 0x01, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0x8f,
        0x10, 0x21, 0x32, 0x43, 0x54, 0x65, 0x76, 0x87, 0x98, 0xa9, 0xba, 0xcb, 0xdc, 0xed, 0xfe, 0x0f
    };
    .shared .align 16 .b8 near[4096];
";

/// Spaces, with the code that puts the address of a lane's 32 bytes into `%a10`.
pub(super) const SPACES: [(&str, &str); 6] = [
    (
        ".global",
        " mov.u64 %a10, far; mad.wide.u32 %a10, %w14, 32, %a10;",
    ),
    (
        "",
        " mov.u64 %a10, far; mad.wide.u32 %a10, %w14, 32, %a10; cvta.global.u64 %a10, %a10;",
    ),
    (
        ".shared",
        " mov.u64 %a10, near; mad.wide.u32 %a10, %w15, 32, %a10;",
    ),
    (
        "",
        " mov.u64 %a10, near; mad.wide.u32 %a10, %w15, 32, %a10; cvta.shared.u64 %a10, %a10;",
    ),
    (
        ".local",
        " .local .align 16 .b8 own[32]; mov.u64 %a10, own;",
    ),
    (
        "",
        " .local .align 16 .b8 own[32]; mov.u64 %a10, own; cvta.local.u64 %a10, %a10;",
    ),
];

/// Returns element `at` from the bytes of four double words.
fn element(row: &Row, bits: u32, at: usize) -> u64 {
    let start = bits as usize * at;
    let word = row[start / 64] >> (start % 64);
    if bits == 64 {
        word
    } else {
        word & ((1 << bits) - 1)
    }
}

fn list(ty: Type, from: usize, count: usize) -> String {
    let registers: Vec<String> = (from..from + count).map(|n| ty.register(n)).collect();
    match count {
        1 => registers[0].clone(),
        _ => format!("{{{}}}", registers.join(", ")),
    }
}

const TYPES: &str = "{b8,u8,s8,b16,u16,s16,b32,u32,s32,b64,u64,s64,f32,f64}";

/// Returns the number of elements of a form, and register types at least as wide as the type.
fn shapes(form: &str) -> (usize, Vec<Type>) {
    let ty = types(form)[0];
    let count = if has(form, "v4") {
        4
    } else if has(form, "v2") {
        2
    } else {
        1
    };
    let mut registers = vec![Type {
        bits: ty.bits.max(16),
        ..ty
    }];
    if ty.bits < 64 && !matches!(ty.kind, Kind::Float(_)) {
        registers.push(Type { bits: 64, ..ty });
    }
    (count, registers)
}

fn vectors(ty: Type) -> &'static [&'static str] {
    if ty.bits == 64 {
        &["", ".v2"]
    } else {
        &["", ".v2", ".v4"]
    }
}

fn loads(cases: &mut Vec<Case>) {
    for ty in super::cases::forms(TYPES) {
        let of = types(&format!("ld.{ty}"))[0];
        for vector in vectors(of) {
            for (space, address) in SPACES {
                for cache in ["", ".volatile"] {
                    let form = format!("ld{cache}{space}{vector}.{ty}");
                    let (count, registers) = shapes(&form);
                    for register in registers {
                        let model = move |row: Row| {
                            std::array::from_fn(|at| {
                                let value = of.read(element(&row, of.bits, at));
                                if at < count { register.write(value) } else { 0 }
                            })
                        };
                        let model = Model::Lane(Box::new(model));
                        let mut case = Case::new(&form, register, &[DOUBLE_WORD; 4], model);
                        case.before = format!(
                            "{address} st{space}.b64 [%a10], %a0; st{space}.b64 [%a10+8], %a1; \
                             st{space}.b64 [%a10+16], %a2; st{space}.b64 [%a10+24], %a3;"
                        );
                        case.instruction = format!("{form} {}, [%a10];", list(register, 4, count));
                        case.results = vec![register; count];
                        cases.push(case);
                    }
                }
            }
        }
    }
}

fn stores(cases: &mut Vec<Case>) {
    for ty in super::cases::forms(TYPES) {
        let of = types(&format!("st.{ty}"))[0];
        for vector in vectors(of) {
            for (space, address) in SPACES {
                for cache in ["", ".volatile"] {
                    let form = format!("st{cache}{space}{vector}.{ty}");
                    let (count, registers) = shapes(&form);
                    for register in registers {
                        let model = move |row: Row| {
                            let mut bytes = [0u64; 4];
                            for (at, value) in row.iter().enumerate().take(count) {
                                let value = of.write(i128::from(*value));
                                let start = of.bits as usize * at;
                                bytes[start / 64] |= value << (start % 64);
                            }
                            bytes
                        };
                        let model = Model::Lane(Box::new(model));
                        let mut case = Case::new(&form, DOUBLE_WORD, &vec![register; count], model);
                        let cleared: String = (0..4)
                            .map(|n| format!(" st{space}.b64 [%a10+{}], 0;", 8 * n))
                            .collect();
                        let read: String = (0..4)
                            .map(|n| format!(" ld{space}.b64 %a{}, [%a10+{}];", 4 + n, 8 * n))
                            .collect();
                        case.before = address.to_owned() + &cleared;
                        case.instruction = format!("{form} [%a10], {};", list(register, 0, count));
                        case.after = read;
                        case.results = vec![DOUBLE_WORD; 4];
                        cases.push(case);
                    }
                }
            }
        }
    }
}

/// Modifiers of loads and stores that do not change the value.
const WORDS: &str = "
    ld{.weak,.volatile}.global.u32 ld.{relaxed,acquire}.{cta,cluster,gpu,sys}.global.u32
    ld.mmio.relaxed.sys.global.u32 ld.global.{ca,cg,cs,lu,cv,nc}.u32 ld.global.nc.L1::no_allocate.L2::128B.v4.u32
    ld.global.L1::{evict_first,evict_last,evict_normal,evict_unchanged}.u32 ld.global.L2::{64B,256B}.f32
    ld.global.L2::{evict_first,evict_last,evict_normal}.u32 ld.global.L2::cache_hint.b64
    ldu{,.global}{,.v2,.v4}.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32} ldu.global{,.v2}.{b64,u64,s64,f64}
    st{.weak,.volatile}.global.u32 st.{relaxed,release}.{cta,cluster,gpu,sys}.global.u32
    st.mmio.relaxed.sys.global.u32 st.global.{cg,cs,wb,wt}.u32
    st.global.L1::{evict_first,evict_last,evict_normal,evict_unchanged,no_allocate}.u32
    st.global.L2::{evict_first,evict_last,evict_normal}.u32 st.global.L2::cache_hint.b64
    ld.shared::cta.u32 st.shared::cta.u32 ld.{param,param::func}.u32 st.{param,param::func}.u32
";

/// Adds cases that copy the first bytes of a lane with each form and back with the plain one.
fn words(cases: &mut Vec<Case>) {
    for form in all_forms(WORDS) {
        let ty = types(&form)[0];
        let (count, registers) = shapes(&form);
        let register = registers[0];
        let (space, address) = if form.contains("shared") {
            SPACES[2]
        } else if form.contains("param") {
            (".param", " .param .align 16 .b8 slot[32];")
        } else {
            SPACES[0]
        };
        let at = if space == ".param" { "slot" } else { "%a10" };
        let policy = if has(&form, "L2::cache_hint") {
            ", %a12"
        } else {
            ""
        };
        let model = move |row: Row| {
            std::array::from_fn(|n| {
                let value = ty.read(element(&row, ty.bits, n));
                if n < count { register.write(value) } else { 0 }
            })
        };
        let model = Model::Lane(Box::new(model));
        let mut case = Case::new(&form, register, &[DOUBLE_WORD; 2], model);
        let (loaded, stored) = (list(register, 4, count), list(register, 6, count));
        let plain = format!(".{}", form.rsplit('.').next().unwrap_or_default());
        case.before = format!(
            "{address} createpolicy.fractional.L2::evict_last.b64 %a12; \
             st{space}.b64 [{at}], %a0; st{space}.b64 [{at}+8], %a1;"
        );
        case.instruction = if form.starts_with("ld") {
            format!("{form} {loaded}, [{at}]{policy};")
        } else {
            format!(
                "ld{space}{plain} {stored}, [{at}]; st{space}.b64 [{at}], 0; \
                 {form} [{at}], {stored}{policy}; ld{space}{plain} {loaded}, [{at}];"
            )
        };
        case.results = vec![register; count];
        cases.push(case);
    }
}

/// Adds cases that read a kernel argument with its modifier and compare it with a plain read.
fn arguments(cases: &mut Vec<Case>) {
    let mut case = Case::lane("ld.param::entry.u64", DOUBLE_WORD, &[DOUBLE_WORD], |row| {
        row[0]
    });
    case.instruction = String::from("ld.param::entry.u64 %a4, [in];");
    case.after =
        String::from(" ld.param.u64 %a5, [in]; sub.u64 %a4, %a4, %a5; add.u64 %a4, %a4, %a0;");
    cases.push(case);
    // And through its generic address.
    let mut case = Case::lane("ld.u64", DOUBLE_WORD, &[DOUBLE_WORD], |row| row[0]);
    case.before = String::from(" cvta.param.u64 %a10, in;");
    case.instruction = String::from("ld.u64 %a4, [%a10];");
    case.after =
        String::from(" ld.param.u64 %a5, [in]; sub.u64 %a4, %a4, %a5; add.u64 %a4, %a4, %a0;");
    cases.push(case);
}

/// Adds cases for constant memory and for kernel arguments.
fn constants(cases: &mut Vec<Case>) {
    const FIXED: Row = [
        0xf634_1280_ff7f_8100,
        0x8fee_ddcc_bbaa_9901,
        0x8776_6554_4332_2110,
        0x0ffe_eddc_cbba_a998,
    ];
    for ty in super::cases::forms(TYPES) {
        let of = types(&format!("ld.{ty}"))[0];
        for vector in vectors(of) {
            let form = format!("ld.const{vector}.{ty}");
            let (count, registers) = shapes(&form);
            for register in registers {
                let model = move |_| {
                    std::array::from_fn(|at| {
                        let value = of.read(element(&FIXED, of.bits, at));
                        if at < count { register.write(value) } else { 0 }
                    })
                };
                let mut case = Case::new(&form, register, &[], Model::Lane(Box::new(model)));
                case.instruction = format!("{form} {}, [fixed];", list(register, 4, count));
                case.results = vec![register; count];
                cases.push(case);
            }
        }
    }
}

const ATOMICS: &str = "
    add.{u32,s32,u64,s64,f32,f64} add.L2::cache_hint.u32 add.noftz.{f16,f16x2,bf16,bf16x2}
    {relaxed,acquire,release,acq_rel}.{cta,cluster,gpu,sys}.add.u32
    {min,max}.{u32,s32,u64,s64} {and,or,xor}.{b32,b64} exch.{b32,b64} cas.{b16,b32,b64} {inc,dec}.u32
";

/// Adds cases that compare 128-bit loads and stores with those of two double words.
fn quads(cases: &mut Vec<Case>) {
    for (space, address) in SPACES {
        let mut forms = vec![format!("ld{space}.b128"), format!("st{space}.b128")];
        if space == ".global" {
            forms.push(String::from("ldu.global.b128"));
        }
        for form in forms {
            let model = Model::Lane(Box::new(|row| [row[0], row[1], 0, 0]));
            let mut case = Case::new(&form, DOUBLE_WORD, &[DOUBLE_WORD; 2], model);
            let (stored, cleared) = (
                format!("st{space}.v2.b64 [%a10], {{%a0, %a1}};"),
                format!("st{space}.v2.b64 [%a10], {{0, 0}};"),
            );
            case.before = format!("{address} .reg .b128 %q<2>; mov.b128 %q0, {{%a0, %a1}};");
            case.instruction = if form.starts_with("ld") {
                format!("{stored} {form} %q1, [%a10]; mov.b128 {{%a4, %a5}}, %q1;")
            } else {
                format!("{cleared} {form} [%a10], %q0; ld{space}.v2.b64 {{%a4, %a5}}, [%a10];")
            };
            case.results = vec![DOUBLE_WORD; 2];
            cases.push(case);
        }
    }
}

/// Adds cases for 128-bit atomics: like [`atomics`], on cells of two words.
fn atomic_quads(cases: &mut Vec<Case>) {
    // Words of few values, which meet, and in which either half alone may differ.
    const FEW: u64 = 0x8000_0001_0000_0001;
    for (space, address) in SPACES.into_iter().filter(|(_, it)| !it.contains(".local")) {
        for operation in all_forms("{,relaxed.gpu.,acq_rel.cta.}{exch,cas}.b128") {
            let swap = operation.contains("cas");
            let (order, operation) = match operation.rsplit_once('.') {
                Some((head, _)) => head.rsplit_once('.').unwrap_or(("", head)),
                None => panic!("{operation}"),
            };
            let dot = if order.is_empty() { "" } else { "." };
            let form = format!("atom{dot}{order}{space}.{operation}.b128");
            let model = move |rows: &[Row; 32]| {
                let pairs = rows.map(|row| {
                    let [a, b, c, d] = row.map(|word| if swap { (word & 1) * FEW } else { word });
                    [(a, b), (c, d)]
                });
                let mut cells: [(u64, u64); 4] = std::array::from_fn(|cell| pairs[cell][0]);
                let mut results = [[0; 4]; 32];
                for (lane, [first, second]) in pairs.into_iter().enumerate() {
                    let cell = &mut cells[lane % 4];
                    (results[lane][0], results[lane][1]) = *cell;
                    if !swap || *cell == first {
                        *cell = second;
                    }
                }
                for (lane, result) in results.iter_mut().enumerate() {
                    (result[2], result[3]) = cells[lane % 4];
                }
                results
            };
            let model = Model::Wave(Box::new(model));
            let mut case = Case::new(&form, DOUBLE_WORD, &[DOUBLE_WORD; 4], model);
            let few: String = (0..4)
                .map(|n| format!(" and.b64 %a{n}, %a{n}, 1; mul.lo.u64 %a{n}, %a{n}, {FEW};"))
                .collect();
            case.before = format!(
                "{address} .reg .b128 %q<3>; {} st{space}.v2.b64 [%a10], {{%a0, %a1}};
                 and.b32 %w10, %w15, 28; mul.wide.u32 %a11, %w10, 32; sub.u64 %a10, %a10, %a11; bar.warp.sync -1;
                 setp.lt.u32 %p10, %w15, 4; @%p10 st{space}.v2.b64 [%a10], {{%a0, %a1}};
                 mov.b128 %q0, {{%a0, %a1}}; mov.b128 %q1, {{%a2, %a3}};",
                if swap { &few } else { "" }
            );
            let operands = if swap { "%q0, %q1" } else { "%q1" };
            case.instruction = format!("{form} %q2, [%a10], {operands};");
            case.after = format!(
                " mov.b128 {{%a4, %a5}}, %q2; bar.warp.sync -1; ld{space}.v2.b64 {{%a6, %a7}}, [%a10];"
            );
            case.results = vec![DOUBLE_WORD; 4];
            cases.push(case);
        }
    }
}

/// Returns the new value of a cell after an atomic.
///
/// Singles are added without subnormal numbers where `flushes` is set.
pub(super) fn updated(operation: &str, ty: Type, [old, b, c]: [u64; 3], flushes: bool) -> u64 {
    let (x, y) = (ty.read(old), ty.read(b));
    let sum = |format: Format, a: u64, b: u64| {
        let flush = |bits| if flushes { format.flush(bits) } else { bits };
        let sum = flush(format.add(Mode::Nearest, flush(a), flush(b)));
        if format.is_nan(sum) {
            format.nan()
        } else {
            sum
        }
    };
    match (operation, ty.kind) {
        ("add", Kind::Float(_) | Kind::Floats(_)) => {
            super::floats::each(ty, [old, b, 0, 0], |[a, b, _]| sum(ty.format(), a, b))
        }
        ("min", Kind::Float(_) | Kind::Floats(_)) => {
            super::floats::each(ty, [old, b, 0, 0], |[a, b, _]| {
                super::floats::extreme("min", ty.format(), Ordering::Less, a, b)
            })
        }
        ("max", Kind::Float(_) | Kind::Floats(_)) => {
            super::floats::each(ty, [old, b, 0, 0], |[a, b, _]| {
                super::floats::extreme("max", ty.format(), Ordering::Greater, a, b)
            })
        }
        ("add", _) => ty.write(x + y),
        ("min", _) => ty.write(x.min(y)),
        ("max", _) => ty.write(x.max(y)),
        ("and", _) => old & b,
        ("or", _) => old | b,
        ("xor", _) => old ^ b,
        ("exch", _) => b,
        ("cas", _) => {
            if old == b {
                c
            } else {
                old
            }
        }
        ("inc", _) => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        ("dec", _) => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        _ => panic!("no model for {operation}"),
    }
}

/// Builds an opcode: order and scope before the space, the operation after it.
fn form_of(opcode: &str, space: &str, tail: &str) -> String {
    match tail.split_once(".add.u32") {
        Some((ordered, "")) => format!("{opcode}.{ordered}{space}.add.u32"),
        _ => format!("{opcode}{space}.{tail}"),
    }
}

/// Adds cases in which lanes contend for four cells and update them in lane order.
fn atomics(cases: &mut Vec<Case>) {
    for tail in all_forms(ATOMICS) {
        let ty = types(&format!("atom.{tail}"))[0];
        let ordered = ["relaxed", "acquire", "release", "acq_rel"];
        let mut words = tail.split('.').skip_while(|word| ordered.contains(word));
        let scopes = ["cta", "cluster", "gpu", "sys"];
        let operation = words.find(|word| !scopes.contains(word));
        let operation = operation.unwrap_or_default().to_owned();
        let near = (tail == "add.u32").then_some((".shared::cta", SPACES[2].1));
        for (space, address) in SPACES
            .into_iter()
            .chain(near)
            .filter(|(_, address)| !address.contains(".local"))
        {
            for opcode in ["atom", "red"] {
                if opcode == "red" && matches!(&*operation, "exch" | "cas") {
                    continue;
                }
                // A reduction gives nothing back that an acquire could order.
                if opcode == "red" && tail.starts_with("acq") {
                    continue;
                }
                let form = form_of(opcode, space, &tail);
                let returns = opcode == "atom";
                let operation = operation.clone();
                // Only global memory drops subnormal singles.
                let flushes = ty == F32 && !address.contains("near");
                let model = move |rows: &[Row; 32]| {
                    let mut cells: [u64; 4] = std::array::from_fn(|cell| rows[cell][0]);
                    let mut results = [[0; 4]; 32];
                    for (lane, row) in rows.iter().enumerate() {
                        let cell = &mut cells[lane % 4];
                        results[lane][0] = if returns { *cell } else { 0 };
                        *cell = updated(&operation, ty, [*cell, row[1], row[2]], flushes);
                    }
                    for (lane, result) in results.iter_mut().enumerate() {
                        result[1] = cells[lane % 4];
                    }
                    results
                };
                let swap = has(&form, "cas");
                let sources = vec![ty; if swap { 3 } else { 2 }];
                let mut case = Case::new(&form, ty, &sources, Model::Wave(Box::new(model)));
                // Cells are 32 bytes apart, those of a work-group's first four lanes.
                let bits = ty.bits;
                case.before = format!(
                    "{address} st{space}.b{bits} [%a10], {}; and.b32 %w10, %w15, 28; \
                     mul.wide.u32 %a11, %w10, 32; sub.u64 %a10, %a10, %a11; bar.warp.sync -1;
                     setp.lt.u32 %p10, %w15, 4; @%p10 st{space}.b{bits} [%a10], {};",
                    ty.register(0),
                    ty.register(0),
                );
                let destination = if returns {
                    format!("{}, ", ty.register(4))
                } else {
                    String::new()
                };
                let last = if swap {
                    format!(", {}", ty.register(2))
                } else {
                    String::new()
                };
                let policy = if has(&form, "L2::cache_hint") {
                    case.before += " createpolicy.fractional.L2::evict_last.b64 %a12;";
                    ", %a12"
                } else {
                    ""
                };
                let b = ty.register(1);
                case.instruction = format!("{form} {destination}[%a10], {b}{last}{policy};");
                case.after = format!(
                    " bar.warp.sync -1; ld{space}.b{bits} {}, [%a10];",
                    ty.register(5)
                );
                case.results = vec![ty, ty];
                cases.push(case);
            }
        }
    }
}

/// Adds cases for instructions that are hints to the hardware and change no value.
fn hints(cases: &mut Vec<Case>) {
    let plain = "
        membar.{cta,gl,sys} fence{,.sc,.acq_rel,.acquire,.release}.{cta,cluster,gpu,sys} fence.proxy.alias
    ";
    let at_address = "
        prefetch.{global,local}.{L1,L2} prefetch.{L1,L2} prefetch.global.L2::{evict_last,evict_normal} prefetchu.L1
    ";
    let of_plain = all_forms(plain).into_iter().map(|form| (form, ""));
    let of_address = all_forms(at_address)
        .into_iter()
        .map(|form| (form, " [%a10]"));
    let sized = [("discard.global.L2".to_owned(), " [%a10], 128")];
    for (form, operands) in of_plain.chain(of_address).chain(sized) {
        let mut case = Case::lane(&form, DOUBLE_WORD, &[DOUBLE_WORD], |row| row[0]);
        case.before = String::from(SPACES[0].1);
        case.instruction = format!("{form}{operands};");
        case.after = String::from(
            "nanosleep.u32 20; createpolicy.fractional.L2::evict_last.b64 %a12;
            st.global.b64 [%a10], %a0; ldu.global.b64 %a4, [%a10];",
        );
        cases.push(case);
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    hints(&mut cases);
    loads(&mut cases);
    words(&mut cases);
    arguments(&mut cases);
    stores(&mut cases);
    constants(&mut cases);
    atomics(&mut cases);
    quads(&mut cases);
    atomic_quads(&mut cases);
    cases
}
