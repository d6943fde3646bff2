//! Kernel movement: from launches into queues and pool, and from the pool into queues.

use std::collections::BTreeSet;

use warpweave_framework::{Context, Cycle, Id};

use super::accounting::LaunchSource;
use super::{EmptyQueue, Gmu, InFlight, PendingKernel};
use crate::launch::KernelLaunch;

impl Gmu {
    /// Takes launches from the host and the device; `moved` is true if a kernel has completed in
    /// this cycle.
    pub(super) fn take_launches(&mut self, ctx: &mut Context<'_>, moved: bool) {
        self.take_launches_at(ctx, LaunchSource::Host, moved);
        if self.device.is_connected() {
            self.take_launches_at(ctx, LaunchSource::Device, moved);
        }
    }

    fn take_launches_at(&mut self, ctx: &mut Context<'_>, door: LaunchSource, moved: bool) {
        let cycle = ctx.cycle();
        loop {
            let launch = match door {
                LaunchSource::Host => self.host.launch.peek(ctx),
                LaunchSource::Device => self.device.peek(ctx),
            };
            let Some(&launch) = launch else {
                return;
            };
            if !self.launches.is_stalled(door) {
                self.order.arrived(launch);
            } else if !moved {
                // Nothing has changed since it found no place.
                return;
            }
            let waits = self.families.waits_for_parent(launch.kernel);
            let queued = !waits && self.admit(ctx, launch);
            if !queued && !waits && self.pool_is_full() {
                if !self.launches.is_stalled(door) {
                    self.launches.stall(cycle, door);
                }
                return;
            }
            self.launches.accept(cycle, door);
            match door {
                LaunchSource::Host => self.host.launch.pop(ctx),
                LaunchSource::Device => self.device.pop(ctx),
            };
            if !queued {
                let key = self.insert(cycle, launch);
                self.pool.push_back(key);
                self.occupancy.pooled.add(cycle, 1);
                self.launches.through_pool += 1;
            }
        }
    }

    /// True if the pool has no room. Kernels that wait for their parents take none: the runtime
    /// keeps them in memory.
    fn pool_is_full(&self) -> bool {
        let pending = self.spec.pending_kernels as usize;
        if self.pool.len() < pending {
            return false;
        }
        let takes_room = |key: &&Id| {
            let kernel = self.kernels[**key].launch.kernel;
            !self.families.waits_for_parent(kernel)
        };
        self.pool.iter().filter(takes_room).count() >= pending
    }

    /// Puts a launch into a queue if one is available. Returns false otherwise.
    fn admit(&mut self, ctx: &mut Context<'_>, launch: KernelLaunch) -> bool {
        let pool = self.pool.iter();
        let mut pool = pool.map(|&key| self.kernels[key].launch);
        let goes_first = |waiting: KernelLaunch| {
            waiting.stream == launch.stream && !self.families.waits_for_parent(waiting.kernel)
        };
        if pool.any(goes_first) {
            // Those of its stream in the pool go first.
            return false;
        }
        match self.queue_of(launch.stream) {
            Some(queue) => {
                let room = self.has_room(queue);
                if room {
                    let key = self.insert(ctx.cycle(), launch);
                    self.enqueue(ctx.cycle(), queue, key);
                }
                room
            }
            None => self.fill_empty_queues(ctx, Some(launch)),
        }
    }

    fn insert(&mut self, cycle: Cycle, launch: KernelLaunch) -> Id {
        self.families.joins(launch);
        self.kernels.insert(InFlight {
            launch,
            arrived: cycle,
            sent: false,
        })
    }

    /// Removes the head of a queue, whose work-groups are done, and lets other kernels advance;
    /// `complete` lists the kernels completed by it.
    pub(super) fn retire(&mut self, ctx: &mut Context<'_>, queue: usize, complete: &[u32]) {
        let cycle = ctx.cycle();
        let head = self.queues[queue].kernels.pop_front();
        let head = self
            .kernels
            .remove(head.expect("a running kernel is the head of its queue"));
        let head = head.expect("a queued kernel is in the table").launch;
        self.occupancy.running.sub(cycle, 1);
        self.occupancy.queued.sub(cycle, 1);
        self.launches.completed += complete.len() as u64;
        let (families, stream_waits) = self.families.ends(head.kernel, complete);
        if stream_waits {
            self.give_back(cycle, queue);
        }
        match self.queues[queue].kernels.front() {
            Some(&next) => self.becomes_head(cycle, next),
            None => self.occupancy.queues_occupied.sub(cycle, 1),
        }
        self.order.own_groups_done(head);
        for launch in families {
            self.order.family_done(launch);
        }
        self.follow_streams(cycle);
        self.fill_empty_queues(ctx, None);
    }

