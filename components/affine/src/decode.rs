//! Opcodes as the analysis understands them.

use warpweave_trace::{Class, Instruction};

/// Meaning of an opcode for the analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Copy,
    Add,
    Sub,
    Negate,
    Not,
    Multiply(Part),
    MultiplyAdd(Part),
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Xor,
    Divide,
    Remainder,
    Min,
    Max,
    Select,
    Compare(Comparison, Option<Junction>),
    Convert {
        to_bits: u32,
    },
    LoadArgument,
    /// Makes a generic address of one of local memory.
    LocalToGeneric,
    Memory,
    Branch,
    Exit,
    /// Jump to a place that the kernel computes.
    Computed,
    /// Anything else: what it writes is not known.
    Other,
}

/// Part of a product that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Low,
    High,
    Wide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Operation that combines a comparison with a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Junction {
    And,
    Or,
    Xor,
}

/// Opcode with the type of its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoded {
    pub(crate) kind: Kind,
    /// Width of the operands: 1 for predicates, 16, 32 or 64.
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
}

/// Returns width and signedness of an integer type.
fn integer(name: &str) -> Option<(u32, bool)> {
    Some(match name {
        "pred" => (1, false),
        "u8" | "b8" => (8, false),
        "s8" => (8, true),
        "u16" | "b16" => (16, false),
        "s16" => (16, true),
        "u32" | "b32" => (32, false),
        "s32" => (32, true),
        "u64" | "b64" => (64, false),
        "s64" => (64, true),
        _ => return None,
    })
}

pub(crate) fn decode(instruction: &Instruction) -> Decoded {
    let mut words = instruction.opcode.split('.');
    let base = words.next().unwrap_or_default();
    let words: Vec<&str> = words.collect();
    let other = Decoded {
        kind: Kind::Other,
        bits: 0,
        is_signed: false,
    };
    let with = |kind| Decoded { kind, ..other };
    match (base, instruction.class) {
        ("exit" | "ret" | "trap", _) | (_, Class::Exit) => return with(Kind::Exit),
        ("brx", _) => return with(Kind::Computed),
        ("bra", _) => return with(Kind::Branch),
        (_, Class::Load | Class::Store | Class::Atomic)
            if !matches!(
                instruction.space,
                warpweave_trace::Space::Param | warpweave_trace::Space::None
            ) =>
        {
            return with(Kind::Memory);
        }
        _ => {}
    }
    let Some((bits, is_signed)) = words.last().and_then(|name| integer(name)) else {
        return other;
    };
    let has = |word: &str| words.contains(&word);
    let part = match (has("lo"), has("hi"), has("wide")) {
        (_, true, _) => Part::High,
        (_, _, true) => Part::Wide,
        _ => Part::Low,
    };
    let junction = || {
        let pairs = [
            ("and", Junction::And),
            ("or", Junction::Or),
            ("xor", Junction::Xor),
        ];
        pairs
            .into_iter()
            .find(|(word, _)| has(word))
            .map(|(_, j)| j)
    };
    // Saturation and carries change results.
    if has("sat") || has("cc") {
        return other;
    }
    let kind = match base {
        "mov" => Kind::Copy,
        "cvta" if has("shared") && !has("to") => Kind::LocalToGeneric,
        "cvta" if !has("shared") && !has("local") && !has("const") && !has("param") => Kind::Copy,
        "add" => Kind::Add,
        "sub" => Kind::Sub,
        "neg" => Kind::Negate,
        "not" => Kind::Not,
        "mul" => Kind::Multiply(part),
        "mad" => Kind::MultiplyAdd(part),
        "shl" => Kind::ShiftLeft,
        "shr" => Kind::ShiftRight,
        "and" => Kind::And,
        "or" => Kind::Or,
        "xor" => Kind::Xor,
        "div" => Kind::Divide,
        "rem" => Kind::Remainder,
        "min" => Kind::Min,
        "max" => Kind::Max,
        "selp" => Kind::Select,
        "setp" => match words.first().and_then(|word| comparison(word)) {
            Some(comparison) => Kind::Compare(comparison, junction()),
            None => Kind::Other,
        },
        "cvt" if words.len() == 2 => match integer(words[0]) {
            Some((to_bits, _)) => Kind::Convert { to_bits },
            None => Kind::Other,
        },
        "ld" if has("param") && words.len() == 2 => Kind::LoadArgument,
        _ => Kind::Other,
    };
    // Packed and narrow arithmetic is rare in addresses.
    let narrow = bits < 32 && !matches!(kind, Kind::Convert { .. } | Kind::LoadArgument);
    // Products of 128 bits are not followed.
    let is_long = bits == 64
        && matches!(
            kind,
            Kind::Multiply(Part::High | Part::Wide) | Kind::MultiplyAdd(Part::High | Part::Wide)
        );
    let narrow = narrow || is_long;
    let logic = bits == 1
        && matches!(
            kind,
            Kind::And | Kind::Or | Kind::Xor | Kind::Not | Kind::Copy
        );
    Decoded {
        kind: if narrow && !logic { Kind::Other } else { kind },
        bits,
        is_signed,
    }
}

/// Compares as unsigned by name: `lo`, `ls`, `hi` and `hs` stand for unsigned types.
fn comparison(word: &str) -> Option<Comparison> {
    Some(match word {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" | "lo" => Comparison::Less,
        "le" | "ls" => Comparison::LessEqual,
        "gt" | "hi" => Comparison::Greater,
        "ge" | "hs" => Comparison::GreaterEqual,
        _ => return None,
    })
}
