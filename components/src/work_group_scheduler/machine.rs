//! What the scheduler knows of kernels and units, and policies may ask: an exact account.

use std::sync::Arc;

use fixedbitset::FixedBitSet;
use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, Id, IdTable, State, below};
use warpweave_trace::{Attribute, KernelTrace, Parent, Program};

use super::unit::Unit;
use super::{Placement, PlacementSite};
use crate::launch::KernelReady;
use crate::occupancy::{Limiter, Occupancy, UnitLimits, WorkGroupNeeds};

/// A kernel as placement policies see it.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    trace: &'a KernelTrace,
    ready: KernelReady,
    per_unit: Occupancy,
}

impl<'a> Kernel<'a> {
    /// The kernel of this trace, made ready like this; `per_unit` of its work-groups fit an empty unit.
    pub fn new(trace: &'a KernelTrace, ready: KernelReady, per_unit: Occupancy) -> Self {
        Self {
            trace,
            ready,
            per_unit,
        }
    }

    /// Number of its launch in the program.
    pub fn number(&self) -> u32 {
        self.ready.kernel
    }

    /// Number of its work-groups; they are numbered linearly, x fastest.
    pub fn work_groups(&self) -> u32 {
        self.trace.work_groups()
    }

    /// Work-groups along x, y, z.
    pub fn grid(&self) -> [u32; 3] {
        self.trace.grid
    }

    /// Threads of a work-group along x, y, z.
    pub fn block(&self) -> [u32; 3] {
        self.trace.block
    }

    /// The work-group that launched it; none for the host.
    pub fn parent(&self) -> Option<Parent> {
        self.trace.parent
    }

    /// What was said of it when it was launched.
    pub fn attributes(&self) -> &'a [Attribute] {
        &self.trace.attributes
    }

    /// As in its launch; larger is more urgent.
    pub fn priority(&self) -> u8 {
        self.ready.priority
    }

    /// As in its launch, of a meaning that the launching side and the policy agree on.
    pub fn hint(&self) -> u32 {
        self.ready.hint
    }

    /// How many of its work-groups an empty unit holds, and why not more.
    pub fn per_unit(&self) -> Occupancy {
        self.per_unit
    }
}

/// The compute units with what they hold, and the kernels that run on them.
pub struct Machine {
    site: PlacementSite,
    program: Arc<Program>,
    /// By kernel of the program.
    needs: Vec<WorkGroupNeeds>,
    limits: UnitLimits,
    units: Vec<Unit>,
    kernels: IdTable<Running>,
}

/// A kernel from ready to done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    pub(super) ready: KernelReady,
    /// When it became ready.
    pub(super) since: Cycle,
    pub(super) work_groups: u32,
    /// Of it alone on a unit.
    per_unit: Occupancy,
    needs: WorkGroupNeeds,
    /// By work-group.
    #[serde(deserialize_with = "crate::bits::read")]
    placed: FixedBitSet,
    pub(super) unplaced: u32,
    uncompleted: u32,
}

/// What units offer as long as nobody has said it.
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
}

impl Machine {
    /// A machine whose units are to be [equipped](Self::equip).
    pub(super) fn new(site: PlacementSite, program: Arc<Program>) -> Self {
        let needs = program.kernels.iter();
        Self {
            site,
            needs: needs.map(|kernel| WorkGroupNeeds::of(kernel)).collect(),
            program,
            limits: NOTHING,
            units: Vec::new(),
            kernels: IdTable::default(),
        }
    }

    /// Every unit offers this much, and is empty.
    pub(super) fn equip(&mut self, limits: UnitLimits) {
        self.limits = limits;
        let units = 0..self.site.units();
        self.units = units.map(|_| Unit::new(&limits)).collect();
    }

    /// How many units there are, and in which clusters.
    pub fn site(&self) -> PlacementSite {
        self.site
    }

    /// What every unit offers.
    pub fn limits(&self) -> &UnitLimits {
        &self.limits
    }

    /// Work-groups on a unit, of all kernels; 0 where there is no such unit.
    pub fn resident(&self, unit: u32) -> u32 {
        self.units.get(unit as usize).map_or(0, Unit::resident)
    }

    /// The work-groups on a unit, by slot: number of the kernel, and of the work-group in its grid.
    pub fn residents(&self, unit: u32) -> impl Iterator<Item = (u32, u32)> {
        let unit = self.units.get(unit as usize).into_iter();
        unit.flat_map(Unit::residents).map(|resident| {
            let number = self.kernels[resident.kernel].ready.kernel;
            (number, resident.work_group)
        })
    }

    /// How many more work-groups of a kernel fit a unit now; 0 where there is no such unit or kernel.
    pub fn room(&self, unit: u32, kernel: u32) -> u32 {
        match (self.units.get(unit as usize), self.running(kernel)) {
            (Some(unit), Some((_, running))) => unit.room(&self.limits, &running.needs),
            _ => 0,
        }
    }

