//! The compute unit: runs the wavefronts of resident work-groups from a program trace.
//!
//! ```text
//!  dispatch ──► work-group slots ──► wavefronts (next record of each, scoreboard)
//!                                        │ bit masks: open, waiting, at a barrier, ended
//!                        ┌───────────────┼───────────────┐
//!                   scheduler 0     scheduler 1    ... (a policy and one issue per cycle each)
//!                        └───────┬───────┴───────┬───────┘
//!            execution latencies │ local memory  │ coalescer ──► load/store queue ──► memory
//!                  (event wheel) │ (banks)       │                    responses ◄────┘
//!  completion ◄── work-group ended, loads and stores answered
//! ```
//!
//! What the wavefronts execute is fixed by the trace (`warpweave_trace::Program`, a resource of
//! the environment); this block decides when.
//!
//! `spec/` holds the settings. `front/` finds the wavefronts that can issue, and a policy of `scheduler/` chooses
//! among them; `pipes/` has results, local memory and register file, `memory_path/` everything that leaves the unit,
//! and `work_groups/` the work-groups from dispatch to completion. `accounting/` counts.
//!
//! # Ports
//!
//! | Name | Direction | Message | Back-pressure |
//! |---|---|---|---|
//! | `dispatch.dispatch` | in | [`Dispatch`] | one per cycle is taken; none while the first-level cache carries out a command |
//! | `dispatch.completion` | out | [`Completion`] | completions wait inside, at most one per work-group slot |
//! | `memory.request` | out | [`MemRequest`](crate::memory::MemRequest) | requests wait in the load/store queue; when that is full memory instructions do not issue |
//! | `memory.response` | in | [`MemResponse`](crate::memory::MemResponse) | always taken |
//! | `instructions.request` | out, optional | [`MemRequest`](crate::memory::MemRequest) | fetching waits |
//! | `instructions.response` | in, optional | [`MemResponse`](crate::memory::MemResponse) | always taken |
//! | `constants.request`, `textures.request` | out, optional | [`MemRequest`](crate::memory::MemRequest) | requests wait in a queue of their own; when that is full loads that take it do not issue |
//! | `constants.response`, `textures.response` | in, optional | [`MemResponse`](crate::memory::MemResponse) | always taken |
//! | `constants_control.command`, `textures_control.command` | out, optional | [`CacheCommand`] | the command waits |
//! | `constants_control.done`, `textures_control.done` | in, optional | [`CacheCommandDone`] | always taken |
//! | `cache_control.command` | out, optional | [`CacheCommand`] | the command waits |
//! | `cache_control.done` | in, optional | [`CacheCommandDone`] | always taken |
//! | `locality` | in, optional | [`CacheEvent`] | always taken |
//! | `launches` | out, optional | [`DeviceLaunch`] | the launching wavefront waits |
//!
//! # Timing
//!
//! Within a cycle: results, responses, instructions and cache events arrive, a dispatch is taken, requests leave,
//! then each scheduler issues, then one wavefront fetches and completions leave. Which scheduler is first in a
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
//!   issues in `c + latency + n - 1`. Constant and argument memory: `c + constant_latency`, if they do not leave the
//!   unit.
//! - Global and private memory: an access issued in `c` sends its first request in
//!   `c + T.latency` if the queue before it is empty, then `requests_per_cycle` per cycle. When
//!   the last response of a load is readable in cycle `r`, a dependent instruction issues in
//!   `r + writeback_latency`.
//! - An exit issued in `c` ends its wavefront in `c + T.latency`; the completion of a work-group
//!   leaves in the cycle in which its last wavefront ended or its last result or response came.
//! - Loads that leave by `constants` and `textures`: as from global memory, with the numbers of [`ConstantsSpec`] and
//!   [`TexturesSpec`]; see `docs/components/compute_unit.md`.
//! - An invalidation readable in `c` sends its commands in `c`; its answer leaves in the cycle in
//!   which the last cache's is readable, or in `c` when no cache is wired to be told.
//! - A dispatch for another split, readable in `c`, sends a command in `c`, and is taken in the cycle in which the
//!   cache's answer is readable ([`SharedMemorySpec`]).
//! - A launch from the device issued in `c` leaves in `c`, or in the first later cycle with room, in the order
//!   of issue; its wavefront goes on `T.latency` after that.
//! - A memory instruction without active lanes behaves as a computation of `T.latency`.
//! - `operand_latency` is added to the latency of results and accesses, and so are conflicts of register banks
//!   ([`RegisterBanksSpec`]).
//! - Accesses to local memory that queue ([`MemoryPipe::InOrder`]), and instruction fetch ([`FetchSpec`]): see
//!   `docs/components/compute_unit.md`.
//!
//! One request is sent per distinct line and access. Lanes of an atomic that update the same word are told apart
//! where atomics are carried out, or go in requests of their own ([`AtomicLanes`]).
//!
//! # Not modelled
//!
//! Fetch from a wrong path, named barriers (all are barrier 0), and values. The parts of a generic access whose lanes
//! fall in several spaces issue one after the other, each in a slot of its own unless a scheduler issues several
//! instructions per cycle.

