//! Models of integer instructions in 128-bit integers (PTX ISA, "Integer Arithmetic", "Logic and
//! Shift").

use super::cases::{
    Case, DOUBLE_WORD, Kind, Model, PREDICATE, Row, Type, WORD, all_forms, has, types,
};

const PLAIN: &str = "
    {add,sub,min,max,div,rem,sad}.{u16,s16,u32,s32,u64,s64}
    {add,sub}.sat.s32
    {add,min,max}.{u16x2,s16x2} {min,max}.relu.s16x2 {min,max}.relu.s32
    mul.{lo,hi}.{u16,s16,u32,s32,u64,s64} mul.wide.{u16,s16,u32,s32}
    mad.{lo,hi}.{u16,s16,u32,s32,u64,s64} mad.wide.{u16,s16,u32,s32} mad.hi.sat.s32
    mul24.{lo,hi}.{u32,s32} mad24.{lo,hi}.{u32,s32} mad24.hi.sat.s32
    {abs,neg}.{s16,s32,s64}
    {and,or,xor,not}.{pred,b16,b32,b64} cnot.{b16,b32,b64}
    shl.{b16,b32,b64} shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}
    {popc,clz,brev}.{b32,b64} bfind.{u32,u64,s32,s64} bfind.shiftamt.{u32,u64,s32,s64}
    bfe.{u32,u64,s32,s64} bfi.{b32,b64} bmsk.{clamp,wrap}.b32 szext.{clamp,wrap}.{u32,s32} fns.b32
    shf.{l,r}.{clamp,wrap}.b32 prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}
    dp4a.{u32,s32}.{u32,s32} dp2a.{lo,hi}.{u32,s32}.{u32,s32}
";

/// Returns the types of the result and of the operands.
fn shape(form: &str) -> (Type, Vec<Type>) {
    let ty = types(form)[0];
    let opcode = form.split('.').next().unwrap_or_default();
    let doubled = Type {
        bits: 2 * ty.bits,
        ..ty
    };
    match opcode {
        "abs" | "neg" | "not" | "cnot" | "brev" => (ty, vec![ty]),
        "popc" | "clz" | "bfind" => (WORD, vec![ty]),
        "mul" if has(form, "wide") => (doubled, vec![ty; 2]),
        "mad" if has(form, "wide") => (doubled, vec![ty, ty, doubled]),
        "shl" | "shr" | "szext" => (ty, vec![ty, WORD]),
        "bfe" => (ty, vec![ty, WORD, WORD]),
        "bfi" => (ty, vec![ty, ty, WORD, WORD]),
        // Its second operand is the number of a bit.
        "fns" => (WORD, vec![WORD, Type { bits: 16, ..WORD }, WORD]),
        "mad" | "mad24" | "sad" | "shf" | "prmt" | "dp4a" | "dp2a" => (ty, vec![ty; 3]),
        _ => (ty, vec![ty; 2]),
    }
}

