//! The static side of a kernel: its instruction table.

use serde::{Deserialize, Serialize};

/// A kernel's instruction table and the resources one launch of it asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Entry point name.
    pub name: String,
    /// Instructions in program order; a record's `pc` is an index into this table.
    pub instructions: Vec<Instruction>,
    /// 32-bit registers one thread occupies; limits occupancy.
    pub registers_per_thread: u32,
    /// Bytes of local (PTX `.shared`) memory a work-group always needs.
    pub static_local_bytes: u32,
    /// Bytes of private (PTX `.local`) memory per thread.
    pub private_bytes: u32,
    /// Where the kernel came from, for people: a file name, a benchmark name.
    pub source: String,
}

/// One static instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Full opcode text, such as `ld.global.v2.u32`.
    pub opcode: String,
    /// What executes it.
    pub class: Class,
    /// Memory space named by the opcode. The front end resolves generic accesses per record, so
    /// [`Record::space`](crate::Record::space) is the one to trust for a dynamic access.
    pub space: Space,
    /// Bytes each lane moves; 0 means the instruction touches no memory.
    pub access_bytes: u8,
    /// Registers and predicates read.
    pub reads: RegisterSet,
    /// Registers and predicates written.
    pub writes: RegisterSet,
    /// Operands in source order, destination first.
    pub operands: Vec<Operand>,
    /// Memory hints.
    pub hints: Hints,
    /// Instruction index a branch goes to.
    pub target: Option<u32>,
    /// Instruction index where lanes parted by this branch meet again (immediate
    /// post-dominator).
    pub reconvergence: Option<u32>,
    /// Index of the first instruction of the innermost loop around this one.
    pub loop_head: Option<u32>,
    /// Source line, 0 when unknown.
    pub line: u32,
}

impl Instruction {
    /// An instruction that touches no memory and no registers; set the other fields as needed.
    pub fn new(opcode: impl Into<String>, class: Class) -> Self {
        Self {
            opcode: opcode.into(),
            class,
            space: Space::None,
            access_bytes: 0,
            reads: RegisterSet::EMPTY,
            writes: RegisterSet::EMPTY,
            operands: Vec::new(),
            hints: Hints::default(),
            target: None,
            reconvergence: None,
            loop_head: None,
            line: 0,
        }
    }

    /// The same instruction accessing `bytes` per lane in `space`.
    #[must_use]
    pub fn accessing(mut self, space: Space, bytes: u8) -> Self {
        self.space = space;
        self.access_bytes = bytes;
        self
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The kind of execution resource an instruction needs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Class {
            $($(#[$doc])* $variant,)*
        }

        impl Class {
            /// Every class, in index order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The class's name in tables and descriptions.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

classes! {
    /// Integer add, subtract, logic, shift, minimum, maximum, compare, select, move.
    IntAdd = "int_add",
    /// Integer multiply and multiply-add.
    IntMul = "int_mul",
    /// Integer divide and remainder.
    IntDiv = "int_div",
    /// Single-precision add, compare, minimum, maximum.
    FpAdd = "fp_add",
    /// Single-precision multiply and fused multiply-add.
    FpMul = "fp_mul",
    /// Single-precision divide.
    FpDiv = "fp_div",
    /// Double-precision add, compare, minimum, maximum.
    DpAdd = "dp_add",
    /// Double-precision multiply and fused multiply-add.
    DpMul = "dp_mul",
    /// Double-precision divide.
    DpDiv = "dp_div",
    /// Square root, reciprocal, exponential, logarithm, sine, cosine.
    Special = "special",
    /// Conversion between number formats.
    Convert = "convert",
    /// Exchange of register values between lanes.
    Shuffle = "shuffle",
    /// Vote and ballot over the lanes of a wavefront.
    Vote = "vote",
    /// Branch, call and return inside the kernel.
    Branch = "branch",
    /// Work-group barrier.
    Barrier = "barrier",
    /// Memory fence.
    Fence = "fence",
    /// Load from memory.
    Load = "load",
    /// Store to memory.
    Store = "store",
    /// Atomic read-modify-write, with or without a returned value.
    Atomic = "atomic",
    /// End of the thread.
    Exit = "exit",
    /// Launch of kernels from the device: one for each lane of the record that has launched.
    Launch = "launch",
    /// Fetch of lines into a cache ahead of need; of addresses that are not there nothing.
    Prefetch = "prefetch",
}

impl Class {
    /// Number of classes; tables per class have this length.
    pub const COUNT: usize = Self::ALL.len();

    /// Position in [`Class::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Whether records of this class may carry lane addresses.
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            Self::Load | Self::Store | Self::Atomic | Self::Prefetch
        )
    }
}

/// Memory space of an access, by its PTX name. There is no generic space: the front end resolves
/// generic addresses record by record.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Space {
    /// No memory.
    #[default]
    None,
    /// Device memory.
    Global,
    /// Local memory of the work-group (PTX `.shared`); addresses are offsets into it.
    Shared,
    /// Memory private to a thread (PTX `.local`).
    Local,
    /// Constant memory.
    Const,
    /// Kernel arguments; addresses are offsets into the argument block.
    Param,
}

impl Space {
    /// Every space, in index order.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Global,
        Self::Shared,
        Self::Local,
        Self::Const,
        Self::Param,
    ];

    /// The space's name in tables and dumps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
        }
    }
}

