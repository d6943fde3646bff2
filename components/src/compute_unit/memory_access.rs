//! Accesses to memory: from the instruction to its unit, and from the last response to the
//! registers.

use warpweave_framework::{Context, Cycle};
use warpweave_trace::Space;

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::front::scoreboard::UNKNOWN;
use crate::compute_unit::front::wavefront::touches_memory;
use crate::compute_unit::memory_path::coalescer::{coalesce, coalesce_apart, coalesce_private};
use crate::compute_unit::memory_path::load_store::Access;
use crate::compute_unit::pipes::wheel::Event;
use crate::compute_unit::spec::{AtomicLanes, MemoryPipe};
use crate::memory::{Level, RequestKind, Source};
use crate::reuse_monitor::WorkGroupId;

impl ComputeUnit {
    /// Carries out the memory side of the wavefront's record, whose last operand is read `wait` cycles late.
    #[inline(always)]
    pub(super) fn access(&mut self, slot: usize, kind: RequestKind, wait: u32, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let decoded = &self.decoded.instructions[wavefront.next as usize];
        let operands = wait + self.spec.operand_latency;
        let latency = if self.masks.next_local & bit != 0 {
            self.masks.next_local &= !bit;
            let atomic = kind == RequestKind::Atomic;
            let (mask, bytes) = (wavefront.record.mask, u32::from(decoded.bytes));
            let cycles = self
                .bank_conflicts
                .cycles(&wavefront.lanes, mask, bytes, atomic);
            self.counts.local_accesses += 1;
            self.counts.local_conflict_cycles += u64::from(cycles - 1);
            if self.spec.load_store.pipe == MemoryPipe::InOrder {
                self.queue_local(slot, (kind, cycles), wait, now);
                return;
            }
            self.local_memory_free_at = now + u64::from(wait + cycles);
            self.spec.local_memory.latency + operands + cycles - 1
        } else if self.masks.next_load_store & bit != 0 {
            self.masks.next_load_store &= !bit;
            self.access_memory(slot, kind, wait, now);
            return;
        } else if touches_memory(&wavefront.record, &wavefront.lanes) {
            self.spec.constant_latency + operands
        } else {
            decoded.latency + wait
        };
        if decoded.has_writes {
            wavefront.results_at(now + u64::from(latency), &decoded.writes, &mut self.wheel);
        }
    }

    /// Hands an access to local memory to the load/store unit, which serves it for `cycles`.
    #[inline(never)]
    fn queue_local(
        &mut self,
        slot: usize,
        (kind, cycles): (RequestKind, u32),
        wait: u32,
        now: Cycle,
    ) {
        let source = self.source(slot);
        let index = self.wavefronts[slot].next;
        let decoded = &self.decoded.instructions[index as usize];
        let access = Access::new(source, index, now, kind, 0);
        let ready_at = now + u64::from(decoded.latency + wait);
        self.load_store.enqueue_local(access, ready_at, cycles);
        let wavefront = &mut self.wavefronts[slot];
        wavefront.in_flight += 1;
        if decoded.has_writes {
            wavefront.scoreboard.reserve(&decoded.writes, UNKNOWN);
        }
    }

    /// An access to local memory begins to be served.
    fn serve_local(&mut self, access: &Access, now: Cycle) {
        let slot = usize::from(access.source.wavefront_slot);
        let decoded = &self.decoded.instructions[access.instruction as usize];
        if !decoded.has_writes {
            self.finish_one(slot, now);
            return;
        }
        // Both are counted from issue; the specification has local memory last longer.
        let (local, before) = (self.spec.local_memory.latency, decoded.latency);
        let latency = local + self.spec.operand_latency - before + access.local_cycles - 1;
        let at = now + u64::from(latency);
        self.wavefronts[slot].results_at(at, &decoded.writes, &mut self.wheel);
        self.waits_no_longer_for_memory(slot, now);
        self.finish_one(slot, now);
    }

    /// Whose accesses those of the wavefront's record are.
    pub(super) fn source(&self, slot: usize) -> Source {
        let wavefront = &self.wavefronts[slot];
        Source {
            kernel: wavefront.kernel,
            work_group: self.work_groups[usize::from(wavefront.work_group)].work_group,
            pc: wavefront.record.pc,
            compute_unit: self.spec.index,
            wavefront_slot: slot as u8,
            work_group_slot: wavefront.work_group,
        }
    }

