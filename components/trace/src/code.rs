//! Static part of a kernel: its instruction table.

use serde::{Deserialize, Serialize};

/// Instruction table of a kernel, with the resources that one launch needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Name of the kernel's entry point.
    pub name: String,
    /// Instructions in program order; a record's `pc` is an index into this table.
    pub instructions: Vec<Instruction>,
    /// Number of 32-bit registers per thread; limits occupancy.
    pub registers_per_thread: u32,
    /// Statically allocated local (PTX `.shared`) memory per work-group, in bytes.
    pub static_local_bytes: u32,
    /// Bytes of private (PTX `.local`) memory per thread.
    pub private_bytes: u32,
    /// Origin of the kernel in readable form: a file name, a benchmark name.
    pub source: String,
}

/// One static instruction of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Full opcode text, such as `ld.global.v2.u32`.
    pub opcode: String,
    /// Execution resource that the instruction needs.
    pub class: Class,
    /// Memory space named by the opcode. The front end resolves generic accesses per record, so use
    /// [`Record::space`](crate::Record::space) for a dynamic access.
    pub space: Space,
    /// Bytes accessed per lane; 0 if the instruction does not access memory.
    pub access_bytes: u8,
    /// Registers and predicates the instruction reads.
    pub reads: RegisterSet,
    /// Registers and predicates the instruction writes.
    pub writes: RegisterSet,
    /// Operands in source order, destination first.
    pub operands: Vec<Operand>,
    /// Predicate that selects the executing lanes; absent: all active lanes execute.
    pub guard: Option<Guard>,
    /// Caching hints given by the opcode.
    pub hints: Hints,
    /// Index of the instruction a branch jumps to.
    pub target: Option<u32>,
    /// Index of the instruction where lanes that diverge at this branch reconverge (immediate
    /// post-dominator).
    pub reconvergence: Option<u32>,
    /// Index of the first instruction of the innermost loop around this one.
    pub loop_head: Option<u32>,
    /// Source line number, 0 if it is unknown.
    pub line: u32,
}

impl Instruction {
    /// Creates an instruction without memory accesses or registers. Set the other fields as needed.
    pub fn new(opcode: impl Into<String>, class: Class) -> Self {
        Self {
            opcode: opcode.into(),
            class,
            space: Space::None,
            access_bytes: 0,
            reads: RegisterSet::EMPTY,
            writes: RegisterSet::EMPTY,
            operands: Vec::new(),
            guard: None,
            hints: Hints::default(),
            target: None,
            reconvergence: None,
            loop_head: None,
            line: 0,
        }
    }

    /// Sets the memory space and the bytes accessed per lane.
    #[must_use]
    pub fn accessing(mut self, space: Space, bytes: u8) -> Self {
        self.space = space;
        self.access_bytes = bytes;
        self
    }
}

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Kind of execution resource an instruction needs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Class {
            $($(#[$doc])* $variant,)*
        }

        impl Class {
            /// All classes, in the order of their index.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name used in tables and descriptions.
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
    /// Integer multiplication, with or without an addition (multiply-add).
    IntMul = "int_mul",
    /// Integer division and the remainder of a division.
    IntDiv = "int_div",
    /// Single-precision add, compare, minimum and maximum operations.
    FpAdd = "fp_add",
    /// Single-precision multiply and fused multiply-add operations.
    FpMul = "fp_mul",
    /// Floating-point division in single precision (32 bits).
    FpDiv = "fp_div",
    /// Double-precision add, compare, minimum and maximum operations.
    DpAdd = "dp_add",
    /// Double-precision multiply and fused multiply-add operations.
    DpMul = "dp_mul",
    /// Floating-point division in double precision (64 bits).
    DpDiv = "dp_div",
    /// Square root, reciprocal, exponential, logarithm, sine, cosine.
    Special = "special",
    /// Conversion of values between different number formats.
    Convert = "convert",
    /// Exchange of register values between lanes.
    Shuffle = "shuffle",
    /// Vote and ballot over the lanes of a wavefront.
    Vote = "vote",
    /// Branch, call and return inside the kernel.
    Branch = "branch",
    /// Barrier across all wavefronts of a work-group.
    Barrier = "barrier",
    /// Memory fence, which orders accesses around it.
    Fence = "fence",
    /// Load from any memory space into registers.
    Load = "load",
    /// Store from registers to any memory space.
    Store = "store",
    /// Atomic read-modify-write, with or without a returned value.
    Atomic = "atomic",
    /// Exit instruction, which ends the executing threads.
    Exit = "exit",
    /// Kernel launch from the device: one for each launching lane of the record.
    Launch = "launch",
    /// Prefetch of lines into a cache. Prefetches of unmapped addresses have no effect.
    Prefetch = "prefetch",
}

impl Class {
    /// Number of classes; tables per class have this length.
    pub const COUNT: usize = Self::ALL.len();

    /// Returns the position of the class in [`Class::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// True if records of this class may carry lane addresses.
    pub const fn is_memory(self) -> bool {
        matches!(
            self,
            Self::Load | Self::Store | Self::Atomic | Self::Prefetch
        )
    }
}

/// Memory space of an access, by its PTX name. There is no generic space, because the front end
/// resolves generic addresses record by record.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Space {
    /// Used by instructions that do not access memory.
    #[default]
    None,
    /// Device memory, visible to all work-groups (PTX `.global`).
    Global,
    /// Local memory of the work-group (PTX `.shared`); addresses are offsets into it.
    Shared,
    /// Memory private to a thread (PTX `.local`).
    Local,
    /// Constant memory, read-only for kernels (PTX `.const`).
    Const,
    /// Kernel arguments; addresses are offsets into the argument block.
    Param,
}

impl Space {
    /// All spaces, in the order of their index.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Global,
        Self::Shared,
        Self::Local,
        Self::Const,
        Self::Param,
    ];

    /// Returns the name used in tables and dumps.
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
    /// Number of a general-purpose register, from 0 up.
    Register(u16),
    /// Predicate register number, counted from 0.
    Predicate(u16),
    /// Predicate register number whose value is inverted before use.
    NotPredicate(u16),
    /// Integer literal, or the bit pattern of a floating-point one.
    Immediate(i64),
    /// Byte offset of a kernel parameter in the launch's arguments.
    Argument(u32),
    /// Special register, label or variable name.
    Symbol(String),
}

