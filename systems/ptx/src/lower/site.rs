//! Checker's view of an instruction: its position, its source and result values by program name,
//! and its effect on pointers.
//!
//! Registers are the virtual registers of the text. Values that share an architectural register are
//! distinct here, so an uninitialised value is not mistaken for its predecessor.

use crate::ast::Location;
use crate::diagnostics::Source;
use crate::lower::encode::NumberedFunction;
use crate::lower::names::{Base, Body, Formal, Operand, Symbol, Value};
use crate::lower::opcodes;
use crate::ops::Op;
use crate::types::ScalarType;

/// An instruction as the checker sees it.
#[derive(Debug)]
pub(crate) struct Site {
    /// Column of the instruction, counted from one.
    pub(crate) column: u32,
    /// Source location given by the last `.loc` directive.
    pub(crate) location: Option<Location>,
    /// Register of the guard predicate, if the instruction has one.
    pub(crate) guard: Option<u32>,
    /// Source values, except for the address of an access.
    pub(crate) sources: Vec<Origin>,
    /// Destination registers, one per element; `None` for `_`.
    pub(crate) results: Vec<Option<u32>>,
    /// Base value of an access's address.
    pub(crate) address: Origin,
    pub(crate) rule: Rule,
    pub(crate) order: Order,
    /// True for the implicit return added where control reaches the end of a function.
    pub(crate) is_implied: bool,
}

/// Origin of a source value in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Register(u32),
    /// Address of a variable, which is a pointer.
    Symbol(Symbol),
    /// A number, which never is a pointer.
    Number,
}

/// Propagation of initialisation and pointer tags from sources to results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Copies the value, possibly in parts; this does not count as a use.
    Copy,
    /// Converts the value to another representation.
    Convert,
    /// Selects the second or the third source by a predicate, which is the last source of `selp`.
    Select,
    Add,
    Subtract,
    /// Adds the product of the other sources to the last source.
    MultiplyAdd,
    /// Clears or sets low bits; a pointer remains a pointer.
    Mask,
    /// Returns the smaller or the larger source.
    Either,
    /// Computes a number from which no pointer can be recovered.
    Scramble,
    /// Produces a number that cannot be used as a pointer.
    Plain,
    /// Integer division; otherwise the same as `Scramble`.
    Divide,
    Load,
    Store,
    Atomic,
    Call,
    Return,
    /// Wavefront barrier, written `bar.warp.sync` in PTX.
    WavefrontBarrier,
    Fence,
}

/// Ordering of an access or fence with respect to other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Order {
    /// Scope within which the access does not race with others of its kind.
    pub(crate) strength: SyncScope,
    /// True if earlier writes become visible to threads that observe this access.
    pub(crate) releases: bool,
}

/// Scope of an access that takes part in synchronisation (PTX ISA, "Memory Consistency Model",
/// "morally strong").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SyncScope {
    /// No synchronisation: races with any conflicting access.
    #[default]
    Weak,
    /// Synchronises threads of the same work-group only.
    Group,
    /// Synchronises all threads of the device.
    Device,
}

/// Registers and frame variables of a function, by name.
#[derive(Debug)]
pub(crate) struct FunctionShape {
    pub(crate) registers: usize,
    /// Register declarations: first register, name, and true if numbers follow the name.
    names: Vec<(u32, String, bool)>,
    pub(crate) parameters: Vec<Option<u32>>,
    pub(crate) returns: Vec<Option<u32>>,
    pub(crate) frame: Vec<FrameRange>,
}

/// Byte range of a variable in a function's frame.
#[derive(Debug)]
pub(crate) struct FrameRange {
    pub(crate) name: String,
    pub(crate) start: u32,
    pub(crate) bytes: u32,
}

/// Byte range of a variable in local memory.
#[derive(Debug)]
pub(crate) struct SharedRange {
    /// Index of the variable in the module.
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) start: u32,
    /// Size in bytes; `None` extends to the end of the memory.
    pub(crate) bytes: Option<u32>,
}

impl FunctionShape {
    pub(crate) fn of(body: &Body<'_>) -> Self {
        let registers = |formals: &[Formal]| {
            let register = |formal: &Formal| match formal {
                Formal::Register(register) => Some(*register),
                Formal::Memory(_) => None,
            };
            formals.iter().map(register).collect()
        };
        let range = |variable: &crate::lower::names::FrameVariable| FrameRange {
            name: variable.name.clone(),
            start: variable.offset,
            bytes: variable.bytes,
        };
        Self {
            registers: body.registers.len(),
            names: body.register_names.clone(),
            parameters: registers(&body.parameters),
            returns: registers(&body.returns),
            frame: body.frame.iter().map(range).collect(),
        }
    }

    /// Returns the name of a register in the text.
    pub(crate) fn register_name(&self, register: u32) -> String {
        let after = self.names.partition_point(|(first, ..)| *first <= register);
        match after.checked_sub(1).map(|at| &self.names[at]) {
            Some((first, name, true)) => format!("{name}{}", register - first),
            Some((_, name, false)) => name.clone(),
            None => "?".to_owned(),
        }
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

fn has(opcode: &str, modifier: &str) -> bool {
    opcode.split('.').skip(1).any(|found| found == modifier)
}

fn rule(opcode: &str, op: Op) -> Rule {
    match op {
        Op::Load(_) => return Rule::Load,
        Op::Store(_) => return Rule::Store,
        Op::Atomic(_) => return Rule::Atomic,
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
        "bar" | "barrier" if has(opcode, "warp") => Rule::WavefrontBarrier,
        "membar" | "fence" => Rule::Fence,
        "setp" | "set" | "testp" | "isspacep" | "vote" | "match" | "activemask" | "bar"
        | "barrier" | "clz" | "popc" | "bfind" | "tex" | "tld4" | "txq" => Rule::Plain,
        _ => Rule::Scramble,
    }
}

fn order(opcode: &str) -> Order {
    let base = opcodes::base(opcode);
    let is = |modifiers: &[&str]| modifiers.iter().any(|modifier| has(opcode, modifier));
    let strong = match base {
        "atom" | "red" | "membar" | "fence" => true,
        _ => is(&["volatile", "mmio", "relaxed", "acquire", "release"]),
    };
    let strength = match (strong, has(opcode, "cta")) {
        (false, _) => SyncScope::Weak,
        (true, true) => SyncScope::Group,
        (true, false) => SyncScope::Device,
    };
    Order {
        strength,
        releases: is(&["release", "acq_rel"]),
    }
}
