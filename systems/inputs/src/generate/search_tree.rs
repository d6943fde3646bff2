//! Packed search trees with many keys per node.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Tree in which every node has `order` entries, filled from the left. Levels are stored one after
/// another, the root first. Key i, from 0, is 2 i or 2 i + 1, and its record is i. An entry of an
/// inner node has the first key below it. Unused entries have the key 2^32 - 1 and the child 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchTree {
    /// Number of entries per node, at least 2.
    pub order: u32,
    /// Number of keys in the tree, at least 1.
    pub keys: u32,
}

/// Key of unused entries in a node.
const UNUSED: u32 = u32::MAX;

impl SearchTree {
    /// Returns the number of nodes in each level, the root first.
    fn levels(self) -> Vec<usize> {
        let order = self.order as usize;
        let mut levels = vec![(self.keys as usize).div_ceil(order)];
        while let Some(&nodes) = levels.last()
            && nodes > 1
        {
            levels.push(nodes.div_ceil(order));
        }
        levels.reverse();
        levels
    }

    /// Returns the number of entries in all nodes.
    pub(crate) fn entries(self) -> usize {
        self.levels().iter().sum::<usize>() * self.order as usize
    }

    /// Returns the keys of all entries, or none if `length` is 0.
    pub(crate) fn keys(self, seed: u64, length: usize) -> Vec<u32> {
        let mut random = Random::new(seed, 0);
        let keys = (0..self.keys).map(|i| 2 * i + (random.word() & 1));
        let keys: Vec<u32> = if length == 0 {
            Vec::new()
        } else {
            keys.collect()
        };
        let mut entries = Vec::with_capacity(length);
        // Keys under an entry of the level.
        let mut under = (self.order as usize).pow(self.levels().len() as u32 - 1);
        for nodes in self.levels().into_iter().filter(|_| length > 0) {
            let level = (0..nodes * self.order as usize).map(|at| keys.get(at * under));
            entries.extend(level.map(|key| key.copied().unwrap_or(UNUSED)));
            under /= self.order as usize;
        }
        entries
    }

    /// Returns the children of all entries, or none if `length` is 0.
    pub(crate) fn children(self, length: usize) -> Vec<u32> {
        let levels = self.levels();
        let mut entries = Vec::with_capacity(length);
        let mut first = 0; // Number of the first node of the next level.
        for (depth, nodes) in levels.iter().enumerate().filter(|_| length > 0) {
            first += nodes;
            let (first, used) = match levels.get(depth + 1) {
                Some(children) => (first, *children),
                None => (0, self.keys as usize),
            };
            let child = |at: usize| if at < used { (first + at) as u32 } else { 0 };
            entries.extend((0..nodes * self.order as usize).map(child));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_packed_from_the_left() {
        let tree = SearchTree { order: 2, keys: 5 };
        assert_eq!(tree.levels(), [1, 2, 3]);
        assert_eq!(tree.children(12), [1, 2, 3, 4, 5, 0, 0, 1, 2, 3, 4, 0]);
        let keys = tree.keys(1, 12);
        let leaves = &keys[6..];
        for (i, key) in leaves[..5].iter().enumerate() {
            assert_eq!(*key as usize / 2, i);
        }
        assert_eq!(
            keys[..6],
            [
                leaves[0], leaves[4], leaves[0], leaves[2], leaves[4], UNUSED
            ]
        );
        assert_eq!(leaves[5], UNUSED);
    }

    #[test]
    fn few_keys_are_one_node() {
        let tree = SearchTree { order: 8, keys: 3 };
        assert_eq!(
            (tree.entries(), tree.children(8)),
            (8, vec![0, 1, 2, 0, 0, 0, 0, 0])
        );
    }
}
