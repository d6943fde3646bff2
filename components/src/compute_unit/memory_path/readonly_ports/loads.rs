//! Loads that take one of the paths: from issue to the queue, and from answers to the registers.

use warpweave_framework::{Context, Cycle};

use super::queue::ReadQueue;
use crate::compute_unit::ComputeUnit;
use crate::compute_unit::memory_path::load_store::Access;
use crate::memory::{Level, MemResponse, RequestKind};

impl ComputeUnit {
    /// Hands the wavefront's record, whose last operand is read `wait` cycles late, to the path that it takes; whether
    /// it takes one.
    pub(crate) fn read_aside(&mut self, slot: usize, wait: u32, now: Cycle) -> bool {
        let bit = 1_u64 << slot;
        if self.read_paths.next() & bit == 0 {
            return false;
        }
        let source = self.source(slot);
        let wavefront = &mut self.wavefronts[slot];
        let index = wavefront.next;
        let decoded = &self.decoded.instructions[index as usize];
        let access = Access::new(source, index, now, RequestKind::Read, decoded.flags);
        let ready_at = now + u64::from(decoded.latency + wait);
        let of = (wavefront.kernel, &wavefront.record, &wavefront.lanes);
        for queue in self.read_paths.queues_mut() {
            if queue.next & bit != 0 {
                queue.next &= !bit;
                queue.enqueue(access, ready_at, of, u32::from(decoded.bytes));
            }
        }
        wavefront.in_flight += 1;
        if decoded.has_writes {
            wavefront
                .scoreboard
                .reserve_for_memory(&decoded.writes.registers);
        }
        true
    }

    /// Takes the answers that have come by the paths; whether there were any.
    pub(crate) fn take_read_answers(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let mut came = false;
        for path in 0..self.read_paths.0.len() {
            let Some(mut queue) = self.read_paths.0[path].queue.take() else {
                continue;
            };
            while let Some(response) = self.read_paths.0[path].port.response.pop(ctx) {
                came = true;
                if let Err(message) = self.take_read_answer(&mut queue, response, now) {
                    let name = self.read_paths.0[path].names.path;
                    self.fail(format!("at `{name}`: {message}"));
                }
            }
            self.read_paths.0[path].queue = Some(queue);
        }
        came
    }

    fn take_read_answer(
        &mut self,
        queue: &mut ReadQueue,
        response: MemResponse,
        now: Cycle,
    ) -> Result<(), String> {
        let mut next = queue.arrived(response)?;
        while let Some(response) = next {
            if let Some(access) = queue.unit.receive(&response)? {
                self.complete_read(queue, &access, response.level, now);
            }
            next = queue.follows();
        }
        Ok(())
    }

    /// Every answer to a load has gone on to the registers, the last from `level`.
    fn complete_read(&mut self, queue: &mut ReadQueue, access: &Access, level: Level, now: Cycle) {
        let slot = usize::from(access.source.wavefront_slot);
        let latency = now - access.issued;
        queue.latency.record(latency);
        if queue.reads_global_memory() {
            self.counts.load_latency.record(latency);
            self.counts.load_latency_by_level.record(level, latency);
        }
        if self.is_open() {
            self.tell_response(slot, now);
        }
        self.write_back_after(queue.spec.writeback_latency, access, level, now);
    }
}
