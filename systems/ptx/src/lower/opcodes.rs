//! Opcodes known to the emulator, and the role of their first operand.

use crate::diagnostics::{Span, SpannedError};

/// Opcodes, without modifiers, for which the emulator supports at least one form.
const KNOWN: [&str; 89] = [
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "atom",
    "bar",
    "barrier",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "bra",
    "brev",
    "brkpt",
    "brx",
    "call",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "exit",
    "fence",
    "fma",
    "fns",
    "isspacep",
    "ld",
    "ldu",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "match",
    "max",
    "membar",
    "min",
    "mov",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "red",
    "redux",
    "rem",
    "ret",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "st",
    "stackrestore",
    "stacksave",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "tex",
    "tld4",
    "trap",
    "txq",
    "vote",
    "xor",
];

/// PTX opcodes that are deliberately rejected, with the reason.
const REFUSED: [(&str, &str); 43] = [
    ("suld", "surfaces are not supported"),
    ("sust", "surfaces are not supported"),
    ("sured", "surfaces are not supported"),
    ("suq", "surfaces are not supported"),
    ("mma", "matrix instructions are not supported"),
    ("wmma", "matrix instructions are not supported"),
    ("ldmatrix", "matrix instructions are not supported"),
    ("stmatrix", "matrix instructions are not supported"),
    ("movmatrix", "matrix instructions are not supported"),
    ("wgmma", "warp-group instructions are not supported"),
    ("setmaxnreg", "warp-group instructions are not supported"),
    ("tcgen05", "tensor-core instructions are not supported"),
    ("multimem", "memory of several devices is not supported"),
    ("mapa", "clusters of work-groups are not supported"),
    ("getctarank", "clusters of work-groups are not supported"),
    (
        "clusterlaunchcontrol",
        "clusters of work-groups are not supported",
    ),
    (
        "griddepcontrol",
        "grids that start before others end are not supported",
    ),
    ("cp", "asynchronous copies are not supported"),
    ("mbarrier", "asynchronous barriers are not supported"),
    (
        "istypep",
        "tests of the type of an object are not supported",
    ),
    ("vadd", "video instructions are not supported"),
    ("vsub", "video instructions are not supported"),
    ("vabsdiff", "video instructions are not supported"),
    ("vmin", "video instructions are not supported"),
    ("vmax", "video instructions are not supported"),
    ("vshl", "video instructions are not supported"),
    ("vshr", "video instructions are not supported"),
    ("vmad", "video instructions are not supported"),
    ("vset", "video instructions are not supported"),
    ("vadd2", "video instructions are not supported"),
    ("vsub2", "video instructions are not supported"),
    ("vavrg2", "video instructions are not supported"),
    ("vabsdiff2", "video instructions are not supported"),
    ("vmin2", "video instructions are not supported"),
    ("vmax2", "video instructions are not supported"),
    ("vset2", "video instructions are not supported"),
    ("vadd4", "video instructions are not supported"),
    ("vsub4", "video instructions are not supported"),
    ("vavrg4", "video instructions are not supported"),
    ("vabsdiff4", "video instructions are not supported"),
    ("vmin4", "video instructions are not supported"),
    ("vmax4", "video instructions are not supported"),
    ("vset4", "video instructions are not supported"),
];

/// Returns the opcodes, without modifiers, for which the emulator supports at least one form. The
/// order is alphabetical.
pub fn opcodes() -> &'static [&'static str] {
    &KNOWN
}

/// Returns the opcode without its modifiers, up to the first dot.
pub(crate) fn base(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or(opcode)
}

/// Returns an error for an opcode that is unknown or rejected.
pub(crate) fn check(opcode: &str, span: Span) -> Result<(), SpannedError> {
    let name = base(opcode);
    if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
        return Err(SpannedError::unsupported(
            span,
            format!("`{opcode}`: {why}"),
        ));
    }
    if KNOWN.contains(&name) {
        return Ok(());
    }
    Err(SpannedError::new(span, format!("unknown instruction `{opcode}`")).nearest(name, KNOWN))
}

/// True if the first operand is the destination.
pub(crate) fn writes_first(opcode: &str) -> bool {
    match base(opcode) {
        "st" | "red" | "bra" | "brx" | "stackrestore" | "call" | "ret" | "exit" | "trap"
        | "brkpt" | "membar" | "fence" | "nanosleep" | "prefetch" | "prefetchu" | "discard" => {
            false
        }
        "bar" | "barrier" => opcode.contains(".red"),
        _ => true,
    }
}
