//! Checker's description of the instructions of a function.

use crate::diagnostics::Source;
use crate::lower::control::scalars;
use crate::lower::encode::{NumberedFunction, slot};
use crate::lower::names::{Base, Formal, FrameVariable, Operand, Value, file};
use crate::lower::opcodes;
use crate::ops::Op;
use crate::site::{FrameRange, FunctionShape, Order, Origin, Rule, Site, Symbol, SyncScope};
use crate::types::ScalarType;

/// Returns the registers and frame variables of a function, by name.
pub(crate) fn function_shape(prepared: &NumberedFunction<'_>) -> FunctionShape {
    let body = &prepared.body;
    let registers = |formals: &[Formal]| {
        let register = |formal: &Formal| match formal {
            Formal::Register(register) => Some(*register),
            Formal::Memory(_) => None,
        };
        formals.iter().map(register).collect()
    };
    let range = |variable: &FrameVariable| FrameRange {
        name: variable.name.clone(),
        start: variable.offset,
        bytes: variable.bytes,
    };
    FunctionShape {
        registers: body.registers.len(),
        slots: body
            .registers
            .iter()
            .zip(&prepared.allocation.numbers)
            .map(|(register, &number)| (file(register.ty), slot(file(register.ty), number)))
            .collect(),
        names: body.register_names.clone(),
        parameters: registers(&body.parameters),
        returns: registers(&body.returns),
        frame: body.frame.iter().map(range).collect(),
    }
}

/// Describes the instruction at `index` of a function for the checker.
pub(crate) fn describe(
    prepared: &NumberedFunction<'_>,
    index: usize,
    op: Op,
    source: &Source<'_>,
) -> Site {
    let resolved = &prepared.body.instructions[index];
    let opcode = resolved.opcode;
    let mut site = Site {
        column: source.column(resolved.span.start),
        location: resolved.location,
        guard: resolved.guard.map(|(register, _)| register),
        sources: Vec::new(),
        results: Vec::new(),
        address: Origin::Number,
        rule: rule(opcode, op),
        order: order(opcode),
        is_implied: resolved.is_implied,
    };
    if site.rule == Rule::Call {
        // Results in front, if there are any, and arguments behind the function.
        for (at, operand) in resolved.operands.iter().enumerate() {
            if let Value::Register(register) = operand.value {
                site.address = Origin::Register(register);
            }
            if let Value::List(list) = &operand.value {
                let list = scalars(list);
                let behind = resolved.operands[..at]
                    .iter()
                    .any(|before| matches!(before.value, Value::Function(_) | Value::Register(_)));
                if behind {
                    site.sources = list.iter().map(|operand| origin(&operand.value)).collect();
                } else {
                    site.results = list
                        .iter()
                        .map(|operand| register(&operand.value))
                        .collect();
                }
            }
        }
        return site;
    }
    let writes_first = opcodes::writes_first(opcode);
    for (at, operand) in resolved.operands.iter().enumerate() {
        if at == 0 && writes_first {
            results(operand, &mut site.results);
            continue;
        }
        match &operand.value {
            Value::Address(from, _) => {
                site.address = match *from {
                    Base::Register(register) => Origin::Register(register),
                    Base::Symbol(symbol) => Origin::Symbol(symbol),
                    Base::Absolute => Origin::Number,
                };
            }
            Value::Texture(from, coordinates) => {
                if let Base::Register(register) = *from {
                    site.sources.push(Origin::Register(register));
                }
                sources(coordinates, &mut site.sources);
            }
            _ => sources(operand, &mut site.sources),
        }
    }
    site
}

