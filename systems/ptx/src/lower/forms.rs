//! Types and modifiers accepted by each instruction that computes a value or accesses memory.
//! Anything else is invalid PTX or unsupported, even if lowering could handle it.

/// Opcodes in alphabetical order, with their types and other modifiers. Lowering checks which
/// combinations are valid.
const FORMS: [(&str, &str, &str); 70] = [
    ("abs", "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64", "ftz"),
    ("activemask", "b32", ""),
    (
        "add",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "cc ftz rm rn rp rz sat",
    ),
    ("addc", "s32 s64 u32 u64", "cc"),
    ("and", "b16 b32 b64 pred", ""),
    (
        "atom",
        "b128 b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s32 s64 u32 u64",
        "L2::cache_hint acq_rel acquire add and cas cluster cta dec exch global gpu inc max min noftz or relaxed release shared shared::cta sys xor",
    ),
    ("bfe", "s32 s64 u32 u64", ""),
    ("bfi", "b32 b64", ""),
    ("bfind", "s32 s64 u32 u64", "shiftamt"),
    ("bmsk", "b32", "clamp wrap"),
    ("brev", "b32 b64", ""),
    ("clz", "b32 b64", ""),
    ("cnot", "b16 b32 b64", ""),
    ("copysign", "f32 f64", ""),
    ("cos", "f32", "approx ftz"),
    (
        "cvt",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "ftz relu rm rmi rn rni rp rpi rz rzi sat satfinite",
    ),
    ("discard", "", "L2 global"),
    (
        "div",
        "f32 f64 s16 s32 s64 u16 u32 u64",
        "approx ftz full rm rn rp rz",
    ),
    ("dp2a", "s32 u32", "hi lo"),
    ("dp4a", "s32 u32", ""),
    ("elect", "", "sync"),
    ("ex2", "bf16 bf16x2 f16 f16x2 f32", "approx ftz"),
    (
        "fence",
        "",
        "acq_rel acquire alias cluster cta gpu proxy release sc sys",
    ),
    (
        "fma",
        "bf16 bf16x2 f16 f16x2 f32 f64",
        "ftz relu rm rn rp rz sat",
    ),
    ("fns", "b32", ""),
    (
        "ld",
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2::128B L2::256B L2::64B L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal acquire ca cg cluster const cs cta cv global gpu local lu mmio nc param param::entry param::func relaxed shared shared::cta sys v2 v4 volatile weak",
    ),
    (
        "ldu",
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "global v2 v4",
    ),
    ("lg2", "f32", "approx ftz"),
    ("lop3", "b32", ""),
    (
        "mad",
        "f32 f64 s16 s32 s64 u16 u32 u64",
        "cc ftz hi lo rm rn rp rz sat wide",
    ),
    ("mad24", "s32 u32", "hi lo sat"),
    ("madc", "s32 s64 u32 u64", "cc hi lo"),
    ("match", "b32 b64", "all any sync"),
    (
        "max",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "NaN abs ftz relu xorsign",
    ),
    ("membar", "", "cta gl sys"),
    (
        "min",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s16x2 s32 s64 u16 u16x2 u32 u64",
        "NaN abs ftz relu xorsign",
    ),
    (
        "mov",
        "b128 b16 b32 b64 f32 f64 pred s16 s32 s64 u16 u32 u64",
        "",
    ),
    (
        "mul",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "ftz hi lo rm rn rp rz sat wide",
    ),
    ("mul24", "s32 u32", "hi lo"),
    ("neg", "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64", "ftz"),
    ("not", "b16 b32 b64 pred", ""),
    ("or", "b16 b32 b64 pred", ""),
    ("popc", "b32 b64", ""),
    (
        "prefetch",
        "",
        "L1 L2 L2::evict_last L2::evict_normal global local",
    ),
    ("prefetchu", "", "L1"),
    ("prmt", "b32", "b4e ecl ecr f4e rc16 rc8"),
    ("rcp", "f32 f64", "approx ftz rm rn rp rz"),
    (
        "red",
        "b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s32 s64 u32 u64",
        "L2::cache_hint add and cluster cta dec global gpu inc max min noftz or relaxed release shared shared::cta sys xor",
    ),
    (
        "redux",
        "b32 f32 s32 u32",
        "NaN abs add and max min or sync xor",
    ),
    ("rem", "s16 s32 s64 u16 u32 u64", ""),
    ("rsqrt", "f32 f64", "approx ftz"),
    ("sad", "s16 s32 s64 u16 u32 u64", ""),
    ("selp", "b16 b32 b64 f32 f64 s16 s32 s64 u16 u32 u64", ""),
    (
        "set",
        "b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "and eq equ ftz ge geu gt gtu hi hs le leu lo ls lt ltu nan ne neu num or xor",
    ),
    (
        "setp",
        "b16 b32 b64 bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "and eq equ ftz ge geu gt gtu hi hs le leu lo ls lt ltu nan ne neu num or xor",
    ),
    ("shf", "b32", "clamp l r wrap"),
    ("shfl", "b32", "bfly down idx sync up"),
    ("shl", "b16 b32 b64", ""),
    ("shr", "b16 b32 b64 s16 s32 s64 u16 u32 u64", ""),
    ("sin", "f32", "approx ftz"),
    ("slct", "b16 b32 b64 f32 f64 s16 s32 s64 u16 u32 u64", "ftz"),
    ("sqrt", "f32 f64", "approx ftz rm rn rp rz"),
    (
        "st",
        "b128 b16 b32 b64 b8 f32 f64 s16 s32 s64 s8 u16 u32 u64 u8",
        "L1::evict_first L1::evict_last L1::evict_normal L1::evict_unchanged L1::no_allocate L2::cache_hint L2::evict_first L2::evict_last L2::evict_normal cg cluster cs cta global gpu local mmio param param::func relaxed release shared shared::cta sys v2 v4 volatile wb weak wt",
    ),
    (
        "sub",
        "bf16 bf16x2 f16 f16x2 f32 f64 s16 s32 s64 u16 u32 u64",
        "cc ftz rm rn rp rz sat",
    ),
    ("subc", "s32 s64 u32 u64", "cc"),
    ("szext", "s32 u32", "clamp wrap"),
    ("tanh", "bf16 bf16x2 f16 f16x2 f32", "approx"),
    (
        "testp",
        "f32 f64",
        "finite infinite normal notanumber number subnormal",
    ),
    ("vote", "b32 pred", "all any ballot sync uni"),
    ("xor", "b16 b32 b64 pred", ""),
];

/// Returns types and modifiers of an opcode, separated by spaces; `None` for control instructions.
fn words(opcode: &str) -> Option<(&'static str, &'static str)> {
    let at = FORMS
        .binary_search_by_key(&opcode, |(known, ..)| known)
        .ok()?;
    Some((FORMS[at].1, FORMS[at].2))
}

/// Returns the first part of an opcode that its instruction does not accept.
pub(crate) fn foreign_word(opcode: &str) -> Option<&str> {
    let mut parts = opcode.split('.').filter(|word| !word.is_empty());
    let (types, modifiers) = words(parts.next()?)?;
    parts.find(|word| {
        let mut known = types.split(' ').chain(modifiers.split(' '));
        !known.any(|other| other == *word)
    })
}

/// Returns opcode, types and modifiers of all instructions that compute a value or access memory.
/// Lists are separated by spaces.
pub fn forms() -> &'static [(&'static str, &'static str, &'static str)] {
    &FORMS
}