mod accounting;
mod contents;
mod decoded;
mod fits;
mod front;
mod functional;
mod issue;
mod lane_mask;
mod limits;
mod memory_access;
mod memory_path;
mod pipes;
mod registers;
mod scheduler;
mod snapshot;
mod spec;
mod unit_kind;
mod work_groups;

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use warpweave_framework::{
    Bundle, Claims, Component, Contents, Context, Cycle, Environment, Facts, InPort, Instrumented,
    Kind, Next, Onward, OutPort, PortName, Ports, Preset, SpecError, State, Stateful, Statistics,
    Unfit, Waits,
};
use warpweave_params::Node;
use warpweave_trace::{Class, Program};

use self::accounting::Accounting;
pub use self::accounting::IssueSlot;
use self::accounting::counters::Counts;
use self::decoded::DecodedProgram;
pub use self::decoded::DecodedPrograms;
use self::front::fetch::FetchStage;
use self::front::issue_variant as way;
use self::front::open_policies::OpenScheduler;
use self::front::wavefront::{Masks, Wavefront};
use self::issue::Issuer;
use self::memory_path::load_store::LoadStoreUnit;
use self::memory_path::readonly_ports::ReadPaths;
use self::pipes::bank_conflicts::BankConflicts;
use self::pipes::register_file::RegisterFile;
use self::pipes::wheel::Wheel;
use self::scheduler::Turn;
pub use self::scheduler::{
    Ages, Arrival, BuiltIn, GroupBy, Grouped, GroupedSpec, Gto, GtoLongLatency, HeldBack, Issue,
    Lrr, OldestFirst, OwlLocality, OwlLocalitySpec, SchedulerSite, SchedulerView, TwoLevel,
    TwoLevelSpec, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling, register_policies,
};
pub use self::spec::{
    AtomicLanes, ClassTiming, ClassTimings, ComputeUnitSpec, ConstantLanes, ConstantsSpec,
    FetchSpec, IssueTogether, LoadStoreSpec, LocalMemorySpec, MemoryPipe, PrivateMemorySpec,
    RegisterBanksSpec, SharedMemorySpec, TextureAnswers, TextureLoads, TexturesSpec,
};
use self::work_groups::WorkGroup;
use self::work_groups::cache_split::Split;
use self::work_groups::device_launches::Launching;
use self::work_groups::invalidation::Invalidation;
use crate::demands::Demands;
#[cfg(doc)]
use crate::launch::{CacheCommand, CacheCommandDone, Dispatch};
use crate::launch::{CacheControlMaster, Completion, DeviceLaunch, DispatchSlave, UnitNumber};
use crate::memory::{CacheEvent, LineBytes, MemMaster, PrivateFrom};
use crate::occupancy::SchedulerFacts;
use crate::reuse_monitor::ReuseMonitor;

/// A compute unit.
pub struct ComputeUnit {
    dispatch: DispatchSlave,
    memory: MemMaster,
    instructions: MemMaster,
    cache_control: CacheControlMaster,
    locality: InPort<CacheEvent>,
    launches: OutPort<DeviceLaunch>,
    spec: ComputeUnitSpec,
    program: Arc<Program>,
    /// What the program asks of the unit, if that is known beforehand.
    demands: Option<Arc<Demands>>,
    decoded: DecodedProgram,

