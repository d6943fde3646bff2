//! Table of the opcodes that the emulator supports, with their lowering, types and modifiers.

use self::Group::{
    Arithmetic, Atomic, Carry, Compare, Control, Convert, ConvertAddress, CreatePolicy, Elect,
    Integer, IsSpace, Load, LoadMatrix, Match, Move, Reduce, Shuffle, Store, TextureQuery,
    TextureRead, Vote,
};
use crate::diagnostics::{Span, SpannedError};

/// Opcode for which the emulator supports at least one form.
#[derive(Debug)]
pub struct Opcode {
    /// Name of the opcode, without modifiers.
    pub name: &'static str,
    /// Accepted types and accepted other modifiers, each separated by spaces. All others are
    /// invalid PTX or unsupported, even if lowering could handle them. Lowering checks the
    /// combinations. Absent for opcodes whose modifiers only lowering checks.
    pub words: Option<[&'static str; 2]>,
    pub(crate) group: Group,
}

/// Group of opcodes that are lowered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Arithmetic,
    Carry,
    Integer,
    Compare,
    Convert,
    ConvertAddress,
    Move,
    Load,
    LoadMatrix,
    Store,
    Atomic,
    TextureRead,
    TextureQuery,
    IsSpace,
    Shuffle,
    Vote,
    Match,
    Reduce,
    Elect,
    CreatePolicy,
    Control,
}

const fn listed(
    name: &'static str,
    group: Group,
    types: &'static str,
    modifiers: &'static str,
) -> Opcode {
    let words = Some([types, modifiers]);
    Opcode { name, words, group }
}

const fn unlisted(name: &'static str, group: Group) -> Opcode {
    let words = None;
    Opcode { name, words, group }
}

