//! Kernel families: a kernel is complete only with all kernels that it launched from the device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_framework::State;
use warpweave_trace::Program;

use crate::launch::KernelLaunch;

/// A kernel that is not complete yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Member {
    launch: KernelLaunch,
    /// Number of its child kernels whose families are not complete.
    left: u32,
    /// True if its own work-groups are done.
    ended: bool,
}

/// Families of all kernels that were accepted and are not complete.
#[derive(Debug, Default, State)]
pub(super) struct Families {
    /// Parent of each kernel of the program, if it is launched from the device.
    #[state(skip)]
    parents: Vec<Option<u32>>,
    /// Number of kernels launched by each kernel of the program.
    #[state(skip)]
    children: Vec<u32>,
    /// Kernels in the tail-launch stream of each kernel that has one, in their order.
    #[state(skip)]
    tails: BTreeMap<u32, Vec<u32>>,
    #[state(rename = "families")]
    members: BTreeMap<u32, Member>,
    /// Kernel whose family each blocked stream waits for.
    #[state(rename = "held_streams")]
    held: BTreeMap<u32, u32>,
}

impl Families {
    /// Creates the families of a program; without a program no kernel launches another.
    pub(super) fn of(program: Option<&Program>) -> Self {
        let kernels = program.map_or(&[][..], |program| &program.kernels);
        let parents = kernels
            .iter()
            .map(|kernel| kernel.parent.map(|by| by.kernel));
        let parents: Vec<Option<u32>> = parents.collect();
        let mut children = vec![0; parents.len()];
        for parent in parents.iter().flatten() {
            children[*parent as usize] += 1;
        }
        let mut tails: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (number, kernel) in (0..).zip(kernels) {
            let launcher = kernel.parent.filter(warpweave_trace::Parent::is_tail);
            if let Some(parent) = launcher {
                tails.entry(parent.kernel).or_default().push(number);
            }
        }
        Self {
            parents,
            children,
            tails,
            ..Self::default()
        }
    }

    /// Adds a kernel that the unit has accepted.
    pub(super) fn joins(&mut self, launch: KernelLaunch) {
        let left = self.children.get(launch.kernel as usize);
        let member = Member {
            launch,
            left: left.copied().unwrap_or(0),
            ended: false,
        };
        self.members.insert(launch.kernel, member);
    }

    fn parent(&self, kernel: u32) -> Option<u32> {
        self.parents.get(kernel as usize).copied().flatten()
    }

    /// True if the kernel must wait for its parent. Such a kernel is in the tail-launch stream, and
    /// the parent still runs, or another kernel of the parent goes first.
    pub(super) fn waits_for_parent(&self, kernel: u32) -> bool {
        let parent = self.parent(kernel);
        let Some((parent, tails)) = parent.and_then(|it| self.tails.get_key_value(&it)) else {
            return false;
        };
        if tails.binary_search(&kernel).is_err() {
            return false;
        }
        let Some(member) = self.members.get(parent) else {
            return true;
        };
        // The stream comes last, so what is left of the family is the rest of the stream.
        let left = member.left as usize;
        let next = tails.len().checked_sub(left).map(|done| tails[done]);
        !member.ended || next != Some(kernel)
    }

    /// Returns the kernels that become complete when the work-groups of this one are done: the
    /// kernel itself first, then its ancestors.
    pub(super) fn completed_by(&self, kernel: u32) -> Vec<u32> {
        let mut complete = Vec::new();
        let mut next = self.members.get(&kernel).filter(|member| member.left == 0);
        let mut kernel = kernel;
        while next.is_some() {
            complete.push(kernel);
            let Some(parent) = self.parent(kernel) else {
                break;
            };
            kernel = parent;
            next = self.members.get(&parent);
            next = next.filter(|member| member.ended && member.left == 1);
        }
        complete
    }

    /// Notes that the work-groups of a kernel are done, which completes the kernels in `complete`;
    /// see [`Families::completed_by`]. Returns their launches, and true if the kernel's own stream
    /// must wait.
    pub(super) fn ends(&mut self, kernel: u32, complete: &[u32]) -> (Vec<KernelLaunch>, bool) {
        if let Some(member) = self.members.get_mut(&kernel) {
            member.ended = true;
            if member.left > 0 {
                self.held.insert(member.launch.stream, kernel);
            }
        }
        let mut launches = Vec::new();
        for &kernel in complete {
            let Some(member) = self.members.remove(&kernel) else {
                continue;
            };
            if self.held.get(&member.launch.stream) == Some(&kernel) {
                self.held.remove(&member.launch.stream);
            }
            launches.push(member.launch);
            let parent = self.parent(kernel);
            if let Some(parent) = parent.and_then(|parent| self.members.get_mut(&parent)) {
                parent.left -= 1;
            }
        }
        (launches, complete.is_empty())
    }

    /// Returns the blocked streams, each with the kernel whose family it waits for.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, u32)> {
        self.held.iter().map(|(&stream, &kernel)| (stream, kernel))
    }
}
