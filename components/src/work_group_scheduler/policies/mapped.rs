//! Mapping unit: work-groups that reuse each other's lines go to the same compute unit.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use warpweave_framework::{NeutralSpec, PolicyContext, PolicyKind, SpecError, State, Statistics};
use warpweave_random::CounterRng;

use super::mapping::Lines;
use super::{QueueEnd, Remainder, UnitQueues, assign};
use crate::artefact::artefact;
use crate::locality_plan::{self, Direction, LocalityPlan};
use crate::work_group_scheduler::{
    Assignment, Kernel, OldestFirst, OneKernelPolicy, PlacementChoice, PlacementPolicy,
    PlacementSite, WorkGroupPlacement,
};
use crate::work_group_table::{self, WorkGroupTable};

/// Name of the launch attribute that states a direction: 0 none, 1 along x, 2 along y.
const ATTRIBUTE: &str = "work_group_map";

/// Origin of the direction of a launch under [`Mapped`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MapBy {
    /// The locality plan of the scenario's program.
    #[default]
    Plan,
    /// The attribute `work_group_map` of the launch: 0 none, 1 along x, 2 along y. A launch without
    /// it has none.
    Attribute,
    /// This direction for every launch of the program.
    Fixed(Direction),
    /// No direction: the scenario's table of work-groups. A launch that is not in it is placed in
    /// turn; one of another number of work-groups is refused.
    Table,
}

/// Queue from which a unit takes whose own queue is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Steal {
    /// None; a unit without work-groups stays idle.
    #[default]
    Never,
    /// The longest queue, from its tail; ties go to the lowest unit.
    Longest,
    /// The queue of the next unit that has one, from its tail.
    Next,
}

/// Order of the work-groups in a unit's queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum QueueOrder {
    /// Along the direction of the mapping.
    #[default]
    Along,
    /// By linear number in the grid.
    Linear,
}

/// Work-groups that go into the queues of a mapped launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Deal {
    /// Those that the mapping assigns to the unit.
    #[default]
    Mapping,
    /// Single work-groups at random, as many to each unit as under the mapping: a control.
    Shuffled {
        /// Seed of the shuffle; equal seeds give equal queues.
        seed: u64,
    },
}

/// Parameters of the [`Mapped`] placement policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MappedSpec {
    /// Origin of the direction of each launch. Source: mapping paper, section 2, whose
    /// control register is `Attribute` and whose compiler is `Plan`.
    pub by: MapBy,
    /// Division of the work-groups left after whole rows or columns. Source: mapping paper,
    /// Algorithm 3, `CeilChunk` as printed and `Balanced` as described.
    pub remainder: Remainder,
    /// Stealing by units whose queue is empty. Source: the mapping paper maps statically.
    pub steal: Steal,
    /// Order in which a unit runs its work-groups. Source: own choice.
    pub order: QueueOrder,
    /// Contents of the queues. Source: own choice.
    pub deal: Deal,
}

/// Maps whole rows or columns of the grid to a unit, and divides the rest. A freed place takes the
/// head of its unit's queue. A launch without a direction is placed as by
/// [`DemandRoundRobin`](super::DemandRoundRobin).
///
/// Source: the mapping unit of the mapping paper, section 2, with Algorithm 3 corrected.
#[derive(State, Statistics)]
pub struct Mapped {
    #[state(skip)]
    spec: MappedSpec,
    #[state(skip)]
    plan: Arc<LocalityPlan>,
    /// Table of the scenario, empty if `by` is something else.
    #[state(skip)]
    table: Arc<WorkGroupTable>,
    /// Waiting work-groups of the current launch, if it is mapped.
    queues: Option<UnitQueues<u32>>,
    /// Next work-group of a launch that is not mapped.
    next: u32,
    /// Unit at which the search for room starts.
    pointer: usize,
    /// Set of units that have room.
    #[state(with = crate::bits::visit)]
    open: FixedBitSet,
    #[state(flatten)]
    #[statistic(flatten)]
    counts: Counts,
}

/// Counts of all launches so far.
#[derive(Default, State, Statistics)]
struct Counts {
    /// launches placed in turn, without a direction
    #[statistic(unit = "kernels")]
    launches_round_robin: u64,
    /// launches mapped by whole rows, along x
    #[statistic(unit = "kernels")]
    launches_along_x: u64,
    /// launches mapped by whole columns, along y
    #[statistic(unit = "kernels")]
    launches_along_y: u64,
    /// launches whose work-groups a table places
    #[statistic(unit = "kernels")]
    launches_by_table: u64,
    /// work-groups in the longest queue of a mapped launch, added up over such launches
    #[statistic(unit = "work-groups")]
    queue_longest: u64,
    /// work-groups in the shortest queue of a mapped launch, added up over such launches
    #[statistic(unit = "work-groups")]
    queue_shortest: u64,
    /// work-groups that ran on another unit than they were mapped to
    #[statistic(unit = "work-groups")]
    work_groups_stolen: u64,
}

