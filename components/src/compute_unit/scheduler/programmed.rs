//! Programmable wavefront scheduler: in a loop, only a group of wavefronts whose lines fit the
//! first-level cache issues loads.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{
    Cycle, NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics, TimeWeighted,
};
use warpweave_random::CounterRng;
use warpweave_trace::Program;

use super::built_in::next_in_turn;
use super::group_size::Capacity;
use super::{
    Arrival, GroupScope, Irregular, Issue, SchedulerSite, SchedulerView, Throttled,
    WavefrontPolicy, WavefrontScheduler, WavefrontScheduling,
};
use crate::artefact::artefact;
use crate::locality_plan::{LocalityPlan, LoopPlan, WHAT};

/// Size of the groups of [`Programmed`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum GroupSize {
    /// By the lines of the plan. A loop in which all wavefronts fit is left alone.
    #[default]
    Plan,
    /// This size, 1 to 64, for every loop with reuse; at least the unit's wavefront slots: none.
    Fixed(u32),
    /// At random for the loops that `Plan` groups, 1 to one less than could be members: a control.
    Drawn {
        /// Seed of the sizes; equal seeds give equal sizes.
        seed: u64,
    },
}

/// Instructions that wavefronts outside the group of their loop may issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OutsideGroup {
    /// All but loads from global or private memory.
    #[default]
    NoLoads,
    /// No instruction, until they become members.
    Nothing,
}

/// Order of issue within a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InsideGroup {
    /// Round robin among those that can issue.
    #[default]
    InTurn,
    /// Greedy, then oldest, as between groups.
    Gto,
}

/// Parameters of the [`Programmed`] wavefront scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProgrammedSpec {
    /// Wavefronts among which lines are reused. Source: mapping paper, Algorithm 2;
    /// `Along` belongs to a placement along the plan's direction.
    pub scope: GroupScope,
    /// Lines of the first-level cache, 1 to 1048576. Source: 16 KB of 128 bytes, mapping
    /// paper, table 1.
    pub lines: u32,
    /// Share of the lines that a group may use, 1 to 100. Source: own choice.
    pub fill_percent: u32,
    /// Origin of the group sizes. Source: own choice.
    pub group: GroupSize,
    /// Instructions that wavefronts outside the group may issue. Source: own choice.
    pub others: OutsideGroup,
    /// Order of issue within a group. Source: own choice.
    pub inside: InsideGroup,
    /// Lines that loads at unknown addresses count. Source: own choice.
    pub irregular: Irregular,
    /// Cycles for which a wavefront cannot issue when it enters or leaves a grouped loop, 0 to
    /// 1000. Source: own choice, one control instruction.
    pub entry_cycles: u32,
}

impl Default for ProgrammedSpec {
    fn default() -> Self {
        Self {
            scope: GroupScope::default(),
            lines: 128,
            fill_percent: 90,
            group: GroupSize::default(),
            others: OutsideGroup::default(),
            inside: InsideGroup::default(),
            irregular: Irregular::default(),
            entry_cycles: 1,
        }
    }
}

/// Loop of a launch that has a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GroupedLoop {
    /// Index of the loop in the plan of its launch.
    number: u32,
    group: u32,
}

/// Grouped loops of every launch that has any, those with the fewest instructions first.
#[derive(Debug)]
struct Loops {
    plan: Arc<LocalityPlan>,
    grouped: BTreeMap<u32, Vec<GroupedLoop>>,
}

impl Loops {
    fn new(
        spec: &ProgrammedSpec,
        plan: Arc<LocalityPlan>,
        program: &Program,
        wavefront_slots: u32,
    ) -> Self {
        let capacity = Capacity {
            scope: spec.scope,
            lines: (u64::from(spec.lines) * u64::from(spec.fill_percent) / 100) as u32,
            irregular: spec.irregular,
        };
        let mut grouped = BTreeMap::new();
        for ((kernel, launch), trace) in (0..).zip(&plan.launches).zip(&program.kernels) {
            let limit = capacity.limit(launch, trace.wavefronts_per_work_group());
            let size = |number: u32, known: &LoopPlan| {
                let fitting = capacity.group(launch, known)?;
                let is_grouped = fitting < limit.min(wavefront_slots);
                match spec.group {
                    GroupSize::Plan => is_grouped.then_some(fitting),
                    GroupSize::Fixed(size) => (size < wavefront_slots).then_some(size),
                    GroupSize::Drawn { seed } => is_grouped.then(|| {
                        let dice = CounterRng::new(seed, "group sizes");
                        let loop_of_launch = u64::from(kernel) << 32 | u64::from(number);
                        1 + dice.below(loop_of_launch, u64::from(limit) - 1) as u32
                    }),
                }
            };
            let sized = (0..).zip(&launch.loops).filter_map(|(number, known)| {
                let group = size(number, known)?;
                Some(GroupedLoop { number, group })
            });
            let mut sized: Vec<GroupedLoop> = sized.collect();
            if !sized.is_empty() {
                let instructions =
                    |l: &GroupedLoop| launch.loops[l.number as usize].instructions.count_ones(..);
                sized.sort_by_key(instructions);
                grouped.insert(kernel, sized);
            }
        }
        Self { plan, grouped }
    }

