//! Waveform hook: all signals and FIFOs of a world by name, and all their changes.
//!
//! A [`WaveSink`] writes a file, checks a protocol or draws; the world only notifies it. Without a
//! sink a change costs one predictable branch.

use std::rc::{Rc, Weak};

use crate::observe::{Sample, Shape};
use crate::time::Tick;

/// Receives the changes of every signal of a world.
///
/// Called in the middle of delta cycles, it must not access the world. It is dropped with the
/// system at the latest, and should then complete its file.
pub trait WaveSink {
    /// Declares a signal called `name` with the current value `value`. Identifiers count from 0 in
    /// the order in which the signals were made; hidden ones are left out.
    fn declare(&mut self, id: u32, name: &str, shape: Shape, value: Sample);

    /// Records that signal `id` changed to `value` at `tick`. It may change in several delta cycles
    /// of one tick.
    fn change(&mut self, tick: Tick, id: u32, value: Sample);
}

/// Source of a waveform: a signal or a FIFO.
pub(crate) trait TracedSignal {
    fn sample(&self) -> Option<Sample>;
}

/// The signals of a world, and the recipients of their changes.
#[derive(Default)]
pub(crate) struct Waves {
    lines: Vec<Line>,
    sink: Option<Box<dyn WaveSink>>,
    /// True if changes are needed by the sink or by instrumentation.
    wanted: bool,
    /// Changes for the instrumentation that were not fetched yet; `None` if it needs none.
    changes: Option<Vec<(Tick, u32, Sample)>>,
}

/// A signal or FIFO of the event world, as shown in waveforms.
#[derive(Clone, Debug, PartialEq)]
pub struct SignalLine {
    /// Number under which changes are reported.
    pub id: u32,
    /// Name of the signal or FIFO, with scopes.
    pub name: String,
    /// Format of its values in waveforms.
    pub shape: Shape,
    /// Current value of the signal or FIFO.
    pub value: Sample,
}

struct Line {
    name: String,
    shape: Shape,
    source: Weak<dyn TracedSignal>,
}

impl Waves {
    /// Adds a line; changes are reported under the returned number.
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

    /// Reports a change, if it is needed by a recipient.
    #[inline]
    pub(crate) fn change(&mut self, now: u64, id: u32, sample: impl FnOnce() -> Option<Sample>) {
        if self.wanted
            && let Some(value) = sample()
        {
            self.record(Tick(now), id, value);
        }
    }

    #[cold]
    fn record(&mut self, now: Tick, id: u32, value: Sample) {
        if let Some(changes) = &mut self.changes {
            changes.push((now, id, value.clone()));
        }
        if let Some(sink) = &mut self.sink {
            sink.change(now, id, value);
        }
    }

    /// Returns every existing line that is not hidden.
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

    /// Enables or disables the collection of changes for [`Waves::take_changes`].
    pub(crate) fn keep_changes(&mut self, keep: bool) {
        self.changes = keep.then(Vec::new);
        self.wanted = self.sink.is_some() || keep;
    }

    /// Returns the changes collected since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<(Tick, u32, Sample)> {
        self.changes.as_mut().map_or(Vec::new(), std::mem::take)
    }

    /// Sends all further changes to `sink`, after declaring the lines that still exist.
    pub(super) fn set_sink(&mut self, sink: Option<Box<dyn WaveSink>>) {
        self.sink = sink;
        self.wanted = self.sink.is_some() || self.changes.is_some();
        let Some(sink) = &mut self.sink else {
            return;
        };
        for (id, line) in self.lines.iter().enumerate() {
            if let Some(value) = line.source.upgrade().and_then(|source| source.sample()) {
                sink.declare(id as u32, &line.name, line.shape, value);
            }
        }
    }

    pub(crate) fn take_sink(&mut self) -> Option<Box<dyn WaveSink>> {
        self.sink.take()
    }

    pub(crate) fn name(&self, id: u32) -> &str {
        &self.lines[id as usize].name
    }
}