/// All supported opcodes in alphabetical order.
static OPCODES: [Opcode; 94] = [
    listed(
        "abs",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64",
        "ftz",
    ),
    listed("activemask", Control, "b32", ""),
    listed(
        "add",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f32x2 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "cc ftz rm rn rp rz sat",
    ),
    listed("addc", Carry, "s32 s64 u32 u64", "cc"),
    unlisted("alloca", Control),
    listed("and", Integer, "b16 b32 b64 pred", ""),
    listed(
        "atom",
        Atomic,
        "b128 b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s32 s64 u32 u64",
        "L2::cache_hint acq_rel acquire add and cas cluster cta dec exch global gpu inc max min noftz or relaxed release shared shared::cta sys v2 v4 v8 xor",
    ),
    unlisted("bar", Control),
    unlisted("barrier", Control),
    listed("bfe", Integer, "s32 s64 u32 u64", ""),
    listed("bfi", Integer, "b32 b64", ""),
    listed("bfind", Integer, "s32 s64 u32 u64", "shiftamt"),
    listed("bmsk", Integer, "b32", "clamp wrap"),
    unlisted("bra", Control),
    listed("brev", Integer, "b32 b64", ""),
    unlisted("brkpt", Control),
    unlisted("brx", Control),
    unlisted("call", Control),
    listed("clz", Integer, "b32 b64", ""),
    listed("cnot", Integer, "b16 b32 b64", ""),
    listed("copysign", Arithmetic, "f32 f64", ""),
    listed("cos", Arithmetic, "f32", "approx ftz"),
    unlisted("createpolicy", CreatePolicy),
    listed(
        "cvt",
        Convert,
        "b32 bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "e4m3x2 e5m2x2 ftz pack relu rm rmi rn rni rp rpi rz rzi s2 s4 sat satfinite u2 u4",
    ),
    unlisted("cvta", ConvertAddress),
    listed("discard", Control, "", "L2 global"),
    listed(
        "div",
        Arithmetic,
        "f32 f64 s16 s32 s64 u16 u32 u64",
        "approx ftz full rm rn rp rz",
    ),
    listed("dp2a", Integer, "s32 u32", "hi lo"),
    listed("dp4a", Integer, "s32 u32", ""),
    listed("elect", Elect, "", "sync"),
    listed("ex2", Arithmetic, "bf16 bf16x2 f16 f16x2 f32", "approx ftz"),
    unlisted("exit", Control),
    listed(
        "fence",
        Control,
        "",
        "acq_rel acquire alias cluster cta gpu proxy release sc sys",
    ),
    listed(
        "fma",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f32x2 f64",
        "ftz relu rm rn rp rz sat",
    ),
    listed("fns", Integer, "b32", ""),
    unlisted("griddepcontrol", Control),
    unlisted("isspacep", IsSpace),
    listed(
        "ld",
        Load,
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2::128B L2::256B L2::64B L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal acquire ca cg cluster const cs cta cv global gpu local lu mmio nc param param::entry param::func relaxed shared shared::cta sys v2 v4 v8 volatile weak",
    ),
    listed(
        "ldmatrix",
        LoadMatrix,
        "b16",
        "aligned m8n8 shared shared::cta sync trans x1 x2 x4",
    ),
    listed(
        "ldu",
        Load,
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "global v2 v4",
    ),
    listed("lg2", Arithmetic, "f32", "approx ftz"),
    listed("lop3", Integer, "b32", "and or"),
    listed(
        "mad",
        Arithmetic,
        "f32 f64 s16 s32 s64 u16 u32 u64",
        "cc ftz hi lo rm rn rp rz sat wide",
    ),
    listed("mad24", Integer, "s32 u32", "hi lo sat"),
    listed("madc", Carry, "s32 s64 u32 u64", "cc hi lo"),
    listed("match", Match, "b32 b64", "all any sync"),
    listed(
        "max",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "NaN abs ftz relu xorsign",
    ),
    listed("membar", Control, "", "cta gl sys"),
    listed(
        "min",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "NaN abs ftz relu xorsign",
    ),
    listed(
        "mov",
        Move,
        "b128 b16 b32 b64 f32 f64 pred s16 s32 s64 u16 u32 u64",
        "v2 v4 v8",
    ),
    listed(
        "mul",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f32x2 f64 s16 s32 s64 u16 u32 u64",
        "ftz hi lo rm rn rp rz sat wide",
    ),
    listed("mul24", Integer, "s32 u32", "hi lo"),
    unlisted("nanosleep", Control),
    listed(
        "neg",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64",
        "ftz",
    ),
    listed("not", Integer, "b16 b32 b64 pred", ""),
    listed("or", Integer, "b16 b32 b64 pred", ""),
    unlisted("pmevent", Control),
    listed("popc", Integer, "b32 b64", ""),
    listed(
        "prefetch",
        Control,
        "",
        "L1 L2 L2::evict_last L2::evict_normal global local",
    ),
    listed("prefetchu", Control, "", "L1"),
    listed("prmt", Integer, "b32", "b4e ecl ecr f4e rc16 rc8"),
    listed("rcp", Arithmetic, "f32 f64", "approx ftz rm rn rp rz"),
    listed(
        "red",
        Atomic,
        "b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s32 s64 u32 u64",
        "L2::cache_hint add and cluster cta dec global gpu inc max min noftz or relaxed release shared shared::cta sys v2 v4 v8 xor",
    ),
    listed(
        "redux",
        Reduce,
        "b32 f32 s32 u32",
        "NaN abs add and max min or sync xor",
    ),
    listed("rem", Integer, "s16 s32 s64 u16 u32 u64", ""),
    unlisted("ret", Control),
    listed("rsqrt", Arithmetic, "f32 f64", "approx ftz"),
    listed("sad", Integer, "s16 s32 s64 u16 u32 u64", ""),
    listed(
        "selp",
        Compare,
        "b16 b32 b64 f32 f64 s16 s32 s64 u16 u32 u64",
        "",
    ),
    listed(
        "set",
        Compare,
        "b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "and eq equ ftz ge geu gt gtu hi hs le leu lo ls lt ltu nan ne neu num or xor",
    ),
    listed(
        "setp",
        Compare,
        "b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "and eq equ ftz ge geu gt gtu hi hs le leu lo ls lt ltu nan ne neu num or xor",
    ),
    listed("shf", Integer, "b32", "clamp l r wrap"),
    listed("shfl", Shuffle, "b32", "bfly down idx sync up"),
    listed("shl", Integer, "b16 b32 b64", ""),
    listed("shr", Integer, "b16 b32 b64 s16 s32 s64 u16 u32 u64", ""),
    listed("sin", Arithmetic, "f32", "approx ftz"),
    listed(
        "slct",
        Compare,
        "b16 b32 b64 f32 f64 s16 s32 s64 u16 u32 u64",
        "ftz",
    ),
    listed("sqrt", Arithmetic, "f32 f64", "approx ftz rm rn rp rz"),
    listed(
        "st",
        Store,
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal cg cluster cs cta global gpu local mmio param param::func relaxed release shared shared::cta sys v2 v4 v8 volatile wb weak wt",
    ),
    unlisted("stackrestore", Control),
    unlisted("stacksave", Control),
    listed(
        "sub",
        Arithmetic,
        "bf16 bf16x2 f16 f16x2 f32 f32x2 f64 s16 s32 s64 u16 u32 u64",
        "cc ftz rm rn rp rz sat",
    ),
    listed("subc", Carry, "s32 s64 u32 u64", "cc"),
    listed("szext", Integer, "s32 u32", "clamp wrap"),
    listed("tanh", Arithmetic, "bf16 bf16x2 f16 f16x2 f32", "approx"),
    listed(
        "testp",
        Arithmetic,
        "f32 f64",
        "finite infinite normal notanumber number subnormal",
    ),
    unlisted("tex", TextureRead),
    unlisted("tld4", TextureRead),
    unlisted("trap", Control),
    unlisted("txq", TextureQuery),
    listed("vote", Vote, "b32 pred", "all any ballot sync uni"),
    listed("vshl", Integer, "s32 u32", "add clamp max min wrap"),
    listed("vshr", Integer, "s32 u32", "add clamp max min wrap"),
    listed("xor", Integer, "b16 b32 b64 pred", ""),
];

