//! Launch protocol between host, grid management unit, work-group scheduler and compute units.
//!
//! ```text
//!   host driver ── KernelLaunch ──► GMU ── KernelReady ──► work-group scheduler ── Dispatch ──► CU
//!        ▲                           ▲                            │      ▲                      │
//!        └────── KernelDone ─────────┤────── KernelDone ◄─────────┘      └── WorkGroupDone ◄────┤
//!                                    │                                                          │
//!                                    └── KernelLaunch ◄── launch unit ◄── DeviceLaunch ◄────────┘
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::{InPort, Message, OutPort, Ports};

use crate::reuse_monitor::{Prediction, Relation};

/// A kernel launch: its number in the program trace, its stream, and the launcher's requests for
/// its order and placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLaunch {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// Stream (software queue); kernels of one stream run in sequence.
    pub stream: u32,
    /// Priority, larger is more urgent; used by kernel orders and placements that support it.
    /// Launches from the host have 0.
    pub priority: u8,
    /// Placement hint for its work-groups, with a meaning defined by the launcher and the policy.
    /// From the device it is a [`LaunchHint`], from the host 0.
    pub hint: u32,
}

impl KernelLaunch {
    /// Creates a launch without priority or hint.
    pub fn plain(kernel: u32, stream: u32) -> Self {
        Self {
            kernel,
            stream,
            priority: 0,
            hint: 0,
        }
    }
}

/// Decoded hint of a kernel launched from the device: the unit on which its parent ran, and the
/// prediction of that unit's reuse monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchHint {
    /// Compute unit that launched the kernel; `None` for launches from the host.
    pub unit: Option<u16>,
    /// Relation predicted by the unit's reuse monitor; also `None` without a monitor.
    pub relation: Option<Relation>,
    /// True if the kernel is bound to the unit, whatever else asks for its work-groups.
    pub is_bound: bool,
}

impl LaunchHint {
    const UNIT_BITS: u32 = 17;
    const BOUND: u32 = 1 << (Self::UNIT_BITS + 2);

    /// Encodes the hint as the word carried by a launch.
    pub fn to_word(self) -> u32 {
        let unit = self.unit.map_or(0, |unit| u32::from(unit) + 1);
        let bound = if self.is_bound { Self::BOUND } else { 0 };
        unit | Predictions::code(self.relation) << Self::UNIT_BITS | bound
    }

    /// Decodes the hint from the word carried by a launch.
    pub fn from_word(word: u32) -> Self {
        let unit = (word & ((1 << Self::UNIT_BITS) - 1)).checked_sub(1);
        Self {
            unit: unit.and_then(|unit| u16::try_from(unit).ok()),
            relation: Predictions::relation(word >> Self::UNIT_BITS),
            is_bound: word & Self::BOUND != 0,
        }
    }
}

/// Predictions for the kernels launched by one record, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions {
    /// Two bits for the relation of each kernel.
    relations: u64,
    /// One bit for each kernel that is bound to the unit.
    bound: u32,
}

impl Predictions {
    /// Sets the prediction for the kernel with this index in the record, at most 31.
    pub fn set(&mut self, kernel: u32, prediction: Prediction) {
        let (at, kernel) = (2 * (kernel & 31), kernel & 31);
        let code = u64::from(Self::code(prediction.relation));
        self.relations = self.relations & !(3 << at) | code << at;
        self.bound = self.bound & !(1 << kernel) | u32::from(prediction.is_bound) << kernel;
    }

    /// Returns the relation predicted for the kernel with this index in the record.
    pub fn of(self, kernel: u32) -> Option<Relation> {
        Self::relation((self.relations >> (2 * (kernel & 31))) as u32)
    }

    /// True if the kernel with this index in the record is bound to the unit that launched it.
    pub fn is_bound(self, kernel: u32) -> bool {
        self.bound >> (kernel & 31) & 1 != 0
    }

    fn code(relation: Option<Relation>) -> u32 {
        match relation {
            None => 0,
            Some(Relation::ParentChild) => 1,
            Some(Relation::Sibling) => 2,
            Some(Relation::Own) => 3,
        }
    }

    fn relation(code: u32) -> Option<Relation> {
        match code & 3 {
            0 => None,
            1 => Some(Relation::ParentChild),
            2 => Some(Relation::Sibling),
            _ => Some(Relation::Own),
        }
    }
}

/// Device-side launches by one record of a wavefront, one kernel per launching lane. The program's
/// launch graph identifies the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLaunch {
    /// Number of the launching kernel in the program trace.
    pub kernel: u32,
    /// Linear index of the launching work-group.
    pub work_group: u32,
    /// Index of the launching wavefront in the work-group.
    pub wavefront: u32,
    /// Index of the record among the wavefront's launch records.
    pub record: u32,
    /// Reuse predictions of the unit for the launched kernels.
    pub predictions: Predictions,
}

/// A kernel at the head of a hardware work queue, ready for dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReady {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// Priority of the kernel, copied from its launch.
    pub priority: u8,
    /// Placement hint of the kernel, copied from its launch.
    pub hint: u32,
}

impl From<KernelLaunch> for KernelReady {
    fn from(launch: KernelLaunch) -> Self {
        Self {
            kernel: launch.kernel,
            priority: launch.priority,
            hint: launch.hint,
        }
    }
}

/// Reports that every work-group of a kernel has completed and its stores are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelDone {
    /// Number of the launch in the program trace.
    pub kernel: u32,
}

/// Fact published by a compute unit to its work-group scheduler: its index in the whole device. The
/// index must match the scheduler port it is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitNumber(pub u16);

