//! What a placement policy is told and asked: which work-group goes next, and to which unit.
//!
//! ```text
//!   a kernel comes            accepts ──► arrived ──► entries
//!   a work-group has ended    finished ──► changed      completed, when it was the last of its kernel
//!   dispatch                  choose ──► accesses ──► placed ──► changed
//!                                                       └─► all_placed, when it was the last left
//! ```
//!
//! # Time
//! A scheduler in which nothing can happen sleeps, and must behave as one that is kept awake. So a
//! decision is a function of what the policy was told: asked again without being told anything new it
//! answers the same, except for what `sendable` says.

use warpweave_framework::{State, Statistics};

use super::{Kernel, Machine};
use crate::occupancy::UnitLimits;

/// A placement policy that sees all kernels at once. One that serves a kernel at a time is an
/// [`OneKernelPolicy`](super::OneKernelPolicy).
pub trait PlacementPolicy: Send {
    /// Whether the policy works with units like these; asked once, before anything else.
    ///
    /// # Errors
    /// Why it does not.
    fn fits(&self, _limits: &UnitLimits) -> Result<(), String> {
        Ok(())
    }

    /// Whether the policy names [`entries`](Self::entries) or [`accesses`](Self::accesses); then a scheduler without a
    /// wire at `memory` is refused.
    fn needs_memory(&self) -> bool {
        false
    }

    /// Whether the policy can place a kernel of which a unit holds at least one work-group.
    ///
    /// # Errors
    /// Why it cannot; the run ends.
    fn accepts(&self, _kernel: &Kernel<'_>) -> Result<(), String> {
        Ok(())
    }

    /// From now on work-groups of this kernel may be placed.
    fn arrived(&mut self, kernel: Kernel<'_>, machine: &Machine);

    /// What the kernel that has just arrived puts into queues in memory, as writes. They are sent one per cycle,
    /// before the accesses of later placements; no placement waits for their answers.
    fn entries(&mut self, _writes: &mut Vec<QueueAccess>) {}

    /// Something has changed on a unit: its residents and its room for each kernel.
    fn changed(&mut self, _unit: u32, _machine: &Machine) {}

    /// The placement to make next, if there is one that may be made now. Asked only while there are
    /// work-groups to be placed. `sendable` says whether a unit can be sent something in this cycle; a
    /// policy that passes over a unit with room for this reason has asked, and answers
    /// [`PlacementChoice::UnitBusy`] if it finds no other.
    fn choose(
        &mut self,
        machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement>;

    /// The placement just chosen will be made, and the policy is asked for no other before. Where the
    /// work-group is taken from a queue in memory, the policy names the accesses that must be answered
    /// first.
    fn accesses(
        &mut self,
        _chosen: Placement,
        _machine: &Machine,
        _accesses: &mut Vec<QueueAccess>,
    ) {
    }

    /// The placement chosen has been made.
    fn placed(&mut self, placed: Placement, machine: &Machine);

    /// Every work-group of a kernel has been placed.
    fn all_placed(&mut self, _kernel: u32, _machine: &Machine) {}

    /// A work-group has ended and left its unit.
    fn finished(&mut self, _finished: Placement, _machine: &Machine) {}

    /// Every work-group of a kernel has ended.
    fn completed(&mut self, _kernel: u32, _machine: &Machine) {}

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// A work-group and the unit that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Placement {
    /// Number of the kernel's launch in the program.
    pub kernel: u32,
    /// Linear number of the work-group in its grid.
    pub work_group: u32,
    /// Number of the unit.
    pub unit: u32,
}

/// Answer of a policy that is asked for something to place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementChoice<T> {
    /// Place this.
    Place(T),
    /// A unit whose turn it is cannot be sent anything in this cycle.
    UnitBusy,
    /// No unit has room for a work-group.
    UnitsFull,
    /// Units have room, but the policy keeps its work-groups for others.
    HeldBack,
}

impl<T> PlacementChoice<T> {
    /// The same answer with something else to place.
    pub fn map<U>(self, of: impl FnOnce(T) -> U) -> PlacementChoice<U> {
        match self {
            Self::Place(placed) => PlacementChoice::Place(of(placed)),
            Self::UnitBusy => PlacementChoice::UnitBusy,
            Self::UnitsFull => PlacementChoice::UnitsFull,
            Self::HeldBack => PlacementChoice::HeldBack,
        }
    }
}

/// An access to a queue of work-groups in memory, within a line of 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAccess {
    /// Its address, bytes.
    pub address: u64,
    /// How many bytes, a multiple of 4.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
}
