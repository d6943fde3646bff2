//! Ratios of each kernel launched from the device, for predictions that know them in advance.

use serde::{Deserialize, Serialize};
use warpweave_trace::Parent;

use crate::footprint::Footprint;

/// Reuse ratios (equations 1 to 3) of a launched kernel. They have one denominator, so that counts
/// of accesses give them without rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRatios {
    /// Number of the kernel launch, in program order.
    pub kernel: u32,
    /// Denominator: all accesses of the kernel.
    pub accesses: u64,
    /// Accesses to lines that the kernel itself accessed before.
    pub own: u64,
    /// Accesses to lines that the parent kernel accesses.
    pub parent: u64,
    /// Accesses to lines of an earlier sibling; of several siblings, the one that shares most.
    pub sibling: u64,
}

/// Launched kernels of a program while their ratios are gathered, in order of launch.
pub(crate) struct Children(Vec<ChildRatios>);

impl Children {
    /// Creates the list of a program's launched kernels, without ratios to others.
    pub(crate) fn of(parents: &[Option<Parent>], kernels: &[Footprint]) -> Self {
        let launched = (0..).zip(parents).zip(kernels);
        let launched = launched.filter(|((_, parent), _)| parent.is_some());
        let alone = launched.map(|((kernel, _), footprint)| ChildRatios {
            kernel,
            accesses: footprint.accesses,
            own: footprint.again(),
            ..ChildRatios::default()
        });
        Self(alone.collect())
    }

    fn find(&mut self, child: u32) -> Option<&mut ChildRatios> {
        let place = self.0.binary_search_by_key(&child, |child| child.kernel);
        place.ok().map(|place| &mut self.0[place])
    }

    /// Adds the accesses of a child to lines of its parent.
    pub(crate) fn share_with_parent(&mut self, child: u32, accesses: u64) {
        if let Some(child) = self.find(child) {
            child.parent = accesses;
        }
    }

    /// Adds the accesses of a child to lines of a sibling; one launched later does not count.
    pub(crate) fn share_with_sibling(&mut self, child: u32, sibling: u32, accesses: u64) {
        if sibling < child
            && let Some(child) = self.find(child)
        {
            child.sibling = accesses.max(child.sibling);
        }
    }

    /// Returns the ratios in order of launch.
    pub(crate) fn list(self) -> Vec<ChildRatios> {
        self.0
    }
}
