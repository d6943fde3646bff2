//! Trace description of an instruction: class, registers, operands, hints and control flow.

use warpweave_trace::{
    CacheOperator, Class, Guard, Hints, Instruction, Operand as TraceOperand, ReadPath,
    RegisterSet, Space,
};

use crate::alloc::File;
use crate::diagnostics::Source;

use crate::lower::encode::Encoder;
use crate::lower::names::{self, Operand, Value};
use crate::lower::opcodes;
use crate::ops::{NO_PC, Op};
use crate::site::Symbol;
use crate::texture::RECORDED_BYTES;

/// First register and frame offset of a function, after those of its callers.
#[derive(Clone, Copy, Default)]
pub(crate) struct FunctionBase {
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
    pub(crate) local_bytes: u32,
}

/// Describes the instruction at `index` of the encoder's function for the trace.
pub(crate) fn instruction(
    encoder: &Encoder<'_, '_>,
    index: usize,
    op: Op,
    base: FunctionBase,
    source: &Source<'_>,
) -> Instruction {
    let body = &encoder.function.body;
    let resolved = &body.instructions[index];
    let class = resolved.class;
    let class = class.unwrap_or_else(|| self::class(encoder, resolved.opcode, op));
    let mut described = Instruction::new(resolved.opcode, class);
    match op {
        Op::Load(at) | Op::Store(at) | Op::Prefetch(at) => {
            let access = &encoder.tables.accesses[at as usize];
            if !access.silent {
                let bytes = access.bytes * access.count as u32;
                described = described.accessing(access.space, bytes as u8);
            }
        }
        Op::Atomic(at) => {
            let atomic = &encoder.tables.atomics[at as usize];
            described = described.accessing(atomic.address.region.space(), atomic.bytes as u8);
        }
        Op::LoadMatrix(_) => described = described.accessing(Space::Shared, 16),
        Op::AtomicVector { first, count } => {
            let atomic = &encoder.tables.atomics[first as usize];
            let bytes = atomic.bytes * count;
            described = described.accessing(atomic.address.region.space(), bytes as u8);
        }
        Op::Texture(_) => described = described.accessing(Space::Global, RECORDED_BYTES),
        Op::Branch { target, meet } => {
            described.target = Some(target);
            described.reconvergence = (meet != NO_PC).then_some(meet);
        }
        Op::BranchIndexed(at) => {
            let meet = encoder.tables.control.jumps[at as usize].meet;
            described.reconvergence = (meet != NO_PC).then_some(meet);
        }
        _ => {}
    }
    described.hints = hints(resolved.opcode);
    if matches!(op, Op::Texture(_)) {
        described.hints.path = ReadPath::Texture;
    }
    let effects = &body.effects[index];
    described.reads = registers(encoder, &effects.reads, base);
    described.writes = registers(encoder, &effects.writes, base);
    for operand in &resolved.operands {
        flatten(encoder, operand, base, source, &mut described.operands);
    }
    if let Some((register, negated)) = resolved.guard {
        let number = encoder.function.allocation.numbers[register as usize];
        described.guard = Some(Guard {
            predicate: base.predicates as u16 + number,
            negated,
        });
    }
    let head = encoder.function.graph.loop_head(index);
    described.loop_head = head.map(|head| encoder.start + head as u32);
    described.line = source.line(resolved.span.start);
    described
}

fn registers(encoder: &Encoder<'_, '_>, list: &[u32], base: FunctionBase) -> RegisterSet {
    let mut set = RegisterSet::EMPTY;
    for &register in list {
        let number = encoder.function.allocation.numbers[register as usize];
        match encoder.file(register) {
            File::Predicate => {
                set.insert(RegisterSet::FIRST_PREDICATE + base.predicates as u16 + number);
            }
            file => {
                for part in 0..file.width() as u16 {
                    set.insert(base.registers as u16 + number + part);
                }
            }
        }
    }
    set
}

