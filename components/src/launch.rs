//! The launch protocol: from the host to the grid management unit, the work-group scheduler and
//! the compute units, and back.
//!
//! ```text
//!   host driver ── KernelLaunch ──► GMU ── KernelReady ──► work-group scheduler ── Dispatch ──► CU
//!        ▲                           ▲                            │      ▲                      │
//!        └────── KernelDone ─────────┤────── KernelDone ◄─────────┘      └── WorkGroupDone ◄────┤
//!                                    │                                                          │
//!                                    └── KernelLaunch ◄── launch unit ◄── DeviceLaunch ◄────────┘
//! ```

use serde::{Deserialize, Serialize};
use warpweave_framework::{Bundle, InPort, Message, OutPort, Ports};

use crate::reuse_monitor::Relation;

/// A kernel to be run: number of the launch in the program trace, its stream, and what whoever
/// launches it wants of its order and placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLaunch {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// Stream (software queue): kernels of one stream run one after the other.
    pub stream: u32,
    /// Larger is more urgent, for kernel orders and placements that look at it; 0 from the host.
    pub priority: u8,
    /// A word for the placement of its work-groups, of a meaning that the launching side and the
    /// policy agree on, from the device a [`LaunchHint`]; 0 from the host.
    pub hint: u32,
}

impl KernelLaunch {
    /// A launch without priority or hint.
    pub fn plain(kernel: u32, stream: u32) -> Self {
        Self {
            kernel,
            stream,
            priority: 0,
            hint: 0,
        }
    }
}

/// What the hint of a kernel launched from the device says: where its parent ran, and with whom it is expected to
/// share lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchHint {
    /// Compute unit that launched it; none for the host.
    pub unit: Option<u16>,
    /// What the unit's reuse monitor predicts; none without a monitor too.
    pub relation: Option<Relation>,
}

impl LaunchHint {
    const UNIT_BITS: u32 = 17;

    /// As a launch carries it.
    pub fn to_word(self) -> u32 {
        let unit = self.unit.map_or(0, |unit| u32::from(unit) + 1);
        unit | Predictions::code(self.relation) << Self::UNIT_BITS
    }

    /// What a launch carries.
    pub fn from_word(word: u32) -> Self {
        let unit = (word & ((1 << Self::UNIT_BITS) - 1)).checked_sub(1);
        Self {
            unit: unit.and_then(|unit| u16::try_from(unit).ok()),
            relation: Predictions::relation(word >> Self::UNIT_BITS),
        }
    }
}

/// What is predicted of the kernels of one record, in their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predictions(u64);

impl Predictions {
    /// Sets what is predicted of the kernel with this number in the record, at most 31.
    pub fn set(&mut self, kernel: u32, relation: Option<Relation>) {
        let at = 2 * (kernel & 31);
        self.0 = self.0 & !(3 << at) | u64::from(Self::code(relation)) << at;
    }

    /// What is predicted of the kernel with this number in the record.
    pub fn of(self, kernel: u32) -> Option<Relation> {
        Self::relation((self.0 >> (2 * (kernel & 31))) as u32)
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

/// Launches from the device by one record of a wavefront: a kernel for each lane. Which kernels they are the
/// program's launch graph says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceLaunch {
    /// Number of the launching kernel in the program trace.
    pub kernel: u32,
    /// Linear number of the launching work-group.
    pub work_group: u32,
    /// Number of the launching wavefront in it.
    pub wavefront: u32,
    /// Which of the wavefront's launch records.
    pub record: u32,
    /// What the unit predicts of its kernels.
    pub predictions: Predictions,
}

/// A kernel at the head of a hardware work queue, ready to be dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReady {
    /// Number of the launch in the program trace.
    pub kernel: u32,
    /// As in the launch.
    pub priority: u8,
    /// As in the launch.
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

/// Every work-group of a kernel has completed and its stores are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelDone {
    /// Number of the launch in the program trace.
    pub kernel: u32,
}

/// A fact that a compute unit states to its work-group scheduler: its number, counted over the whole
/// machine, which is that of the port it hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitNumber(pub u16);

