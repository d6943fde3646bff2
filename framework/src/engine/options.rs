//! Execution options of the engine; none affects results.

use crate::engine::division::Goal;

/// Order in which the components of a cycle are evaluated. Results never depend on it; tests vary
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Evaluates components in the order they were added.
    #[default]
    Added,
    /// Evaluates in a different pseudo-random order every cycle.
    Shuffled {
        /// Seed of the pseudo-random evaluation order.
        seed: u64,
    },
}

/// Execution options of the engine; none affects results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Evaluation order of components within a cycle.
    pub order: Order,
    /// Skips components and cycles with nothing to do. If disabled, every component is evaluated at
    /// every edge.
    pub sleeping: bool,
    /// Number of evaluating threads, at most one per partition.
    pub threads: usize,
    /// Number of partitions into which the system is divided; 0 for as many as threads.
    pub partitions: usize,
    /// Number of threads among which the partitions are spread evenly; 0 for as many as partitions.
    pub shares: usize,
}

impl EngineOptions {
    /// Returns these options with the number of partitions best suited to `threads`. Using more
    /// partitions than threads lets a thread that has finished take partitions not yet begun, which
    /// evens out load variation between windows. Each additional partition costs some hundred
    /// instructions per window, which matters most with two threads.
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