    /// Returns the innermost grouped loop around an instruction of a launch, by its position in
    /// [`grouped`](Self::grouped).
    fn around(&self, kernel: u32, pc: u32) -> Option<u32> {
        let grouped = self.grouped.get(&kernel)?;
        let loops = &self.plan.launch(kernel).loops;
        let is_around =
            |l: &GroupedLoop| loops[l.number as usize].instructions.contains(pc as usize);
        grouped.iter().position(is_around).map(|at| at as u32)
    }

    fn group(&self, kernel: u32, at: u32) -> u32 {
        let grouped = self.grouped.get(&kernel);
        grouped
            .and_then(|grouped| grouped.get(at as usize))
            .map_or(u32::MAX, |grouped| grouped.group)
    }
}

/// A wavefront as a policy knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Resident {
    kernel: u32,
    /// Grouped loop in which it is, if it is in one.
    inside: Option<u32>,
    /// First cycle in which it may issue after it entered or left a loop.
    free_at: Cycle,
}

/// Issues loads of a loop only from its group: the oldest wavefronts of the unit in the loop. There
/// are as many as keep their lines in the cache, according to the plan. A member that ends or waits
/// at a barrier gives its place to the next oldest. Outside loops, and between group and others, it
/// is greedy, then oldest.
///
/// Source: the mapping paper, section 3. The scheduler itself is published in a
/// dissertation that is not available; this is a reconstruction.
#[derive(State, Statistics)]
pub struct Programmed {
    #[state(skip)]
    spec: ProgrammedSpec,
    #[state(skip)]
    loops: Arc<Loops>,
    #[state(skip)]
    slots: u64,
    /// Every wavefront of the unit, by slot.
    #[state(array)]
    residents: Vec<Resident>,
    /// Wavefronts of the unit inside grouped loops.
    inside: u64,
    /// Bit of the slot that issued last; 0 after its wavefront has left.
    last: u64,
    /// Bits of the slots that issued last in their groups.
    turn: u64,
    #[state(flatten)]
    #[statistic(flatten)]
    counts: Counts,
}

#[derive(Default, State, Statistics)]
struct Counts {
    /// entries of wavefronts into grouped loops
    #[statistic(unit = "entries")]
    loops_entered: u64,
    /// average size of the group, over the entries into grouped loops
    #[statistic(mean, weight = self.loops_entered, by = "loops_entered", unit = "wavefronts")]
    group_size: u64,
    /// average number of the scheduler's wavefronts inside grouped loops
    #[statistic(unit = "wavefronts")]
    wavefronts_in_loops: TimeWeighted,
}

impl Programmed {
    fn new(spec: ProgrammedSpec, loops: Arc<Loops>, site: &SchedulerSite) -> Self {
        Self {
            spec,
            loops,
            slots: site.slots,
            residents: vec![Resident::default(); site.wavefront_slots as usize],
            inside: 0,
            last: 0,
            turn: 0,
            counts: Counts::default(),
        }
    }

    /// Returns the members of all groups.
    fn members(&self, view: &SchedulerView<'_>) -> u64 {
        let mut left = self.inside & view.present & !view.ended & !view.at_barrier;
        let mut members = 0;
        // By loop, as there are as many groups as loops with wavefronts inside.
        while left != 0 {
            let same = left & self.same_loop(left.trailing_zeros() as usize);
            left &= !same;
            let resident = self.residents[same.trailing_zeros() as usize];
            let at = resident.inside.unwrap_or_default();
            let group = self.loops.group(resident.kernel, at);
            members |= oldest(same, group, view);
        }
        members
    }

    /// Returns the wavefronts in the loop of the one in `slot`.
    fn same_loop(&self, slot: usize) -> u64 {
        let of = &self.residents[slot];
        let is_same = |other: &Resident| (other.kernel, other.inside) == (of.kernel, of.inside);
        let slots = self.residents.iter().enumerate();
        let same = slots.filter(|(slot, other)| self.inside >> slot & 1 == 1 && is_same(other));
        same.map(|(slot, _)| 1 << slot).sum()
    }

    fn enter(&mut self, slot: usize, inside: Option<u32>, view: &SchedulerView<'_>) {
        let bit = 1 << slot;
        self.residents[slot].inside = inside;
        self.inside = self.inside & !bit | inside.map_or(0, |_| bit);
        let mine = u64::from((self.inside & self.slots).count_ones());
        self.counts.wavefronts_in_loops.set(view.now, mine);
        if let Some(at) = inside
            && self.slots & bit != 0
        {
            self.counts.loops_entered += 1;
            let group = self.loops.group(self.residents[slot].kernel, at);
            self.counts.group_size += u64::from(group);
        }
    }

    /// Returns the own wavefronts that have just entered or left a loop, with their first cycle.
    fn entering(&self, now: Cycle) -> impl Iterator<Item = (u64, Cycle)> {
        let slots = self.residents.iter().enumerate();
        let slots = slots
            .filter(move |(slot, resident)| self.slots >> slot & 1 == 1 && resident.free_at > now);
        slots.map(|(slot, resident)| (1 << slot, resident.free_at))
    }
}

