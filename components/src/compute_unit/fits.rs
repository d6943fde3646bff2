//! Whether the fields of a loaded checkpoint fit the unit and each other: what the pipeline takes for
//! granted of slots, instructions and counts.

use warpweave_framework::{Id, State, at_most, below};
use warpweave_trace::Lanes;

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::front::scoreboard::{Hazard, UNKNOWN};
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::front::wavefront::touches_memory;
use crate::compute_unit::pipes::wheel::Event;
use crate::memory::RequestKind;

impl ComputeUnit {
    /// Checks what was loaded.
    pub(super) fn check_state(&self, state: &mut State<'_>) {
        state.check("masks", || self.masks_fit());
        state.check("wavefronts", || self.wavefronts_fit());
        state.check("work_groups", || self.work_groups_fit());
        state.check("ages", || self.ages.check());
        state.check("results", || self.results_fit());
        state.check("events", || self.events_fit());
        state.check("load_store.accesses", || self.accesses_fit());
        state.check("completions", || {
            let most = self.work_groups.len() + 1;
            at_most("completions", self.completions.len(), most)
        });
    }

    fn masks_fit(&self) -> Result<(), String> {
        let masks = &self.masks;
        let present = masks.present;
        let slots = self.wavefronts.len();
        at_most("wavefronts", slots, self.spec.wavefront_slots as usize)?;
        if slots < 64 && present >> slots != 0 {
            below("wavefront slot", present.ilog2(), slots as u64)?;
        }
        let states = [masks.fetched, masks.barrier, masks.paused, masks.ended];
        let of_absent = states.iter().any(|mask| mask & !present != 0);
        let mut seen = 0;
        let twice = states.iter().any(|mask| {
            let again = seen & mask != 0;
            seen |= mask;
            again
        });
        if of_absent || twice || seen != present {
            return Err("a wavefront is in no state, or in several".to_owned());
        }
        Ok(())
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Wavefront)> {
        let present = self.masks.present;
        let wavefronts = self.wavefronts.iter().enumerate();
        wavefronts.filter(move |(slot, _)| present >> slot & 1 == 1)
    }

    fn wavefronts_fit(&self) -> Result<(), String> {
        for (slot, wavefront) in self.present() {
            let of = |problem: String| format!("wavefront slot {slot}: {problem}");
            self.wavefront_fits(slot, wavefront).map_err(of)?;
        }
        Ok(())
    }

    fn wavefront_fits(&self, slot: usize, wavefront: &Wavefront) -> Result<(), String> {
        let kernels = &self.program.kernels;
        below("kernel", wavefront.kernel, kernels.len() as u64)?;
        let groups = self.work_groups.len() as u64;
        below("work-group slot", wavefront.work_group, groups)?;
        if self.work_groups[usize::from(wavefront.work_group)].slots >> slot & 1 == 0 {
            let group = wavefront.work_group;
            return Err(format!("work-group slot {group} does not hold it"));
        }
        if self.decoded.bases[wavefront.kernel as usize] != wavefront.code {
            return Err(format!("the kernel does not begin at {}", wavefront.code));
        }
        let kernel = &kernels[wavefront.kernel as usize];
        let instructions = kernel.code.instructions.len() as u64;
        below("instruction", wavefront.record.pc, instructions)?;
        let accesses = touches_memory(&wavefront.record, &wavefront.lanes);
        let mut next_accesses = self.masks.next_load_store | self.masks.next_local;
        next_accesses |= self.read_paths.next();
        if next_accesses >> slot & 1 == 1 && !accesses {
            return Err("it accesses nothing next".to_owned());
        }
        // What is left of its stream, for a place in the middle of a token means anything.
        let mut cursor = wavefront.cursor;
        let mut lanes = Lanes::default();
        while let Some(record) = cursor.next(kernel, &mut lanes) {
            below("instruction", record.pc, instructions)?;
        }
        Ok(())
    }

    fn work_groups_fit(&self) -> Result<(), String> {
        let (mut slots, mut registers, mut local) = (0_u64, 0_u64, 0_u64);
        let draining = self
            .wheel
            .events()
            .fold(0_u64, |draining, event| match event {
                Event::Drain { slot } => draining | 1 << (slot % 64),
                _ => draining,
            });
        for (number, group) in self.work_groups.iter().enumerate() {
            let here = |problem: &str| Err(format!("work-group slot {number}: {problem}"));
            if group.slots & slots != 0 || group.slots & !self.masks.present != 0 {
                return here("its wavefronts are another's, or absent");
            }
            slots |= group.slots;
            registers += u64::from(group.registers);
            local = local.saturating_add(group.local_bytes);
            let of = |mask: u64| (group.slots & mask).count_ones();
            let undrained = self.present().filter(|(slot, wavefront)| {
                let ended = self.masks.ended >> slot & 1 == 1 && draining >> slot & 1 == 0;
                group.slots >> slot & 1 == 1 && !(ended && wavefront.in_flight == 0)
            });
            let counts = [group.alive, group.undrained, group.arrived];
            let expected = [
                of(!self.masks.ended),
                undrained.count() as u32,
                of(self.masks.barrier),
            ];
            if counts != expected || group.is_resident == (group.slots == 0) {
                return here("its wavefronts were counted otherwise");
            }
        }
        let used = (u64::from(self.registers_used), self.local_bytes_used);
        let most = (
            u64::from(self.spec.registers),
            u64::from(self.spec.local_memory.bytes),
        );
        if slots != self.masks.present || used != (registers, local) {
            return Err("they do not hold what is in use".to_owned());
        }
        if used.0 > most.0 || used.1 > most.1 {
            return Err("they hold more registers or local memory than there is".to_owned());
        }
        Ok(())
    }

