//! What a compute unit shows to recordings, its work-groups, wavefronts and requests, and what it waits for when nothing
//! moves.

use warpweave_framework::{Contents, Waits};

use crate::compute_unit::ComputeUnit;

impl ComputeUnit {
    pub(super) fn show(&self, contents: &mut Contents<'_>) {
        for (slot, group) in self.work_groups.iter().enumerate() {
            if !group.is_resident {
                continue;
            }
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
                    .waits(self.wavefront_waits(slot));
            }
        }
        self.load_store.show("request", contents);
        contents.level("wavefronts", u64::from(self.masks.present.count_ones()));
        contents.level("queued_accesses", self.load_store.queued() as u64);
        self.read_paths.show(contents);
        let holdup = self.load_store.holdup();
        contents.blocked(holdup.or_else(|| self.read_paths.holdup()));
    }

    /// What is unfinished.
    pub(super) fn explain(&self, waits: &mut Waits<'_>) {
        let outstanding = self.load_store.outstanding();
        if outstanding > 0 {
            let what = format!("{outstanding} requests wait for responses");
            waits.on_port("memory.response", what);
        }
        if self
            .fetch
            .as_ref()
            .is_some_and(|stage| stage.awaits_answers())
        {
            waits.on_port("instructions.response", "fetches wait for instructions");
        }
        if self.load_store.queued() > 0 {
            let what = format!("{} accesses wait to be sent", self.load_store.queued());
            waits.inside(what);
        }
        self.read_paths.waits(waits);
        for (slot, group) in self.work_groups.iter().enumerate() {
            if group.arrived > 0 {
                waits.inside(format!(
                    "{} of {} wavefronts of work-group {} of kernel {} (slot {slot}) wait at a \
                     barrier",
                    group.arrived, group.alive, group.work_group, group.kernel
                ));
            }
        }
        self.waits_open(waits);
        self.waits_for_caches(waits);
        if self.split_is_under_way() {
            waits.on_port(
                "cache_control.done",
                "the first-level cache is to have another size",
            );
        }
        if !self.launching.is_empty() {
            let what = format!(
                "{} launches from the device wait to be sent",
                self.launching.len()
            );
            waits.on_port("launches", what);
        }
        if !self.completions.is_empty() {
            waits.inside(format!(
                "{} completions wait to be sent",
                self.completions.len()
            ));
        }
    }

    /// Why a wavefront cannot issue, by what is known of it alone: an issued wavefront that
    /// competes for a scheduler or a pipe waits for nothing of its own.
    fn wavefront_waits(&self, slot: u32) -> Option<&'static str> {
        let masks = &self.masks;
        let reasons = [
            (masks.ended, "drains"),
            (masks.barrier, "barrier"),
            (masks.paused, "fixed latency"),
            (masks.fence, "fence"),
            (masks.hazard & masks.hazard_memory, "memory"),
            (masks.hazard, "scoreboard"),
            (masks.fetched & masks.starved, "fetch"),
        ];
        let mut reasons = reasons.into_iter();
        let found = reasons.find(|(mask, _)| mask >> slot & 1 != 0);
        found.map(|(_, reason)| reason)
    }
}