    /// Grows to the slots that were ever taken.
    wavefronts: Vec<Wavefront>,
    work_groups: Box<[WorkGroup]>,
    masks: Masks,
    ages: Ages,
    issuers: Box<[Issuer]>,
    /// Policies of the schedulers, if they are not built in; none otherwise.
    open: Vec<OpenScheduler>,
    /// Per class with an interval above 1: wavefronts whose next instruction is of it.
    next_of_pipe: [u64; Class::COUNT],
    wheel: Wheel,
    /// None: instructions are there when they are needed.
    fetch: Option<Box<FetchStage>>,
    /// None: as many operands are read and results written as there are.
    register_file: Option<Box<RegisterFile>>,
    load_store: LoadStoreUnit,
    read_paths: ReadPaths,
    bank_conflicts: BankConflicts,
    /// The local memory takes the next access in this cycle.
    local_memory_free_at: Cycle,
    /// The last cycle in which accesses to memories issued, and how many; nothing without a limit on them.
    accesses_issued: (Cycle, u32),
    registers_used: u32,
    local_bytes_used: u64,

    completions: VecDeque<Completion>,
    launching: VecDeque<Launching>,
    invalidation: Option<Invalidation>,
    /// None: the first-level cache has its size.
    split: Option<Box<Split>>,
    reuse_monitor: Option<ReuseMonitor>,
    /// What the trace or a neighbour did wrong, to be reported at the end of the evaluation.
    failure: Option<String>,

    /// One of [`way`].
    way: u8,
    /// In the last evaluation no wavefront was open, and why is charged: that goes on until something changes.
    is_settled: bool,
    accounting: Accounting,
    counts: Counts,
}

impl Kind for ComputeUnit {
    const NAME: &'static str = "ComputeUnit";
    const SUMMARY: &'static str =
        "Runs the wavefronts of resident work-groups from the program trace.";
    const PRESETS: &'static [Preset] = &[Preset {
        name: "fermi",
        summary: "A compute unit of the GTX 480. Source: GPGPU-Sim's SM2_GTX480 configuration",
        ron: include_str!("../../../scenarios/presets/fermi/compute_unit.ron"),
    }];
    type Spec = ComputeUnitSpec;

    fn build(spec: Self::Spec, environment: &Environment) -> Result<Self, SpecError> {
        spec.check()?;
        let program = environment.resource::<Program>().ok_or_else(|| {
            SpecError::at(
                "",
                "a compute unit runs a program trace, but none was provided; name a workload",
            )
        })?;
        let decoded = DecodedProgram::of(&program, &spec, environment);
        let reuse_monitor = spec
            .reuse_monitor
            .map(|monitor| {
                let families = decoded.families(&program);
                ReuseMonitor::new(monitor, spec.index, families).map_err(|error| {
                    SpecError::at(format!("reuse_monitor.{}", error.field), error.message)
                })
            })
            .transpose()?;
        let mut built_in = Vec::new();
        let mut open = Vec::new();
        for scheduler in 0..spec.schedulers {
            let site = spec.site(scheduler);
            match spec
                .scheduler
                .build("scheduler", environment, &site, scheduler)?
            {
                WavefrontPolicy::BuiltIn(way) => built_in.push(way),
                WavefrontPolicy::Open(policy) => open.push(OpenScheduler::new(policy)),
            }
        }
        SpecError::require(built_in.is_empty() || open.is_empty(), "scheduler", || {
            format!(
                "{} builds in some schedulers of the unit and not others; it must treat all alike",
                spec.scheduler.name()
            )
        })?;
        let mut unit = Self::new(spec, program, decoded, reuse_monitor);
        if built_in.contains(&BuiltIn::GtoLongLatency) {
            unit.way = way::LIMITED;
        }
        for (issuer, way) in unit.issuers.iter_mut().zip(built_in) {
            issuer.turn = Turn::new(way);
        }
        if !open.is_empty() {
            unit.way = way::OPEN;
            unit.open = open;
        }
        unit.demands = environment.resource::<Demands>();
        Ok(unit)
    }

    fn vary(spec: &mut Self::Spec, field: &str, value: &Node) -> bool {
        let index = value.as_int().and_then(|index| u16::try_from(index).ok());
        match (field, index) {
            ("index", Some(index)) => spec.index = index,
            _ => return false,
        }
        true
    }
}

