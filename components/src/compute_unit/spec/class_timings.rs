//! Latency and initiation interval of every instruction class.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_trace::Class;

/// Latency and issue interval of one instruction class.
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
        /// Latency and issue interval of every instruction class.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ClassTimings {
            $($(#[$doc])* pub $field: ClassTiming,)*
        }

        impl ClassTimings {
            /// Creates timings in which every class has the same latency and interval.
            pub fn uniform(timing: ClassTiming) -> Self {
                Self { $($field: timing,)* }
            }

            /// Returns the timing of an instruction class; launches use `branch`, prefetches use
            /// `load`.
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
    /// Timing of integer add, logic, shift, compare and move instructions.
    int_add: IntAdd,
    /// Timing of integer multiply and multiply-add instructions.
    int_mul: IntMul,
    /// Timing of integer divide and remainder instructions.
    int_div: IntDiv,
    /// Timing of single-precision add and compare instructions.
    fp_add: FpAdd,
    /// Timing of single-precision multiply and fused multiply-add instructions.
    fp_mul: FpMul,
    /// Timing of single-precision floating-point divide instructions.
    fp_div: FpDiv,
    /// Timing of double-precision add and compare instructions.
    dp_add: DpAdd,
    /// Timing of double-precision multiply and fused multiply-add instructions.
    dp_mul: DpMul,
    /// Timing of double-precision floating-point divide instructions.
    dp_div: DpDiv,
    /// Timing of roots, reciprocals, exponentials, sine and cosine.
    special: Special,
    /// Timing of conversions between number formats.
    convert: Convert,
    /// Timing of shuffles, which exchange values between lanes.
    shuffle: Shuffle,
    /// Timing of votes over the lanes of a wavefront.
    vote: Vote,
    /// Timing of branches and of device-side kernel launches.
    branch: Branch,
    /// Timing of work-group barriers, after the last arrival.
    barrier: Barrier,
    /// Timing of memory fences, after all stores are answered.
    fence: Fence,
    /// Timing of loads and prefetches; the latency lasts until the first request.
    load: Load,
    /// Timing of stores; the latency lasts until the first request.
    store: Store,
    /// Timing of atomic operations; the latency lasts until the first request.
    atomic: Atomic,
    /// Timing of exits, which end threads of a wavefront.
    exit: Exit,
}
