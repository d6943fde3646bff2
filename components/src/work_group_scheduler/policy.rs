//! Placement policy trait: notifications and queries for the next work-group and its unit.
//!
//! ```text
//!   a kernel comes            accepts ──► arrived ──► entries
//!   a work-group has ended    finished ──► changed      completed, when it was the last of its kernel
//!   dispatch                  choose ──► accesses ──► placed ──► changed
//!                                                       └─► all_placed, when it was the last left
//! ```
//!
//! # Time
//! A scheduler in which nothing can happen sleeps, and must behave like one that is kept awake. A
//! decision is therefore a function of the notifications to the policy. Repeated queries without
//! new notifications give the same result, except for the effect of `sendable`.

use warpweave_framework::{Instrumented, Stateful};

use super::{Kernel, Machine, Placement};
use crate::occupancy::UnitLimits;

/// Placement policy that sees all kernels at once. A policy for one kernel at a time is a
/// [`OneKernelPolicy`](super::OneKernelPolicy).
///
/// State and statistics are derived. A policy with an empty `impl Stateful` is refused in
/// checkpoints.
pub trait PlacementPolicy: Stateful + Instrumented + Send {
    /// Checks that the policy works with units like these; called once, before anything else.
    ///
    /// # Errors
    /// Returns the reason why the policy does not work with such units.
    fn fits(&self, _limits: &UnitLimits) -> Result<(), String> {
        Ok(())
    }

    /// True if the policy uses [`entries`](Self::entries) or [`accesses`](Self::accesses). A
    /// scheduler without a connection at `memory` is then rejected.
    fn needs_memory(&self) -> bool {
        false
    }

    /// Checks that the policy can place a kernel of which a unit holds at least one work-group.
    ///
    /// # Errors
    /// Returns the reason why the kernel cannot be placed; the run ends.
    fn accepts(&self, _kernel: &Kernel<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Notifies that work-groups of this kernel may be placed from now on.
    fn arrived(&mut self, kernel: Kernel<'_>, machine: &Machine);

    /// Returns the writes by which the kernel that has just arrived enters queues in memory. They
    /// are sent one per cycle, before the accesses of later placements. No placement waits for
    /// their responses.
    fn entries(&mut self, _writes: &mut Vec<QueueAccess>) {}

    /// Notifies of a change on a unit: its residents and its room for each kernel.
    fn changed(&mut self, _unit: u32, _machine: &Machine) {}

    /// The placement to make next, if there is one that may be made now. Asked only while there are
    /// work-groups to be placed. `sendable` returns true if a unit accepts a dispatch in this
    /// cycle. A policy that skips a unit with room for this reason must have called it. It returns
    /// [`PlacementChoice::UnitBusy`] if it finds no other unit.
    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement>;

    /// Notifies that the placement just chosen will be made; no other query comes before. If the
    /// work-group is taken from a queue in memory, the policy appends the accesses that must be
    /// answered first.
    fn accesses(
        &mut self,
        _chosen: Placement,
        _machine: &Machine,
        _accesses: &mut Vec<QueueAccess>,
    ) {
    }

    /// Notifies that the chosen placement has been made.
    fn placed(&mut self, placed: Placement, machine: &Machine);

    /// Notifies that every work-group of a kernel has been placed.
    fn all_placed(&mut self, _kernel: u32, _machine: &Machine) {}

    /// Notifies that a work-group has ended and left its unit.
    fn finished(&mut self, _finished: Placement, _machine: &Machine) {}

    /// Notifies that every work-group of a kernel has ended.
    fn completed(&mut self, _kernel: u32, _machine: &Machine) {}
}

/// Response of a policy to the query for a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementChoice<T> {
    /// Makes this placement in the current cycle.
    Place(T),
    /// No placement: the unit to be served cannot be sent a message in this cycle.
    UnitBusy,
    /// No placement: no unit has room for a work-group.
    UnitsFull,
    /// No placement: units have room, but the policy reserves its work-groups for others.
    HeldBack,
}

impl<T> PlacementChoice<T> {
    /// Maps the contained placement and keeps the other variants.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> PlacementChoice<U> {
        match self {
            Self::Place(placed) => PlacementChoice::Place(of(placed)),
            Self::UnitBusy => PlacementChoice::UnitBusy,
            Self::UnitsFull => PlacementChoice::UnitsFull,
            Self::HeldBack => PlacementChoice::HeldBack,
        }
    }
}

/// Access to a work-group queue in memory, within a line of 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAccess {
    /// Byte address of the access in memory.
    pub address: u64,
    /// Size of the access in bytes, a multiple of 4.
    pub bytes: u32,
    /// True for a write, false for a read.
    pub write: bool,
}
