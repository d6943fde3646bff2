//! Perfetto timeline of the activity of components and the reasons for their waits.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use warpweave_framework::{About, Probe, ProbeSink, Reason, Sample, Simulation, Tick, TimeBase};

use crate::PICOSECONDS;
use crate::names::Names;
use crate::perfetto::{Kind, Trace};
use crate::rows::{Key, Row, Rows};
use crate::selection::Selection;
use crate::tracks::Tracks;

/// Records a timeline. Tracks follow the hierarchy of instance paths. A component's own track shows
/// what it waited for, and is empty while it works or is idle. Below it are its contents, one row
/// per thing of a kind that exists at the same time, with its wait reasons inside. Counters follow,
/// and for each incoming channel one row per message and a counter of them. Events of one
/// transaction are joined by arrows. Signals of the event world with numeric values are counters.
pub struct Timeline<W> {
    /// Output of the timeline; `None` after an error.
    trace: Option<Trace<W>>,
    time: TimeBase,
    selection: Selection,
    names: Names,
    tracks: Tracks,
    wanted: Vec<bool>,
    channels: Channels,
    /// Names of the recorded signals, by number.
    signals: BTreeMap<u32, String>,
    /// Wait reason drawn for each component, if any.
    waits: Vec<Option<&'static str>>,
    /// Tick and component of the latest wait reason given in the component's own words.
    explained: Option<(Tick, u32)>,
    rows: Rows,
    at: Tick,
    /// Things that began before the window and still exist.
    early: BTreeMap<(u32, &'static str, u64), (About, Option<&'static str>)>,
    started: bool,
    failed: Option<io::Error>,
}

/// Channels with the messages in them.
struct Channels {
    /// Receiver and port of every channel, and true if it is recorded.
    ends: Vec<(u32, String, bool)>,
    /// Messages in each channel, oldest first.
    messages: Vec<VecDeque<Message>>,
    /// Channels whose message count may have changed at the current tick.
    counted: Vec<u32>,
    /// Message count of each channel that was shown last.
    shown: Vec<usize>,
}

/// Message in a channel: its number, which selects its row, and its transaction.
#[derive(Clone, Copy)]
struct Message {
    number: u64,
    flow: Option<u64>,
}

impl<W: Write + Send> Timeline<W> {
    /// Creates a timeline that is written to `out`. Display names are taken from `names`.
    ///
    /// # Errors
    /// Returns an error if `out` cannot be written.
    pub fn new(
        out: W,
        simulation: &mut Simulation,
        selection: &Selection,
        names: &Names,
    ) -> io::Result<Self> {
        let recorded = selection.channels(simulation);
        let occupancies = simulation.occupancies();
        let channels: Vec<_> = (0..simulation.channel_count() as u32)
            .zip(&recorded)
            .map(|(number, recorded)| {
                let [_, (receiver, port)] = simulation.channel_ends(number);
                (receiver, port.to_owned(), *recorded)
            })
            .collect();
        // Messages of before the recording are there, but nothing else is known of them.
        let unknown = |number| Message { number, flow: None };
        let held = |count: &usize| (0..*count as u64).map(unknown).collect();
        let signals = simulation.signals().into_iter();
        let signals = signals.filter(|line| selection.names(&line.name));
        let instances = simulation.instances().len();
        Ok(Self {
            trace: Some(Trace::new(out)),
            time: simulation.time().clone(),
            selection: selection.clone(),
            names: names.clone(),
            tracks: Tracks::new(simulation.instances().map(|(p, _)| p.to_owned()).collect()),
            wanted: selection.instances(simulation),
            signals: signals.map(|line| (line.id, line.name)).collect(),
            waits: (0..instances)
                .map(|number| drawn(simulation.reason(number)))
                .collect(),
            explained: None,
            rows: Rows::default(),
            channels: Channels {
                messages: occupancies.iter().map(held).collect(),
                counted: (0..channels.len() as u32).collect(),
                shown: vec![0; channels.len()],
                ends: channels,
            },
            at: Tick(0),
            early: BTreeMap::new(),
            started: false,
            failed: None,
        })
    }

    /// Opens a slice on the first free row.
    fn open(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        key: Key,
        id: u64,
        about: &About,
    ) -> io::Result<()> {
        let label = match key.row {
            Row::Thing(name) => name,
            Row::Channel(channel) => &self.channels.ends[channel as usize].1.clone(),
        };
        let at = self.rows.first_free(key);
        let track = if let Some(track) = self.rows.track(key, at) {
            track
        } else {
            let parent = self.tracks.component(trace, key.component)?;
            let track = trace.track(&format!("{label} {at}"), Some(parent), Kind::Slices)?;
            self.rows.add(key, track);
            track
        };
        self.rows.take(key, at, id);
        let thing = matches!(key.row, Row::Thing(_));
        let number = thing.then_some(id);
        let own = number.and_then(|number| self.names.of(label, number));
        let own = own.map(|name| format!("{name} #{id}"));
        let described = about.numbers.iter().filter_map(|&(kind, number)| {
            let name = self.names.of(kind, number)?;
            Some((format!("{kind}_name"), name))
        });
        let texts: Vec<_> = described.collect();
        let name = own.as_deref().unwrap_or(label);
        trace.begin(time, track, name, number, about, &texts)
    }