/// PTX opcodes that are deliberately rejected, with the reason.
const REFUSED: [(&str, &str); 41] = [
    ("suld", "surfaces are not supported"),
    ("sust", "surfaces are not supported"),
    ("sured", "surfaces are not supported"),
    ("suq", "surfaces are not supported"),
    ("mma", "matrix instructions are not supported"),
    ("wmma", "matrix instructions are not supported"),
    ("stmatrix", "matrix instructions are not supported"),
    ("movmatrix", "matrix instructions are not supported"),
    ("wgmma", "warp-group instructions are not supported"),
    ("setmaxnreg", "warp-group instructions are not supported"),
    ("tcgen05", "tensor-core instructions are not supported"),
    ("multimem", "multi-device memory is not supported"),
    ("mapa", "clusters of work-groups are not supported"),
    ("getctarank", "clusters of work-groups are not supported"),
    (
        "clusterlaunchcontrol",
        "clusters of work-groups are not supported",
    ),
    ("cp", "asynchronous copies are not supported"),
    ("tensormap", "asynchronous copies are not supported"),
    (
        "applypriority",
        "priorities of cache lines are not supported",
    ),
    ("mbarrier", "asynchronous barriers are not supported"),
    ("istypep", "type tests of opaque objects are not supported"),
    ("vadd", "video instructions are not supported"),
    ("vsub", "video instructions are not supported"),
    ("vabsdiff", "video instructions are not supported"),
    ("vmin", "video instructions are not supported"),
    ("vmax", "video instructions are not supported"),
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

/// Returns all opcodes for which the emulator supports at least one form, in alphabetical order.
pub fn opcodes() -> &'static [Opcode] {
    &OPCODES
}

/// Returns the opcode without its modifiers, up to the first dot.
pub(crate) fn base(opcode: &str) -> &str {
    let end = opcode.bytes().position(|byte| byte == b'.');
    &opcode[..end.unwrap_or(opcode.len())]
}

/// Returns the table's entry for an opcode with modifiers.
pub(crate) fn entry(opcode: &str) -> Option<&'static Opcode> {
    let at = OPCODES.binary_search_by_key(&base(opcode), |known| known.name);
    at.ok().map(|at| &OPCODES[at])
}

/// Returns the first part of an opcode that its instruction does not accept.
pub(crate) fn foreign_word(opcode: &str) -> Option<&str> {
    let words = entry(opcode)?.words?;
    let mut parts = opcode.split('.').filter(|word| !word.is_empty()).skip(1);
    parts.find(|word| {
        // Every instruction is looked up: bytes are compared faster than text.
        let is_word = |other: &[u8]| other == word.as_bytes();
        let is_known = |list: &&str| list.as_bytes().split(|b| *b == b' ').any(is_word);
        !words.iter().any(is_known)
    })
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
    if entry(opcode).is_some() {
        return Ok(());
    }
    let names = OPCODES.iter().map(|known| known.name);
    Err(SpannedError::new(span, format!("unknown instruction `{opcode}`")).nearest(name, names))
}

/// True if the first operand is the destination.
pub(crate) fn writes_first(opcode: &str) -> bool {
    match base(opcode) {
        "st" | "red" | "bra" | "brx" | "stackrestore" | "call" | "ret" | "exit" | "trap"
        | "brkpt" | "pmevent" | "griddepcontrol" | "membar" | "fence" | "nanosleep"
        | "prefetch" | "prefetchu" | "discard" => false,
        "bar" | "barrier" => opcode.contains(".red"),
        _ => true,
    }
}

/// True if an opcode has a modifier, which follows its name.
pub(crate) fn has(opcode: &str, modifier: &str) -> bool {
    // Asked of every instruction: bytes are compared faster than text.
    let mut parts = opcode.as_bytes().split(|byte| *byte == b'.');
    parts.next();
    parts.any(|found| found == modifier.as_bytes())
}

/// True if an access is volatile or ordered against those of other threads.
pub(crate) fn is_ordered(opcode: &str) -> bool {
    let mut parts = opcode.as_bytes().split(|byte| *byte == b'.');
    parts.next();
    parts.any(|part| {
        // Most modifiers are shorter than any of these.
        part.len() >= 4
            && matches!(
                part,
                b"volatile" | b"mmio" | b"relaxed" | b"acquire" | b"release"
            )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    #[test]
    fn every_entry_is_found_and_lowered_by_its_group() {
        assert!(OPCODES.is_sorted_by_key(|opcode| opcode.name));
        for opcode in &OPCODES {
            let name = opcode.name;
            assert!(entry(&format!("{name}.x")).is_some_and(|found| found.name == name));
            let text = format!(
                ".version 8.0\n.target sm_70\n.address_size 64\n.entry e() {{ {name}; ret; }}\n"
            );
            let said = match Module::parse("e.ptx", &text) {
                Ok(module) => format!("{:?}", module.refused()),
                Err(error) => error.to_string(),
            };
            let unreached = ["unknown instruction", "this instruction is not supported"];
            assert!(
                !unreached.iter().any(|words| said.contains(words)),
                "{said}"
            );
        }
    }

    #[test]
    fn no_supported_opcode_is_refused() {
        let refused = REFUSED.iter().filter(|(name, _)| entry(name).is_some());
        assert_eq!(refused.count(), 0);
    }
}
