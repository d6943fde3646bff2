//! Replacement policies: which line of a full set leaves. One policy per file; a new one is its file
//! and its line in the list below.
//!
//! The tag array fills empty ways first (the lowest first) and offers only ways that are not locked,
//! so a policy keeps the order of uses and nothing else. Choosing a victim changes nothing: a
//! request that waits for other resources asks again.

mod bit_plru;
mod fifo;
mod lfu;
mod lru;
mod pseudo_lru;
mod random;
mod srrip;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The order in which the lines of each set leave.
pub trait ReplacementPolicy: Clone + Serialize + DeserializeOwned {
    /// Most ways that the policy can order.
    const WAYS_MAX: u32 = u32::MAX;
    /// Whether the number of ways must be a power of two.
    const POWER_OF_TWO: bool = false;

    /// The line in this way was used.
    fn used(&mut self, set: usize, way: usize);

    /// A line was put into this way, in place of what was there.
    fn installed(&mut self, set: usize, way: usize);

    /// The line in this way was dropped; the way is empty.
    fn emptied(&mut self, _set: usize, _way: usize) {}

    /// The way whose line leaves next among those that may, if any may.
    fn victim(&self, set: usize, may_leave: impl Fn(usize) -> bool) -> Option<usize>;
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty),* })?
        => $policy:path;)*) => {
        /// Which line of a full set leaves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum Replacement {
            $($(#[$doc])* $name $({ $($(#[$field_doc])* $field: $type),* })?,)*
        }

        /// The policy in use with what it remembers.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub(super) enum Policy {
            $($name($policy),)*
        }

        impl Replacement {
            /// Why the policy cannot order this many ways, if it cannot.
            pub fn refuses(self, ways: u32) -> Option<String> {
                let (max, power) = match self {
                    $(Self::$name { .. } => (
                        <$policy as ReplacementPolicy>::WAYS_MAX,
                        <$policy as ReplacementPolicy>::POWER_OF_TWO,
                    ),)*
                };
                if ways > max {
                    Some(format!("{self:?} orders at most {max} ways, not {ways}"))
                } else if power && !ways.is_power_of_two() {
                    Some(format!("{self:?} needs a power of two of ways, not {ways}"))
                } else {
                    None
                }
            }

            pub(super) fn build(self, sets: usize, ways: usize) -> Policy {
                match self {
                    $(Self::$name $({ $($field),* })? =>
                        Policy::$name(<$policy>::new(sets, ways $($(, $field)*)?)),)*
                }
            }
        }

        impl Policy {
            #[inline]
            pub(super) fn used(&mut self, set: usize, way: usize) {
                match self {
                    $(Self::$name(policy) => policy.used(set, way),)*
                }
            }

            #[inline]
            pub(super) fn installed(&mut self, set: usize, way: usize) {
                match self {
                    $(Self::$name(policy) => policy.installed(set, way),)*
                }
            }

            #[inline]
            pub(super) fn emptied(&mut self, set: usize, way: usize) {
                match self {
                    $(Self::$name(policy) => policy.emptied(set, way),)*
                }
            }

            #[inline]
            pub(super) fn victim(
                &self, set: usize, may_leave: impl Fn(usize) -> bool,
            ) -> Option<usize> {
                match self {
                    $(Self::$name(policy) => policy.victim(set, may_leave),)*
                }
            }
        }
    };
}

policies! {
    /// The line whose last use is longest ago.
    Lru => lru::Lru;
    /// The line that was installed first.
    Fifo => fifo::Fifo;
    /// A binary tree of bits per set points away from the last uses; the number of ways is a power
    /// of two up to 64.
    PseudoLru => pseudo_lru::PseudoLru;
    /// One bit per way marks recent use; the lowest unmarked way leaves, and a use that would mark
    /// all clears the others. Up to 64 ways.
    BitPlru => bit_plru::BitPlru;
    /// Any line, by a sequence of random numbers.
    Random {
        /// Seed of the sequence.
        seed: u64
    } => random::Random;
    /// Static re-reference interval prediction with two bits per line and hit priority: lines enter
    /// with a long predicted interval, a use makes it short.
    Srrip => srrip::Srrip;
    /// The line used least often since it was installed; of equals, the lowest way.
    Lfu => lfu::Lfu;
}

#[cfg(test)]
mod tests;
