//! Simulating a part of a program: which launches run, what is replayed before them, and what that says of the
//! whole program.
//!
//! ```text
//!   Region (scenario) ──► choice.rs: parts of the launches ──► LaunchPlan ──► host driver
//!                                                                    │ stands still
//!   estimate.rs ◄── cycles of what ran                    replay: untimed launches along the wires
//! ```
//!
//! `choice.rs` chooses launches, `estimate.rs` says from those of a sample how long the program takes.

mod choice;
mod estimate;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_components::host_driver::HostDriver;
use warpweave_components::launch::KernelLaunch;
use warpweave_components::launch_plan::{LaunchMode, LaunchPlan};
use warpweave_framework::{Kind as _, Simulation, Tick, UntimedError, UntimedWires};
use warpweave_params::Diagnostic;
use warpweave_trace::Program;

use self::choice::LaunchSelection;
pub use self::estimate::Estimate;
use crate::scenario::{Outside, Region};

/// What became of a launch of a program of which a part is simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It belongs to the region.
    Region,
    /// It was simulated because it lies before one that does.
    Before,
    /// Its accesses went through the caches.
    Warmed,
    /// Nothing of it happened.
    Skipped,
}

/// What a run of a part of a program was.
#[derive(Clone, Debug, PartialEq)]
pub struct RegionResult {
    /// What became of launches outside the region.
    pub outside: Outside,
    /// Launches of the program, those from the device included.
    pub launches: u32,
    /// How many of them were what.
    parts: [(Part, u32); 4],
    /// Core cycles from the first launch of the region to its last completion; `None` when one is missing.
    pub cycles: Option<u64>,
    /// Wavefront instructions of the launches of the region.
    pub wavefront_instructions: u64,
    /// How long the whole program takes; `None` without a sample, or when the run did not come to its end.
    pub estimate: Option<Estimate>,
}

impl RegionResult {
    /// How many launches of the program were this.
    pub fn count(&self, part: Part) -> u32 {
        let mut parts = self.parts.iter();
        parts
            .find(|(p, _)| *p == part)
            .map_or(0, |(_, count)| *count)
    }

    /// What was simulated and what became of the rest, in words.
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

/// A part of a program, on a machine.
pub(crate) struct RegionRun {
    choice: LaunchSelection,
    pub(crate) plan: Arc<LaunchPlan>,
    /// The host, and the wires of the system; none before the first replay.
    wires: Option<(usize, UntimedWires)>,
}

impl RegionRun {
    /// Chooses from the launches of a program.
    ///
    /// # Errors
    /// A region without a launch, or a number that no launch has.
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
            wires: None,
        })
    }

    /// What became of a launch, or of the one of the host that it comes from.
    pub(super) fn part(&self, kernel: u32) -> Part {
        self.choice.parts[kernel as usize]
    }

    /// Whether a launch is simulated.
    pub(super) fn simulates(&self, kernel: u32) -> bool {
        matches!(self.part(kernel), Part::Region | Part::Before)
    }

    /// What tells this part of the program from others: the name of the part of each launch, in order.
    pub(super) fn description(&self) -> String {
        let letters = self.choice.parts.iter().map(|part| match part {
            Part::Region => 'r',
            Part::Before => 'b',
            Part::Warmed => 'w',
            Part::Skipped => 's',
        });
        letters.collect()
    }

    /// When launches are to be replayed next.
    pub(super) fn due(&self) -> Option<Tick> {
        self.plan.due()
    }

    /// Replays the launches that wait for it, each with all that was launched from it.
    ///
    /// # Errors
    /// A component between the host and the memory that takes no messages of no time.
    pub(super) fn replay(&mut self, simulation: &mut Simulation) -> Result<(), UntimedError> {
        let (host, wires) = self.wires.get_or_insert_with(|| {
            let host = simulation
                .instances()
                .position(|(_, kind)| kind == HostDriver::NAME);
            let host = host.expect("a host driver asked for the replay");
            (host, UntimedWires::of(simulation))
        });
        for launch in self.plan.waiting() {
            for kernel in self.choice.family_of(launch.kernel) {
                let launch = KernelLaunch { kernel, ..launch };
                wires.send(simulation, *host, ("gmu.launch", 0), launch)?;
            }
        }
        self.plan.replayed();
        Ok(())
    }

    /// What the run was, from the ticks at which each launch left the host and completed.
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
