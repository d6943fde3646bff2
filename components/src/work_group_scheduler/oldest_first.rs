//! Oldest-first kernel service: policies that place one kernel at a time.

use std::collections::VecDeque;

use warpweave_framework::{Instrumented, State, Stateful, Statistics};

use super::{Kernel, Machine, Placement, PlacementChoice, PlacementPolicy};
use crate::occupancy::UnitLimits;

/// A work-group of the current kernel and its target unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Linear index of the work-group in its grid.
    pub work_group: u32,
    /// Index of the target unit, from 0.
    pub unit: u32,
}

/// Placement policy for one kernel at a time; [`OldestFirst`] makes it a [`PlacementPolicy`].
///
/// Repeated queries without new notifications must give the same result, except for the effect of
/// `sendable`.
pub trait OneKernelPolicy: Stateful + Instrumented + Send {
    /// Checks the limits of the units; see [`PlacementPolicy::fits`].
    ///
    /// # Errors
    /// Returns the reason why the policy does not work with such units.
    fn fits(&self, _limits: &UnitLimits) -> Result<(), String> {
        Ok(())
    }

    /// Checks that a kernel can be placed; see [`PlacementPolicy::accepts`].
    ///
    /// # Errors
    /// Returns the reason why the policy cannot place the kernel.
    fn accepts(&self, _kernel: &Kernel<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Starts placement of this kernel's work-groups; all earlier kernels have been placed. Calls
    /// of [`update`](Self::update) for every unit follow.
    fn begin(&mut self, kernel: Kernel<'_>);

    /// Updates the state of a unit: number of resident work-groups of any kernel, and how many more
    /// of the current one fit.
    fn update(&mut self, unit: u32, resident: u32, room: u32);

    /// Returns the next assignment, if one can be made now. `sendable` tests if a unit can be sent
    /// a message in this cycle. A policy with one order over all units waits for the next unit in
    /// that order.
    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment>;

    /// Notifies that the chosen assignment has been made. A call of [`update`](Self::update) for
    /// its unit follows.
    fn placed(&mut self, placed: Assignment);
}

/// Serves the oldest kernel until all its work-groups are placed, then the next.
///
/// Source: LASER paper, section 3.2, interpreted such that the oldest head of a queue goes first.
#[derive(State, Statistics)]
pub struct OldestFirst<P> {
    #[state(flatten)]
    #[statistic(flatten)]
    policy: P,
    /// Kernels with unplaced work-groups, oldest first; the policy works on the first.
    #[state(rename = "oldest_first")]
    kernels: VecDeque<u32>,
}

impl<P: OneKernelPolicy + 'static> OldestFirst<P> {
    /// Wraps the policy so that it serves all kernels, oldest first.
    pub fn boxed(policy: P) -> Box<dyn PlacementPolicy> {
        Box::new(Self {
            policy,
            kernels: VecDeque::new(),
        })
    }

    /// Starts placement of the oldest kernel with unplaced work-groups.
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
}
