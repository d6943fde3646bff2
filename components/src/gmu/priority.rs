//! The most urgent kernel first.

use warpweave_framework::{
    Histogram, NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics,
};

use super::{EmptyQueue, KernelOrder, OrderPolicy};

/// The kernel of the highest priority gets the queue, of several the one that has waited for longest.
///
/// With two priorities these are the high- and low-priority queues of LASER, section 6. They share the
/// places of the pool. A kernel of low priority may wait for ever: the paper states no ageing, so how
/// long they wait is reported.
#[derive(Default)]
pub struct Priority {
    /// Cycles that kernels waited for a queue, those of priority 0 and all others.
    waited_low: Histogram,
    waited_high: Histogram,
}

impl PolicyKind for Priority {
    type Role = KernelOrder;
    const NAME: &'static str = "Priority";
    const SUMMARY: &'static str =
        "The kernel of the highest priority gets the queue, among equals the one that came first";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        _: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::<Self>::default())
    }
}

impl OrderPolicy for Priority {
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        // Of equal ones the first of the iterator is the minimum.
        let first = empty
            .pool
            .iter()
            .min_by_key(|w| u8::MAX - w.launch.priority)?;
        let waited = if first.launch.priority == 0 {
            &mut self.waited_low
        } else {
            &mut self.waited_high
        };
        waited.record(empty.cycle - first.arrived);
        Some(first.launch.kernel)
    }

    fn state(&mut self, state: &mut State<'_>) {
        state.field("waited_low", &mut self.waited_low);
        state.field("waited_high", &mut self.waited_high);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        statistics.histogram(
            "waiting_time_low",
            "cycles",
            "cycles that kernels of priority 0 waited for a work queue",
            &self.waited_low,
        );
        statistics.histogram(
            "waiting_time_high",
            "cycles",
            "cycles that kernels of other priorities waited for a work queue",
            &self.waited_high,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::Waiting;
    use super::*;
    use crate::launch::KernelLaunch;

    /// Cycle, kernel and priority of launches, and the order in which one queue serves them.
    fn served(pool: &[(u32, u8)]) -> Vec<u32> {
        let mut policy = Priority::default();
        let mut pool: Vec<_> = pool
            .iter()
            .map(|&(kernel, priority)| Waiting {
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

    /// LSR-M12: the head of the high-priority queue, then that of the low-priority queue; first in,
    /// first out in each.
    #[test]
    fn lsr_m12_high_priority_goes_before_low_and_each_in_turn() {
        let pool = [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0)];
        assert_eq!(served(&pool), [2, 4, 1, 3, 5]);
    }

    #[test]
    fn among_more_than_two_priorities_the_highest_is_first() {
        assert_eq!(served(&[(1, 7), (2, 255), (3, 9), (4, 255)]), [2, 4, 3, 1]);
    }
}
