//! Kernel order that prefers the stream with the fewest completed kernels.

use std::collections::BTreeMap;

use warpweave::components::gmu::{EmptyQueue, KernelOrder, OrderPolicy};
use warpweave::components::launch::KernelLaunch;
use warpweave::framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

/// Kernel order described at the top of the file.
#[derive(State, Statistics)]
pub(crate) struct FairStreams {
    /// Number of completed kernels of each stream.
    completed: BTreeMap<u32, u64>,
}

impl PolicyKind for FairStreams {
    type Role = KernelOrder;
    const NAME: &'static str = "FairStreams";
    const SUMMARY: &'static str = "The stream with the fewest completed kernels first";
    type Spec = NoFields;

    fn build(
        _spec: NoFields,
        _context: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self {
            completed: BTreeMap::new(),
        }))
    }
}

impl OrderPolicy for FairStreams {
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        let completed = |stream: u32| self.completed.get(&stream).copied().unwrap_or(0);
        // Of equal ones the first of the iterator is the minimum.
        let chosen = empty.pool.iter().min_by_key(|w| completed(w.launch.stream));
        chosen.map(|waiting| waiting.launch.kernel)
    }

    fn own_groups_done(&mut self, kernel: KernelLaunch) {
        *self.completed.entry(kernel.stream).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use warpweave::components::gmu::PendingKernel;

    use super::*;

    #[test]
    fn the_stream_with_fewest_completed_kernels_is_first() {
        let launch = |kernel, stream| KernelLaunch {
            kernel,
            stream,
            priority: 0,
            hint: 0,
        };
        let waiting = |kernel, stream| PendingKernel {
            launch: launch(kernel, stream),
            arrived: 0,
        };
        let mut policy = FairStreams {
            completed: BTreeMap::new(),
        };
        let pool = [waiting(4, 1), waiting(5, 2)];
        let empty = EmptyQueue {
            queue: 0,
            cycle: 9,
            heads: &[],
            pool: &pool,
        };
        assert_eq!(policy.queue_empty(&empty), Some(4));
        policy.own_groups_done(launch(3, 1));
        assert_eq!(policy.queue_empty(&empty), Some(5));
    }
}
