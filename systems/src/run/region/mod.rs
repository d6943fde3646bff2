//! Regions of interest: which launches run, which are replayed before them, and estimates for the
//! whole program.
//!
//! ```text
//!   Region (scenario) ──► choice.rs: parts of the launches ──► LaunchPlan ──► host driver
//!                                                                    │ stands still
//!   estimate.rs ◄── cycles of what ran                 replay: functional launches along the wires
//! ```
//!
//! `choice.rs` selects launches, and `estimate.rs` estimates the program's duration from a sample.

mod choice;
mod estimate;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_components::host_driver::HostDriver;
use warpweave_components::launch::{KernelLaunch, LaunchMaster};
use warpweave_components::launch_plan::{LaunchMode, LaunchPlan};
use warpweave_framework::{DeliveryError, FunctionalWires, Kind as _, Simulation, Tick};
use warpweave_params::Diagnostic;
use warpweave_trace::Program;

use self::choice::LaunchSelection;
pub use self::estimate::Estimate;
use crate::scenario::{Outside, Region};

/// Treatment of a launch when only a part of the program is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// The launch belongs to the region.
    Region,
    /// The launch was simulated because it precedes one in the region.
    Before,
    /// Only its accesses were replayed, to warm the caches.
    Warmed,
    /// The launch was skipped, without any effect.
    Skipped,
}

/// Summary of a run that simulated a part of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionResult {
    /// Treatment of launches outside the region.
    pub outside: Outside,
    /// Number of launches in the program, including those from the device.
    pub launches: u32,
    /// Number of launches with each treatment.
    parts: [(Part, u32); 4],
    /// Core cycles from the first launch of the region to its last completion; `None` if either is
    /// missing.
    pub cycles: Option<u64>,
    /// Wavefront instructions issued by the launches of the region.
    pub wavefront_instructions: u64,
    /// Estimated duration of the program; `None` without a sample, or if the run did not complete.
    pub estimate: Option<Estimate>,
}

impl RegionResult {
    /// Returns the number of launches with this treatment.
    pub fn count(&self, part: Part) -> u32 {
        let mut parts = self.parts.iter();
        parts
            .find(|(p, _)| *p == part)
            .map_or(0, |(_, count)| *count)
    }

    /// Describes in words which launches were simulated, and the treatment of the rest.
    pub fn in_words(&self) -> String {
        let rest = [
            (Part::Before, "simulated before it"),
            (Part::Warmed, "replayed through the caches"),
            (Part::Skipped, "skipped"),
        ];
        let all = format!("{} of {} launches", self.count(Part::Region), self.launches);
        let rest = rest
            .into_iter()
            .map(|(part, what)| (self.count(part), what));
        let rest = rest.filter(|(count, _)| *count > 0);
        let rest = rest.map(|(count, what)| format!("{count} {what}"));
        std::iter::once(all)
            .chain(rest)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

/// Region of a program, prepared for a machine.
pub(crate) struct RegionRun {
    choice: LaunchSelection,
    pub(crate) plan: Arc<LaunchPlan>,
}

impl RegionRun {
    /// Selects the launches of a program that belong to the region.
    ///
    /// # Errors
    /// Fails if the region contains no launch, or if it names a launch number that does not exist.
    pub(super) fn new(region: &Region, program: &Program) -> Result<Self, Diagnostic> {
        let choice = LaunchSelection::new(region, program)?;
        let fate = |part: &Part| match part {
            Part::Region | Part::Before => LaunchMode::Runs,
            Part::Warmed => LaunchMode::Replayed,
            Part::Skipped => LaunchMode::Skipped,
        };
        let fates = choice.parts.iter().map(fate).collect();
        Ok(Self {
            choice,
            plan: Arc::new(LaunchPlan::new(fates)),
        })
    }

    /// Returns the treatment of a launch, which is that of its host launch.
    pub(super) fn part(&self, kernel: u32) -> Part {
        self.choice.parts[kernel as usize]
    }

    /// True if the accesses of some launch warm the caches instead of being simulated.
    pub(super) fn replays(&self) -> bool {
        self.choice.parts.contains(&Part::Warmed)
    }

    /// True if a launch is simulated, in or before the region.
    pub(super) fn simulates(&self, kernel: u32) -> bool {
        matches!(self.part(kernel), Part::Region | Part::Before)
    }

    /// Returns a string that identifies this region: the name of each launch's part, in order.
    pub(super) fn description(&self) -> String {
        let letters = self.choice.parts.iter().map(|part| match part {
            Part::Region => 'r',
            Part::Before => 'b',
            Part::Warmed => 'w',
            Part::Skipped => 's',
        });
        letters.collect()
    }

    /// Replays the launches that wait for it, each with its descendants.
    ///
    /// # Errors
    /// Fails if a component between the host and the memory does not support functional accesses.
    pub(super) fn replay(
        &self,
        simulation: &mut Simulation,
        wires: &mut FunctionalWires,
    ) -> Result<(), DeliveryError> {
        let host = simulation
            .instances()
            .position(|(_, kind)| kind == HostDriver::NAME);
        let host = host.expect("a host driver asked for the replay");
        for launch in self.plan.waiting() {
            for kernel in self.choice.family_of(launch.kernel) {
                let launch = KernelLaunch { kernel, ..launch };
                wires.send(
                    simulation,
                    host,
                    HostDriver::GMU.member(LaunchMaster::LAUNCH),
                    launch,
                )?;
            }
        }
        Ok(())
    }

    /// Summarizes the run from the ticks at which each launch left the host and completed.
    pub(super) fn result(
        &self,
        program: &Program,
        period: u64,
        times: impl Fn(u32) -> (Option<Tick>, Option<Tick>),
    ) -> RegionResult {
        let parts = &self.choice.parts;
        let count = |part| parts.iter().filter(|p| **p == part).count() as u32;
        let all = [Part::Region, Part::Before, Part::Warmed, Part::Skipped];
        let of_region = || {
            (0_u32..)
                .zip(parts)
                .filter(|(_, part)| **part == Part::Region)
        };
        let first = of_region().filter_map(|(kernel, _)| times(kernel).0).min();
        let completions: Option<Vec<Tick>> =
            of_region().map(|(kernel, _)| times(kernel).1).collect();
        let last = completions.and_then(|all| all.into_iter().max());
        let cycles = first
            .zip(last)
            .map(|(first, last)| (last.0 - first.0) / period);
        let instructions = of_region().map(|(kernel, _)| {
            let kernel = &program.kernels[kernel as usize];
            kernel.wavefront_instructions()
        });
        RegionResult {
            outside: self.choice.outside,
            launches: parts.len() as u32,
            parts: all.map(|part| (part, count(part))),
            cycles,
            wavefront_instructions: instructions.sum(),
            estimate: estimate::of(&self.choice, &self.plan, period, times),
        }
    }
}