    /// Whether results come within the horizon, and those who wait for them are those that events let go on.
    fn results_fit(&self) -> Result<(), String> {
        // The unit was evaluated before that cycle.
        let horizon = self.wheel.horizon();
        let latest = self.accounting.evaluated_to().saturating_add(horizon);
        let mut waiting = 0_u64;
        for bits in self.wheel.waits() {
            if waiting & bits != 0 {
                return Err("a wavefront waits for two results".to_owned());
            }
            waiting |= bits;
        }
        let mut expected = 0_u64;
        for (slot, wavefront) in self.present() {
            if wavefront.scoreboard.latest().max(wavefront.last_result.0) >= latest {
                return Err(format!("wavefront slot {slot} has a result too late"));
            }
            if (self.masks.hazard & !self.masks.hazard_memory) >> slot & 1 == 1 {
                let next = &self.decoded.instructions[wavefront.next as usize];
                let hazard = wavefront.scoreboard.clone().hazard(&next.uses, 0);
                let is_known = matches!(hazard, Hazard::Pipeline(at) if at != UNKNOWN);
                expected |= u64::from(is_known) << slot;
            }
        }
        if waiting != expected {
            return Err("those who wait for results are others".to_owned());
        }
        Ok(())
    }

    fn events_fit(&self) -> Result<(), String> {
        let mut resumed = 0_u64;
        let mut drained = 0_u64;
        let mut under_way = vec![0_u32; self.wavefronts.len()];
        for event in self.wheel.events() {
            match event {
                Event::Resume { slot } => {
                    below("wavefront slot", slot, self.wavefronts.len() as u64)?;
                    if resumed >> slot & 1 == 1 {
                        return Err(format!("wavefront slot {slot} goes on twice"));
                    }
                    resumed |= 1 << slot;
                }
                Event::WriteBack {
                    slot, instruction, ..
                } => {
                    below("wavefront slot", slot, self.wavefronts.len() as u64)?;
                    let instructions = self.decoded.instructions.len() as u64;
                    below("instruction", instruction, instructions)?;
                    under_way[usize::from(slot)] += 1;
                }
                Event::Drain { slot } => {
                    below("wavefront slot", slot, self.wavefronts.len() as u64)?;
                    let ended = self.masks.ended & !drained;
                    if ended >> slot & 1 == 0 || self.wavefronts[usize::from(slot)].in_flight > 0 {
                        return Err(format!("wavefront slot {slot} drains twice or too early"));
                    }
                    drained |= 1 << slot;
                }
            }
        }
        if resumed != self.masks.paused {
            return Err("those that go on are not those that pause".to_owned());
        }
        for access in self.load_store.accesses().chain(self.read_paths.accesses()) {
            let slot = access.source.wavefront_slot;
            below("wavefront slot", slot, self.wavefronts.len() as u64)?;
            under_way[usize::from(slot)] += 1;
        }
        let waits = |(slot, wavefront): (usize, &Wavefront)| {
            let present = self.masks.present >> slot & 1 == 1;
            if present { wavefront.in_flight } else { 0 }
        };
        let other =
            (self.wavefronts.iter().enumerate()).find(|(s, w)| under_way[*s] != waits((*s, w)));
        other.map_or(Ok(()), |(slot, _)| {
            let found = under_way[slot];
            Err(format!(
                "{found} results and accesses of wavefront slot {slot}"
            ))
        })
    }

    fn accesses_fit(&self) -> Result<(), String> {
        let mut stores = vec![0_u32; self.wavefronts.len()];
        for access in self.load_store.accesses() {
            let instructions = self.decoded.instructions.len() as u64;
            below("instruction", access.instruction, instructions)?;
            let stored = u32::from(access.kind.carries_data() && access.local_cycles == 0);
            stores[usize::from(access.source.wavefront_slot)] += stored;
        }
        let other = self.present().find(|(slot, w)| stores[*slot] != w.stores);
        if let Some((slot, _)) = other {
            return Err(format!("wavefront slot {slot} waits for other stores"));
        }
        for access in self.read_paths.accesses() {
            let instructions = self.decoded.instructions.len() as u64;
            below("instruction", access.instruction, instructions)?;
            if access.kind != RequestKind::Read || access.local_cycles > 0 {
                return Err("a load by a path of its own is none".to_owned());
            }
        }
        self.read_paths.check()?;
        let most = self.decoded.conflicts_max;
        let mut accesses = self.load_store.accesses();
        if accesses.any(|access| access.local_cycles > most) || !self.load_store.kinds_fit() {
            return Err("an access to local memory is not one".to_owned());
        }
        self.load_store.check()
    }
}

impl crate::compute_unit::memory_path::load_store::LoadStoreUnit {
    /// Whether queue, accesses and requests fit each other.
    pub(super) fn check(&self) -> Result<(), String> {
        let most = self.outstanding_most() as usize;
        at_most(
            "requests without an answer",
            self.outstanding() as usize,
            most,
        )?;
        let mut remaining: Vec<Id> = self.owners().collect();
        for queued in self.waiting() {
            below("line", queued.1, queued.2 as u64)?;
            remaining.extend(std::iter::repeat_n(queued.0, queued.2 - queued.1 as usize));
        }
        remaining.sort_unstable();
        for (id, left) in self.remaining() {
            let from = remaining.partition_point(|owner| *owner < id);
            let until = remaining.partition_point(|owner| *owner <= id);
            if (until - from) as u32 != left {
                return Err(format!("access {id} waits for {left} requests"));
            }
            remaining.drain(from..until);
        }
        match remaining.first() {
            Some(id) => Err(format!("a request of access {id}, which is not there")),
            None => Ok(()),
        }
    }
}
