//! Compute unit: executes the wavefronts of resident work-groups from a program trace.
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
//! The trace (`warpweave_trace::Program`, a resource of the environment) fixes what the wavefronts
//! execute; this block determines the timing.
//!
//! | Stage | Owns | Where |
//! |---|---|---|
//! | front end | wavefront slots with their streams and scoreboards, instruction fetch | `front/` |
//! | issue | schedulers and their policies | `issue/`, policies in `scheduler/` |
//! | pipes | results by cycle, initiation intervals, local memory, register file | `pipes/` |
//! | memory path | coalescer, load/store queue, read-only ports | `memory_path/` |
//! | spare registers | loads of loops, prefetched into registers | `spare_registers/` |
//! | waits for loads | cycles for which wavefronts waited, by load | `load_waits.rs` |
//! | work-groups | their slots, dispatches and completions, commands to caches, launches | `work_groups/` |
//! | accounting | issue slots by reason, issued instructions | `accounting/` |
//!
//! A stage receives the lower stages as arguments. `datapath.rs` executes instructions in front
//! end, pipes and memory path. `step.rs` calls the stages in the order of a cycle.
//! `issue_cycle.rs`, `retire.rs` and `dispatch.rs` implement steps that involve several stages.
//! `spec/` has the settings, and `functional.rs` implements execution in zero simulated time.
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
//! Order within a cycle: results, responses, instructions and cache events arrive. A dispatch is
//! taken and requests are sent. Each scheduler issues. One wavefront fetches, and completions are
//! sent. The first scheduler rotates from cycle to cycle. `T` denotes the [`ClassTimings`] entry of
//! the instruction.
//!
//! - A dispatch readable in cycle `c` allows its wavefronts to issue from cycle
//!   `c + start_latency`.
//! - Dependent instructions (read after write, write after write) issue `T.latency` apart;
//!   independent ones of a wavefront issue in consecutive cycles. Instructions of one class issue
//!   `T.interval` apart on one scheduler.
//! - After a branch or fence issued in `c`, its wavefront resumes in `c + T.latency`. A fence
//!   issues when all stores and atomics of its wavefront have been answered.
//! - When the last wavefront of a work-group arrives at a barrier in `c` (or the last missing one
//!   ends), all resume in `c + T.latency`. With `barrier_interval` an arrival takes these cycles,
//!   after those of the arrivals before it; `c` is the end of the last one.
//! - Local memory: an access issued in `c` with `n` conflict cycles (see [`LocalMemorySpec`])
//!   occupies the memory for cycles `c .. c + n`. A dependent instruction issues in
//!   `c + latency + (n - 1) * conflict_latency`. Constant and argument memory:
//!   `c + constant_latency`, if the access stays inside the unit.
//! - Global and private memory: an access issued in `c` sends its first request in `c + T.latency`
//!   if the queue before it is empty. Further requests follow at `requests_per_cycle` per cycle.
//!   When the last response of a load is readable in cycle `r`, a dependent instruction issues in
//!   `r + writeback_latency`.
//! - An exit issued in `c` ends its wavefront in `c + T.latency`. The completion of a work-group is
//!   sent in the cycle of its last wavefront end, result or response.
//! - Loads through `constants` and `textures`: as from global memory, with the parameters of
//!   [`ConstantsSpec`] and [`TexturesSpec`]; see `docs/components/compute_unit.md`.
//! - An invalidation readable in `c` sends its commands in `c`. Its completion is sent when the
//!   last cache's reply is readable, or in `c` if no cache control port is connected.
//! - A dispatch that needs another split, readable in `c`, sends a command in `c`. It is taken in
//!   the cycle in which the cache's reply is readable ([`SharedMemorySpec`]).
//! - A device-side launch issued in `c` is sent in `c`, or in the first later cycle with room, in
//!   issue order. Its wavefront resumes `T.latency` after that.
//! - A memory instruction without active lanes behaves like a computation with `T.latency`.
//! - `operand_latency` and conflicts of register banks ([`RegisterBanksSpec`]) add to the latency
//!   of results and accesses.
//! - Queued local-memory accesses ([`MemoryPipe::InOrder`]) and instruction fetch ([`FetchSpec`]):
//!   see `docs/components/compute_unit.md`.
//!
//! Each access sends one request per distinct line. Lanes of an atomic that update the same word
//! are serialized at the atomic unit, or sent in separate requests ([`AtomicLanes`]).
//!
//! # Not modelled
//!
//! Wrong-path fetch, named barriers (all are barrier 0), and data values. A generic access whose
//! lanes fall in several spaces is split into parts that issue in sequence. Each part takes its own
//! issue slot unless a scheduler issues several instructions per cycle.

