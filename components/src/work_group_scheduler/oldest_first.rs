//! Kernels one after the other: policies that place one at a time.

use std::collections::VecDeque;

use warpweave_framework::{State, Statistics};

use super::{Kernel, Machine, Placement, PlacementChoice, PlacementPolicy};
use crate::occupancy::UnitLimits;

/// A work-group of the current kernel and the unit that it goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Linear number of the work-group in its grid.
    pub work_group: u32,
    /// Number of the unit.
    pub unit: u32,
}

/// A placement policy for one kernel at a time; [`OldestFirst`] makes a [`PlacementPolicy`] of it.
///
/// Asked again without being told anything new it answers the same, except for what `sendable` says.
pub trait OneKernelPolicy: Send {
    /// As [`PlacementPolicy::fits`].
    ///
    /// # Errors
    /// Why the policy does not work with such units.
    fn fits(&self, _limits: &UnitLimits) -> Result<(), String> {
        Ok(())
    }

    /// As [`PlacementPolicy::accepts`].
    ///
    /// # Errors
    /// Why the policy cannot place the kernel.
    fn accepts(&self, _kernel: &Kernel<'_>) -> Result<(), String> {
        Ok(())
    }

    /// From now on this kernel's work-groups are placed, all those before have been.
    /// [`update`](Self::update) follows for every unit.
    fn begin(&mut self, kernel: Kernel<'_>);

    /// What holds for a unit now: work-groups resident, of any kernel, and how many more of the current
    /// one fit.
    fn update(&mut self, unit: u32, resident: u32, room: u32);

    /// The assignment to make next, if there is one that may be made now. `sendable` says whether a unit
    /// can be sent something in this cycle; a policy with one order over all units waits for the unit
    /// whose turn it is.
    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment>;

    /// The assignment just chosen has been made. [`update`](Self::update) for its unit follows.
    fn placed(&mut self, placed: Assignment);

    /// Names the state for checkpoints: all that it was told and remembers. A policy without state
    /// names nothing.
    fn state(&mut self, state: &mut State<'_>) {
        state.refuse("the policy does not name its state");
    }

    /// Reports what the policy counted.
    fn statistics(&self, _statistics: &mut Statistics<'_>) {}
}

/// Serves the oldest kernel with work-groups to be placed until it has none, then the next.
///
/// Source: LASER paper, section 3.2, in the reading that the oldest head of a queue goes first.
pub struct OldestFirst<P> {
    policy: P,
    /// Kernels with work-groups to be placed, oldest first; the policy works on the first.
    kernels: VecDeque<u32>,
}

impl<P: OneKernelPolicy + 'static> OldestFirst<P> {
    /// The policy for all kernels.
    pub fn boxed(policy: P) -> Box<dyn PlacementPolicy> {
        Box::new(Self {
            policy,
            kernels: VecDeque::new(),
        })
    }

    /// Turns to the oldest kernel.
    fn begin(&mut self, machine: &Machine) {
        let oldest = self
            .kernels
            .front()
            .and_then(|&oldest| machine.kernel(oldest));
        if let Some(kernel) = oldest {
            self.policy.begin(kernel);
            for unit in 0..machine.site().units() {
                self.changed(unit, machine);
            }
        }
    }
}

impl<P: OneKernelPolicy + 'static> PlacementPolicy for OldestFirst<P> {
    fn fits(&self, limits: &UnitLimits) -> Result<(), String> {
        self.policy.fits(limits)
    }

    fn accepts(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        self.policy.accepts(kernel)
    }

    fn arrived(&mut self, kernel: Kernel<'_>, machine: &Machine) {
        self.kernels.push_back(kernel.number());
        if self.kernels.len() == 1 {
            self.begin(machine);
        }
    }

    fn changed(&mut self, unit: u32, machine: &Machine) {
        if let Some(&oldest) = self.kernels.front() {
            let room = machine.room(unit, oldest);
            self.policy.update(unit, machine.resident(unit), room);
        }
    }

    fn choose(
        &mut self,
        _machine: &Machine,
        sendable: &mut dyn FnMut(u32) -> bool,
    ) -> PlacementChoice<Placement> {
        let Some(&kernel) = self.kernels.front() else {
            return PlacementChoice::HeldBack;
        };
        let chosen = self.policy.choose(sendable);
        chosen.map(|Assignment { work_group, unit }| Placement {
            kernel,
            work_group,
            unit,
        })
    }

    fn placed(&mut self, placed: Placement, _machine: &Machine) {
        let Placement {
            work_group, unit, ..
        } = placed;
        self.policy.placed(Assignment { work_group, unit });
    }

    fn all_placed(&mut self, _kernel: u32, machine: &Machine) {
        // Only the oldest one's are placed.
        self.kernels.pop_front();
        self.begin(machine);
    }

    fn state(&mut self, state: &mut State<'_>) {
        self.policy.state(state);
        state.field("oldest_first", &mut self.kernels);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.policy.statistics(statistics);
    }
}
