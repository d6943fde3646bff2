//! Notifies units of their work-groups that launched kernels, once these work-groups and the
//! families of the kernels are complete.

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use warpweave_framework::{Context, State};
use warpweave_trace::Program;

use super::dispatch_ports::DispatchPorts;
use crate::launch::Dispatch;

/// Work-groups that launch kernels, until their unit has been notified.
#[derive(Debug, State)]
pub(super) struct EndedLaunchers {
    /// Work-groups that launch kernels, ascending, by kernel and number in the trace.
    #[state(skip)]
    launchers: Vec<(u32, u32)>,
    /// Launching work-group of each kernel, as its place among `launchers`.
    #[state(skip)]
    launched_by: Vec<Option<u32>>,
    /// Units that ask for notifications of their launchers.
    #[state(skip)]
    asking: FixedBitSet,
    /// Number of conditions for each launcher to be complete: 1 for itself, and 1 for each kernel
    /// that it launches.
    left: Vec<u32>,
    /// Unit on which each launcher ended.
    ended_on: Vec<Option<u32>>,
    /// Complete launchers whose unit has not been notified, in the order in which they completed.
    unsent: VecDeque<u32>,
}

impl EndedLaunchers {
    /// Creates the list for a program and the units that ask for notifications.
    pub(super) fn of(program: &Program, asking: FixedBitSet) -> Self {
        let parents = program.kernels.iter().map(|kernel| {
            let parent = kernel.parent?;
            Some((parent.kernel, parent.work_group))
        });
        let parents: Vec<_> = parents.collect();
        let mut launchers: Vec<_> = parents.iter().flatten().copied().collect();
        launchers.sort_unstable();
        launchers.dedup();
        let place = |parent| launchers.binary_search(&parent).ok();
        let launched_by = parents.into_iter();
        let launched_by = launched_by.map(|parent| Some(place(parent?)? as u32));
        let launched_by: Vec<_> = launched_by.collect();
        let mut left = vec![1; launchers.len()];
        for &launcher in launched_by.iter().flatten() {
            left[launcher as usize] += 1;
        }
        Self {
            ended_on: vec![None; launchers.len()],
            launchers,
            launched_by,
            asking,
            left,
            unsent: VecDeque::new(),
        }
    }

    /// Notes that a work-group has completed on a unit.
    pub(super) fn work_group_ended(&mut self, kernel: u32, work_group: u32, unit: u32) {
        if let Ok(launcher) = self.launchers.binary_search(&(kernel, work_group)) {
            self.ended_on[launcher] = Some(unit);
            self.fulfil(launcher);
        }
    }

    /// Notes that a kernel is complete, with all its descendants.
    pub(super) fn kernel_completed(&mut self, kernel: u32) {
        if let Some(&Some(launcher)) = self.launched_by.get(kernel as usize) {
            self.fulfil(launcher as usize);
        }
    }

    fn fulfil(&mut self, launcher: usize) {
        let left = &mut self.left[launcher];
        *left = left.saturating_sub(1);
        let unit = self.ended_on[launcher];
        if *left == 0
            && let Some(unit) = unit
            && self.asking.contains(unit as usize)
        {
            self.unsent.push_back(launcher as u32);
        }
    }

    /// Notifies units that have room, each in the order in which its launchers completed.
    pub(super) fn send(&mut self, ctx: &mut Context<'_>, units: &mut DispatchPorts) {
        let Self {
            launchers,
            ended_on,
            unsent,
            ..
        } = self;
        unsent.retain(|&launcher| {
            let (kernel, work_group) = launchers[launcher as usize];
            let Some(unit) = ended_on[launcher as usize] else {
                return false;
            };
            let unit = unit as usize;
            let sends = units.can_send(ctx, unit);
            if sends {
                let message = Dispatch::WorkGroupFamilyEnded { kernel, work_group };
                units.send(ctx, unit, message);
            }
            !sends
        });
    }

    /// True if units have not been notified yet.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::work_group_scheduler::families::Families;
    use crate::work_group_scheduler::tests::family_of;

    /// Event of a run: a work-group completes on a unit.
    type End = (u32, u32, u32);

