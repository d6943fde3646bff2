//! Kernel ends: from the last work-group of a kernel to the report that it is done.
//!
//! ```text
//!   last work-group ──► parents announced      first level ──► second level ──► finished ──► GMU
//!                       to their units          invalidates     invalidates
//! ```

use std::collections::VecDeque;

use warpweave_framework::{Context, Id, Ports, State, Waits};
use warpweave_trace::Program;

use super::WorkGroupSchedulerSpec;
use super::accounting::Accounting;
use super::dispatch_ports::DispatchPorts;
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
            first_level: FirstLevel::new(spec.invalidate_at),
            second_level: SecondLevel::of(spec.second_level),
            finished: VecDeque::new(),
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
        self.parents.note(number, &mut self.families, units);
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
        self.first_level.has_unsent() || self.parents.has_unsent() || self.second_level.has_unsent()
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