/// Plan and table of a scenario, each empty if the policy does not ask for it.
#[derive(Default)]
struct Known {
    plan: Arc<LocalityPlan>,
    table: Arc<WorkGroupTable>,
}

impl Mapped {
    fn new(spec: MappedSpec, known: Known, site: PlacementSite) -> Self {
        Self {
            spec,
            plan: known.plan,
            table: known.table,
            queues: None,
            next: 0,
            pointer: 0,
            open: FixedBitSet::with_capacity(site.units() as usize),
            counts: Counts::default(),
        }
    }

    /// Returns the direction of a launch; none if a table places it.
    ///
    /// # Errors
    /// The launch states a direction that does not exist.
    fn direction(&self, kernel: &Kernel<'_>) -> Result<Direction, String> {
        match self.spec.by {
            MapBy::Plan => Ok(self.plan.launch(kernel.number()).direction),
            MapBy::Fixed(direction) => Ok(direction),
            MapBy::Table => Ok(Direction::RoundRobin),
            MapBy::Attribute => {
                let mut stated = kernel.attributes().iter();
                match stated.find(|a| a.name == ATTRIBUTE).map(|a| a.value) {
                    None | Some(0) => Ok(Direction::RoundRobin),
                    Some(1) => Ok(Direction::AlongX),
                    Some(2) => Ok(Direction::AlongY),
                    Some(other) => Err(format!(
                        "the launch of kernel `{}` has the attribute {ATTRIBUTE} = {other}, expected 0 (none), 1 (along x) or 2 (along y)",
                        kernel.name()
                    )),
                }
            }
        }
    }

    /// Returns the work-groups of each unit for a launch in this direction.
    fn dealt(&self, kernel: &Kernel<'_>, direction: Direction) -> Vec<Vec<u32>> {
        let units = self.open.len() as u32;
        let table = self.table.launch(kernel.number());
        let mut queues = match table {
            Some(orders) => {
                let mut queues = orders.clone();
                queues.resize(units as usize, Vec::new());
                queues
            }
            None => assign(kernel.grid(), units, direction, self.spec.remainder),
        };
        let is_in_order = table.is_some() && self.spec.deal == Deal::Mapping;
        if let Deal::Shuffled { seed } = self.spec.deal {
            shuffle(&mut queues, seed, kernel.number());
        }
        let lines = Lines::new(kernel.grid(), direction);
        for queue in &mut queues {
            match self.spec.order {
                QueueOrder::Along if is_in_order => {}
                QueueOrder::Along => queue.sort_unstable_by_key(|&w| lines.position(w)),
                QueueOrder::Linear => queue.sort_unstable(),
            }
        }
        queues
    }

    /// Returns the source of the next work-group of a unit.
    fn source(&self, queues: &UnitQueues<u32>, unit: u32) -> Option<QueueEnd> {
        let units = queues.units();
        match self.spec.steal {
            Steal::Never => queues.source(unit, |_| false),
            Steal::Longest => queues.source(unit, |_| true),
            Steal::Next => queues.source(unit, |_| false).or_else(|| {
                let mut others = (1..units).map(|step| (unit + step) % units);
                let victim = others.find(|&other| queues.len(other) > 0);
                victim.map(QueueEnd::Tail)
            }),
        }
    }

    /// Returns the next work-group of a unit.
    fn next_of(&self, unit: u32) -> Option<u32> {
        match &self.queues {
            None => Some(self.next),
            Some(queues) => queues.peek(self.source(queues, unit)?).copied(),
        }
    }
}

/// Deals all work-groups at random; the queues keep their lengths.
fn shuffle(queues: &mut [Vec<u32>], seed: u64, launch: u32) {
    let dice = CounterRng::new(seed, "work-groups of a mapping");
    let mut all = queues.concat();
    for at in (1..all.len() as u64).rev() {
        let other = dice.below(u64::from(launch) << 32 | at, at + 1);
        all.swap(at as usize, other as usize);
    }
    let mut dealt = all.into_iter();
    for queue in queues {
        queue.fill_with(|| dealt.next().expect("as many as in all queues"));
    }
}

