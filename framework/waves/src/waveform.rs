//! Levels over time: occupancy of channels and wait reasons of components.

use std::collections::BTreeMap;
use std::io::{self, Seek, Write};

use warpweave_framework::{Probe, ProbeSink, Sample, Shape, Simulation, Tick, TimeBase};

use crate::PICOSECONDS;
use crate::selection::Selection;
use crate::vcd_fst::{Fst, Variable, Vcd, Writer};

/// Records a waveform. Per component there is `state`, the number of the [`Reason`] in
/// [`Reason::ALL`] (0 busy, 1 timer, 2 message, 3 credit, 4 idle). The levels it reports
/// ([`warpweave_framework::Contents::level`]) follow. Each channel, below its receiver, has the
/// port's name and the number of messages in it, in flight or waiting. Every signal and FIFO that
/// the event world has when the recording begins is included. Brackets in names become parentheses,
/// because viewers interpret brackets as bit ranges, and blanks become underscores.
///
/// [`Reason`]: warpweave_framework::Reason
/// [`Reason::ALL`]: warpweave_framework::Reason::ALL
pub struct Waveform {
    writer: Option<Box<dyn Writer + Send>>,
    time: TimeBase,
    selection: Selection,
    /// Variable number of each component's state and of each channel.
    states: Vec<Option<u32>>,
    channels: Vec<Option<u32>>,
    levels: BTreeMap<(u32, &'static str), u32>,
    signals: BTreeMap<u32, u32>,
    values: Vec<Sample>,
    /// Variables that changed at tick `at`, without duplicates.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    at: Tick,
    /// True once the first values of the window are written.
    started: bool,
    failed: Option<io::Error>,
}

const STATE_BITS: u32 = 3;
const LEVEL_BITS: u32 = 32;

/// Variables of a waveform with their initial values.
#[derive(Default)]
struct Variables {
    declared: Vec<Variable>,
    values: Vec<Sample>,
}

impl Variables {
    fn declare(&mut self, name: &str, shape: Shape, value: Sample) -> u32 {
        self.declared.push(Variable::new(name, shape));
        self.values.push(value);
        self.values.len() as u32 - 1
    }
}

/// Adds to the message count of a channel.
fn add(value: &mut Sample, by: i128) {
    if let Sample::Bits(held) = value {
        *held = held.saturating_add_signed(by);
    }
}

impl Waveform {
    /// Creates a recording in the VCD format.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn vcd(
        out: impl Write + Send + 'static,
        simulation: &mut Simulation,
        selection: &Selection,
    ) -> io::Result<Self> {
        Self::new(simulation, selection, |variables| {
            Ok(Box::new(Vcd::new(out, variables)?))
        })
    }

    /// Creates a recording in the FST format.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn fst(
        out: impl Write + Seek + Send + 'static,
        simulation: &mut Simulation,
        selection: &Selection,
    ) -> io::Result<Self> {
        Self::new(simulation, selection, |variables| {
            Ok(Box::new(Fst::new(out, variables)?))
        })
    }

    fn new(
        simulation: &mut Simulation,
        selection: &Selection,
        open: impl FnOnce(&[Variable]) -> io::Result<Box<dyn Writer + Send>>,
    ) -> io::Result<Self> {
        let mut variables = Variables::default();
        let occupancies = simulation.occupancies();
        let paths: Vec<_> = simulation.instances().map(|(path, _)| path).collect();
        let wanted = selection.instances(simulation);
        let mut levels = BTreeMap::new();
        let mut states = vec![None; paths.len()];
        for number in (0..paths.len()).filter(|number| wanted[*number]) {
            let path = paths[number];
            let state = Sample::Bits(simulation.reason(number) as u128);
            states[number] =
                Some(variables.declare(&format!("{path}.state"), Shape::Bits(STATE_BITS), state));
            for (name, level) in simulation.levels(number as u32) {
                let variable = variables.declare(
                    &format!("{path}.{name}"),
                    Shape::Bits(LEVEL_BITS),
                    Sample::Bits(u128::from(level)),
                );
                levels.insert((number as u32, name), variable);
            }
        }
        let wanted = selection.channels(simulation);
        let mut channels = vec![None; wanted.len()];
        for number in (0..wanted.len()).filter(|number| wanted[*number]) {
            let [_, (receiver, port)] = simulation.channel_ends(number as u32);
            let capacity = simulation.channel_capacity(number as u32);
            let bits = (u32::BITS - capacity.leading_zeros()).max(1);
            let name = format!("{}.{port}", paths[receiver as usize]);
            let held = Sample::Bits(occupancies[number] as u128);
            channels[number] = Some(variables.declare(&name, Shape::Bits(bits), held));
        }
        let mut signals = BTreeMap::new();
        for line in simulation.signals() {
            if selection.names(&line.name) {
                let variable = variables.declare(&line.name, line.shape, line.value);
                signals.insert(line.id, variable);
            }
        }
        Ok(Self {
            writer: Some(open(&variables.declared)?),
            time: simulation.time().clone(),
            selection: selection.clone(),
            states,
            channels,
            levels,
            signals,
            is_changed: vec![false; variables.values.len()],
            values: variables.values,
            changed: Vec::new(),
            at: Tick(0),
            started: false,
            failed: None,
        })
    }

    fn set(&mut self, variable: Option<u32>, change: impl FnOnce(&mut Sample)) {
        let Some(variable) = variable else {
            return;
        };
        let at = variable as usize;
        change(&mut self.values[at]);
        if !std::mem::replace(&mut self.is_changed[at], true) {
            self.changed.push(variable);
        }
    }

    /// Writes the changes of the completed tick. They are written in variable order, so that the
    /// evaluation order within a tick has no influence.
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
            let mut changes = self.changed.iter().map(|v| (*v, &self.values[*v as usize]));
            if let Err(error) = writer.changes(now, &mut changes) {
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
                let variable = self.states[component as usize];
                self.set(variable, |value| *value = Sample::Bits(reason as u128));
            }
            Probe::Sent { channel, .. } => {
                self.set(self.channels[channel as usize], |value| add(value, 1));
            }
            Probe::Taken { channel } => {
                self.set(self.channels[channel as usize], |value| add(value, -1));
            }
            Probe::Value { name, value } => {
                // Beyond its bits a level shows as the most they can.
                let most = f64::from(u32::MAX);
                let level = value.clamp(0.0, most) as u128;
                let variable = self.levels.get(&(component, name)).copied();
                self.set(variable, |value| *value = Sample::Bits(level));
            }
            Probe::Signal { signal, ref value } => {
                let variable = self.signals.get(&signal).copied();
                self.set(variable, |now| now.clone_from(value));
            }
            _ => {}
        }
    }

    fn wants_contents(&self, component: u32) -> bool {
        self.states[component as usize].is_some()
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        self.write_tick();
        if self.at < self.selection.from && self.selection.from <= now {
            // Nothing happened in the window; it still shows the levels.
            self.at = self.selection.from;
            self.write_tick();
        }
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
