//! What a checkpoint keeps of a compute unit.

use serde::{Deserialize, Serialize};
use warpweave_framework::{Cycle, State};
use warpweave_trace::{Cursor, Lanes, Record, Shape};

use crate::compute_unit::ComputeUnit;
use crate::compute_unit::front::scoreboard::SavedScoreboard;
use crate::compute_unit::front::wavefront::Wavefront;
use crate::compute_unit::pipes::wheel::Stamp;

impl ComputeUnit {
    /// Names every field that is neither determined by specification and program nor empty
    /// between two cycles.
    pub(super) fn name_state(&mut self, state: &mut State<'_>) {
        let registers = self.decoded.registers;
        state.field_as(
            "wavefronts",
            &mut self.wavefronts,
            |wavefronts| {
                wavefronts
                    .iter()
                    .map(SavedWavefront::of)
                    .collect::<Vec<_>>()
            },
            |wavefronts, saved| {
                let saved = saved.iter();
                *wavefronts = saved
                    .map(|saved| saved.restored(registers))
                    .collect::<Result<_, _>>()?;
                Ok(())
            },
        );
        state.array("work_groups", &mut self.work_groups);
        state.field("masks", &mut self.masks);
        state.part("ages", |state| self.ages.state(state));
        for (number, issuer) in self.issuers.iter_mut().enumerate() {
            state.part(&format!("schedulers[{number}]"), |state| {
                issuer.state(state);
                if let Some(open) = self.open.get_mut(number) {
                    open.state(self.spec.scheduler.name(), state);
                }
            });
        }
        state.array("next_of_pipe", &mut self.next_of_pipe);
        self.wheel.state(state);
        if let Some(stage) = &mut self.fetch {
            state.part("fetch", |state| stage.state(state));
        }
        if let Some(file) = &mut self.register_file {
            state.part("register_file", |state| file.state(state));
        }
        state.part("load_store", |state| self.load_store.state(state));
        self.read_paths.state(state);
        state.field("local_memory_free_at", &mut self.local_memory_free_at);
        state.field("accesses_issued", &mut self.accesses_issued);
        state.field("registers_used", &mut self.registers_used);
        state.field("local_bytes_used", &mut self.local_bytes_used);
        state.field("completions", &mut self.completions);
        state.field("launching", &mut self.launching);
        state.field("invalidation", &mut self.invalidation);
        if let Some(split) = &mut self.split {
            state.part("split", |state| split.state(state));
        }
        if let Some(monitor) = &mut self.reuse_monitor {
            state.part("reuse_monitor", |state| monitor.state(state));
        }
        state.part("accounting", |state| self.accounting.state(state));
        state.field("counts", &mut self.counts);
        self.is_settled = false;
        self.check_state(state);
    }
}

/// A wavefront with the lane addresses that mean something.
#[derive(Serialize, Deserialize)]
struct SavedWavefront {
    cursor: Cursor,
    record: Record,
    code: u32,
    kernel: u32,
    work_group: u8,
    number: u8,
    launches: u32,
    in_flight: u32,
    stores: u32,
    scoreboard: SavedScoreboard,
    last_result: (Cycle, Stamp),
    shape: Shape,
    /// Of the active lanes, where each has its own.
    addresses: Vec<u64>,
}

impl SavedWavefront {
    fn of(wavefront: &Wavefront) -> Self {
        let Wavefront { record, lanes, .. } = wavefront;
        let own = lanes.shape == Shape::List;
        let active = if own { record.mask } else { 0 };
        Self {
            cursor: wavefront.cursor,
            record: *record,
            code: wavefront.code,
            kernel: wavefront.kernel,
            work_group: wavefront.work_group,
            number: wavefront.number,
            launches: wavefront.launches,
            in_flight: wavefront.in_flight,
            stores: wavefront.stores,
            scoreboard: wavefront.scoreboard.save(),
            last_result: wavefront.last_result,
            shape: lanes.shape,
            addresses: lanes.iter(active).map(|(_, address)| address).collect(),
        }
    }

    fn restored(&self, registers: u32) -> Result<Wavefront, String> {
        let mut lanes = Lanes {
            shape: self.shape,
            ..Lanes::default()
        };
        let active = (0..u32::BITS).filter(|lane| self.record.mask >> lane & 1 == 1);
        for (lane, address) in active.zip(&self.addresses) {
            lanes.list[lane as usize] = *address;
        }
        Ok(Wavefront {
            cursor: self.cursor,
            record: self.record,
            code: self.code,
            next: self.code.wrapping_add(self.record.pc),
            kernel: self.kernel,
            work_group: self.work_group,
            number: self.number,
            launches: self.launches,
            in_flight: self.in_flight,
            stores: self.stores,
            scoreboard: self.scoreboard.restored(registers)?,
            last_result: self.last_result,
            lanes,
        })
    }
}
