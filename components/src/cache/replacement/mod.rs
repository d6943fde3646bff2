//! Replacement policies, which select the victim line of a full set: the role, and the policies
//! that come with it.
//!
//! ```text
//!   role.rs    the role, what a cache tells of itself
//!   any.rs     what a policy is once built: one that is known, without a dynamic call, or any other
//!   order.rs   what a cache asks of either
//!   open.rs    the trait of policies of any crate, whose answers are checked
//!   lru.rs  fifo.rs  lfu.rs  pseudo_lru.rs  bit_plru.rs  random.rs  srrip.rs     the known ones
//! ```
//!
//! A new policy needs a file with a specification, an `impl ReplacementPolicy` and an
//! `impl PolicyKind`. It also needs a line in its crate's registration.
//!
//! The cache fills empty ways first (the lowest first) and offers only ways that are not locked. A
//! policy therefore only maintains the order of eviction. Choosing a victim must not change state:
//! a request that waits for other resources asks again.

mod any;
mod bit_plru;
mod fifo;
mod lfu;
mod lru;
mod open;
mod order;
mod pseudo_lru;
mod random;
mod role;
mod srrip;

use warpweave_framework::Registry;

pub use self::any::AnyReplacement;
pub use self::bit_plru::BitPlru;
pub use self::fifo::Fifo;
pub use self::lfu::Lfu;
pub use self::lru::Lru;
pub use self::open::{OpenReplacement, ReplacementPolicy};
use self::order::Order;
pub use self::pseudo_lru::PseudoLru;
pub use self::random::{Random, RandomSpec};
pub use self::role::{Replacement, ReplacementSite};
pub use self::srrip::Srrip;

/// Registers the replacement policies of this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<BitPlru>();
    registry.register_policy::<Fifo>();
    registry.register_policy::<Lfu>();
    registry.register_policy::<Lru>();
    registry.register_policy::<PseudoLru>();
    registry.register_policy::<Random>();
    registry.register_policy::<Srrip>();
}

#[cfg(test)]
pub(in crate::cache) mod tests;
