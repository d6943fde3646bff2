//! Kernel order by priority, with optional aging.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Cycle, Histogram, PolicyContext, PolicyKind, SpecError, State, Statistics,
};

use super::{EmptyQueue, KernelOrder, OrderPolicy};

/// Aging parameter of the [`Priority`] kernel order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrioritySpec {
    /// Waiting time in cycles after which a kernel precedes all that have waited less, regardless
    /// of priority. Absent: it may wait forever. Source: the LASER paper states none.
    #[serde(default)]
    pub aging_cycles: Option<Cycle>,
}

/// The queue goes to the kernel with the highest priority; ties go to the one that has waited
/// longest.
///
/// With two priorities these are the high- and low-priority queues of LASER, section 6. They share
/// the capacity of the pool. Without `aging_cycles` a low-priority kernel may wait forever, so
/// waiting times are reported.
#[derive(Default, State, Statistics)]
pub struct Priority {
    #[state(skip)]
    spec: PrioritySpec,
    /// cycles that kernels of priority 0 waited for a work queue
    #[statistic(name = "waiting_time_low", unit = "cycles")]
    waited_low: Histogram,
    /// cycles that kernels of other priorities waited for a work queue
    #[statistic(name = "waiting_time_high", unit = "cycles")]
    waited_high: Histogram,
}

impl PolicyKind for Priority {
    type Role = KernelOrder;
    const NAME: &'static str = "Priority";
    const SUMMARY: &'static str = "Gives the queue to the kernel of the highest priority; ties go to the one that arrived first";
    type Spec = PrioritySpec;

    fn build(
        spec: PrioritySpec,
        _: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self {
            spec,
            ..Self::default()
        }))
    }
}

impl OrderPolicy for Priority {
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        // Of equal ones the first of the iterator is the minimum.
        let first = empty.pool.iter().min_by_key(|waiting| {
            let waited = empty.cycle - waiting.arrived;
            let is_aged = self.spec.aging_cycles.is_some_and(|limit| waited >= limit);
            (
                !is_aged,
                if is_aged {
                    0
                } else {
                    u8::MAX - waiting.launch.priority
                },
            )
        })?;
        let waited = if first.launch.priority == 0 {
            &mut self.waited_low
        } else {
            &mut self.waited_high
        };
        waited.record(empty.cycle - first.arrived);
        Some(first.launch.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PendingKernel;
    use super::*;
    use crate::launch::KernelLaunch;

    /// Returns the order in which one queue serves these kernels, given as kernel number and
    /// priority. A kernel arrives in the cycle of its number.
    fn served(pool: &[(u32, u8)]) -> Vec<u32> {
        served_by(Priority::default(), pool)
    }

    fn served_by(mut policy: Priority, pool: &[(u32, u8)]) -> Vec<u32> {
        let mut pool: Vec<_> = pool
            .iter()
            .map(|&(kernel, priority)| PendingKernel {
                launch: KernelLaunch {
                    priority,
                    ..KernelLaunch::plain(kernel, kernel)
                },
                arrived: u64::from(kernel),
            })
            .collect();
        let mut order = Vec::new();
        while !pool.is_empty() {
            let empty = EmptyQueue {
                queue: 0,
                cycle: 100,
                heads: &[],
                pool: &pool,
            };
            let kernel = policy.queue_empty(&empty).expect("kernels wait");
            pool.retain(|waiting| waiting.launch.kernel != kernel);
            order.push(kernel);
        }
        order
    }

    /// LSR-M12: the head of the high-priority queue goes first, then that of the low-priority
    /// queue; each queue is first in, first out.
    #[test]
    fn lsr_m12_high_priority_goes_before_low_and_each_in_turn() {
        let pool = [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0)];
        assert_eq!(served(&pool), [2, 4, 1, 3, 5]);
    }

    #[test]
    fn a_kernel_that_has_waited_for_long_goes_first_if_so_described() {
        let spec = PrioritySpec {
            aging_cycles: Some(97),
        };
        let policy = Priority {
            spec,
            ..Priority::default()
        };
        // It is cycle 100: kernels 1 and 3 have waited for 97 cycles and more.
        let pool = [(1, 0), (3, 2), (4, 1), (5, 2)];
        assert_eq!(served_by(policy, &pool), [1, 3, 5, 4]);
    }

    #[test]
    fn among_more_than_two_priorities_the_highest_is_first() {
        assert_eq!(served(&[(1, 7), (2, 255), (3, 9), (4, 255)]), [2, 4, 3, 1]);
    }
}
