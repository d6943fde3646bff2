//! Contiguous parts of a grid, one per cluster.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Unplaced work-groups by cluster: `n` of them are divided among `c` clusters in contiguous parts,
/// the first `n mod c` of which are one larger.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Pools(Vec<Range<u32>>);

impl Pools {
    pub(super) fn deal(&mut self, work_groups: u32, clusters: u32) {
        let (size, larger) = (work_groups / clusters, work_groups % clusters);
        let mut start = 0;
        self.0.clear();
        self.0.extend((0..clusters).map(|cluster| {
            let end = start + size + u32::from(cluster < larger);
            let part = start..end;
            start = end;
            part
        }));
    }

    /// Returns the next work-group of a cluster.
    pub(super) fn front(&self, cluster: u32) -> Option<u32> {
        let part = self.0.get(cluster as usize)?;
        (!part.is_empty()).then_some(part.start)
    }

    /// Returns the number of unplaced work-groups of a cluster.
    pub(super) fn left(&self, cluster: u32) -> usize {
        self.0
            .get(cluster as usize)
            .map_or(0, ExactSizeIterator::len)
    }

    pub(super) fn take(&mut self, cluster: u32) -> Option<u32> {
        self.0[cluster as usize].next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parts_take_what_does_not_divide() {
        let mut pools = Pools::default();
        pools.deal(10, 4);
        assert_eq!(pools.0, [0..3, 3..6, 6..8, 8..10]);
        pools.deal(2, 3);
        assert_eq!(pools.0, [0..1, 1..2, 2..2]);
        assert_eq!(pools.front(2), None);
    }
}
