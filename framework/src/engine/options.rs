//! How the engine works; none of it changes results.

use crate::engine::division::Goal;

/// In which order the components of a cycle are evaluated. Results never depend on it; tests
/// choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// As they were added.
    #[default]
    Added,
    /// In another pseudo-random order every cycle.
    Shuffled {
        /// Seed of the order.
        seed: u64,
    },
}

/// How the engine works; none of it changes results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Order within a cycle.
    pub order: Order,
    /// Skip components and cycles with nothing to do. Without it every component is evaluated at
    /// every edge.
    pub sleeping: bool,
    /// Threads that evaluate, at most one per partition.
    pub threads: usize,
    /// Partitions into which the system is divided; 0 for as many as threads.
    pub partitions: usize,
    /// Threads among which the partitions are to be spread evenly; 0 for as many as partitions.
    pub shares: usize,
}

impl EngineOptions {
    /// The same with a system divided as is best for so many threads, however many there are: into
    /// more partitions than threads, because one that has done its own in a window takes what others
    /// have not begun, so that chance from window to window evens out. Every partition more costs
    /// some hundred instructions per window, which two threads feel most.
    pub fn divided_for(self, threads: usize) -> Self {
        let partitions = match threads {
            0 | 1 => 1,
            2 => 12,
            _ => (2 * threads).max(16),
        };
        Self {
            partitions,
            shares: threads.max(1),
            ..self
        }
    }

    pub(crate) fn goal(&self) -> Goal {
        let or = |number: usize, other: usize| if number == 0 { other } else { number };
        let partitions = or(self.partitions, self.threads);
        Goal {
            partitions,
            shares: or(self.shares, partitions),
        }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            order: Order::Added,
            sleeping: true,
            threads: 1,
            partitions: 0,
            shares: 0,
        }
    }
}
