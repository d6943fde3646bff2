//! Kernel families: a kernel launched by the host with all its descendants.

use warpweave_framework::State;
use warpweave_trace::Program;

/// Number of unfinished kernels in each family.
#[derive(Debug, State)]
pub(super) struct Families {
    /// Host-launched ancestor of each kernel of the program.
    #[state(skip)]
    roots: Vec<u32>,
    /// Number of unfinished kernels in the family of each host-launched kernel; 0 for other
    /// kernels.
    #[state(rename = "family_left")]
    left: Vec<u32>,
    /// Number of conditions for each kernel to be complete: 1 for its own work-groups, and 1 for
    /// each incomplete child.
    #[state(rename = "family_incomplete")]
    incomplete: Vec<u32>,
    /// Parent of each kernel, if it is launched from the device.
    #[state(skip)]
    parents: Vec<Option<u32>>,
    /// True for each kernel that launched others.
    #[state(skip)]
    launched: Vec<bool>,
}

impl Families {
    pub(super) fn of(program: &Program) -> Self {
        let mut roots: Vec<u32> = Vec::with_capacity(program.kernels.len());
        let mut left = vec![0; program.kernels.len()];
        for (kernel, trace) in (0_u32..).zip(&program.kernels) {
            // Kernels come after those that launched them.
            let parent = trace.parent.map(|parent| parent.kernel as usize);
            let root = parent.and_then(|parent| roots.get(parent).copied());
            let root = root.unwrap_or(kernel);
            roots.push(root);
            left[root as usize] += 1;
        }
        let parents = program.kernels.iter().map(|kernel| kernel.parent);
        let parents: Vec<_> = parents.map(|parent| Some(parent?.kernel)).collect();
        let mut incomplete = vec![1; parents.len()];
        let mut launched = vec![false; parents.len()];
        for &parent in parents.iter().flatten() {
            if let (Some(left), Some(any)) = (
                incomplete.get_mut(parent as usize),
                launched.get_mut(parent as usize),
            ) {
                *left += 1;
                *any = true;
            }
        }
        Self {
            roots,
            left,
            incomplete,
            parents,
            launched,
        }
    }

    /// True if the kernel launched other kernels.
    pub(super) fn is_parent(&self, kernel: u32) -> bool {
        self.launched.get(kernel as usize).copied() == Some(true)
    }

    /// Notes that the work-groups of a kernel are done. Returns the kernels that are now complete,
    /// including all their descendants.
    pub(super) fn completed_by(&mut self, kernel: u32) -> Vec<u32> {
        let mut complete = Vec::new();
        let mut next = Some(kernel);
        while let Some(kernel) = next
            && let Some(left) = self.incomplete.get_mut(kernel as usize)
        {
            *left = left.saturating_sub(1);
            if *left > 0 {
                break;
            }
            complete.push(kernel);
            next = self.parents[kernel as usize];
        }
        complete
    }

    /// Notes that the work-groups of a kernel are done. Returns true if those of its whole family
    /// are.
    pub(super) fn ends(&mut self, kernel: u32) -> bool {
        let root = self.roots.get(kernel as usize);
        let left = root.and_then(|&root| self.left.get_mut(root as usize));
        left.is_none_or(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work_group_scheduler::tests::family;

    #[test]
    fn a_family_ends_with_the_last_of_its_kernels_in_whatever_order() {
        // 0 launches 1 and 2, 2 launches 3; 4 stands alone.
        let by = |kernel| Some((kernel, 0, 0, 0));
        let program = family(&[None, by(0), by(0), by(2), None]);
        let mut families = Families::of(&program);
        let ended: Vec<bool> = [3, 0, 4, 1, 2].map(|kernel| families.ends(kernel)).to_vec();
        assert_eq!(ended, [false, false, true, false, true]);
    }

    #[test]
    fn a_kernel_is_complete_with_the_last_of_its_descendants() {
        let by = |kernel| Some((kernel, 0, 0, 0));
        let program = family(&[None, by(0), by(0), by(2), None]);
        let mut families = Families::of(&program);
        let complete = [0, 2, 4, 3, 1].map(|kernel| families.completed_by(kernel));
        let expected: [&[u32]; 5] = [&[], &[], &[4], &[3, 2], &[1, 0]];
        assert_eq!(complete, expected);
        let parents = (0..5).filter(|kernel| families.is_parent(*kernel));
        assert_eq!(parents.collect::<Vec<_>>(), [0, 2]);
    }
}