/// Returns the oldest `count` of these wavefronts.
fn oldest(mut among: u64, count: u32, view: &SchedulerView<'_>) -> u64 {
    if among.count_ones() <= count {
        return among;
    }
    let mut chosen = 0;
    for _ in 0..count {
        let bit = 1 << view.ages.oldest(among);
        chosen |= bit;
        among &= !bit;
    }
    chosen
}

impl PolicyKind for Programmed {
    type Role = WavefrontScheduling;
    const NAME: &'static str = "Programmed";
    const SUMMARY: &'static str = "In a loop, loads only from a group of wavefronts whose lines fit the cache, according to a locality plan";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Programmed(group: Fixed(64), inside: Gto)",
        like: "Gto",
    });
    type Spec = ProgrammedSpec;

    fn build(
        spec: ProgrammedSpec,
        context: &PolicyContext<'_, WavefrontScheduling>,
    ) -> Result<WavefrontPolicy, SpecError> {
        SpecError::in_range("lines", spec.lines, 1..=1 << 20)?;
        SpecError::in_range("fill_percent", spec.fill_percent, 1..=100)?;
        SpecError::in_range("entry_cycles", spec.entry_cycles, 0..=1000)?;
        if let GroupSize::Fixed(size) = spec.group {
            SpecError::in_range("group", size, 1..=64)?;
        }
        let Some(program) = context.environment.resource::<Program>() else {
            let message = "a program is required, but none was provided";
            return Err(SpecError::at("", message));
        };
        let plan = artefact(context.environment, WHAT)?;
        let slots = context.site.wavefront_slots;
        let loops = Arc::new(Loops::new(&spec, plan, &program, slots));
        Ok(WavefrontPolicy::open(Self::new(spec, loops, context.site)))
    }
}

impl WavefrontScheduler for Programmed {
    fn needs_passes(&self) -> bool {
        !self.loops.grouped.is_empty()
    }

    fn pick(&self, ready: u64, view: &SchedulerView<'_>) -> usize {
        let greedy = |among: u64| {
            if among & self.last == 0 {
                view.ages.oldest(among)
            } else {
                self.last.trailing_zeros() as usize
            }
        };
        if ready & self.inside == 0 || self.spec.inside == InsideGroup::Gto {
            return greedy(ready);
        }
        let members = self.members(view);
        let group_of = |slot: usize| members & self.same_loop(slot);
        // Stay with the group of the wavefront that issued last, also while others of it issue.
        let last = self.last.trailing_zeros() as usize;
        let current = if self.last & members == 0 {
            0
        } else {
            group_of(last)
        };
        let slot = if ready & current == 0 {
            greedy(ready)
        } else {
            last
        };
        let group = if members >> slot & 1 == 1 {
            group_of(slot)
        } else {
            0
        };
        if ready & group == 0 {
            slot
        } else {
            next_in_turn(ready & group, self.turn & group)
        }
    }

    fn throttled(&self, view: &SchedulerView<'_>) -> Throttled {
        let entering = self.entering(view.now).map(|(bit, _)| bit).sum();
        let others = if self.inside == 0 {
            0
        } else {
            self.inside & !self.members(view)
        };
        match self.spec.others {
            OutsideGroup::NoLoads => Throttled {
                all: entering,
                loads: others,
            },
            OutsideGroup::Nothing => Throttled::all(entering | others),
        }
    }

    fn throttle_changes(&self, view: &SchedulerView<'_>) -> Option<Cycle> {
        self.entering(view.now).map(|(_, free_at)| free_at).min()
    }

    fn arrive(&mut self, arrival: &Arrival, view: &SchedulerView<'_>) {
        self.last &= !(1 << arrival.slot);
        self.turn &= !(1 << arrival.slot);
        self.enter(arrival.slot, None, view);
        self.residents[arrival.slot] = Resident {
            kernel: arrival.kernel,
            ..Resident::default()
        };
    }

    fn leave(&mut self, slot: usize, view: &SchedulerView<'_>) {
        self.last &= !(1 << slot);
        self.enter(slot, None, view);
        self.residents[slot].free_at = 0;
    }

    fn passes(&mut self, slot: usize, pc: u32, view: &SchedulerView<'_>) {
        let resident = self.residents[slot];
        let inside = self.loops.around(resident.kernel, pc);
        if inside == resident.inside {
            return;
        }
        self.enter(slot, inside, view);
        if self.spec.entry_cycles > 0 {
            self.residents[slot].free_at = view.now + 1 + Cycle::from(self.spec.entry_cycles);
        }
    }

    fn issued(&mut self, issue: &Issue, view: &SchedulerView<'_>) {
        let bit = 1 << issue.slot;
        self.last = bit;
        if self.inside & bit != 0 {
            let group = self.members(view) & self.same_loop(issue.slot);
            self.turn = self.turn & !group | group & bit;
        }
    }
}
