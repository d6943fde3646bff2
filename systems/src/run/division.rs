//! Dividing a machine between threads, again and again as it shows where its work is.

use std::num::NonZero;

use warpweave_framework::EngineOptions;

use super::Machine;

/// Core cycles between two looks at whether to divide the work between threads anew.
const LOOK_CYCLES: u64 = 1_024;

/// Divisions of a run. Each is made when twice the work of the one before has been measured.
const DIVISIONS: u32 = 10;

/// Evaluations per instance that make the first measurement.
const FIRST_EVALUATIONS: u64 = 64;

/// Threads that evaluate the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Divide the work among so many; on a machine with fewer cores each thread takes several shares.
    Exactly(usize),
    /// As many as are worth their meetings, at most so many.
    UpTo(usize),
    /// One, which takes the shares of so many in turn: to measure a division.
    OneFor(usize),
}

/// When the work is divided anew.
#[derive(Default)]
pub(super) struct DivisionPlan {
    made: u32,
    /// Core cycle of the next look.
    pub(super) next_look: u64,
    /// Evaluations of which the next division takes account.
    enough: u64,
}

impl Machine {
    /// Chooses how many threads evaluate; results do not depend on it.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = Some(threads);
    }

    /// Divides the system between threads by the work that each part has done so far, if enough was
    /// done since the last time.
    pub(super) fn divide_when_due(&mut self) {
        let now = self.cycle();
        if now < self.division.next_look {
            return;
        }
        let simulation = &mut self.system.simulation;
        let threads = match self.threads {
            None => {
                self.division.next_look = u64::MAX;
                return;
            }
            Some(Threads::Exactly(threads) | Threads::OneFor(threads)) => threads,
            Some(Threads::UpTo(threads)) => simulation.worthwhile_threads(threads),
        };
        self.division.next_look = now + LOOK_CYCLES;
        let evaluations = simulation.evaluations();
        if evaluations < self.division.enough {
            return;
        }
        let first = FIRST_EVALUATIONS * simulation.instances().len() as u64;
        self.division.enough = first.max(2 * evaluations);
        self.division.made += 1;
        if self.division.made == DIVISIONS {
            self.division.next_look = u64::MAX;
        }
        // Threads that wait for each other's processor at every meeting only lose time.
        let cores = match self.threads {
            Some(Threads::OneFor(_)) => 1,
            _ => std::thread::available_parallelism().map_or(1, NonZero::get),
        };
        let options = EngineOptions {
            threads: threads.min(cores),
            ..simulation.options()
        };
        simulation.set_options(options.divided_for(threads));
    }
}
