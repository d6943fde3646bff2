//! Scheduling of work-groups in flight, and deadlock detection.

use warpweave_files::OverBudget;
use warpweave_random::{GAMMA, nth};
use warpweave_trace::{KernelTrace, KernelWriter};

use crate::exec::barrier::Shared;
use crate::exec::error::EmulationError;
use crate::exec::observe::Observer;
use crate::exec::run::Pause;
use crate::exec::spin::TouchedWords;
use crate::exec::wavefront::{State, Wavefront};
use crate::exec::{Machine, Order};

/// Granularity in bytes at which unfinished records are charged.
const RECORDS_CHARGED: u64 = 1 << 20;

/// Work-group in flight, with its wavefronts and shared state.
pub(super) struct Group {
    pub(super) number: u32,
    /// Number of work-groups that started before this one.
    pub(super) order: u32,
    /// Wavefronts in the order of their turns.
    pub(super) wavefronts: Vec<Wavefront>,
    pub(super) shared: Shared,
}

impl<O: Observer> Machine<'_, O> {
    /// Charges the unfinished records before they grow large.
    fn charge_records(&mut self) -> Result<(), OverBudget> {
        if self.records <= self.records_charged {
            return Ok(());
        }
        let more = RECORDS_CHARGED.max(self.records - self.records_charged);
        let name = self.kernel.name();
        self.charge.grow(&format!("the trace of `{name}`"), more)?;
        self.records_charged += more;
        Ok(())
    }

    fn start(&mut self, number: u32, order: u32) -> Group {
        let count = self.wavefronts_per_group();
        let turns = sequence(count, self.options.order, u64::from(number) + 1);
        let wavefronts: Vec<Wavefront> = turns
            .into_iter()
            .map(|index| Wavefront::new(self, number, index))
            .collect();
        for wavefront in &wavefronts {
            self.observer.wavefront_starts(self.kernel, wavefront);
        }
        let bytes = self.kernel.code().static_local_bytes + self.dynamic_local_bytes;
        Group {
            number,
            order,
            wavefronts,
            shared: Shared::new(bytes, count),
        }
    }
}

/// Runs all work-groups; the resident ones are interleaved wavefront by wavefront.
pub(super) fn schedule(
    machine: &mut Machine<'_, impl Observer>,
    mut writer: KernelWriter,
) -> Result<KernelTrace, EmulationError> {
    let total: u32 = machine.grid.iter().product();
    let mut waiting = sequence(total, machine.options.order, 0).into_iter();
    let mut resident: Vec<Group> = Vec::new();
    loop {
        while resident.len() < machine.options.resident_work_groups as usize {
            let order = total - waiting.len() as u32;
            let Some(number) = waiting.next() else { break };
            resident.push(machine.start(number, order));
        }
        if resident.is_empty() {
            return Ok(writer.finish()?);
        }
        let before = machine.steps;
        for group in &mut resident {
            take_turns(machine, group)?;
        }
        if writer.is_to_spill(machine.records) {
            for group in &mut resident {
                for wavefront in &mut group.wavefronts {
                    let stream = &mut wavefront.writer;
                    machine.records -= stream.stream_bytes();
                    writer.spill_part(group.number, wavefront.index, stream)?;
                }
            }
        }
        if machine.steps == before {
            return Err(deadlock(machine, &resident));
        }
        if let Some(stuck) = machine.stuck(&resident, waiting.len()) {
            return Err(stuck);
        }
        let mut at = 0;
        while at < resident.len() {
            if resident[at]
                .wavefronts
                .iter()
                .all(|wavefront| wavefront.state == State::Done)
            {
                let group = resident.remove(at);
                machine.observer.group_ends(group.number);
                for wavefront in group.wavefronts {
                    machine.records -= wavefront.writer.stream_bytes();
                    writer.finish_wavefront(group.number, wavefront.index, wavefront.writer)?;
                    machine.spare.push(wavefront.registers);
                }
            } else {
                at += 1;
            }
        }
    }
}

fn take_turns<O: Observer>(
    machine: &mut Machine<'_, O>,
    group: &mut Group,
) -> Result<(), EmulationError> {
    for turn in 0..group.wavefronts.len() {
        if group.wavefronts[turn].state != State::Running {
            continue;
        }
        let touched = (!machine.watches.is_empty()).then(|| TouchedWords::of(group));
        let wavefront = &mut group.wavefronts[turn];
        let written = wavefront.writer.stream_bytes();
        let (paused, effect) = machine.turn(wavefront, &mut group.shared);
        machine.keep_in_view(group.number, group.order, wavefront);
        let written = wavefront.writer.stream_bytes() - written;
        machine.stream_bytes += written;
        machine.records += written;
        machine.charge_records()?;
        match paused {
            Ok(Pause::Quantum | Pause::Barrier) => {}
            Ok(Pause::Done) => {
                group.shared.leave();
                machine.last_progress = machine.steps;
            }
            Err(fault) => {
                let place = Box::new(machine.place(group.number, wavefront, fault.lane));
                return Err(fault.into_error(place, machine));
            }
        }
        if let Some(touched) = touched.filter(|_| effect) {
            machine.check_waits(group.number, group.order, &touched)?;
        }
        let opened = group.shared.release(&mut group.wavefronts);
        if opened != 0 {
            machine
                .observer
                .release(machine.kernel, group.number, opened);
            machine.last_progress = machine.steps;
        }
        if machine.stream_bytes > machine.options.stream_bytes {
            return Err(EmulationError::StreamBytes {
                kernel: machine.kernel.name().to_owned(),
                file: machine.kernel.file.clone(),
                written: machine.stream_bytes,
                limit: machine.options.stream_bytes,
            });
        }
        let stalled = machine.steps - machine.last_progress > machine.options.stall_limit;
        if stalled || machine.steps > machine.options.step_limit {
            let place = Box::new(machine.place(group.number, &group.wavefronts[turn], None));
            let steps = machine.steps;
            return Err(if stalled {
                EmulationError::NoProgress {
                    place,
                    steps: machine.options.stall_limit,
                }
            } else {
                EmulationError::StepLimit { place, steps }
            });
        }
    }
    Ok(())
}

fn deadlock(machine: &Machine<'_, impl Observer>, resident: &[Group]) -> EmulationError {
    let mut waiting = Vec::new();
    for group in resident {
        for wavefront in &group.wavefronts {
            if let State::Waiting { barrier } = wavefront.state {
                let place = machine.place(group.number, wavefront, None);
                waiting.push(format!(
                    "work-group {} wavefront {} at barrier {barrier}, line {}",
                    group.number, wavefront.index, place.line
                ));
            }
        }
    }
    let (file, kernel) = (
        machine.kernel.file.clone(),
        machine.kernel.name().to_owned(),
    );
    EmulationError::Deadlock {
        file,
        kernel,
        waiting,
    }
}

/// Returns `0..count` in the given order; `salt` derives different shuffles from one seed.
fn sequence(count: u32, order: Order, salt: u64) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    match order {
        Order::Linear => {}
        Order::Reversed => numbers.reverse(),
        Order::Shuffled(seed) => {
            let seed = seed ^ salt.wrapping_mul(GAMMA);
            for (draw, last) in (1..numbers.len()).rev().enumerate() {
                let number = nth(seed, draw as u64);
                numbers.swap(last, (number % (last as u64 + 1)) as usize);
            }
        }
    }
    numbers
}
