//! Work-group slots: from the dispatch of a work-group through its barriers to its completion.

pub(crate) mod cache_control;
pub(crate) mod cache_split;
pub(crate) mod device_launches;
pub(crate) mod dispatch_port;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpweave_framework::{Contents, Cycle, State, Statistics, TimeWeighted, Waits};
use warpweave_trace::KernelTrace;

use crate::compute_unit::config::UnitConfig;
use crate::compute_unit::spec::ComputeUnitSpec;
use crate::roles;

/// State of the work-group in one slot.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct WorkGroup {
    is_resident: bool,
    pub(crate) kernel: u32,
    pub(crate) work_group: u32,
    /// Mask of the wavefront slots in use.
    slots: u64,
    /// Number of wavefronts that have not ended; `undrained` counts those with operations still in
    /// flight.
    alive: u32,
    undrained: u32,
    /// Number of wavefronts waiting at the barrier.
    arrived: u32,
    /// End of the last arrival at the barrier.
    arrives_until: Cycle,
    registers: u32,
    local_bytes: u64,
}

/// A work-group that is to start in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) kernel: u32,
    pub(crate) work_group: u32,
    pub(crate) slot: u16,
}

/// A work-group whose wavefronts have all ended and drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) kernel: u32,
    pub(crate) work_group: u32,
    pub(crate) slot: u16,
    /// Wavefront slots that are free again.
    pub(crate) wavefronts: u64,
}

/// Wavefronts of a work-group whose barrier is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Released {
    /// Wavefront slots of the work-group.
    pub(crate) wavefronts: u64,
    /// Cycles until the last arrival has ended.
    pub(crate) after: u32,
}

/// The work-group slots of a unit, and what their work-groups take of it.
#[derive(State)]
pub(crate) struct WorkGroupTable {
    #[state(array)]
    slots: Box<[WorkGroup]>,
    registers_used: u32,
    local_bytes_used: u64,
    counts: WorkGroupCounts,
}

/// Counters of the work-group slots.
#[derive(Default, Serialize, Deserialize)]
struct WorkGroupCounts {
    wavefronts: TimeWeighted,
    /// 1 while any wavefront is resident, otherwise 0.
    with_wavefronts: TimeWeighted,
    work_groups: TimeWeighted,
    completed: u64,
    barriers: u64,
}

impl WorkGroupCounts {
    /// Counts a work-group of so many wavefronts as resident from this cycle on.
    fn come(&mut self, wavefronts: u32, now: Cycle) {
        self.wavefronts.add(now, u64::from(wavefronts));
        self.with_wavefronts.set(now, 1);
        self.work_groups.add(now, 1);
    }

    /// Counts a work-group of so many wavefronts as gone from this cycle on.
    fn leave(&mut self, wavefronts: u32, now: Cycle) {
        self.wavefronts.sub(now, u64::from(wavefronts));
        let any = u64::from(self.wavefronts.value() > 0);
        self.with_wavefronts.set(now, any);
        self.work_groups.sub(now, 1);
    }
}

impl WorkGroupTable {
    pub(crate) fn new(slots: u32) -> Self {
        Self {
            slots: vec![WorkGroup::default(); slots as usize].into(),
            registers_used: 0,
            local_bytes_used: 0,
            counts: WorkGroupCounts::default(),
        }
    }

    /// Bytes of local memory that resident work-groups take.
    pub(crate) fn local_bytes_used(&self) -> u64 {
        self.local_bytes_used
    }

    /// Numbers and contents of the slots that are taken.
    pub(crate) fn resident(&self) -> impl Iterator<Item = (usize, &WorkGroup)> {
        let slots = self.slots.iter().enumerate();
        slots.filter(|(_, group)| group.is_resident)
    }

