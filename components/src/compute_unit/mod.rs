//! The compute unit: runs the wavefronts of resident work-groups from a program trace.
//!
//! ```text
//!  dispatch ──► work-group slots ──► wavefronts (next record of each, scoreboard)
//!                                        │ bit masks: open, waiting, at a barrier, ended
//!                        ┌───────────────┼───────────────┐
//!                   scheduler 0     scheduler 1    ... (GTO or LRR, one issue per cycle each)
//!                        └───────┬───────┴───────┬───────┘
//!            execution latencies │ local memory  │ coalescer ──► load/store queue ──► memory
//!                  (event wheel) │ (banks)       │                    responses ◄────┘
//!  completion ◄── work-group ended, loads and stores answered
//! ```
//!
//! What the wavefronts execute is fixed by the trace (`warpweave_trace::Program`, a resource of
//! the environment); this block decides when.
//!
//! # Ports
//!
//! | Name | Direction | Message | Back-pressure |
//! |---|---|---|---|
//! | `dispatch.dispatch` | in | [`Dispatch`] | one per cycle is taken; none while an invalidation is carried out |
//! | `dispatch.completion` | out | [`Completion`] | completions wait inside, at most one per work-group slot |
//! | `memory.request` | out | [`MemRequest`](crate::memory::MemRequest) | requests wait in the load/store queue; when that is full memory instructions do not issue |
//! | `memory.response` | in | [`MemResponse`](crate::memory::MemResponse) | always taken |
//! | `cache_control.command` | out, optional | [`CacheCommand`] | the command waits |
//! | `cache_control.done` | in, optional | [`CacheCommandDone`] | always taken |
//!
//! # Timing
//!
//! Within a cycle: results and responses arrive, a dispatch is taken, requests leave, then each
//! scheduler issues at most one instruction, then completions leave. Which scheduler is first in a
//! cycle rotates. `T` stands for the entry of [`ClassTimings`] of the instruction.
//!
//! - A dispatch readable in cycle `c` lets its wavefronts issue from `c + start_latency` on.
//! - Dependent instructions (read after write, write after write) issue `T.latency` after each
//!   other; independent ones of a wavefront in consecutive cycles. Instructions of one class issue
//!   `T.interval` apart on one scheduler.
//! - After a branch or fence issued in `c` its wavefront goes on in `c + T.latency`. A fence issues
//!   when all stores and atomics of its wavefront are answered.
//! - When the last wavefront of a work-group arrives at a barrier in `c` (or the last one missing
//!   ends), all go on in `c + T.latency`.
//! - Local memory: an access issued in `c` with `n` conflict cycles (see
//!   [`LocalMemorySpec`]) occupies the memory for cycles `c .. c + n`; a dependent instruction
//!   issues in `c + latency + n - 1`. Constant and argument memory: `c + constant_latency`.
//! - Global and private memory: an access issued in `c` sends its first request in
//!   `c + T.latency` if the queue before it is empty, then `requests_per_cycle` per cycle. When
//!   the last response of a load is readable in cycle `r`, a dependent instruction issues in
//!   `r + writeback_latency`.
//! - An exit issued in `c` ends its wavefront in `c + T.latency`; the completion of a work-group
//!   leaves in the cycle in which its last wavefront ended or its last result or response came.
//! - An invalidation readable in `c` sends its command in `c`; its answer leaves in the cycle in
//!   which the cache's is readable, or in `c` when `cache_control` is not connected.
//! - A memory instruction without active lanes behaves as a computation of `T.latency`.
//!
//! One request is sent per distinct line and access, loads, stores and atomics alike: lanes that
//! update the same word are told apart where atomics are carried out.
//!
//! # Not modelled
//!
//! Instruction fetch and its cache (records are there when needed), operand collectors and register
//! banks, misses of the constant cache, named barriers (all are barrier 0), and values. The parts
//! of a generic access whose lanes fall in several spaces issue one after the other, each in a slot
//! of its own.

mod accounting;
mod coalescer;
mod instruction;
mod load_store;
mod local_memory;
mod scheduler;
mod scoreboard;
mod snapshot;
mod spec;
mod view;
mod wheel;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Component, Context, Cycle, Environment, Histogram, Kind, Level, Next, Ports, SpecError, State,
    Statistics, View, Waits,
};
use warpweave_trace::{Class, Cursor, KernelTrace, Lanes, Program, Record, Shape, Space};

