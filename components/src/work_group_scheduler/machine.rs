//! Resource accounts of kernels and units, exact and readable by policies.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, IdTable, State};
use warpweave_trace::{Attribute, KernelTrace, Parent, Place, Program};

use super::bodies::Bodies;
use super::unit::Unit;
use super::{Placement, PlacementSite};
use crate::launch::KernelReady;
use crate::occupancy::{Limiter, Occupancy, UnitLimits, WorkGroupNeeds};

/// Read-only view of a kernel for placement policies.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    trace: &'a KernelTrace,
    ready: KernelReady,
    per_unit: Occupancy,
}

impl<'a> Kernel<'a> {
    /// Creates the view of a kernel from its trace and ready message; `per_unit` of its work-groups
    /// fit an empty unit.
    pub fn new(trace: &'a KernelTrace, ready: KernelReady, per_unit: Occupancy) -> Self {
        Self {
            trace,
            ready,
            per_unit,
        }
    }

    /// Returns the name of its entry point.
    pub fn name(&self) -> &'a str {
        &self.trace.code.name
    }

    /// Returns the number of its launch in the program.
    pub fn number(&self) -> u32 {
        self.ready.kernel
    }

    /// Returns the number of its work-groups. Their indices are linear, with x fastest.
    pub fn work_groups(&self) -> u32 {
        self.trace.work_groups()
    }

    /// Returns the number of work-groups along x, y and z.
    pub fn grid(&self) -> [u32; 3] {
        self.trace.grid
    }

    /// Returns the number of threads of a work-group along x, y and z.
    pub fn block(&self) -> [u32; 3] {
        self.trace.block
    }

    /// Returns the work-group that launched it; `None` for launches from the host.
    pub fn parent(&self) -> Option<Parent> {
        self.trace.parent
    }

    /// Returns the attributes of its launch in the program.
    pub fn attributes(&self) -> &'a [Attribute] {
        &self.trace.attributes
    }

    /// Returns the priority from its launch; larger is more urgent.
    pub fn priority(&self) -> u8 {
        self.ready.priority
    }

    /// Returns the hint from its launch, with a meaning defined by the launcher and the policy.
    pub fn hint(&self) -> u32 {
        self.ready.hint
    }

    /// Returns how many of its work-groups an empty unit holds, and the limiting resource.
    pub fn per_unit(&self) -> Occupancy {
        self.per_unit
    }
}

/// Compute units with their residents, and the running kernels.
#[derive(State)]
pub struct Machine {
    #[state(skip)]
    site: PlacementSite,
    #[state(skip)]
    program: Arc<Program>,
    /// Work-group needs of each kernel of the program.
    #[state(skip)]
    needs: Vec<WorkGroupNeeds>,
    /// Cooperative kernels of the program, ascending.
    #[state(skip)]
    cooperative: Vec<u32>,
    #[state(skip)]
    limits: UnitLimits,
    #[state(array)]
    units: Vec<Unit>,
    kernels: IdTable<Running>,
}

/// State of a kernel from ready to done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) ready: KernelReady,
    /// Cycle in which the kernel became ready.
    pub(super) since: Cycle,
    pub(super) work_groups: u32,
    /// Residency of this kernel alone on a unit.
    per_unit: Occupancy,
    needs: WorkGroupNeeds,
    /// Bit per work-group, set when it has been placed.
    #[serde(deserialize_with = "crate::bits::read")]
    placed: FixedBitSet,
    pub(super) unplaced: u32,
    uncompleted: u32,
    /// Contexts of a placed launch; `None` if work-groups execute what their number says.
    bodies: Option<Box<Bodies>>,
}

/// Placeholder limits until the units have published theirs.
const NOTHING: UnitLimits = UnitLimits {
    wavefront_slots: 0,
    work_group_slots: 0,
    registers: 0,
    register_partitions: 1,
    register_granularity: 1,
    local_memory_bytes: 0,
};

impl Running {
    pub(super) fn limiter(&self) -> Limiter {
        self.per_unit.limiter
    }

    /// Returns the number by which the policy knows the work-group that executes a body.
    fn placed_as(&self, body: u32) -> u32 {
        let bodies = self.bodies.as_ref();
        bodies.map_or(body, |bodies| bodies.placed_as(body))
    }
}