    fn close(&mut self, trace: &mut Trace<W>, time: u64, key: Key, id: u64) -> io::Result<()> {
        // None of what was there before the recording.
        let Some((track, held)) = self.rows.free(key, id) else {
            return Ok(());
        };
        if held {
            trace.end(time, track)?;
        }
        trace.end(time, track)
    }

    /// Sets the wait reason of a thing, drawn inside its slice.
    fn hold(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        (key, id): (Key, u64),
        because: Option<&'static str>,
    ) -> io::Result<()> {
        let Some((track, before)) = self.rows.hold(key, id, because) else {
            return Ok(());
        };
        if before {
            trace.end(time, track)?;
        }
        because.map_or(Ok(()), |why| {
            trace.begin(time, track, why, None, &About::default(), &[])
        })
    }

    fn wait(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        component: u32,
        because: Option<&'static str>,
    ) -> io::Result<()> {
        let before = self.waits[component as usize];
        if before == because {
            return Ok(());
        }
        self.waits[component as usize] = because;
        let track = self.tracks.component(trace, component)?;
        if before.is_some() {
            trace.end(time, track)?;
        }
        because.map_or(Ok(()), |why| {
            trace.begin(time, track, why, None, &About::default(), &[])
        })
    }

    /// Sets counter `name` of component `number`, or of the event world for [`u32::MAX`].
    fn count(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        (number, name): (u32, &str),
        value: f64,
    ) -> io::Result<()> {
        let track = self.tracks.counter(trace, number, name)?;
        trace.counter(time, track, value)
    }

    /// Writes the message counts of channels at the end of tick `at`. They are written in channel
    /// order, so that the evaluation order within a tick has no influence.
    fn count_messages(&mut self, trace: &mut Trace<W>) -> io::Result<()> {
        let time = self.time.units(self.at, PICOSECONDS);
        let mut counted = std::mem::take(&mut self.channels.counted);
        counted.sort_unstable();
        counted.dedup();
        for channel in counted.drain(..) {
            let held = self.channels.messages[channel as usize].len();
            if held != std::mem::replace(&mut self.channels.shown[channel as usize], held) {
                let (receiver, port, _) = &self.channels.ends[channel as usize];
                let name = (*receiver, &*format!("messages in {port}"));
                self.count(trace, time, name, held as f64)?;
            }
        }
        self.channels.counted = counted;
        Ok(())
    }

    /// Starts the window. Existing things begin with it.
    fn start(&mut self, trace: &mut Trace<W>) -> io::Result<()> {
        let time = self.time.units(self.at, PICOSECONDS);
        for component in 0..self.waits.len() as u32 {
            let because = self.waits[component as usize].take();
            if self.wanted[component as usize] {
                self.wait(trace, time, component, because)?;
            }
        }
        for ((component, name, id), (about, because)) in std::mem::take(&mut self.early) {
            let key = Key::thing(component, name);
            self.open(trace, time, key, id, &about)?;
            self.hold(trace, time, (key, id), because)?;
        }
        for channel in 0..self.channels.ends.len() as u32 {
            let (receiver, _, recorded) = self.channels.ends[channel as usize];
            if recorded {
                let key = Key::channel(receiver, channel);
                for Message { number, flow } in self.channels.messages[channel as usize].clone() {
                    self.open(trace, time, key, number, &flow_only(flow))?;
                }
            }
        }
        self.channels.counted = (0..self.channels.ends.len() as u32)
            .filter(|channel| self.channels.ends[*channel as usize].2)
            .collect();
        Ok(())
    }

    /// Records an event before the window, for the state at its beginning.
    fn remember(&mut self, tick: Tick, component: u32, probe: &Probe) {
        match *probe {
            Probe::Sent { channel, flow } => {
                self.push(channel, flow);
            }
            Probe::Taken { channel } => {
                self.channels.messages[channel as usize].pop_front();
            }
            Probe::Signal { .. } => {}
            _ if !self.wanted[component as usize] => {}
            Probe::Begin {
                name,
                id,
                ref about,
            } => {
                let thing = (component, name, id);
                self.early.insert(thing, (about.clone(), None));
            }
            Probe::Held { name, id, because } => {
                if let Some((_, held)) = self.early.get_mut(&(component, name, id)) {
                    *held = because;
                }
            }
            Probe::End { name, id } => {
                self.early.remove(&(component, name, id));
            }
            Probe::Blocked { because } => {
                self.explained = Some((tick, component));
                self.waits[component as usize] = Some(because);
            }
            Probe::Waits { reason } if self.explained != Some((tick, component)) => {
                self.waits[component as usize] = drawn(reason);
            }
            Probe::Waits { .. } | Probe::Instant { .. } | Probe::Value { .. } => {}
        }
    }

