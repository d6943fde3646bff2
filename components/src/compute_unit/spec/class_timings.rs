//! Latency and initiation interval of every instruction class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_trace::Class;

/// Times of one instruction class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassTiming {
    /// Cycles from issue to issue of a dependent instruction, at least 1. Memory accesses that
    /// leave the unit: cycles from issue to the first request. Branches, barriers and fences:
    /// cycles to the next instruction of the wavefront (barriers: after the last arrival).
    pub latency: u32,
    /// Cycles between two issues of the class on one scheduler, at least 1.
    pub interval: u32,
}

macro_rules! class_timings {
    ($($(#[$doc:meta])* $field:ident: $class:ident,)*) => {
        /// Times of every instruction class.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ClassTimings {
            $($(#[$doc])* pub $field: ClassTiming,)*
        }

        impl ClassTimings {
            /// Every class with the same times.
            pub fn uniform(timing: ClassTiming) -> Self {
                Self { $($field: timing,)* }
            }

            /// The times of a class.
            pub fn of(&self, class: Class) -> ClassTiming {
                match class {
                    $(Class::$class => self.$field,)*
                    // A launch is a call to the wavefront.
                    Class::Launch => self.branch,
                    Class::Prefetch => self.load,
                }
            }
        }
    };
}

class_timings! {
    /// Integer add, logic, shift, compare, move.
    int_add: IntAdd,
    /// Integer multiply and multiply-add.
    int_mul: IntMul,
    /// Integer divide and remainder.
    int_div: IntDiv,
    /// Single-precision add and compare.
    fp_add: FpAdd,
    /// Single-precision multiply and fused multiply-add.
    fp_mul: FpMul,
    /// Single-precision divide.
    fp_div: FpDiv,
    /// Double-precision add and compare.
    dp_add: DpAdd,
    /// Double-precision multiply and fused multiply-add.
    dp_mul: DpMul,
    /// Double-precision divide.
    dp_div: DpDiv,
    /// Roots, reciprocals, exponentials, sine and cosine.
    special: Special,
    /// Conversions.
    convert: Convert,
    /// Exchange of values between lanes.
    shuffle: Shuffle,
    /// Votes over lanes.
    vote: Vote,
    /// Branches, and launches of kernels.
    branch: Branch,
    /// Work-group barriers.
    barrier: Barrier,
    /// Memory fences.
    fence: Fence,
    /// Loads and prefetches.
    load: Load,
    /// Stores.
    store: Store,
    /// Atomics.
    atomic: Atomic,
    /// End of threads.
    exit: Exit,
}