/// A work-group that has just been placed: its slot on the unit, and what it executes there.
pub(super) struct Started {
    pub(super) slot: u16,
    /// Number of the work-group in the trace.
    pub(super) body: u32,
}

/// A work-group that has just ended.
pub(super) struct Ended {
    pub(super) kernel: Id,
    /// Number by which the policy knows it.
    pub(super) work_group: u32,
    /// True if it was the last one of its kernel.
    pub(super) is_last: bool,
}

/// Reason why a launch can never run on the machine.
pub(super) struct Misfit {
    /// Resource of a unit that decides; `None` if the number of units does.
    pub(super) limiter: Option<Limiter>,
    pub(super) message: String,
}

/// Names a launch of the program.
fn numbered(kernel: u32, launch: &KernelTrace) -> String {
    format!("kernel {kernel} (`{}`)", launch.code.name)
}

impl Machine {
    /// Creates a machine whose units must still be [equipped](Self::equip).
    pub(super) fn new(site: PlacementSite, program: Arc<Program>) -> Self {
        let needs = program.kernels.iter();
        let cooperative = (0..).zip(&program.kernels);
        let cooperative = cooperative.filter(|(_, kernel)| kernel.is_cooperative());
        Self {
            site,
            needs: needs.map(|kernel| WorkGroupNeeds::of(kernel)).collect(),
            cooperative: cooperative.map(|(number, _)| number).collect(),
            program,
            limits: NOTHING,
            units: Vec::new(),
            kernels: IdTable::default(),
        }
    }

    /// Sets the limits of every unit and makes all units empty.
    pub(super) fn equip(&mut self, limits: UnitLimits) {
        self.limits = limits;
        let units = 0..self.site.units();
        self.units = units.map(|_| Unit::new(&limits)).collect();
    }

    /// Returns the program whose kernels run.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the number of units and their grouping into clusters.
    pub fn site(&self) -> PlacementSite {
        self.site
    }

    /// Returns the resource limits of every unit.
    pub fn limits(&self) -> &UnitLimits {
        &self.limits
    }

    /// Returns the number of work-groups on a unit, of all kernels; 0 if the unit does not exist.
    pub fn resident(&self, unit: u32) -> u32 {
        self.units.get(unit as usize).map_or(0, Unit::resident)
    }

    /// Returns the work-groups on a unit by slot, each as kernel number and linear index in its
    /// grid.
    pub fn residents(&self, unit: u32) -> impl Iterator<Item = (u32, u32)> {
        let unit = self.units.get(unit as usize).into_iter();
        unit.flat_map(Unit::residents).map(|resident| {
            let running = &self.kernels[resident.kernel];
            (running.ready.kernel, running.placed_as(resident.body))
        })
    }

    /// Returns how many more work-groups of a kernel fit a unit now; 0 if the unit or kernel does
    /// not exist.
    pub fn room(&self, unit: u32, kernel: u32) -> u32 {
        match (self.units.get(unit as usize), self.running(kernel)) {
            (Some(unit), Some((_, running))) => unit.room(&self.limits, &running.needs),
            _ => 0,
        }
    }