use self::accounting::{Accounting, Slot};
use self::coalescer::{coalesce, coalesce_private};
use self::instruction::{Action, DecodedProgram, NO_PIPE};
use self::load_store::{Access, LoadStoreUnit};
use self::local_memory::BankConflicts;
pub use self::scheduler::WavefrontPolicy;
use self::scheduler::{Ages, WavefrontScheduler};
use self::scoreboard::{Hazard, Scoreboard};
pub use self::spec::{
    ClassTiming, ClassTimings, ComputeUnitSpec, LoadStoreSpec, LocalMemorySpec, PrivateMemorySpec,
};
use self::wheel::{Event, Wheel};
use crate::launch::{
    CacheCommand, CacheCommandDone, CacheControlMaster, Completion, Dispatch, DispatchSlave,
};
use crate::memory::{MemMaster, RequestKind, Source};
use crate::reuse_monitor::{Reader, ReuseMonitor};

/// A compute unit.
pub struct ComputeUnit {
    dispatch: DispatchSlave,
    memory: MemMaster,
    cache_control: CacheControlMaster,
    spec: ComputeUnitSpec,
    program: Arc<Program>,
    decoded: DecodedProgram,

    /// Grows to the slots that were ever taken.
    wavefronts: Vec<Wavefront>,
    work_groups: Box<[WorkGroup]>,
    masks: Masks,
    ages: Ages,
    issuers: Box<[Issuer]>,
    /// Per class with an interval above 1: wavefronts whose next instruction is of it.
    next_of_pipe: [u64; Class::COUNT],
    wheel: Wheel,
    load_store: LoadStoreUnit,
    bank_conflicts: BankConflicts,
    /// The local memory takes the next access in this cycle.
    local_memory_free_at: Cycle,
    registers_used: u32,
    local_bytes_used: u64,

    completions: VecDeque<Completion>,
    invalidation: Option<Invalidation>,
    reuse_monitor: Option<ReuseMonitor>,
    /// What the trace or a neighbour did wrong, to be reported at the end of the evaluation.
    failure: Option<String>,

    accounting: Accounting,
    counts: Counts,
}

/// One bit per wavefront slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Masks {
    /// Taken by a resident work-group.
    present: u64,
    /// The next record is known and only registers, stores or units can hold it back.
    fetched: u64,
    /// Held back by the scoreboard; and those of them that wait for memory.
    hazard: u64,
    hazard_memory: u64,
    /// At a fence, waiting for stores.
    fence: u64,
    /// At a barrier.
    barrier: u64,
    /// Waiting for a time: start, branch, barrier release, exit.
    paused: u64,
    /// No record left.
    ended: u64,
    /// The next record needs the load/store queue, or the local memory.
    next_load_store: u64,
    next_local: u64,
}

impl Masks {
    /// Wavefronts that can issue as far as they are concerned.
    #[inline]
    fn open(&self) -> u64 {
        self.fetched & !(self.hazard | self.fence)
    }
}

/// One wavefront slot.
struct Wavefront {
    cursor: Cursor,
    /// The record to be issued next.
    record: Record,
    /// Index of the kernel's first decoded instruction.
    code: u32,
    kernel: u32,
    /// Work-group slot.
    work_group: u8,
    /// Pipe of the next instruction.
    pipe: u8,
    /// Results and accesses under way.
    in_flight: u32,
    /// Of these, stores and atomics not answered yet.
    stores: u32,
    scoreboard: Scoreboard,
    lanes: Lanes,
}

impl Wavefront {
    fn new(cursor: Cursor, kernel: u32, code: u32, work_group: u8) -> Self {
        Self {
            cursor,
            record: Record {
                pc: 0,
                mask: 0,
                space: Space::None,
                continues: false,
            },
            code,
            kernel,
            work_group,
            pipe: NO_PIPE,
            in_flight: 0,
            stores: 0,
            scoreboard: Scoreboard::default(),
            lanes: Lanes::default(),
        }
    }
}

/// One work-group slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct WorkGroup {
    is_resident: bool,
    kernel: u32,
    work_group: u32,
    /// Wavefront slots taken.
    slots: u64,
    /// Wavefronts that have not ended; and those that still have something under way.
    alive: u32,
    undrained: u32,
    /// Wavefronts at the barrier.
    arrived: u32,
    registers: u32,
    local_bytes: u64,
}

/// A scheduler and the pipes behind it.
struct Issuer {
    scheduler: WavefrontScheduler,
    /// Pipes that may be busy, and the first cycle in which each takes an instruction again.
    busy: u32,
    free_at: [Cycle; Class::COUNT],
}

impl Issuer {
    fn state(&mut self, state: &mut State<'_>) {
        state.field("last", self.scheduler.last_mut());
        state.array("free_at", &mut self.free_at);
        // Which pipes may be busy is brought up to date by evaluations: the superset of those
        // ever used serves as well.
        let used = self.free_at.iter().enumerate().filter(|(_, at)| **at > 0);
        self.busy |= used.fold(0, |busy, (pipe, _)| busy | 1 << pipe);
    }

