//! Kernel ends: from the last work-group of a kernel to the report that it is done.
//!
//! ```text
//!   last work-group ──► parents announced      first level ──► second level ──► finished ──► GMU
//!                       to the units            invalidates     invalidates
//! ```

use std::collections::VecDeque;

use fixedbitset::FixedBitSet;
use warpweave_framework::{Context, Id, Ports, State, Waits};
use warpweave_trace::Program;

use super::WorkGroupSchedulerSpec;
use super::accounting::Accounting;
use super::dispatch_ports::DispatchPorts;
use super::ended_launchers::EndedLaunchers;
use super::ended_parents::EndedParents;
use super::families::Families;
use super::first_level::{FirstLevel, Reply};
use super::machine::Machine;
use super::second_level::SecondLevel;
use crate::launch::{KernelDone, ReadySlave};

/// Kernels whose work-groups have completed, and the steps that their ends still take.
#[derive(Ports, State)]
pub(super) struct KernelEnds {
    #[state(flatten)]
    families: Families,
    #[state(flatten)]
    parents: EndedParents,
    /// Present if a unit asks for the ends of its launchers.
    #[state(part)]
    launchers: Option<EndedLaunchers>,
    #[state(flatten)]
    first_level: FirstLevel,
    #[port(flatten)]
    #[state(part)]
    second_level: SecondLevel,
    /// Finished kernels that must be reported to the GMU.
    finished: VecDeque<Id>,
}

impl KernelEnds {
    pub(super) fn new(spec: &WorkGroupSchedulerSpec, program: &Program) -> Self {
        Self {
            families: Families::of(program),
            parents: EndedParents::new(spec.announce),
            launchers: None,
            first_level: FirstLevel::new(spec.invalidate_at),
            second_level: SecondLevel::of(spec.second_level),
            finished: VecDeque::new(),
        }
    }

    /// Makes units that ask learn of the ends of their work-groups that launch kernels.
    pub(super) fn notify_launchers(&mut self, program: &Program, asking: &[u32]) {
        if asking.is_empty() {
            return;
        }
        let asking: FixedBitSet = asking.iter().map(|&unit| unit as usize).collect();
        self.launchers = Some(EndedLaunchers::of(program, asking));
    }

    /// Notes that a work-group, by its number in the trace, has completed on a unit.
    #[inline]
    pub(super) fn work_group_ended(&mut self, kernel: u32, work_group: u32, unit: u32) {
        if let Some(launchers) = &mut self.launchers {
            launchers.work_group_ended(kernel, work_group, unit);
        }
    }

    /// Notes that a kernel has ended in functional execution. Returns true if its family has ended
    /// with it.
    pub(super) fn family_ends(&mut self, number: u32) -> bool {
        self.families.ends(number)
    }

    /// Starts the end of a kernel after all its work-groups have completed.
    pub(super) fn begin(&mut self, kernel: Id, machine: &Machine, units: &DispatchPorts) {
        let number = machine.kernels()[kernel].ready.kernel;
        let family_ended = self.families.ends(number);
        if self.parents.wait_for_families() || self.launchers.is_some() {
            let complete = self.families.completed_by(number);
            self.parents.note(number, &complete, &self.families, units);
            for kernel in complete {
                if let Some(launchers) = &mut self.launchers {
                    launchers.kernel_completed(kernel);
                }
            }
        } else {
            self.parents.note(number, &[], &self.families, units);
        }
        self.second_level.ended(kernel, family_ended);
        if !self.first_level.starts(kernel, family_ended, units) {
            self.first_level_left(kernel);
        }
    }

    /// Continues with the second level when first-level invalidation for a kernel is complete.
    fn first_level_left(&mut self, kernel: Id) {
        if !self.second_level.takes(kernel) {
            self.finished.push_back(kernel);
        }
    }

    /// Takes the invalidation reply of a unit. Returns false if none was outstanding.
    pub(super) fn invalidated(&mut self, unit: usize, number: u32, machine: &Machine) -> bool {
        match self.first_level.reply(unit, number, machine) {
            Reply::Unknown => return false,
            Reply::Outstanding => {}
            Reply::Last(kernel) => self.first_level_left(kernel),
        }
        true
    }

    /// Sends announcements and invalidations that have room, and takes the replies of the second
    /// level.
    pub(super) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        units: &mut DispatchPorts,
        machine: &Machine,
        accounting: &mut Accounting,
    ) {
        self.parents.send(ctx, units);
        if let Some(launchers) = &mut self.launchers {
            launchers.send(ctx, units);
        }
        self.first_level.send(ctx, units, machine, accounting);
        self.finished.extend(self.second_level.go_on(ctx));
    }

    /// Reports kernels that are done. Returns false if the port to the GMU is full.
    pub(super) fn report(
        &mut self,
        ctx: &mut Context<'_>,
        gmu: &mut ReadySlave,
        machine: &mut Machine,
        accounting: &mut Accounting,
    ) -> bool {
        while let Some(&key) = self.finished.front() {
            let kernel = machine.kernels()[key].ready.kernel;
            if gmu.done.try_send(ctx, KernelDone { kernel }).is_err() {
                return false;
            }
            accounting.kernels_done += 1;
            machine.remove(key);
            self.finished.pop_front();
        }
        true
    }

    /// True if messages remain to be sent to units or slices.
    pub(super) fn has_unsent(&self) -> bool {
        let launchers = self.launchers.as_ref();
        self.first_level.has_unsent()
            || self.parents.has_unsent()
            || launchers.is_some_and(EndedLaunchers::has_unsent)
            || self.second_level.has_unsent()
    }

    /// Returns the step that delays the end of a kernel, if one does.
    pub(super) fn wait_reason(&self, is_this: impl Fn(Id) -> bool) -> Option<&'static str> {
        if self.first_level.kernels().any(&is_this) {
            Some("invalidation of first-level caches")
        } else if self.second_level.kernels().any(&is_this) {
            Some("invalidation of the second-level cache")
        } else {
            None
        }
    }

    pub(super) fn waits(&self, machine: &Machine, waits: &mut Waits<'_>) {
        self.first_level.waits(machine, waits);
        self.second_level.waits(waits);
    }
}