mod accounting;
mod config;
mod datapath;
mod decoded;
mod dispatch;
mod front;
mod functional;
mod issue;
mod issue_cycle;
mod issue_variant;
mod lane_mask;
mod limits;
mod load_waits;
mod memory_path;
mod pipes;
mod port_ids;
mod registers;
mod retire;
mod scheduler;
mod spare_registers;
mod spec;
mod step;
mod unit_kind;
mod work_groups;

use std::any::Any;
use std::sync::Arc;

use arrayvec::ArrayVec;
use warpweave_framework::{
    Bundle, Claims, Component, Contents, Context, Environment, Facts, Functional, FunctionalError,
    Inspect, Instrumented, Kind, Negotiate, Next, Onward, PortId, Ports, Preset, SpecError, State,
    Statistics, Unfit, Waits,
};
use warpweave_params::Node;
use warpweave_trace::Program;

use self::accounting::Accounting;
pub use self::accounting::IssueSlot;
use self::config::UnitConfig;
use self::datapath::Datapath;
use self::decoded::DecodedProgram;
pub use self::decoded::DecodedPrograms;
use self::functional::FunctionalWorkGroup;
use self::issue::{Policies, Schedulers};
use self::issue_variant::{Fetching, IssueVariant, Limited, Open, Plain, Watched};
pub use self::scheduler::{
    AgeMatrix, Arrival, BuiltIn, GroupBy, GroupScope, GroupSize, Grouped, GroupedSpec, Gto,
    GtoLongLatency, InsideGroup, Irregular, Issue, Lrr, OldestFirst, OutsideGroup, OwlLocality,
    OwlLocalitySpec, Programmed, ProgrammedSpec, SchedulerSite, SchedulerView, Throttled, TwoLevel,
    TwoLevelSpec, WavefrontPolicy, WavefrontScheduler, WavefrontScheduling, register_policies,
};
use self::spare_registers::SpareRegisters;
pub use self::spec::{
    AtomicLanes, ClassTiming, ClassTimings, ComputeUnitSpec, ConstantLanes, ConstantsSpec,
    FetchSpec, GlobalLoads, HeadSequence, IssueTogether, LoadStoreSpec, LocalMemorySpec, LoopExits,
    MemoryPipe, PrefetchDistance, PrivateMemorySpec, RegisterBanksSpec, SharedMemorySpec,
    SpareRegistersSpec, SpareVariant, StrideFrom, TailPrefetches, TextureAnswers, TextureLoads,
    TexturesSpec, WideAccesses,
};
use self::work_groups::WorkGroupTable;
use self::work_groups::cache_control::CacheControl;
use self::work_groups::device_launches::LaunchQueue;
use self::work_groups::dispatch_port::DispatchPort;
use crate::demands::{AtomicsBelow, Demands};
use crate::launch::{CacheCommand, Dispatch, UnitNumber, WantsFamilyEnds};
#[cfg(doc)]
use crate::launch::{CacheCommandDone, Completion, DeviceLaunch};
#[cfg(doc)]
use crate::memory::CacheEvent;
use crate::memory::{AtomicService, LineBytes, PrivateFrom};
use crate::occupancy::SchedulerFacts;
use crate::reuse_monitor::{Oracle, PredictionSource, ReuseMonitor, ReuseMonitorSpec};