    /// Forgets pipes that take an instruction again in cycle `now`.
    fn free_pipes(&mut self, now: Cycle) {
        let mut busy = self.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if self.free_at[pipe] <= now {
                self.busy &= !(1 << pipe);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Invalidation {
    kernel: u32,
    is_commanded: bool,
}

#[derive(Default, Serialize, Deserialize)]
struct Counts {
    wavefront_instructions: u64,
    thread_instructions: u64,
    per_class: [u64; Class::COUNT],
    wavefronts: Level,
    work_groups: Level,
    work_groups_completed: u64,
    local_accesses: u64,
    local_conflict_cycles: u64,
    barriers: u64,
    load_latency: Histogram,
}

impl Kind for ComputeUnit {
    const NAME: &'static str = "ComputeUnit";
    const SUMMARY: &'static str =
        "Runs the wavefronts of resident work-groups from the program trace.";
    type Spec = ComputeUnitSpec;

    fn build(spec: Self::Spec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let program = environment.resource::<Program>().ok_or_else(|| {
            SpecError::at(
                "",
                "a compute unit runs a program trace, but none was provided; name a workload",
            )
        })?;
        let reuse_monitor = spec
            .reuse_monitor
            .map(|monitor| {
                ReuseMonitor::new(monitor).map_err(|error| {
                    SpecError::at(format!("reuse_monitor.{}", error.field), error.message)
                })
            })
            .transpose()?;
        Ok(Self::new(spec, program, reuse_monitor))
    }
}

impl ComputeUnit {
    fn new(
        spec: ComputeUnitSpec,
        program: Arc<Program>,
        reuse_monitor: Option<ReuseMonitor>,
    ) -> Self {
        let decoded = DecodedProgram::new(&program, &spec.classes);
        let latencies = Class::ALL.iter().map(|&c| spec.classes.of(c).latency);
        let conflicts_max = 32 * (decoded.bytes_max() / 4 + 2);
        let horizon = latencies
            .chain([
                spec.start_latency,
                spec.constant_latency,
                spec.load_store.writeback_latency,
                spec.local_memory.latency + conflicts_max,
            ])
            .max();
        let slots_of = |scheduler: u32| {
            let slots = (scheduler..spec.wavefront_slots).step_by(spec.schedulers as usize);
            slots.fold(0, |mask, slot| mask | 1_u64 << slot)
        };
        let issuer = |scheduler| Issuer {
            scheduler: WavefrontScheduler::new(spec.scheduler, slots_of(scheduler)),
            busy: 0,
            free_at: [0; Class::COUNT],
        };
        Self {
            dispatch: DispatchSlave::default(),
            memory: MemMaster::default(),
            cache_control: CacheControlMaster::default(),
            decoded,
            wavefronts: Vec::with_capacity(spec.wavefront_slots as usize),
            work_groups: vec![WorkGroup::default(); spec.work_group_slots as usize].into(),
            masks: Masks::default(),
            ages: Ages::new(),
            issuers: (0..spec.schedulers).map(issuer).collect(),
            next_of_pipe: [0; Class::COUNT],
            wheel: Wheel::new(u64::from(horizon.unwrap_or(1))),
            load_store: LoadStoreUnit::new(&spec.load_store),
            bank_conflicts: BankConflicts::new(spec.local_memory.banks),
            local_memory_free_at: 0,
            registers_used: 0,
            local_bytes_used: 0,
            completions: VecDeque::with_capacity(spec.work_group_slots as usize + 1),
            invalidation: None,
            reuse_monitor,
            failure: None,
            accounting: Accounting::new(spec.schedulers as usize),
            counts: Counts::default(),
            spec,
            program,
        }
    }
}

impl Component for ComputeUnit {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("dispatch", &mut self.dispatch);
        ports.bundle("memory", &mut self.memory);
        ports.optional(|ports| ports.bundle("cache_control", &mut self.cache_control));
    }

    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        self.accounting.catch_up(now);
        self.take_events(now);
        self.take_responses(ctx, now);
        if self.invalidation.is_some() {
            self.carry_out_invalidation(ctx);
        }
        self.take_dispatch(ctx, now);
        let monitor = &mut self.reuse_monitor;
        self.load_store.send(ctx, &mut self.memory, |request| {
            if let Some(monitor) = monitor
                && request.kind == RequestKind::Read
            {
                let Source {
                    kernel, work_group, ..
                } = request.source;
                monitor.on_read(&Reader::from_host(kernel, work_group), request.line);
            }
        });
        self.issue(now);
        self.send_completions(ctx);
        if let Some(failure) = self.failure.take() {
            ctx.fail(failure);
        }
        self.next(ctx, now)
    }

    fn state(&mut self, state: &mut State<'_>) {
        self.name_state(state);
    }

    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.report(statistics);
    }

