//! Encoding of loads, stores and atomics (PTX ISA, "Data Movement", "Parallel Synchronization").

use warpweave_trace::Space;

use crate::diagnostics::SpannedError;
use crate::lower::encode::{Encoded, Encoder, Form};
use crate::lower::names::{Base, Operand, Value};
use crate::ops::{
    Access, Address, Atomic, AtomicKind, Constant, FloatFormat, FloatOp, MatrixLoad, NO_REGISTER,
    Op, Region, Src,
};
use crate::site::Symbol;
use crate::types::{ScalarType, StateSpace};

/// Memory modifiers without functional effect, in groups of which at most one word may appear.
const QUIET: [&[&str]; 7] = [
    &ORDERS,
    &SCOPES,
    &["mmio"],
    &["nc"],
    &["ca", "cg", "cs", "lu", "cv", "wb", "wt"],
    &[
        "L1::evict_normal",
        "L1::evict_unchanged",
        "L1::evict_first",
        "L1::evict_last",
        "L1::no_allocate",
    ],
    &[
        "L2::64B",
        "L2::128B",
        "L2::256B",
        "L2::evict_last",
        "L2::evict_normal",
        "L2::evict_first",
    ],
];
/// Memory ordering modifiers of an access.
const ORDERS: [&str; 6] = [
    "weak", "volatile", "relaxed", "acquire", "release", "acq_rel",
];
/// Scope modifiers: threads to which the ordering applies.
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// Maximum bytes of one lane of an access.
const BYTES_MAX: u32 = 32;

pub(crate) fn load(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let strong = ["volatile", "relaxed", "acquire", "mmio"];
    let strong = strong.into_iter().any(|word| form.has(word));
    take_policy(encoder, form)?;
    let (space, count, ty) = memory_form(form)?;
    form.count(2)?;
    let address = address(encoder, &form.operands[1], space)?;
    let mut access = blank(address, count, ty);
    access.strong = strong;
    access.silent = is_parameter(encoder, &form.operands[1]);
    if ty == ScalarType::B128 {
        let low = encoder.optional_destination(&form.operands[0], ty)?;
        if low != NO_REGISTER {
            access.registers[..2].copy_from_slice(&[low, low + 1]);
        }
        return Ok(Op::Load(halves(encoder, form, access)?));
    }
    let list = elements(&form.operands[0]);
    if list.len() != count {
        return Err(form.unsupported("the number of registers does not match the vector length"));
    }
    let mut bits = 0;
    for (slot, element) in access.registers.iter_mut().zip(list) {
        if matches!(element.value, Value::Nowhere) {
            continue;
        }
        let width;
        (*slot, width) = encoder.wide_destination(element, ty)?;
        if bits != 0 && bits != width {
            return Err(form.unsupported("the registers must have equal widths"));
        }
        bits = width;
    }
    access.wide = bits == 64;
    access.short = bits == 16;
    encoder.tables.accesses.push(access.load());
    Ok(Op::Load(encoder.tables.accesses.len() as u32 - 1))
}

/// Encodes `ldmatrix`, whose rows of 16 bytes are in local memory.
pub(crate) fn load_matrix(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let is_whole = form.take("sync") && form.take("aligned") && form.take("m8n8");
    let count = form.take_one(|name| match name {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    });
    let transposed = form.take("trans");
    let space = form.take_one(StateSpace::from_name);
    let (Some(count), true) = (count.filter(|_| is_whole), form.take("b16")) else {
        return Err(
            form.unsupported("expected `.sync.aligned.m8n8`, `.x1`, `.x2` or `.x4`, and .b16")
        );
    };
    form.count(2)?;
    let list = elements(&form.operands[0]);
    if list.len() != count {
        return Err(
            form.unsupported("the number of registers does not match the number of matrices")
        );
    }
    let mut registers = [NO_REGISTER; 4];
    for (register, element) in registers.iter_mut().zip(list) {
        *register = encoder.optional_destination(element, ScalarType::B32)?;
    }
    let address = address(
        encoder,
        &form.operands[1],
        space.unwrap_or(StateSpace::Generic),
    )?;
    let mut row = blank(address, 4, ScalarType::B32);
    row.space = Space::Shared;
    encoder.tables.accesses.push(row);
    encoder.tables.matrices.push(MatrixLoad {
        row: encoder.tables.accesses.len() as u32 - 1,
        transposed,
        count,
        registers,
    });
    Ok(Op::LoadMatrix(encoder.tables.matrices.len() as u32 - 1))
}

