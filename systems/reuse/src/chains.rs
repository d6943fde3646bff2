//! Chains of strongly linked kernels or work-groups.

use serde::{Deserialize, Serialize};

use crate::Level;

/// Chains of the units of one level. Two units are linked if a ratio between them, in either
/// direction, is above the threshold. Units are visited in launch order. A chain starts at the
/// first unit not yet in a chain. It is extended by the free unit linked most strongly to its end;
/// ties go to the earlier unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chains {
    /// Level of the units in these chains.
    pub level: Level,
    /// Length of the longest chain, in units.
    pub longest: u64,
    /// Number of chains, including those of one unit.
    pub chains: u64,
    /// Total number of units in all chains.
    pub units: u64,
}

impl Chains {
    /// Returns the mean chain length in units, or `None` without chains.
    pub fn mean(&self) -> Option<f64> {
        (self.chains != 0).then(|| self.units as f64 / self.chains as f64)
    }
}

/// Links between units, which are numbered in launch order.
pub(crate) struct Links {
    threshold: f64,
    /// Linked units and their ratio. If two entries link the same units, the larger ratio is used
    /// first.
    linked: Vec<(u32, u32, f64)>,
}

impl Links {
    pub(crate) fn new(threshold: f64) -> Self {
        Self {
            threshold,
            linked: Vec::new(),
        }
    }

    /// Adds a link between two units if their ratio is above the threshold.
    pub(crate) fn add(&mut self, a: u32, b: u32, part: u64, whole: u64) {
        let ratio = part as f64 / whole as f64;
        if ratio > self.threshold {
            self.linked.push((a, b, ratio));
        }
    }

    /// Returns the linked pairs of units with their ratios.
    pub(crate) fn linked(&self) -> &[(u32, u32, f64)] {
        &self.linked
    }

    /// Returns the chains of units `0..units`, each as a list of units.
    pub(crate) fn lists(&self, units: u32) -> Vec<Vec<u32>> {
        let mut neighbours: Vec<Vec<(u32, f64)>> = vec![Vec::new(); units as usize];
        for &(a, b, strength) in &self.linked {
            neighbours[a as usize].push((b, strength));
            neighbours[b as usize].push((a, strength));
        }
        for list in &mut neighbours {
            list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        }
        let mut is_in_one = vec![false; units as usize];
        let mut chains = Vec::new();
        for first in 0..units {
            if is_in_one[first as usize] {
                continue;
            }
            is_in_one[first as usize] = true;
            let mut chain = vec![first];
            let mut last = first;
            while let Some(&(next, _)) = neighbours[last as usize]
                .iter()
                .find(|(next, _)| !is_in_one[*next as usize])
            {
                is_in_one[next as usize] = true;
                chain.push(next);
                last = next;
            }
            chains.push(chain);
        }
        chains
    }

    pub(crate) fn chains(&self, level: Level, units: u32) -> Chains {
        let lists = self.lists(units);
        Chains {
            level,
            longest: lists.iter().map(Vec::len).max().unwrap_or(0) as u64,
            chains: lists.len() as u64,
            units: units.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_goes_on_with_the_strongest_link_and_the_earlier_of_equals() {
        let mut links = Links::new(0.4);
        for (a, b, part) in [(0, 2, 50), (0, 1, 90), (1, 3, 60), (1, 2, 60), (4, 5, 40)] {
            links.add(a, b, part, 100);
        }
        // 0 links to 1 (0.9), 1 to 2 rather than 3 (a tie), 2 has no free unit left. 3 is alone; 4
        // and 5 are not linked at 0.4.
        let expected: [&[u32]; 4] = [&[0, 1, 2], &[3], &[4], &[5]];
        assert_eq!(links.lists(6), expected);
        let chains = links.chains(Level::Kernel, 6);
        assert_eq!((chains.longest, chains.mean()), (3, Some(1.5)));
    }

    #[test]
    fn a_link_is_as_strong_as_the_larger_of_its_two_ratios() {
        let mut links = Links::new(0.4);
        links.add(0, 1, 1, 10);
        links.add(1, 0, 5, 10);
        links.add(0, 2, 9, 20);
        assert_eq!(links.lists(3), [vec![0, 1], vec![2]]);
    }
}