    fn view(&self, view: &mut View<'_>) {
        self.show(view);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let outstanding = self.load_store.outstanding();
        if outstanding > 0 {
            let what = format!("{outstanding} requests wait for responses");
            waits.on_port("memory.response", what);
        }
        if self.load_store.queued() > 0 {
            let what = format!("{} accesses wait to be sent", self.load_store.queued());
            waits.inside(what);
        }
        for (slot, group) in self.work_groups.iter().enumerate() {
            if group.arrived > 0 {
                waits.inside(format!(
                    "{} of {} wavefronts of work-group {} of kernel {} (slot {slot}) wait at a \
                     barrier",
                    group.arrived, group.alive, group.work_group, group.kernel
                ));
            }
        }
        if self.invalidation.is_some_and(|i| i.is_commanded) {
            waits.on_port(
                "cache_control.done",
                "the first-level cache is to drop its lines",
            );
        }
        if !self.completions.is_empty() {
            waits.inside(format!(
                "{} completions wait to be sent",
                self.completions.len()
            ));
        }
    }
}

/// The pipeline, in the order of a cycle.
impl ComputeUnit {
    #[inline]
    fn take_events(&mut self, now: Cycle) {
        while let Some(event) = self.wheel.pop(now) {
            match event {
                Event::Resume { slot } => {
                    self.masks.paused &= !(1 << slot);
                    self.fetch(slot as usize, now);
                }
                Event::WriteBack { slot, instruction } => {
                    self.write_back(slot as usize, instruction, now);
                }
            }
        }
    }

    #[inline]
    fn take_responses(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        while let Some(response) = self.memory.response.pop(ctx) {
            match self.load_store.receive(&response) {
                Ok(Some(access)) => self.complete_access(&access, now),
                Ok(None) => {}
                Err(message) => self.fail(message),
            }
        }
    }

    /// Every response of an access has come.
    fn complete_access(&mut self, access: &Access, now: Cycle) {
        let slot = usize::from(access.source.wavefront_slot);
        if access.kind != RequestKind::Write {
            self.counts.load_latency.record(now - access.issued);
        }
        if access.kind != RequestKind::Read {
            let wavefront = &mut self.wavefronts[slot];
            wavefront.stores -= 1;
            if wavefront.stores == 0 {
                self.masks.fence &= !(1 << slot);
            }
        }
        if !self.decoded.instructions[access.instruction as usize].has_writes {
            self.finish_one(slot, now);
        } else if self.spec.load_store.writeback_latency == 0 {
            self.write_back(slot, access.instruction, now);
        } else {
            let event = Event::WriteBack {
                slot: slot as u8,
                instruction: access.instruction,
            };
            let latency = self.spec.load_store.writeback_latency;
            self.wheel.push(now, u64::from(latency), event);
        }
    }

    /// Results are in the registers: whoever waits for them may go on.
    #[inline]
    fn write_back(&mut self, slot: usize, instruction: u32, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        let writes = &self.decoded.instructions[instruction as usize].writes;
        wavefront.scoreboard.release(writes);
        if self.masks.hazard >> slot & 1 != 0 {
            self.look_up_hazard(slot);
        }
        self.finish_one(slot, now);
    }

    /// One thing less is under way for a wavefront.
    #[inline]
    fn finish_one(&mut self, slot: usize, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        wavefront.in_flight -= 1;
        if wavefront.in_flight == 0 && self.masks.ended >> slot & 1 != 0 {
            self.drain(slot, now);
        }
    }

    fn carry_out_invalidation(&mut self, ctx: &mut Context<'_>) {
        let Some(invalidation) = self.invalidation else {
            return;
        };
        if !self.cache_control.command.is_connected() {
            self.answer_invalidation(invalidation.kernel);
        } else if !invalidation.is_commanded {
            let sent = self
                .cache_control
                .command
                .try_send(ctx, CacheCommand::Invalidate);
            self.invalidation = Some(Invalidation {
                is_commanded: sent.is_ok(),
                ..invalidation
            });
        } else if let Some(CacheCommandDone) = self.cache_control.done.pop(ctx) {
            self.answer_invalidation(invalidation.kernel);
        }
    }

    fn answer_invalidation(&mut self, kernel: u32) {
        self.invalidation = None;
        self.completions
            .push_back(Completion::Invalidated { kernel });
    }

    fn take_dispatch(&mut self, ctx: &mut Context<'_>, now: Cycle) {
        if self.invalidation.is_some() {
            return;
        }
        match self.dispatch.dispatch.pop(ctx) {
            Some(Dispatch::Start {
                kernel,
                work_group,
                slot,
            }) => {
                if let Err(message) = self.start(kernel, work_group, slot, now) {
                    self.fail(message);
                }
            }
            Some(Dispatch::Invalidate { kernel }) => {
                self.invalidation = Some(Invalidation {
                    kernel,
                    is_commanded: false,
                });
                self.carry_out_invalidation(ctx);
            }
            None => {}
        }
    }