/// Returns the result of an instruction on integers of type `ty`.
fn value(form: &str, ty: Type, [a, b, c, d]: [i128; 4]) -> i128 {
    let opcode = form.split('.').next().unwrap_or_default();
    let bits = ty.bits;
    let part = |product: i128, from: u32| {
        if has(form, "hi") {
            product >> from
        } else {
            product
        }
    };
    let low24 = |value: i128| {
        let ty = Type { bits: 24, ..ty };
        ty.read(ty.write(value))
    };
    let flipped = |value: i128| if value < 0 { !value } else { value };
    match opcode {
        "add" => a + b,
        "sub" => a - b,
        "min" => a.min(b),
        "max" => a.max(b),
        "sad" => (a - b).abs() + c,
        // Division by zero gives all ones and leaves the whole.
        "div" => a.checked_div(b).unwrap_or(-1),
        "rem" => a.checked_rem(b).unwrap_or(a),
        "mul" => part(a.wrapping_mul(b), bits),
        "mad" => part(a.wrapping_mul(b), bits).wrapping_add(c),
        "mul24" => part(low24(a) * low24(b), 16),
        "mad24" => part(low24(a) * low24(b), 16) + c,
        "abs" => a.abs(),
        "neg" => -a,
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "not" => !a,
        "cnot" => i128::from(a == 0),
        "shl" => a << b.min(bits.into()),
        "shr" => a >> b.min(bits.into()),
        "popc" => i128::from(a.count_ones()),
        "clz" => (0..bits)
            .take_while(|at| a >> (bits - 1 - at) & 1 == 0)
            .count() as i128,
        "brev" => (0..bits).map(|at| (a >> at & 1) << (bits - 1 - at)).sum(),
        "bfind" => match (0..bits).rev().find(|&at| flipped(a) >> at & 1 == 1) {
            None => -1,
            Some(at) if has(form, "shiftamt") => i128::from(bits - 1 - at),
            Some(at) => i128::from(at),
        },
        "bfe" => field(ty, a, b & 0xff, c & 0xff),
        "bfi" => (0..i128::from(bits))
            .map(|at| {
                let (start, length) = (c & 0xff, d & 0xff);
                let inside = at >= start && at < start + length;
                let bit = if inside { a >> (at - start) } else { b >> at } & 1;
                bit << at
            })
            .sum(),
        "bmsk" => {
            let (start, length) = if has(form, "wrap") {
                (a & 31, b & 31)
            } else {
                (a, b)
            };
            (0..32i128)
                .filter(|&at| at >= start && at < start + length)
                .map(|at| 1 << at)
                .sum()
        }
        "szext" => {
            let length = if has(form, "wrap") { b & 31 } else { b.min(32) };
            let sign = ty.is_signed() && length > 0 && a >> (length - 1) & 1 == 1;
            let low = a & ((1 << length) - 1);
            if sign { low - (1 << length) } else { low }
        }
        "fns" => {
            let offset = Type::from_name("s32").expect("a type").read(c as u64);
            let step = if offset < 0 { -1 } else { 1 };
            let mut places = (0..32)
                .map(|n| (b & 31) + step * n)
                .filter(|at| (0..32).contains(at));
            let found = if offset == 0 {
                places.next().filter(|&at| a >> at & 1 == 1)
            } else {
                places
                    .filter(|&at| a >> at & 1 == 1)
                    .nth(offset.unsigned_abs() as usize - 1)
            };
            found.unwrap_or(-1)
        }
        "shf" => {
            let by = if has(form, "wrap") { c & 31 } else { c.min(32) };
            let both = b << 32 | a;
            if has(form, "l") {
                both << by >> 32
            } else {
                both >> by
            }
        }
        "prmt" => permuted(form, a, b, c),
        _ => panic!("no model for {form}"),
    }
}

/// Computes `bfe`: bits beyond the top are copies of the field's sign.
fn field(ty: Type, a: i128, start: i128, length: i128) -> i128 {
    let top = i128::from(ty.bits) - 1;
    let sign = if ty.is_signed() && length > 0 {
        a >> (start + length - 1).min(top) & 1
    } else {
        0
    };
    (0..=top)
        .map(|at| {
            let bit = if at < length && start + at <= top {
                a >> (start + at) & 1
            } else {
                sign
            };
            bit << at
        })
        .sum()
}

/// Bytes that each `prmt` mode selects for the four selector values, highest first.
const PERMUTATIONS: [(&str, [u16; 4]); 6] = [
    ("f4e", [0x3210, 0x4321, 0x5432, 0x6543]),
    ("b4e", [0x5670, 0x6701, 0x7012, 0x0123]),
    ("rc8", [0x0000, 0x1111, 0x2222, 0x3333]),
    ("ecl", [0x3210, 0x3211, 0x3222, 0x3333]),
    ("ecr", [0x0000, 0x1110, 0x2210, 0x3210]),
    ("rc16", [0x1010, 0x3232, 0x1010, 0x3232]),
];

fn permuted(form: &str, a: i128, b: i128, c: i128) -> i128 {
    let mode = PERMUTATIONS.iter().find(|(mode, _)| has(form, mode));
    let selectors = match mode {
        Some((_, table)) => i128::from(table[(c & 3) as usize]),
        None => c & 0xffff,
    };
    let bytes = b << 32 | a;
    (0..4)
        .map(|at| {
            let selector = selectors >> (4 * at) & 15;
            let byte = bytes >> (8 * (selector & 7)) & 0xff;
            let byte = match selector & 8 {
                0 => byte,
                _ if byte >= 0x80 => 0xff,
                _ => 0,
            };
            byte << (8 * at)
        })
        .sum()
}