/// Fact published by a compute unit to its work-group scheduler: it asks for
/// [`Dispatch::WorkGroupFamilyEnded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantsFamilyEnds;

/// Message from the work-group scheduler to one compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dispatch {
    /// Starts a work-group in a slot that the scheduler counts as free.
    Start {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Linear index of the work-group within its grid.
        work_group: u32,
        /// Work-group slot of the compute unit to use.
        slot: u16,
        /// Placement hint, copied from the launch of the kernel.
        hint: u32,
    },
    /// Requests invalidation of first-level lines after a kernel has completed on the whole device.
    Invalidate {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Lifetime of the kernel at the scheduler when this was sent, in scheduler cycles.
        ran: u32,
    },
    /// Notifies that a kernel that launched others has ended, subject to the scheduler's
    /// `announce`. The reuse monitors' knowledge of its lines is obsolete. There is no reply.
    ParentEnded {
        /// Number of the launch in the program trace.
        kernel: u32,
    },
    /// Notifies the unit that ran a work-group that it is complete, and that the kernels it
    /// launched are, with all their descendants. Only for units that [ask](WantsFamilyEnds). There
    /// is no reply.
    WorkGroupFamilyEnded {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Linear index of the work-group within its grid.
        work_group: u32,
    },
}

/// Message from a compute unit to the work-group scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// Every wavefront of the work-group has ended and its stores are acknowledged.
    WorkGroup {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Linear index of the work-group within its grid.
        work_group: u32,
        /// Work-group slot that becomes free with this message.
        slot: u16,
    },
    /// Reply to [`Dispatch::Invalidate`]: the first-level lines have been invalidated.
    Invalidated {
        /// Number of the launch in the program trace.
        kernel: u32,
    },
}

/// Command to a first-level cache, outside the memory protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheCommand {
    /// Invalidates every clean line (answered when done).
    Invalidate,
    /// Sets the size of the cache from now on (answered when done).
    Resize {
        /// New size in bytes, in whole ways: the first ways stay in use, and lines in the others
        /// are evicted.
        bytes: u32,
    },
}

/// Fact published by a compute unit to its first-level cache: the sizes in bytes that it may
/// command, the largest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSizes(pub Vec<u32>);

/// Fact published by a cache on its control port: it supports [`CacheCommand::Resize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resizable;

/// Reply of a cache that has carried out a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheCommandDone;

impl Message for KernelLaunch {}
impl Message for DeviceLaunch {}
impl Message for KernelReady {}
impl Message for KernelDone {}
impl Message for Dispatch {}
impl Message for Completion {}
impl Message for CacheCommand {}
impl Message for CacheCommandDone {}

macro_rules! bundle_pair {
    ($(#[$up:meta])* $master:ident, $(#[$down:meta])* $slave:ident,
     $request:ident: $request_type:ty, $response:ident: $response_type:ty) => {
        $(#[$up])*
        #[derive(Default, Ports)]
        pub struct $master {
            /// Outgoing messages, to the slave end of the bundle.
            #[port]
            pub $request: OutPort<$request_type>,
            /// Incoming messages, from the slave end of the bundle.
            #[port]
            pub $response: InPort<$response_type>,
        }

        $(#[$down])*
        #[derive(Default, Ports)]
        pub struct $slave {
            /// Incoming messages, from the master end of the bundle.
            #[port]
            pub $request: InPort<$request_type>,
            /// Outgoing messages, to the master end of the bundle.
            #[port]
            pub $response: OutPort<$response_type>,
        }

    };
}

bundle_pair!(
    /// Launches kernels and receives their completions (host driver).
    LaunchMaster,
    /// Accepts kernels and reports their completion (GMU).
    LaunchSlave,
    launch: KernelLaunch, done: KernelDone
);
bundle_pair!(
    /// Sends ready kernels and receives their completions (GMU).
    ReadyMaster,
    /// Accepts ready kernels and reports their completion (work-group scheduler).
    ReadySlave,
    ready: KernelReady, done: KernelDone
);
bundle_pair!(
    /// Dispatches work-groups and receives their completions (work-group scheduler).
    DispatchMaster,
    /// Executes dispatched work-groups and reports their completion (compute unit).
    DispatchSlave,
    dispatch: Dispatch, completion: Completion
);
bundle_pair!(
    /// Sends commands to a cache and receives its replies (compute unit).
    CacheControlMaster,
    /// Receives commands from a compute unit and replies to them (cache).
    CacheControlSlave,
    command: CacheCommand, done: CacheCommandDone
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_and_predictions_are_read_as_they_were_written() {
        let relations = [
            None,
            Some(Relation::ParentChild),
            Some(Relation::Sibling),
            Some(Relation::Own),
        ];
        let mut predictions = Predictions::default();
        let predicted = |relation, is_bound| Prediction {
            relation,
            is_high_priority: false,
            is_bound,
        };
        for kernel in 0..32 {
            predictions.set(kernel, predicted(Some(Relation::Own), true));
            let relation = relations[kernel as usize % 4];
            predictions.set(kernel, predicted(relation, kernel % 3 == 0));
        }
        for kernel in 0..32 {
            assert_eq!(predictions.of(kernel), relations[kernel as usize % 4]);
            assert_eq!(predictions.is_bound(kernel), kernel % 3 == 0);
        }
        assert_eq!(LaunchHint::default().to_word(), 0);
        for unit in [None, Some(0), Some(12), Some(u16::MAX)] {
            for (relation, is_bound) in relations.into_iter().zip([false, true, false, true]) {
                let hint = LaunchHint {
                    unit,
                    relation,
                    is_bound,
                };
                assert_eq!(LaunchHint::from_word(hint.to_word()), hint);
            }
        }
    }
}
