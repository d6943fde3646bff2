//! Dispatches and commands of the work-group scheduler, and launches from the device.

use warpweave_framework::{Context, Cycle};

use super::ComputeUnit;
use super::front::wavefront::{Placement, Wavefront};
use super::pipes::wheel::Event;
use super::scheduler::Arrival;
use super::work_groups::Start;
use crate::launch::{Completion, Dispatch};

impl ComputeUnit {
    /// Takes the oldest dispatch, if it need not wait for the caches.
    pub(super) fn take_dispatch(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        if self.caches.is_invalidating() {
            return;
        }
        let oldest = self.dispatch.peek(ctx).copied();
        let config = &self.datapath.config;
        if self
            .caches
            .resize_for(oldest.as_ref(), &self.groups, config, ctx)
        {
            return;
        }
        match self.dispatch.pop(ctx) {
            Some(Dispatch::Start {
                kernel,
                work_group,
                slot,
                hint,
            }) => {
                let start = Start {
                    kernel,
                    work_group,
                    slot,
                };
                if let Err(message) = self.start(start, hint, now) {
                    self.datapath.fail(message);
                }
            }
            Some(Dispatch::ParentEnded { .. }) => {
                if let Some(monitor) = &mut self.reuse_monitor {
                    monitor.on_parent_finished();
                }
            }
            Some(Dispatch::WorkGroupFamilyEnded { .. }) => {
                if let Some(monitor) = &mut self.reuse_monitor {
                    monitor.on_work_group_family_finished();
                }
            }
            Some(Dispatch::Invalidate { kernel, ran }) => {
                self.accounting.kernel_ended(u64::from(ran), now);
                self.caches.invalidate(kernel);
                self.carry_out_invalidation(ctx);
            }
            None => {}
        }
    }

    /// Continues the invalidation of the caches, and reports completion once all are done.
    pub(super) fn carry_out_invalidation(&mut self, ctx: &mut Context<'_>) {
        let others = self.datapath.memory.readonly.controls_mut();
        if let Some(kernel) = self.caches.carry_out_invalidation(others, ctx) {
            self.dispatch.complete(Completion::Invalidated { kernel });
        }
    }

    /// Places a work-group and its wavefronts.
    fn start(&mut self, start: Start, hint: u32, now: Cycle) -> Result<(), String> {
        let Start {
            kernel,
            work_group,
            slot,
        } = start;
        let datapath = &mut self.datapath;
        let config = &datapath.config;
        let trace = self.groups.check_start(start, config)?.clone();
        let code = config.decoded.bases[kernel as usize];
        let registers = config.decoded.registers;
        let start_latency = config.spec.start_latency;
        let mut slots = 0;
        for number in 0..trace.wavefronts_per_work_group() {
            let place = Placement {
                kernel,
                work_group,
                group_slot: slot as u8,
                number: number as u8,
            };
            let cursor = trace.cursor(work_group, number);
            let wavefront = Wavefront::new(place, cursor, code, registers);
            let free = datapath.wavefronts.place(wavefront);
            slots |= 1 << free;
            let scheduler = self.schedulers.of_slot(free);
            self.accounting.wavefront_came(scheduler, now);
            datapath.fetch.begin(free, kernel);
            if let Some(spares) = &mut datapath.spares {
                spares.begin(free, &trace);
            }
            let event = Event::Resume { slot: free as u8 };
            datapath
                .pipes
                .wheel
                .push(now, u64::from(start_latency), event);
            let arrival = Arrival {
                slot: free,
                work_group_slot: usize::from(slot),
                kernel,
                hint,
                work_group,
                wavefront: number,
            };
            self.schedulers.notify_arrival(&arrival, datapath, now);
        }
        let spec = &datapath.config.spec;
        self.groups.start(start, slots, &trace, spec, now);
        Ok(())
    }

    /// Sends pending launches; the wavefront of a sent launch resumes after its latency.
    pub(super) fn send_launches(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        while let Some(sent) = self.launches.send(ctx) {
            let event = Event::Resume { slot: sent.slot };
            let wheel = &mut self.datapath.pipes.wheel;
            wheel.push(now, u64::from(sent.latency), event);
        }
    }
}
