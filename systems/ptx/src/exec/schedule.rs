//! Scheduling of work-groups in flight, and deadlock detection.

use warpweave_files::{Charge, OverBudget};
use warpweave_random::{GAMMA, nth};
use warpweave_trace::{KernelTrace, KernelWriter};

use crate::exec::barrier::{Group, Shared};
use crate::exec::error::EmulationError;
use crate::exec::observe::Observer;
use crate::exec::run::Pause;
use crate::exec::watch::TouchedWords;
use crate::exec::wavefront::{State, Wavefront};
use crate::exec::{Machine, Order};
use crate::kernel::Kernel;

/// Granularity in bytes at which unfinished records are charged.
const RECORDS_CHARGED: u64 = 1 << 20;

/// Trace records of a launch, and the memory charged for them.
pub(super) struct Records {
    /// Memory charge of the launch while it runs.
    charge: Charge,
    /// Total size of all records written, in bytes.
    written: u64,
    /// Size in bytes of the records of wavefronts that have not ended.
    unfinished: u64,
    /// Number of those bytes that are already charged.
    charged: u64,
}

impl Records {
    pub(super) fn new(charge: Charge) -> Self {
        Self {
            charge,
            written: 0,
            unfinished: 0,
            charged: 0,
        }
    }

    /// Counts the records of a turn, and charges the unfinished ones before they grow large.
    fn add(&mut self, kernel: &Kernel, bytes: u64) -> Result<(), OverBudget> {
        self.written += bytes;
        self.unfinished += bytes;
        if self.unfinished <= self.charged {
            return Ok(());
        }
        let more = RECORDS_CHARGED.max(self.unfinished - self.charged);
        let name = kernel.name();
        self.charge.grow(&format!("the trace of `{name}`"), more)?;
        self.charged += more;
        Ok(())
    }
}

fn start<O: Observer>(machine: &mut Machine<'_, O>, number: u32, order: u32) -> Group {
    let (kernel, config) = (machine.kernel, &machine.config);
    let count = config.wavefronts_per_group();
    let turns = sequence(count, machine.options.order, u64::from(number) + 1);
    let wavefronts: Vec<Wavefront> = turns
        .into_iter()
        .map(|index| {
            let registers = machine.spare.take();
            let (place, budget) = ((number, index), machine.budget.clone());
            let answers = machine.answers;
            Wavefront::new(
                kernel,
                config,
                registers,
                place,
                budget,
                answers,
                O::WATCHES,
            )
        })
        .collect();
    for wavefront in &wavefronts {
        machine.observer.wavefront_starts(kernel, wavefront);
    }
    let bytes = kernel.code().static_local_bytes + config.dynamic_local_bytes;
    Group {
        number,
        order,
        wavefronts,
        shared: Shared::new(bytes, count),
    }
}

/// Runs all work-groups; the resident ones are interleaved wavefront by wavefront.
pub(super) fn schedule(
    machine: &mut Machine<'_, impl Observer>,
    mut writer: KernelWriter,
) -> Result<KernelTrace, EmulationError> {
    let total: u32 = machine.config.grid.iter().product();
    let mut waiting = sequence(total, machine.options.order, 0).into_iter();
    let mut resident: Vec<Group> = Vec::new();
    let most = machine.options.resident(total.into());
    loop {
        while (resident.len() as u64) < most {
            let order = total - waiting.len() as u32;
            let Some(number) = waiting.next() else { break };
            resident.push(start(machine, number, order));
        }
        if resident.is_empty() {
            return Ok(writer.finish()?);
        }
        if machine.observer.is_abandoned() {
            return Err(EmulationError::Abandoned);
        }
        let before = machine.progress.steps;
        for group in &mut resident {
            take_turns(machine, group)?;
        }
        if writer.is_to_spill(machine.records.unfinished) {
            for group in &mut resident {
                for wavefront in &mut group.wavefronts {
                    let stream = &mut wavefront.writer;
                    machine.records.unfinished -= stream.stream_bytes();
                    writer.spill_part(group.number, wavefront.index, stream)?;
                }
            }
        }
        if machine.progress.steps == before {
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
                    machine.records.unfinished -= wavefront.writer.stream_bytes();
                    writer.finish_wavefront(group.number, wavefront.index, wavefront.writer)?;
                    machine.spare.give_back(wavefront.registers);
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
        machine.records.add(machine.kernel, written)?;
        match paused {
            Ok(Pause::Quantum | Pause::Barrier) => {}
            Ok(Pause::Done) => {
                group.shared.leave();
                machine.progress.take_effect();
            }
            Err(fault) => {
                let place = Box::new(machine.place(group.number, wavefront, fault.lane));
                return Err(fault.into_error(place, machine.memory.device, &machine.options));
            }
        }
        if let Some(touched) = touched.filter(|_| effect) {
            machine.check_waits(group.number, group.order, &touched)?;
        }
        let opened = group.shared.release(&mut group.wavefronts);
        if opened != 0 {
            machine.observer.release(group.number, opened);
            machine.progress.take_effect();
        }
        if machine.records.written > machine.options.stream_bytes {
            return Err(EmulationError::StreamBytes {
                kernel: machine.kernel.name().to_owned(),
                file: machine.kernel.file.clone(),
                written: machine.records.written,
                limit: machine.options.stream_bytes,
            });
        }
        let stalled =
            machine.progress.steps - machine.progress.last_effect > machine.options.stall_limit;
        if stalled || machine.progress.steps > machine.options.step_limit {
            let place = Box::new(machine.place(group.number, &group.wavefronts[turn], None));
            let steps = machine.progress.steps;
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
