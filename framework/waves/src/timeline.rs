//! Who did what when, and why not: a Perfetto timeline.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use warpweave_framework::{Probe, ProbeSink, Reason, Simulation, Tick, TimeBase};

use crate::PICOSECONDS;
use crate::perfetto::{Kind, Trace, Track};
use crate::selection::Selection;

/// Records a timeline. Tracks follow the hierarchy of instance paths. A component's own track
/// shows what it waited for (nothing is drawn while it works or has nothing to do); below it are
/// the stretches it reports, one row per stretch open at the same time, its counters, and one row
/// per message in each channel into it. The messages of one transaction are joined by arrows.
pub struct Timeline<W> {
    trace: Option<Trace<W>>,
    time: TimeBase,
    selection: Selection,
    paths: Vec<String>,
    wanted: Vec<bool>,
    /// Receiver and port of every channel, and whether it is recorded.
    channels: Vec<(u32, String, bool)>,
    groups: BTreeMap<String, Track>,
    counters: BTreeMap<(u32, &'static str), Track>,
    /// What each component waits for, if anything is drawn for it.
    waits: Vec<Option<&'static str>>,
    /// Who gave its own words for waiting last, and when.
    explained: Option<(Tick, u32)>,
    rows: BTreeMap<(u32, Row), Rows>,
    /// Rows of the messages in each channel, oldest first.
    messages: Vec<VecDeque<Option<usize>>>,
    failed: Option<io::Error>,
}

/// What rows of a component are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    Stretch(&'static str),
    Channel(u32),
}

/// Rows for things that overlap: each takes the first free one.
#[derive(Default)]
struct Rows {
    tracks: Vec<Track>,
    /// Identity of what is open on each row.
    open: Vec<Option<u64>>,
}

impl Rows {
    fn first_free(&self) -> usize {
        let free = self.open.iter().position(Option::is_none);
        free.unwrap_or(self.open.len())
    }
}