/// Computes `dp4a` and `dp2a`: parts of `a` times bytes of `b`.
fn dot(form: &str, [a, b, c, _]: Row) -> u64 {
    let named = types(form);
    let of = |ty: Type, bits: u32, value: u64, at: u32| {
        let ty = Type { bits, ..ty };
        ty.read(value >> (bits * at))
    };
    let start = if has(form, "hi") { 2 } else { 0 };
    let sum: i128 = if form.starts_with("dp4a") {
        (0..4)
            .map(|at| of(named[0], 8, a, at) * of(named[1], 8, b, at))
            .sum()
    } else {
        (0..2)
            .map(|at| of(named[0], 16, a, at) * of(named[1], 8, b, start + at))
            .sum()
    };
    WORD.write(sum + i128::from(c))
}

fn model(form: &str, result: Type, sources: &[Type], row: Row) -> u64 {
    if form.starts_with("dp") {
        return dot(form, row);
    }
    let ty = types(form)[0];
    if let Kind::Integers { signed } = ty.kind {
        let name = if signed { "s16" } else { "u16" };
        let of = Type::from_name(name).expect("a type");
        let half = |at: u32| {
            let sources = row.map(|bits| of.read(bits >> (16 * at)));
            let value = value(form, of, sources);
            of.write(if has(form, "relu") {
                value.max(0)
            } else {
                value
            })
        };
        return half(1) << 16 | half(0);
    }
    let mut operands = [0; 4];
    for (at, source) in sources.iter().enumerate() {
        operands[at] = source.read(row[at]);
    }
    let value = value(form, ty, operands);
    if has(form, "sat") {
        return result.clamp(value);
    }
    result.write(if has(form, "relu") {
        value.max(0)
    } else {
        value
    })
}

/// Adds cases of sums and products with carry; bit 0 of the last operand is the carry-in.
fn carries(cases: &mut Vec<Case>) {
    let patterns = "
        {add,sub}.cc.{u32,s32,u64,s64} {addc,subc}{,.cc}.{u32,s32,u64,s64}
        mad.{lo,hi}.cc.{u32,s32,u64,s64} madc.{lo,hi}{,.cc}.{u32,s32,u64,s64}
    ";
    for form in all_forms(patterns) {
        let ty = types(&form)[0];
        let is_mad = form.starts_with("mad");
        let mut sources = vec![ty; if is_mad { 3 } else { 2 }];
        let at = sources.len();
        sources.push(WORD);
        let gives = has(&form, "cc");
        let name = form.clone();
        let model = move |row: Row| {
            // All operands as unsigned numbers, so that what leaves the top is the carry.
            let unsigned = Type {
                bits: ty.bits,
                ..WORD
            };
            let [a, b] = [0, 1].map(|at| unsigned.read(row[at]));
            let opcode = name.split('.').next().unwrap_or_default();
            let carry = if opcode.ends_with('c') {
                i128::from(row[at] & 1)
            } else {
                0
            };
            let value = match opcode {
                "add" | "addc" => a + b + carry,
                // The sum with the complement, and one more unless a carry comes in.
                "sub" => a + unsigned.limits().1 - b + 1,
                "subc" => a + unsigned.limits().1 - b + carry,
                _ => {
                    let product = ty.read(row[0]).wrapping_mul(ty.read(row[1]));
                    let part = if has(&name, "hi") {
                        product >> ty.bits
                    } else {
                        product
                    };
                    i128::from(unsigned.write(part)) + unsigned.read(row[2]) + carry
                }
            };
            let out = u64::from(unsigned.write(value) as i128 != value);
            let out = if gives { out } else { row[at] & 1 };
            [unsigned.write(value), out, 0, 0]
        };
        let mut case = Case::new(&form, ty, &sources[..at], Model::Lane(Box::new(model)));
        case.before = format!(" and.b32 %w10, %w{at}, 1; add.cc.u32 %w10, %w10, -1;");
        case.after = String::from(" addc.u32 %w5, 0, 0;");
        case.sources = sources;
        case.results = vec![ty, WORD];
        cases.push(case);
    }
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for form in all_forms(PLAIN) {
        let (result, sources) = shape(&form);
        let (name, of) = (form.clone(), sources.clone());
        let model = move |row| model(&name, result, &of, row);
        let mut case = Case::lane(&form, result, &sources, model);
        if form.starts_with("fns") {
            case.instruction = format!("{form} %w4, %w0, %w1, %w2;");
            case.before = String::from(" cvt.u32.u16 %w1, %h1; and.b32 %w1, %w1, 31;");
        }
        cases.push(case);
    }
    for table in [0u64, 0x1b, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff] {
        let model = move |row: Row| {
            (0..32)
                .map(|at| {
                    let bit = |n: usize| row[n] >> at & 1;
                    (table >> (bit(0) << 2 | bit(1) << 1 | bit(2)) & 1) << at
                })
                .sum()
        };
        let mut case = Case::lane("lop3.b32", WORD, &[WORD; 3], model);
        case.instruction = format!("lop3.b32 %w4, %w0, %w1, %w2, {table};");
        cases.push(case);
    }
    carries(&mut cases);
    moves(&mut cases);
    cases
}

