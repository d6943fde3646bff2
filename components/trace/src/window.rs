//! Windows through which streams are read. Each advances with its reader.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::recorded::Recorded;
use crate::spill::{Spilled, TOKEN_MAX, unreadable};

/// Part of a stream held in memory.
#[derive(Debug)]
pub(crate) struct Window {
    /// Number of bytes of the stream before the window.
    pub(crate) first: u64,
    /// Position in the stream from which tokens may extend past the window.
    pub(crate) end: u64,
    /// Bytes of the window, from index `from` on, including the padding.
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) from: usize,
}

/// Windows of one stream, one for each reader up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Windows(Vec<Window>);

/// Maximum number of windows per stream.
const WINDOWS_MAX: usize = 8;

impl Windows {
    /// Returns the window that contains the token at a position of the stream.
    #[inline]
    pub(crate) fn at(
        &mut self,
        position: u64,
        load: impl FnOnce(u64) -> Option<Window>,
    ) -> Option<&Window> {
        let holds = |window: &Window| (window.first..window.end).contains(&position);
        let place = self.0.iter().position(holds);
        if place.is_none() {
            let window = load(position)?;
            self.leave(position);
            if self.0.len() == WINDOWS_MAX {
                self.0.remove(0);
            }
            self.0.push(window);
        }
        // The last one is the one that was loaded.
        place.map_or_else(|| self.0.last(), |place| self.0.get(place))
    }

    /// Drops the window that ends at this position, because a reader has passed it.
    pub(crate) fn leave(&mut self, position: u64) {
        let left = |window: &Window| window.end <= position && position < window.end + TOKEN_MAX;
        self.0.retain(|window| !left(window));
        if self.0.is_empty() {
            self.0 = Vec::new();
        }
    }
}

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
        let windows = self.windows[stream as usize].lock();
        windows.unwrap_or_else(PoisonError::into_inner)
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
