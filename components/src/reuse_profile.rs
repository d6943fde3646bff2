//! Reuse profile of a program: kernels and work-groups that share lines, for policies and monitors
//! with advance knowledge.
//!
//! The profile is an [artefact](crate::artefact) of one program trace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_random::CounterRng;

/// Name of the profile in messages.
pub const WHAT: &str = "a reuse profile";

/// Accesses of a kernel that was launched from the device, and how many of them others share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildReuse {
    /// Number of all line accesses of the kernel.
    pub accesses: u64,
    /// Accesses to lines that the kernel accessed before.
    pub own: u64,
    /// Accesses to lines that its parent kernel accesses.
    pub parent: u64,
    /// Accesses to lines of an earlier sibling; of several siblings, the one that shares most.
    pub sibling: u64,
}

/// Reuse profile: kernels and work-groups that share lines.
///
/// ```
/// use warpweave_components::reuse_profile::ReuseProfile;
///
/// // Kernels 0 and 1 share half of their accesses; work-group 2 of kernel 0 forms a chain with one of kernel 1.
/// let profile = ReuseProfile::new(vec![(0, 1, 0.5)], vec![vec![(0, 2), (1, 0)], vec![(0, 0)]]);
/// assert_eq!(profile.linked(1), [(0, 0.5)]);
/// assert_eq!(profile.chain(1, 0), profile.chain(0, 2));
/// assert_eq!(profile.chain(3, 0), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Saved", into = "Saved")]
pub struct ReuseProfile {
    links: Vec<(u32, u32, f64)>,
    chains: Vec<Vec<(u32, u32)>>,
    by_kernel: BTreeMap<u32, Vec<(u32, f64)>>,
    /// Chain of each work-group, and its position in the chain.
    places: BTreeMap<(u32, u32), (u32, u32)>,
    /// Reuse of each kernel launched from the device.
    children: BTreeMap<u32, ChildReuse>,
}

/// Serialized part of the profile, from which the rest is derived.
#[derive(Serialize, Deserialize)]
struct Saved {
    links: Vec<(u32, u32, f64)>,
    chains: Vec<Vec<(u32, u32)>>,
    children: Vec<(u32, ChildReuse)>,
}

impl From<Saved> for ReuseProfile {
    fn from(saved: Saved) -> Self {
        Self::new(saved.links, saved.chains).with_children(saved.children)
    }
}

impl From<ReuseProfile> for Saved {
    fn from(profile: ReuseProfile) -> Self {
        Self {
            links: profile.links,
            chains: profile.chains,
            children: profile.children.into_iter().collect(),
        }
    }
}

/// Returns a random permutation, as a map from each item to its replacement.
fn shuffled<T: Copy + Ord>(all: &[T], seed: u64, what: &str) -> BTreeMap<T, T> {
    let dice = CounterRng::new(seed, what);
    let mut dealt = all.to_vec();
    for at in (1..dealt.len()).rev() {
        let other = dice.below(at as u64, at as u64 + 1) as usize;
        dealt.swap(at, other);
    }
    all.iter().copied().zip(dealt).collect()
}

impl ReuseProfile {
    /// Creates a profile from kernel links and work-group chains. Links are pairs of kernels that
    /// share much, with their reuse ratio; the larger of both directions counts. Chains list
    /// work-groups (kernel, work-group) in order.
    pub fn new(links: Vec<(u32, u32, f64)>, chains: Vec<Vec<(u32, u32)>>) -> Self {
        let mut strongest: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for &(a, b, ratio) in &links {
            for pair in [(a, b), (b, a)] {
                let known = strongest.entry(pair).or_insert(ratio);
                *known = known.max(ratio);
            }
        }
        let mut by_kernel: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
        for ((a, b), ratio) in strongest {
            by_kernel.entry(a).or_default().push((b, ratio));
        }
        for linked in by_kernel.values_mut() {
            linked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        }
        let mut places = BTreeMap::new();
        for (number, chain) in (0..).zip(&chains) {
            for (place, &work_group) in (0..).zip(chain) {
                places.insert(work_group, (number, place));
            }
        }
        Self {
            links,
            chains,
            by_kernel,
            places,
            children: BTreeMap::new(),
        }
    }

