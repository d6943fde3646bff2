//! Levels over time: how full channels are and what components wait for.

use std::io::{self, Seek, Write};

use warpweave_framework::{Probe, ProbeSink, Reason, Simulation, Tick, TimeBase};

use crate::PICOSECONDS;
use crate::selection::Selection;
use crate::vcd_fst::{Fst, Variable, Vcd, Writer};

/// Records a waveform. Per component there is `state`, the number of the [`Reason`] in
/// [`Reason::ALL`] (0 busy, 1 timer, 2 message, 3 credit, 4 idle); per channel, below its
/// receiver, the port's name with the messages in the channel, in flight or waiting. Brackets in
/// names become parentheses, because viewers take brackets for bit ranges.
pub struct Waveform {
    writer: Option<Box<dyn Writer + Send>>,
    time: TimeBase,
    selection: Selection,
    /// Variable of each component's state and of each channel.
    states: Vec<Option<u32>>,
    channels: Vec<Option<u32>>,
    values: Vec<u64>,
    /// Variables that changed at tick `at`, each once.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    at: Tick,
    /// The first values of the window are written.
    started: bool,
    failed: Option<io::Error>,
}

const STATE_BITS: u32 = 3;

impl Waveform {
    /// Records as VCD.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn vcd(
        out: impl Write + Send + 'static,
        simulation: &Simulation,
        selection: &Selection,
    ) -> io::Result<Self> {
        Self::new(simulation, selection, |variables| {
            Ok(Box::new(Vcd::new(out, variables)?))
        })
    }

    /// Records as FST.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn fst(
        out: impl Write + Seek + Send + 'static,
        simulation: &Simulation,
        selection: &Selection,
    ) -> io::Result<Self> {
        Self::new(simulation, selection, |variables| {
            Ok(Box::new(Fst::new(out, variables)?))
        })
    }

    fn new(
        simulation: &Simulation,
        selection: &Selection,
        open: impl FnOnce(&[Variable]) -> io::Result<Box<dyn Writer + Send>>,
    ) -> io::Result<Self> {
        let mut variables = Vec::new();
        let mut declare = |wanted: bool, name: &dyn Fn() -> String, bits: u32| {
            wanted.then(|| {
                variables.push(Variable::new(&name(), bits));
                variables.len() as u32 - 1
            })
        };
        let paths: Vec<_> = simulation.instances().map(|(path, _)| path).collect();
        let wanted = selection.instances(simulation);
        let states = paths
            .iter()
            .zip(wanted)
            .map(|(path, wanted)| declare(wanted, &|| format!("{path}.state"), STATE_BITS))
            .collect();
        let wanted = selection.channels(simulation);
        let channels = (0..simulation.channel_count() as u32)
            .zip(wanted)
            .map(|(number, wanted)| {
                let [_, (receiver, port)] = simulation.channel_ends(number);
                let bits = u32::BITS - simulation.channel_capacity(number).leading_zeros();
                declare(
                    wanted,
                    &|| format!("{}.{port}", paths[receiver as usize]),
                    bits,
                )
            })
            .collect();
        let mut values = vec![0; variables.len()];
        let states: Vec<Option<u32>> = states;
        for state in states.iter().flatten() {
            values[*state as usize] = Reason::Idle as u64;
        }
        Ok(Self {
            writer: Some(open(&variables)?),
            time: simulation.time().clone(),
            selection: selection.clone(),
            states,
            channels,
            is_changed: vec![false; values.len()],
            values,
            changed: Vec::new(),
            at: Tick(0),
            started: false,
            failed: None,
        })
    }

    fn set(&mut self, variable: u32, change: impl FnOnce(&mut u64)) {
        let at = variable as usize;
        change(&mut self.values[at]);
        if !std::mem::replace(&mut self.is_changed[at], true) {
            self.changed.push(variable);
        }
    }

    /// Writes the changes of the tick that is over. They are written in the order of the
    /// variables, so the order of evaluation within a tick leaves no trace.
    fn write_tick(&mut self) {
        let covered = self.selection.covers(self.at);
        if covered && !self.started {
            self.started = true;
            self.changed = (0..self.values.len() as u32).collect();
        } else {
            self.changed.sort_unstable();
        }
        let now = self.time.units(self.at, PICOSECONDS);
        if let Some(writer) = &mut self.writer
            && covered
            && !self.changed.is_empty()
        {
            let changes = self.changed.iter().map(|v| (*v, self.values[*v as usize]));
            if let Err(error) = writer.changes(now, &mut changes.into_iter()) {
                self.failed = Some(error);
                self.writer = None;
            }
        }
        for variable in self.changed.drain(..) {
            self.is_changed[variable as usize] = false;
        }
    }
}

impl ProbeSink for Waveform {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        if tick > self.at {
            self.write_tick();
            if self.at < self.selection.from && self.selection.from < tick {
                // The levels with which the window begins.
                self.at = self.selection.from;
                self.write_tick();
            }
            self.at = tick;
        }
        match *probe {
            Probe::Waits { reason } => {
                if let Some(variable) = self.states[component as usize] {
                    self.set(variable, |value| *value = reason as u64);
                }
            }
            Probe::Sent { channel, .. } => {
                if let Some(variable) = self.channels[channel as usize] {
                    self.set(variable, |value| *value += 1);
                }
            }
            Probe::Taken { channel } => {
                if let Some(variable) = self.channels[channel as usize] {
                    // Messages of before the recording are not known.
                    self.set(variable, |value| *value = value.saturating_sub(1));
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        self.write_tick();
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let end = self.selection.until.map_or(now, |until| until.min(now));
        let end = self.time.units(end, PICOSECONDS);
        self.writer
            .take()
            .map_or(Ok(()), |mut writer| writer.finish(end))
    }
}