impl ComputeUnit {
    fn new(
        spec: ComputeUnitSpec,
        program: Arc<Program>,
        decoded: DecodedProgram,
        reuse_monitor: Option<ReuseMonitor>,
    ) -> Self {
        let latencies = Class::ALL
            .iter()
            .map(|&c| spec.classes.of(c).latency + spec.operand_latency);
        let conflicts_max = decoded.conflicts_max;
        let horizon = latencies
            .chain([
                spec.start_latency,
                spec.constant_latency + spec.operand_latency,
                spec.load_store.writeback_latency,
                ReadPaths::longest_writeback(&spec),
                spec.local_memory.latency + spec.operand_latency + conflicts_max,
            ])
            .max();
        let sources = decoded.sources_max;
        let banks = spec.register_banks.as_ref();
        let wait = banks.map_or(0, |banks| banks.longest_wait(sources));
        let horizon = u64::from(horizon.unwrap_or(1)) + u64::from(wait);
        let issuer = |scheduler| Issuer {
            slots: spec.site(scheduler).slots,
            turn: Turn::default(),
            busy: 0,
            free_at: [0; Class::COUNT],
        };
        Self {
            dispatch: DispatchSlave::default(),
            memory: MemMaster::default(),
            instructions: MemMaster::default(),
            cache_control: CacheControlMaster::default(),
            locality: InPort::new(),
            launches: OutPort::new(),
            fetch: spec.fetch.map(|fetch| {
                Box::new(FetchStage::new(
                    fetch,
                    &decoded.codes(&program),
                    spec.wavefront_slots,
                ))
            }),
            wavefronts: Vec::with_capacity(spec.wavefront_slots as usize),
            work_groups: vec![WorkGroup::default(); spec.work_group_slots as usize].into(),
            decoded,
            masks: Masks::default(),
            ages: Ages::new(),
            issuers: (0..spec.schedulers).map(issuer).collect(),
            open: Vec::new(),
            next_of_pipe: [0; Class::COUNT],
            wheel: Wheel::new(horizon),
            register_file: RegisterFile::of(&spec, sources, horizon),
            load_store: LoadStoreUnit::new(&spec.load_store),
            read_paths: ReadPaths::new(&spec, &program),
            bank_conflicts: BankConflicts::new(spec.local_memory.banks),
            local_memory_free_at: 0,
            accesses_issued: (0, 0),
            registers_used: 0,
            local_bytes_used: 0,
            completions: VecDeque::with_capacity(spec.work_group_slots as usize + 1),
            launching: VecDeque::new(),
            invalidation: None,
            split: Split::of(&spec.local_memory).map(Box::new),
            reuse_monitor,
            failure: None,
            way: way::of(&spec),
            is_settled: false,
            accounting: Accounting::new(spec.schedulers as usize),
            counts: Counts::default(),
            spec,
            program,
            demands: None,
        }
    }
}

impl Bundle for ComputeUnit {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        ports.bundle("dispatch", &mut self.dispatch);
        ports.bundle("memory", &mut self.memory);
        ports.optional(|ports| ports.bundle("instructions", &mut self.instructions));
        let without = "the lines of the first-level cache stay when a kernel ends";
        ports.advisable(without, |ports| {
            ports.bundle("cache_control", &mut self.cache_control);
        });
        ports.optional(|ports| ports.input("locality", &mut self.locality));
        ports.optional(|ports| ports.output("launches", &mut self.launches));
        self.read_paths.ports(ports);
    }
}

