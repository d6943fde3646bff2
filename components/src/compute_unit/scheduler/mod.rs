//! Wavefront schedulers: the policy role, and the policies provided with the compute unit.
//!
//! ```text
//!   role.rs          the role, what a unit tells of itself, what a policy is once built
//!   open.rs          the trait of policies of any crate, and what they are told
//!   age_matrix.rs    order of arrival of the wavefronts
//!   built_in.rs      schedulers that spare the unit a dynamic call
//!   gto.rs  gto_long_latency.rs  lrr.rs     built-in policies
//!   oldest_first.rs  two_level.rs  grouped.rs  owl_locality.rs  programmed.rs    policies by the open trait
//!   group_size.rs    sizes of the groups of `programmed.rs`
//! ```
//!
//! A new policy consists of a file with a specification, an `impl WavefrontScheduler` and an
//! `impl PolicyKind`, and a line in its crate's registration. The smallest example is
//! `oldest_first.rs`.

mod age_matrix;
mod built_in;
mod group_size;
mod grouped;
mod gto;
mod gto_long_latency;
mod lrr;
mod oldest_first;
mod open;
mod owl_locality;
mod programmed;
mod role;
mod two_level;

use warpweave_framework::Registry;

pub use self::age_matrix::AgeMatrix;
pub use self::built_in::BuiltIn;
pub(super) use self::built_in::{BuiltInScheduler, next_in_turn};
pub use self::group_size::{GroupScope, Irregular};
pub use self::grouped::{GroupBy, Grouped, GroupedSpec};
pub use self::gto::Gto;
pub use self::gto_long_latency::GtoLongLatency;
pub use self::lrr::Lrr;
pub use self::oldest_first::OldestFirst;
pub use self::open::{Arrival, Issue, SchedulerView, Throttled, WavefrontScheduler};
pub use self::owl_locality::{OwlLocality, OwlLocalitySpec};
pub use self::programmed::{GroupSize, InsideGroup, OutsideGroup, Programmed, ProgrammedSpec};
pub use self::role::{SchedulerSite, WavefrontPolicy, WavefrontScheduling};
pub use self::two_level::{TwoLevel, TwoLevelSpec};

/// Registers the wavefront schedulers of this module.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<Grouped>();
    registry.register_policy::<Gto>();
    registry.register_policy::<GtoLongLatency>();
    registry.register_policy::<Lrr>();
    registry.register_policy::<OldestFirst>();
    registry.register_policy::<OwlLocality>();
    registry.register_policy::<Programmed>();
    registry.register_policy::<TwoLevel>();
}
