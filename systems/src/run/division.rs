//! Partitioning of a machine between threads, repeated as the load becomes known.

use std::num::NonZero;

use warpweave_framework::EngineOptions;

use super::Machine;

/// Core cycles between two checks for a new partition.
const LOOK_CYCLES: u64 = 1_024;

/// Maximum number of partitions in a run. Each is made after twice the work of the previous one was
/// measured.
const DIVISIONS: u32 = 10;

/// Number of evaluations per instance in the first load measurement.
const FIRST_EVALUATIONS: u64 = 64;

/// Number of threads that evaluate the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// Partition for exactly this many threads; on a machine with fewer cores each thread takes
    /// several partitions.
    Exactly(usize),
    /// Chooses the number of threads whose speed-up outweighs their synchronization cost, up to
    /// this maximum.
    UpTo(usize),
    /// A single thread that evaluates this many partitions in turn, to measure a partition.
    OneFor(usize),
}

/// Schedule of the repeated partitioning.
#[derive(Default)]
pub(super) struct DivisionPlan {
    made: u32,
    /// Core cycle of the next check.
    pub(super) next_look: u64,
    /// Number of evaluations required before the next partition.
    enough: u64,
}

impl Machine {
    /// Sets the number of threads that evaluate the system, which does not affect results.
    pub fn set_threads(&mut self, threads: Threads) {
        self.threads = Some(threads);
    }

    /// Partitions the system between threads by the measured work of each part. Does so only if
    /// enough work was done since the last time.
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
