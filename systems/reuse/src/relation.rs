//! What two kernels are to each other.

use warpweave_trace::Parent;

/// What the kernel of an access is to the one that it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// The same kernel.
    Own,
    /// Its parent. The other way round is none: a parent runs before its children.
    ParentChild,
    /// A kernel that the same work-group launched.
    Sibling,
    /// Neither.
    Other,
}

impl Relation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Own, Self::ParentChild, Self::Sibling, Self::Other];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "self",
            Self::ParentChild => "parent_child",
            Self::Sibling => "sibling",
            Self::Other => "other",
        }
    }

    /// What kernel `by` is to `before`.
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
