//! Source of a wavefront's instructions: injected ones, records read ahead, then its stream.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use warpweave_trace::{KernelTrace, Lanes, Record};

use super::wavefront::Wavefront;

/// Most records read ahead for one wavefront.
const WINDOW_MAX: usize = 4096;

/// Instruction that a mechanism of the unit adds to a wavefront's stream.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Injected {
    /// Index of the instruction in the decoded program.
    pub(crate) decoded: u32,
    pub(crate) record: Record,
    pub(crate) lanes: Lanes,
}

/// Record of the stream that was read ahead.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ahead {
    pub(crate) record: Record,
    pub(crate) lanes: Lanes,
    /// Index of the decoded instruction that stands in for the record's own.
    pub(crate) replaced: Option<u32>,
}

/// Origin of a wavefront's next instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Origin {
    #[default]
    Start,
    Stream,
    /// A record of the stream with another instruction.
    Replaced,
    Injected,
}

/// Instructions of one wavefront that precede the rest of its stream.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Source {
    injected: VecDeque<Injected>,
    window: VecDeque<Ahead>,
    origin: Origin,
}

impl Source {
    /// Returns where the wavefront's next instruction came from.
    #[inline]
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// Makes the next instruction that of the wavefront. Returns false at the end of its stream.
    pub(crate) fn advance(&mut self, wavefront: &mut Wavefront, kernel: &KernelTrace) -> bool {
        if let Some(injected) = self.injected.pop_front() {
            self.origin = Origin::Injected;
            wavefront.take(injected.record, injected.lanes, Some(injected.decoded));
            return true;
        }
        self.origin = Origin::Stream;
        let Some(ahead) = self.window.pop_front() else {
            return wavefront.advance(|| kernel);
        };
        if ahead.replaced.is_some() {
            self.origin = Origin::Replaced;
        }
        wavefront.take(ahead.record, ahead.lanes, ahead.replaced);
        true
    }

    /// Adds an instruction before the records of the stream.
    pub(crate) fn inject(&mut self, injected: Injected) {
        self.injected.push_back(injected);
    }

    /// Reads ahead until `is_enough` holds of a record, the stream ends, or the window is full.
    pub(crate) fn read_ahead(
        &mut self,
        wavefront: &mut Wavefront,
        kernel: &KernelTrace,
        mut is_enough: impl FnMut(&Record) -> bool,
    ) {
        if self.window.iter().any(|ahead| is_enough(&ahead.record)) {
            return;
        }
        while self.window.len() < WINDOW_MAX
            && let Some((record, lanes)) = wavefront.read_ahead(kernel)
        {
            self.window.push_back(Ahead {
                record,
                lanes,
                replaced: None,
            });
            if is_enough(&record) {
                return;
            }
        }
    }

    /// Returns the records read ahead, the next one first.
    pub(crate) fn window(&self) -> impl Iterator<Item = &Ahead> {
        self.window.iter()
    }

    pub(crate) fn ahead_mut(&mut self, place: usize) -> Option<&mut Ahead> {
        self.window.get_mut(place)
    }
}
