//! Kernel order that prefers kernels sharing lines with running ones, according to a reuse profile.

use std::sync::Arc;

use warpweave_framework::{NoFields, PolicyContext, PolicyKind, SpecError, State, Statistics};

use super::{EmptyQueue, KernelOrder, OrderPolicy};
use crate::artefact::artefact;
use crate::reuse_profile::{ReuseProfile, WHAT};

/// The queue goes to the waiting kernel that shares most with the head of another queue. For each
/// head the candidate is the first waiting kernel among its linked ones, in order of their ratios.
/// Among all heads the candidate with the largest ratio wins; ties go to the lower queue. If no
/// waiting kernel is linked to a head, the one waiting longest gets the queue.
///
/// Source: the LASER paper, section 5, Algorithm 1. Two details are our interpretation: kernels
/// that are not waiting are skipped, and the best candidate over all heads is taken.
#[derive(State, Statistics)]
pub struct ByReuse {
    #[state(skip)]
    profile: Arc<ReuseProfile>,
    /// kernels that got a queue because they share lines with a running one
    #[statistic(name = "kernels_by_reuse", unit = "kernels")]
    by_reuse: u64,
    /// kernels that got a queue because they had waited longest
    #[statistic(name = "kernels_by_arrival", unit = "kernels")]
    by_arrival: u64,
}

impl PolicyKind for ByReuse {
    type Role = KernelOrder;
    const NAME: &'static str = "ByReuse";
    const SUMMARY: &'static str = "Gives the queue to the kernel that shares most lines with a running one, according to a profile";
    type Spec = NoFields;

    fn build(
        _: NoFields,
        context: &PolicyContext<'_, KernelOrder>,
    ) -> Result<Box<dyn OrderPolicy>, SpecError> {
        Ok(Box::new(Self {
            profile: artefact(context.environment, WHAT)?,
            by_reuse: 0,
            by_arrival: 0,
        }))
    }
}

impl OrderPolicy for ByReuse {
    fn queue_empty(&mut self, empty: &EmptyQueue<'_>) -> Option<u32> {
        let mut waiting: Vec<u32> = empty.pool.iter().map(|w| w.launch.kernel).collect();
        waiting.sort_unstable();
        let waits = |kernel: &u32| waiting.binary_search(kernel).is_ok();
        let mut best: Option<(u32, f64)> = None;
        for head in empty.heads {
            let linked = self.profile.linked(head.kernel);
            let candidate = linked.iter().find(|(kernel, _)| waits(kernel));
            if let Some(&(kernel, ratio)) = candidate
                && best.is_none_or(|(_, most)| ratio > most)
            {
                best = Some((kernel, ratio));
            }
        }
        if let Some((kernel, _)) = best {
            self.by_reuse += 1;
            return Some(kernel);
        }
        self.by_arrival += 1;
        empty.pool.first().map(|waiting| waiting.launch.kernel)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PendingKernel;
    use super::*;
    use crate::launch::KernelLaunch;

    /// Returns the kernel that gets the queue, given these heads and waiting kernels.
    fn chosen(links: &[(u32, u32, f64)], heads: &[u32], pool: &[u32]) -> Option<u32> {
        let launch = |&kernel: &u32| KernelLaunch::plain(kernel, kernel);
        let heads: Vec<_> = heads.iter().map(launch).collect();
        let waiting = |kernel| PendingKernel {
            launch: launch(kernel),
            arrived: 0,
        };
        let pool: Vec<_> = pool.iter().map(waiting).collect();
        let mut policy = ByReuse {
            profile: Arc::new(ReuseProfile::new(links.to_vec(), Vec::new())),
            by_reuse: 0,
            by_arrival: 0,
        };
        policy.queue_empty(&EmptyQueue {
            queue: 3,
            cycle: 9,
            heads: &heads,
            pool: &pool,
        })
    }

    /// LSR-M9: candidates of a head are taken in order of their ratios, and the first one in the
    /// pool wins.
    #[test]
    fn lsr_m9_the_best_linked_kernel_that_waits_is_taken() {
        let links = [(1, 5, 0.9), (1, 6, 0.8), (1, 7, 0.5)];
        assert_eq!(chosen(&links, &[1], &[4, 7, 6]), Some(6));
        // Whichever way the ratio was measured.
        assert_eq!(chosen(&[(8, 1, 0.6)], &[1], &[4, 8]), Some(8));
    }

    #[test]
    fn lsr_m9_the_best_over_all_heads_is_taken() {
        let links = [(1, 5, 0.5), (2, 6, 0.7), (3, 7, 0.7)];
        assert_eq!(chosen(&links, &[1, 2, 3], &[5, 7, 6]), Some(6));
    }

    #[test]
    fn lsr_m9_without_a_link_the_first_that_came_is_taken() {
        let links = [(1, 5, 0.9)];
        assert_eq!(chosen(&links, &[2], &[4, 5]), Some(4));
        assert_eq!(chosen(&links, &[], &[4, 5]), Some(4));
        assert_eq!(chosen(&links, &[1], &[4, 3]), Some(4));
    }
}