impl<W: Write + Send> Timeline<W> {
    /// Records into `out`.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(out: W, simulation: &Simulation, selection: &Selection) -> io::Result<Self> {
        let recorded = selection.channels(simulation);
        let channels = (0..simulation.channel_count() as u32)
            .zip(&recorded)
            .map(|(number, recorded)| {
                let [_, (receiver, port)] = simulation.channel_ends(number);
                (receiver, port.to_owned(), *recorded)
            })
            .collect();
        Ok(Self {
            trace: Some(Trace::new(out)),
            time: simulation.time().clone(),
            selection: selection.clone(),
            paths: simulation.instances().map(|(p, _)| p.to_owned()).collect(),
            wanted: selection.instances(simulation),
            channels,
            groups: BTreeMap::new(),
            counters: BTreeMap::new(),
            waits: vec![None; simulation.instances().len()],
            explained: None,
            rows: BTreeMap::new(),
            messages: vec![VecDeque::new(); recorded.len()],
            failed: None,
        })
    }

    /// The track of the hierarchical name `path`, below those of its prefixes.
    fn group(&mut self, trace: &mut Trace<W>, path: &str) -> io::Result<Track> {
        if let Some(track) = self.groups.get(path) {
            return Ok(*track);
        }
        let (parent, name) = match path.rsplit_once('.') {
            Some((above, name)) => (Some(self.group(trace, above)?), name),
            None => (None, path),
        };
        let track = trace.track(name, parent, Kind::Slices)?;
        self.groups.insert(path.to_owned(), track);
        Ok(track)
    }

    fn component(&mut self, trace: &mut Trace<W>, number: u32) -> io::Result<Track> {
        let path = std::mem::take(&mut self.paths[number as usize]);
        let track = self.group(trace, &path);
        self.paths[number as usize] = path;
        track
    }

    /// Opens a slice on the first free row; returns the row.
    fn open(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        (component, row): (u32, Row),
        id: u64,
        flow: Option<u64>,
    ) -> io::Result<usize> {
        let label = match row {
            Row::Stretch(name) => name.to_owned(),
            Row::Channel(channel) => self.channels[channel as usize].1.clone(),
        };
        let at = self.rows.entry((component, row)).or_default().first_free();
        if at == self.rows.entry((component, row)).or_default().tracks.len() {
            let parent = self.component(trace, component)?;
            let track = trace.track(&format!("{label} {at}"), Some(parent), Kind::Slices)?;
            let rows = self.rows.entry((component, row)).or_default();
            rows.tracks.push(track);
            rows.open.push(None);
        }
        let rows = self.rows.entry((component, row)).or_default();
        rows.open[at] = Some(id);
        let number = matches!(row, Row::Stretch(_)).then_some(id);
        trace.begin(time, rows.tracks[at], &label, number, flow)?;
        Ok(at)
    }

    fn close(
        &mut self,
        trace: &mut Trace<W>,
        time: u64,
        key: (u32, Row),
        which: impl Fn(usize, u64) -> bool,
    ) -> io::Result<()> {
        if let Some(rows) = self.rows.get_mut(&key) {
            let found =
                (0..rows.open.len()).find(|r| rows.open[*r].is_some_and(|id| which(*r, id)));
            if let Some(at) = found {
                rows.open[at] = None;
                return trace.end(time, rows.tracks[at]);
            }
        }
        // It began before the recording.
        Ok(())
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
        let track = self.component(trace, component)?;
        if before.is_some() {
            trace.end(time, track)?;
        }
        because.map_or(Ok(()), |why| trace.begin(time, track, why, None, None))
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
                let (receiver, _, recorded) = self.channels[channel as usize];
                if recorded {
                    let row = (receiver, Row::Channel(channel));
                    let at = self.open(trace, time, row, 0, flow)?;
                    self.messages[channel as usize].push_back(Some(at));
                }
                Ok(())
            }
            Probe::Taken { channel } => {
                let (receiver, _, recorded) = self.channels[channel as usize];
                let oldest = self.messages[channel as usize].pop_front().flatten();
                match oldest {
                    Some(at) if recorded => {
                        let row = (receiver, Row::Channel(channel));
                        self.close(trace, time, row, |r, _| r == at)
                    }
                    _ => Ok(()),
                }
            }
            _ if !self.wanted[component as usize] => Ok(()),
            Probe::Begin { name, id } => self
                .open(trace, time, (component, Row::Stretch(name)), id, None)
                .map(|_| ()),
            Probe::End { name, id } => {
                self.close(trace, time, (component, Row::Stretch(name)), |_, i| i == id)
            }
            Probe::Instant { name, .. } => {
                let track = self.component(trace, component)?;
                trace.instant(time, track, name)
            }
            Probe::Value { name, value } => {
                let track = if let Some(track) = self.counters.get(&(component, name)) {
                    *track
                } else {
                    let parent = self.component(trace, component)?;
                    let track = trace.track(name, Some(parent), Kind::Counter)?;
                    self.counters.insert((component, name), track);
                    track
                };
                trace.counter(time, track, value)
            }
            Probe::Blocked { because } => {
                self.explained = Some((tick, component));
                self.wait(trace, time, component, Some(because))
            }
            // What the component said itself in this evaluation says more than the reason.
            Probe::Waits { .. } if self.explained == Some((tick, component)) => Ok(()),
            Probe::Waits { reason } => {
                let because = match reason {
                    Reason::Busy | Reason::Idle => None,
                    Reason::Timer | Reason::Message | Reason::Credit => Some(reason.name()),
                };
                self.wait(trace, time, component, because)
            }
        }
    }
}

impl<W: Write + Send> ProbeSink for Timeline<W> {
    fn record(&mut self, tick: Tick, component: u32, probe: &Probe) {
        if tick < self.selection.from {
            // Which message is taken in the window depends on those before.
            match *probe {
                Probe::Sent { channel, .. } => self.messages[channel as usize].push_back(None),
                Probe::Taken { channel } => {
                    self.messages[channel as usize].pop_front();
                }
                _ => {}
            }
            return;
        }
        if !self.selection.covers(tick) {
            return;
        }
        if let Some(mut trace) = self.trace.take() {
            match self.write(&mut trace, tick, component, probe) {
                Ok(()) => self.trace = Some(trace),
                Err(error) => self.failed = Some(error),
            }
        }
    }

    fn finish(&mut self, now: Tick) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Some(mut trace) = self.trace.take() else {
            return Ok(());
        };
        // What is open ends with the recording, so that it has a length.
        let end = self.selection.until.map_or(now, |until| until.min(now));
        let end = self.time.units(end, PICOSECONDS);
        for rows in self.rows.values() {
            for (track, open) in rows.tracks.iter().zip(&rows.open) {
                if open.is_some() {
                    trace.end(end, *track)?;
                }
            }
        }
        for component in 0..self.waits.len() as u32 {
            self.wait(&mut trace, end, component, None)?;
        }
        trace.flush()
    }
}
