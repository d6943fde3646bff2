//! Families: a kernel of the host with all that was launched from it.

use warpweave_framework::{State, as_many};
use warpweave_trace::Program;

/// How many kernels of each family have work-groups that are not done.
#[derive(Debug)]
pub(super) struct Families {
    /// By kernel of the program: the kernel of the host from which it comes.
    roots: Vec<u32>,
    /// By kernel of the host, of its family; 0 for others.
    left: Vec<u32>,
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
        Self { roots, left }
    }

    /// The work-groups of a kernel are done. Whether those of its family are.
    pub(super) fn ends(&mut self, kernel: u32) -> bool {
        let root = self.roots.get(kernel as usize);
        let left = root.and_then(|&root| self.left.get_mut(root as usize));
        left.is_none_or(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    }

    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("family_left", &mut self.left);
        let kernels = self.roots.len();
        state.check("family_left", || {
            as_many("families", self.left.len(), kernels)
        });
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
}
