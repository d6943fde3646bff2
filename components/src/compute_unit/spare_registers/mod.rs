//! Prefetching of loop loads into spare registers (graph thesis, chapter 3).
//!
//! ```text
//!   issued instruction ──► loop, iteration ──► analysis of two iterations ──► plan of the loop
//!                                                                               │
//!   records read ahead ──► iterations left, later addresses ──► injected loads ◄┘
//!                      └─► loads that become moves
//! ```
//!
//! A load whose address has a stride is a head; a load whose address depends on its value is its
//! tail. After each has issued, the load of a later iteration is injected behind it. It writes a
//! register that the kernel leaves unused. The load of that iteration then becomes a move.
//!
//! The trace states what later iterations access. Predicted addresses are compared with it, and a
//! difference ends the run. A lane that does not reach the later iteration is not prefetched for.

mod analysis;
mod distance;
mod follower;
mod inject;
mod loops;
mod plan;
mod slices;
mod tags;
#[cfg(test)]
pub(super) mod testing;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Instrumented, State, Statistics};
use warpweave_trace::{KernelTrace, Program};

use self::analysis::{Analysis, Pass};
use self::follower::{Follower, Following, LoopAhead};
pub(crate) use self::plan::LoadRole;
use self::plan::{Pair, PairEntries, Plan};
use crate::compute_unit::config::UnitConfig;
use crate::compute_unit::decoded::DecodedProgram;
use crate::compute_unit::front::source::{Origin, Source};
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::spec::{ComputeUnitSpec, LoopExits, SpareRegistersSpec};
use crate::occupancy::{NAMED_REGISTERS_MAX, SchedulerFacts, UnitLimits, WorkGroupNeeds};

/// Number of loops whose analysis a unit remembers.
const KNOWN_MAX: usize = 16;

/// Result of the analysis of a loop of a launch.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Known {
    kernel: u32,
    header: u32,
    plan: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, Statistics)]
struct Counts {
    /// loads injected for addresses with a stride
    #[statistic(name = "injected_heads", unit = "instructions")]
    heads: u64,
    /// loads injected for addresses that depend on a prefetched value
    #[statistic(name = "injected_tails", unit = "instructions")]
    tails: u64,
    /// instructions injected to compute the addresses of loads
    #[statistic(name = "injected_arithmetic", unit = "instructions")]
    arithmetic: u64,
    /// loads that became moves from spare registers
    #[statistic(name = "loads_replaced", unit = "instructions")]
    replaced: u64,
    /// moves that waited for the load of their spare register
    #[statistic(name = "moves_waited", unit = "instructions")]
    moves_waited: u64,
    /// lanes not prefetched because the trace has no address for them
    #[statistic(name = "prefetches_without_address", unit = "lanes")]
    without_address: u64,
    /// lanes not prefetched for because they leave the loop by another exit before, which hardware
    /// does not know
    #[statistic(name = "prefetches_beyond_exit", unit = "lanes")]
    beyond_exit: u64,
    /// loops not analysed because they have several exits
    #[statistic(name = "loops_with_exit", unit = "loops")]
    with_exit: u64,
    /// loops for which a plan was made, once per launch and unit
    #[statistic(name = "loops_planned", unit = "loops")]
    planned: u64,
}

/// Names of the counters of loop invocations by their distance.
const DISTANCES: [(&str, &str, &str); 4] = {
    let meaning = "invocations of planned loops by a wavefront with the distance in the name";
    [
        ("0", "invocations", meaning),
        ("1", "invocations", meaning),
        ("2", "invocations", meaning),
        ("3", "invocations", meaning),
    ]
};

/// The mechanism of one unit, with the instruction sources of its wavefronts.
#[derive(State)]
pub(crate) struct SpareRegisters {
    #[state(skip)]
    spec: SpareRegistersSpec,
    #[state(skip)]
    limits: UnitLimits,
    /// By wavefront slot; both grow to the highest slot used.
    sources: Vec<Source>,
    followers: Vec<Follower>,
    analysis: Option<Analysis>,
    plans: Vec<Plan>,
    known: VecDeque<Known>,
    counts: Counts,
    distances: [u64; 4],
    registers_used: u32,
    /// Cycle in which the first plan was made.
    planned_at: Option<Cycle>,
    /// Instructions of each plan, of those that were added to the program.
    #[state(skip)]
    entries: Vec<Vec<PairEntries>>,
}