impl PolicyKind for Mapped {
    type Role = WorkGroupPlacement;
    const NAME: &'static str = "Mapped";
    const SUMMARY: &'static str =
        "Whole rows or columns of the grid go to one unit, in the direction of reuse";
    const WITHOUT_EFFECT: Option<NeutralSpec> = Some(NeutralSpec {
        ron: "Mapped(by: Fixed(RoundRobin))",
        like: "DemandRoundRobin",
    });
    type Spec = MappedSpec;

    fn build(
        spec: MappedSpec,
        context: &PolicyContext<'_, WorkGroupPlacement>,
    ) -> Result<Box<dyn PlacementPolicy>, SpecError> {
        let at_by = |error: SpecError| SpecError::at("by", error.message);
        let mut known = Known::default();
        match &spec.by {
            MapBy::Plan => {
                known.plan = artefact(context.environment, locality_plan::WHAT).map_err(at_by)?;
            }
            MapBy::Table => {
                let table = artefact(context.environment, work_group_table::WHAT).map_err(at_by)?;
                let table: Arc<WorkGroupTable> = table;
                let units = context.site.units() as usize;
                let mut launches = table.launches.iter();
                if let Some((launch, orders)) = launches.find(|(_, orders)| orders.len() > units) {
                    let message = format!(
                        "the table of launch {launch} has {} units, but there are {units}",
                        orders.len()
                    );
                    return Err(SpecError::at("by", message));
                }
                known.table = table;
            }
            MapBy::Attribute | MapBy::Fixed(_) => {}
        }
        Ok(OldestFirst::boxed(Self::new(spec, known, *context.site)))
    }
}

impl OneKernelPolicy for Mapped {
    fn accepts(&self, kernel: &Kernel<'_>) -> Result<(), String> {
        if let Some(count) = self.table.work_groups(kernel.number())
            && count != kernel.work_groups() as usize
        {
            return Err(format!(
                "the table of launch {} has {count} work-groups, but kernel `{}` has {}",
                kernel.number(),
                kernel.name(),
                kernel.work_groups()
            ));
        }
        self.direction(kernel).map(|_| ())
    }

    fn begin(&mut self, kernel: Kernel<'_>) {
        self.next = 0;
        self.pointer = 0;
        let direction = self.direction(&kernel).unwrap_or_default();
        let has_table = self.table.launch(kernel.number()).is_some();
        let counts = &mut self.counts;
        *match direction {
            Direction::AlongX => &mut counts.launches_along_x,
            Direction::AlongY => &mut counts.launches_along_y,
            Direction::RoundRobin if has_table => &mut counts.launches_by_table,
            Direction::RoundRobin => &mut counts.launches_round_robin,
        } += 1;
        self.queues = None;
        if direction == Direction::RoundRobin && !has_table {
            return;
        }
        let dealt = self.dealt(&kernel, direction);
        let lengths = dealt.iter().map(|queue| queue.len() as u64);
        self.counts.queue_longest += lengths.clone().max().unwrap_or(0);
        self.counts.queue_shortest += lengths.min().unwrap_or(0);
        let mut queues = UnitQueues::new(self.open.len() as u32);
        for (unit, queue) in (0..).zip(dealt) {
            for work_group in queue {
                queues.push(unit, work_group);
            }
        }
        self.queues = Some(queues);
    }

    fn update(&mut self, unit: u32, _resident: u32, room: u32) {
        self.open.set(unit as usize, room > 0);
    }

    fn choose(&mut self, sendable: &mut dyn FnMut(u32) -> bool) -> PlacementChoice<Assignment> {
        let units = self.open.len();
        let from_pointer = (self.pointer..units).chain(0..self.pointer);
        let mut open = from_pointer
            .filter(|&unit| self.open.contains(unit))
            .peekable();
        if open.peek().is_none() {
            return PlacementChoice::UnitsFull;
        }
        let with_work = open.map(|unit| unit as u32);
        let mut with_work = with_work.filter_map(|unit| Some((unit, self.next_of(unit)?)));
        match with_work.next() {
            None => PlacementChoice::HeldBack,
            Some((unit, work_group)) if sendable(unit) => {
                PlacementChoice::Place(Assignment { work_group, unit })
            }
            Some(_) => PlacementChoice::UnitBusy,
        }
    }

    fn placed(&mut self, placed: Assignment) {
        self.pointer = (placed.unit as usize + 1) % self.open.len();
        self.next += 1;
        let Some(mut queues) = self.queues.take() else {
            return;
        };
        if let Some(from) = self.source(&queues, placed.unit) {
            self.counts.work_groups_stolen += u64::from(matches!(from, QueueEnd::Tail(_)));
            queues.take(from);
        }
        self.queues = Some(queues);
    }
}
