//! Virtual-channel allocation as a stage: waiting packets, and the channels without an owner.

use warpweave_framework::State;

use super::shape::Shape;
use super::vc_allocator::{Grant, VcAllocator, VcRequests};
use crate::crossbar::arbiter::BuiltInArbiter;
use crate::crossbar::network_ports::NetworkPorts;
use crate::crossbar::requests::ports;

/// Packets that wait for a channel of their output, and the channels that have no owner.
#[derive(State)]
pub(super) struct ChannelStage {
    pub(super) waiting: VcRequests,
    /// Channels without an owner, as a bit mask per output.
    #[state(array)]
    pub(super) free: Vec<u64>,
    #[state(part)]
    allocator: VcAllocator,
    pub(super) grants: Vec<Grant>,
    /// Step in which the current allocation is done.
    done_at: Option<u64>,
}

impl ChannelStage {
    pub(super) fn new(arbiter: BuiltInArbiter, shape: Shape) -> Self {
        let Shape {
            outputs, channels, ..
        } = shape;
        let waiters = shape.waiters();
        Self {
            waiting: VcRequests::new(waiters, outputs),
            free: vec![u64::MAX >> (64 - channels); outputs],
            allocator: VcAllocator::new(arbiter, (waiters, shape.lanes), outputs, channels),
            grants: Vec::new(),
            done_at: None,
        }
    }

    /// True if packets wait and no allocation is under way.
    #[inline]
    pub(super) fn can_begin(&self) -> bool {
        self.waiting.outputs != 0 && self.done_at.is_none()
    }

    /// Begins an allocation, which is done in step `done`.
    pub(super) fn begin<P: Copy>(&mut self, shape: Shape, network: &NetworkPorts<P>, done: u64) {
        for output in ports(self.waiting.outputs) {
            let free = self.free[output];
            if free != 0 {
                let age = |waiter| network.age(shape.lane(waiter, output));
                let request = (output, free);
                self.allocator
                    .allocate(request, &self.waiting, age, &mut self.grants);
            }
        }
        self.done_at = Some(done);
    }

    /// True if the allocation under way is done in this step, which ends it.
    #[inline]
    pub(super) fn ends(&mut self, step: u64) -> bool {
        let ends = self.done_at.is_some_and(|at| at <= step);
        if ends {
            self.done_at = None;
        }
        ends
    }

    /// Takes a channel of an output for a waiting packet. Returns false if it has an owner.
    #[inline]
    pub(super) fn take(&mut self, grant: Grant) -> bool {
        let free = &mut self.free[grant.output as usize];
        if *free & 1 << grant.channel == 0 {
            return false;
        }
        *free &= !(1 << grant.channel);
        self.waiting
            .remove(grant.waiter as usize, grant.output as usize);
        true
    }

    /// Returns the step in which the allocation under way is done.
    #[inline]
    pub(super) fn done_at(&self) -> Option<u64> {
        self.done_at
    }

    /// True if the next step has work. An allocation of several cycles works on packets that it
    /// cannot grant, too.
    #[inline]
    pub(super) fn has_work(&self, cycles: u32) -> bool {
        self.done_at.is_none()
            && ports(self.waiting.outputs).any(|output| self.free[output] != 0 || cycles > 1)
    }
}