    /// Adds a message to a channel and returns its number.
    fn push(&mut self, channel: u32, flow: Option<u64>) -> u64 {
        let messages = &mut self.channels.messages[channel as usize];
        let number = messages.back().map_or(0, |last| last.number + 1);
        messages.push_back(Message { number, flow });
        number
    }

    fn write(
        &mut self,
        trace: &mut Trace<W>,
        tick: Tick,
        component: u32,
        probe: &Probe,
    ) -> io::Result<()> {
        let time = self.time.units(tick, PICOSECONDS);
        match *probe {
            Probe::Sent { channel, flow } => {
                let number = self.push(channel, flow);
                let (receiver, _, recorded) = self.channels.ends[channel as usize];
                if !recorded {
                    return Ok(());
                }
                self.channels.counted.push(channel);
                let key = Key::channel(receiver, channel);
                self.open(trace, time, key, number, &flow_only(flow))
            }
            Probe::Taken { channel } => {
                let oldest = self.channels.messages[channel as usize].pop_front();
                let (receiver, _, recorded) = self.channels.ends[channel as usize];
                let Some(Message { number, .. }) = oldest.filter(|_| recorded) else {
                    return Ok(());
                };
                self.channels.counted.push(channel);
                self.close(trace, time, Key::channel(receiver, channel), number)
            }
            Probe::Signal { signal, ref value } => {
                let Some(name) = self.signals.get(&signal).cloned() else {
                    return Ok(());
                };
                match *value {
                    Sample::Bits(bits) => self.count(trace, time, (u32::MAX, &name), bits as f64),
                    Sample::Real(real) => self.count(trace, time, (u32::MAX, &name), real),
                    Sample::Text(_) => Ok(()),
                }
            }
            _ if !self.wanted[component as usize] => Ok(()),
            Probe::Begin {
                name,
                id,
                ref about,
            } => self.open(trace, time, Key::thing(component, name), id, about),
            Probe::Held { name, id, because } => {
                self.hold(trace, time, (Key::thing(component, name), id), because)
            }
            Probe::End { name, id } => self.close(trace, time, Key::thing(component, name), id),
            Probe::Instant { name, .. } => {
                let track = self.tracks.component(trace, component)?;
                trace.instant(time, track, name)
            }
            Probe::Value { name, value } => self.count(trace, time, (component, name), value),
            Probe::Blocked { because } => {
                self.explained = Some((tick, component));
                self.wait(trace, time, component, Some(because))
            }
            // What the component said itself in this evaluation says more than the reason.
            Probe::Waits { .. } if self.explained == Some((tick, component)) => Ok(()),
            Probe::Waits { reason } => self.wait(trace, time, component, drawn(reason)),
        }
    }

    /// Advances the recording to `tick`, which is within the window.
    fn reach(&mut self, trace: &mut Trace<W>, tick: Tick) -> io::Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            self.at = self.selection.from;
            self.start(trace)?;
        }
        if tick > self.at {
            self.count_messages(trace)?;
            self.at = tick;
        }
        Ok(())
    }

    /// Runs a write operation, unless an earlier one has failed.
    fn attempt(&mut self, write: impl FnOnce(&mut Self, &mut Trace<W>) -> io::Result<()>) {
        if let Some(mut trace) = self.trace.take() {
            match write(self, &mut trace) {
                Ok(()) => self.trace = Some(trace),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Ends all open slices with the recording, so that they have a length.
    fn end(&mut self, trace: &mut Trace<W>, end: Tick) -> io::Result<()> {
        self.reach(trace, end)?;
        self.count_messages(trace)?;
        let end = self.time.units(end, PICOSECONDS);
        for (track, held) in self.rows.open() {
            if held {
                trace.end(end, track)?;
            }
            trace.end(end, track)?;
        }
        for component in 0..self.waits.len() as u32 {
            if self.wanted[component as usize] {
                self.wait(trace, end, component, None)?;
            }
        }
        trace.flush()
    }
}

/// Returns the text drawn for a waiting component, if any.
fn drawn(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::Busy | Reason::Idle => None,
        Reason::Timer | Reason::Message | Reason::Credit => Some(reason.name()),
    }
}

fn flow_only(flow: Option<u64>) -> About {
    About {
        flow,
        numbers: Vec::new(),
    }
}

impl<W: Write + Send> ProbeSink for Timeline<W> {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        if tick < self.selection.from {
            self.remember(tick, component, probe);
        } else if self.selection.covers(tick) {
            self.attempt(|timeline, trace| {
                timeline.reach(trace, tick)?;
                timeline.write(trace, tick, component, probe)
            });
        }
    }

    fn wants_contents(&self, component: u32) -> bool {
        self.wanted[component as usize]
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        let end = self.selection.until.map_or(now, |until| until.min(now));
        if end >= self.selection.from {
            self.attempt(|timeline, trace| timeline.end(trace, end));
        }
        self.trace = None;
        self.failed.take().map_or(Ok(()), Err)
    }
}