/// Encodes `prefetch{.space}.level`; for private memory it has no effect.
pub(crate) fn prefetch(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let is_private = form.take("local");
    let space = if form.take("global") {
        StateSpace::Global
    } else {
        StateSpace::Generic
    };
    let levels = ["L1", "L2", "L2::evict_last", "L2::evict_normal"];
    if !levels.into_iter().any(|level| form.take(level)) {
        return Err(form.unsupported("a prefetch must name its target level, `.L1` or `.L2`"));
    }
    form.count(1)?;
    let address = address(encoder, &form.operands[0], space)?;
    if is_private || !matches!(address.region, Region::Global | Region::Generic) {
        return Ok(Op::Nothing);
    }
    encoder
        .tables
        .accesses
        .push(blank(address, 1, ScalarType::U8));
    Ok(Op::Prefetch(encoder.tables.accesses.len() as u32 - 1))
}

pub(crate) fn store(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    take_policy(encoder, form)?;
    let (space, count, ty) = memory_form(form)?;
    form.count(2)?;
    if matches!(space, StateSpace::Const | StateSpace::Argument)
        || (space == StateSpace::Param && is_entry_address(&form.operands[0]))
    {
        return Err(form.unsupported("this state space is read-only"));
    }
    let address = address(encoder, &form.operands[0], space)?;
    let mut access = blank(address, count, ty);
    access.silent = is_parameter(encoder, &form.operands[0]);
    if ty == ScalarType::B128 {
        let low = encoder.source(&form.operands[1], ty)?;
        access.sources[..2].copy_from_slice(&[low, Src(low.0 + 1)]);
        return Ok(Op::Store(halves(encoder, form, access)?));
    }
    let list = elements(&form.operands[1]);
    if list.len() != count {
        return Err(form.unsupported("the number of registers does not match the vector length"));
    }
    let mut wide = None;
    for (slot, element) in access.sources.iter_mut().zip(list) {
        let is_wide = match element.value {
            Value::Register(register) => encoder.ty(register).bits() == 64,
            _ => ty.bits() == 64,
        };
        if let Value::Register(register) = element.value
            && encoder.ty(register).bits() < ty.bits()
        {
            return encoder.source(element, ty).map(|_| Op::Nothing);
        }
        *slot = if is_wide {
            encoder.double(element, wide_type(ty))?
        } else {
            encoder.any_word(element, ty)?
        };
        if wide.is_some_and(|before| before != is_wide) {
            return Err(form.unsupported("the registers must have equal widths"));
        }
        wide = Some(is_wide);
    }
    access.wide = wide.unwrap_or(false);
    encoder.tables.accesses.push(access.store());
    Ok(Op::Store(encoder.tables.accesses.len() as u32 - 1))
}

/// Adds a 128-bit access, which is encoded as two double words.
fn halves(encoder: &mut Encoder<'_, '_>, form: &Form<'_>, access: Access) -> Encoded<u32> {
    if access.count != 1 {
        return Err(form.unsupported("vectors of .b128 are not supported"));
    }
    encoder.tables.accesses.push(Access {
        bytes: 8,
        count: 2,
        wide: true,
        ..access
    });
    Ok(encoder.tables.accesses.len() as u32 - 1)
}