/// A compute unit with its stages, which know of each other only through the arguments passed in a
/// cycle.
#[derive(State)]
pub struct ComputeUnit {
    /// Resource demands of the program on the unit, if known in advance.
    #[state(skip)]
    demands: Option<Arc<Demands>>,
    #[state(skip)]
    atomics: AtomicsBelow,
    #[state(skip)]
    variant: IssueVariant,
    #[state(flatten)]
    dispatch: DispatchPort,
    #[state(part)]
    groups: WorkGroupTable,
    #[state(flatten)]
    caches: CacheControl,
    #[state(part)]
    launches: LaunchQueue,
    #[state(flatten)]
    schedulers: Schedulers,
    #[state(flatten)]
    datapath: Datapath,
    #[state(part)]
    reuse_monitor: Option<ReuseMonitor>,
    #[state(part)]
    accounting: Accounting,
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
                "a compute unit runs a program trace, but none was provided; specify a workload",
            )
        })?;
        let mut decoded = DecodedProgram::of(&program, &spec, environment);
        if spec.spare_registers.is_some() {
            SpareRegisters::reserve(&mut decoded, &program);
        }
        let reuse_monitor = spec
            .reuse_monitor
            .map(|monitor| {
                let families = decoded.families(&program);
                let oracle = match monitor.prediction {
                    PredictionSource::Profile => decoded
                        .launch_graph(&program, environment, "prediction")
                        .and_then(|graph| Oracle::of(environment, graph))
                        .map(Some),
                    _ => Ok(None),
                };
                oracle
                    .and_then(|oracle| ReuseMonitor::new(monitor, spec.index, families, oracle))
                    .map_err(|error| error.inside("reuse_monitor"))
            })
            .transpose()?;
        let policies = build_policies(&spec, environment)?;
        let variant = match &policies {
            Policies::Open(_) => IssueVariant::Open,
            Policies::BuiltIn(policies) if policies.contains(&BuiltIn::GtoLongLatency) => {
                IssueVariant::Limited
            }
            Policies::BuiltIn(_) => IssueVariant::of(&spec),
        };
        let variant = if spec.spare_registers.is_some() || spec.load_waits {
            variant.watched()
        } else {
            variant
        };
        Ok(Self {
            demands: environment.resource::<Demands>(),
            atomics: AtomicsBelow::default(),
            variant,
            dispatch: DispatchPort::new(spec.work_group_slots),
            groups: WorkGroupTable::new(spec.work_group_slots),
            caches: CacheControl::new(&spec.local_memory),
            launches: LaunchQueue::new(),
            schedulers: Schedulers::new(&spec, policies),
            reuse_monitor,
            accounting: Accounting::new(spec.schedulers as usize),
            datapath: Datapath::new(UnitConfig {
                spec,
                program,
                decoded,
            }),
        })
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

/// Builds a policy for each scheduler.
///
/// # Errors
/// Some are built in and others are not, or one cannot be built.
fn build_policies(
    spec: &ComputeUnitSpec,
    environment: &Environment,
) -> Result<Policies, SpecError> {
    let mut built_in = Vec::new();
    let mut open = Vec::new();
    for scheduler in 0..spec.schedulers {
        let site = spec.site(scheduler);
        match spec
            .scheduler
            .build("scheduler", environment, &site, scheduler)?
        {
            WavefrontPolicy::BuiltIn(policy) => built_in.push(policy),
            WavefrontPolicy::Open(policy) => open.push(policy),
        }
    }
    SpecError::require(built_in.is_empty() || open.is_empty(), "scheduler", || {
        format!(
            "{} is used in some schedulers of the unit but not in others; it must be used in all or none",
            spec.scheduler.name()
        )
    })?;
    Ok(if open.is_empty() {
        Policies::BuiltIn(built_in)
    } else {
        Policies::Open(open)
    })
}

