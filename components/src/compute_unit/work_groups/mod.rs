//! The work-group slots: from the dispatch of a work-group, over its barriers, to its completion.

pub(crate) mod cache_split;
pub(crate) mod device_launches;
pub(crate) mod invalidation;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Context, Cycle};
use warpweave_trace::KernelTrace;

use crate::compute_unit::front::scoreboard::Scoreboard;
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::pipes::wheel::Event;
use crate::compute_unit::work_groups::invalidation::Invalidation;
use crate::compute_unit::{Arrival, ComputeUnit};
use crate::launch::{Completion, Dispatch};

/// One work-group slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct WorkGroup {
    pub(crate) is_resident: bool,
    pub(crate) kernel: u32,
    pub(crate) work_group: u32,
    /// Wavefront slots taken.
    pub(crate) slots: u64,
    /// Wavefronts that have not ended; and those that still have something under way.
    pub(crate) alive: u32,
    pub(crate) undrained: u32,
    /// Wavefronts at the barrier.
    pub(crate) arrived: u32,
    pub(crate) registers: u32,
    pub(crate) local_bytes: u64,
}

impl ComputeUnit {
    pub(crate) fn take_dispatch(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        if self.invalidation.is_some() || self.awaits_split(ctx, now) {
            return;
        }
        match self.dispatch.dispatch.pop(ctx) {
            Some(Dispatch::Start {
                kernel,
                work_group,
                slot,
                hint,
            }) => {
                if let Err(message) = self.start((kernel, hint), work_group, slot, now) {
                    self.fail(message);
                }
            }
            Some(Dispatch::ParentEnded { .. }) => {
                if let Some(monitor) = &mut self.reuse_monitor {
                    monitor.on_parent_finished();
                }
            }
            Some(Dispatch::Invalidate { kernel, ran }) => {
                self.accounting.kernel_ended(u64::from(ran), now);
                self.invalidation = Some(Invalidation::new(kernel));
                self.carry_out_invalidation(ctx);
            }
            None => {}
        }
    }

    /// Places a work-group, checking what the scheduler believes to be free.
    fn start(
        &mut self,
        (kernel, hint): (u32, u32),
        work_group: u32,
        slot: u16,
        now: Cycle,
    ) -> Result<(), String> {
        let trace = self.check_start(kernel, work_group, slot)?;
        let wavefronts = trace.wavefronts_per_work_group();
        // No more than are free, which was checked.
        let registers = self.registers_of(&trace) as u32;
        let mut group = WorkGroup {
            is_resident: true,
            kernel,
            work_group,
            slots: 0,
            alive: wavefronts,
            undrained: wavefronts,
            arrived: 0,
            registers,
            local_bytes: trace.local_bytes(),
        };
        for number in 0..wavefronts {
            let free = (!self.masks.present).trailing_zeros() as usize;
            self.ages.arrive(free, self.masks.present);
            self.masks.present |= 1 << free;
            self.masks.paused |= 1 << free;
            self.accounting
                .wavefront_came(free % self.issuers.len(), now);
            if let Some(stage) = &mut self.fetch {
                stage.begin(free, kernel);
            }
            group.slots |= 1 << free;
            let cursor = trace.cursor(work_group, number);
            let code = self.decoded.bases[kernel as usize];
            let scoreboard = Scoreboard::new(self.decoded.registers);
            let place = (slot as u8, number as u8);
            let wavefront = Wavefront::new(cursor, kernel, code, place, scoreboard);
            // The lowest free slot is either used again or the first one never used.
            if free < self.wavefronts.len() {
                self.wavefronts[free] = wavefront;
            } else {
                self.wavefronts.push(wavefront);
            }
            let event = Event::Resume { slot: free as u8 };
            self.wheel
                .push(now, u64::from(self.spec.start_latency), event);
            if self.is_open() {
                let arrival = Arrival {
                    slot: free,
                    work_group_slot: usize::from(slot),
                    kernel,
                    hint,
                    work_group,
                    wavefront: number,
                };
                self.tell_arrival(&arrival, now);
            }
        }
        self.registers_used += registers;
        self.local_bytes_used += group.local_bytes;
        self.counts.wavefronts.add(now, u64::from(wavefronts));
        self.counts.work_groups.add(now, 1);
        self.work_groups[usize::from(slot)] = group;
        Ok(())
    }