    /// A kernel that is ready and not done.
    pub fn kernel(&self, number: u32) -> Option<Kernel<'_>> {
        let (_, running) = self.running(number)?;
        let trace = self.program.kernels.get(number as usize)?;
        Some(Kernel::new(trace, running.ready, running.per_unit))
    }

    /// Work-groups of a kernel that are to be placed; 0 where there is no such kernel.
    pub fn unplaced(&self, kernel: u32) -> u32 {
        self.running(kernel)
            .map_or(0, |(_, running)| running.unplaced)
    }

    /// There are few at a time.
    fn running(&self, number: u32) -> Option<(Id, &Running)> {
        let mut kernels = self.kernels.iter();
        kernels.find(|(_, running)| running.ready.kernel == number)
    }

    /// Work-groups of a kernel of the program, ready or not, and how many of them fit a unit.
    ///
    /// # Errors
    /// No such kernel, or one whose work-groups never fit.
    pub(super) fn shape_of(&self, kernel: u32) -> Result<(u32, u32), String> {
        let trace = self.program.kernels.get(kernel as usize);
        let trace = trace.ok_or_else(|| format!("the program has no kernel {kernel}"))?;
        let needs = self.needs[kernel as usize];
        match self.limits.occupancy(&needs).work_groups {
            0 => Err(self.never_fits(kernel, &needs)),
            per_unit => Ok((trace.work_groups(), per_unit)),
        }
    }

    pub(super) fn key_of(&self, kernel: u32) -> Option<Id> {
        self.running(kernel).map(|(key, _)| key)
    }

    pub(super) fn kernels(&self) -> &IdTable<Running> {
        &self.kernels
    }

    /// A kernel becomes ready in cycle `now`.
    ///
    /// # Errors
    /// No such kernel, or one whose work-groups never fit.
    pub(super) fn accept(&mut self, ready: KernelReady, now: Cycle) -> Result<Id, String> {
        let number = ready.kernel;
        let trace = self.program.kernels.get(number as usize).ok_or_else(|| {
            let kernels = self.program.kernels.len();
            format!("the GMU hands down kernel {number}, but the program has {kernels}")
        })?;
        let needs = self.needs[number as usize];
        let per_unit = self.limits.occupancy(&needs);
        if per_unit.work_groups == 0 {
            return Err(self.never_fits(number, &needs));
        }
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
        }))
    }

    fn never_fits(&self, number: u32, needs: &WorkGroupNeeds) -> String {
        let unit = &self.limits;
        format!(
            "a work-group of kernel {number} never fits a compute unit: it needs {} wavefronts of \
             {} registers each and {} bytes of local memory; a unit has {} wavefront slots, {} \
             registers in {} partitions and {} bytes",
            needs.wavefronts,
            unit.registers_per_wavefront(needs.registers_per_thread),
            needs.local_bytes,
            unit.wavefront_slots,
            unit.registers,
            unit.register_partitions,
            unit.local_memory_bytes
        )
    }

    /// Whether a placement can be made, as far as kernel, work-group and unit are concerned.
    ///
    /// # Errors
    /// Why it cannot.
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
            return Err("it was placed before".to_owned());
        }
        let Some(account) = self.units.get(unit as usize) else {
            return Err(format!("there are {} units", self.units.len()));
        };
        if account.room(&self.limits, &running.needs) == 0 {
            return Err("the unit has no room for it".to_owned());
        }
        Ok(())
    }

    /// Takes what a work-group needs; returns its slot. The placement has been checked.
    pub(super) fn place(&mut self, key: Id, placement: Placement) -> u16 {
        let running = &mut self.kernels[key];
        running.placed.insert(placement.work_group as usize);
        running.unplaced -= 1;
        let unit = &mut self.units[placement.unit as usize];
        unit.start(&self.limits, &running.needs, key, placement.work_group)
    }

    /// A work-group has ended: its kernel, and whether it was the last of it; none where it does not
    /// run there.
    pub(super) fn end(&mut self, ended: Placement, slot: u16) -> Option<(Id, bool)> {
        let unit = self.units.get_mut(ended.unit as usize)?;
        let resident = unit.resident_in(slot)?;
        let key = resident.kernel;
        let running = &mut self.kernels[key];
        if running.ready.kernel != ended.kernel || resident.work_group != ended.work_group {
            return None;
        }
        unit.end(slot);
        running.uncompleted -= 1;
        Some((key, running.uncompleted == 0))
    }

    /// A kernel is done.
    pub(super) fn remove(&mut self, key: Id) {
        self.kernels.remove(key);
    }

    pub(super) fn state(&mut self, state: &mut State<'_>) {
        state.array("units", &mut self.units);
        state.field("kernels", &mut self.kernels);
        state.check("kernels", || self.fits());
    }

    /// Whether units and kernels fit each other, for what a checkpoint held.
    fn fits(&self) -> Result<(), String> {
        let mut under_way = vec![
            0_u32;
            self.kernels
                .iter()
                .map(|(id, _)| id.place() + 1)
                .max()
                .unwrap_or(0)
        ];
        for (number, unit) in self.units.iter().enumerate() {
            let here = |problem: String| format!("unit {number}: {problem}");
            unit.check(&Unit::new(&self.limits)).map_err(here)?;
            for resident in unit.residents() {
                let kernel = self.kernels.get(resident.kernel);
                let kernel = kernel.ok_or_else(|| here(format!("kernel {}", resident.kernel)))?;
                below("work-group", resident.work_group, kernel.work_groups).map_err(here)?;
                if !kernel.placed.contains(resident.work_group as usize) {
                    return Err(here(format!(
                        "work-group {} was not placed",
                        resident.work_group
                    )));
                }
                under_way[resident.kernel.place()] += 1;
            }
        }
        for (id, kernel) in self.kernels.iter() {
            below("kernel", kernel.ready.kernel, self.needs.len() as u64)?;
            let number = kernel.ready.kernel as usize;
            let groups = self.program.kernels[number].work_groups();
            let placed = kernel.placed.count_ones(..) as u32;
            let fits = kernel.work_groups == groups
                && kernel.placed.len() == groups as usize
                && kernel.unplaced == groups - placed
                && kernel.needs == self.needs[number]
                && kernel.uncompleted == kernel.unplaced + under_way[id.place()];
            if !fits {
                return Err(format!("kernel {number} has work-groups that it has not"));
            }
        }
        Ok(())
    }
}