fn flatten(
    encoder: &Encoder<'_, '_>,
    operand: &Operand,
    base: FunctionBase,
    source: &Source<'_>,
    list: &mut Vec<TraceOperand>,
) {
    let register = |register: u32| {
        let number = encoder.function.allocation.numbers[register as usize];
        match encoder.file(register) {
            File::Predicate => TraceOperand::Predicate(base.predicates as u16 + number),
            _ => TraceOperand::Register(base.registers as u16 + number),
        }
    };
    match &operand.value {
        Value::Register(number) => list.push(register(*number)),
        Value::Not(number) => list.push(match register(*number) {
            TraceOperand::Predicate(number) => TraceOperand::NotPredicate(number),
            other => other,
        }),
        Value::Integer(value) => list.push(TraceOperand::Immediate(*value as i64)),
        Value::Single(bits) => list.push(TraceOperand::Immediate(i64::from(*bits))),
        Value::Double(bits) => list.push(TraceOperand::Immediate(*bits as i64)),
        Value::Address(names::Base::Symbol(Symbol::Argument(at)), offset)
        | Value::Symbol(Symbol::Argument(at), offset) => {
            let at = i64::from(*at).saturating_add(*offset);
            list.push(match u32::try_from(at) {
                Ok(at) => TraceOperand::Argument(at),
                Err(_) => TraceOperand::Symbol(source.slice(operand.span).to_owned()),
            });
        }
        Value::Address(at, offset) => {
            match at {
                names::Base::Register(number) => list.push(register(*number)),
                names::Base::Symbol(_) => {
                    list.push(TraceOperand::Symbol(source.slice(operand.span).to_owned()));
                }
                names::Base::Absolute => {}
            }
            if !matches!(at, names::Base::Symbol(_)) {
                list.push(TraceOperand::Immediate(*offset));
            }
        }
        Value::Texture(at, coordinates) => {
            list.push(match at {
                names::Base::Register(number) => register(*number),
                _ => TraceOperand::Symbol(source.slice(operand.span).to_owned()),
            });
            flatten(encoder, coordinates, base, source, list);
        }
        Value::Vector(inner) | Value::List(inner) => {
            for operand in inner {
                flatten(encoder, operand, base, source, list);
            }
        }
        Value::Pair(first, second) => {
            flatten(encoder, first, base, source, list);
            flatten(encoder, second, base, source, list);
        }
        Value::Special(_)
        | Value::Symbol(..)
        | Value::Function(_)
        | Value::Label(_)
        | Value::Prototype(_)
        | Value::Targets(_) => {
            list.push(TraceOperand::Symbol(source.slice(operand.span).to_owned()));
        }
        Value::Nowhere => {}
    }
}

fn hints(opcode: &str) -> Hints {
    let mut hints = Hints::default();
    let base = opcodes::base(opcode);
    if base == "prefetch" && opcode.contains(".L2") {
        hints.cache = CacheOperator::GlobalLevel;
    }
    if !matches!(base, "ld" | "ldu" | "st" | "atom" | "red") {
        return hints;
    }
    if base == "ldu" {
        hints.path = ReadPath::NonCoherent;
    }
    for modifier in opcode.split('.').skip(1) {
        match modifier {
            "volatile" | "mmio" => hints.volatile = true,
            "nc" => hints.path = ReadPath::NonCoherent,
            "ca" => hints.cache = CacheOperator::AllLevels,
            "cg" => hints.cache = CacheOperator::GlobalLevel,
            "cs" => hints.cache = CacheOperator::Streaming,
            "lu" => hints.cache = CacheOperator::LastUse,
            "cv" => hints.cache = CacheOperator::DontCache,
            "wb" => hints.cache = CacheOperator::WriteBack,
            "wt" => hints.cache = CacheOperator::WriteThrough,
            _ => {}
        }
    }
    hints
}

fn class(encoder: &Encoder<'_, '_>, opcode: &str, op: Op) -> Class {
    let has = |modifier: &str| opcode.split('.').skip(1).any(|found| found == modifier);
    let (single, double) = (has("f32") || has("f32x2"), has("f64"));
    let pick = |integer, of_single, of_double| match (double, single) {
        (true, _) => of_double,
        (_, true) => of_single,
        _ => integer,
    };
    match op {
        Op::Load(at) | Op::Store(at) if encoder.tables.accesses[at as usize].silent => {
            return Class::IntAdd;
        }
        Op::Load(_) | Op::LoadMatrix(_) | Op::Texture(_) => return Class::Load,
        Op::Prefetch(_) => return Class::Prefetch,
        Op::Store(_) => return Class::Store,
        Op::Atomic(_) | Op::AtomicVector { .. } => return Class::Atomic,
        Op::Exit | Op::Trap => return Class::Exit,
        Op::External(at)
            if encoder.tables.control.externals[at as usize]
                .function
                .launches() =>
        {
            return Class::Launch;
        }
        _ => {}
    }
    match opcodes::base(opcode) {
        "bra" | "brx" | "call" | "ret" => Class::Branch,
        "bar" | "barrier" => Class::Barrier,
        "membar" | "fence" => Class::Fence,
        "shfl" => Class::Shuffle,
        "vote" | "match" | "activemask" => Class::Vote,
        "cvt" => Class::Convert,
        "sqrt" | "rsqrt" | "rcp" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => Class::Special,
        "div" => pick(Class::IntDiv, Class::FpDiv, Class::DpDiv),
        "rem" => Class::IntDiv,
        "mul" | "mad" | "fma" => pick(Class::IntMul, Class::FpMul, Class::DpMul),
        "mul24" | "mad24" | "madc" | "dp4a" => Class::IntMul,
        "mov" | "selp" | "slct" => Class::IntAdd,
        _ => pick(Class::IntAdd, Class::FpAdd, Class::DpAdd),
    }
}