/// Returns the parameters, given by offset, through which a kernel may read memory. These are
/// parameters whose value reaches the address of a load or atomic, a call, or memory. Parameters
/// whose own address is taken are included.
pub(crate) fn read_through(sites: &[Site], registers: usize, offsets: &[u32]) -> Vec<bool> {
    let mut read = vec![false; offsets.len()];
    for (parameter, &offset) in offsets.iter().enumerate() {
        let end = offsets.get(parameter + 1).copied().unwrap_or(u32::MAX);
        let mut reached = vec![false; registers];
        let mut grows = true;
        while std::mem::take(&mut grows) {
            for site in sites {
                let is_taken = |origin: &Origin| match *origin {
                    Origin::Symbol(Symbol::Argument(at)) => (offset..end).contains(&at),
                    _ => false,
                };
                let carries = |origin: &Origin| match *origin {
                    Origin::Register(register) => reached[register as usize],
                    _ => false,
                };
                let gives = match site.rule {
                    Rule::Load => is_taken(&site.address),
                    _ => site.sources.iter().any(carries),
                };
                let escapes = match site.rule {
                    Rule::Load | Rule::Atomic => carries(&site.address),
                    _ => false,
                };
                let is_passed = matches!(site.rule, Rule::Store | Rule::Call | Rule::Atomic);
                read[parameter] |=
                    escapes || is_passed && gives || site.sources.iter().any(is_taken);
                if !gives {
                    continue;
                }
                for &result in site.results.iter().flatten() {
                    grows |= !std::mem::replace(&mut reached[result as usize], true);
                }
            }
        }
    }
    read
}

fn origin(value: &Value) -> Origin {
    match *value {
        Value::Register(register) | Value::Not(register) => Origin::Register(register),
        Value::Symbol(symbol, _) => Origin::Symbol(symbol),
        _ => Origin::Number,
    }
}

fn register(value: &Value) -> Option<u32> {
    match *value {
        Value::Register(register) => Some(register),
        _ => None,
    }
}

fn sources(operand: &Operand, list: &mut Vec<Origin>) {
    match &operand.value {
        Value::Vector(inner) => inner.iter().for_each(|operand| sources(operand, list)),
        value => list.push(origin(value)),
    }
}

fn results(operand: &Operand, list: &mut Vec<Option<u32>>) {
    match &operand.value {
        Value::Vector(inner) => inner.iter().for_each(|operand| results(operand, list)),
        Value::Pair(first, second) => {
            results(first, list);
            results(second, list);
        }
        value => list.push(register(value)),
    }
}

fn rule(opcode: &str, op: Op) -> Rule {
    match op {
        Op::Load(_) | Op::LoadMatrix(_) => return Rule::Load,
        Op::Store(_) => return Rule::Store,
        Op::Atomic(_) | Op::AtomicVector { .. } => return Rule::Atomic,
        Op::Call(_) | Op::CallIndirect(_) => return Rule::Call,
        Op::Return | Op::Exit => return Rule::Return,
        _ => {}
    }
    let is_float = opcode
        .split('.')
        .rev()
        .find_map(ScalarType::from_name)
        .is_some_and(ScalarType::is_float);
    match opcodes::base(opcode) {
        "mov" => Rule::Copy,
        "cvta" => Rule::Convert,
        "cvt" if !is_float => Rule::Convert,
        "selp" => Rule::Select,
        _ if is_float => Rule::Plain,
        "add" | "addc" => Rule::Add,
        "sub" | "subc" => Rule::Subtract,
        "mad" | "mad24" | "madc" | "fma" => Rule::MultiplyAdd,
        "and" | "or" => Rule::Mask,
        "min" | "max" | "shfl" => Rule::Either,
        "div" | "rem" => Rule::Divide,
        "bar" | "barrier" if opcodes::has(opcode, "warp") => Rule::WavefrontBarrier,
        "membar" | "fence" => Rule::Fence,
        "setp" | "set" | "testp" | "isspacep" | "vote" | "match" | "activemask" | "bar"
        | "barrier" | "clz" | "popc" | "bfind" | "tex" | "tld4" | "txq" => Rule::Plain,
        _ => Rule::Scramble,
    }
}

fn order(opcode: &str) -> Order {
    let base = opcodes::base(opcode);
    let strong = match base {
        "atom" | "red" | "membar" | "fence" => true,
        _ => opcodes::is_ordered(opcode),
    };
    let strength = match strong {
        false => SyncScope::Weak,
        true if opcodes::has(opcode, "cta") => SyncScope::Group,
        true => SyncScope::Device,
    };
    Order {
        strength,
        releases: ["release", "acq_rel"]
            .iter()
            .any(|word| opcodes::has(opcode, word)),
    }
}
