//! Settings of prefetching into spare registers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::SpecError;

/// Prefetching of loop loads into registers that the kernel leaves unallocated (graph thesis,
/// chapter 3). It needs opcodes and operands in PTX form, and loads by the read-only opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SpareRegistersSpec {
    /// Source of loops, strides and trip counts. Source: both in the graph thesis.
    pub variant: SpareVariant,
    /// Iterations from a prefetch to its use, at most those that the spare registers hold. Source:
    /// 1 for SPREF1 and dynamic for SPREF in the graph thesis.
    pub distance: PrefetchDistance,
    /// Destination of prefetches whose addresses depend on a prefetched value. Source: registers in
    /// the graph thesis; the cache in its SPREF1-C.
    pub tails: TailPrefetches,
    /// Strided loads prefetched per loop, each with at most one load that depends on it, 1 or 2;
    /// others are ignored in program order. Source: 2 in the graph thesis.
    pub pairs: u32,
    /// Instructions injected to prefetch a strided load. Source: own choice; those of the graph
    /// thesis are not known.
    pub head_sequence: HeadSequence,
    /// Origin of the strides of the hardware variant; the compiler derives them. Source: own
    /// choice.
    pub stride: StrideFrom,
    /// Registers for intermediate results of 64-bit addresses, 0 or 2. Source: 0, for the 32-bit
    /// addresses of the graph thesis.
    pub address_registers: u32,
    /// Iterations of a loop before its plan is known, 0 or 3. Source: 3 in the graph thesis.
    pub detection_iterations: u32,
    /// True if a register that is multiplied or shifted in place has a stride, as the graph thesis
    /// prints. Source: false, own choice; such a register grows by no stride.
    pub literal_table: bool,
    /// True if prefetched loads become moves; false injects prefetches that nothing uses, as a
    /// control. Source: true in the graph thesis.
    pub replace: bool,
    /// Treatment of loops with several exits, whose trip count no compare gives. Source: own
    /// choice.
    pub exits: LoopExits,
}

impl Default for SpareRegistersSpec {
    fn default() -> Self {
        Self {
            variant: SpareVariant::Hardware,
            distance: PrefetchDistance::Fixed(1),
            tails: TailPrefetches::Registers,
            pairs: 2,
            head_sequence: HeadSequence::Offset,
            stride: StrideFrom::Measured,
            address_registers: 0,
            detection_iterations: 3,
            literal_table: false,
            replace: true,
            exits: LoopExits::Refused,
        }
    }
}

/// Source of what a unit knows of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SpareVariant {
    /// Tags and counters in the unit, which watch the iterations.
    #[default]
    Hardware,
    /// The compiler: plan, stride and trip count are known before the first iteration.
    Compiler,
}

/// Iterations from a prefetch to its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PrefetchDistance {
    /// The same for every loop, 0 to 3; with 0 nothing is injected.
    Fixed(u32),
    /// By the mean number of iterations that the lanes have left.
    Dynamic {
        /// Distance below `mid` iterations, 0 to 3. Source: graph thesis, listing 1.
        #[serde(default = "one")]
        low: u32,
        /// Distance from `mid` iterations on, 0 to 3. Source: graph thesis, listing 1.
        #[serde(default = "two")]
        med: u32,
        /// Distance from `high_at` iterations on, 0 to 3. Source: graph thesis, listing 1.
        #[serde(default = "three")]
        high: u32,
        /// Mean from which the distance is `med`, 0 to 15. Source: graph thesis, listing 1.
        #[serde(default = "four")]
        mid: u32,
        /// Mean from which the distance is `high`, 0 to 15. Source: graph thesis, listing 1.
        #[serde(default = "six")]
        high_at: u32,
    },
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn three() -> u32 {
    3
}

fn four() -> u32 {
    4
}

fn six() -> u32 {
    6
}

/// Destination of prefetches whose addresses depend on a prefetched value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TailPrefetches {
    /// Spare registers, from which moves take the values.
    #[default]
    Registers,
    /// The caches; also for strided loads on which no other depends.
    Cache,
}

/// Instructions injected to prefetch a strided load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HeadSequence {
    /// A load whose offset reaches the later iteration.
    #[default]
    Offset,
    /// Addition to the index, computation of the address, and load.
    Slice,
}

/// Origin of the strides by which addresses are predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrideFrom {
    /// Difference between two executions by one wavefront.
    #[default]
    Measured,
    /// Operands of the instructions, known with the plan.
    Derived,
}

/// Treatment of loops with several exits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LoopExits {
    /// They are counted and not prefetched.
    #[default]
    Refused,
    /// They are, as if the hardware knew by which exit each lane leaves.
    Known,
}

pub(crate) const DISTANCE_MAX: usize = 3;

impl SpareRegistersSpec {
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let most = DISTANCE_MAX as u32;
        match self.distance {
            PrefetchDistance::Fixed(distance) => {
                SpecError::in_range("spare_registers.distance", distance, 0..=most)?;
            }
            PrefetchDistance::Dynamic {
                low,
                med,
                high,
                mid,
                high_at,
            } => {
                for (name, value, most) in [
                    ("low", low, most),
                    ("med", med, most),
                    ("high", high, most),
                    ("mid", mid, 15),
                    ("high_at", high_at, 15),
                ] {
                    let field = format!("spare_registers.distance.{name}");
                    SpecError::in_range(&field, value, 0..=most)?;
                }
            }
        }
        SpecError::in_range("spare_registers.pairs", self.pairs, 1..=2)?;
        for (name, value, other) in [
            ("address_registers", self.address_registers, 2),
            ("detection_iterations", self.detection_iterations, 3),
        ] {
            let field = format!("spare_registers.{name}");
            SpecError::require(value == 0 || value == other, &field, || {
                format!("{value} must be 0 or {other}")
            })?;
        }
        Ok(())
    }

    /// True if plans are known without watching iterations.
    pub(crate) fn knows_plans(&self) -> bool {
        self.is_compiler() || self.detection_iterations == 0
    }

    pub(crate) fn is_compiler(&self) -> bool {
        self.variant == SpareVariant::Compiler
    }
}