impl SpareRegisters {
    pub(crate) fn new(spec: SpareRegistersSpec, unit: &ComputeUnitSpec) -> Self {
        Self {
            spec,
            limits: unit.facts().limits(),
            sources: Vec::new(),
            followers: Vec::new(),
            analysis: None,
            plans: Vec::new(),
            known: VecDeque::new(),
            counts: Counts::default(),
            distances: [0; 4],
            registers_used: 0,
            planned_at: None,
            entries: Vec::new(),
        }
    }

    /// Reserves registers of the scoreboard for prefetched values.
    pub(crate) fn reserve(decoded: &mut DecodedProgram, program: &Program) {
        decoded.reserve(program, NAMED_REGISTERS_MAX, plan::REGISTERS);
    }

    /// Takes over the register allocation of the work-group scheduler.
    pub(crate) fn learn(&mut self, scheduler: &SchedulerFacts) {
        let limits = &mut self.limits;
        if let Some(partitions) = scheduler.register_partitions {
            limits.register_partitions = partitions;
        }
        if let Some(granularity) = scheduler.register_granularity {
            limits.register_granularity = granularity;
        }
    }

    /// Begins with a wavefront of a launch in a slot.
    pub(crate) fn begin(&mut self, slot: usize, kernel: &KernelTrace) {
        let needs = WorkGroupNeeds::of(kernel);
        let most = self.limits.registers_without_loss(&needs);
        let more = WorkGroupNeeds {
            registers_per_thread: most,
            ..needs
        };
        debug_assert_eq!(
            self.limits.occupancy(&more).work_groups,
            self.limits.occupancy(&needs).work_groups,
            "prefetching does not change how many work-groups are resident"
        );
        if slot >= self.sources.len() {
            self.sources.resize_with(slot + 1, Source::default);
            self.followers.resize_with(slot + 1, Follower::default);
        }
        self.sources[slot] = Source::default();
        self.followers[slot] = Follower {
            spare: most - needs.registers_per_thread,
            ..Follower::default()
        };
    }

    /// Returns where the next instruction of a wavefront came from.
    #[inline]
    pub(crate) fn origin(&self, slot: usize) -> Origin {
        self.sources[slot].origin()
    }

