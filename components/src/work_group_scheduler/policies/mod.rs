//! Placement policies provided with the scheduler.
//!
//! ```text
//!   two_level_round_robin.rs  global_round_robin.rs  greedy_clustering.rs    one order over all contexts
//!   ordered.rs                what they share
//!   distributed.rs  distributed_block.rs    a part of the grid per cluster
//!   pools.rs                  what they share
//!   demand_round_robin.rs  block_round_robin.rs  strict_round_robin.rs  random_round_robin.rs
//!   mapped.rs mapping.rs      whole rows or columns of the grid per unit
//!   shortest_queue.rs  laser.rs  reuse_chains.rs    a queue per unit, for all kernels at once
//!   from_queues.rs queued.rs  service of units from their queues
//!   status_table.rs           LASER's table of running work-groups
//!   la_perm.rs                queues per unit and priority
//!   unit_queues.rs            queues of units, for policies of any crate
//! ```
//!
//! A new policy is a file with a specification, an `impl OneKernelPolicy` or `impl PlacementPolicy`
//! and an `impl PolicyKind`. It also needs a line in its crate's registration. A small example is
//! `demand_round_robin.rs`.

mod block_round_robin;
mod demand_round_robin;
mod distributed;
mod distributed_block;
mod from_queues;
mod global_round_robin;
mod greedy_clustering;
mod la_perm;
mod laser;
mod mapped;
mod mapping;
mod ordered;
mod pools;
mod queued;
mod random_round_robin;
mod reuse_chains;
mod shortest_queue;
mod status_table;
mod strict_round_robin;
mod two_level_round_robin;
mod unit_queues;

use warpweave_framework::Registry;

pub use self::block_round_robin::{BlockRoundRobin, BlockRoundRobinSpec};
pub use self::demand_round_robin::DemandRoundRobin;
pub use self::distributed::Distributed;
pub use self::distributed_block::{DistributedBlock, DistributedBlockSpec};
pub use self::global_round_robin::GlobalRoundRobin;
pub use self::greedy_clustering::GreedyClustering;
pub use self::la_perm::{LaPerm, LaPermSpec};
pub use self::laser::{Laser, LaserSpec, ParentGone};
pub use self::mapped::{Deal, MapBy, Mapped, MappedSpec, QueueOrder, Steal};
pub use self::mapping::{Remainder, assign};
pub use self::queued::{QueueMemorySpec, QueuesSpec};
pub use self::random_round_robin::RandomRoundRobin;
pub use self::reuse_chains::ReuseChains;
pub use self::shortest_queue::ShortestQueue;
pub use self::strict_round_robin::StrictRoundRobin;
pub use self::two_level_round_robin::TwoLevelRoundRobin;
pub use self::unit_queues::{QueueEnd, Stealing, UnitQueues};

/// Registers the placement policies of this module.
pub fn register_policies(registry: &mut Registry) {
    registry.register_policy::<BlockRoundRobin>();
    registry.register_policy::<DemandRoundRobin>();
    registry.register_policy::<Distributed>();
    registry.register_policy::<DistributedBlock>();
    registry.register_policy::<GlobalRoundRobin>();
    registry.register_policy::<GreedyClustering>();
    registry.register_policy::<LaPerm>();
    registry.register_policy::<Laser>();
    registry.register_policy::<Mapped>();
    registry.register_policy::<RandomRoundRobin>();
    registry.register_policy::<ReuseChains>();
    registry.register_policy::<ShortestQueue>();
    registry.register_policy::<StrictRoundRobin>();
    registry.register_policy::<TwoLevelRoundRobin>();
}