/// A message from the work-group scheduler to one compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dispatch {
    /// Start a work-group in a slot the scheduler accounts as free.
    Start {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Linear index of the work-group within its grid.
        work_group: u32,
        /// Work-group slot of the compute unit.
        slot: u16,
        /// As in the launch of the kernel.
        hint: u32,
    },
    /// The kernel is complete on the whole machine: drop first-level lines.
    Invalidate {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Cycles of the scheduler for which the kernel was there, when this was sent.
        ran: u32,
    },
    /// A kernel that launched others has ended, as the scheduler's `announce` says: what reuse monitors know of
    /// its lines is of no use any more. Nobody answers.
    ParentEnded {
        /// Number of the launch in the program trace.
        kernel: u32,
    },
}

/// A message from a compute unit to the work-group scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Completion {
    /// Every wavefront of the work-group has ended and its stores are acknowledged.
    WorkGroup {
        /// Number of the launch in the program trace.
        kernel: u32,
        /// Linear index of the work-group within its grid.
        work_group: u32,
        /// Work-group slot it leaves.
        slot: u16,
    },
    /// The first-level lines are dropped, answering [`Dispatch::Invalidate`].
    Invalidated {
        /// Number of the launch in the program trace.
        kernel: u32,
    },
}

/// A command to a first-level cache, outside the memory protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CacheCommand {
    /// Drop every clean line (answered when done).
    Invalidate,
    /// Have so many bytes from here on (answered when done).
    Resize {
        /// Whole ways: the first ones stay in use, and lines in others leave.
        bytes: u32,
    },
}

/// A fact that a compute unit states to its first-level cache: bytes that it may command it to have, the most first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSizes(pub Vec<u32>);

/// A fact that a cache states to who commands it: it carries out [`CacheCommand::Resize`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resizable;

/// The cache has carried out a command.
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
        #[derive(Default)]
        pub struct $master {
            /// Sent.
            pub $request: OutPort<$request_type>,
            /// Received.
            pub $response: InPort<$response_type>,
        }

        impl Bundle for $master {
            fn ports(&mut self, ports: &mut Ports<'_>) {
                ports.output(stringify!($request), &mut self.$request);
                ports.input(stringify!($response), &mut self.$response);
            }
        }

        $(#[$down])*
        #[derive(Default)]
        pub struct $slave {
            /// Received.
            pub $request: InPort<$request_type>,
            /// Sent.
            pub $response: OutPort<$response_type>,
        }

        impl Bundle for $slave {
            fn ports(&mut self, ports: &mut Ports<'_>) {
                ports.input(stringify!($request), &mut self.$request);
                ports.output(stringify!($response), &mut self.$response);
            }
        }
    };
}

bundle_pair!(
    /// Launches kernels and learns of their completion (host driver).
    LaunchMaster,
    /// Accepts kernels and reports their completion (GMU).
    LaunchSlave,
    launch: KernelLaunch, done: KernelDone
);
bundle_pair!(
    /// Hands ready kernels down and learns of their completion (GMU).
    ReadyMaster,
    /// Accepts ready kernels and reports their completion (work-group scheduler).
    ReadySlave,
    ready: KernelReady, done: KernelDone
);
bundle_pair!(
    /// Dispatches work-groups (work-group scheduler).
    DispatchMaster,
    /// Executes work-groups (compute unit).
    DispatchSlave,
    dispatch: Dispatch, completion: Completion
);
bundle_pair!(
    /// Commands a cache (compute unit).
    CacheControlMaster,
    /// Is commanded (cache).
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
        for kernel in 0..32 {
            predictions.set(kernel, Some(Relation::Own));
            predictions.set(kernel, relations[kernel as usize % 4]);
        }
        for kernel in 0..32 {
            assert_eq!(predictions.of(kernel), relations[kernel as usize % 4]);
        }
        assert_eq!(LaunchHint::default().to_word(), 0);
        for unit in [None, Some(0), Some(12), Some(u16::MAX)] {
            for relation in relations {
                let hint = LaunchHint { unit, relation };
                assert_eq!(LaunchHint::from_word(hint.to_word()), hint);
            }
        }
    }
}
