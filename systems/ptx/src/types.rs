//! Scalar types and state spaces of PTX (PTX ISA, chapter 5).

use std::fmt;

/// A fundamental type of the PTX language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarType {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F32,
    F64,
    BF16,
    F16X2,
    BF16X2,
    U16X2,
    S16X2,
    F32X2,
    Pred,
}

const NAMES: [(&str, ScalarType); 23] = [
    ("b8", ScalarType::B8),
    ("b16", ScalarType::B16),
    ("b32", ScalarType::B32),
    ("b64", ScalarType::B64),
    ("b128", ScalarType::B128),
    ("u8", ScalarType::U8),
    ("u16", ScalarType::U16),
    ("u32", ScalarType::U32),
    ("u64", ScalarType::U64),
    ("s8", ScalarType::S8),
    ("s16", ScalarType::S16),
    ("s32", ScalarType::S32),
    ("s64", ScalarType::S64),
    ("f16", ScalarType::F16),
    ("f32", ScalarType::F32),
    ("f64", ScalarType::F64),
    ("bf16", ScalarType::BF16),
    ("f16x2", ScalarType::F16X2),
    ("bf16x2", ScalarType::BF16X2),
    ("u16x2", ScalarType::U16X2),
    ("s16x2", ScalarType::S16X2),
    ("f32x2", ScalarType::F32X2),
    ("pred", ScalarType::Pred),
];

impl ScalarType {
    /// Returns all types with their PTX names (without the dot).
    pub fn all() -> &'static [(&'static str, Self)] {
        &NAMES
    }

    /// Looks up a type by its name (without the dot).
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, ty)| ty)
    }

    /// Returns the width in bits; a predicate counts as one bit.
    pub fn bits(self) -> u32 {
        match self {
            Self::B8 | Self::U8 | Self::S8 => 8,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::BF16 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::F16X2
            | Self::BF16X2
            | Self::U16X2
            | Self::S16X2 => 32,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 | Self::F32X2 => 64,
            Self::B128 => 128,
            Self::Pred => 1,
        }
    }

    /// Returns the width in bytes; a predicate has no memory form and counts as one byte.
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True if the type is a signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// True if the type is a floating-point number or a pair of them.
    pub fn is_float(self) -> bool {
        self.is_half() || matches!(self, Self::F32 | Self::F64 | Self::F32X2)
    }

    /// True if the type is a 16-bit floating-point number or a pair of them.
    pub(crate) fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16 | Self::F16X2 | Self::BF16X2)
    }

    /// True if the type is a pair of 16-bit numbers.
    pub(crate) fn is_pair(self) -> bool {
        matches!(self, Self::F16X2 | Self::BF16X2 | Self::U16X2 | Self::S16X2)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES
            .iter()
            .find(|(_, ty)| ty == self)
            .map_or("?", |(name, _)| name);
        write!(f, ".{name}")
    }
}

/// State space of a variable or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateSpace {
    Register,
    Global,
    Const,
    Shared,
    Local,
    /// Parameters of the kernel, or of the function being executed.
    Param,
    /// Parameters of the kernel, regardless of the function that names them.
    Argument,
    Generic,
}

impl StateSpace {
    /// Looks up a state space by its name (without the dot).
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "reg" => Self::Register,
            "global" => Self::Global,
            "const" => Self::Const,
            "shared" | "shared::cta" => Self::Shared,
            "local" => Self::Local,
            "param" | "param::func" => Self::Param,
            "param::entry" => Self::Argument,
            _ => return None,
        })
    }
}