    /// Sets the reuse of kernels launched from the device, by kernel number.
    #[must_use]
    pub fn with_children(mut self, children: impl IntoIterator<Item = (u32, ChildReuse)>) -> Self {
        self.children = children.into_iter().collect();
        self
    }

    /// Returns a profile with the same links, chains and reuse of launched kernels, randomly
    /// permuted among the kernels and work-groups that have any. A gain that a policy has with this
    /// profile too does not come from knowledge of sharing.
    #[must_use]
    pub fn shuffled(&self, seed: u64) -> Self {
        let kernels: Vec<u32> = self.by_kernel.keys().copied().collect();
        let dealt: BTreeMap<u32, u32> = shuffled(&kernels, seed, "kernels of a profile");
        let work_groups: Vec<(u32, u32)> = self.places.keys().copied().collect();
        let placed = shuffled(&work_groups, seed, "work-groups of a profile");
        let links = self.links.iter();
        let links = links.map(|(a, b, ratio)| (dealt[a], dealt[b], *ratio));
        let chains = self.chains.iter();
        let chains = chains.map(|chain| chain.iter().map(|group| placed[group]).collect());
        let launched: Vec<u32> = self.children.keys().copied().collect();
        let launched = shuffled(&launched, seed, "launched kernels of a profile");
        let children = self.children.iter();
        let children = children.map(|(kernel, reuse)| (launched[kernel], *reuse));
        Self::new(links.collect(), chains.collect()).with_children(children)
    }

    /// Returns the kernels that share much with this one, with their ratios. The largest ratio
    /// comes first, then the lowest number.
    pub fn linked(&self, kernel: u32) -> &[(u32, f64)] {
        self.by_kernel.get(&kernel).map_or(&[], Vec::as_slice)
    }

    /// Returns the reuse of a kernel; `None` if it was not launched from the device.
    pub fn child(&self, kernel: u32) -> Option<ChildReuse> {
        self.children.get(&kernel).copied()
    }

    /// Returns the chain number of a work-group; `None` if it has no accesses.
    pub fn chain(&self, kernel: u32, work_group: u32) -> Option<u32> {
        self.place(kernel, work_group).map(|(chain, _)| chain)
    }

    /// Returns the chain number of a work-group and its position in the chain.
    pub fn place(&self, kernel: u32, work_group: u32) -> Option<(u32, u32)> {
        self.places.get(&(kernel, work_group)).copied()
    }

    /// Returns the number of work-groups in a chain; 0 if the chain does not exist.
    pub fn chain_len(&self, chain: u32) -> u32 {
        self.chains.get(chain as usize).map_or(0, Vec::len) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_profile_has_the_same_ratios_and_lengths_of_chains() {
        let links = (0..20).map(|k| (k, k + 1, f64::from(k) / 20.0)).collect();
        let chains = (0..20)
            .map(|k| (0..k % 4).map(|g| (k, g)).collect())
            .collect();
        let children = (5..20).map(|kernel| {
            let reuse = ChildReuse {
                accesses: 100,
                own: u64::from(kernel),
                ..ChildReuse::default()
            };
            (kernel, reuse)
        });
        let profile = ReuseProfile::new(links, chains).with_children(children);
        let shuffled = profile.shuffled(1);
        assert_ne!(shuffled, profile);
        assert_ne!(shuffled, profile.shuffled(2));
        assert_eq!(shuffled, profile.shuffled(1));
        let ratios = |of: &ReuseProfile| -> Vec<f64> { of.links.iter().map(|l| l.2).collect() };
        assert_eq!(ratios(&shuffled), ratios(&profile));
        let groups = |of: &ReuseProfile| of.places.keys().copied().collect::<Vec<_>>();
        assert_eq!(groups(&shuffled), groups(&profile));
        for chain in 0..20 {
            assert_eq!(shuffled.chain_len(chain), profile.chain_len(chain));
        }
        let own = |of: &ReuseProfile| -> Vec<_> {
            let launched = (0..20).filter_map(|kernel| of.child(kernel));
            launched.map(|reuse| reuse.own).collect()
        };
        let mut dealt = own(&shuffled);
        assert_ne!(dealt, own(&profile));
        assert!(shuffled.child(4).is_none() && shuffled.child(5).is_some());
        dealt.sort_unstable();
        assert_eq!(dealt, own(&profile));
    }
}