    /// Places a work-group, checking what the scheduler believes to be free.
    fn start(&mut self, kernel: u32, work_group: u32, slot: u16, now: Cycle) -> Result<(), String> {
        let trace = self.check_start(kernel, work_group, slot)?;
        let wavefronts = trace.wavefronts_per_work_group();
        let registers = registers_of(&trace);
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
            group.slots |= 1 << free;
            let cursor = trace.cursor(work_group, number);
            let code = self.decoded.bases[kernel as usize];
            let wavefront = Wavefront::new(cursor, kernel, code, slot as u8);
            // The lowest free slot is either used again or the first one never used.
            if free < self.wavefronts.len() {
                self.wavefronts[free] = wavefront;
            } else {
                self.wavefronts.push(wavefront);
            }
            let event = Event::Resume { slot: free as u8 };
            self.wheel
                .push(now, u64::from(self.spec.start_latency), event);
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
        let registers = registers_of(trace);
        let free = self.spec.registers - self.registers_used;
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

    #[inline]
    fn issue(&mut self, now: Cycle) {
        let schedulers = self.issuers.len();
        // A rotating first place shares the local memory and the load/store queue fairly.
        let mut scheduler = match schedulers {
            1 => 0,
            2 => now as usize & 1,
            _ => (now % schedulers as u64) as usize,
        };
        for _ in 0..schedulers {
            let issuer = &mut self.issuers[scheduler];
            if issuer.busy != 0 {
                issuer.free_pipes(now);
            }
            let candidates = self.masks.open() & self.eligible(scheduler);
            let ready = if candidates == 0 {
                0
            } else {
                candidates & !self.occupied_units(scheduler, now).all()
            };
            let slot = if ready == 0 {
                self.lost_slot(scheduler, now)
            } else {
                let wavefront = self.issuers[scheduler].scheduler.pick(ready, &self.ages);
                self.issue_from(wavefront, scheduler, now);
                Slot::Issued
            };
            self.accounting.charge(slot);
            scheduler += 1;
            if scheduler == schedulers {
                scheduler = 0;
            }
        }
    }

    /// The slots among which a scheduler may choose: its own, or the last one alone while a policy
    /// that waits out short stalls holds on to it.
    #[inline]
    fn eligible(&self, scheduler: usize) -> u64 {
        let scheduler = &self.issuers[scheduler].scheduler;
        let Some(last) = scheduler.held() else {
            return scheduler.slots;
        };
        let masks = &self.masks;
        let mut short = masks.open();
        if self.load_store.is_full() {
            short &= !masks.next_load_store;
        }
        short |= masks.paused | masks.fetched & masks.hazard & !masks.hazard_memory;
        if last & short == 0 {
            scheduler.slots
        } else {
            last
        }
    }

    /// Wavefronts whose next instruction needs a unit that takes nothing in cycle `now`.
    #[inline]
    fn occupied_units(&self, scheduler: usize, now: Cycle) -> Occupied {
        let issuer = &self.issuers[scheduler];
        let mut occupied = Occupied::default();
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            if issuer.free_at[pipe] > now {
                occupied.pipe |= self.next_of_pipe[pipe];
            }
        }
        if self.local_memory_free_at > now {
            occupied.local_memory = self.masks.next_local;
        }
        if self.load_store.is_full() {
            occupied.load_store = self.masks.next_load_store;
        }
        occupied
    }

    /// Why a scheduler without a ready wavefront issues nothing in cycle `now`; see [`Slot`].
    #[inline]
    fn lost_slot(&self, scheduler: usize, now: Cycle) -> Slot {
        let masks = &self.masks;
        let mine = masks.present & self.eligible(scheduler);
        if mine == 0 {
            return Slot::NoWavefront;
        }
        let open = mine & masks.open();
        if open != 0 {
            let occupied = self.occupied_units(scheduler, now);
            return if open & occupied.pipe != 0 {
                Slot::PipeBusy
            } else if open & occupied.local_memory != 0 {
                Slot::LocalMemoryBusy
            } else {
                Slot::LoadStoreFull
            };
        }
        if mine & masks.hazard & !masks.hazard_memory != 0 {
            Slot::Scoreboard
        } else if mine & (masks.hazard | masks.fence) != 0 {
            Slot::Memory
        } else if mine & masks.paused != 0 {
            Slot::Control
        } else if mine & masks.barrier != 0 {
            Slot::Barrier
        } else {
            Slot::Ended
        }
    }