/// Condition under which a lane executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Guard {
    /// Predicate register number, counted from 0.
    pub predicate: u16,
    /// True if lanes execute whose predicate is false (PTX `@!p`).
    pub negated: bool,
}

/// Caching hints that the opcode carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// True if the access may not be merged, moved or served from a stale copy.
    pub volatile: bool,
    /// Path through which a load may read.
    pub path: ReadPath,
    /// Cache operator written in the opcode.
    pub cache: CacheOperator,
}

/// Path through which a load may read. A machine may have a separate cache for each path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReadPath {
    /// Default path, used by all ordinary loads.
    #[default]
    Coherent,
    /// Path for data that are read-only for the kernel's lifetime (PTX `.nc`).
    NonCoherent,
    /// Path of texture loads through a texture cache.
    Texture,
}

/// Cache operators of loads and stores (PTX ISA, "Cache Operators").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheOperator {
    /// No operator given: the hardware's default applies.
    #[default]
    Default,
    /// `.ca`: cache at all levels of the hierarchy.
    AllLevels,
    /// `.cg`: cache at the shared level only.
    GlobalLevel,
    /// `.cs`: likely to be accessed once.
    Streaming,
    /// `.lu`: last use of the line by the program.
    LastUse,
    /// `.cv`: do not cache, fetch again on each access.
    DontCache,
    /// `.wb`: write back, the default operator of stores.
    WriteBack,
    /// `.wt`: write through to the next memory level.
    WriteThrough,
}

/// Set of architectural registers: general registers at 0 to 255, predicates at 256 to 319.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RegisterSet([u64; 5]);

impl RegisterSet {
    pub const EMPTY: Self = Self([0; 5]);
    /// Index of predicate register 0. All lower indices are general registers.
    pub const FIRST_PREDICATE: u16 = 256;
    /// Number of register indices a set can hold.
    pub const CAPACITY: u16 = 320;

    /// Adds a register by index.
    ///
    /// # Panics
    /// Panics if `index` is not below [`RegisterSet::CAPACITY`].
    pub fn insert(&mut self, index: u16) {
        assert!(
            index < Self::CAPACITY,
            "register index {index} is outside 0..{}",
            Self::CAPACITY
        );
        self.0[usize::from(index / 64)] |= 1 << (index % 64);
    }

    /// True if the register with this index is in the set.
    #[inline]
    pub fn contains(&self, index: u16) -> bool {
        self.0
            .get(usize::from(index / 64))
            .is_some_and(|word| word >> (index % 64) & 1 != 0)
    }

    /// Returns the registers that are in either set.
    #[must_use]
    #[inline]
    pub fn union(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Returns the registers in this set but not in the other.
    #[must_use]
    #[inline]
    pub fn difference(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// True if the sets have a register in common.
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0
            .iter()
            .zip(&other.0)
            .fold(0, |seen, (a, b)| seen | (a & b))
            != 0
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 5]
    }

    /// Returns the number of registers in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Iterates over the register indices in ascending order.
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