impl Component for ComputeUnit {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        // A function for each, with what it needs in registers.
        match self.way {
            way::PLAIN => self.step::<{ way::PLAIN }>(ctx),
            way::FETCHING => self.step::<{ way::FETCHING }>(ctx),
            way::LIMITED => self.step::<{ way::LIMITED }>(ctx),
            _ => self.step::<{ way::OPEN }>(ctx),
        }
    }

    fn facts(&self, port: &str, facts: &mut Facts) {
        if port == "dispatch.dispatch" {
            facts.publish(self.spec.facts());
            facts.publish_from("index", UnitNumber(self.spec.index));
        }
        if port == "instructions.request"
            && let Some(stage) = &self.fetch
        {
            facts.publish_from("fetch.line_bytes", LineBytes(stage.line_bytes()));
        }
        self.read_paths.facts(port, facts);
        if port == "memory.request" {
            let bytes = self.spec.load_store.line_bytes;
            facts.publish_from("load_store.line_bytes", LineBytes(bytes));
            let base = self.spec.private_memory.base;
            facts.publish_from("private_memory.base", PrivateFrom(base));
        }
        if port == "cache_control.command"
            && let Some(split) = &self.split
        {
            split.tell(facts);
        }
    }

    fn learn(&mut self, port: &str, facts: &Facts) -> Result<(), Unfit> {
        if let Some(split) = &mut self.split {
            split.learn(port, facts);
        }
        Ok(())
    }

    /// By which port of a network requests leave is told to the work-group scheduler.
    fn passage(&self, port: &str, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<PrivateFrom>();
        facts.withdraw::<LineBytes>();
        facts.withdraw::<SchedulerFacts>();
        matches!(port, "memory.request" | "dispatch.dispatch").then_some(0)
    }

    fn claims(&self, claims: &mut Claims) {
        let index = u64::from(self.spec.index);
        claims.own("compute unit", index..index + 1, "index");
        claims.own(
            "private memory",
            self.spec.private_range(),
            "private_memory",
        );
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        self.check_cache_events()?;
        if way::is_plain(self.way) && self.locality.is_connected() {
            self.way = way::LIMITED;
        }
        if self.instructions.request.is_connected() && self.fetch.is_none() {
            let message = "the port `instructions` is connected, but the unit fetches no instructions; set \
                           `fetch`, or leave the wire out";
            return Err(Unfit::at("fetch", message));
        }
        if let Some(split) = &self.split {
            split.check_wire(self.cache_control.command.is_connected())?;
        }
        let demands = self.demands.as_deref();
        self.read_paths.fit(&self.spec, demands)?;
        demands.map_or(Ok(()), |demands| demands.fit(&self.spec))
    }

    fn untimed(
        &mut self,
        port: PortName<'_>,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), String> {
        self.play(port, message, onward)
    }

    fn evaluation_cost(&self) -> u64 {
        // About 700 instructions.
        7
    }

    fn contents(&self, contents: &mut Contents<'_>) {
        self.show(contents);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        self.explain(waits);
    }
}

impl Stateful for ComputeUnit {
    fn state(&mut self, state: &mut State<'_>) {
        self.name_state(state);
    }
}

impl Instrumented for ComputeUnit {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.report(statistics);
    }
}

impl ComputeUnit {
    /// One evaluation in one of the ways of [`way`].
    #[inline(never)]
    fn step<const WAY: u8>(&mut self, ctx: &mut Context<'_>) -> Next {
        let now = ctx.cycle();
        self.accounting.begin(now);
        let mut changed = self.take_events::<WAY>(now);
        while self.memory.response.peek(ctx).is_some() {
            self.take_response(ctx, now);
            changed = true;
        }
        if !way::is_plain(WAY) {
            changed |= self.take_read_answers(ctx, now);
        }
        if WAY != way::PLAIN && self.instructions_have_come(ctx, now) {
            self.take_instructions(ctx, now);
            changed = true;
        }
        if !way::is_plain(WAY) && self.locality.is_connected() {
            self.take_cache_events(ctx, now);
        }
        if self.invalidation.is_some() {
            self.carry_out_invalidation(ctx);
        }
        if self.dispatch.dispatch.peek(ctx).is_some() {
            self.take_dispatch(ctx, now);
            changed = true;
        }
        if self.load_store.has_work() {
            changed |= self.send_requests(ctx, now);
        }
        if !way::is_plain(WAY) {
            self.read_paths.send(ctx);
        }
        let issued = if way::is_plain(WAY) && self.is_settled && !changed {
            false
        } else {
            self.issue::<WAY>(now)
        };
        if issued {
            ctx.made_progress();
        }
        if WAY != way::PLAIN && self.may_fetch() {
            self.fetch_instructions(ctx, now);
        }
        if !self.launching.is_empty() {
            self.send_launches(ctx, now);
        }
        if !self.completions.is_empty() {
            self.send_completions(ctx);
        }
        if let Some(failure) = self.failure.take() {
            ctx.fail(failure);
        }
        self.next::<WAY>(ctx, now, issued)
    }

    fn fail(&mut self, message: String) {
        self.failure.get_or_insert(message);
    }
}

#[cfg(test)]
mod tests;