    /// Returns a kernel that is ready and not done.
    pub fn kernel(&self, number: u32) -> Option<Kernel<'_>> {
        let (_, running) = self.running(number)?;
        let trace = self.program.kernels.get(number as usize)?;
        Some(Kernel::new(trace, running.ready, running.per_unit))
    }

    /// Returns the number of work-groups of a kernel not placed yet; 0 if the kernel does not
    /// exist.
    pub fn unplaced(&self, kernel: u32) -> u32 {
        self.running(kernel)
            .map_or(0, |(_, running)| running.unplaced)
    }

    /// Finds a running kernel by linear search, since there are few at a time.
    fn running(&self, number: u32) -> Option<(Id, &Running)> {
        let mut kernels = self.kernels.iter();
        kernels.find(|(_, running)| running.ready.kernel == number)
    }

    /// Returns the number of work-groups of a kernel of the program, ready or not, and how many of
    /// them fit a unit.
    ///
    /// # Errors
    /// Fails if the kernel does not exist, or its work-groups never fit or not as it is placed.
    pub(super) fn shape_of(&self, kernel: u32) -> Result<(u32, u32), String> {
        let trace = self.program.kernels.get(kernel as usize);
        let trace = trace.ok_or_else(|| format!("the program has no kernel {kernel}"))?;
        let needs = self.needs[kernel as usize];
        let who = || numbered(kernel, trace);
        let per_unit = self.limits.occupancy(&needs);
        if per_unit.work_groups == 0 {
            return Err(self.never_fits(&who(), &needs));
        }
        self.holds_place(trace, per_unit, who)
            .map_err(|misfit| misfit.message)?;
        Ok((trace.work_groups(), per_unit.work_groups))
    }

    pub(super) fn key_of(&self, kernel: u32) -> Option<Id> {
        self.running(kernel).map(|(key, _)| key)
    }

    pub(super) fn kernels(&self) -> &IdTable<Running> {
        &self.kernels
    }

    /// True if a kernel may begin. A cooperative one waits until there is room for all its
    /// work-groups, and no kernel begins before these are placed.
    pub(super) fn may_begin(&self, kernel: u32) -> bool {
        if self.cooperative.is_empty() {
            return true;
        }
        let is_cooperative = |kernel| self.cooperative.binary_search(&kernel).is_ok();
        let mut unplaced = self.kernels.values().filter(|running| running.unplaced > 0);
        if !is_cooperative(kernel) {
            return !unplaced.any(|running| is_cooperative(running.ready.kernel));
        }
        let needed = self.program.kernels[kernel as usize].work_groups();
        let needs = &self.needs[kernel as usize];
        let room = self.units.iter().map(|unit| unit.room(&self.limits, needs));
        let never = self
            .limits
            .occupancy(needs)
            .work_groups
            .saturating_mul(self.site.units());
        never < needed || unplaced.next().is_none() && room.sum::<u32>() >= needed
    }

    /// Adds a kernel that becomes ready in cycle `now`.
    ///
    /// # Errors
    /// Fails if the kernel does not exist or its work-groups never fit.
    pub(super) fn accept(&mut self, ready: KernelReady, now: Cycle) -> Result<Id, String> {
        let number = ready.kernel;
        let trace = self.program.kernels.get(number as usize).ok_or_else(|| {
            let kernels = self.program.kernels.len();
            format!("the GMU sent kernel {number}, but the program has only {kernels} kernels")
        })?;
        let needs = self.needs[number as usize];
        let per_unit = self.limits.occupancy(&needs);
        self.holds(trace, &needs, || numbered(number, trace))
            .map_err(|misfit| misfit.message)?;
        let work_groups = trace.work_groups();
        Ok(self.kernels.insert(Running {
            ready,
            since: now,
            work_groups,
            per_unit,
            needs,
            placed: FixedBitSet::with_capacity(work_groups as usize),
            unplaced: work_groups,
            uncompleted: work_groups,
            bodies: trace.place().map(|place| Box::new(Bodies::new(place))),
        }))
    }

    /// Checks that a launch can run: a unit holds a work-group of it, and all units together hold
    /// a whole cooperative one. A placed one must be placed as they hold it. `who` names it.
    ///
    /// # Errors
    /// Returns the reason why it can never run.
    pub(super) fn holds(
        &self,
        launch: &KernelTrace,
        needs: &WorkGroupNeeds,
        who: impl Fn() -> String,
    ) -> Result<(), Misfit> {
        let per_unit = self.limits.occupancy(needs);
        let Occupancy {
            work_groups: each,
            limiter,
        } = per_unit;
        let limiter = Some(limiter);
        if each == 0 {
            return Err(Misfit {
                limiter,
                message: self.never_fits(&who(), needs),
            });
        }
        let (work_groups, units) = (launch.work_groups(), self.site.units());
        let all = each.saturating_mul(units);
        if launch.is_cooperative() && work_groups > all {
            let message = format!(
                "{} is a cooperative launch of {work_groups} work-groups, which must all be resident at once; {units} compute units hold {each} each, {all} in all",
                who()
            );
            return Err(Misfit { limiter, message });
        }
        self.holds_place(launch, per_unit, who)
    }

    /// Checks that a placed launch is placed on all units, with as many work-groups as they hold.
    fn holds_place(
        &self,
        launch: &KernelTrace,
        per_unit: Occupancy,
        who: impl Fn() -> String,
    ) -> Result<(), Misfit> {
        let Some(place) = launch.place() else {
            return Ok(());
        };
        let Place {
            units, contexts, ..
        } = place;
        let Occupancy {
            work_groups: each,
            limiter,
        } = per_unit;
        let (all, groups) = (self.site.units(), launch.work_groups());
        let (limiter, problem) = if units != all {
            let problem = format!(
                "is placed on {units} units, but the machine has {all}; set `units` of its `place` to {all}"
            );
            (None, problem)
        } else if contexts != each {
            let problem = format!(
                "is placed with {contexts} contexts on each unit, but a unit holds {each} of its work-groups, limited by {limiter:?}; set `contexts` of its `place` to {each}"
            );
            (Some(limiter), problem)
        } else if place.work_groups() != u64::from(groups) {
            let problem = format!(
                "has {groups} work-groups, but is placed on {units} units with {contexts} contexts each; launch {} work-groups",
                place.work_groups()
            );
            (None, problem)
        } else {
            return Ok(());
        };
        let message = format!("{} {problem}", who());
        Err(Misfit { limiter, message })
    }

    fn never_fits(&self, who: &str, needs: &WorkGroupNeeds) -> String {
        let unit = &self.limits;
        format!(
            "a work-group of {who} does not fit in a compute unit: it needs {} wavefronts of {} registers each and {} bytes of local memory; a unit has {} wavefront slots, {} registers in {} partitions and {} bytes",
            needs.wavefronts,
            unit.registers_per_wavefront(needs.registers_per_thread),
            needs.local_bytes,
            unit.wavefront_slots,
            unit.registers,
            unit.register_partitions,
            unit.local_memory_bytes
        )
    }

    /// Checks a placement against the states of kernel, work-group and unit.
    ///
    /// # Errors
    /// Returns the reason why the placement cannot be made.
    pub(super) fn check(&self, placement: Placement) -> Result<(), String> {
        let Placement {
            kernel,
            work_group,
            unit,
        } = placement;
        let Some((_, running)) = self.running(kernel) else {
            return Err(format!("kernel {kernel} is not ready"));
        };
        if work_group >= running.work_groups {
            return Err(format!("it has {} work-groups", running.work_groups));
        }
        if running.placed.contains(work_group as usize) {
            return Err("it was already placed".to_owned());
        }
        let Some(account) = self.units.get(unit as usize) else {
            return Err(format!("there are {} units", self.units.len()));
        };
        if account.room(&self.limits, &running.needs) == 0 {
            return Err("the unit has no room for it".to_owned());
        }
        Ok(())
    }

    /// Allocates the resources of a work-group, and returns its slot and what it executes. The
    /// placement must have been checked.
    ///
    /// # Errors
    /// Returns the reason why the unit has no context for a work-group of a placed launch.
    pub(super) fn place(&mut self, key: Id, placement: Placement) -> Result<Started, String> {
        let Placement {
            unit, work_group, ..
        } = placement;
        let running = &mut self.kernels[key];
        let account = &mut self.units[unit as usize];
        let body = match &mut running.bodies {
            None => work_group,
            Some(bodies) => bodies.take(unit, account.next_slot(), work_group)?,
        };
        running.placed.insert(work_group as usize);
        running.unplaced -= 1;
        let slot = account.start(&self.limits, &running.needs, key, body);
        Ok(Started { slot, body })
    }

    /// Ends the work-group that executes the body `ended.work_group`. Returns `None` if it does not
    /// run in this slot.
    pub(super) fn end(&mut self, ended: Placement, slot: u16) -> Option<Ended> {
        let unit = self.units.get_mut(ended.unit as usize)?;
        let resident = unit.resident_in(slot)?;
        let key = resident.kernel;
        let running = &mut self.kernels[key];
        if running.ready.kernel != ended.kernel || resident.body != ended.work_group {
            return None;
        }
        unit.end(slot);
        running.uncompleted -= 1;
        let is_last = running.uncompleted == 0;
        if is_last && let Some(bodies) = &running.bodies {
            debug_assert!(bodies.all_taken(), "as many bodies as work-groups");
        }
        Some(Ended {
            kernel: key,
            work_group: running.placed_as(ended.work_group),
            is_last,
        })
    }

    /// Removes a kernel that is done.
    pub(super) fn remove(&mut self, key: Id) {
        self.kernels.remove(key);
    }
}