    /// Hands an access to the load/store unit.
    #[inline(never)]
    fn access_memory(&mut self, slot: usize, kind: RequestKind, wait: u32, now: Cycle) {
        let index = self.wavefronts[slot].next;
        if let Some(message) = self.private_violation(slot, index) {
            self.fail(message);
            return;
        }
        let source = self.source(slot);
        let wavefront = &mut self.wavefronts[slot];
        let record = wavefront.record;
        let decoded = &self.decoded.instructions[index as usize];
        let (bytes, line_bytes) = (u32::from(decoded.bytes), self.spec.load_store.line_bytes);
        let private = record.space == Space::Local;
        let access = Access::new(source, index, now, kind, decoded.flags);
        let ready_at = now + u64::from(decoded.latency + wait);
        let apart =
            kind == RequestKind::Atomic && self.spec.load_store.atomics == AtomicLanes::Apart;
        let region = self.spec.private_memory.base + self.spec.private_region(slot as u32);
        self.load_store
            .enqueue(access, ready_at, &wavefront.lanes, |lanes, out| {
                if apart {
                    coalesce_apart(lanes, record.mask, bytes, line_bytes, out);
                } else if private {
                    coalesce_private(lanes, record.mask, bytes, region, line_bytes, out);
                } else {
                    coalesce(lanes, record.mask, bytes, line_bytes, out);
                }
            });
        wavefront.in_flight += 1;
        wavefront.stores += u32::from(kind.carries_data());
        if decoded.has_writes {
            wavefront
                .scoreboard
                .reserve_for_memory(&decoded.writes.registers);
        }
    }

    /// What is wrong with the wavefront's record if it leaves its threads' private memory.
    fn private_violation(&self, slot: usize, index: u32) -> Option<String> {
        let wavefront = &self.wavefronts[slot];
        let record = wavefront.record;
        if record.space != Space::Local {
            return None;
        }
        let bytes = u64::from(self.decoded.instructions[index as usize].bytes);
        let size = u64::from(self.spec.private_memory.bytes_per_thread);
        let (lane, offset) = wavefront
            .lanes
            .iter(record.mask)
            .find(|(_, offset)| offset.checked_add(bytes).is_none_or(|end| end > size))?;
        Some(format!(
            "instruction {} of kernel {} accesses {bytes} bytes at offset {offset:#x} of lane \
             {lane}'s private memory, which has {size} bytes; raise \
             private_memory.bytes_per_thread of the compute unit",
            record.pc, self.program.kernels[wavefront.kernel as usize].code.name
        ))
    }

    /// Takes the oldest response, if there is one.
    pub(super) fn take_response(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        let Some(response) = self.memory.response.pop(ctx) else {
            return;
        };
        match self.load_store.receive(&response) {
            Ok(Some(access)) => self.complete_access(&access, response.level, now),
            Ok(None) => {}
            Err(message) => self.fail(message),
        }
    }

    /// Every response of an access has come, the last from `level`.
    fn complete_access(&mut self, access: &Access, level: Level, now: Cycle) {
        let slot = usize::from(access.source.wavefront_slot);
        if matches!(access.kind, RequestKind::Read | RequestKind::Atomic) {
            let latency = now - access.issued;
            self.counts.load_latency.record(latency);
            self.counts.load_latency_by_level.record(level, latency);
            if self.is_open() {
                self.tell_response(slot, now);
            }
        }
        if access.kind.carries_data() {
            let wavefront = &mut self.wavefronts[slot];
            wavefront.stores -= 1;
            if wavefront.stores == 0 && self.masks.fence >> slot & 1 != 0 {
                self.masks.fence &= !(1 << slot);
                self.accounting
                    .memory_answered(slot % self.issuers.len(), level, now);
            }
        }
        let latency = self.spec.load_store.writeback_latency;
        self.write_back_after(latency, access, level, now);
    }

    /// The last answer to an access has come, from `level`: its result is in the registers `latency` cycles from now.
    #[inline(always)]
    pub(super) fn write_back_after(
        &mut self,
        latency: u32,
        access: &Access,
        level: Level,
        now: Cycle,
    ) {
        let slot = usize::from(access.source.wavefront_slot);
        if !self.decoded.instructions[access.instruction as usize].has_writes {
            self.finish_one(slot, now);
        } else if latency == 0 {
            self.write_back(slot, access.instruction, level, now);
        } else {
            let event = Event::WriteBack {
                slot: slot as u8,
                level,
                instruction: access.instruction,
            };
            self.wheel.push(now, u64::from(latency), event);
        }
    }

    /// Sends requests, and lets the monitor see the reads among them; whether an access to local memory began to be
    /// served.
    pub(super) fn send_requests(&mut self, ctx: &mut Context<'_>, now: Cycle) -> bool {
        let monitor = &mut self.reuse_monitor;
        let served = self.load_store.send(ctx, &mut self.memory, |request| {
            if let Some(monitor) = monitor
                && request.kind == RequestKind::Read
            {
                let Source {
                    kernel, work_group, ..
                } = request.source;
                monitor.on_read_of(WorkGroupId { kernel, work_group }, request.line);
            }
        });
        served
            .map(|access| self.serve_local(&access, now))
            .is_some()
    }
}
