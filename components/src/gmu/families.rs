//! Who waits for whom: a kernel is complete with all that it launched from the device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use warpweave_framework::State;
use warpweave_trace::Program;

use crate::launch::KernelLaunch;

/// A kernel that is not complete.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Member {
    launch: KernelLaunch,
    /// Kernels it launches whose families are not complete.
    left: u32,
    /// Its own work-groups are done.
    ended: bool,
}

/// The families of all kernels that were accepted and are not complete.
#[derive(Debug, Default)]
pub(super) struct Families {
    /// By kernel of the program: who launches it from the device.
    parents: Vec<Option<u32>>,
    /// By kernel of the program: how many it launches.
    children: Vec<u32>,
    members: BTreeMap<u32, Member>,
    /// Streams that wait for a family, and its kernel.
    held: BTreeMap<u32, u32>,
}

impl Families {
    /// Those of a program; without one no kernel launches another.
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
        Self {
            parents,
            children,
            ..Self::default()
        }
    }

    /// A kernel was accepted.
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

    /// The kernels that are complete once the work-groups of this one are done: itself first, then those above.
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

    /// The work-groups of a kernel are done, which completes these, as [`Families::completed_by`] says. Their
    /// launches, and whether the kernel's own stream has to wait.
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

    /// Streams that wait for a family, and its kernel.
    pub(super) fn held(&self) -> impl Iterator<Item = (u32, u32)> {
        self.held.iter().map(|(&stream, &kernel)| (stream, kernel))
    }

    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.field("families", &mut self.members);
        state.field("held_streams", &mut self.held);
    }
}