/// One operand as written in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operand {
    /// General register number.
    Register(u16),
    /// Predicate register number, counted from 0.
    Predicate(u16),
    /// Integer literal, or the bits of a floating-point one.
    Immediate(i64),
    /// Special register, label or variable name.
    Symbol(String),
}

/// What the opcode says about caching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// The access may not be merged, moved or served from a stale copy.
    pub volatile: bool,
    /// By which path a load may read.
    pub path: ReadPath,
    /// Cache operator.
    pub cache: CacheOperator,
}

/// By which path a load may read: what a machine may give a cache of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadPath {
    /// That of all loads.
    #[default]
    Coherent,
    /// That of data which are read-only for the kernel's lifetime (PTX `.nc`).
    NonCoherent,
    /// That of textures.
    Texture,
}

/// Cache operators of loads and stores (PTX ISA, "Cache Operators").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheOperator {
    /// None written: the hardware's default.
    #[default]
    Default,
    /// `.ca`: cache at all levels.
    AllLevels,
    /// `.cg`: cache at the shared level only.
    GlobalLevel,
    /// `.cs`: likely to be accessed once.
    Streaming,
    /// `.lu`: last use.
    LastUse,
    /// `.cv`: fetch again, do not cache.
    DontCache,
    /// `.wb`: write back.
    WriteBack,
    /// `.wt`: write through.
    WriteThrough,
}

/// A set of architectural registers: general registers at 0 to 255, predicates at 256 to 319.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RegisterSet([u64; 5]);

impl RegisterSet {
    /// The empty set.
    pub const EMPTY: Self = Self([0; 5]);
    /// Index of predicate register 0; general registers lie below.
    pub const FIRST_PREDICATE: u16 = 256;
    /// Number of indices a set can hold.
    pub const CAPACITY: u16 = 320;

    /// Adds a register by index.
    ///
    /// # Panics
    /// If `index` is not below [`RegisterSet::CAPACITY`].
    pub fn insert(&mut self, index: u16) {
        assert!(
            index < Self::CAPACITY,
            "register index {index} is outside 0..{}",
            Self::CAPACITY
        );
        self.0[usize::from(index / 64)] |= 1 << (index % 64);
    }

    /// Whether the register with this index is in the set.
    #[inline]
    pub fn contains(&self, index: u16) -> bool {
        self.0
            .get(usize::from(index / 64))
            .is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Registers in either set.
    #[must_use]
    #[inline]
    pub fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Registers in this set but not in the other.
    #[must_use]
    #[inline]
    pub fn difference(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Whether the sets share a register.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .fold(0, |seen, (a, b)| seen | (a & b))
            != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 5]
    }

    /// Number of registers in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Indices in the set, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<> {
        let words = self.0;
        (0_u16..5).flat_map(move |word| {
            let mut bits = words[usize::from(word)];
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros() as u16;
                bits &= bits.wrapping_sub(1);
                (bit < 64).then_some(word * 64 + bit)
            })
        })
    }
}

impl FromIterator<u16> for RegisterSet {
    fn from_iter<I: IntoIterator<Item = u16>>(indices: I) -> Self {
        let mut set = Self::EMPTY;
        for index in indices {
            set.insert(index);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_indexed_in_order_and_named_apart() {
        assert_eq!(Class::COUNT, 22);
        let mut names: Vec<_> = Class::ALL.iter().map(|class| class.name()).collect();
        for (position, class) in Class::ALL.iter().enumerate() {
            assert_eq!(class.index(), position);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Class::COUNT);
    }

    #[test]
    fn register_set_holds_what_was_inserted_and_lists_it_ascending() {
        let indices = [0, 63, 64, 255, 256, 319];
        let set: RegisterSet = indices.into_iter().rev().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), indices);
        assert_eq!(set.len(), indices.len());
        for index in 0..400 {
            assert_eq!(
                set.contains(index),
                indices.contains(&index),
                "register {index}"
            );
        }
    }

    #[test]
    fn register_set_algebra_matches_the_definition() {
        let a: RegisterSet = [1, 70, 300].into_iter().collect();
        let b: RegisterSet = [2, 70].into_iter().collect();
        let c: RegisterSet = [2, 299].into_iter().collect();
        assert!(a.intersects(&b) && !a.intersects(&c));
        assert_eq!(a.union(&b).iter().collect::<Vec<_>>(), [1, 2, 70, 300]);
        assert_eq!(a.difference(&b).iter().collect::<Vec<_>>(), [1, 300]);
        assert!(RegisterSet::EMPTY.is_empty() && !a.is_empty());
    }

    #[test]
    #[should_panic(expected = "register index 320")]
    fn register_set_refuses_an_index_it_cannot_hold() {
        RegisterSet::default().insert(320);
    }
}
