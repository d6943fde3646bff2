//! Cache policies (bypass, inclusion, granularity): the role, and the policies that come with the
//! cache.
//!
//! ```text
//!   role.rs          the role, and what a cache tells of itself
//!   open.rs          the trait of a policy
//!   events.rs        what policies are told
//!   decisions.rs     what they decide
//!   event_context.rs  what they may ask for when they are told something
//!   chain.rs         the policies of a cache, one owner per decision
//!   set_duel.rs      a building block: sets that compete, over several slices
//!   regions.rs       a building block: the allocations of the program, numbered
//!   tracking.rs      a building block: what is learned of regions or instructions
//!   tag_extension.rs  a building block: whose a line is, and who came back for it
//!   written_lines.rs  a building block: lines of which victims may be stale
//!   level_sets.rs    a building block: the sets of another level
//!   request_bits.rs  flags on which policies of several caches agree
//!   touched.rs       a building block: sub-blocks that requests touch of each line
//!   twin_bloom.rs    a building block: a set of lines that forgets
//!   chance.rs  instructions.rs  sub_blocks.rs                   small building blocks
//!   static_bypass.rs  reuse_bypass.rs  fetch_granularity.rs     policies
//!   memory_address_table.rs  adaptive_bypass.rs  optimal_bypass.rs  random_bypass.rs
//!   bypass_copy_back.rs  bypass_table.rs
//!   spatial_pattern.rs  bimodal_granularity.rs  neighbour_access.rs  sectors_touched.rs
//!   exclusive.rs  flexclusion.rs  region_exclusive.rs           policies of two levels
//!   eager_write_back.rs  a policy of what stays dirty
//!   hits_by_sharing.rs  a policy that only watches
//! ```
//!
//! A new policy needs a file with a specification, an `impl CachePolicy` and an `impl PolicyKind`.
//! It also needs a line in its crate's registration; `static_bypass.rs` is the smallest example.
//!
//! A cache consults its chain of policies before it acts and notifies all of them afterwards.
//! Decisions (`decide_…`) must not change state, because a blocked request asks again; events
//! (`on_…`) train the policy. Every field of a decision has at most one owner in a chain. Values
//! that a policy writes into fields of other owners are ignored. Two owners of one field are
//! rejected when the cache is built.
//!
//! Decisions depend only on the current policy state. A policy changes only on events, so that a
//! sleeping cache behaves like one that is awake.
//!
//! | field | question | default |
//! |---|---|---|
//! | [`Field::Insert`] | does a line that missed, or that is handed down, get a place here? | yes |
//! | [`Field::Fetch`] | which words are fetched beyond the sectors asked for? | none |
//! | [`Field::RequestFlags`] | which flags go down with the fetch? | none |
//! | [`Field::Keep`] | does a line that arrived get, or keep, its place? | yes |
//! | [`Field::HandDown`] | is a clean victim sent to the level below, and with which flags? | no |
//! | [`Field::Drop`] | does a clean line leave when it has answered a read? | no |
//! | [`Field::ResponseFlags`] | which flags go up with the answer of a hit? | none |

mod adaptive_bypass;
mod bimodal_granularity;
mod bypass_copy_back;
mod bypass_table;
mod chain;
mod chance;
mod decisions;
mod eager_write_back;
mod event_context;
mod events;
mod exclusive;
mod fetch_granularity;
mod flexclusion;
mod hits_by_sharing;
mod instructions;
pub mod level_sets;
mod memory_address_table;
mod neighbour_access;
mod open;
mod optimal_bypass;
mod random_bypass;
mod region_exclusive;
pub mod regions;
pub mod request_bits;
mod reuse_bypass;
mod role;
mod sectors_touched;
pub mod set_duel;
mod spatial_pattern;
mod static_bypass;
mod sub_blocks;
pub mod tag_extension;
#[cfg(test)]
mod tests;
mod touched;
pub mod tracking;
pub mod twin_bloom;
pub mod written_lines;

use warpweave_framework::Registry;

pub use self::adaptive_bypass::{AdaptiveBypass, AdaptiveBypassSpec};
pub use self::bimodal_granularity::{BimodalGranularity, BimodalGranularitySpec};
pub use self::bypass_copy_back::{BypassCopyBack, BypassCopyBackSpec};
pub(super) use self::chain::PolicyChain;
pub use self::decisions::{EvictDecision, Field, FillDecision, MissDecision, ResponseDecision};
pub use self::eager_write_back::{EagerWriteBack, EagerWriteBackSpec};
pub use self::event_context::{EVENTS_MAX, EventContext, Outbox, PUBLISHERS_MAX, PublishedValues};
pub use self::events::{Cause, Eviction, Fill, Swap, TagLookup};
pub use self::exclusive::{Exclusive, ExclusiveSpec};
pub use self::fetch_granularity::{FetchGranularity, FetchGranularitySpec};
pub use self::flexclusion::{Flexclusion, FlexclusionSpec, Followers};
pub use self::hits_by_sharing::HitsBySharing;
pub use self::instructions::{Instructions, hash_key};
pub use self::memory_address_table::{MemoryAddressTable, MemoryAddressTableSpec};
pub use self::neighbour_access::{NeighbourAccess, NeighbourAccessSpec};
pub use self::open::CachePolicy;
pub use self::optimal_bypass::{OptimalBypass, OptimalBypassSpec};
pub use self::random_bypass::{RandomBypass, RandomBypassSpec};
pub use self::region_exclusive::{RegionExclusive, RegionExclusiveSpec};
pub use self::reuse_bypass::{ReuseBypass, ReuseBypassSpec};
pub use self::role::{CachePolicies, CacheSite};
pub use self::sectors_touched::SectorsTouched;
pub use self::spatial_pattern::{SpatialPattern, SpatialPatternSpec};
pub use self::static_bypass::{StaticBypass, StaticBypassSpec};
pub use self::sub_blocks::SubBlocks;
pub use self::touched::{LineUse, Touched, UseChange};

/// Registers the policies of this folder.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<StaticBypass>();
    registry.register_policy::<ReuseBypass>();
    registry.register_policy::<FetchGranularity>();
    registry.register_policy::<MemoryAddressTable>();
    registry.register_policy::<AdaptiveBypass>();
    registry.register_policy::<OptimalBypass>();
    registry.register_policy::<RandomBypass>();
    registry.register_policy::<BypassCopyBack>();
    registry.register_policy::<SpatialPattern>();
    registry.register_policy::<BimodalGranularity>();
    registry.register_policy::<NeighbourAccess>();
    registry.register_policy::<SectorsTouched>();
    registry.register_policy::<Exclusive>();
    registry.register_policy::<Flexclusion>();
    registry.register_policy::<RegionExclusive>();
    registry.register_policy::<HitsBySharing>();
    registry.register_policy::<EagerWriteBack>();
}