    /// Issues the next record of a wavefront and fetches the one after.
    #[inline]
    fn issue_from(&mut self, slot: usize, scheduler: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let record = wavefront.record;
        let index = wavefront.code + record.pc;
        let decoded = &self.decoded.instructions[index as usize];

        self.counts.wavefront_instructions += u64::from(!record.continues);
        self.counts.thread_instructions += u64::from(record.mask.count_ones());
        self.counts.per_class[usize::from(decoded.class)] += u64::from(!record.continues);
        if wavefront.pipe != NO_PIPE {
            let pipe = usize::from(wavefront.pipe);
            self.next_of_pipe[pipe] &= !bit;
            let issuer = &mut self.issuers[scheduler];
            issuer.busy |= 1 << pipe;
            issuer.free_at[pipe] = now + u64::from(decoded.interval);
        }

        let latency = decoded.latency;
        match decoded.action {
            Action::Compute => {
                if decoded.has_writes {
                    self.results_after(slot, index, latency, now);
                }
                self.fetch(slot, now);
            }
            Action::Control => {
                let ends = decoded.ends;
                if decoded.has_writes {
                    self.results_after(slot, index, latency, now);
                }
                if latency > 1 || ends {
                    self.pause(slot, latency, now);
                } else {
                    self.fetch(slot, now);
                }
            }
            Action::Fence if latency > 1 => self.pause(slot, latency, now),
            Action::Barrier if record.mask != 0 => self.arrive(slot, now),
            Action::Fence | Action::Barrier => self.fetch(slot, now),
            Action::Memory(kind) => {
                self.masks.next_load_store &= !bit;
                self.masks.next_local &= !bit;
                self.access(slot, index, kind, now);
                self.fetch(slot, now);
            }
        }
    }

    /// Reserves the destination registers of an instruction until `latency` cycles from now.
    #[inline]
    fn results_after(&mut self, slot: usize, index: u32, latency: u32, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        let writes = &self.decoded.instructions[index as usize].writes;
        wavefront.scoreboard.reserve(writes);
        wavefront.in_flight += 1;
        let event = Event::WriteBack {
            slot: slot as u8,
            instruction: index,
        };
        self.wheel.push(now, u64::from(latency), event);
    }

    fn pause(&mut self, slot: usize, cycles: u32, now: Cycle) {
        self.masks.fetched &= !(1 << slot);
        self.masks.paused |= 1 << slot;
        let event = Event::Resume { slot: slot as u8 };
        self.wheel.push(now, u64::from(cycles), event);
    }

    /// Carries out the memory side of the wavefront's record.
    fn access(&mut self, slot: usize, index: u32, kind: RequestKind, now: Cycle) {
        let wavefront = &mut self.wavefronts[slot];
        let record = wavefront.record;
        let decoded = &self.decoded.instructions[index as usize];
        let bytes = u32::from(decoded.bytes);
        let latency = match record.space {
            _ if !touches_memory(&record, &wavefront.lanes) => decoded.latency,
            Space::Global | Space::Local => {
                self.access_memory(slot, index, kind, now);
                return;
            }
            Space::Shared => {
                let atomic = kind == RequestKind::Atomic;
                let cycles =
                    self.bank_conflicts
                        .cycles(&wavefront.lanes, record.mask, bytes, atomic);
                self.local_memory_free_at = now + u64::from(cycles);
                self.counts.local_accesses += 1;
                self.counts.local_conflict_cycles += u64::from(cycles - 1);
                self.spec.local_memory.latency + cycles - 1
            }
            Space::Const | Space::Param | Space::None => self.spec.constant_latency,
        };
        if self.decoded.instructions[index as usize].has_writes {
            self.results_after(slot, index, latency, now);
        }
    }

