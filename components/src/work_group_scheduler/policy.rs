//! What a work-group scheduling policy decides: which work-group goes next, and to which unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::State;

use super::demand::DemandRoundRobin;
use super::distributed::Distributed;
use super::distributed_block::DistributedBlock;
use super::ordered::Ordered;
use super::{global_round_robin, greedy_clustering, two_level};

/// Order in which work-groups are placed on compute units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WorkGroupPolicy {
    /// Round by round over all units, clusters changing fastest.
    TwoLevelRoundRobin,
    /// Round by round over all units, units of a cluster changing fastest.
    GlobalRoundRobin,
    /// Fills a cluster completely before the next one.
    GreedyClustering,
    /// Contiguous parts of the grid per cluster, filled greedily; no stealing.
    Distributed,
    /// As `Distributed`, but two consecutive work-groups at a time to a unit with room for both.
    DistributedBlock,
    /// A pointer goes round the units; later work-groups go where room appears.
    DemandRoundRobin,
}

/// The compute units of a machine: `unit = cluster × units_per_cluster + unit within the cluster`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) clusters: u32,
    pub(super) units_per_cluster: u32,
}

impl Machine {
    pub(super) fn units(self) -> u32 {
        self.clusters * self.units_per_cluster
    }

    pub(super) fn cluster(self, unit: u32) -> u32 {
        unit / self.units_per_cluster
    }

    pub(super) fn within(self, unit: u32) -> u32 {
        unit % self.units_per_cluster
    }
}

/// A work-group and the unit it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) work_group: u32,
    pub(super) unit: u32,
}

/// Decides for one kernel at a time, the oldest with undispatched work-groups.
///
/// A decision is a function of what the policy was told; asking again without telling it anything
/// new gives the same answer.
pub(super) trait Policy: Send {
    /// From now on this kernel's work-groups `0..work_groups` are placed. [`Policy::update`]
    /// follows for every unit.
    fn begin(&mut self, work_groups: u32);

    /// What holds for a unit now: work-groups resident, of any kernel, and how many more of the
    /// current one fit.
    fn update(&mut self, unit: u32, resident: u32, room: u32);

    /// The placement to make next, if there is one that may be made now. `sendable` says whether a
    /// unit can be sent something in this cycle; a policy with one order over all units waits for
    /// the unit whose turn it is.
    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> Choice;

    /// The placement just chosen has been made. [`Policy::update`] for its unit follows.
    fn placed(&mut self, placement: Placement);

    /// Names what the policy remembers.
    fn state(&mut self, state: &mut State<'_>);
}

/// Answer of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Make this placement.
    Place(Placement),
    /// The unit whose turn it is cannot be sent anything in this cycle.
    UnitBusy,
    /// No unit has room for a work-group.
    UnitsFull,
    /// Units have room, but the policy keeps its work-groups for others.
    HeldBack,
}

impl WorkGroupPolicy {
    pub(super) fn build(self, machine: Machine) -> Box<dyn Policy> {
        match self {
            Self::TwoLevelRoundRobin => Box::new(Ordered::new(machine, two_level::rank)),
            Self::GlobalRoundRobin => Box::new(Ordered::new(machine, global_round_robin::rank)),
            Self::GreedyClustering => Box::new(Ordered::new(machine, greedy_clustering::rank)),
            Self::Distributed => Box::new(Distributed::new(machine)),
            Self::DistributedBlock => Box::new(DistributedBlock::new(machine)),
            Self::DemandRoundRobin => Box::new(DemandRoundRobin::new(machine)),
        }
    }
}
