//! The datapath: wavefronts, instruction fetch, and the pipes and memories that execute their
//! instructions.

use warpweave_framework::{Context, Cycle, State};
use warpweave_trace::{Class, Space};

use super::accounting::issue_counts::IssueCounts;
use super::config::UnitConfig;
use super::decoded::{Action, Decoded, MemoryAccess, NO_PIPE};
use super::front::fetch::InstructionFetch;
use super::front::source::Origin;
use super::front::wavefront::Wavefront;
use super::front::wavefront_table::WavefrontTable;
use super::issue_variant::Variant;
use super::load_waits::LoadWaits;
use super::memory_path::MemoryPath;
use super::memory_path::coalescer::Coalescing;
use super::memory_path::load_store::Access;
use super::memory_path::readonly_ports::Load;
use super::pipes::Pipes;
use super::pipes::register_file::Operands;
use super::scheduler::{Issue, SchedulerView};
use super::spare_registers::SpareRegisters;
use super::spec::AtomicLanes;
use crate::memory::RequestKind;

/// Wavefronts and everything that executes their instructions.
#[derive(State)]
pub(crate) struct Datapath {
    #[state(skip)]
    pub(crate) config: UnitConfig,
    #[state(part)]
    pub(crate) wavefronts: WavefrontTable,
    #[state(flatten)]
    pub(crate) fetch: InstructionFetch,
    #[state(part)]
    pub(crate) pipes: Pipes,
    #[state(part)]
    pub(crate) memory: MemoryPath,
    pub(crate) counts: IssueCounts,
    /// An error of the trace or of a neighbour, to be reported at the end of the evaluation.
    #[state(skip)]
    failure: Option<String>,
    #[state(part)]
    pub(crate) spares: Option<SpareRegisters>,
    /// Meter of waits for loads; absent if nothing is measured.
    #[state(part)]
    pub(crate) load_waits: Option<LoadWaits>,
}

/// The wavefront after an instruction has issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssueOutcome {
    /// Continues with its next record.
    Continues,
    /// Pauses.
    Pauses,
    /// Waits until its launch has left, and for the latency of the instruction.
    Launches,
    /// Waits for the others of its work-group.
    Waits,
}

impl Datapath {
    pub(crate) fn new(config: UnitConfig) -> Self {
        let UnitConfig {
            spec,
            program,
            decoded,
        } = &config;
        Self {
            wavefronts: WavefrontTable::new(spec.wavefront_slots),
            fetch: InstructionFetch::new(spec.fetch, &decoded.codes(program), spec.wavefront_slots),
            pipes: Pipes::new(spec, decoded),
            memory: MemoryPath::new(spec, program),
            counts: IssueCounts::default(),
            failure: None,
            spares: spec
                .spare_registers
                .map(|spares| SpareRegisters::new(spares, spec)),
            load_waits: spec
                .load_waits
                .then(|| LoadWaits::new(spec, program, decoded)),
            config,
        }
    }

