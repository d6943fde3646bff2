//! Functional execution of kernels: as many work-groups run concurrently as fit the units. The unit
//! that completes one gets the next.

use warpweave_framework::{FunctionalError, Onward};

use super::WorkGroupScheduler;
use super::dispatch_ports::DispatchPorts;
use super::second_level::SecondLevel;
use crate::launch::{CacheCommand, CacheControlMaster, Dispatch, DispatchMaster, KernelReady};

/// A kernel with incomplete work-groups in functional execution.
pub(super) struct Replaying {
    ready: KernelReady,
    work_groups: u32,
    /// Index of the next work-group to start.
    next: u32,
    uncompleted: u32,
}

impl WorkGroupScheduler {
    /// Starts the first work-groups of a kernel, distributed round robin over the units.
    pub(super) fn replay(
        &mut self,
        ready: KernelReady,
        onward: &mut Onward,
    ) -> Result<(), FunctionalError> {
        let (work_groups, per_unit) = self.machine.shape_of(ready.kernel)?;
        self.replaying = Some(Replaying {
            ready,
            work_groups,
            next: 0,
            uncompleted: work_groups,
        });
        let units = self.units.count() as u32;
        for place in 0..units.saturating_mul(per_unit).min(work_groups) {
            self.start_next(place % units, onward);
        }
        Ok(())
    }

    /// Handles the completion of a work-group by a unit. After the last one the units invalidate
    /// their lines as at the end of any kernel.
    pub(super) fn go_on_replaying(&mut self, unit: u32, onward: &mut Onward) {
        let Some(replaying) = &mut self.replaying else {
            return;
        };
        replaying.uncompleted -= 1;
        if replaying.uncompleted > 0 {
            return self.start_next(unit, onward);
        }
        let kernel = replaying.ready.kernel;
        self.replaying = None;
        let ended = self.ends.family_ends(kernel);
        let drops = self.spec.invalidate_at.drops(ended);
        for unit in (0..self.units.count() as u32).filter(|_| drops) {
            onward.send(
                DispatchPorts::UNITS
                    .at(unit)
                    .member(DispatchMaster::DISPATCH),
                Dispatch::Invalidate { kernel, ran: 0 },
            );
        }
        if let Some(second_level) = &self.spec.second_level
            && second_level.invalidate_at.drops(ended)
        {
            for slice in 0..second_level.slices {
                let cache = SecondLevel::CACHES.at(slice);
                onward.send(
                    cache.member(CacheControlMaster::COMMAND),
                    CacheCommand::Invalidate,
                );
            }
        }
    }

    fn start_next(&mut self, unit: u32, onward: &mut Onward) {
        if let Some(replaying) = &mut self.replaying
            && replaying.next < replaying.work_groups
        {
            let start = Dispatch::Start {
                kernel: replaying.ready.kernel,
                work_group: replaying.next,
                slot: 0,
                hint: replaying.ready.hint,
            };
            replaying.next += 1;
            let port = DispatchPorts::UNITS
                .at(unit)
                .member(DispatchMaster::DISPATCH);
            onward.send(port, start);
        }
    }
}