    /// Moves the kernels of a queue whose stream must wait to the front of the pool.
    fn give_back(&mut self, cycle: Cycle, queue: usize) {
        while let Some(key) = self.queues[queue].kernels.pop_back() {
            self.pool.push_front(key);
            self.occupancy.queued.sub(cycle, 1);
            self.occupancy.pooled.add(cycle, 1);
        }
    }

    /// Assigns empty queues to kernels as chosen by the policy. Candidates are kernels in the pool,
    /// and a launch at the input port that waits for no other kernel of its stream. Returns true if
    /// that launch got a queue.
    fn fill_empty_queues(&mut self, ctx: &mut Context<'_>, door: Option<KernelLaunch>) -> bool {
        let cycle = ctx.cycle();
        while let Some(queue) = self.queues.iter().position(|q| q.kernels.is_empty()) {
            let pool = self.candidates(cycle, door);
            if pool.is_empty() {
                return false;
            }
            let occupied = self.queues.iter().filter_map(|q| q.kernels.front());
            let heads: Vec<_> = occupied.map(|&key| self.kernels[key].launch).collect();
            let chosen = self.order.queue_empty(&EmptyQueue {
                queue: queue as u32,
                cycle,
                heads: &heads,
                pool: &pool,
            });
            let Some(kernel) = chosen else { return false };
            if !pool.iter().any(|waiting| waiting.launch.kernel == kernel) {
                ctx.fail(format!(
                    "the kernel order {} gave queue {queue} to kernel {kernel}, which is not waiting for one",
                    self.spec.order.name()
                ));
                return false;
            }
            if let Some(launch) = door.filter(|launch| launch.kernel == kernel) {
                let key = self.insert(cycle, launch);
                self.enqueue(cycle, queue, key);
                return true;
            }
            let is_chosen = |key: &Id| self.kernels[*key].launch.kernel == kernel;
            let place = self.pool.iter().position(is_chosen);
            let key = place.and_then(|place| self.pool.remove(place));
            self.occupancy.pooled.sub(cycle, 1);
            self.enqueue(
                cycle,
                queue,
                key.expect("kernels not waiting at the input are in the pool"),
            );
            self.follow_streams(cycle);
        }
        false
    }

    /// Returns the kernels that may get an empty queue.
    fn candidates(&self, cycle: Cycle, door: Option<KernelLaunch>) -> Vec<PendingKernel> {
        let queues = self.queues.iter().filter(|q| !q.kernels.is_empty());
        let mut streams: BTreeSet<u32> = queues.map(|q| q.stream).collect();
        streams.extend(self.families.held().map(|(stream, _)| stream));
        let pool = self.pool.iter().map(|&key| {
            let InFlight {
                launch, arrived, ..
            } = self.kernels[key];
            PendingKernel { launch, arrived }
        });
        let door = door.map(|launch| PendingKernel {
            launch,
            arrived: cycle,
        });
        let first_of_stream = |waiting: &PendingKernel| {
            !self.families.waits_for_parent(waiting.launch.kernel)
                && streams.insert(waiting.launch.stream)
        };
        pool.chain(door).filter(first_of_stream).collect()
    }

    /// Moves kernels from the pool into the queues of their streams, in order of arrival.
    fn follow_streams(&mut self, cycle: Cycle) {
        let mut place = 0;
        while let Some(&key) = self.pool.get(place) {
            let launch = self.kernels[key].launch;
            let queue = self.queue_of(launch.stream).filter(|&queue| {
                self.has_room(queue) && !self.families.waits_for_parent(launch.kernel)
            });
            if let Some(queue) = queue {
                self.enqueue(cycle, queue, key);
                self.pool.remove(place);
                self.occupancy.pooled.sub(cycle, 1);
            } else {
                place += 1;
            }
        }
    }

    /// Returns the queue that belongs to a stream.
    fn queue_of(&self, stream: u32) -> Option<usize> {
        self.queues
            .iter()
            .position(|q| !q.kernels.is_empty() && q.stream == stream)
    }

    fn has_room(&self, queue: usize) -> bool {
        self.queues[queue].kernels.len() < self.spec.queue_depth as usize
    }

    /// Puts a kernel into a queue that has room and is empty or belongs to its stream.
    fn enqueue(&mut self, cycle: Cycle, place: usize, key: Id) {
        let queue = &mut self.queues[place];
        queue.stream = self.kernels[key].launch.stream;
        queue.kernels.push_back(key);
        let is_head = queue.kernels.len() == 1;
        self.occupancy.queued.add(cycle, 1);
        if is_head {
            self.occupancy.queues_occupied.add(cycle, 1);
            self.becomes_head(cycle, key);
        }
    }
}