    fn check_start(
        &self,
        kernel: u32,
        work_group: u32,
        slot: u16,
    ) -> Result<Arc<KernelTrace>, String> {
        let refuse = |why: String| {
            Err(format!(
                "work-group {work_group} of kernel {kernel} was dispatched to slot {slot} of \
                 compute unit {}, but {why}",
                self.spec.index
            ))
        };
        let Some(trace) = self.program.kernels.get(kernel as usize) else {
            return refuse(format!(
                "the program has {} kernels",
                self.program.kernels.len()
            ));
        };
        if work_group >= trace.work_groups() {
            return refuse(format!(
                "the kernel has {} work-groups",
                trace.work_groups()
            ));
        }
        match self.work_groups.get(usize::from(slot)) {
            None => return refuse(format!("there are {} slots", self.work_groups.len())),
            Some(group) if group.is_resident => {
                return refuse(format!(
                    "work-group {} of kernel {} is there",
                    group.work_group, group.kernel
                ));
            }
            Some(_) => {}
        }
        let wavefronts = trace.wavefronts_per_work_group();
        let free = self.spec.wavefront_slots - self.masks.present.count_ones();
        if wavefronts > free {
            return refuse(format!(
                "it needs {wavefronts} wavefront slots and {free} are free"
            ));
        }
        let registers = self.registers_of(trace);
        let free = u64::from(self.spec.registers - self.registers_used);
        if registers > free {
            return refuse(format!(
                "it needs {registers} registers and {free} are free"
            ));
        }
        let local = trace.local_bytes();
        let free = u64::from(self.spec.local_memory.bytes) - self.local_bytes_used;
        if local > free {
            return refuse(format!(
                "it needs {local} bytes of local memory and {free} are free"
            ));
        }
        Ok(trace.clone())
    }

    /// Registers that a work-group of this kernel occupies.
    fn registers_of(&self, kernel: &KernelTrace) -> u64 {
        let limits = self.spec.facts().limits();
        limits
            .registers_per_wavefront(kernel.registers_per_thread())
            .saturating_mul(u64::from(kernel.wavefronts_per_work_group()))
    }

    /// A wavefront waits at the barrier of its work-group.
    pub(crate) fn arrive(&mut self, slot: usize, now: Cycle) {
        self.masks.fetched &= !(1 << slot);
        self.masks.barrier |= 1 << slot;
        let group = usize::from(self.wavefronts[slot].work_group);
        self.work_groups[group].arrived += 1;
        self.release_barrier(group, now);
    }

    /// Lets the wavefronts at a barrier go on if every one that has not ended is there.
    fn release_barrier(&mut self, group: usize, now: Cycle) {
        let group = &mut self.work_groups[group];
        if group.arrived == 0 || group.arrived < group.alive {
            return;
        }
        group.arrived = 0;
        let mut waiting = self.masks.barrier & group.slots;
        self.masks.barrier &= !waiting;
        self.counts.barriers += 1;
        let latency = self.spec.classes.barrier.latency;
        while waiting != 0 {
            let slot = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            self.pause(slot, latency, now);
        }
    }

    /// A wavefront has no record left.
    pub(crate) fn end(&mut self, slot: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        self.masks.fetched &= !bit;
        self.masks.ended |= bit;
        if self.is_open() {
            self.tell_leave(slot, now);
        }
        let group = usize::from(self.wavefronts[slot].work_group);
        self.work_groups[group].alive -= 1;
        self.release_barrier(group, now);
        if self.wavefronts[slot].in_flight == 0 {
            self.drain_in_time(slot, now);
        }
    }

    /// An ended wavefront has nothing under way any more.
    pub(crate) fn drain(&mut self, slot: usize, now: Cycle) {
        let number = self.wavefronts[slot].work_group;
        let group = &mut self.work_groups[usize::from(number)];
        group.undrained -= 1;
        if group.undrained > 0 {
            return;
        }
        let group = std::mem::take(group);
        self.masks.present &= !group.slots;
        self.masks.ended &= !group.slots;
        for issuer in &mut self.issuers {
            issuer.turn.forget(group.slots);
        }
        self.registers_used -= group.registers;
        self.local_bytes_used -= group.local_bytes;
        self.counts
            .wavefronts
            .sub(now, u64::from(group.slots.count_ones()));
        self.counts.work_groups.sub(now, 1);
        self.counts.work_groups_completed += 1;
        self.completions.push_back(Completion::WorkGroup {
            kernel: group.kernel,
            work_group: group.work_group,
            slot: u16::from(number),
        });
    }

    pub(crate) fn send_completions(&mut self, ctx: &mut Context<'_>) {
        while let Some(&completion) = self.completions.front() {
            if self.dispatch.completion.try_send(ctx, completion).is_err() {
                return;
            }
            self.completions.pop_front();
        }
    }
}
