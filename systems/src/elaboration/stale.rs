//! Search for caches whose lines go stale: others write below them, and nothing invalidates them.
//!
//! Two requesters reach the memory below such a cache, and only one of them by way of the cache.
//! Ways that part at a component with several wires downwards, such as a crossbar, serve different
//! addresses. So the slices of a second-level cache are no such caches.

use std::collections::BTreeSet;

use warpweave_framework::Simulation;

/// Name of the component kind that keeps lines.
const CACHE: &str = "Cache";

/// Name of the port that receives commands to invalidate the lines of a cache.
const CONTROL: &str = "control";

/// Start of the name of a requester's port for data.
const DATA: &str = "memory";

/// Memory wires of a system, from the requesters down to the memories.
struct MemoryWires {
    below: Vec<Vec<usize>>,
    above: Vec<Vec<usize>>,
    /// Instances that take no requests and send some for data.
    requesters: Vec<usize>,
    /// True for instances of several wires downwards that are no requesters.
    branches: Vec<bool>,
}

impl MemoryWires {
    fn of(simulation: &Simulation) -> Self {
        let count = simulation.instances().len();
        let requests = || {
            (0..simulation.channel_count())
                .map(|channel| simulation.channel_ends(channel as u32))
                .filter(|[(_, sends), (_, takes)]| {
                    sends.ends_with(".request") && takes.ends_with(".request")
                })
        };
        let mut is_requester = vec![true; count];
        for [_, (to, _)] in requests() {
            is_requester[to as usize] = false;
        }
        let (mut below, mut above) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for [(from, sends), (to, _)] in requests() {
            // The other wires of a requester carry constants, textures and instructions.
            if !is_requester[from as usize] || sends.starts_with(DATA) {
                below[from as usize].push(to as usize);
                above[to as usize].push(from as usize);
            }
        }
        for list in below.iter_mut().chain(&mut above) {
            list.sort_unstable();
            list.dedup();
        }
        let requesters = (0..count).filter(|at| is_requester[*at] && !below[*at].is_empty());
        let branches = (0..count).map(|at| below[at].len() > 1 && !is_requester[at]);
        Self {
            requesters: requesters.collect(),
            branches: branches.collect(),
            below,
            above,
        }
    }

    /// Marks all instances reached from `starts` without entering those in `closed`.
    fn reached(next: &[Vec<usize>], starts: &[usize], closed: &[bool]) -> Vec<bool> {
        let mut reached = vec![false; next.len()];
        let mut open = starts.to_vec();
        while let Some(instance) = open.pop() {
            if !closed[instance] && !std::mem::replace(&mut reached[instance], true) {
                open.extend_from_slice(&next[instance]);
            }
        }
        reached
    }

    /// True if a requester reaches what is below `cache` past it, for the same addresses.
    fn is_passed(&self, cache: usize) -> bool {
        let open = vec![false; self.below.len()];
        let below = Self::reached(&self.below, &self.below[cache], &open);
        let above = Self::reached(&self.above, &[cache], &open);
        let carries_data = self.requesters.iter().any(|requester| above[*requester]);
        if !carries_data {
            return false;
        }
        let closed: Vec<bool> = (0..self.below.len())
            .map(|instance| instance == cache || above[instance] && self.branches[instance])
            .collect();
        let past = Self::reached(&self.below, &self.requesters, &closed);
        (0..self.below.len()).any(|instance| below[instance] && past[instance])
    }
}

/// Returns the paths of caches that can return stale data, unless their control port is wired or
/// is one of the addresses in `meant`.
pub(super) fn stale_caches(simulation: &Simulation, meant: &[String]) -> Vec<String> {
    let mut controlled = BTreeSet::new();
    for channel in 0..simulation.channel_count() {
        for (instance, port) in simulation.channel_ends(channel as u32) {
            let rest = port.strip_prefix(CONTROL);
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) {
                controlled.insert(instance as usize);
            }
        }
    }
    let open: Vec<(usize, &str)> = simulation
        .instances()
        .enumerate()
        .filter(|(number, (path, kind))| {
            *kind == CACHE
                && !controlled.contains(number)
                && !meant.contains(&format!("{path}.{CONTROL}"))
        })
        .map(|(number, (path, _))| (number, path))
        .collect();
    if open.is_empty() {
        return Vec::new();
    }
    let wires = MemoryWires::of(simulation);
    open.into_iter()
        .filter(|&(cache, _)| wires.is_passed(cache))
        .map(|(_, path)| path.to_owned())
        .collect()
}
