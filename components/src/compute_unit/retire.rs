//! Results, responses and ends of wavefronts, from the datapath to the work-groups.

use warpweave_framework::{Context, Cycle};

use super::ComputeUnit;
use super::issue_variant::Variant;
use super::memory_path::Completed;
use super::memory_path::readonly_ports::CompletedLoad;
use super::pipes::wheel::Event;
use super::work_groups::Released;
use crate::launch::Completion;
use crate::memory::{Level, RequestKind, Source};
use crate::reuse_monitor::WorkGroupId;

impl ComputeUnit {
    /// Carries out the events of this cycle. Returns true if something changed.
    #[inline(always)]
    pub(super) fn take_events<V: Variant>(&mut self, now: Cycle) -> bool {
        if !self.datapath.pipes.wheel.is_due(now) {
            return false;
        }
        let ready = self.datapath.pipes.wheel.take(now);
        self.datapath.wavefronts.operands_came(ready);
        let mut changed = ready != 0;
        while let Some(event) = self.datapath.pipes.wheel.next_event() {
            changed = true;
            match event {
                Event::Resume { slot } => self.resume::<V>(usize::from(slot), now),
                Event::WriteBack {
                    slot,
                    level,
                    instruction,
                } => self.write_back::<V>(usize::from(slot), instruction, level, now),
                Event::Drain { slot } => self.drain(usize::from(slot), now),
            }
        }
        changed
    }

    #[inline(never)]
    fn resume<V: Variant>(&mut self, slot: usize, now: Cycle) {
        self.datapath.wavefronts.resume(slot);
        if V::WATCHED {
            self.datapath.note_earliest(slot, now);
        }
        self.advance::<V>(slot, now);
    }

    /// Takes every response at `memory`. Returns true if there was one.
    #[inline(always)]
    pub(super) fn take_responses<V: Variant>(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let mut came = false;
        while self.datapath.memory.has_response(ctx) {
            came = true;
            self.take_response::<V>(ctx, now);
        }
        came
    }

    /// Takes the oldest response at `memory`.
    // Inlined into the evaluation, it would take registers from evaluations without a response.
    #[inline(never)]
    fn take_response<V: Variant>(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        match self.datapath.memory.receive(ctx) {
            Ok(Some(completed)) => self.complete_access::<V>(&completed, now),
            Ok(None) => {}
            Err(message) => self.datapath.fail(message),
        }
    }

    /// Completes an access at `memory`.
    #[inline]
    fn complete_access<V: Variant>(&mut self, completed: &Completed, now: Cycle) {
        let Completed { access, level } = *completed;
        let slot = usize::from(access.source.wavefront_slot);
        let datapath = &mut self.datapath;
        if matches!(access.kind, RequestKind::Read | RequestKind::Atomic) {
            let latency = now - access.issued;
            datapath.memory.load_latency.record(level, latency);
            self.schedulers.notify_response(slot, datapath, now);
        }
        if access.kind.carries_data() && datapath.wavefronts.answer_store(slot) {
            if V::WATCHED {
                datapath.note_earliest(slot, now);
            }
            let scheduler = self.schedulers.of_slot(slot);
            self.accounting.memory_answered(scheduler, level, now);
        }
        let latency = datapath.config.spec.load_store.writeback_latency;
        self.write_back_after::<V>(latency, completed, now);
    }

    /// Takes every answer at the read-only ports. Returns true if there was one.
    #[inline(always)]
    pub(super) fn take_readonly_responses<V: Variant>(
        &mut self,
        ctx: &mut Context<'_>,
        now: Cycle,
    ) -> bool {
        let mut came = false;
        while self.datapath.memory.readonly.has_answer(ctx) {
            came = true;
            self.take_readonly_response::<V>(ctx, now);
        }
        came
    }

    /// Takes an answer at a read-only port.
    #[inline(never)]
    fn take_readonly_response<V: Variant>(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        match self.datapath.memory.readonly.receive(ctx) {
            Some(Ok(Some(load))) => self.complete_readonly::<V>(&load, now),
            Some(Ok(None)) | None => {}
            Some(Err(message)) => self.datapath.fail(message),
        }
    }

    /// Completes a load at a read-only port.
    fn complete_readonly<V: Variant>(&mut self, load: &CompletedLoad, now: Cycle) {
        let Completed { access, level } = load.completed;
        let datapath = &mut self.datapath;
        if load.is_global {
            let latency = now - access.issued;
            datapath.memory.load_latency.record(level, latency);
        }
        let slot = usize::from(access.source.wavefront_slot);
        self.schedulers.notify_response(slot, datapath, now);
        self.write_back_after::<V>(load.writeback_latency, &load.completed, now);
    }

