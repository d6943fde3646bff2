//! Issue in one cycle: every scheduler in turn, and the consequences of what it issues.

use warpweave_framework::Cycle;

use super::ComputeUnit;
use super::accounting::IssueSlot;
use super::datapath::IssueOutcome;
use super::front::wavefront::Placement;
use super::issue_variant::Variant;
use super::work_groups::device_launches::PendingLaunch;
use crate::launch::{DeviceLaunch, Predictions};
use crate::reuse_monitor::{LaunchPlace, WorkGroupId};

impl ComputeUnit {
    /// Lets every scheduler issue. Returns true if any did.
    #[inline(always)]
    pub(super) fn issue<V: Variant>(&mut self, now: Cycle) -> bool {
        let open = self.datapath.wavefronts.masks().open();
        let (datapath, accounting) = (&self.datapath, &mut self.accounting);
        if self.schedulers.settle::<V>(open, datapath, accounting, now) {
            return false;
        }
        let mut issued = false;
        let mut free = open;
        let count = self.schedulers.count();
        let mut scheduler = self.schedulers.first(now);
        for _ in 0..count {
            let slot = if V::LIMITED {
                self.issue_limited::<V>(scheduler, &mut free, now)
            } else {
                self.issue_built_in::<V>(scheduler, open, &mut free, now)
            };
            issued |= slot == IssueSlot::Issued;
            self.accounting.charge(scheduler, slot, now);
            scheduler += 1;
            if scheduler == count {
                scheduler = 0;
            }
        }
        issued
    }

    /// Issues an instruction of a scheduler, if one of the wavefronts that are `free` can. `open`
    /// are those that were open at the start of the cycle; other schedulers change none of this
    /// one's.
    #[inline(always)]
    fn issue_built_in<V: Variant>(
        &mut self,
        scheduler: usize,
        open: u64,
        free: &mut u64,
        now: Cycle,
    ) -> IssueSlot {
        let chosen = self
            .schedulers
            .choose_built_in(scheduler, free, &mut self.datapath, now);
        let Some(wavefront) = chosen else {
            return self
                .schedulers
                .stall_built_in::<V>(scheduler, open, &self.datapath, now);
        };
        self.issue_from::<V>(wavefront, scheduler, now);
        IssueSlot::Issued
    }

    /// Issues as many instructions of a wavefront as its scheduler allows, if one of the `open`
    /// wavefronts can issue.
    #[inline(always)]
    fn issue_limited<V: Variant>(
        &mut self,
        scheduler: usize,
        open: &mut u64,
        now: Cycle,
    ) -> IssueSlot {
        let datapath = &mut self.datapath;
        let chosen = self.schedulers.choose::<V>(scheduler, *open, datapath, now);
        let wavefront = match chosen {
            Ok(wavefront) => wavefront,
            Err(why) => return why,
        };
        let unit = self.datapath.next_instruction(wavefront).unit;
        self.issue_from::<V>(wavefront, scheduler, now);
        if self.datapath.config.spec.issues_per_cycle > 1 {
            self.issue_more::<V>(wavefront, unit, scheduler, now);
        }
        *open = self.datapath.wavefronts.masks().open();
        IssueSlot::Issued
    }

    /// Issues further instructions of a wavefront in the same cycle; `units` is the kind of unit of
    /// the first.
    fn issue_more<V: Variant>(&mut self, slot: usize, mut units: u8, scheduler: usize, now: Cycle) {
        for _ in 1..self.datapath.config.spec.issues_per_cycle {
            let datapath = &mut self.datapath;
            let chosen = self
                .schedulers
                .choose_more::<V>(slot, scheduler, units, datapath, now);
            if !chosen {
                return;
            }
            let unit = datapath.next_instruction(slot).unit;
            units |= unit;
            datapath.counts.in_slot_of_another(unit);
            self.issue_from::<V>(slot, scheduler, now);
        }
    }

    /// Issues the next record of a wavefront and fetches the one after.
    #[inline(always)]
    fn issue_from<V: Variant>(&mut self, slot: usize, scheduler: usize, now: Cycle) {
        let outcome = self.datapath.issue::<V>(slot, scheduler, now);
        if outcome == IssueOutcome::Continues {
            self.advance::<V>(slot, now);
        } else {
            self.hold(slot, outcome, now);
        }
    }

    /// Keeps a wavefront from its next record.
    // Apart from `issue_from`, which then makes one comparison in place of a jump by table.
    #[inline(never)]
    fn hold(&mut self, slot: usize, outcome: IssueOutcome, now: Cycle) {
        match outcome {
            IssueOutcome::Continues | IssueOutcome::Pauses => {}
            IssueOutcome::Launches => self.launch(slot),
            IssueOutcome::Waits => self.arrive_at_barrier(slot, now),
        }
    }

    /// Makes the next record of a wavefront the one to issue, or ends the wavefront.
    #[inline(always)]
    pub(super) fn advance<V: Variant>(&mut self, slot: usize, now: Cycle) {
        if !self.datapath.advance::<V>(slot, now) {
            self.end(slot, now);
        }
    }

    /// Queues a launch record. One in which no lane launches takes its latency alone.
    fn launch(&mut self, slot: usize) {
        let latency = self.datapath.next_instruction(slot).latency;
        let wavefront = self.datapath.wavefronts.slot_mut(slot);
        let lanes = wavefront.record.mask.count_ones();
        let mut predictions = Predictions::default();
        if let Some(monitor) = &mut self.reuse_monitor {
            let Placement {
                kernel, work_group, ..
            } = wavefront.place;
            for number in 0..lanes {
                let child = LaunchPlace {
                    by: WorkGroupId { kernel, work_group },
                    wavefront: u32::from(wavefront.place.number),
                    record: wavefront.launches,
                    number,
                };
                predictions.set(number, monitor.on_child_launch(child));
            }
        }
        let launch = DeviceLaunch {
            kernel: wavefront.place.kernel,
            work_group: wavefront.place.work_group,
            wavefront: u32::from(wavefront.place.number),
            record: wavefront.launches,
            predictions,
        };
        wavefront.launches += 1;
        self.datapath.wavefronts.suspend(slot);
        self.launches.push(PendingLaunch {
            slot: slot as u8,
            latency,
            launch: (lanes > 0).then_some(launch),
        });
    }
}
