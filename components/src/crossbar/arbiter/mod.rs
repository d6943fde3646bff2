//! Arbiters, which match inputs and outputs of a switch: the role, and the policies that come with
//! it.
//!
//! ```text
//!   role.rs    the role, and what a network tells of its switch
//!   any.rs     what an arbiter is once built: one that the allocator knows, or any other
//!   open.rs    the trait of arbiters of any crate, what they are asked, how they are checked
//!   round_robin.rs  islip.rs  age_based.rs  fixed.rs      built-in ones, carried out in allocator.rs
//! ```
//!
//! A new arbiter needs a file with a specification, an `impl ArbiterPolicy` and an
//! `impl PolicyKind`. It also needs a line in its crate's registration.

mod age_based;
mod any;
mod fixed;
mod islip;
mod open;
mod role;
mod round_robin;

use warpweave_framework::Registry;

pub use age_based::AgeBased;
pub use any::{AnyArbiter, BuiltInArbiter};
pub use fixed::Fixed;
pub use islip::{Islip, IslipSpec};
pub use open::{ArbiterPolicy, Matching, OpenArbiter};
pub use role::{Arbiter, ArbiterSite};
pub use round_robin::RoundRobin;

/// Registers the arbiters of this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<AgeBased>();
    registry.register_policy::<Fixed>();
    registry.register_policy::<Islip>();
    registry.register_policy::<RoundRobin>();
}