    /// Checks that a dispatched work-group can start, and returns its launch.
    ///
    /// # Errors
    /// What it needs and does not find.
    pub(crate) fn check_start<'p>(
        &self,
        start: Start,
        config: &'p UnitConfig,
    ) -> Result<&'p Arc<KernelTrace>, String> {
        let UnitConfig { spec, program, .. } = config;
        let Start {
            kernel,
            work_group,
            slot,
        } = start;
        let refuse = |why: String| {
            Err(format!(
                "work-group {work_group} of kernel {kernel} was dispatched to slot {slot} of \
                 compute unit {}, but {why}",
                spec.index
            ))
        };
        let Some(trace) = program.kernels.get(kernel as usize) else {
            return refuse(format!("the program has {} kernels", program.kernels.len()));
        };
        if work_group >= trace.work_groups() {
            return refuse(format!(
                "the kernel has {} work-groups",
                trace.work_groups()
            ));
        }
        match self.slots.get(usize::from(slot)) {
            None => return refuse(format!("there are {} slots", self.slots.len())),
            Some(group) if group.is_resident => {
                return refuse(format!(
                    "work-group {} of kernel {} already occupies the slot",
                    group.work_group, group.kernel
                ));
            }
            Some(_) => {}
        }
        let wavefronts = trace.wavefronts_per_work_group();
        let taken: u32 = self
            .slots
            .iter()
            .map(|group| group.slots.count_ones())
            .sum();
        let free = spec.wavefront_slots - taken;
        if wavefronts > free {
            return refuse(format!(
                "it needs {wavefronts} wavefront slots, but only {free} are free"
            ));
        }
        let registers = registers_of(trace, spec);
        let free = u64::from(spec.registers - self.registers_used);
        if registers > free {
            return refuse(format!(
                "it needs {registers} registers, but only {free} are free"
            ));
        }
        let local = trace.local_bytes();
        let free = u64::from(spec.local_memory.bytes) - self.local_bytes_used;
        if local > free {
            return refuse(format!(
                "it needs {local} bytes of local memory, but only {free} are free"
            ));
        }
        Ok(trace)
    }

    /// Takes a slot for a work-group, which was checked, on these wavefront slots.
    pub(crate) fn start(
        &mut self,
        start: Start,
        wavefronts: u64,
        trace: &KernelTrace,
        spec: &ComputeUnitSpec,
        now: Cycle,
    ) {
        let count = wavefronts.count_ones();
        // No more than are free, which was checked.
        let registers = registers_of(trace, spec) as u32;
        let group = WorkGroup {
            is_resident: true,
            kernel: start.kernel,
            work_group: start.work_group,
            slots: wavefronts,
            alive: count,
            undrained: count,
            arrived: 0,
            arrives_until: 0,
            registers,
            local_bytes: trace.local_bytes(),
        };
        self.registers_used += registers;
        self.local_bytes_used += group.local_bytes;
        self.counts.come(count, now);
        self.slots[usize::from(start.slot)] = group;
    }

    /// Records that a wavefront of a slot arrives at the barrier, which takes `interval` cycles
    /// from `now` or the end of the arrival before. Returns what that releases.
    pub(crate) fn arrive(&mut self, slot: u8, interval: u32, now: Cycle) -> Option<Released> {
        let group = &mut self.slots[usize::from(slot)];
        group.arrived += 1;
        group.arrives_until = group.arrives_until.max(now) + u64::from(interval);
        self.release(slot, now)
    }

    /// Records that a wavefront of a slot has no record left. Returns what that releases.
    pub(crate) fn end(&mut self, slot: u8, now: Cycle) -> Option<Released> {
        self.slots[usize::from(slot)].alive -= 1;
        self.release(slot, now)
    }

    /// Releases the wavefronts at a barrier if all that have not ended have arrived.
    fn release(&mut self, slot: u8, now: Cycle) -> Option<Released> {
        let group = &mut self.slots[usize::from(slot)];
        if group.arrived == 0 || group.arrived < group.alive {
            return None;
        }
        group.arrived = 0;
        self.counts.barriers += 1;
        Some(Released {
            wavefronts: group.slots,
            after: (group.arrives_until.max(now) - now) as u32,
        })
    }

    /// Records that an ended wavefront of a slot has nothing left in flight. Returns the work-group
    /// if that was its last wavefront.
    pub(crate) fn drain(&mut self, slot: u8, now: Cycle) -> Option<Finished> {
        let group = &mut self.slots[usize::from(slot)];
        group.undrained -= 1;
        if group.undrained > 0 {
            return None;
        }
        let group = std::mem::take(group);
        self.registers_used -= group.registers;
        self.local_bytes_used -= group.local_bytes;
        self.counts.leave(group.slots.count_ones(), now);
        self.counts.completed += 1;
        Some(Finished {
            kernel: group.kernel,
            work_group: group.work_group,
            slot: u16::from(slot),
            wavefronts: group.slots,
        })
    }

    /// Shows work-groups and their wavefronts, with what `waits` says of each.
    pub(crate) fn show(
        &self,
        contents: &mut Contents<'_>,
        waits: impl Fn(u32) -> Option<&'static str>,
    ) {
        for (slot, group) in self.resident() {
            contents
                .thing("work-group", slot as u64)
                .number("kernel", u64::from(group.kernel))
                .number("work_group", u64::from(group.work_group));
            let mut slots = group.slots;
            while slots != 0 {
                let slot = slots.trailing_zeros();
                slots &= slots - 1;
                contents
                    .thing("wavefront", u64::from(slot))
                    .number("kernel", u64::from(group.kernel))
                    .number("work_group", u64::from(group.work_group))
                    .waits(waits(slot));
            }
        }
    }

    /// Names the work-groups that wait at a barrier.
    pub(crate) fn waits(&self, waits: &mut Waits<'_>) {
        for (slot, group) in self.slots.iter().enumerate() {
            if group.arrived > 0 {
                waits.inside(format!(
                    "{} of {} wavefronts of work-group {} of kernel {} (slot {slot}) wait at a \
                     barrier",
                    group.arrived, group.alive, group.work_group, group.kernel
                ));
            }
        }
    }

    /// Reports residency in so many wavefront slots.
    pub(crate) fn report_occupancy(&self, wavefront_slots: u32, s: &mut Statistics<'_>) {
        let counts = &self.counts;
        let cycle = s.cycle();
        let meaning = "mean number of resident wavefronts";
        s.level("wavefronts_mean", "wavefronts", meaning, &counts.wavefronts);
        s.role(roles::OCCUPANCY).ratio(
            "occupancy",
            "slot cycles",
            "fraction of wavefront slots occupied, over all cycles",
            counts.wavefronts.integral(cycle),
            cycle * u64::from(wavefront_slots),
        );
        let active = counts.with_wavefronts.integral(cycle);
        let meaning = "cycles in which at least one wavefront was resident";
        s.counter("cycles_with_wavefronts", "cycles", meaning, active);
        s.ratio(
            "achieved_occupancy",
            "slot cycles",
            "fraction of wavefront slots occupied, over the cycles with a wavefront",
            counts.wavefronts.integral(cycle),
            active * u64::from(wavefront_slots),
        );
        let meaning = "maximum number of resident wavefronts";
        s.maximum(
            "wavefronts_max",
            "wavefronts",
            meaning,
            counts.wavefronts.max(),
        );
        let meaning = "mean number of resident work-groups";
        s.level(
            "work_groups_mean",
            "work-groups",
            meaning,
            &counts.work_groups,
        );
        let meaning = "maximum number of resident work-groups";
        s.maximum(
            "work_groups_max",
            "work-groups",
            meaning,
            counts.work_groups.max(),
        );
        let meaning = "work-groups completed";
        s.counter(
            "work_groups_completed",
            "work-groups",
            meaning,
            counts.completed,
        );
    }

    pub(crate) fn report_barriers(&self, s: &mut Statistics<'_>) {
        let counts = &self.counts;
        let meaning = "barriers completed by all wavefronts of a work-group";
        s.counter("barriers", "barriers", meaning, counts.barriers);
    }
}

