//! The waveform hook: every signal and FIFO of a world by name, and every change of them.
//!
//! A [`WaveSink`] writes a file, checks a protocol or draws; the world only tells it. Without a
//! sink a change costs one predictable branch.

use std::rc::{Rc, Weak};

use crate::observe::{Sample, Shape};
use crate::time::Tick;
use crate::world::World;

/// Receives the changes of every signal of a world.
///
/// It is called in the middle of delta cycles and must not touch the world. It is dropped with the
/// system at the latest, which is the time to complete a file.
pub trait WaveSink {
    /// A signal called `name` exists from now on and shows `value`. Identifiers are counted from 0
    /// in the order in which the signals were made; hidden ones are left out.
    fn declare(&mut self, id: u32, name: &str, shape: Shape, value: Sample);

    /// Signal `id` has taken `value` at `tick`. It may change in several delta cycles of one tick.
    fn change(&mut self, tick: Tick, id: u32, value: Sample);
}

/// Something with a waveform.
pub(crate) trait TracedSignal {
    fn sample(&self) -> Option<Sample>;
}

/// The signals of a world, and who looks at them.
#[derive(Default)]
pub(crate) struct Waves {
    lines: Vec<Line>,
    sink: Option<Box<dyn WaveSink>>,
    /// Somebody wants changes: the sink, or instrumentation.
    wanted: bool,
    /// Changes for the instrumentation that were not fetched yet, if it wants any.
    changes: Option<Vec<(Tick, u32, Sample)>>,
}

/// A signal or FIFO of the event world, as waveforms show it.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalLine {
    /// Its number.
    pub id: u32,
    /// Its name, with scopes.
    pub name: String,
    /// How its values look.
    pub shape: Shape,
    /// What it shows now.
    pub value: Sample,
}

struct Line {
    name: String,
    shape: Shape,
    source: Weak<dyn TracedSignal>,
}

impl Waves {
    /// Enters a line; its number is what changes are reported under.
    pub(crate) fn add(&mut self, name: String, shape: Shape, source: &Rc<dyn TracedSignal>) -> u32 {
        let id = self.lines.len() as u32;
        if let (Some(sink), Some(value)) = (&mut self.sink, source.sample()) {
            sink.declare(id, &name, shape, value);
        }
        self.lines.push(Line {
            name,
            shape,
            source: Rc::downgrade(source),
        });
        id
    }

    /// Reports a change, if anybody looks.
    #[inline]
    pub(crate) fn change(&mut self, now: u64, id: u32, sample: impl FnOnce() -> Option<Sample>) {
        if self.wanted
            && let Some(value) = sample()
        {
            self.tell(Tick(now), id, value);
        }
    }

    #[cold]
    fn tell(&mut self, now: Tick, id: u32, value: Sample) {
        if let Some(changes) = &mut self.changes {
            changes.push((now, id, value.clone()));
        }
        if let Some(sink) = &mut self.sink {
            sink.change(now, id, value);
        }
    }

    /// Every line that is there and not hidden.
    pub(crate) fn lines(&self) -> Vec<SignalLine> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter_map(|(id, line)| {
                Some(SignalLine {
                    id: id as u32,
                    name: line.name.clone(),
                    shape: line.shape,
                    value: line.source.upgrade()?.sample()?,
                })
            })
            .collect()
    }

    /// Keeps changes for [`Waves::take_changes`] from now on, or no longer.
    pub(crate) fn keep_changes(&mut self, keep: bool) {
        self.changes = keep.then(Vec::new);
        self.wanted = self.sink.is_some() || keep;
    }

    /// The changes kept since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<(Tick, u32, Sample)> {
        self.changes.as_mut().map_or(Vec::new(), std::mem::take)
    }

    pub(crate) fn take_sink(&mut self) -> Option<Box<dyn WaveSink>> {
        self.sink.take()
    }

    pub(crate) fn name(&self, id: u32) -> &str {
        &self.lines[id as usize].name
    }
}

impl World {
    /// Sends every change of a signal from now on to `sink`, or to nobody. Signals that are gone
    /// by then are left out.
    pub fn set_wave_sink(&self, sink: Option<Box<dyn WaveSink>>) {
        let waves = &mut self.core.world.borrow_mut().waves;
        waves.sink = sink;
        waves.wanted = waves.sink.is_some() || waves.changes.is_some();
        let Some(sink) = &mut waves.sink else {
            return;
        };
        for (id, line) in waves.lines.iter().enumerate() {
            if let Some(value) = line.source.upgrade().and_then(|source| source.sample()) {
                sink.declare(id as u32, &line.name, line.shape, value);
            }
        }
    }
}