/// Adds cases of `mov`, including packing and unpacking, and of selections.
fn moves(cases: &mut Vec<Case>) {
    let whole = |row: Row| [row[0], row[1], row[1], row[0]];
    let model = Model::Lane(Box::new(whole));
    let mut case = Case::new("mov.b128", DOUBLE_WORD, &[DOUBLE_WORD; 2], model);
    case.before = String::from(" .reg .b128 %q<2>;");
    case.instruction = String::from(
        "mov.b128 %q0, {%a0, %a1}; mov.b128 {%a4, _}, %q0; mov.b128 {_, %a5}, %q0;
        mov.b128 {%a6, %a7}, %q0; mov.b128 %q1, {%a7, %a6}; mov.b128 {%a6, %a7}, %q1;",
    );
    case.results = vec![DOUBLE_WORD; 4];
    cases.push(case);
    for form in all_forms("mov.{pred,b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}") {
        let ty = types(&form)[0];
        cases.push(Case::lane(&form, ty, &[ty], |row| row[0]));
    }
    let half = Type { bits: 16, ..WORD };
    for (form, whole, part, count) in [
        ("mov.b32", WORD, half, 2u32),
        ("mov.b64", DOUBLE_WORD, WORD, 2),
        ("mov.b64", DOUBLE_WORD, half, 4),
    ] {
        let list = |from: usize| {
            let parts: Vec<String> = (from..from + count as usize)
                .map(|n| part.register(n))
                .collect();
            format!("{{{}}}", parts.join(", "))
        };
        let packed = move |row: Row| {
            (0..count)
                .map(|at| row[at as usize] << (part.bits * at))
                .sum()
        };
        let mut case = Case::lane(form, whole, &vec![part; count as usize], packed);
        case.instruction = format!("{form} {}, {};", whole.register(4), list(0));
        cases.push(case);
        let unpacked = move |row: Row| {
            std::array::from_fn(|at| {
                let at = at as u32;
                if at < count {
                    part.write(i128::from(row[0] >> (part.bits * at)))
                } else {
                    0
                }
            })
        };
        let mut case = Case::new(form, whole, &[whole], Model::Lane(Box::new(unpacked)));
        case.instruction = format!("{form} {}, {};", list(4), whole.register(0));
        case.results = vec![part; count as usize];
        cases.push(case);
    }
    for form in all_forms("selp.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}") {
        let ty = types(&form)[0];
        let model = |row: Row| if row[2] == 1 { row[0] } else { row[1] };
        cases.push(Case::lane(&form, ty, &[ty, ty, PREDICATE], model));
    }
    for form in all_forms(
        "slct.{b16,u16,s16,b32,u32,s32,f32,b64,u64,s64,f64}.{s32,f32} slct.ftz.{b32,f32,u64}.f32",
    ) {
        let [ty, by] = types(&form)[..] else {
            panic!("{form}")
        };
        let name = form.clone();
        let model = move |row: Row| {
            let chosen = match by.kind {
                Kind::Float(format) => {
                    let flushed = format.flush(row[2]);
                    let by = if has(&name, "ftz") { flushed } else { row[2] };
                    format.compare(by, 0).is_some_and(std::cmp::Ordering::is_ge)
                }
                _ => by.read(row[2]) >= 0,
            };
            if chosen { row[0] } else { row[1] }
        };
        cases.push(Case::lane(&form, ty, &[ty, ty, by], model));
    }
}