/// Registers that a work-group of a kernel occupies.
fn registers_of(kernel: &KernelTrace, spec: &ComputeUnitSpec) -> u64 {
    let limits = spec.facts().limits();
    limits
        .registers_per_wavefront(kernel.registers_per_thread())
        .saturating_mul(u64::from(kernel.wavefronts_per_work_group()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with a work-group on these wavefront slots in slot 1.
    fn table(wavefronts: u64) -> WorkGroupTable {
        let mut table = WorkGroupTable::new(2);
        let count = wavefronts.count_ones();
        table.slots[1] = WorkGroup {
            is_resident: true,
            kernel: 3,
            work_group: 5,
            slots: wavefronts,
            alive: count,
            undrained: count,
            ..WorkGroup::default()
        };
        table.counts.come(count, 0);
        table
    }

    #[test]
    fn a_barrier_goes_on_with_the_last_wavefront_that_has_not_ended() {
        let mut table = table(0b1011);
        let all = Some(Released {
            wavefronts: 0b1011,
            after: 0,
        });
        assert_eq!(table.arrive(1, 0, 0), None);
        assert_eq!(table.end(1, 0), None);
        assert_eq!(table.arrive(1, 0, 0), all);
        assert_eq!(table.arrive(1, 0, 0), None);
        // The one that was missing ends.
        assert_eq!(table.end(1, 0), all);
        assert_eq!(table.counts.barriers, 2);
    }

    #[test]
    fn arrivals_at_a_barrier_take_their_cycles_one_after_the_other() {
        let mut table = table(0b111);
        let all = |after| {
            Some(Released {
                wavefronts: 0b111,
                after,
            })
        };
        assert_eq!([10, 10].map(|now| table.arrive(1, 2, now)), [None, None]);
        // They end in 12 and 14, the last in 16.
        assert_eq!(table.arrive(1, 2, 13), all(3));
        assert_eq!([30, 31].map(|now| table.arrive(1, 2, now)), [None, None]);
        // The barrier is complete with the end of the second arrival, in 34.
        assert_eq!(table.end(1, 33), all(1));
    }

    /// CTA-clustering paper, achieved occupancy: 32 wavefronts for 100 cycles, 16 for 100, and none
    /// for 50, in 64 slots, are 24 of 64.
    #[test]
    fn cycles_without_wavefronts_do_not_count_for_the_achieved_occupancy() {
        let mut counts = WorkGroupCounts::default();
        counts.come(16, 50);
        counts.come(16, 50);
        counts.leave(16, 150);
        counts.leave(16, 250);
        assert_eq!(counts.with_wavefronts.integral(300), 200);
        assert_eq!(counts.wavefronts.integral(300), 24 * 200);
    }

    #[test]
    fn a_work_group_finishes_when_its_last_wavefront_has_drained() {
        let mut table = table(0b11);
        assert_eq!(table.drain(1, 7), None);
        let finished = Finished {
            kernel: 3,
            work_group: 5,
            slot: 1,
            wavefronts: 0b11,
        };
        assert_eq!(table.drain(1, 9), Some(finished));
        assert_eq!(table.resident().count(), 0);
        assert_eq!(table.counts.completed, 1);
    }
}