    /// Makes the next instruction that of the wavefront. Returns false at the end of its stream.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        slot: usize,
        wavefront: &mut Wavefront,
        kernel: &KernelTrace,
    ) -> bool {
        self.sources[slot].advance(wavefront, kernel)
    }

    /// Returns the role of a load of the program, given by its decoded instruction, in a loop that
    /// has a plan.
    pub(crate) fn role_of(&self, instruction: u32) -> Option<LoadRole> {
        self.plans.iter().find_map(|plan| {
            let pc = instruction.checked_sub(plan.base)?;
            plan.role_of(pc).map(|(_, role)| role)
        })
    }

    /// Counts a move that waits for memory.
    pub(crate) fn note_wait(&mut self) {
        self.counts.moves_waited += 1;
    }

    /// Adds the instructions of plans that came from a checkpoint.
    #[inline]
    pub(crate) fn prepare(&mut self, config: &mut UnitConfig) {
        while self.entries.len() < self.plans.len() {
            self.add_entries(config);
        }
    }

    /// Adds the instructions of the first plan that has none yet.
    fn add_entries(&mut self, config: &mut UnitConfig) {
        let plan = &self.plans[self.entries.len()];
        let code = &config.program.kernels[plan.kernel as usize].code;
        let (spec, unit) = (&self.spec, &config.spec);
        let entries = config
            .decoded
            .extend(|additions| plan.add_to(additions, code, spec, unit));
        self.entries.push(entries);
    }

    /// Follows a wavefront whose record has issued, and injects what is to follow it.
    ///
    /// # Errors
    /// Fails if an address was predicted that the trace does not have.
    pub(crate) fn after_issue(
        &mut self,
        slot: usize,
        wavefront: &mut Wavefront,
        config: &mut UnitConfig,
        now: Cycle,
    ) -> Result<(), String> {
        if matches!(self.origin(slot), Origin::Start | Origin::Injected) {
            return Ok(());
        }
        let number = wavefront.place.kernel;
        let program = Arc::clone(&config.program);
        let kernel = &*program.kernels[number as usize];
        let (code, record) = (&*kernel.code, wavefront.record);
        let of_loop = code.instructions[record.pc as usize].loop_head;
        let of_loop = of_loop.filter(|_| code.registers_per_thread <= NAMED_REGISTERS_MAX);
        if self.followers[slot].header != of_loop {
            self.leave(slot, config, now);
            let follower = &mut self.followers[slot];
            follower.header = of_loop.filter(|header| *header == record.pc);
            follower.iteration = 0;
            follower.following = None;
        }
        let Some(header) = self.followers[slot].header else {
            return Ok(());
        };
        if record.pc == header {
            self.followers[slot].iteration += 1;
            self.learn_of_loop(slot, wavefront, config, now);
            self.follow(slot, wavefront, kernel);
        }
        if let Some(analysis) = &mut self.analysis
            && analysis.slot == Some(slot as u8)
        {
            analysis.watch(code, &record, &wavefront.lanes);
        }
        self.prefetch(slot, wavefront, kernel)
    }

    fn known(&self, kernel: u32, header: u32) -> Option<&Known> {
        let mut known = self.known.iter();
        known.find(|known| (known.kernel, known.header) == (kernel, header))
    }

    fn remember(&mut self, known: Known) {
        if self.known.len() >= KNOWN_MAX {
            self.known.pop_front();
        }
        self.known.push_back(known);
    }

    /// Advances the analysis of a loop with a wavefront at its header, if nothing is known of it.
    fn learn_of_loop(
        &mut self,
        slot: usize,
        wavefront: &mut Wavefront,
        config: &mut UnitConfig,
        now: Cycle,
    ) {
        let kernel = wavefront.place.kernel;
        let Some(header) = self.followers[slot].header else {
            return;
        };
        if self.known(kernel, header).is_some() {
            return;
        }
        let is_back = self.followers[slot].iteration > 1;
        if !is_back && !self.spec.knows_plans() {
            return;
        }
        let code = &config.program.kernels[kernel as usize].code;
        if self.spec.exits == LoopExits::Refused && !loops::has_one_exit(code, header) {
            self.counts.with_exit += 1;
            self.remember(Known {
                kernel,
                header,
                plan: None,
            });
        } else if self.spec.knows_plans() {
            self.plan_ahead(slot, wavefront, config, now);
        } else {
            self.iterate(slot, (kernel, header), config, now);
        }
    }

    /// Gives an iteration that a wavefront begins to the analysis of its loop.
    fn iterate(&mut self, slot: usize, of: (u32, u32), config: &mut UnitConfig, now: Cycle) {
        let (kernel, header) = of;
        let number = slot as u8;
        let is_mine = self
            .analysis
            .as_ref()
            .is_some_and(|analysis| analysis.slot == Some(number));
        if is_mine {
            self.end_pass(config, now);
            if self.known(kernel, header).is_some() {
                return;
            }
        }
        match &mut self.analysis {
            Some(analysis) if analysis.slot.is_some() => {}
            Some(analysis) if analysis.is_of(kernel, header) => {
                analysis.begin_loads(number, is_mine);
            }
            analysis => {
                let literal = self.spec.literal_table;
                *analysis = Some(Analysis::new(kernel, header, number, literal));
            }
        }
    }

    fn end_pass(&mut self, config: &mut UnitConfig, now: Cycle) {
        let Some(mut analysis) = self.analysis.take() else {
            return;
        };
        match analysis.pass {
            Pass::Values => {
                analysis.end_values();
                self.analysis = Some(analysis);
            }
            Pass::Loads => {
                let of = (analysis.kernel, analysis.header);
                self.make_plan(of, analysis.pairs(self.spec.pairs), config, now);
            }
        }
    }

    /// Notes that a wavefront leaves its loop.
    fn leave(&mut self, slot: usize, config: &mut UnitConfig, now: Cycle) {
        let number = Some(slot as u8);
        let analysis = self.analysis.as_ref();
        if analysis.is_some_and(|analysis| analysis.slot == number) {
            self.end_pass(config, now);
        }
    }

    /// Analyses the first two iterations of a loop before they run, if there are two.
    fn plan_ahead(
        &mut self,
        slot: usize,
        wavefront: &mut Wavefront,
        config: &mut UnitConfig,
        now: Cycle,
    ) {
        let number = wavefront.place.kernel;
        let program = Arc::clone(&config.program);
        let kernel = &*program.kernels[number as usize];
        let code = &*kernel.code;
        let Some(header) = self.followers[slot].header else {
            return;
        };
        let (record, lanes) = (wavefront.record, wavefront.lanes.clone());
        let mut ahead = LoopAhead {
            source: &mut self.sources[slot],
            wavefront,
            kernel,
            header,
        };
        ahead.read(1);
        if ahead.iteration(1).is_none() {
            return;
        }
        let mut analysis = Analysis::new(number, header, slot as u8, self.spec.literal_table);
        analysis.watch(code, &record, &lanes);
        for (_, later) in ahead.records() {
            if later.record.pc == header {
                if analysis.pass == Pass::Loads {
                    break;
                }
                analysis.end_values();
                analysis.begin_loads(slot as u8, true);
            }
            analysis.watch(code, &later.record, &later.lanes);
        }
        let pairs = analysis.pairs(self.spec.pairs);
        self.make_plan((number, header), pairs, config, now);
    }

    /// Remembers the result of an analysis.
    fn make_plan(
        &mut self,
        (kernel, header): (u32, u32),
        pairs: Vec<Pair>,
        config: &mut UnitConfig,
        now: Cycle,
    ) {
        let code = &config.program.kernels[kernel as usize].code;
        let latches = if loops::has_one_exit(code, header) {
            Vec::new()
        } else {
            loops::latches(code, header)
        };
        let plan = Plan {
            kernel,
            base: config.decoded.bases[kernel as usize],
            header,
            pairs,
            latches,
        };
        if plan.pairs.is_empty() {
            let plan = None;
            self.remember(Known {
                kernel,
                header,
                plan,
            });
            return;
        }
        let same = self.plans.iter().position(|known| known.equals(&plan));
        let place = same.unwrap_or(self.plans.len());
        if same.is_none() {
            self.plans.push(plan);
            self.add_entries(config);
        }
        self.counts.planned += 1;
        self.planned_at.get_or_insert(now);
        self.remember(Known {
            kernel,
            header,
            plan: Some(place as u32),
        });
    }

    /// Lets a wavefront at a header follow the plan of its loop, if there is one.
    fn follow(&mut self, slot: usize, wavefront: &mut Wavefront, kernel: &KernelTrace) {
        let number = wavefront.place.kernel;
        let Follower {
            spare,
            header: Some(header),
            iteration,
            following: None,
        } = self.followers[slot]
        else {
            return;
        };
        let known = self.known(number, header).and_then(|known| known.plan);
        let Some(plan) = known else { return };
        let mask = wavefront.record.mask;
        let mut ahead = LoopAhead {
            source: &mut self.sources[slot],
            wavefront,
            kernel,
            header,
        };
        ahead.read(distance::IterationsLeft::MOST);
        // The compiler counts this iteration too.
        let left = ahead.left(mask, u32::from(self.spec.is_compiler()));
        let needs = self.plans[plan as usize].needs(&kernel.code, &self.spec);
        let distance = self.spec.distance.choose(left, needs, spare);
        self.distances[distance as usize] += 1;
        self.registers_used = self.registers_used.max(needs.at(distance));
        let following = Following::new(plan, iteration, distance);
        self.followers[slot].following = Some(following);
    }
}

impl Instrumented for SpareRegisters {
    fn statistics(&self, statistics: &mut Statistics<'_>) {
        self.counts.statistics(statistics);
        statistics.under("prefetch_distance", |statistics| {
            statistics.counters(&DISTANCES, &self.distances);
        });
        statistics.maximum(
            "spare_registers_max",
            "registers",
            "registers per thread that prefetching uses, the most of any loop",
            u64::from(self.registers_used),
        );
        statistics.maximum(
            "first_plan_cycle",
            "cycle",
            "cycle in which the first loop was planned; 0 without plans",
            self.planned_at.unwrap_or(0),
        );
    }
}