impl ComputeUnit {
    /// Evaluates a unit whose variant is not the usual one, which saves that one a jump by table.
    #[inline(never)]
    fn step_with_features(&mut self, ctx: &mut Context<'_>) -> Next {
        match self.variant {
            IssueVariant::Plain => self.step::<Plain>(ctx),
            IssueVariant::Fetching => self.step::<Fetching>(ctx),
            IssueVariant::Limited => self.step::<Limited>(ctx),
            IssueVariant::Open => self.step::<Open>(ctx),
            IssueVariant::Watched => self.step::<Watched<Limited>>(ctx),
            IssueVariant::OpenWatched => self.step::<Watched<Open>>(ctx),
        }
    }
}

impl Bundle for ComputeUnit {
    fn ports(&mut self, ports: &mut Ports<'_>) {
        self.dispatch.ports(ports);
        self.datapath.memory.ports(ports);
        self.datapath.fetch.ports(ports);
        self.caches.ports(ports);
        self.schedulers.ports(ports);
        self.launches.ports(ports);
        self.datapath.memory.readonly.ports(ports);
    }
}

impl Component for ComputeUnit {
    fn evaluate(&mut self, ctx: &mut Context<'_>) -> Next {
        if self.variant == IssueVariant::Plain {
            self.step::<Plain>(ctx)
        } else {
            self.step_with_features(ctx)
        }
    }

    fn evaluation_cost(&self) -> u64 {
        // About 700 instructions.
        7
    }

    fn negotiation(&mut self) -> Option<&mut dyn Negotiate> {
        Some(self)
    }

    fn functional(&mut self) -> Option<&mut dyn Functional> {
        Some(self)
    }