    /// Returns the launchers that each event completes. Kernels have `work_groups` work-groups, and
    /// `parents` launched them.
    fn completed(
        parents: &[Option<(u32, u32)>],
        work_groups: u32,
        asking: &[usize],
        ends: &[End],
    ) -> Vec<Vec<(u32, u32)>> {
        let program = family_of(work_groups, parents);
        let mut families = Families::of(&program);
        let asking = asking.iter().copied().collect();
        let mut launchers = EndedLaunchers::of(&program, asking);
        let mut left = vec![work_groups; parents.len()];
        ends.iter()
            .map(|&(kernel, work_group, unit)| {
                launchers.work_group_ended(kernel, work_group, unit);
                left[kernel as usize] -= 1;
                if left[kernel as usize] == 0 {
                    for kernel in families.completed_by(kernel) {
                        launchers.kernel_completed(kernel);
                    }
                }
                let unsent = launchers.unsent.drain(..);
                unsent
                    .map(|launcher| launchers.launchers[launcher as usize])
                    .collect()
            })
            .collect()
    }

    /// LSR-M14 item 6, `ParentWorkGroup`: its own end and those of its children's families.
    #[test]
    fn lsr_m14_a_launcher_is_complete_with_itself_and_the_families_of_its_children() {
        // Work-group 0 of kernel 0 launches kernels 1 and 2, work-group 1 launches 3. Work-group 1
        // of kernel 2 launches 4.
        let parents = [None, Some((0, 0)), Some((0, 0)), Some((0, 1)), Some((2, 1))];
        let ends = [
            (0, 0, 0),
            (1, 0, 1),
            (1, 1, 1),
            (2, 1, 0),
            (2, 0, 0),
            (3, 0, 1),
            (3, 1, 0),
            (4, 0, 1),
            (4, 1, 1),
            (0, 1, 1),
        ];
        let all = completed(&parents, 2, &[0, 1], &ends);
        let expected: [&[(u32, u32)]; 10] = [
            &[],
            &[],
            &[],
            &[],
            &[],
            &[],
            &[],
            &[],
            // Kernel 4 completes its launcher, and with that kernel 2, the last child of (0, 0).
            &[(2, 1), (0, 0)],
            // The children of (0, 1) were complete before it.
            &[(0, 1)],
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn only_units_that_ask_are_notified_of_their_own_launchers() {
        let parents = [None, Some((0, 0)), Some((0, 1))];
        let ends = [
            (0, 0, 0),
            (0, 1, 1),
            (1, 0, 0),
            (1, 1, 0),
            (2, 0, 0),
            (2, 1, 0),
        ];
        let of = |asking: &[usize]| completed(&parents, 2, asking, &ends).concat();
        assert_eq!(of(&[0, 1]), [(0, 0), (0, 1)]);
        assert_eq!(of(&[1]), [(0, 1)]);
        assert_eq!(of(&[]), []);
    }

    proptest! {
        /// In any order in which work-groups end, with any launches.
        #[test]
        fn each_launcher_completes_once_with_the_last_of_its_descendants(
            drawn in prop::collection::vec((0_u32..9, 0_u32..2), 1..9),
            order in Just((0_u32..18).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            // Kernel 0 comes from the host, and a parent has a lower number than its children.
            let parents: Vec<_> = (0_u32..)
                .zip(&drawn)
                .map(|(kernel, &(of, group))| (kernel > 0 && of < 8).then(|| (of % kernel, group)))
                .collect();
            let kernels = parents.len() as u32;
            let ends: Vec<End> = order
                .into_iter()
                .map(|event| (event / 2, event % 2, event % 3))
                .filter(|(kernel, ..)| *kernel < kernels)
                .collect();
            // Naive: after each event, launchers that ended and of whose descendants all have.
            let has_ended = |ended: &[End], kernel: u32, group: u32| {
                ended.iter().any(|&(a, b, _)| (a, b) == (kernel, group))
            };
            let descends = |mut kernel: u32, launcher: (u32, u32)| loop {
                match parents[kernel as usize] {
                    Some(parent) if parent == launcher => return true,
                    Some((above, _)) => kernel = above,
                    None => return false,
                }
            };
            let is_complete = |ended: &[End], launcher: (u32, u32)| {
                has_ended(ended, launcher.0, launcher.1)
                    && (0..kernels).filter(|&kernel| descends(kernel, launcher)).all(|kernel| {
                        has_ended(ended, kernel, 0) && has_ended(ended, kernel, 1)
                    })
            };
            let mut launchers: Vec<_> = parents.iter().flatten().copied().collect();
            launchers.sort_unstable();
            launchers.dedup();
            let expected: Vec<Vec<_>> = (0..ends.len())
                .map(|at| {
                    let all = launchers.iter().copied();
                    all.filter(|&launcher| {
                        is_complete(&ends[..=at], launcher) && !is_complete(&ends[..at], launcher)
                    })
                    .collect()
                })
                .collect();
            let mut found = completed(&parents, 2, &[0, 1, 2], &ends);
            for launchers in &mut found {
                launchers.sort_unstable();
            }
            prop_assert_eq!(found, expected);
        }
    }
}