    /// Keeps the first failure of an evaluation.
    pub(crate) fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }

    /// Returns true if an evaluation has found an error that is not reported yet.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Ends the run with the first failure of an evaluation, if there is one.
    #[cold]
    pub(crate) fn report_failure(&mut self, ctx: &mut Context<'_>) {
        if let Some(failure) = self.failure.take() {
            ctx.fail(failure);
        }
    }

    /// The next instruction of a wavefront, which is known.
    #[inline(always)]
    pub(crate) fn next_instruction(&self, slot: usize) -> &Decoded {
        &self.config.decoded.instructions[self.wavefronts.slot(slot).next as usize]
    }

    /// The next instruction of a wavefront as a policy hears of it.
    pub(crate) fn issue_event(&self, slot: usize) -> Issue {
        let record = self.wavefronts.slot(slot).record;
        Issue {
            slot,
            class: Class::ALL[usize::from(self.next_instruction(slot).class)],
            pc: record.pc,
            is_access: self.wavefronts.masks().next_load_store >> slot & 1 != 0,
            continues: record.continues,
        }
    }

    /// Returns the policy's view of the unit for the current or the next cycle.
    pub(crate) fn view(&self, now: Cycle) -> SchedulerView<'_> {
        let instructions = self.counts.wavefront_instructions();
        self.wavefronts
            .view(now, self.memory.is_full(), instructions)
    }

    /// Returns the wavefronts whose next instruction needs the local memory or a load/store queue
    /// entry that is unavailable in cycle `now`.
    #[inline(always)]
    pub(crate) fn blocked_by_memories(&self, now: Cycle) -> u64 {
        let mut behind = 0;
        if self.pipes.local_memory.is_busy(now) {
            behind = self.wavefronts.masks().next_local;
        }
        if self.memory.is_full() {
            behind |= self.next_queues();
        }
        behind
    }

    /// Returns the wavefronts whose next instruction needs a load/store queue entry.
    #[inline]
    pub(crate) fn next_queues(&self) -> u64 {
        let masks = self.wavefronts.masks();
        if self.memory.queues_local() {
            masks.next_load_store | masks.next_local
        } else {
            masks.next_load_store
        }
    }

    /// Wavefronts whose next instruction accesses a memory.
    #[inline]
    pub(crate) fn next_accesses(&self) -> u64 {
        let masks = self.wavefronts.masks();
        masks.next_load_store | masks.next_local | self.memory.readonly.next()
    }

    /// Wavefronts that could issue, or wait for something that does not take long.
    pub(crate) fn short_stalls(&self) -> u64 {
        let masks = self.wavefronts.masks();
        let mut short = masks.open();
        if self.memory.is_full() {
            short &= !self.next_queues();
        }
        short &= !self.memory.readonly.blocked_by_full_queue();
        short | masks.paused | masks.fetched & masks.hazard & !masks.hazard_memory
    }

    /// True if instructions already issued may make the register file block one of these wavefronts
    /// in cycle `now` or later.
    #[inline]
    pub(crate) fn register_file_decides(
        &self,
        scheduler: usize,
        wavefronts: u64,
        now: Cycle,
    ) -> bool {
        let file = self.pipes.register_file.as_ref();
        file.is_some_and(|file| file.may_block(scheduler, now, || self.have_results(wavefronts)))
    }

    /// True if the next instruction of any of these wavefronts, which must be known, has a result.
    pub(crate) fn have_results(&self, wavefronts: u64) -> bool {
        let mut left = wavefronts;
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.next_instruction(slot).has_result {
                return true;
            }
        }
        false
    }

    /// Returns those of a scheduler's `wavefronts` that the register file blocks in cycle `now`.
    /// Their next instructions must be known.
    #[inline(never)]
    pub(crate) fn blocked_by_register_file(
        &self,
        scheduler: usize,
        wavefronts: u64,
        now: Cycle,
    ) -> u64 {
        let Some(file) = &self.pipes.register_file else {
            return 0;
        };
        file.blocked(scheduler, wavefronts, now, |slot| {
            let decoded = self.next_instruction(slot);
            Operands {
                sources: self.config.decoded.sources(decoded),
                result_latency: decoded.has_result.then_some(decoded.latency),
            }
        })
    }

    /// Makes the next record of a wavefront the one to issue; false when there is none.
    #[inline(always)]
    pub(crate) fn advance<V: Variant>(&mut self, slot: usize, now: Cycle) -> bool {
        if V::WATCHED {
            self.after_issue(slot, now);
        }
        let Self {
            config,
            wavefronts,
            fetch,
            pipes,
            memory,
            spares,
            ..
        } = self;
        let readonly = &mut memory.readonly;
        let next = |wavefront: &mut Wavefront| {
            let kernel = wavefront.place.kernel as usize;
            if V::WATCHED
                && let Some(spares) = &mut *spares
            {
                return spares.advance(slot, wavefront, &config.program.kernels[kernel]);
            }
            wavefront.advance(|| &*config.program.kernels[kernel])
        };
        if !wavefronts.advance::<V>(slot, config, readonly, next, &mut pipes.wheel, now) {
            return false;
        }
        if V::WATCHED
            && let Some(spares) = spares
        {
            match spares.origin(slot) {
                Origin::Injected => {
                    // It is in no instruction memory.
                    wavefronts.note_instruction(slot, true);
                    return true;
                }
                Origin::Replaced if wavefronts.masks().hazard_memory >> slot & 1 != 0 => {
                    spares.note_wait();
                }
                _ => {}
            }
        }
        if V::FETCH
            && let Some(is_there) = fetch.advance(slot, wavefronts.slot(slot).record.pc)
        {
            wavefronts.note_instruction(slot, is_there);
        }
        true
    }

    /// Injects what is to follow the record that a wavefront has issued.
    #[inline(never)]
    fn after_issue(&mut self, slot: usize, now: Cycle) {
        let Self {
            config,
            wavefronts,
            spares: Some(spares),
            ..
        } = self
        else {
            return;
        };
        let wavefront = wavefronts.slot_mut(slot);
        if let Err(message) = spares.after_issue(slot, wavefront, config, now) {
            self.fail(message);
        }
    }

    /// Adds instructions to the program that a checkpoint presupposes.
    pub(crate) fn prepare_spares(&mut self) {
        if let Some(spares) = &mut self.spares {
            spares.prepare(&mut self.config);
        }
    }

    /// Tells the meter of waits of a cycle before which the next instruction of a wavefront does
    /// not issue.
    #[inline]
    pub(crate) fn note_earliest(&mut self, slot: usize, at: Cycle) {
        if let Some(waits) = &mut self.load_waits {
            waits.note_earliest(slot, at);
        }
    }

    /// Memory writes the registers of an instruction. Returns true if that ends a wait for memory.
    #[inline(always)]
    pub(crate) fn write_back<V: Variant>(
        &mut self,
        slot: usize,
        instruction: u32,
        now: Cycle,
    ) -> bool {
        if V::WATCHED && self.load_waits.is_some() {
            return self.write_back_measured(slot, instruction, now);
        }
        let (decoded, wheel) = (&self.config.decoded, &mut self.pipes.wheel);
        let wavefronts = &mut self.wavefronts;
        wavefronts.write_back(slot, instruction, decoded, wheel, now)
    }

    /// Like [`write_back`](Self::write_back), with the meter of waits.
    #[inline(never)]
    fn write_back_measured(&mut self, slot: usize, instruction: u32, now: Cycle) -> bool {
        let (decoded, wheel) = (&self.config.decoded, &mut self.pipes.wheel);
        let wavefronts = &mut self.wavefronts;
        let others = wavefronts.others_of_wait(slot, instruction, decoded);
        let has_ended = wavefronts.write_back(slot, instruction, decoded, wheel, now);
        if let Some(others) = others {
            self.note_answer(slot, instruction, others, now);
        }
        has_ended
    }

    /// Tells the meter of waits of a value for which a wavefront has waited. Its operands from
    /// within the unit are there from cycle `others` on.
    fn note_answer(&mut self, slot: usize, instruction: u32, others: Cycle, now: Cycle) {
        let masks = self.wavefronts.masks();
        let Some(waits) = &mut self.load_waits else {
            return;
        };
        if masks.hazard >> slot & 1 != 0 {
            // What comes last has the wait.
            waits.note_earliest(slot, now);
        } else if (masks.fence | masks.starved) >> slot & 1 == 0 {
            let instruction = self.config.decoded.original(instruction);
            let spares = self.spares.as_ref();
            let role = spares.and_then(|spares| spares.role_of(instruction));
            waits.count(slot, instruction, role, others, now);
        }
    }

    /// True if the next instruction of a wavefront is not one of its stream.
    fn is_injected(&self, slot: usize) -> bool {
        let spares = self.spares.as_ref();
        spares.is_some_and(|spares| spares.origin(slot) == Origin::Injected)
    }

    /// Issues the next record of a wavefront through the pipes of a scheduler.
    #[inline(always)]
    pub(crate) fn issue<V: Variant>(
        &mut self,
        slot: usize,
        scheduler: usize,
        now: Cycle,
    ) -> IssueOutcome {
        let is_injected = V::WATCHED && self.is_injected(slot);
        if V::WATCHED {
            self.note_earliest(slot, now + 1);
        }
        let (wavefront, masks) = self.wavefronts.issuing(slot);
        let decoded = &self.config.decoded.instructions[wavefront.next as usize];
        if !is_injected {
            self.counts.threads(wavefront.record.mask);
        }
        if decoded.pipe != NO_PIPE {
            let pipe = usize::from(decoded.pipe);
            let until = now + u64::from(decoded.interval);
            self.pipes.classes[scheduler].occupy(pipe, until);
            masks.enter_pipe(1 << slot, pipe);
        }
        if !V::LIMITED && decoded.computes {
            self.counts.instruction(decoded.class);
            let at = now + u64::from(decoded.latency);
            wavefront.write_at(at, &decoded.writes, &mut self.pipes.wheel);
            return IssueOutcome::Continues;
        }
        self.issue_other::<V>(slot, now)
    }

    /// Issues the next record of a wavefront, which may be of any kind.
    #[inline(never)]
    fn issue_other<V: Variant>(&mut self, slot: usize, now: Cycle) -> IssueOutcome {
        let is_injected = V::WATCHED && self.is_injected(slot);
        let (mut wait, mut is_queued) = (0, false);
        if V::LIMITED {
            wait = self.occupy_register_file(slot, now);
            self.note_access(slot, now);
            is_queued = self.access_readonly(slot, wait, now);
        }
        let (wavefront, masks) = self.wavefronts.issuing(slot);
        let decoded = &self.config.decoded.instructions[wavefront.next as usize];
        if wavefront.record.continues || is_injected {
            self.counts.part(decoded.unit);
        } else {
            self.counts.instruction(decoded.class);
        }
        if V::LIMITED && is_queued {
            return IssueOutcome::Continues;
        }
        let (mut latency, mut writes) = (decoded.latency + wait, decoded.has_result);
        if let Some(access) = decoded.access {
            writes = decoded.has_writes;
            let bit = 1_u64 << slot;
            let spec = &self.config.spec;
            let operands = wait + spec.operand_latency;
            if masks.takes_local_memory(bit) {
                let (mask, bytes) = (wavefront.record.mask, u32::from(access.bytes));
                let memory = &mut self.pipes.local_memory;
                let cycles = memory.conflict_cycles(&wavefront.lanes, mask, bytes, access.kind);
                if self.memory.queues_local() {
                    self.queue_local(slot, access.kind, cycles, wait, now);
                    return IssueOutcome::Continues;
                }
                memory.occupy(now + u64::from(wait + cycles));
                latency = spec.local_memory.latency + operands + spec.local_memory.delay(cycles);
            } else if masks.takes_load_store(bit) {
                self.access_memory(slot, access, wait, now);
                return IssueOutcome::Continues;
            } else if wavefront.touches_memory() {
                latency = spec.constant_latency + operands;
            }
        }
        if writes {
            let at = now + u64::from(latency);
            wavefront.write_at(at, &decoded.writes, &mut self.pipes.wheel);
        }
        match decoded.action {
            Action::Launch => return IssueOutcome::Launches,
            Action::Barrier if wavefront.record.mask != 0 => return IssueOutcome::Waits,
            Action::Branch | Action::Fence if decoded.latency > 1 => {}
            Action::Exit => {}
            _ => return IssueOutcome::Continues,
        }
        self.wavefronts
            .pause(slot, decoded.latency, &mut self.pipes.wheel, now);
        IssueOutcome::Pauses
    }

    /// Reads the operands of the wavefront's record from the register file and reserves the port
    /// for its result. Returns the cycles that the last operand is late.
    fn occupy_register_file(&mut self, slot: usize, now: Cycle) -> u32 {
        let Some(file) = &mut self.pipes.register_file else {
            return 0;
        };
        let decoded = &self.config.decoded;
        let instruction = &decoded.instructions[self.wavefronts.slot(slot).next as usize];
        let wait = file.read(slot, decoded.sources(instruction), now);
        if instruction.has_result {
            file.write(now + u64::from(instruction.latency + wait));
        }
        wait
    }

    /// Counts a memory access at issue against the issue limit, if the wavefront's next record is
    /// limited.
    fn note_access(&mut self, slot: usize, now: Cycle) {
        if self.memory.limits_issue() && self.next_accesses() >> slot & 1 != 0 {
            self.memory.note_issue(now);
        }
    }

    /// Passes a local-memory access to the load/store unit, which serves it for `cycles`.
    #[inline(never)]
    fn queue_local(&mut self, slot: usize, kind: RequestKind, cycles: u32, wait: u32, now: Cycle) {
        let wavefront = self.wavefronts.slot_mut(slot);
        let index = wavefront.next;
        let decoded = &self.config.decoded.instructions[index as usize];
        let source = wavefront.source(self.config.spec.index, slot);
        let access = Access::new(source, index, now, kind, 0);
        let ready_at = now + u64::from(decoded.latency + wait);
        self.memory.enqueue_local(access, ready_at, cycles);
        wavefront.begin_local_access(decoded.has_writes.then_some(&decoded.writes));
    }

    /// Completes a local-memory access whose service starts in this cycle.
    pub(crate) fn serve_local(&mut self, access: &Access, now: Cycle) {
        let decoded = &self.config.decoded;
        let instruction = &decoded.instructions[access.instruction as usize];
        if !instruction.has_writes {
            return;
        }
        // Both are counted from issue; the specification has local memory last longer.
        let spec = &self.config.spec;
        let (local, before) = (spec.local_memory.latency, instruction.latency);
        let late = spec.local_memory.delay(access.local_cycles);
        let latency = local + spec.operand_latency - before + late;
        let slot = usize::from(access.source.wavefront_slot);
        let wheel = &mut self.pipes.wheel;
        let wavefront = self.wavefronts.slot_mut(slot);
        wavefront.write_at(now + u64::from(latency), &instruction.writes, wheel);
        self.wavefronts.look_again(slot, decoded, wheel, now);
    }

    /// Passes an access to the load/store unit.
    #[inline(never)]
    fn access_memory(&mut self, slot: usize, access: MemoryAccess, wait: u32, now: Cycle) {
        let wavefront = self.wavefronts.slot(slot);
        let record = wavefront.record;
        let is_private = record.space == Space::Local;
        if is_private && let Some(message) = self.private_violation(slot, access.bytes) {
            self.fail(message);
            return;
        }
        let MemoryAccess {
            kind, bytes, flags, ..
        } = access;
        let UnitConfig { spec, decoded, .. } = &self.config;
        let wavefront = self.wavefronts.slot_mut(slot);
        let index = wavefront.next;
        let decoded = &decoded.instructions[index as usize];
        let coalescing =
            if kind == RequestKind::Atomic && spec.load_store.atomics == AtomicLanes::Apart {
                Coalescing::PerUpdate
            } else if is_private {
                let region = spec.private_memory.base + spec.private_region(slot as u32);
                Coalescing::Private { region }
            } else {
                Coalescing::Lines
            };
        let source = wavefront.source(spec.index, slot);
        let queued = Access::new(source, index, now, kind, flags);
        let ready_at = now + u64::from(decoded.latency + wait);
        let (lanes, bytes) = (&wavefront.lanes, u32::from(bytes));
        self.memory
            .enqueue(queued, ready_at, &record, lanes, bytes, coalescing);
        let writes = decoded.has_writes.then_some(&decoded.writes);
        wavefront.begin_access(kind.carries_data(), writes);
    }

    /// Passes the access of the wavefront's record to its read-only port. Returns true if it has
    /// one.
    fn access_readonly(&mut self, slot: usize, wait: u32, now: Cycle) -> bool {
        let bit = 1_u64 << slot;
        let readonly = &mut self.memory.readonly;
        if readonly.next() & bit == 0 {
            return false;
        }
        let wavefront = self.wavefronts.slot_mut(slot);
        let index = wavefront.next;
        let decoded = &self.config.decoded.instructions[index as usize];
        let Some(access) = decoded.access else {
            return false;
        };
        let source = wavefront.source(self.config.spec.index, slot);
        let queued = Access::new(source, index, now, RequestKind::Read, access.flags);
        let ready_at = now + u64::from(decoded.latency + wait);
        let load = Load {
            kernel: wavefront.place.kernel,
            record: &wavefront.record,
            lanes: &wavefront.lanes,
            bytes: u32::from(access.bytes),
        };
        readonly.enqueue(bit, queued, ready_at, load);
        wavefront.begin_access(false, decoded.has_writes.then_some(&decoded.writes));
        true
    }

    /// Tells of a record that leaves its threads' private memory.
    fn private_violation(&self, slot: usize, bytes: u8) -> Option<String> {
        let wavefront = self.wavefronts.slot(slot);
        let record = wavefront.record;
        let bytes = u64::from(bytes);
        let size = u64::from(self.config.spec.private_memory.bytes_per_thread);
        let (lane, offset) = wavefront
            .lanes
            .iter(record.mask)
            .find(|(_, offset)| offset.checked_add(bytes).is_none_or(|end| end > size))?;
        let kernel = &self.config.program.kernels[wavefront.place.kernel as usize];
        Some(format!(
            "instruction {} of kernel {} accesses {bytes} bytes at offset {offset:#x} of lane \
             {lane}'s private memory, which has {size} bytes; raise \
             private_memory.bytes_per_thread of the compute unit",
            record.pc, kernel.code.name
        ))
    }
}