/// Consumes the operand of `.L2::cache_hint`; the hint changes no value, and no modelled cache
/// uses it.
fn take_policy(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<()> {
    if form.take("L2::cache_hint")
        && let [rest @ .., policy] = form.operands
    {
        encoder.double(policy, ScalarType::B64)?;
        form.operands = rest;
    }
    Ok(())
}

/// True if the operand is a parameter of the kernel itself, not of a call it makes.
fn is_entry_address(operand: &Operand) -> bool {
    matches!(
        operand.value,
        Value::Address(Base::Symbol(Symbol::Argument(_)), _)
    )
}

/// True if the operand is a function parameter that is addressed by name.
fn is_parameter(encoder: &Encoder<'_, '_>, operand: &Operand) -> bool {
    match operand.value {
        Value::Address(Base::Symbol(Symbol::Frame(index)), _) => {
            !encoder.function.body.frame[index].is_local
        }
        _ => false,
    }
}

pub(crate) fn address(
    encoder: &mut Encoder<'_, '_>,
    operand: &Operand,
    space: StateSpace,
) -> Encoded<Address> {
    let Value::Address(base, offset) = operand.value else {
        return Err(SpannedError::new(
            operand.span,
            "expected an address in brackets",
        ));
    };
    let mut region = match space {
        StateSpace::Global => Region::Global,
        StateSpace::Const => Region::Const,
        StateSpace::Shared => Region::Shared,
        StateSpace::Argument => Region::Param,
        StateSpace::Param if encoder.is_entry => Region::Param,
        StateSpace::Local | StateSpace::Param => Region::Local,
        StateSpace::Generic | StateSpace::Register => Region::Generic,
    };
    let (wide, base, offset, in_frame) = match base {
        Base::Absolute => (true, encoder.constant64(Constant::Value(0)), offset, false),
        Base::Register(register) => {
            let wide = encoder.ty(register).bits() == 64;
            if !matches!(encoder.ty(register).bits(), 32 | 64) {
                let message = "an address register must be 32 or 64 bits wide";
                return Err(SpannedError::new(operand.span, message));
            }
            (wide, Src(encoder.number(register)), offset, false)
        }
        Base::Symbol(Symbol::Frame(index)) => {
            region = Region::Local;
            let start = i64::from(encoder.function.body.frame[index].offset);
            (
                true,
                encoder.constant64(Constant::Value(0)),
                start.wrapping_add(offset),
                true,
            )
        }
        Base::Symbol(Symbol::Private(at)) => {
            region = Region::Local;
            let start = i64::from(at).wrapping_add(offset);
            (true, encoder.constant64(Constant::Value(0)), start, false)
        }
        Base::Symbol(symbol) => {
            // A variable's own space is known even where the opcode says nothing.
            if region == Region::Generic {
                region = match symbol {
                    Symbol::Shared(_) => Region::Shared,
                    Symbol::Argument(_) => Region::Param,
                    Symbol::Module(_) | Symbol::Private(_) | Symbol::Frame(_) => Region::Global,
                };
            }
            let constant = encoder.symbol(symbol, offset, operand.span)?;
            (true, encoder.constant64(constant), 0, false)
        }
    };
    Ok(Address {
        region,
        wide,
        base,
        offset,
        in_frame,
    })
}

pub(crate) fn atomic(encoder: &mut Encoder<'_, '_>, form: &mut Form<'_>) -> Encoded<Op> {
    let returns = form.base == "atom";
    take_policy(encoder, form)?;
    let space = space(form)?;
    let names = [
        "add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec",
    ];
    let name = form
        .take_one(|name| names.into_iter().find(|&known| known == name))
        .ok_or_else(|| form.unsupported("missing or unknown atomic operation"))?;
    let count = form.take_vector();
    let ty = form.take_type()?;
    if let Some(count) = count {
        return atomic_vector(encoder, form, (space, name), (count, ty));
    }
    let kind = atomic_kind(name, ty)
        .ok_or_else(|| form.unsupported("the atomic operation does not support this type"))?;
    let swap = kind == AtomicKind::CompareSwap;
    form.count(usize::from(returns) + 2 + usize::from(swap))?;
    let (d, rest) = match (returns, form.operands) {
        (true, [d, rest @ ..]) => (encoder.optional_destination(d, ty)?, rest),
        (_, rest) => (NO_REGISTER, rest),
    };
    if matches!(
        space,
        StateSpace::Const | StateSpace::Param | StateSpace::Argument | StateSpace::Local
    ) {
        return Err(form.unsupported("atomics are supported in global and shared memory only"));
    }
    let address = address(encoder, &rest[0], space)?;
    let b = encoder.source(&rest[1], ty)?;
    let c = match rest.get(2) {
        Some(operand) => encoder.source(operand, ty)?,
        None => b,
    };
    encoder.tables.atomics.push(Atomic {
        kind,
        address,
        bytes: ty.bytes(),
        d,
        b,
        c,
    });
    Ok(Op::Atomic(encoder.tables.atomics.len() as u32 - 1))
}

/// Encodes an atomic on a vector: each element changes by itself.
fn atomic_vector(
    encoder: &mut Encoder<'_, '_>,
    form: &Form<'_>,
    (space, name): (StateSpace, &str),
    (count, ty): (usize, ScalarType),
) -> Encoded<Op> {
    let returns = form.base == "atom";
    let kind = match (name, half_format(ty)) {
        ("add", None) if ty == ScalarType::F32 => Some(AtomicKind::AddF32),
        ("add", Some(format)) => Some(AtomicKind::Half {
            op: FloatOp::Add,
            format,
        }),
        ("min", Some(format)) => Some(AtomicKind::Half {
            op: FloatOp::Min,
            format,
        }),
        ("max", Some(format)) => Some(AtomicKind::Half {
            op: FloatOp::Max,
            format,
        }),
        _ => None,
    };
    let kind = kind.filter(|_| count as u32 * ty.bytes() <= 16);
    let kind = kind.ok_or_else(|| {
        form.unsupported("the atomic operation does not support vectors of this type")
    })?;
    if !matches!(space, StateSpace::Global | StateSpace::Generic) {
        return Err(form.unsupported("atomics on vectors are supported in global memory only"));
    }
    form.count(usize::from(returns) + 2)?;
    let (d, rest) = match (returns, form.operands) {
        (true, [d, rest @ ..]) => (Some(elements(d)), rest),
        (_, rest) => (None, rest),
    };
    let address = address(encoder, &rest[0], space)?;
    let sources = elements(&rest[1]);
    if sources.len() != count || d.is_some_and(|d| d.len() != count) {
        return Err(form.unsupported("the number of registers does not match the vector length"));
    }
    let first = encoder.tables.atomics.len() as u32;
    for (at, source) in sources.iter().enumerate() {
        let b = encoder.source(source, ty)?;
        let d = match d {
            Some(d) => encoder.optional_destination(&d[at], ty)?,
            None => NO_REGISTER,
        };
        encoder.tables.atomics.push(Atomic {
            kind,
            address: Address {
                offset: address
                    .offset
                    .wrapping_add(i64::from(ty.bytes()) * at as i64),
                ..address
            },
            bytes: ty.bytes(),
            d,
            b,
            c: b,
        });
    }
    let count = count as u32;
    Ok(Op::AtomicVector { first, count })
}

/// Returns the format of a 16-bit number or of a pair of them.
fn half_format(ty: ScalarType) -> Option<FloatFormat> {
    match ty {
        ScalarType::F16 | ScalarType::F16X2 => Some(FloatFormat::Half),
        ScalarType::BF16 | ScalarType::BF16X2 => Some(FloatFormat::Brain),
        _ => None,
    }
}

fn wide_type(ty: ScalarType) -> ScalarType {
    if ty == ScalarType::F64 {
        ty
    } else {
        ScalarType::B64
    }
}

fn atomic_kind(name: &str, ty: ScalarType) -> Option<AtomicKind> {
    use ScalarType::{
        B16, B32, B64, B128, BF16, BF16X2, F16, F16X2, F32, F64, S32, S64, U16, U32, U64,
    };
    Some(match (name, ty) {
        ("add", F16 | F16X2 | BF16 | BF16X2) => AtomicKind::Half {
            op: FloatOp::Add,
            format: half_format(ty)?,
        },
        ("add", F32) => AtomicKind::AddF32,
        ("add", F64) => AtomicKind::AddF64,
        ("add", U32 | S32 | U64 | S64) => AtomicKind::Add,
        ("min", U32 | U64) => AtomicKind::MinU,
        ("min", S32 | S64) => AtomicKind::MinS,
        ("max", U32 | U64) => AtomicKind::MaxU,
        ("max", S32 | S64) => AtomicKind::MaxS,
        ("and", B32 | B64 | U32 | S32 | U64 | S64) => AtomicKind::And,
        ("or", B32 | B64 | U32 | S32 | U64 | S64) => AtomicKind::Or,
        ("xor", B32 | B64 | U32 | S32 | U64 | S64) => AtomicKind::Xor,
        ("exch", B32 | B64 | B128 | U32 | S32 | U64 | S64 | F32) => AtomicKind::Exchange,
        ("cas", B16 | U16 | B32 | B64 | B128 | U32 | S32 | U64 | S64) => AtomicKind::CompareSwap,
        ("inc", U32) => AtomicKind::Increment,
        ("dec", U32) => AtomicKind::Decrement,
        _ => return None,
    })
}

/// Returns the state space of an opcode and consumes modifiers without functional effect.
fn space(form: &mut Form<'_>) -> Encoded<StateSpace> {
    let mut taken: [Option<&str>; QUIET.len()] = [None; QUIET.len()];
    loop {
        let word = form.take_one(|name| {
            let group = QUIET.iter().position(|group| group.contains(&name));
            let word = group.and_then(|at| QUIET[at].iter().find(|word| **word == name));
            group.zip(word.copied())
        });
        let Some((group, word)) = word else { break };
        if let Some(other) = taken[group].replace(word) {
            return Err(
                form.unsupported(&format!("`.{other}` and `.{word}` are mutually exclusive"))
            );
        }
    }
    let without_flush = form.take("noftz");
    let [order, scope, .., cache, _, _] = taken;
    let is_vector = ["v2", "v4", "v8"].into_iter().any(|word| form.has(word));
    if without_flush && !form.has("add") && !is_vector {
        return Err(form.unsupported("`.noftz` goes with `.add` only"));
    }
    if let (Some(order), Some(cache)) = (order.filter(|order| *order != "weak"), cache) {
        return Err(form.unsupported(&format!("`.{order}` and `.{cache}` are mutually exclusive")));
    }
    let ordered = order.is_some_and(|order| !matches!(order, "weak" | "volatile"));
    if let (Some(scope), false, "ld" | "st") = (scope, ordered, form.base) {
        let message = format!("`.{scope}` requires `.relaxed`, `.acquire` or `.release`");
        return Err(form.unsupported(&message));
    }
    let space = form.take_one(StateSpace::from_name);
    Ok(space.unwrap_or(StateSpace::Generic))
}

/// Returns state space, number of elements and element type.
fn memory_form(form: &mut Form<'_>) -> Encoded<(StateSpace, usize, ScalarType)> {
    let space = space(form)?;
    let count = form.take_vector().unwrap_or(1);
    let ty = form.take_type()?;
    if ty == ScalarType::Pred {
        return Err(form.unsupported("predicates cannot be loaded or stored"));
    }
    if ty.bytes() * count as u32 > BYTES_MAX {
        return Err(form.unsupported("a lane accesses at most 32 bytes at once"));
    }
    Ok((space, count, ty))
}

fn elements(operand: &Operand) -> &[Operand] {
    match &operand.value {
        Value::Vector(list) => list,
        _ => std::slice::from_ref(operand),
    }
}

fn blank(address: Address, count: usize, ty: ScalarType) -> Access {
    Access {
        address,
        space: address.region.space(),
        bytes: ty.bytes(),
        signed: ty.is_signed(),
        count,
        wide: false,
        short: false,
        registers: [NO_REGISTER; 8],
        sources: [Src(0); 8],
        strong: false,
        silent: false,
        plain: false,
        whole: false,
    }
}