    /// Writes the result of an access to the registers `latency` cycles from now.
    #[inline(always)]
    fn write_back_after<V: Variant>(&mut self, latency: u32, completed: &Completed, now: Cycle) {
        let Completed { access, level } = completed;
        let slot = access.source.wavefront_slot;
        let instruction = access.instruction;
        let datapath = &mut self.datapath;
        if !datapath.config.decoded.instructions[instruction as usize].has_writes {
            self.end_access(usize::from(slot), now);
        } else if latency == 0 {
            self.write_back::<V>(usize::from(slot), instruction, *level, now);
        } else {
            let event = Event::WriteBack {
                slot,
                level: *level,
                instruction,
            };
            datapath.pipes.wheel.push(now, u64::from(latency), event);
        }
    }

    /// Writes the result of an instruction, the last of it from `level`, to the registers.
    fn write_back<V: Variant>(&mut self, slot: usize, instruction: u32, level: Level, now: Cycle) {
        if self.datapath.write_back::<V>(slot, instruction, now) {
            let scheduler = self.schedulers.of_slot(slot);
            self.accounting.memory_answered(scheduler, level, now);
        }
        self.end_access(slot, now);
    }

    /// Sends requests and passes the reads among them to the reuse monitor. Returns true if a
    /// local-memory access started service.
    pub(super) fn send_requests(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let monitor = &mut self.reuse_monitor;
        let served = self.datapath.memory.send(ctx, |request| {
            if let Some(monitor) = monitor
                && request.kind == RequestKind::Read
            {
                let Source {
                    kernel, work_group, ..
                } = request.source;
                monitor.on_read_of(WorkGroupId { kernel, work_group }, request.line);
            }
        });
        let Some(access) = served else {
            return false;
        };
        self.datapath.serve_local(&access, now);
        self.end_access(usize::from(access.source.wavefront_slot), now);
        true
    }

    /// Ends one access of a wavefront, which may drain with that.
    #[inline]
    fn end_access(&mut self, slot: usize, now: Cycle) {
        if self.datapath.wavefronts.end_access(slot) {
            self.drain_in_time(slot, now);
        }
    }

    /// Lets a wavefront wait at the barrier of its work-group.
    pub(super) fn arrive_at_barrier(&mut self, slot: usize, now: Cycle) {
        let interval = self.datapath.config.spec.barrier_interval;
        let wavefronts = &mut self.datapath.wavefronts;
        wavefronts.wait_at_barrier(slot);
        let group = wavefronts.slot(slot).place.group_slot;
        let released = self.groups.arrive(group, interval, now);
        self.release_barrier(released, now);
    }

    /// Lets the wavefronts of a work-group go on, if it is given.
    fn release_barrier(&mut self, released: Option<Released>, now: Cycle) {
        let Some(Released { wavefronts, after }) = released else {
            return;
        };
        let datapath = &mut self.datapath;
        let latency = datapath.config.spec.classes.barrier.latency + after;
        let wheel = &mut datapath.pipes.wheel;
        datapath
            .wavefronts
            .release_barrier(wavefronts, latency, wheel, now);
    }

    /// Ends a wavefront, which has no record left.
    pub(super) fn end(&mut self, slot: usize, now: Cycle) {
        self.datapath.wavefronts.end(slot);
        self.schedulers.notify_end(slot, &self.datapath, now);
        let wavefront = self.datapath.wavefronts.slot(slot);
        let has_accesses = wavefront.has_accesses();
        let released = self.groups.end(wavefront.place.group_slot, now);
        self.release_barrier(released, now);
        if !has_accesses {
            self.drain_in_time(slot, now);
        }
    }

    /// Drains an ended wavefront without accesses under way, now or with its last result.
    fn drain_in_time(&mut self, slot: usize, now: Cycle) {
        let datapath = &mut self.datapath;
        let (at, stamp) = datapath.wavefronts.slot(slot).last_result();
        let wheel = &mut datapath.pipes.wheel;
        if wheel.is_past(at, stamp, now) {
            self.drain(slot, now);
        } else {
            wheel.push_drain(slot as u8, at, stamp, now);
        }
    }

    /// Drains an ended wavefront; its work-group may complete with that.
    fn drain(&mut self, slot: usize, now: Cycle) {
        let wavefronts = &mut self.datapath.wavefronts;
        let group = wavefronts.slot(slot).place.group_slot;
        let Some(finished) = self.groups.drain(group, now) else {
            return;
        };
        wavefronts.remove(finished.wavefronts);
        self.schedulers.forget(finished.wavefronts);
        self.dispatch.complete(Completion::WorkGroup {
            kernel: finished.kernel,
            work_group: finished.work_group,
            slot: finished.slot,
        });
    }
}