    /// Hands an access to the load/store unit.
    fn access_memory(&mut self, slot: usize, index: u32, kind: RequestKind, now: Cycle) {
        if let Some(message) = self.private_violation(slot, index) {
            self.fail(message);
            return;
        }
        let wavefront = &mut self.wavefronts[slot];
        let record = wavefront.record;
        let decoded = &self.decoded.instructions[index as usize];
        let (bytes, line_bytes) = (u32::from(decoded.bytes), self.spec.load_store.line_bytes);
        let private = record.space == Space::Local;
        let source = Source {
            kernel: wavefront.kernel,
            work_group: self.work_groups[usize::from(wavefront.work_group)].work_group,
            pc: record.pc,
            compute_unit: self.spec.index,
            wavefront_slot: slot as u16,
        };
        let access = Access::new(source, index, now, kind, decoded.flags);
        let ready_at = now + u64::from(decoded.latency);
        let region = self.spec.private_memory.base + self.spec.private_region(slot as u32);
        self.load_store
            .enqueue(access, ready_at, &wavefront.lanes, |lanes, out| {
                if private {
                    coalesce_private(lanes, record.mask, bytes, region, line_bytes, out);
                } else {
                    coalesce(lanes, record.mask, bytes, line_bytes, out);
                }
            });
        wavefront.in_flight += 1;
        wavefront.stores += u32::from(kind != RequestKind::Read);
        if decoded.has_writes {
            wavefront.scoreboard.reserve_for_memory(&decoded.writes);
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

    /// Makes the wavefront's next record the one to issue; ends the wavefront when there is none.
    #[inline]
    fn fetch(&mut self, slot: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        let wavefront = &mut self.wavefronts[slot];
        let kernel = &self.program.kernels[wavefront.kernel as usize];
        let Some(record) = wavefront.cursor.next(kernel, &mut wavefront.lanes) else {
            self.end(slot, now);
            return;
        };
        wavefront.record = record;
        let decoded = &self.decoded.instructions[(wavefront.code + record.pc) as usize];
        wavefront.pipe = decoded.pipe;
        if decoded.pipe != NO_PIPE {
            self.next_of_pipe[usize::from(decoded.pipe)] |= bit;
        }
        match decoded.action {
            Action::Memory(_) if touches_memory(&record, &wavefront.lanes) => match record.space {
                Space::Global | Space::Local => self.masks.next_load_store |= bit,
                Space::Shared => self.masks.next_local |= bit,
                _ => {}
            },
            Action::Fence if wavefront.stores > 0 => self.masks.fence |= bit,
            _ => {}
        }
        self.masks.fetched |= bit;
        self.look_up_hazard(slot);
    }

    /// Brings the hazard bits of a wavefront up to date with its scoreboard.
    #[inline]
    fn look_up_hazard(&mut self, slot: usize) {
        let wavefront = &self.wavefronts[slot];
        let next = (wavefront.code + wavefront.record.pc) as usize;
        let hazard = wavefront
            .scoreboard
            .hazard(&self.decoded.instructions[next].uses);
        let bit = 1_u64 << slot;
        self.masks.hazard &= !bit;
        self.masks.hazard_memory &= !bit;
        if hazard != Hazard::None {
            self.masks.hazard |= bit;
            if hazard == Hazard::Memory {
                self.masks.hazard_memory |= bit;
            }
        }
    }

    /// A wavefront waits at the barrier of its work-group.
    fn arrive(&mut self, slot: usize, now: Cycle) {
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
    fn end(&mut self, slot: usize, now: Cycle) {
        let bit = 1_u64 << slot;
        self.masks.fetched &= !bit;
        self.masks.ended |= bit;
        let group = usize::from(self.wavefronts[slot].work_group);
        self.work_groups[group].alive -= 1;
        self.release_barrier(group, now);
        if self.wavefronts[slot].in_flight == 0 {
            self.drain(slot, now);
        }
    }

    /// An ended wavefront has nothing under way any more.
    fn drain(&mut self, slot: usize, now: Cycle) {
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
            issuer.scheduler.forget(group.slots);
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

    fn send_completions(&mut self, ctx: &mut Context<'_>) {
        while let Some(&completion) = self.completions.front() {
            if self.dispatch.completion.try_send(ctx, completion).is_err() {
                return;
            }
            self.completions.pop_front();
        }
    }

    /// What the unit waits for, and to what the cycles until then are charged.
    #[inline]
    fn next(&mut self, ctx: &mut Context<'_>, now: Cycle) -> Next {
        let mut wake = Cycle::MAX;
        for scheduler in 0..self.issuers.len() {
            let candidates = self.masks.open() & self.eligible(scheduler);
            if candidates == 0 {
                continue;
            }
            let occupied = self.occupied_units(scheduler, now + 1);
            if candidates & !occupied.all() != 0 {
                return Next::Busy;
            }
            if candidates & occupied.local_memory != 0 {
                wake = wake.min(self.local_memory_free_at);
            }
            if candidates & occupied.pipe != 0 {
                wake = wake.min(self.next_free_pipe(scheduler, now));
            }
        }
        if let Some(cycle) = self.load_store.next_send(now) {
            wake = wake.min(cycle);
        }
        if wake > now + 1
            && let Some(cycle) = self.wheel.next_after(now)
        {
            wake = wake.min(cycle);
        }
        let has_dispatch = || self.dispatch.dispatch.peek(ctx).is_some();
        if wake == now + 1 || self.invalidation.is_none() && has_dispatch() {
            return Next::Busy;
        }
        for scheduler in 0..self.issuers.len() {
            let slot = self.lost_slot(scheduler, now + 1);
            self.accounting.sleep(scheduler, slot);
        }
        if wake < Cycle::MAX {
            Next::Until(wake)
        } else if self.load_store.outstanding() > 0 || self.invalidation.is_some() {
            Next::Message
        } else if self.load_store.is_blocked || !self.completions.is_empty() {
            Next::Credit
        } else {
            Next::Idle
        }
    }

    /// The first cycle after `now` in which a pipe of the scheduler that a candidate needs is free.
    fn next_free_pipe(&self, scheduler: usize, now: Cycle) -> Cycle {
        let issuer = &self.issuers[scheduler];
        let mut first = Cycle::MAX;
        let mut busy = issuer.busy;
        while busy != 0 {
            let pipe = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let needed =
                self.next_of_pipe[pipe] & self.masks.open() & self.eligible(scheduler) != 0;
            if needed && issuer.free_at[pipe] > now {
                first = first.min(issuer.free_at[pipe]);
            }
        }
        first
    }

    fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }

    fn report(&self, s: &mut Statistics<'_>) {
        let counts = &self.counts;
        let unit = &self.load_store.counts;
        let count = "instructions";
        let meaning = "instructions issued, one per wavefront";
        s.counter(
            "wavefront_instructions",
            count,
            meaning,
            counts.wavefront_instructions,
        );
        let meaning = "instructions issued, one per active lane";
        s.counter(
            "thread_instructions",
            count,
            meaning,
            counts.thread_instructions,
        );
        for &class in Class::ALL {
            let meaning = "wavefront instructions issued of the class in the name";
            let name = format!("instructions_{}", class.name());
            s.counter(&name, count, meaning, counts.per_class[class.index()]);
        }
        self.accounting.report(s);
        let cycle = s.cycle();
        let meaning = "mean number of resident wavefronts";
        s.gauge(
            "wavefronts_mean",
            "wavefronts",
            meaning,
            counts.wavefronts.mean(cycle),
        );
        s.ratio(
            "occupancy",
            "part of the wavefront slots that held a wavefront, over all cycles",
            counts.wavefronts.integral(cycle),
            cycle * u64::from(self.spec.wavefront_slots),
        );
        let meaning = "most wavefronts resident at a time";
        s.counter(
            "wavefronts_max",
            "wavefronts",
            meaning,
            counts.wavefronts.max(),
        );
        let meaning = "mean number of resident work-groups";
        s.gauge(
            "work_groups_mean",
            "work-groups",
            meaning,
            counts.work_groups.mean(cycle),
        );
        let meaning = "most work-groups resident at a time";
        s.counter(
            "work_groups_max",
            "work-groups",
            meaning,
            counts.work_groups.max(),
        );
        let meaning = "work-groups completed";
        s.counter(
            "work_groups_completed",
            "work-groups",
            meaning,
            counts.work_groups_completed,
        );
        let meaning = "memory requests sent to read";
        s.counter("read_requests", "requests", meaning, unit.reads);
        let meaning = "memory requests sent to write";
        s.counter("write_requests", "requests", meaning, unit.writes);
        let meaning = "memory requests sent for atomics";
        s.counter("atomic_requests", "requests", meaning, unit.atomics);
        let meaning = "memory requests sent per access of a wavefront to global or private memory";
        let requests = unit.reads + unit.writes + unit.atomics;
        s.ratio("requests_per_access", meaning, requests, unit.accesses);
        let meaning = "cycles from issue of a load or atomic to its last response";
        s.histogram("load_latency", "cycles", meaning, &counts.load_latency);
        let meaning = "accesses of wavefronts to local memory";
        s.counter("local_accesses", "accesses", meaning, counts.local_accesses);
        let meaning = "cycles of local memory lost to bank conflicts";
        s.counter(
            "local_conflict_cycles",
            "cycles",
            meaning,
            counts.local_conflict_cycles,
        );
        let meaning = "barriers that every wavefront of a work-group reached";
        s.counter("barriers", "barriers", meaning, counts.barriers);
        if let Some(monitor) = &self.reuse_monitor {
            monitor.report(s);
        }
    }
}

/// Wavefronts that could issue but for a unit.
#[derive(Clone, Copy, Default)]
struct Occupied {
    pipe: u64,
    local_memory: u64,
    load_store: u64,
}

impl Occupied {
    #[inline]
    fn all(self) -> u64 {
        self.pipe | self.local_memory | self.load_store
    }
}

/// Whether a record of a memory instruction goes to a memory.
#[inline]
fn touches_memory(record: &Record, lanes: &Lanes) -> bool {
    record.mask != 0 && lanes.shape != Shape::None
}

/// Registers that a work-group occupies.
fn registers_of(kernel: &KernelTrace) -> u32 {
    let per_wavefront = kernel.registers_per_thread().saturating_mul(32);
    per_wavefront.saturating_mul(kernel.wavefronts_per_work_group())
}

#[cfg(test)]
mod tests;