    fn inspection(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Negotiate for ComputeUnit {
    fn facts(&self, port: PortId, facts: &mut Facts) {
        let spec = &self.datapath.config.spec;
        if port == port_ids::DISPATCH {
            facts.publish(spec.facts());
            facts.publish_from("index", UnitNumber(spec.index));
            let monitor = spec.reuse_monitor.as_ref();
            if monitor.is_some_and(ReuseMonitorSpec::clears_with_work_groups) {
                facts.publish_from("reuse_monitor.clear", WantsFamilyEnds);
            }
        }
        if port == port_ids::MEMORY {
            let bytes = spec.load_store.line_bytes;
            facts.publish_from("load_store.line_bytes", LineBytes(bytes));
            facts.publish_from("private_memory.base", PrivateFrom(spec.private_memory.base));
        }
        self.datapath.fetch.facts(port, facts);
        self.datapath.memory.readonly.facts(port, facts);
        self.caches.facts(port, facts);
    }

    fn learn(&mut self, port: PortId, facts: &Facts) -> Result<(), Unfit> {
        self.caches.learn(port, facts);
        if let (port_ids::DISPATCH, Some(spares)) = (port, &mut self.datapath.spares)
            && let Some(scheduler) = facts.get::<SchedulerFacts>()
        {
            spares.learn(scheduler);
        }
        if port == port_ids::MEMORY {
            self.atomics.learn(facts);
        }
        Ok(())
    }

    /// Passes on, to the work-group scheduler, the network port by which the unit sends its
    /// requests.
    fn passage(&self, port: PortId, facts: &mut Facts) -> Option<u32> {
        facts.withdraw::<PrivateFrom>();
        facts.withdraw::<LineBytes>();
        facts.withdraw::<SchedulerFacts>();
        facts.withdraw::<AtomicService>();
        matches!(port, port_ids::MEMORY | port_ids::DISPATCH).then_some(0)
    }

    fn claims(&self, claims: &mut Claims) {
        let spec = &self.datapath.config.spec;
        let index = u64::from(spec.index);
        claims.own("compute unit", index..index + 1, "index");
        claims.own("private memory", spec.private_range(), "private_memory");
    }

    fn elaborated(&mut self) -> Result<(), Unfit> {
        let spec = &self.datapath.config.spec;
        self.schedulers.check_wires()?;
        if self.schedulers.takes_cache_events() {
            self.variant = self.variant.limited();
        }
        self.datapath.fetch.elaborated()?;
        self.caches.check_wires()?;
        let demands = self.demands.as_deref();
        self.datapath.memory.readonly.fit(spec, demands)?;
        let offered = spec.private_memory.bytes_per_thread;
        demands.map_or(Ok(()), |demands| {
            demands.fit(offered, &spec.private_range())?;
            demands.fit_atomics(&self.atomics)
        })
    }
}

impl Functional for ComputeUnit {
    fn functional_access(
        &mut self,
        port: PortId,
        message: &mut dyn Any,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let Datapath { config, memory, .. } = &self.datapath;
        let readonly = &memory.readonly;
        if let Some(group) = FunctionalWorkGroup::of_message(message) {
            group.advance(config, readonly, onward);
            return Ok(());
        }
        let dispatch = message.downcast_ref::<Dispatch>();
        match *dispatch.ok_or(FunctionalError::UnexpectedMessage(port))? {
            Dispatch::Start {
                kernel, work_group, ..
            } => {
                let group = FunctionalWorkGroup::new(kernel, work_group, config)?;
                let resize = self.caches.resize_at_once(kernel, &self.groups, config);
                if let Some((port, command)) = resize {
                    onward.send(port, command);
                }
                group.advance(config, readonly, onward);
            }
            Dispatch::Invalidate { .. } => {
                for port in self.caches.connected_ports(readonly.controls()) {
                    onward.send(port, CacheCommand::Invalidate);
                }
            }
            Dispatch::ParentEnded { .. } | Dispatch::WorkGroupFamilyEnded { .. } => {}
        }
        Ok(())
    }
}

impl Inspect for ComputeUnit {
    fn contents(&self, contents: &mut Contents<'_>) {
        let Datapath {
            wavefronts, memory, ..
        } = &self.datapath;
        let masks = wavefronts.masks();
        self.groups.show(contents, |slot| masks.wait_reason(slot));
        memory.show(contents);
        contents.level("wavefronts", u64::from(masks.present.count_ones()));
        memory.show_queues(contents);
    }

    fn waits(&self, waits: &mut Waits<'_>) {
        let datapath = &self.datapath;
        datapath.memory.waits_for_responses(waits);
        datapath.fetch.waits(waits);
        datapath.memory.waits_to_send(waits);
        self.groups.waits(waits);
        let now = self.accounting.evaluated_to();
        self.schedulers.waits(datapath, now, waits);
        self.caches.waits(waits);
        self.launches.waits(waits);
        self.dispatch.waits(waits);
    }
}

impl Instrumented for ComputeUnit {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        let Datapath {
            config,
            fetch,
            pipes,
            memory,
            counts,
            spares,
            load_waits,
            ..
        } = &self.datapath;
        counts.report(self.launches.is_connected(), statistics);
        let mut absent = ArrayVec::<_, 2>::new();
        if !self.schedulers.can_hold_back() {
            absent.push(IssueSlot::Throttled);
        }
        if !fetch.is_there() {
            absent.push(IssueSlot::Fetch);
        }
        self.accounting
            .report(&absent, &counts.issued_slots(), statistics);
        self.groups
            .report_occupancy(config.spec.wavefront_slots, statistics);
        memory.statistics(statistics);
        pipes.local_memory.statistics(statistics);
        self.groups.report_barriers(statistics);
        fetch.statistics(statistics);
        memory.readonly.report(statistics);
        self.caches.statistics(statistics);
        self.reuse_monitor.statistics(statistics);
        self.schedulers.report(statistics);
        if let Some(spares) = spares {
            spares.statistics(statistics);
        }
        if let Some(waits) = load_waits {
            waits.statistics(statistics);
        }
    }
}

#[cfg(test)]
mod tests;
