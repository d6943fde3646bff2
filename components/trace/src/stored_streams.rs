//! Streams of a launch that are read from a file when needed.

use std::io;
use std::sync::OnceLock;

use parking_lot::{Mutex, MutexGuard};

use crate::recorded::Recorded;
use crate::spill::{Spilled, unreadable};
use crate::window::{Window, Windows};

/// Storage of streams that are read through windows.
#[derive(Debug)]
pub(crate) enum Source {
    /// In a temporary file of the process.
    Spilled(Spilled),
    /// In the trace file that was opened.
    Recorded(Recorded),
}

/// Streams of a launch that are stored in a file.
#[derive(Debug)]
pub(crate) struct StoredStreams {
    source: Source,
    /// Windows by stream number; empty for a stream without readers.
    windows: Box<[Mutex<Windows>]>,
    /// Reason why a part could not be read.
    failure: OnceLock<String>,
}

impl StoredStreams {
    pub(crate) fn new(source: Source, streams: usize) -> Self {
        Self {
            source,
            windows: (0..streams).map(|_| Mutex::default()).collect(),
            failure: OnceLock::new(),
        }
    }

    pub(crate) fn is_spilled(&self) -> bool {
        matches!(self.source, Source::Spilled(_))
    }

    /// Returns the reason why a stream was cut short.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Locks the windows of a stream and returns them.
    pub(crate) fn of(&self, stream: u32) -> MutexGuard<'_, Windows> {
        self.windows[stream as usize].lock()
    }

    /// Reads a window from `position` of a stream that begins at `start` and has `length` bytes. On
    /// failure, records the reason and returns `None`.
    pub(crate) fn load(
        &self,
        stream: u32,
        (start, length): (u64, u64),
        position: u64,
    ) -> Option<Window> {
        let loaded = match &self.source {
            Source::Spilled(spilled) => spilled
                .window(stream, (start, length), position)
                .map_err(|error| unreadable(&error)),
            Source::Recorded(recorded) => recorded
                .window(stream, (start, length))
                .map_err(|error| error.to_string()),
        };
        loaded
            .map_err(|problem| self.failure.get_or_init(|| problem))
            .ok()
    }

    /// Reads all bytes of a stream.
    pub(crate) fn read(&self, stream: u32, (start, length): (u64, u64)) -> io::Result<Vec<u8>> {
        match &self.source {
            Source::Spilled(spilled) => spilled.read(stream, (start, length)),
            Source::Recorded(recorded) => {
                let window = recorded.window(stream, (start, length));
                let window = window.map_err(io::Error::other)?;
                Ok(window.bytes[window.from..][..length as usize].to_vec())
            }
        }
    }
}
