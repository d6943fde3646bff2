//! Relation between two kernels: own, parent and child, sibling, or other.

use warpweave_trace::Parent;

/// Relation of an access's kernel to the kernel it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Both accesses are by the same kernel.
    Own,
    /// The compared kernel is the parent. The reverse is not counted, because a parent runs before
    /// its children.
    ParentChild,
    /// The same work-group launched both kernels.
    Sibling,
    /// The kernels are not related in any of these ways.
    Other,
}

impl Relation {
    /// All relations, in the order of result tables.
    pub const ALL: [Self; 4] = [Self::Own, Self::ParentChild, Self::Sibling, Self::Other];

    /// Returns the name used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::ParentChild => "parent_child",
            Self::Sibling => "sibling",
            Self::Other => "other",
        }
    }

    /// Returns the relation of kernel `by` to `before`.
    pub(crate) fn of(parents: &[Option<Parent>], by: u32, before: u32) -> Self {
        let parent = |kernel: u32| parents.get(kernel as usize).copied().flatten();
        if by == before {
            return Self::Own;
        }
        let Some(mine) = parent(by) else {
            return Self::Other;
        };
        if mine.kernel == before {
            return Self::ParentChild;
        }
        let is_sibling = parent(before).is_some_and(|theirs| {
            (theirs.kernel, theirs.work_group) == (mine.kernel, mine.work_group)
        });
        if is_sibling {
            Self::Sibling
        } else {
            Self::Other
        }
    }
}
